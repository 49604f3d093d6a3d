/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library that is preloaded: where it is, and the environment of the command. */
#pragma once

struct error;

/*
 * The path of libassay-heap.so: $ASSAY_HEAP_LIBRARY, or beside the running program (installed or
 * unpacked), or in the build folder. NULL with a message: not there. The caller frees it.
 */
char *heap_library_find(struct error *err);

/*
 * "LD_PRELOAD=LIBRARY:…" with the user's own value behind it, and the ring's variable. The caller
 * frees both.
 */
struct heap_variables {
	char *preload, *ring;
};
struct heap_variables heap_library_variables(const char *library, const char *ring);
void heap_variables_fini(struct heap_variables *v);
