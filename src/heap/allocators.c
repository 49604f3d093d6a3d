/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "event/event.h"
#include "guard/open.h"
#include "heap/bpf/heap_message.h"
#include "machine/proc.h"
#include "symbol/file_functions.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

/* Each place costs two descriptors or four. */
#define PLACES_MAX 192
#define FILES_MAX  16

/* An operator is short: it looks for the call of malloc there. */
#define OPERATOR_BYTES_MAX 512

static const struct {
	const char *name;
	enum heap_function function;
} functions[] = {
	{ "malloc", HEAP_FUNCTION_SIZE },
	{ "calloc", HEAP_FUNCTION_CALLOC },
	{ "realloc", HEAP_FUNCTION_REALLOC },
	{ "free", HEAP_FUNCTION_FREE },
	{ "memalign", HEAP_FUNCTION_ALIGNED },
	{ "aligned_alloc", HEAP_FUNCTION_ALIGNED },
	{ "posix_memalign", HEAP_FUNCTION_POSIX },
	{ "valloc", HEAP_FUNCTION_SIZE },
	{ "pvalloc", HEAP_FUNCTION_SIZE },
	{ "mmap", HEAP_FUNCTION_MMAP },
	{ "mmap64", HEAP_FUNCTION_MMAP },
	{ "munmap", HEAP_FUNCTION_MUNMAP },
	{ "mremap", HEAP_FUNCTION_MREMAP },
	/* of C++: new and delete, by their forms */
	{ "_Znwm", HEAP_FUNCTION_THROWING },
	{ "_Znam", HEAP_FUNCTION_THROWING },
	{ "_ZnwmRKSt9nothrow_t", HEAP_FUNCTION_SIZE },
	{ "_ZnamRKSt9nothrow_t", HEAP_FUNCTION_SIZE },
	{ "_ZnwmSt11align_val_t", HEAP_FUNCTION_THROWING },
	{ "_ZnamSt11align_val_t", HEAP_FUNCTION_THROWING },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_FUNCTION_SIZE },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", HEAP_FUNCTION_SIZE },
	{ "_ZdlPv", HEAP_FUNCTION_FREE },
	{ "_ZdaPv", HEAP_FUNCTION_FREE },
	{ "_ZdlPvm", HEAP_FUNCTION_FREE },
	{ "_ZdaPvm", HEAP_FUNCTION_FREE },
	{ "_ZdlPvRKSt9nothrow_t", HEAP_FUNCTION_FREE },
	{ "_ZdaPvRKSt9nothrow_t", HEAP_FUNCTION_FREE },
	{ "_ZdlPvSt11align_val_t", HEAP_FUNCTION_FREE },
	{ "_ZdaPvSt11align_val_t", HEAP_FUNCTION_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", HEAP_FUNCTION_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", HEAP_FUNCTION_FREE },
	{ "_ZdlPvmSt11align_val_t", HEAP_FUNCTION_FREE },
	{ "_ZdaPvmSt11align_val_t", HEAP_FUNCTION_FREE },
};

void allocator_places_fini(struct allocator_places *p)
{
	vec_foreach (p, place) {
		free(place->path);
		free(place->image);
	}
	vec_fini(p);
}

static enum heap_function function_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strcmp(name, functions[i].name))
			return functions[i].function;
	return HEAP_FUNCTION_NONE;
}

/* A file, by the path that the kernel takes, and by the name that it has in mappings. */
struct allocator_file {
	const char *path, *image;
	enum image_found found;
};

/* Several names can have one place, which has one probe. */
static void add_place(struct allocator_places *out, size_t first, const struct allocator_file *f,
		      uint64_t file_off, enum heap_function function)
{
	for (size_t i = first; i < out->n; i++)
		if (out->data[i].file_off == file_off)
			return;
	if (out->n < PLACES_MAX)
		vec_push(out, ((struct allocator_place){ xstrdup(f->path), xstrdup(f->image),
							 file_off, function }));
}

static bool is_own_machine(const struct file_mapping *file)
{
	const Elf64_Ehdr *head = (const void *)file->base;

	return file->size >= sizeof(*head) && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	       head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_machine == OWN_MACHINE;
}

static bool has_malloc(const struct file_functions *f)
{
	for (uint32_t i = 0; i < f->head.n; i++)
		if (f->list[i].is_global && !strcmp(file_functions_name(f, &f->list[i]), "malloc"))
			return true;
	return false;
}

/* ---- operators ---- */

/* The target of the instruction at `at` if it calls or jumps to a fixed place; else 0. */
static uint64_t call_target(const struct file_mapping *file, uint64_t at, uint64_t end)
{
	const uint8_t *code = file->base + at;
#if defined(__x86_64__)
	int32_t distance;

	if (end - at < 5 || (code[0] != 0xe8 && code[0] != 0xe9))
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return at + 5 + (uint64_t)(int64_t)distance;
#else
	uint32_t word;

	if (at % 4 || end - at < 4)
		return 0;
	memcpy(&word, code, sizeof(word));
	if ((word & 0x7c000000) != 0x14000000) /* b, bl */
		return 0;
	return at + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
#endif
}

/*
 * Whether a function calls malloc or its like in the same file, or another operator. Then that one
 * counts, as in a static program that has the C++ library in it. Distances in the file are those in
 * memory, because all code of a file is in one segment.
 */
