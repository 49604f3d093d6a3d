/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_links.h"
#include "elf/elf_symbols.h"
#include "lang/code.h"
#include "lang/detect.h"
#include "lang/language.h"
#include "lang/process_context.h"

/* Line tables. */

#define RUNS_MAX 24

/*
 * A function's table, and the lines that Python itself gives for its code. The lines are runs of
 * (line, units of 2 bytes), by co_lines() or, up to 3.9, by dis.findlinestarts(). Line 0: none. The
 * function is line 2 to 18 of:
 *
 *	def f(a,
 *	      b=1):
 *	    x = (a +
 *	         b)
 *	    for i in range(x):
 *	        try:
 *	            x += (i if
 *	                  i else a)
 *	        except ValueError:
 *	            x = 0
 *	        finally:
 *	            b = 2
 *
 *
 *
 *	    return [j for j in (x,
 *	                        b)]
 */
static const struct {
	unsigned int minor;
	const char *table;
	unsigned int size;
	struct {
		unsigned int line, units;
	} runs[RUNS_MAX];
} tables
	[] = {
		{ 6,
		  "\x00\x02\x02\x01\x06\x01\x0e\x01\x04\x01\x02\x01\x12\x01\x0e\x01\x0e\x02\x0a\x04"
		  "\x08\x01",
		  22,
		  { { 4, 1 },
		    { 5, 3 },
		    { 6, 7 },
		    { 7, 2 },
		    { 8, 1 },
		    { 9, 9 },
		    { 10, 7 },
		    { 11, 7 },
		    { 13, 5 },
		    { 17, 4 },
		    { 18, 5 } } },
		{ 9,
		  "\x00\x02\x02\x01\x02\xff\x04\x02\x0c\x01\x04\x01\x02\x01\x02\xff\x06\x01\x02\xff"
		  "\x08\x02\x0c\x01\x0c\x02\x0e\x04\x08\x01\x02\xff",
		  32,
		  { { 4, 1 },
		    { 5, 1 },
		    { 4, 2 },
		    { 6, 6 },
		    { 7, 2 },
		    { 8, 1 },
		    { 9, 1 },
		    { 8, 3 },
		    { 9, 1 },
		    { 8, 4 },
		    { 10, 6 },
		    { 11, 6 },
		    { 13, 7 },
		    { 17, 4 },
		    { 18, 1 },
		    { 17, 4 } } },
		{ 10,
		  "\x02\x02\x02\x01\x04\xff\x0c\x02\x04\x01\x02\x01\x02\x01\x06\xff\x02\x01\x08\xff"
		  "\x0c\x02\x08\x01\x02\xff\x02\x80\x0c\x03\x08\x04\x02\x01\x08\xff",
		  36,
		  { { 4, 1 },
		    { 5, 1 },
		    { 4, 2 },
		    { 6, 6 },
		    { 7, 2 },
		    { 8, 1 },
		    { 9, 1 },
		    { 8, 3 },
		    { 9, 1 },
		    { 8, 4 },
		    { 10, 6 },
		    { 11, 4 },
		    { 10, 1 },
		    { 0, 1 },
		    { 13, 6 },
		    { 17, 4 },
		    { 18, 1 },
		    { 17, 4 } } },
		{ 11,
		  "\x80\x00\xe0\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41\xe5\x0d\x12\x90\x31"
		  "\x89\x58\x8c\x58\xf0\x00\x07\x05\x12\xf0\x00\x07\x05\x12\x88\x01\xf0\x02\x06\x09"
		  "\x12\xd8\x0c\x0d\xd8\x12\x13\xf0\x03\x01\x13\x1b\x90\x21\x90\x21\xd8\x19\x1a\xf1"
		  "\x03\x01\x0d\x1c\x88\x41\x88\x41\xf8\xe5\x0f\x19\xf0\x00\x01\x09\x12\xf0\x00\x01"
		  "\x09\x12\xf0\x00\x01\x09\x12\xd8\x10\x11\x88\x41\x88\x41\x88\x41\xf0\x03\x01\x09"
		  "\x12\xf8\xf8\xf8\xf0\x06\x00\x11\x12\x88\x41\x88\x41\xf8\x90\x01\x88\x41\x88\x45"
		  "\x88\x45\x88\x45\x88\x45\xf0\x08\x01\x0c\x1c\xf0\x00\x01\x0c\x1c\x98\x01\xd8\x18"
		  "\x19\xf0\x03\x01\x18\x1b\xf0\x00\x01\x0c\x1c\xf1\x00\x01\x0c\x1c\xf4\x00\x01\x0c"
		  "\x1c\xf0\x00\x01\x05\x1c",
		  166,
		  { { 2, 1 },  { 4, 1 },  { 5, 1 },  { 4, 3 },  { 6, 17 }, { 7, 1 },
		    { 8, 1 },  { 9, 1 },  { 8, 3 },  { 9, 1 },  { 8, 4 },  { 0, 1 },
		    { 10, 9 }, { 11, 4 }, { 10, 1 }, { 0, 3 },  { 13, 3 }, { 0, 1 },
		    { 13, 6 }, { 17, 3 }, { 18, 1 }, { 17, 10 } } },
		{ 12,
		  "\x80\x00\xe0\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41\xe4\x0d\x12\x90\x31"
		  "\x8b\x58\xf2\x00\x07\x05\x12\x88\x01\xf0\x02\x06\x09\x12\xd8\x0c\x0d\xd9\x12\x13"
		  "\xf1\x03\x00\x13\x14\xd8\x19\x1a\xf1\x03\x01\x0d\x1c\x88\x41\xf0\x0a\x00\x11\x12"
		  "\x89\x41\xf0\x0f\x07\x05\x12\xf0\x16\x00\x19\x1a\xd8\x18\x19\xf0\x03\x01\x18\x1b"
		  "\xf6\x00\x01\x0c\x1c\x90\x21\x8a\x41\xf2\x00\x01\x0c\x1c\xf0\x00\x01\x05\x1c\xf8"
		  "\xf4\x0f\x00\x10\x1a\xf2\x00\x01\x09\x12\xd8\x10\x11\x8a\x41\xf0\x03\x01\x09\x12"
		  "\xfb\xf0\x06\x00\x11\x12\x89\x41\xfc\xf2\x08\x01\x0c\x1c",
		  134,
		  { { 2, 1 },  { 4, 1 },  { 5, 1 },  { 4, 3 },   { 6, 14 }, { 7, 1 },
		    { 8, 1 },  { 9, 2 },  { 8, 2 },  { 9, 1 },   { 8, 3 },  { 13, 3 },
		    { 6, 1 },  { 17, 1 }, { 18, 1 }, { 17, 16 }, { 0, 1 },  { 10, 8 },
		    { 11, 4 }, { 10, 1 }, { 0, 4 },  { 13, 3 },  { 0, 5 },  { 17, 3 } } },
		{ 13,
		  "\x80\x00\xe0\x09\x0a\xd8\x09\x0a\xf1\x03\x01\x0a\x0b\x80\x41\xe4\x0d\x12\x90\x31"
		  "\x8e\x58\x88\x01\xf0\x02\x06\x09\x12\xd8\x0c\x0d\xde\x12\x13\xf1\x03\x00\x13\x14"
		  "\xd8\x19\x1a\xf1\x03\x01\x0d\x1c\x88\x41\xf0\x0a\x00\x11\x12\x8a\x41\xf1\x0f\x00"
		  "\x0e\x16\xf0\x16\x00\x19\x1a\xd8\x18\x19\xf1\x03\x01\x18\x1b\xf3\x00\x01\x0c\x1c"
		  "\xf1\x00\x01\x18\x1b\x90\x21\x8a\x41\xf1\x00\x01\x18\x1b\xf1\x00\x01\x0c\x1c\xf0"
		  "\x00\x01\x05\x1c\xf8\xf4\x0f\x00\x10\x1a\xf3\x00\x01\x09\x12\xd8\x10\x11\x8a\x41"
		  "\xf0\x03\x01\x09\x12\xfb\xf0\x06\x00\x11\x12\x89\x41\xfc\xf2\x08\x01\x0c\x1c",
		  139,
		  { { 2, 1 },  { 4, 1 },  { 5, 1 },  { 4, 3 },   { 6, 14 }, { 7, 1 },
		    { 8, 1 },  { 9, 7 },  { 8, 2 },  { 9, 1 },   { 8, 3 },  { 13, 4 },
		    { 6, 2 },  { 17, 1 }, { 18, 1 }, { 17, 17 }, { 0, 1 },  { 10, 9 },
		    { 11, 4 }, { 10, 1 }, { 0, 4 },  { 13, 3 },  { 0, 5 },  { 17, 3 } } },
		{ 14,
		  "\x80\x00\xe0\x09\x0a\xd8\x09\x0a\xf5\x03\x01\x0a\x0b\x80\x41\xe4\x0d\x12\x90\x31"
		  "\x8e\x58\x88\x01\xf0\x02\x06\x09\x12\xd8\x0c\x0d\xdf\x12\x13\xf1\x03\x00\x13\x14"
		  "\xd8\x19\x1a\xf5\x03\x01\x0d\x1c\x88\x41\xf0\x0a\x00\x11\x12\x8a\x41\xf1\x0f\x00"
		  "\x0e\x16\xf0\x16\x00\x19\x1a\xd8\x18\x19\xf1\x03\x01\x18\x1b\xf3\x00\x01\x0c\x1c"
		  "\xf1\x00\x01\x18\x1b\x90\x21\x8a\x41\xf1\x00\x01\x18\x1b\xf1\x00\x01\x0c\x1c\xf0"
		  "\x00\x01\x05\x1c\xf8\xf4\x0f\x00\x10\x1a\xf4\x00\x01\x09\x12\xd8\x10\x11\x8a\x41"
		  "\xf0\x03\x01\x09\x12\xfb\xf0\x06\x00\x11\x12\x89\x41\xfc\xf2\x08\x01\x0c\x1c",
		  139,
		  { { 2, 1 },  { 4, 1 },  { 5, 1 },  { 4, 7 },   { 6, 14 }, { 7, 1 },
		    { 8, 1 },  { 9, 8 },  { 8, 2 },  { 9, 1 },   { 8, 7 },  { 13, 4 },
		    { 6, 2 },  { 17, 1 }, { 18, 1 }, { 17, 17 }, { 0, 1 },  { 10, 10 },
		    { 11, 4 }, { 10, 1 }, { 0, 4 },  { 13, 3 },  { 0, 5 },  { 17, 3 } } },
	};

