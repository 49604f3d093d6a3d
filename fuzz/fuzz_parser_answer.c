/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of the parser, as a child that somebody has taken over could send them. The first byte
 * chooses the row. What a row's check accepts is then used like a real answer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine/jit_index.h"
#include "machine/jit_piece.h"
#include "machine/perf_map.h"
#include "parser/table.h"
#include "symbol/file_functions.h"
#include "symbol/file_symbols.h"
#include "symbol/kernel/kernel_symbols.h"
#include "symbol/lines/file_dump.h"
#include "symbol/lines/file_lines.h"
#include "unwind/file_unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_symbol_block(const void *block, size_t size)
{
	struct index index;

	if (!index_open(&index, block, size))
		abort();
	for (uint32_t i = 0; i < index.n; i++) {
		uint32_t found = index_find(&index, index.starts[i]);

		/* Each start is found; a symbol without bytes is not. */
		if (index.sizes[i] && found != i)
			abort();
		if (strlen(index_text(&index, index.names[i])) >= index.text_size)
			abort();
	}
}

static void use_symbols(const void *bytes, size_t size)
{
	struct file_symbols s;

	if (!file_symbols_read(&s, bytes, size))
		abort();
	if (s.block)
		use_symbol_block(s.block, s.block_size);
}

static void use_line_block(const void *block, size_t size)
{
	struct line_index index;

	if (!line_index_open(&index, block, size))
		abort();
	for (uint32_t i = 0; i < index.header->n_rows; i++) {
		uint32_t row = line_index_row(&index, index.header->base + index.rows[i].start);

		if (row != UINT32_MAX && row >= index.header->n_rows)
			abort();
		line_index_text(&index, line_index_place(&index, index.rows[i].place).file);
	}
}

static void use_lines(const void *bytes, size_t size)
{
	struct file_lines l;

	if (!file_lines_read(&l, bytes, size))
		abort();
	if (l.block)
		use_line_block(l.block, l.block_size);
}

static void use_perf_map(const void *bytes, size_t size)
{
	struct perf_map map;
	bool is_large;

	if (!perf_map_read(&map, &is_large, bytes, size))
		abort();
	for (size_t i = 0; i < map.n; i++)
		if (perf_map_find(&map, map.data[i].start) != &map.data[i] ||
		    strlen(perf_map_name(&map, &map.data[i])) >= size)
			abort();
}

static void use_dump(void *bytes, size_t size)
{
	enum dump_part part;
	size_t block_size;
	void *block;

	if (!file_dump_read(&part, &block, &block_size, bytes, size))
		abort();
	if (block && part == DUMP_LINES)
		use_line_block(block, block_size);
	else if (block)
		use_symbol_block(block, block_size);
}

/* Each code that is in the index is found there. */
static void use_jit_piece(const void *bytes, size_t size)
{
	struct jit_index index = { 0 };
	struct jit_piece piece;
	struct jitdump d;

	if (!jit_piece_read(&piece, bytes, size))
		abort();
	jitdump_init(&d);
	jit_piece_add(&piece, &d);
	jit_index_add(&index, &d);
	vec_foreach (&d.codes, c)
		if (c->size && !jit_index_find(&index, &d, c->addr, c->from_ns))
			abort();
	jit_index_fini(&index);
	jitdump_fini(&d);
}

static void use_unwind(const void *bytes, size_t size)
{
	struct file_unwind f;
	struct unwind_table table;

	if (!file_unwind_read(&f, bytes, size))
		abort();
	if (!f.block || !unwind_table_open(&table, f.block, f.block_size))
		return;
	for (uint32_t p = 0; p < table.n_pages; p++)
		unwind_table_find(&table, ((uint64_t)table.first_page + p) << UNWIND_PAGE_BITS);
}

static void use_functions(const void *bytes, size_t size)
{
	struct file_functions f;
	size_t n = 0;

	if (!file_functions_read(&f, bytes, size))
		abort();
	for (uint32_t i = 0; i < f.head.n; i++)
		if (*file_functions_name(&f, &f.list[i]) && n++ < 1000 &&
		    strlen(file_functions_name(&f, &f.list[i])) >= size)
			abort();
}

static void use_kernel_symbols(void *bytes, size_t size)
{
	enum kernel_symbols_result result;
	const void *block;
	size_t block_size;

	if (!kernel_symbols_read(&result, &block, &block_size, bytes, size))
		abort();
	if (block)
		use_symbol_block(block, block_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct parser_row *row = NULL;
	uint8_t *copy;

	for (size_t i = 0; size && parser_rows[i] && i <= data[0]; i++)
		row = parser_rows[i];
	if (!row)
		return 0;
	copy = xmalloc(size);
	memcpy(copy, data + 1, size - 1);
	if (row->check(copy, size - 1)) {
		if (row == &file_symbols_row)
			use_symbols(copy, size - 1);
		else if (row == &file_lines_row)
			use_lines(copy, size - 1);
		else if (row == &file_unwind_row)
			use_unwind(copy, size - 1);
		else if (row == &perf_map_row)
			use_perf_map(copy, size - 1);
		else if (row == &file_dump_row)
			use_dump(copy, size - 1);
		else if (row == &jit_piece_row)
			use_jit_piece(copy, size - 1);
		else if (row == &file_functions_row)
			use_functions(copy, size - 1);
		else if (row == &kernel_symbols_row)
			use_kernel_symbols(copy, size - 1);
	}
	free(copy);
	return 0;
}
