/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of code, from the images that hold it. Some files are kept open; the least recently
 * used one is closed for the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "symbol/symbols.h"

struct code_files;
struct disassembler;
struct error;

#define DEFAULT_CODE_FILES 8

/* `max_open`: the limit of open files; 0: the default. */
struct code_files *code_files_new(struct symbolizer *s, uint32_t max_open);
void code_files_free(struct code_files *f); /* NULL is fine */
DEFINE_AT_EXIT(code_files_free, struct code_files)

/* Valid until the next call, which may close the file. */
struct code_bytes {
	const uint8_t *bytes;
	size_t size;
	struct disassembler *disassembler;
	bool is_64;        /* the file is of a 64-bit machine */
	uint64_t mtime_ns; /* of the file; 0: no file */
};

/*
 * `size` bytes (fewer at the image's end) from an offset of a table's image. A negative errno with
 * the reason if the code can't be read: the file is gone or another one, the kernel's text is not
 * readable, or the code was made at run time.
 */
int code_files_get(struct code_files *f, const struct symbol_table *t, uint64_t offset,
		   uint64_t size, struct code_bytes *out, struct error *err);
