/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables from .sframe and from Free Pascal. */
#include "unwind_tables.h"

#include <elf.h>

#include "base/buf.h"

/* ---- .sframe ---- */

#define SFRAME_AT 4096
#define CODE_AT   8192

/* A row: start, by which register, offsets of one byte. */
static void put_row(struct buf *b, uint8_t start, bool is_by_sp, uint8_t n, int8_t cfa, int8_t fp)
{
	buf_u8(b, start);
	buf_u8(b, (uint8_t)(is_by_sp | n << 1));
	buf_u8(b, (uint8_t)cfa);
	if (n > 1)
		buf_u8(b, (uint8_t)fp);
}

/* The attributes of a function of version 3, in front of its rows. */
static void put_attributes(struct buf *b, int version, uint16_t n_rows, uint8_t info, uint8_t piece)
{
	if (version != 3)
		return;
	buf_u8(b, (uint8_t)n_rows);
	buf_u8(b, 0);
	buf_u8(b, info);
	buf_u8(b, 0);
	buf_u8(b, piece);
}

static void put_function(struct buf *b, int version, uint64_t start, uint32_t size, uint32_t rows,
			 uint16_t n_rows, uint8_t info, uint8_t piece)
{
	/* It counts from its own place. */
	uint64_t offset = CODE_AT + start - (SFRAME_AT + b->len);

	if (version == 3)
		buf_u64(b, offset);
	else
		buf_u32(b, (uint32_t)offset);
	buf_u32(b, size);
	buf_u32(b, rows);
	if (version == 3)
		return;
	buf_u32(b, n_rows);
	buf_u8(b, info);
	buf_u8(b, piece);
	buf_u8(b, 0);
	buf_u8(b, 0);
}

/* A function with a frame pointer, one that ends a stack, and a PLT of two entries. */
static void put_sframe(struct buf *b, int version)
{
	struct buf rows = { 0 };
	uint32_t at[3];

	at[0] = (uint32_t)rows.len;
	put_attributes(&rows, version, 3, 0, 0);
	put_row(&rows, 0, true, 1, 8, 0);
	put_row(&rows, 1, true, 2, 16, -16);
	put_row(&rows, 4, false, 2, 16, -16);
	at[1] = (uint32_t)rows.len;
	put_attributes(&rows, version, 1, 0, 0);
	buf_u8(&rows, 0);
	buf_u8(&rows, 0); /* no offsets */
	at[2] = (uint32_t)rows.len;
	put_attributes(&rows, version, 2, 0x10, 16);
	put_row(&rows, 0, true, 1, 8, 0);
	put_row(&rows, 11, true, 1, 16, 0);

	/* Sorted; starts count from their own places. */
	buf_u32(b, 0xdee2 | (uint32_t)version << 16 | 5u << 24);
	buf_u32(b, 0x00f80003); /* amd64, no fixed frame pointer, return address at CFA-8 */
	buf_u32(b, 3);
	buf_u32(b, 6);
	buf_u32(b, (uint32_t)rows.len);
	buf_u32(b, 0);
	buf_u32(b, version == 3 ? 48 : 60);
	put_function(b, version, 0, 64, at[0], 3, 0, 0);
	put_function(b, version, 64, 16, at[1], 1, 0, 0);
	put_function(b, version, 80, 32, at[2], 2, 0x10, 16);
	buf_bytes(b, rows.data, rows.len);
	buf_fini(&rows);
}

/* An image with this section and some code. */
static void write_image(const char *path, const char *section, const struct buf *bytes)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load;
		Elf64_Shdr sections[3];
		char names[32];
	} start = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			    .e_machine = EM_X86_64,
			    .e_phoff = offsetof(__typeof__(start), load),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1,
			    .e_shoff = offsetof(__typeof__(start), sections),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3,
			    .e_shstrndx = 2 },
		.load = { .p_type = PT_LOAD,
			  .p_flags = PF_X,
			  .p_filesz = 3 * 4096,
			  .p_memsz = 3 * 4096 },
		.sections = { { 0 },
			      { .sh_name = 1,
				.sh_type = SHT_PROGBITS,
				.sh_addr = SFRAME_AT,
				.sh_offset = SFRAME_AT,
				.sh_size = bytes->len },
			      { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(__typeof__(start), names),
				.sh_size = sizeof(start.names) } },
	};
	uint8_t *image = xcalloc(3, 4096);

	strcpy(start.names + 1, section);
	memcpy(image, &start, sizeof(start));
	memcpy(image + SFRAME_AT, bytes->data, bytes->len);
	assert_int_equal(file_replace(path, image, (size_t)3 * 4096, NULL), 0);
	free(image);
}

