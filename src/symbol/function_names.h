/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of one file, or of the kernel, by the names that a person types: for address
 * filters and triggers, which must hit one place.
 *
 * A symbol table (symbols.h) has one name a place. Here all names count, aliases too, with their
 * binding. A name matches as in the symbol table, or demangled, with parameters or without.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct error;
struct function_names;

struct function_name {
	uint64_t start, size; /* an offset in the file, or an address of the kernel */
	const char *name;
	bool is_global; /* visible beyond its source file */
};

/*
 * Functions of an ELF file: its own symbols and those of its separate debug file
 * (symbol/debug_file.h). -ENOENT …: it can't be read; -ENODATA: it has no functions.
 */
int function_names_of_file(const char *path, struct function_names **out, struct error *err);

/* Functions of the running kernel and its modules. `path` NULL: /proc/kallsyms. -EACCES: hidden. */
int function_names_of_kernel(const char *path, struct function_names **out, struct error *err);

void function_names_free(struct function_names *f); /* NULL is fine */
DEFINE_AT_EXIT(function_names_free, struct function_names)

/* The file's path, or "the kernel". */
const char *function_names_of(const struct function_names *f);

/* Cuts " #2" or " #g" off a name, and returns the `pick` for it; without it, PICK_ONLY. */
int32_t function_pick_cut(char *name);

/* From the first function's start to the last one's end; for files the whole file. */
void function_names_span(const struct function_names *f, uint64_t *start, uint64_t *size);

/*
 * The function of a name. `pick` as in counter/address_filter.h: PICK_ONLY, PICK_GLOBAL, or the
 * n-th in the order of addresses. -ENOENT with the nearest names; -ENOTUNIQ with a list of all.
 */
int function_names_find(const struct function_names *f, const char *name, int32_t pick,
			struct function_name *out, struct error *err);