static bool calls_another(const struct file_mapping *file, const struct file_functions *all,
			  const struct file_function *f)
{
	uint64_t end = f->file_off + MIN(f->size, OPERATOR_BYTES_MAX);

	if (end > file->size || end < f->file_off)
		return false;
	for (uint64_t at = f->file_off; at < end; at++) {
		uint64_t target = call_target(file, at, end);

		for (uint32_t i = 0; target && i < all->head.n; i++)
			if (all->list[i].file_off == target && target != f->file_off &&
			    function_of(file_functions_name(all, &all->list[i])))
				return true;
	}
	return false;
}

static bool is_operator(const char *name)
{
	return !strncmp(name, "_Z", 2);
}

/* Files that have no malloc of their own have no places: libstdc++ has operators that call it. */
static void add_file(const struct file_mapping *file, const struct allocator_file *which,
		     struct allocator_places *out)
{
	struct file_functions f = { 0 };
	size_t first = out->n;

	if (!is_own_machine(file) ||
	    file_functions_ask(file, which->found, FUNCTIONS_ALL, NULL, &f, NULL) < 0)
		return;
	for (uint32_t i = 0; has_malloc(&f) && i < f.head.n; i++) {
		enum heap_function function = function_of(file_functions_name(&f, &f.list[i]));

		if (function && f.list[i].is_global &&
		    !(is_operator(file_functions_name(&f, &f.list[i])) &&
		      calls_another(file, &f, &f.list[i])))
			add_place(out, first, which, f.list[i].file_off, function);
	}
	file_functions_fini(&f);
}

/* Names of files that can have a malloc, so that not every library is looked through. */
static bool may_have_malloc(const char *path)
{
	static const char *const names[] = { "libc.so", "libc-", "libc.musl", "ld-musl",
					     "libassay-heap" };
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return strstr(base, "malloc") != NULL;
}

static int check_places(const struct allocator_places *places, size_t first, const char *what,
			struct error *err)
{
	for (size_t i = first; i < places->n; i++)
		if (places->data[i].function == HEAP_FUNCTION_SIZE)
			return 0;
	return error_set(err, -ENOENT,
			 "--alloc: %s has no function 'malloc' that assay can find: the program is "
			 "stripped, of another architecture, or has an allocator of its own (Go)",
			 what);
}

/* A process. */

struct mapped_file {
	uint64_t dev, ino, start, size;
	char *path;
};

struct file_finder {
	struct event_sink sink;
	VEC(struct mapped_file) files;
	char program[PATH_MAX];
};

static int find_file(struct event_sink *sink, const struct event *e)
{
	struct file_finder *f = (struct file_finder *)sink;
	const struct mapping_event *m = &e->mapping;

	if (e->type != EVENT_MAPPING || !m->path || *m->path != '/' || f->files.n >= FILES_MAX ||
	    (strcmp(m->path, f->program) != 0 && !may_have_malloc(m->path)))
		return 0;
	vec_foreach (&f->files, known)
		if (known->dev == m->dev && known->ino == m->ino)
			return 0;
	vec_push(&f->files,
		 ((struct mapped_file){ m->dev, m->ino, m->start, m->size, xstrdup(m->path) }));
	return 0;
}

/* The mapping is the file itself, whatever its path leads to by now; only root can use it. */
static void add_mapped(int32_t pid, const struct mapped_file *m, struct allocator_places *out)
{
	cleanup(free_at_exit) char *link =
		xasprintf("/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)m->start,
			  (unsigned long long)(m->start + m->size));
	cleanup(free_at_exit) char *below = xasprintf("/proc/%d/root%s", pid, m->path);
	cleanup(free_at_exit) char *process = xasprintf("/proc/%d", pid);
	const struct guard_place place = { .root = "", .process = process };
	struct file_mapping file = { 0 };
	const char *path = link;

	if (guard_map_place(&place, path, &guard_image_rules, &file, NULL) < 0 &&
	    guard_map_place(&place, path = below, &guard_image_rules, &file, NULL) < 0)
		return;
	add_file(&file, &(struct allocator_file){ path, m->path, IMAGE_HIDDEN }, out);
	file_unmap(&file);
}

int allocator_places_of_process(int32_t tid, struct allocator_places *out, struct error *err)
{
	struct file_finder finder = { .sink = { .push = find_file } };
	cleanup(free_at_exit) char *link = xasprintf("/proc/%d/exe", tid);
	cleanup(free_at_exit) char *what = xasprintf("process %d", tid);
	ssize_t n = readlink(link, finder.program, sizeof(finder.program) - 1);
	size_t first = out->n;

	if (n < 0 || proc_scan_process("/proc", tid, 0, &finder.sink) <= 0)
		return error_set(err, -ESRCH, "%s has ended, or you may not look at it", what);
	vec_foreach (&finder.files, file) {
		add_mapped(tid, file, out);
		free(file->path);
	}
	vec_fini(&finder.files);
	return check_places(out, first, what, err);
}

int allocator_places_of_files(char *const *files, size_t n_files, struct allocator_places *out,
			      struct error *err)
{
	size_t first = out->n;

	for (size_t i = 0; i < n_files; i++) {
		struct file_mapping file = { 0 };

		if ((i && !may_have_malloc(files[i])) ||
		    guard_map(GUARD_HERE, files[i], &guard_image_rules, &file, NULL) < 0)
			continue;
		add_file(&file, &(struct allocator_file){ files[i], files[i], IMAGE_AT_ITS_PATH },
			 out);
		file_unmap(&file);
	}
	return check_places(out, first, n_files ? files[0] : "the command", err);
}
