/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory: allocation that cannot fail, scope-bound release, growable arrays.
 *
 * The x* functions and vec_*() abort in one place when the system is out of memory, even after the
 * reserve is spent (base/reserve.h). They are for sizes that the program itself decides. A size
 * from a file is checked against a limit first (base/reader.h, or the caller). If it can be large,
 * the memory comes from the reserve, or from mem_try().
 *
 * Libraries (libiberty is one) have functions of these names with other parameters, and a linker
 * knows functions by their names alone. Therefore, the names in the object files have a prefix.
 * tests/cli/linking.bats compares all names with those of the libraries.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define LINKED_AS(name) __asm__(name)

void *xmalloc(size_t size) LINKED_AS("assay_xmalloc");
void *xcalloc(size_t n, size_t size) LINKED_AS("assay_xcalloc");
/* `align`: a power of two. `size`: a multiple of it. */
void *xmalloc_aligned(size_t align, size_t size) LINKED_AS("assay_xmalloc_aligned");
/* n * size bytes; overflow is checked. */
void *xrealloc(void *p, size_t n, size_t size) LINKED_AS("assay_xrealloc");
char *xstrdup(const char *s) LINKED_AS("assay_xstrdup");
char *xstrndup(const char *s, size_t n) LINKED_AS("assay_xstrndup");
char *xvasprintf(const char *format, va_list ap) LINKED_AS("assay_xvasprintf")
	__attribute__((format(printf, 1, 0)));
char *xasprintf(const char *format, ...) LINKED_AS("assay_xasprintf")
	__attribute__((format(printf, 1, 2)));

/* p; if it is NULL, the process ends as above. For small allocations that a library makes. */
void *mem_or_abort(void *p);

/* n * size bytes, of which a file decides. NULL: no memory; reserve_failures() counts it. */
void *mem_try(size_t n, size_t size);

/*
 * Zeroed slots for a hash table that grows: it has `n_used` of `n_old` slots in use. NULL: there is
 * no memory for them, and the table can take more entries as it is.
 */
void *mem_table(size_t n, size_t size, size_t n_used, size_t n_old);

/* cleanup(f) runs f(&variable) when the variable leaves its scope. */
#define cleanup(function) __attribute__((cleanup(function)))

/* Hands an object out of a cleanup() variable: the value of p, and p is NULL. */
#define take_ptr(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/* Defines RELEASE_at_exit() for cleanup(), from a release function that takes NULL. */
#define DEFINE_AT_EXIT(release, type)                  \
	static inline void release##_at_exit(type **p) \
	{                                              \
		release(*p);                           \
	}

void free_at_exit(void *p);        /* for char *, void *: cleanup(free_at_exit) */
void close_at_exit(const int *fd); /* closes if >= 0 */

/*
 * A growable array: VEC(struct thing) things = { 0 };
 * The elements are `things.data[0 .. things.n)`; { 0 } is a valid empty one.
 */
#define VEC(type)              \
	struct {               \
		type *data;    \
		size_t n, cap; \
	}

#define vec_reserve(v, want)                                                             \
	((v)->cap >= (want) ? (void)0                                                    \
			    : (void)((v)->data = vec_grow_((v)->data, &(v)->cap, (want), \
							   sizeof(*(v)->data))))

/* Room for as many elements as a file asks for. False: no memory; reserve_failures() counts it. */
#define vec_try_reserve(v, want)                                                             \
	({                                                                                   \
		size_t want_ = (want);                                                       \
		void *grown_ = want_ > (v)->cap                                              \
				       ? mem_try_grow_((v)->data, want_, sizeof(*(v)->data)) \
				       : (v)->data;                                          \
		if (grown_ && want_ > (v)->cap) {                                            \
			(v)->data = grown_;                                                  \
			(v)->cap = want_;                                                    \
		}                                                                            \
		want_ <= (v)->cap;                                                           \
	})

#define vec_push(v, ...)                             \
	do {                                         \
		vec_reserve(v, (v)->n + 1);          \
		(v)->data[(v)->n++] = (__VA_ARGS__); \
	} while (0)

/* Appends one zeroed element and gives its address (valid until the next growth). */
#define vec_add(v)                                                           \
	({                                                                   \
		vec_reserve(v, (v)->n + 1);                                  \
		__builtin_memset(&(v)->data[(v)->n], 0, sizeof(*(v)->data)); \
		&(v)->data[(v)->n++];                                        \
	})

#define vec_fini(v)                    \
	do {                           \
		free((v)->data);       \
		(v)->data = NULL;      \
		(v)->n = (v)->cap = 0; \
	} while (0)

/* Not the type of `data`: gcc 10 keeps the `const` that it has in a `const` vector. */
#define vec_foreach(v, it) \
	for (__typeof__(*(v)->data) *it = (v)->data; it && it < (v)->data + (v)->n; it++)

void *vec_grow_(void *data, size_t *cap, size_t want, size_t size);
void *mem_try_grow_(void *data, size_t want, size_t size);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))
