/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operators new and delete of C++.
 *
 * The operators of a C++ library call malloc() and free(), and their blocks count there. The call
 * is passed on as it is. The operators of jemalloc and tcmalloc call neither, so their blocks count
 * here.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "heap/agent/agent.h"

/* X(the mangled name, whether it returns memory, the stand-in without a C++ library) */
#define OPERATORS(X)                                                        \
	X(_Znwm, 1, plain_new)                                              \
	X(_Znam, 1, plain_new)                                              \
	X(_ZnwmRKSt9nothrow_t, 1, plain_new_nothrow)                        \
	X(_ZnamRKSt9nothrow_t, 1, plain_new_nothrow)                        \
	X(_ZnwmSt11align_val_t, 1, plain_aligned_new)                       \
	X(_ZnamSt11align_val_t, 1, plain_aligned_new)                       \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, 1, plain_aligned_new_nothrow) \
	X(_ZnamSt11align_val_tRKSt9nothrow_t, 1, plain_aligned_new_nothrow) \
	X(_ZdlPv, 0, plain_delete)                                          \
	X(_ZdaPv, 0, plain_delete)                                          \
	X(_ZdlPvm, 0, plain_delete)                                         \
	X(_ZdaPvm, 0, plain_delete)                                         \
	X(_ZdlPvRKSt9nothrow_t, 0, plain_delete)                            \
	X(_ZdaPvRKSt9nothrow_t, 0, plain_delete)                            \
	X(_ZdlPvSt11align_val_t, 0, plain_delete)                           \
	X(_ZdaPvSt11align_val_t, 0, plain_delete)                           \
	X(_ZdlPvmSt11align_val_t, 0, plain_delete)                          \
	X(_ZdaPvmSt11align_val_t, 0, plain_delete)                          \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t, 0, plain_delete)             \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t, 0, plain_delete)

enum operator_id {
#define X(name, is_new, plain) OPERATOR##name,
	OPERATORS(X)
#undef X
		N_OPERATORS
};

/* Operators have two or three arguments at most, in registers: one type fits all of them. */
typedef void *new_function(size_t bytes, uintptr_t second, uintptr_t third);
typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

struct found_operator {
	union {
		void *address;
		new_function *new;
		delete_function *delete;
	};
	bool is_of_allocator;
};

/*
 * Without a C++ library, memory of malloc() is all there is. A library that has a C++ library
 * linked into it may call these, too. There are no exceptions here.
 */
static void *plain_new_nothrow(size_t bytes, uintptr_t second, uintptr_t third)
{
	(void)second, (void)third;
	return malloc(bytes ? bytes : 1);
}

static void *plain_aligned_new_nothrow(size_t bytes, uintptr_t alignment, uintptr_t third)
{
	void *block;

	(void)third;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return posix_memalign(&block, alignment, bytes ? bytes : 1) ? NULL : block;
}

static void *or_abort(void *block)
{
	if (!block)
		abort();
	return block;
}

static void *plain_new(size_t bytes, uintptr_t second, uintptr_t third)
{
	return or_abort(plain_new_nothrow(bytes, second, third));
}

static void *plain_aligned_new(size_t bytes, uintptr_t alignment, uintptr_t third)
{
	return or_abort(plain_aligned_new_nothrow(bytes, alignment, third));
}

static void plain_delete(void *block, uintptr_t second, uintptr_t third)
{
	(void)second, (void)third;
	free(block);
}

/* A program that loads a C++ library later may keep its names from everybody else (RTLD_LOCAL). */
static void *find_in_libraries(const char *name)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1",
						 "libc++abi.so.1" };
	void *found = NULL;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && !found; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		found = library ? dlsym(library, name) : NULL;
		if (library)
			dlclose(library);
	}
	return found;
}

/* `is_of_allocator` is set before the address is. */
static struct {
	_Atomic(void *) address;
	bool is_of_allocator;
} known[N_OPERATORS];

static __attribute__((noinline)) void *look_for_operator(enum operator_id id)
{
	static const struct {
		const char *name;
		struct found_operator plain;
	} operators[N_OPERATORS] = {
#define PLAIN_1(function) { .new = function }
#define PLAIN_0(function)          \
	{                          \
		.delete = function \
	}
#define X(name, is_new, plain) { #name, PLAIN_##is_new(plain) },
		OPERATORS(X)
#undef X
	};
	struct found_operator o = { .address = dlsym(RTLD_NEXT, operators[id].name) };

	if (!o.address)
		o.address = find_in_libraries(operators[id].name);
	if (!o.address)
		o = operators[id].plain;
	known[id].is_of_allocator = agent_is_in_allocator(o.address);
	atomic_store_explicit(&known[id].address, o.address, memory_order_release);
	return o.address;
}

static inline __attribute__((always_inline)) struct found_operator find_operator(
	enum operator_id id)
{
	struct found_operator o = { .address = atomic_load_explicit(&known[id].address,
								    memory_order_acquire) };

	if (__builtin_expect(!o.address, 0))
		o.address = look_for_operator(id);
	o.is_of_allocator = known[id].is_of_allocator;
	return o;
}

/* An operator that calls malloc() after all has counted there. */
static inline __attribute__((always_inline)) void *call_new(enum operator_id id, size_t bytes,
							    uintptr_t second, uintptr_t third)
{
	const struct found_operator o = find_operator(id);
	int64_t left;
	void *block;

	if (!o.is_of_allocator)
		return o.new(bytes, second, third);
	left = agent_thread.left;
	block = o.new(bytes, second, third);
	if (agent_thread.left == left)
		agent_allocated(block, bytes);
	return block;
}

static inline __attribute__((always_inline)) void call_delete(enum operator_id id, void *block,
							      uintptr_t second, uintptr_t third)
{
	const struct found_operator o = find_operator(id);
	uint64_t sampled = o.is_of_allocator && agent_may_be_sampled(block) ? agent_take(block) : 0;

	if (sampled)
		agent_released(sampled);
	o.delete(block, second, third);
}

#define OPERATOR_1(name)       EXPORTED void *name(size_t bytes, uintptr_t second, uintptr_t third);
#define OPERATOR_0(name)       EXPORTED void name(void *block, uintptr_t second, uintptr_t third);
#define X(name, is_new, plain) OPERATOR_##is_new(name)
OPERATORS(X)
#undef X
#undef OPERATOR_1
#undef OPERATOR_0

#define OPERATOR_1(name)                                               \
	void *name(size_t bytes, uintptr_t second, uintptr_t third)    \
	{                                                              \
		return call_new(OPERATOR##name, bytes, second, third); \
	}
#define OPERATOR_0(name)                                           \
	void name(void *block, uintptr_t second, uintptr_t third)  \
	{                                                          \
		call_delete(OPERATOR##name, block, second, third); \
	}
#define X(name, is_new, plain) OPERATOR_##is_new(name)
OPERATORS(X)
#undef X
