/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of Go programs, made here byte by byte for each layout (elf/elf_go.h). */
#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "elf/elf_go.h"
#include "symbol/elf_draft.h"
#include "symbol/lines/line_go.h"
#include "unwind/table.h"

#define LOAD       0x400000ULL
#define TEXT       0x100
#define SPIN_SIZE  0x30
#define OTHER_SIZE 0x10
#define TABLE      0x180
#define TREES      0x400
#define MODULE     0x440
#define SECTIONS   0x640
#define N_WORDS    64

struct layout {
	uint32_t magic;
	bool has_text; /* the header has a word for the start of the code */
	uint8_t word;  /* bytes of an entry */
	bool has_start_line;
	uint8_t tree_base; /* word of the module's data; 0: trees have addresses */
	const char *name;  /* of a seed */
};
static const struct layout layouts[] = {
	{ 0xfffffffa, false, 8, false, 0, "go_1_16" },
	{ 0xfffffff0, true, 4, false, 38, "go_1_18" },
	{ 0xfffffff1, true, 4, true, 40, "go_1_20" },
};

static void put_at(struct buf *b, size_t at)
{
	while (b->len < at)
		buf_u8(b, 0);
}

static void set_u32(struct buf *b, size_t at, uint32_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

static void set_u64(struct buf *b, size_t at, uint64_t v)
{
	memcpy(b->data + at, &v, sizeof(v));
}

/* A value that holds for some bytes of code. */
static void put_step(struct buf *b, int64_t change, uint64_t bytes)
{
	buf_sleb(b, change);
	buf_uleb(b, bytes);
}

static void put_number(struct buf *b, const struct layout *l, uint64_t v)
{
	if (l->word == 8)
		buf_u64(b, v);
	else
		buf_u32(b, (uint32_t)v);
}

static const char *name_of_spin = "main.spin";   /* of the first function */
static const char *name_of_other = "main.other"; /* of the second function */

struct places {
	uint32_t spin, inner, other;           /* names */
	uint32_t stack, files, lines, inlined; /* steps */
};

/* One function: its record and the numbers of its tables. */
static void put_record(struct buf *b, const struct layout *l, size_t part, uint64_t entry,
		       uint32_t name, const struct places *p, bool has_tree)
{
	put_number(b, l, entry);
	buf_u32(b, name);
	buf_u64(b, 0);
	buf_u32(b, p->stack);
	buf_u32(b, p->files);
	buf_u32(b, p->lines);
	buf_u32(b, 3); /* numbers of tables */
	buf_u32(b, 0); /* unit */
	if (l->has_start_line)
		buf_u32(b, 11);
	buf_u8(b, 0);
	buf_u8(b, !has_tree); /* main.other has no caller */
	buf_u8(b, 0);
	buf_u8(b, 4); /* function data */
	buf_u32(b, 0);
	buf_u32(b, 0);
	buf_u32(b, has_tree ? p->inlined : 0);
	while (l->word == 8 && (b->len - part) % 8)
		buf_u8(b, 0);
	for (int i = 0; i < 3; i++)
		put_number(b, l, 0);
	if (l->tree_base)
		buf_u32(b, has_tree ? 0 : UINT32_MAX);
	else
		buf_u64(b, has_tree ? LOAD + TREES : 0);
}

static void put_table(struct buf *b, const struct layout *l)
{
	struct places p;
	size_t at[6], header, part, list;

	put_at(b, TABLE);
	buf_u32(b, l->magic);
	buf_u8(b, 0);
	buf_u8(b, 0);
	buf_u8(b, 1); /* the shortest instruction */
	buf_u8(b, 8);
	buf_u64(b, 2); /* functions */
	buf_u64(b, 1); /* files */
	if (l->has_text)
		buf_u64(b, LOAD + TEXT);
	header = b->len;
	for (int i = 0; i < 5; i++)
		buf_u64(b, 0);
	at[0] = b->len - TABLE;
	buf_u8(b, 0);
	p.spin = (uint32_t)(b->len - TABLE - at[0]);
	buf_cstr0(b, name_of_spin);
	p.inner = (uint32_t)(b->len - TABLE - at[0]);
	buf_cstr0(b, "main.inner");
	p.other = (uint32_t)(b->len - TABLE - at[0]);
	buf_cstr0(b, name_of_other);
	at[1] = b->len - TABLE;
	buf_u32(b, 0);
	at[2] = b->len - TABLE;
	buf_cstr0(b, "/src/hot.go");
	at[3] = b->len - TABLE;
	buf_u8(b, 0);
	p.files = (uint32_t)(b->len - TABLE - at[3]);
	put_step(b, 1, SPIN_SIZE);
	buf_u8(b, 0);
	p.stack = (uint32_t)(b->len - TABLE - at[3]);
	put_step(b, 1, 1); /* 0: push %rbp */
	put_step(b, 8, 3);
	put_step(b, 0x20, 0x20);
	put_step(b, -0x23, 4); /* no multiple of 8 */
	put_step(b, -5, SPIN_SIZE - 0x28);
	buf_u8(b, 0);
	p.lines = (uint32_t)(b->len - TABLE - at[3]);
	put_step(b, 13, 0x10); /* 12, from -1 on */
	put_step(b, -5, 0x10);
	put_step(b, 6, 0x10);
	buf_u8(b, 0);
	p.inlined = (uint32_t)(b->len - TABLE - at[3]);
	put_step(b, 0, 0x10);
	put_step(b, 1, 0x10);
	put_step(b, -1, 0x10);
	buf_u8(b, 0);
	while (b->len % 8)
		buf_u8(b, 0);
	part = b->len;
	at[4] = part - TABLE;
	list = 5ULL * l->word;
	while (list % 8)
		list++;
	put_number(b, l, l->has_text ? 0 : LOAD + TEXT);
	put_number(b, l, list);
	put_number(b, l, SPIN_SIZE + (l->has_text ? 0 : LOAD + TEXT));
	put_number(b, l, list + 96);
	put_number(b, l, SPIN_SIZE + OTHER_SIZE + (l->has_text ? 0 : LOAD + TEXT));
	put_at(b, part + list);
	put_record(b, l, part, l->has_text ? 0 : LOAD + TEXT, p.spin, &p, true);
	put_at(b, part + list + 96);
	put_record(b, l, part, SPIN_SIZE, p.other, &p, false);
	for (size_t i = 0; i < 5; i++)
		set_u64(b, header + 8 * i, at[i]);

	/* the tree, and the runtime's words that lead to it */
	put_at(b, TREES);
	put_at(b, TREES + 32);
	set_u32(b, TREES + (l->has_start_line ? 4 : 12), p.inner);
	set_u32(b, TREES + (l->has_start_line ? 8 : 16), 8);
	if (l->has_start_line)
		set_u32(b, TREES + 12, 5);
	put_at(b, MODULE + N_WORDS * 8);
	set_u64(b, MODULE, LOAD + TABLE);
	set_u64(b, MODULE + 8, LOAD + TABLE + at[0]);
	set_u64(b, MODULE + 8ULL * 22, LOAD + TEXT);
	if (l->tree_base)
		set_u64(b, MODULE + 8ULL * l->tree_base, LOAD + TREES);
}

static void put_segment(struct buf *b, uint32_t flags, uint64_t off, uint64_t size)
{
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = off,
		.p_vaddr = LOAD + off,
		.p_filesz = size,
		.p_memsz = size,
	};

	buf_bytes(b, &segment, sizeof(segment));
}

