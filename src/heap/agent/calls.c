/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that a program calls: each passes the call on, and has it counted. */
#undef _FILE_OFFSET_BITS /* or mmap would be another name of mmap64 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "heap/agent/agent.h"

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
} next;

/*
 * dlsym(3) may allocate, before the next malloc is known. Such blocks come from here, and stay.
 * Their filter is set for ever, so that free() looks twice at them.
 */
#define EARLY_ROOM 16384
static _Alignas(16) char early[EARLY_ROOM];
static size_t early_used;

static void *early_block(size_t bytes)
{
	char *block = early + early_used;

	if (bytes > EARLY_ROOM - early_used)
		return NULL;
	early_used += (bytes + 15) & ~(size_t)15;
	agent_filter[agent_filter_at(block)] = UINT8_MAX;
	return block;
}

static bool is_early(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early < EARLY_ROOM;
}

/* ISO C has no conversion from an object's address to a function's. */
#define FIND(name)                                         \
	do {                                               \
		void *found = dlsym(RTLD_NEXT, #name);     \
		memcpy(&next.name, &found, sizeof(found)); \
	} while (0)

/* The object that the next malloc is in, which maps memory for its blocks. */
static uintptr_t allocator_start, allocator_end;

static int see_object(struct dl_phdr_info *object, size_t size, void *address)
{
	uintptr_t start = UINTPTR_MAX, end = 0, at = (uintptr_t)address;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		start = from < start ? from : start;
		end = from + p->p_memsz > end ? from + p->p_memsz : end;
	}
	if (at < start || at >= end)
		return 0;
	allocator_start = start;
	allocator_end = end;
	return 1;
}

