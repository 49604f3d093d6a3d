/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of allocators in the files of a program: the places of probes.
 *
 * Several files can have a malloc: a library that is put in front of the C library's, and the C
 * library. All of them are places, because the outermost call is the one that counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

struct allocator_place {
	char *path;  /* for the kernel */
	char *image; /* the file, as mappings name it */
	uint64_t file_off;
	uint32_t function; /* enum heap_function (heap/bpf/heap_message.h) */
};
struct allocator_places {
	struct allocator_place *data;
	size_t n, cap;
};
void allocator_places_fini(struct allocator_places *p);

/*
 * Of a process that runs, by the id of one of its living threads. -ENOENT: it has no malloc with a
 * name; -ESRCH: it has ended, or we may not look at it.
 */
int allocator_places_of_process(int32_t tid, struct allocator_places *out, struct error *err);

/* Of a program that starts later; `files` are the program and its libraries, by absolute path. */
int allocator_places_of_files(char *const *files, size_t n_files, struct allocator_places *out,
			      struct error *err);