static void put_section(struct buf *b, uint32_t name, uint32_t type, uint64_t off, uint64_t size)
{
	const Elf64_Shdr section = {
		.sh_name = name,
		.sh_type = type,
		.sh_flags = SHF_ALLOC,
		.sh_addr = LOAD + off,
		.sh_offset = off,
		.sh_size = size,
	};

	buf_bytes(b, &section, sizeof(section));
}

/* A program; n_more sections of relocations lie over each other. */
static struct buf go_program(const struct layout *l, uint16_t n_more)
{
	static const char names[] = "\0.gopclntab\0.shstrtab";
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = SECTIONS + 32,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(3 + n_more),
		.e_shstrndx = 2,
	};
	struct buf b = { 0 };

	buf_bytes(&b, &header, sizeof(header));
	put_segment(&b, PF_R | PF_X, 0, MODULE);
	put_segment(&b, PF_R | PF_W, MODULE, SECTIONS - MODULE);
	put_at(&b, TEXT);
	put_table(&b, l);
	put_at(&b, SECTIONS);
	buf_bytes(&b, names, sizeof(names));
	put_at(&b, SECTIONS + 32);
	put_section(&b, 0, SHT_NULL, 0, 0);
	put_section(&b, 1, SHT_PROGBITS, TABLE, TREES - TABLE);
	put_section(&b, 12, SHT_STRTAB, SECTIONS, sizeof(names));
	for (uint16_t i = 0; i < n_more; i++)
		put_section(&b, 0, SHT_RELA, 0, SECTIONS + 32 + sizeof(Elf64_Shdr) * n_more);
	return b;
}

static struct elf_file opened(const struct buf *b)
{
	struct elf_file elf;

	assert_int_equal(elf_file_open(&elf, b->data, b->len, NULL), 0);
	return elf;
}