static void sframe_serves_where_eh_frame_is_not(void **state)
{
	(void)state;
	for (int version = 2; version <= 3; version++) {
		struct unwind_rule rule;
		struct buf bytes = { 0 };
		struct built b;

		put_sframe(&bytes, version);
		write_image("sframe", ".sframe", &bytes);
		build_of(&b, "sframe");
		assert_int_equal(b.block->n_functions, 3);
		assert_sp_plus(rule_at(&b, CODE_AT), 8);
		rule = rule_at(&b, CODE_AT + 3);
		assert_sp_plus(rule, 16);
		assert_true(unwind_rule_fp(rule) == UNWIND_FP_AT_CFA && rule.fp == -2);
		rule = rule_at(&b, CODE_AT + 63);
		assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_FP);
		assert_int_equal(unwind_rule_offset(rule), 16);
		assert_int_equal(unwind_rule_ra(rule), UNWIND_RA_BELOW_CFA);
		assert_int_equal(unwind_rule_cfa(rule_at(&b, CODE_AT + 64)), UNWIND_CFA_END);
		assert_sp_plus(rule_at(&b, CODE_AT + 80 + 10), 8);
		assert_sp_plus(rule_at(&b, CODE_AT + 80 + 11), 16);
		assert_sp_plus(rule_at(&b, CODE_AT + 80 + 16), 8);
		assert_sp_plus(rule_at(&b, CODE_AT + 80 + 27), 16);
		assert_int_equal(unwind_rule_cfa(rule_at(&b, CODE_AT + 112)), UNWIND_CFA_NONE);
		built_fini(&b);
		buf_fini(&bytes);
	}
}

/* Every byte of it is another one in turn: no row is out of order, no read out of bounds. */
static void damaged_sframe_is_read_as_far_as_it_goes(void **state)
{
	struct buf bytes = { 0 };

	(void)state;
	put_sframe(&bytes, 3);
	for (size_t i = 0; i < bytes.len; i++) {
		uint8_t was = bytes.data[i];
		struct built b;

		for (int bit = 0; bit < 8; bit += 3) {
			bytes.data[i] = (uint8_t)(was ^ 1 << bit);
			write_image("damaged", ".sframe", &bytes);
			build_of(&b, "damaged"); /* opens the table, which checks its order */
			built_fini(&b);
		}
		bytes.data[i] = was;
	}
	buf_fini(&bytes);
}

/* ---- Free Pascal ---- */

/* Its .debug_frame: the id of a CIE has four bytes, the name of one in an FDE has eight. */
static void put_pascal_frames(struct buf *b)
{
	static const uint8_t cie[] = { 1, 0, 1, 0x7c, 16, 0x0c, 7, 8, 5, 16, 2, 0 };
	static const uint8_t program[] = { 4, 5, 0, 0, 0, 0x0e, 0x10, 0 };

	buf_u32(b, 4 + sizeof(cie));
	buf_u32(b, UINT32_MAX);
	buf_bytes(b, cie, sizeof(cie));
	for (uint64_t start = CODE_AT; start <= CODE_AT + 64; start += 64) {
		buf_u32(b, 24 + sizeof(program));
		buf_u64(b, 0); /* the CIE */
		buf_u64(b, start);
		buf_u64(b, 32);
		buf_bytes(b, program, sizeof(program));
	}
}

static void frames_of_free_pascal_are_read(void **state)
{
	struct buf bytes = { 0 };
	struct built b;

	(void)state;
	put_pascal_frames(&bytes);
	write_image("pascal", ".debug_frame", &bytes);
	build_of(&b, "pascal");
	assert_int_equal(b.block->n_functions, 2);
	assert_sp_plus(rule_at(&b, CODE_AT + 4), 8);
	assert_sp_plus(rule_at(&b, CODE_AT + 5), 16);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, CODE_AT + 32)), UNWIND_CFA_NONE);
	assert_sp_plus(rule_at(&b, CODE_AT + 64), 8);
	built_fini(&b);
	buf_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sframe_serves_where_eh_frame_is_not),
		cmocka_unit_test(frames_of_free_pascal_are_read),
		cmocka_unit_test(damaged_sframe_is_read_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
