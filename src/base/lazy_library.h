/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that few runs need, loaded when they are: libpq and libdebuginfod bring thirty others
 * with them, whose loading cost every start of assay 8 ms.
 *
 *	#define FUNCTIONS(X) X(PQexec) X(PQclear)
 *	static struct { FUNCTIONS(LAZY_POINTER) } pq;
 *	#define ROW(function) { #function, &pq.function },
 *	static const struct lazy_function functions[] = { FUNCTIONS(ROW) };
 *
 * The headers are those of the library, so that the pointers have its types.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

struct lazy_function {
	const char *name;
	void *pointer; /* address of the function pointer */
};

#define LAZY_POINTER(function) __typeof__(function) *function;

/* Whether any of them can be loaded. */
bool lazy_library_is_installed(const char *sonames);

/*
 * Fills all pointers from the first library that loads. `sonames` lists the names of its versions,
 * separated by blanks, best first. -ENOENT: no such library, or a function is missing.
 */
int lazy_library_load(const char *sonames, const struct lazy_function *functions, size_t n,
		      struct error *err);
