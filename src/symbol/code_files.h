/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of code, from the images that hold it: some are kept open, the one that was not used
 * for longest gives way to the next.
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

/* At most so many are open at a time; 0: the default. */
struct code_files *code_files_new(struct symbolizer *s, uint32_t max_open);
void code_files_free(struct code_files *f); /* NULL is fine */
DEFINE_AT_EXIT(code_files_free, struct code_files)

/* Valid until the next call: the file may give way. */
struct code_bytes {
	const uint8_t *bytes;
	size_t size;
	struct disassembler *disassembler;
	uint64_t mtime_ns; /* of the file; 0: it is none */
};

/*
 * `size` bytes (fewer at the image's end) from an offset of a table's image. A negative errno
 * with the reason where the code is not to be had: the file is gone or another one, the kernel's
 * text is not readable, code was made at run time.
 */
int code_files_get(struct code_files *f, const struct symbol_table *t, uint64_t offset,
		   uint64_t size, struct code_bytes *out, struct error *err);