static void each_layout_has_names_and_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct buf b = go_program(&layouts[i], 0);
		struct elf_file elf = opened(&b);
		struct elf_go_function f;
		struct elf_go_inlined inlined;
		struct elf_go_steps steps;
		struct elf_go_step step;
		struct elf_go go;

		assert_true(elf_go_open(&go, &elf));
		assert_true(elf_go_function(&go, 0, &f));
		assert_int_equal(f.link_addr, LOAD + TEXT);
		assert_int_equal(f.size, SPIN_SIZE);
		assert_string_equal(elf_go_name(&go, &f), "main.spin");
		assert_string_equal(elf_go_short_name(&go, &f, sizeof("main.spin")), "main.spin");
		assert_string_equal(elf_go_short_name(&go, &f, sizeof("main.spi")), "");
		assert_string_equal(elf_go_file(&go, &f, 0), "/src/hot.go");
		elf_go_begin(&go, &f, f.lines, &steps);
		assert_true(elf_go_next(&steps, &step));
		assert_int_equal(step.value, 12);
		assert_true(elf_go_next(&steps, &step));
		assert_int_equal(step.value, 7);
		assert_int_equal(step.start, 0x10);
		assert_int_equal(step.end, 0x20);
		assert_true(elf_go_next(&steps, &step));
		assert_false(elf_go_next(&steps, &step));
		assert_true(elf_go_inlined(&go, &f, 0, &inlined));
		assert_string_equal(inlined.name, "main.inner");
		assert_int_equal(inlined.called, 8);
		assert_true(elf_go_function(&go, 1, &f));
		assert_string_equal(elf_go_name(&go, &f), "main.other");
		assert_int_equal(f.size, OTHER_SIZE);
		assert_false(elf_go_function(&go, 2, &f));
		buf_fini(&b);
	}
}

static struct unwind_rule rule_in_text(const struct unwind_table *t, uint64_t offset)
{
	return unwind_table_find(t, TEXT + offset);
}

static enum unwind_cfa cfa_of_other(void)
{
	struct buf b = go_program(&layouts[GO_1_18], 0);
	struct elf_file elf = opened(&b);
	struct unwind_header *block;
	struct unwind_table t;
	enum unwind_cfa cfa;

	assert_int_equal(unwind_build(&elf, NULL, &block, NULL), 0);
	assert_true(unwind_table_open(&t, block, block->size));
	cfa = unwind_rule_cfa(rule_in_text(&t, SPIN_SIZE));
	free(block);
	buf_fini(&b);
	return cfa;
}

static void assert_rule_of_aarch64(struct unwind_rule rule, uint64_t words)
{
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_words(rule), words);
	assert_int_equal(unwind_rule_ra(rule), words ? UNWIND_RA_AT_CFA : UNWIND_RA_LR);
	assert_int_equal(unwind_rule_fp(rule), words ? UNWIND_FP_AT_CFA : UNWIND_FP_SAME);
	if (!words)
		return;
	assert_int_equal(rule.aux, -(int)words);
	assert_int_equal(rule.fp, -(int)words - 1);
}

/* Of a program for AArch64. The caller frees the block. */
static struct unwind_header *block_of_aarch64(struct unwind_table *t)
{
	struct buf b = go_program(&layouts[GO_1_20], 0);
	struct unwind_header *block;
	struct elf_file elf;