/* False: it is being found, by this call's caller. */
static bool find_next(void)
{
	static bool is_finding;
	void *address;

	if (is_finding)
		return next.malloc;
	is_finding = true;
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(memalign);
	FIND(aligned_alloc);
	FIND(posix_memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(mmap);
	FIND(munmap);
	FIND(mremap);
	FIND(malloc);
	memcpy(&address, &next.malloc, sizeof(address));
	dl_iterate_phdr(see_object, address);
	return next.malloc;
}

#define IS_KNOWN(name) (__builtin_expect(next.name != NULL, 1) || (find_next() && next.name))

EXPORTED void *malloc(size_t bytes)
{
	void *block;

	if (!IS_KNOWN(malloc))
		return early_block(bytes);
	block = next.malloc(bytes);
	agent_allocated(block, bytes);
	return block;
}

EXPORTED void *calloc(size_t n, size_t bytes)
{
	void *block;

	if (!IS_KNOWN(calloc))
		return bytes && n > EARLY_ROOM / bytes ? NULL : early_block(n * bytes);
	block = next.calloc(n, bytes);
	if (block)
		agent_allocated(block, n * bytes);
	return block;
}

/* A sampled block, or one of the first ones. True: nobody else may free it. */
static __attribute__((noinline)) bool is_freed(void *block)
{
	uint64_t id;

	if (is_early(block))
		return true;
	id = agent_take(block);
	if (id)
		agent_released(id);
	return false;
}

EXPORTED void free(void *block)
{
	if (agent_may_be_sampled(block) && is_freed(block))
		return;
	if (IS_KNOWN(free))
		next.free(block);
}

static __attribute__((noinline)) void *realloc_early(const void *block, size_t bytes)
{
	size_t most = (size_t)(early + EARLY_ROOM - (const char *)block);
	void *copy = malloc(bytes);

	if (copy)
		memcpy(copy, block, bytes < most ? bytes : most);
	return copy;
}

/* The block may be somebody else's as soon as it is freed: it is forgotten before. */
static __attribute__((noinline)) void *realloc_sampled(void *block, size_t bytes)
{
	uint64_t id;
	void *moved;

	if (is_early(block))
		return realloc_early(block, bytes);
	id = agent_take(block);
	moved = next.realloc(block, bytes);
	if (id && !moved && bytes)
		agent_put_back(block, id);
	else if (id)
		agent_released(id);
	if (moved)
		agent_allocated(moved, bytes);
	return moved;
}

EXPORTED void *realloc(void *block, size_t bytes)
{
	void *moved;

	if (!IS_KNOWN(realloc))
		return block ? realloc_early(block, bytes) : early_block(bytes);
	if (agent_may_be_sampled(block))
		return realloc_sampled(block, bytes);
	moved = next.realloc(block, bytes);
	if (moved)
		agent_allocated(moved, bytes);
	return moved;
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
	void *block = IS_KNOWN(memalign) ? next.memalign(alignment, bytes) : NULL;

	agent_allocated(block, bytes);
	return block;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *block = IS_KNOWN(aligned_alloc) ? next.aligned_alloc(alignment, bytes) : NULL;

	agent_allocated(block, bytes);
	return block;
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	int r = IS_KNOWN(posix_memalign) ? next.posix_memalign(out, alignment, bytes) : ENOMEM;

	if (r == 0)
		agent_allocated(*out, bytes);
	return r;
}

EXPORTED void *valloc(size_t bytes)
{
	void *block = IS_KNOWN(valloc) ? next.valloc(bytes) : NULL;

	agent_allocated(block, bytes);
	return block;
}

EXPORTED void *pvalloc(size_t bytes)
{
	void *block = IS_KNOWN(pvalloc) ? next.pvalloc(bytes) : NULL;

	agent_allocated(block, bytes);
	return block;
}

/* An allocator maps the memory of its blocks, which count already. */
bool agent_is_in_allocator(const void *address)
{
	return IS_KNOWN(malloc) && (uintptr_t)address >= allocator_start &&
	       (uintptr_t)address < allocator_end;
}

/*
 * Mappings: memory that can be used at once. Files are not allocated, and address space without
 * rights is only reserved.
 */
static void mapped(const void *start, size_t bytes)
{
	if (__builtin_expect((agent_thread.left -= (int64_t)bytes) < 0, 0))
		agent_look(start, bytes, AGENT_MAPPING);
}

EXPORTED void *mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t offset)
{
	struct agent_moment before = { 0 };
	void *start;

	if (!IS_KNOWN(mmap)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (flags & MAP_FIXED)
		before = agent_before_unmapping();
	start = next.mmap(at, bytes, rights, flags, fd, offset);
	if (start != MAP_FAILED && flags & MAP_FIXED)
		agent_unmapped(start, bytes, &before);
	if (start != MAP_FAILED && flags & MAP_ANONYMOUS && rights != PROT_NONE &&
	    !agent_is_in_allocator(__builtin_return_address(0)))
		mapped(start, bytes);
	return start;
}

EXPORTED void *mmap64(void *at, size_t bytes, int rights, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

EXPORTED int munmap(void *start, size_t bytes)
{
	struct agent_moment before;
	int r;

	if (!IS_KNOWN(munmap)) {
		errno = EINVAL;
		return -1;
	}
	before = agent_before_unmapping();
	r = next.munmap(start, bytes);
	if (r == 0)
		agent_unmapped(start, bytes, &before);
	return r;
}

EXPORTED void *mremap(void *start, size_t bytes, size_t new_bytes, int flags, ...)
{
	struct agent_moment before;
	void *to = NULL, *moved;
	va_list args;

	if (flags & MREMAP_FIXED) {
		va_start(args, flags);
		to = va_arg(args, void *);
		va_end(args);
	}
	if (!IS_KNOWN(mremap)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	before = agent_before_unmapping();
	moved = next.mremap(start, bytes, new_bytes, flags, to);
	if (moved == MAP_FAILED)
		return moved;
	agent_unmapped(start, bytes ? bytes : 1, &before);
	if (!agent_is_in_allocator(__builtin_return_address(0)))
		mapped(moved, new_bytes);
	return moved;
}