#define FIRST_LINE 2

static void make_code(struct lang_code *code, size_t i)
{
	*code = (struct lang_code){ .language = LANGUAGE_PYTHON,
				    .version = 3 << 8 | tables[i].minor,
				    .first_line = FIRST_LINE,
				    .lines_size = tables[i].size,
				    .n_lines = tables[i].size };
	memcpy(code->lines, tables[i].table, tables[i].size);
}

static void each_unit_of_code_has_pythons_own_line(void **state)
{
	struct lang_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		uint32_t position = 0;

		make_code(&code, i);
		for (size_t k = 0; k < RUNS_MAX; k++)
			for (unsigned int n = 0; n < tables[i].runs[k].units; n++, position++) {
				unsigned int line = tables[i].runs[k].line;

				assert_int_equal(lang_line(&code, position),
						 line ? line : FIRST_LINE);
			}
		assert_true(position > 30);
	}
}

static void a_frame_that_has_not_begun_is_at_the_first_line(void **state)
{
	struct lang_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		make_code(&code, i);
		assert_int_equal(lang_line(&code, UINT32_MAX), FIRST_LINE);
	}
}

static void a_table_that_was_cut_gives_no_wrong_line(void **state)
{
	struct lang_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (uint32_t n = 0; n < tables[i].size; n++) {
			uint32_t position = 0;

			make_code(&code, i);
			code.n_lines = n;
			for (size_t k = 0; k < RUNS_MAX; k++)
				for (unsigned int u = 0; u < tables[i].runs[k].units; u++) {
					uint32_t line = lang_line(&code, position++);

					assert_true(line == FIRST_LINE ||
						    line == tables[i].runs[k].line);
				}
		}
}

