/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The print fmt of a tracepoint: parsed once, evaluated for every sample. For tracepoint.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"

struct trace_field {
	const char *name;
	uint32_t offset, size, n_elements, element_size;
	bool is_signed, is_common, is_text, is_array;
	bool is_dynamic;  /* an array whose place is in the field … */
	bool is_relative; /* … counted from the field's end, not from the data's start */
};

struct trace_fields {
	struct trace_field *data;
	size_t n, cap;
	bool is_foreign;
};

struct trace_bytes {
	const uint8_t *bytes;
	size_t n;
};

/* A number of 1, 2, 4 or 8 bytes. Bytes beyond the data are 0; a number of another size is 0. */
uint64_t trace_number(const struct trace_fields *fields, const uint8_t *raw, size_t size,
		      size_t offset, size_t n);
uint64_t trace_extend(uint64_t v, size_t size); /* extends the sign of a number of `size` bytes */
struct trace_bytes trace_bytes_of(const struct trace_fields *fields, const struct trace_field *f,
				  const uint8_t *raw, size_t size);

struct print_format;

/* NULL if a part is not understood. All memory is in the arena. */
struct print_format *print_format_new(const char *text, size_t size,
				      const struct trace_fields *fields, struct arena *arena);
void print_format_print(const struct print_format *p, const struct trace_fields *fields,
			const uint8_t *raw, size_t size, struct buf *out);