	b.data[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64;
	elf = opened(&b);
	assert_int_equal(unwind_build(&elf, NULL, &block, NULL), 0);
	assert_true(unwind_table_open(t, block, block->size));
	buf_fini(&b);
	return block;
}

static void frames_of_aarch64_have_the_return_address_at_their_lowest_word(void **state)
{
	struct unwind_table t;
	struct unwind_header *block = block_of_aarch64(&t);

	(void)state;
	assert_rule_of_aarch64(rule_in_text(&t, 0), 0);
	assert_rule_of_aarch64(rule_in_text(&t, 1), 1);
	assert_rule_of_aarch64(rule_in_text(&t, 4), 5);
	assert_int_equal(unwind_rule_cfa(rule_in_text(&t, 0x24)), UNWIND_CFA_UNSUPPORTED);
	assert_rule_of_aarch64(rule_in_text(&t, 0x28), 0);
	free(block);
}

/* No rule leads into another stack, or over a call that a signal has put in. */
static void functions_of_aarch64_that_change_stacks_have_other_rules(void **state)
{
	static const struct {
		const char *name;
		enum unwind_cfa cfa;
	} rows[] = {
		{ "runtime.systemstack.abi0", UNWIND_CFA_NONE },
		{ "runtime.mcall", UNWIND_CFA_ELSEWHERE },
		{ "runtime.asyncPreempt", UNWIND_CFA_UNSUPPORTED },
		{ "runtime.asyncPreempt2", UNWIND_CFA_SP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwind_header *block;
		struct unwind_table t;

		name_of_spin = rows[i].name;
		block = block_of_aarch64(&t);
		assert_int_equal(unwind_rule_cfa(rule_in_text(&t, 4)), rows[i].cfa);
		free(block);
	}
	name_of_spin = "main.spin";
}

/* Both have the mark of an outermost function. */
static void the_handler_of_signals_has_a_caller(void **state)
{
	(void)state;
	assert_int_equal(cfa_of_other(), UNWIND_CFA_END);
	name_of_other = "runtime.sigtramp.abi0";
	assert_int_not_equal(cfa_of_other(), UNWIND_CFA_END);
	name_of_other = "main.other";
}

/* Stripped programs have no call frame information but that of the runtime. */
static void rules_for_the_stack_are_those_of_the_runtime(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct buf b = go_program(&layouts[i], 0);
		struct elf_file elf = opened(&b);
		struct unwind_header *block;
		struct unwind_table t;
		struct unwind_rule rule;

		assert_int_equal(unwind_build(&elf, NULL, &block, NULL), 0);
		assert_true(unwind_table_open(&t, block, block->size));
		rule = rule_in_text(&t, 0);
		assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
		assert_int_equal(unwind_rule_offset(rule), 8);
		assert_int_equal(unwind_rule_fp(rule), UNWIND_FP_SAME);
		rule = rule_in_text(&t, 1);
		assert_int_equal(unwind_rule_offset(rule), 0x10);
		assert_int_equal(unwind_rule_fp(rule), UNWIND_FP_AT_CFA);
		assert_int_equal(rule.fp, -2);
		assert_int_equal(unwind_rule_offset(rule_in_text(&t, 0x23)), 0x30);
		assert_int_equal(unwind_rule_cfa(rule_in_text(&t, 0x24)), UNWIND_CFA_UNSUPPORTED);
		assert_int_equal(unwind_rule_offset(rule_in_text(&t, 0x28)), 8);
		assert_int_equal(unwind_rule_cfa(rule_in_text(&t, SPIN_SIZE)), UNWIND_CFA_END);
		free(block);
		buf_fini(&b);
	}
}

static void an_index_has_the_inlined_function_below_its_caller(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct buf b = go_program(&layouts[i], 0);
		struct elf_file elf = opened(&b);
		struct code_segments segments = { 0 };
		struct line_header *block;
		struct line_index ix;
		struct line_node node;
		struct line_place place;
		size_t size;

		code_segments_of_image(&segments, &elf);
		block = line_go_make(&elf, &segments, &size);
		assert_non_null(block);
		assert_true(line_index_open(&ix, block, size));
		place = line_index_place(&ix, ix.rows[line_index_row(&ix, TEXT + 0x18)].place);
		assert_int_equal(place.line, 7);
		assert_string_equal(line_index_text(&ix, place.file), "/src/hot.go");
		node = ix.nodes[ix.scopes[line_index_scope(&ix, TEXT + 0x18)].node];
		assert_string_equal(line_index_text(&ix, node.name), "main.inner");
		assert_int_equal(line_index_place(&ix, node.called).line, 12);
		assert_string_equal(line_index_text(&ix, ix.nodes[node.parent].name), "main.spin");
		node = ix.nodes[ix.scopes[line_index_scope(&ix, TEXT + 0x20)].node];
		assert_string_equal(line_index_text(&ix, node.name), "main.spin");
		assert_int_equal(node.parent, NO_NODE);
		free(block);
		code_segments_fini(&segments);
		buf_fini(&b);
	}
}

static void a_table_without_a_function_names_nothing(void **state)
{
	struct buf b = go_program(&layouts[2], 0);
	struct elf_file elf = opened(&b);
	struct code_segments none = { 0 };
	struct index_draft draft = { 0 };

	(void)state;
	assert_false(elf_draft_go(&draft, &elf, &none));
	assert_int_equal(draft.symbols.n, 0);
	buf_fini(&b);
}

/* 60,000 sections of one 3.8 MB: without a limit, that is ten billion relocations. */
static void sections_over_each_other_are_not_read_again_and_again(void **state)
{
	struct buf b = go_program(&layouts[2], 60000);
	struct elf_file elf = opened(&b);
	clock_t start = clock();
	struct elf_go go;

	(void)state;
	elf_go_open(&go, &elf);
	assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_layout_has_names_and_lines),
		cmocka_unit_test(rules_for_the_stack_are_those_of_the_runtime),
		cmocka_unit_test(frames_of_aarch64_have_the_return_address_at_their_lowest_word),
		cmocka_unit_test(functions_of_aarch64_that_change_stacks_have_other_rules),
		cmocka_unit_test(the_handler_of_signals_has_a_caller),
		cmocka_unit_test(an_index_has_the_inlined_function_below_its_caller),
		cmocka_unit_test(a_table_without_a_function_names_nothing),
		cmocka_unit_test(sections_over_each_other_are_not_read_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