/* Texts. */

static void check_text(uint32_t kind, const void *bytes, uint32_t size, const char *expected)
{
	struct lang_text text = { .state = kind << 2, .size = size };
	struct buf out = { 0 };

	memcpy(text.bytes, bytes, MIN(size, (uint32_t)sizeof(text.bytes)));
	lang_append_text(&text, &out);
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
}

static void texts_of_all_widths_become_utf8(void **state)
{
	static const uint16_t two[] = { 'a', 0x20ac };
	static const uint32_t four[] = { 'a', 0x1f40d };

	(void)state;
	check_text(1, "f", 1, "f");
	check_text(1, "\xfc", 1, "\xc3\xbc");
	check_text(2, two, sizeof(two), "a\xe2\x82\xac");
	check_text(4, four, sizeof(four), "a\xf0\x9f\x90\x8d");
}

static void what_is_no_text_stays_harmless(void **state)
{
	static const uint32_t bad[] = { 0xd800, 0x110000, 0 };

	(void)state;
	check_text(4, bad, sizeof(bad), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	check_text(4, bad, 3, "");
	check_text(0, "f", 1, "");
	check_text(7, "ffffffff", 8, "");
}

static void set_text(struct lang_text *text, const char *bytes, uint32_t size)
{
	text->state = LANG_TEXT_BYTES;
	text->size = size;
	memcpy(text->bytes, bytes, size);
}

static void check_name(const struct lang_code *code, const char *expected)
{
	struct buf out = { 0 };

	lang_append_name(code, &out);
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
}

static void a_function_has_the_name_that_its_language_writes(void **state)
{
	struct lang_code code = { .language = LANGUAGE_PHP };
	struct buf out = { 0 };

	(void)state;
	check_name(&code, "<main>");
	set_text(&code.name, "f\xc3\xbc", 3);
	check_name(&code, "f\xc3\xbc");
	set_text(&code.scope, "K@anonymous\0/x.php", 18);
	check_name(&code, "K@anonymous::f\xc3\xbc");
	/* A text ends at its room, whatever its size says. */
	code.name.size = code.scope.size = UINT32_MAX;
	memset(code.name.bytes, 'n', sizeof(code.name.bytes));
	memset(code.scope.bytes, 's', sizeof(code.scope.bytes));
	lang_append_name(&code, &out);
	assert_int_equal(out.len, 2 * LANG_TEXT_MAX + 2);
	buf_fini(&out);
}

static void perls_evals_are_one_file(void **state)
{
	struct lang_code code = { .language = LANGUAGE_PERL };
	struct buf out = { 0 };

	(void)state;
	set_text(&code.file, "(eval 12)", 9);
	lang_append_file(&code, &out);
	assert_string_equal(buf_cstr(&out), "(eval)");
	set_text(&code.file, "/eval.pl", 8);
	lang_append_file(&code, &out);
	assert_string_equal(buf_cstr(&out), "(eval)/eval.pl");
	buf_fini(&out);
}

static void phps_position_is_the_line(void **state)
{
	struct lang_code code = { .language = LANGUAGE_PHP, .first_line = 7 };

	(void)state;
	assert_int_equal(lang_line(&code, 9), 9);
	assert_int_equal(lang_line(&code, UINT32_MAX), 7);
	assert_int_equal(lang_line(&code, LANG_LINE_LIMIT + 1), 0);
}

/*
 * An index of positions as Ruby builds it (iseq.c): entry e begins at position 3 * e, and has line
 * 100 + e. More than 54 + 512 positions take two blocks.
 */
#define RUBY_POSITIONS 700
#define RUBY_STEP      3

static uint32_t ruby_entries_before(uint32_t position)
{
	return (position + RUBY_STEP - 1) / RUBY_STEP; /* that begin before it */
}

static void set_ruby_block(uint8_t *block, uint32_t first)
{
	uint64_t head[10] = { ruby_entries_before(first) };

	for (uint32_t i = 0; i < RUBY_BLOCK_COVERS; i++) {
		uint32_t position = first + i;

		if (i % 64 == 0 && i)
			head[1] |= (uint64_t)(ruby_entries_before(position) - head[0])
				   << 9 * (i / 64 - 1);
		if (position % RUBY_STEP == 0 && position < RUBY_POSITIONS)
			head[2 + i / 64] |= (uint64_t)1 << i % 64;
	}
	memcpy(block, head, sizeof(head));
}

static void make_ruby_code(struct lang_code *code)
{
	struct ruby_index head = {
		.n_positions = RUBY_POSITIONS,
		.n_entries = RUBY_POSITIONS / RUBY_STEP + 1,
		.index_size = RUBY_INDEX_BLOCKS + 2 * RUBY_INDEX_BLOCK,
		.entry_size = 12,
	};
	uint8_t *index = code->lines + sizeof(head);

	*code = (struct lang_code){ .language = LANGUAGE_RUBY, .version = 0x301, .first_line = 7 };
	memcpy(code->lines, &head, sizeof(head));
	for (uint32_t i = 0; i < RUBY_INDEX_FIRST; i++) {
		uint64_t word;

		memcpy(&word, index + i / 9 * 8, sizeof(word));
		word |= (uint64_t)(i / RUBY_STEP + 1) << 7 * (i % 9);
		memcpy(index + i / 9 * 8, &word, sizeof(word));
	}
	set_ruby_block(index + RUBY_INDEX_BLOCKS, RUBY_INDEX_FIRST);
	set_ruby_block(index + RUBY_INDEX_BLOCKS + RUBY_INDEX_BLOCK,
		       RUBY_INDEX_FIRST + RUBY_BLOCK_COVERS);
	for (uint32_t e = 0; e < head.n_entries; e++) {
		uint32_t line = 100 + e;

		memcpy(index + head.index_size + e * head.entry_size, &line, sizeof(line));
	}
	code->n_lines = code->lines_size =
		(uint32_t)sizeof(head) + head.index_size + head.n_entries * head.entry_size;
}

static void each_position_of_rubys_code_has_its_line(void **state)
{
	static struct lang_code code;

	(void)state;
	make_ruby_code(&code);
	for (uint32_t i = 0; i < RUBY_POSITIONS; i++)
		assert_int_equal(lang_line(&code, i), 100 + i / RUBY_STEP);
	assert_int_equal(lang_line(&code, RUBY_POSITIONS), 7);
	assert_int_equal(lang_line(&code, UINT32_MAX), 7);
}

static void a_cut_table_of_ruby_gives_no_wrong_line(void **state)
{
	static struct lang_code code;

	(void)state;
	make_ruby_code(&code);
	for (uint32_t n = 0; n < code.lines_size; n++) {
		code.n_lines = n;
		for (uint32_t i = 0; i < RUBY_POSITIONS; i += 7) {
			uint32_t line = lang_line(&code, i);

			assert_true(line == 7 || line == 100 + i / RUBY_STEP);
		}
	}
}

/* Detection. */

static bool map_file(const char *path, struct file_mapping *file, struct elf_file *elf)
{
	return path && file_map(path, file, NULL) == 0 &&
	       elf_file_open(elf, file->base, file->size, NULL) == 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	const char **path = context;

	(void)size;
	if (strstr(info->dlpi_name, "libc.so"))
		*path = info->dlpi_name;
	return *path != NULL;
}

static void each_exported_symbol_is_found_by_the_hash_table(void **state)
{
	struct file_mapping file = { 0 };
	const char *path = NULL;
	struct elf_symbol symbol, found;
	struct elf_symbols it;
	struct elf_file elf;
	unsigned int n = 0;

	(void)state;
	dl_iterate_phdr(find_libc, &path);
	if (!map_file(path, &file, &elf))
		skip_because("the C library is at no path of its own (an emulator)");
	assert_true(elf_symbols_begin(&it, &elf, SHT_DYNSYM));
	while (elf_symbols_next(&it, &symbol)) {
		if (symbol.section == SHN_UNDEF || !*symbol.name)
			continue;
		assert_true(elf_symbol_exported(&elf, symbol.name, &found));
		assert_string_equal(found.name, symbol.name);
		n++;
	}
	assert_true(n > 1000);
	assert_false(elf_symbol_exported(&elf, "no such symbol", &found));
	assert_false(elf_symbol_exported(&elf, "", &found));
	file_unmap(&file);
}

static void a_program_that_runs_no_language_is_none(void **state)
{
	struct file_mapping file = { 0 };
	struct lang_runtime runtime;
	struct elf_file elf;
	char why[128];

	(void)state;
	assert_true(map_file("/proc/self/exe", &file, &elf));
	assert_int_equal(lang_detect(&elf, &runtime, why, sizeof(why)), LANG_NONE);
	file_unmap(&file);
}

/* The libraries of a program. */

static void a_program_is_linked_with_its_loader_and_libc(void **state)
{
	struct file_mapping file = { 0 };
	struct elf_links links;
	struct elf_file elf;
	bool has_libc = false;

	(void)state;
	assert_true(map_file("/proc/self/exe", &file, &elf));
	elf_links_read(&elf, &links);
	assert_non_null(links.interpreter);
	assert_int_equal(links.interpreter[0], '/');
	for (size_t i = 0; i < links.n_needed; i++)
		has_libc |= !strcmp(links.needed[i], "libc.so.6");
	assert_true(has_libc);
	file_unmap(&file);
}

static void put_field(struct buf *out, uint8_t number, const void *bytes, size_t size)
{
	buf_u8(out, (uint8_t)(number << 3 | 2));
	buf_u8(out, (uint8_t)size);
	buf_bytes(out, bytes, size);
}

/* A key with a list of texts, as opentelemetry-proto's KeyValue. */
static void put_key_map(struct buf *out, const char *key, const char *const *names, size_t n)
{
	struct buf array = { 0 };
	struct buf value = { 0 };

	for (size_t i = 0; i < n; i++) {
		value.len = 0;
		put_field(&value, 1, names[i], strlen(names[i]));
		put_field(&array, 1, value.data, value.len);
	}
	value.len = 0;
	put_field(&value, 5, array.data, array.len);
	put_field(out, 1, key, strlen(key));
	put_field(out, 2, value.data, value.len);
	buf_fini(&array);
	buf_fini(&value);
}

/* The first `n` bytes, in memory of that size, give each of three keys its number or none. */
static void assert_cut_keys(const struct buf *payload, size_t n, const char *const *wanted,
			    const uint16_t *expected)
{
	uint8_t *cut = xmalloc(n);
	uint16_t keys[3];

	memcpy(cut, payload->data, n);
	process_context_keys(cut, n, wanted, 3, keys);
	for (int i = 0; i < 3; i++)
		if (keys[i] != PROCESS_CONTEXT_NO_KEY)
			assert_int_equal(keys[i], expected[i]);
	free(cut);
}

static void attributes_of_threads_have_the_numbers_of_their_names(void **state)
{
	static const char *const published[] = { "route", "method", "user" };
	static const char *const wanted[] = { "user", "absent", "route" };
	static const uint16_t expected[] = { 2, PROCESS_CONTEXT_NO_KEY, 0 };
	struct buf attribute = { 0 }, other = { 0 }, payload = { 0 }, resource = { 0 };
	uint16_t keys[3];

	(void)state;
	put_key_map(&attribute, "threadlocal.attribute_key_map", published, 3);
	put_key_map(&other, "another.map", wanted, 3);
	/* as an attribute of the process, then in its resource, then as the resource's attribute */
	for (int form = 0; form < 3; form++) {
		payload.len = resource.len = 0;
		buf_bytes(&payload, "\x18\x05\x25....\x29........", 16); /* other fields */
		put_field(&resource, 1, other.data, other.len);
		put_field(&resource, 1, attribute.data, attribute.len);
		if (form == 1)
			put_field(&payload, 1, resource.data, resource.len);
		else
			put_field(&payload, form ? 1 : 2, attribute.data, attribute.len);
		process_context_keys((uint8_t *)payload.data, payload.len, wanted, 3, keys);
		assert_memory_equal(keys, expected, sizeof(keys));
		/* whatever is missing at the end */
		for (size_t n = 0; n < payload.len; n++)
			assert_cut_keys(&payload, n, wanted, expected);
	}
	buf_fini(&attribute);
	buf_fini(&other);
	buf_fini(&payload);
	buf_fini(&resource);
}

static void a_process_context_is_known_by_its_header(void **state)
{
	uint8_t header[PROCESS_CONTEXT_HEADER] = "OTEL_CTX\2\0\0\0\5\0\0\0\1\0\0\0\0\0\0\0\0\x10";
	struct process_context context;
	uint64_t start = 0;

	(void)state;
	assert_true(process_context_read(header, &context));
	assert_int_equal(context.payload, 0x1000);
	assert_int_equal(context.payload_size, 5);
	header[16] = 0; /* it is being changed */
	assert_false(process_context_read(header, &context));
	header[16] = 1;
	header[8] = 3; /* another version */
	assert_false(process_context_read(header, &context));
	header[8] = 2;
	header[15] = 1; /* 16 MiB */
	assert_false(process_context_read(header, &context));
	assert_true(process_context_mapping("7f00-7f10 rw-p 0 0:1 5  /memfd:OTEL_CTX (deleted)",
					    &start));
	assert_int_equal(start, 0x7f00);
	assert_true(process_context_mapping("10-20 rw-p 0 0:0 0  [anon:OTEL_CTX]", &start));
	assert_false(process_context_mapping("10-20 rw-p 0 0:0 0  /tmp/OTEL_CTX", &start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_of_code_has_pythons_own_line),
		cmocka_unit_test(a_frame_that_has_not_begun_is_at_the_first_line),
		cmocka_unit_test(a_table_that_was_cut_gives_no_wrong_line),
		cmocka_unit_test(texts_of_all_widths_become_utf8),
		cmocka_unit_test(what_is_no_text_stays_harmless),
		cmocka_unit_test(a_function_has_the_name_that_its_language_writes),
		cmocka_unit_test(perls_evals_are_one_file),
		cmocka_unit_test(phps_position_is_the_line),
		cmocka_unit_test(each_position_of_rubys_code_has_its_line),
		cmocka_unit_test(a_cut_table_of_ruby_gives_no_wrong_line),
		cmocka_unit_test(each_exported_symbol_is_found_by_the_hash_table),
		cmocka_unit_test(a_program_that_runs_no_language_is_none),
		cmocka_unit_test(a_program_is_linked_with_its_loader_and_libc),
		cmocka_unit_test(attributes_of_threads_have_the_numbers_of_their_names),
		cmocka_unit_test(a_process_context_is_known_by_its_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
