/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks over stacks in texts. Each fixture has registers, rules and stack words, and the expected
 * frames.
 *
 * 	x86-64 pc=1010 sp=7000 fp=7100	the sampled registers (hexadecimal); or aarch64, i386
 * 	1000 sp+16 fp:c-16 ra:c-8	from 1000 on, in readelf's words
 * 	7000: 0 1108 …			words of the stack: 8 bytes each, on i386 4
 */
#include "scratch.h"

#include "base/buf.h"
#include "unwind/walk.h"

#define CODE      0x1000 /* rules are for this page */
#define MAX_RULES 32

struct fixture {
	struct {
		struct unwind_header header;
		struct unwind_rule rules[MAX_RULES];
		uint32_t pages[2];
		uint32_t rows[MAX_RULES];
	} block;
	struct unwind_table table;
	struct unwind_regs regs;
	uint8_t stack[4096];
	size_t stack_size, word;
	uint64_t other[17];
	bool is_whole;
};

static const struct unwind_rule signal_rules[] = {
	{ .cfa = UNWIND_CFA_SIGNAL, .off = 20, .fp = 15, .aux = 16 },
	{ .cfa = UNWIND_CFA_SIGNAL, .off = 70, .fp = 68, .aux = 69 }, /* AArch64 */
	{ .cfa = UNWIND_CFA_SIGNAL, .off = 47, .fp = 46, .aux = 48 }, /* i386 */
};

static enum unwind_where find_in_fixture(void *ctx, uint64_t pc, struct unwind_place *place)
{
	struct fixture *f = ctx;

	if (pc - CODE < UNWIND_PAGE_SIZE) {
		place->table = &f->table;
		place->file_off = pc;
		return UNWIND_AT_TABLE;
	}
	return pc >> 12 == 0x22 ? UNWIND_AT_CODE : UNWIND_AT_NOTHING;
}

/* "c-16" is a slot at the CFA, "f+0" one at the frame pointer; both in words. */
static int16_t slot(const struct fixture *f, const char *text)
{
	return (int16_t)(strtol(text + 1, NULL, 10) / (long)f->word);
}

static void parse_cfa(const struct fixture *f, struct unwind_rule *rule, const char *text)
{
	static const struct {
		const char *name;
		enum unwind_cfa cfa;
	} kinds[] = {
		{ "sp+", UNWIND_CFA_SP },
		{ "fp+", UNWIND_CFA_FP },
		{ "rbx+", UNWIND_CFA_REGISTER },
		{ "plt11+", UNWIND_CFA_PLT },
		{ "[sp]+", UNWIND_CFA_SP_DEREF },
		{ "[fp-8]+", UNWIND_CFA_FP_DEREF },
		{ "[fp-4]+", UNWIND_CFA_FP_DEREF },
		{ "end", UNWIND_CFA_END },
		{ "unsupported", UNWIND_CFA_UNSUPPORTED },
		{ "none", UNWIND_CFA_NONE },
		{ "signal", UNWIND_CFA_SIGNAL },
		{ "~[sp]+", UNWIND_CFA_SP_OTHER },
		{ "~[[sp]+8]+", UNWIND_CFA_SP_OTHER2 },
		{ "~fp+", UNWIND_CFA_FP_OTHER },
		{ "elsewhere", UNWIND_CFA_ELSEWHERE },
		{ "cloned+", UNWIND_CFA_CLONED },
		{ "~rbx+", UNWIND_CFA_REGISTER_OTHER },
		{ "~none", UNWIND_CFA_NONE },
	};
	long off;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strncmp(text, kinds[i].name, strlen(kinds[i].name)) != 0)
			continue;
		off = strtol(text + strlen(kinds[i].name), NULL, 10) / (long)f->word;
		rule->cfa = (uint8_t)(kinds[i].cfa | (off >> 16) << 4);
		rule->off = (uint16_t)off;
		if (kinds[i].cfa == UNWIND_CFA_REGISTER ||
		    kinds[i].cfa == UNWIND_CFA_REGISTER_OTHER)
			rule->aux = UNWIND_RBX;
		else if (kinds[i].cfa == UNWIND_CFA_PLT)
			rule->aux = 11;
		else if (kinds[i].cfa == UNWIND_CFA_SP_DEREF ||
			 kinds[i].cfa == UNWIND_CFA_FP_DEREF) {
			rule->aux = (int16_t)off;
			rule->off = kinds[i].cfa == UNWIND_CFA_FP_DEREF ? UINT16_MAX : 0;
		} else if (kinds[i].cfa == UNWIND_CFA_SP_OTHER ||
			   kinds[i].cfa == UNWIND_CFA_SP_OTHER2) {
			rule->aux = (int16_t)off;
			rule->off = 0;
			rule->fp = kinds[i].cfa == UNWIND_CFA_SP_OTHER2;
		}
		if (!strcmp(kinds[i].name, "~none"))
			rule->aux = UNWIND_FP_ANYWHERE;
		if (!strcmp(text, "elsewhere:go"))
			rule->aux = -1;
		return;
	}
	fail_msg("what CFA is %s?", text);
}

static void parse_rule(struct fixture *f, const char *line)
{
	uint32_t n = f->block.header.n_rows, at;
	struct unwind_rule rule = { 0 };
	char words[4][32] = { "" };
	int n_words =
		sscanf(line, "%x %31s %31s %31s %31s", &at, words[0], words[1], words[2], words[3]);

	parse_cfa(f, &rule, words[0]);
	for (int i = 1; i + 1 < n_words; i++) {
		const char *where = words[i] + 3;

		if (!strncmp(words[i], "fp:", 3)) {
			rule.saved |= where[0] == 'c' ? UNWIND_FP_AT_CFA : UNWIND_FP_AT_FP;
			rule.fp = slot(f, where);
		} else if (!strncmp(words[i], "bx:", 3)) {
			rule.aux = slot(f, where);
		} else if (!strcmp(words[i], "ra:lr")) {
			rule.saved |= UNWIND_RA_LR << 4;
		} else if (strcmp(words[i], "ra:c-8") != 0) {
			rule.saved |= UNWIND_RA_AT_CFA << 4;
			rule.aux = slot(f, where);
		}
	}
	if (unwind_rule_cfa(rule) == UNWIND_CFA_SIGNAL)
		rule = signal_rules[f->regs.is_aarch64 + 2 * f->regs.is_i386];
	f->block.rules[n] = rule;
	f->block.rows[n] = unwind_row(at - CODE, n);
	f->block.header.n_rows = n + 1;
}

static void parse_stack(struct fixture *f, const char *line)
{
	uint64_t at = strtoull(line, (char **)&line, 16) - f->regs.sp;

	assert_true(at % f->word == 0);
	for (line++; *line; line += strspn(line, " ")) {
		uint64_t value = strtoull(line, (char **)&line, 16);

		assert_true(at + f->word <= sizeof(f->stack));
		memcpy(f->stack + at, &value, f->word);
		at += f->word;
		f->stack_size = MAX(f->stack_size, at);
	}
}

static void parse(struct fixture *f, const char *text)
{
	char *copy = xstrdup(text), *line, *rest = copy;
	unsigned long pc, sp, fp, lr;

	*f = (struct fixture){ 0 };
	f->block.rows[0] = unwind_row(0, 0);
	f->block.header.n_rows = 1;
	while ((line = strsep(&rest, "\n"))) {
		pc = sp = fp = lr = 0;
		if (sscanf(line, "x86-64 pc=%lx sp=%lx fp=%lx", &pc, &sp, &fp) >= 2 ||
		    sscanf(line, "aarch64 pc=%lx sp=%lx fp=%lx lr=%lx", &pc, &sp, &fp, &lr) >= 2)
			f->regs = unwind_regs_sampled(pc, sp, fp, lr, line[0] == 'a');
		else if (sscanf(line, "i386 pc=%lx sp=%lx fp=%lx", &pc, &sp, &fp) >= 2)
			f->regs = unwind_regs_sampled_i386(pc, sp, fp);
		else if (strchr(line, ':') && strchr(line, ':') < strchr(line, ' '))
			parse_stack(f, line);
		else if (*line)
			parse_rule(f, line);
		f->word = f->regs.is_i386 ? 4 : 8;
	}
	free(copy);
	f->block.header = (struct unwind_header){
		.version = UNWIND_VERSION,
		.size = sizeof(f->block),
		.first_page = CODE >> UNWIND_PAGE_BITS,
		.n_pages = 1,
		.n_rows = f->block.header.n_rows,
		.n_rules = MAX_RULES,
	};
	memcpy(f->block.header.magic, UNWIND_MAGIC, sizeof(f->block.header.magic));
	f->block.pages[1] = f->block.header.n_rows;
	/* Unused rows stand behind the last page's end; the block has exactly the used ones. */
	f->block.header.size -= 4ull * (MAX_RULES - f->block.header.n_rows);
	assert_true(unwind_table_open(&f->table, &f->block, (size_t)f->block.header.size));
}

static void walk_fixture(struct fixture *f, size_t max, struct buf *out)
{
	uint64_t pcs[600];
	struct unwind_chain chain = { .pcs = pcs, .max = max };
	struct unwind_input in = {
		.regs = f->regs,
		.other = f->other,
		.n_other = ARRAY_SIZE(f->other),
		.stack = f->stack,
		.stack_size = f->stack_size,
		.is_whole = f->is_whole,
		.find = find_in_fixture,
		.ctx = f,
	};
	struct unwinder *u = unwinder_new();

	unwind_walk(u, &in, &chain);
	for (size_t i = 0; i < chain.n; i++)
		buf_printf(out, "%llx ", (unsigned long long)pcs[i]);
	buf_printf(out, "%s", unwind_stop_keys[chain.stop]);
	unwinder_free(u);
}

static void expect_of(struct fixture *f, const char *frames)
{
	struct buf out = { 0 };

	walk_fixture(f, 600, &out);
	assert_string_equal(buf_cstr(&out), frames);
	buf_fini(&out);
}

static void expect(const char *text, const char *frames)
{
	struct fixture f;

	parse(&f, text);
	expect_of(&f, frames);
}

static void a_frame_is_left_by_its_stack_pointer(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+8\n1004 sp+24\n1100 sp+16\n1200 end\n"
	       "7000: 0 0 1108 0 1204",
	       "1010 1108 1204 end");
}

static void a_return_address_behind_its_function_belongs_to_the_call(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+8\n1100 end\n1200 unsupported\n"
	       "7000: 1200",
	       "1010 1200 end");
}

static void the_frame_pointer_is_restored_from_where_it_was_saved(void **state)
{
	(void)state;
	/* The second frame's CFA hangs on the frame pointer that the first one saved. */
	expect("x86-64 pc=1010 sp=7000 fp=bad0\n"
	       "1000 sp+24 fp:c-16\n1100 fp+16 fp:c-16\n1200 end\n"
	       "7000: 0 7040 1108 0\n7040: 0 1204",
	       "1010 1108 1204 end");
}

static void a_popped_frame_pointer_is_in_its_register(void **state)
{
	(void)state;
	/* Its slot is at 6ff8, below the stack pointer: no sample has it. */
	expect("x86-64 pc=1010 sp=7000 fp=7040\n"
	       "1000 sp+8 fp:c-16\n1100 fp+16\n1200 end\n"
	       "7000: 1108 0 0\n7040: 0 1204",
	       "1010 1108 1204 end");
}

static void a_plt_stub_pushes_a_word_in_its_second_instruction(void **state)
{
	static const char text[] = "x86-64 pc=10%s sp=7000 fp=1\n1000 plt11+8\n1100 end\n"
				   "7000: %s 1104";
	char before[200], after[200];

	(void)state;
	snprintf(before, sizeof(before), text, "26", "");
	snprintf(after, sizeof(after), text, "2b", "5");
	expect(before, "1026 1104 end");
	expect(after, "102b 1104 end");
}

static void a_realigned_stack_is_followed_through_memory(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=7020\n"
	       "1000 [fp-8]+0 fp:f+0\n1100 [sp]+8\n1200 fp+16\n1300 end\n"
	       "7000: 0 0 0 7060 7090\n7058: 1108 7080 0\n7080: 1208 0 0 1304",
	       "1010 1108 1208 1304 end");
}

static void rbx_is_found_where_an_inner_frame_saved_it(void **state)
{
	(void)state;
	/* Without the save in the innermost frame it is still in the register. */
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+24 bx:c-16\n1100 rbx+24\n1200 end\n"
	       "7000: 0 7030 1108 0 0 0 0 0 1204",
	       "1010 1108 1204 end");
	{
		struct fixture f;

		parse(&f, "x86-64 pc=1010 sp=7000 fp=1\n"
			  "1000 sp+24\n1100 rbx+24\n1200 end\n"
			  "7000: 0 0 1108 0 0 0 0 0 1204");
		f.other[UNWIND_RBX] = 0x7030;
		expect_of(&f, "1010 1108 1204 end");
	}
}

static void a_new_thread_has_no_caller(void **state)
{
	struct fixture f;

	(void)state;
	parse(&f, "x86-64 pc=1010 sp=7000 fp=7020\n"
		  "1000 cloned+8\n1100 end\n"
		  "7000: 1108 0 0 0 0 1104");
	f.other[UNWIND_RETURNED] = 0;
	expect_of(&f, "1010 end");
	/* its number, or that the system call has not returned (-ENOSYS) */
	f.other[UNWIND_RETURNED] = 4711;
	expect_of(&f, "1010 1108 end");
	f.other[UNWIND_RETURNED] = (uint64_t)-38;
	expect_of(&f, "1010 1108 end");
}

static void the_result_of_clone_is_known_in_the_sampled_frame_alone(void **state)
{
	struct fixture f;

	(void)state;
	/* A signal came: rax is the handler's. */
	parse(&f, "x86-64 pc=1010 sp=7000 fp=1\n"
		  "1000 sp+8\n1080 signal\n1100 cloned+8\n1200 end\n"
		  "7000: 1081\n7080: 7110\n70a8: 7100 1110\n7100: 1204");
	f.other[UNWIND_RETURNED] = 0;
	expect_of(&f, "1010 1081 1110 1204 end");
}

static void i386_has_words_of_four_bytes(void **state)
{
	(void)state;
	/* As gcc compiles main(): the stack is aligned, and the old one is below the frame pointer.
	 */
	expect("i386 pc=1010 sp=7000 fp=bad0\n"
	       "1000 sp+12 fp:c-8\n1100 [fp-4]+0 fp:f+0\n1200 fp+8 fp:c-8\n1300 end\n"
	       "7000: 0 7020 1108\n701c: 7034 7050\n7030: 1204\n7050: 0 1304 0",
	       "1010 1108 1204 1304 end");
	expect("i386 pc=102b sp=7000 fp=1\n1000 plt11+4\n1100 end\n7000: 5 1104 0",
	       "102b 1104 end");
	expect("i386 pc=22010 sp=7000 fp=7004\n1100 end\n7000: 0 700c 1104 0 0", "22010 1104 end");
}

static void an_i386_register_has_the_number_of_its_own_abi(void **state)
{
	struct fixture f;

	(void)state;
	/* ecx is 1 in rules of i386, and 2 in the sample; ebx is 3 in both. */
	parse(&f, "i386 pc=1010 sp=7000 fp=1\n1000 rbx+0\n1100 end\n7000: 0 0 0 1104 0");
	f.other[2] = 0xffffffff00007010;
	f.block.rules[1].aux = 1;
	expect_of(&f, "1010 1104 end");
	f.other[UNWIND_RBX] = 0x7010;
	f.block.rules[1].aux = UNWIND_RBX;
	expect_of(&f, "1010 1104 end");
}

static void an_i386_signal_frame_has_all_registers(void **state)
{
	(void)state;
	/* esp 7110, ebp 7114 and eip 1104 are at 188, 184 and 216 of the handler's frame. */
	expect("i386 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+4\n1080 signal\n1100 fp+8\n1200 end\n"
	       "7000: 1081\n70bc: 7114 7110 0 0 0 0 0 0 1104\n7114: 0 1204 0",
	       "1010 1081 1104 1204 end");
}

static void a_signal_frame_has_all_registers(void **state)
{
	(void)state;
	/* rbp at 120, rbx at 128, rsp at 160, rip at 168; 1100 is not a return address. */
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+8\n1080 signal\n1100 fp+16\n1200 end\n"
	       "7000: 1081\n7080: 7110\n70a8: 7100 1100\n7110: 0 1204",
	       "1010 1081 1100 1204 end");
}

/* "~": the caller is on another stack, here below the one that was left; 99000 is not in the copy.
 */
static void a_caller_may_be_on_another_stack(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256\n1100 ~[sp]+16\n1200 end\n"
	       "7000: 0 0 1204\n70f8: 1108 7008",
	       "1010 1108 1204 end");
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256\n1100 ~[sp]+16\n1200 end\n"
	       "7000: 0\n70f8: 1108 99000",
	       "1010 1108 other-stack");
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256\n1100 ~[[sp]+8]+16\n1200 end\n"
	       "7000: 0 7020 0 0 0 1204\n70f8: 1108 7000",
	       "1010 1108 1204 end");
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256\n1100 ~[[sp]+8]+16\n1200 end\n"
	       "7000: 0\n70f8: 1108 99000",
	       "1010 1108 other-stack");
	expect("x86-64 pc=1010 sp=7000 fp=7020\n"
	       "1000 sp+256\n1100 ~fp+16 fp:c-16\n1200 fp+16\n1300 end\n"
	       "7000: 0\n7020: 7040 1204\n7040: 0 1304\n70f8: 1108",
	       "1010 1108 1204 1304 end");
	expect("x86-64 pc=1010 sp=7000 fp=99000\n"
	       "1000 sp+256\n1100 ~fp+16 fp:c-16\n1200 end\n70f8: 1108",
	       "1010 1108 other-stack");
	/* The innermost frame saved rbx at 70f0. */
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256 bx:c-16\n1100 ~rbx+16\n1200 end\n"
	       "7000: 0\n7028: 1204\n70f0: 7020 1108",
	       "1010 1108 1204 end");
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 sp+256 bx:c-16\n1100 rbx+16\n1200 end\n"
	       "7000: 0\n7028: 1204\n70f0: 7020 1108",
	       "1010 1108 bad-cfa");
	expect("x86-64 pc=1010 sp=7000 fp=7020\n"
	       "1000 sp+256\n1100 ~none\n1200 none\n1300 end\n"
	       "7000: 0\n7020: 7040 1204\n7040: 0 1304\n70f8: 1108",
	       "1010 1108 1204 1304 end");
}

static void stacks_that_lead_to_each_other_end_at_the_depth(void **state)
{
	struct buf out = { 0 };
	struct fixture f;

	(void)state;
	/* From 7040 to 7020, and from there to 7040. */
	parse(&f, "x86-64 pc=1010 sp=7000 fp=1\n1000 ~[sp]+16\n"
		  "7000: 7030\n7018: 1018 7030\n7038: 1018 7010");
	walk_fixture(&f, 600, &out);
	assert_non_null(strstr(buf_cstr(&out), "depth"));
	buf_fini(&out);
}

static void what_a_function_calls_on_another_stack_is_not_called_from_here(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n"
	       "1000 elsewhere\n1100 end\n"
	       "7000: 1108",
	       "1010 other-stack");
	expect("x86-64 pc=1110 sp=7000 fp=1\n"
	       "1000 elsewhere\n1100 sp+8\n"
	       "7000: 1008 1108",
	       "1110 1008 other-stack");
	/* A copy does not have the goroutine. */
	expect("x86-64 pc=1110 sp=7000 fp=1\n"
	       "1000 elsewhere:go\n1100 sp+8\n"
	       "7000: 1008 1108",
	       "1110 1008 other-stack");
}

static void a_leaf_of_aarch64_returns_to_its_link_register(void **state)
{
	(void)state;
	expect("aarch64 pc=1010 sp=7000 fp=7000 lr=1108\n"
	       "1000 sp+0 ra:lr\n1100 sp+32 fp:c-32 ra:c-24\n1200 end\n"
	       "7000: 7040 1204 0 0",
	       "1010 1108 1204 end");
}

static void the_link_register_is_used_once(void **state)
{
	(void)state;
	expect("aarch64 pc=1010 sp=7000 fp=7000 lr=1020\n"
	       "1000 sp+0 ra:lr\n7000: 0",
	       "1010 1020 no-register");
}

static void signatures_of_return_addresses_are_taken_off(void **state)
{
	(void)state;
	expect("aarch64 pc=1010 sp=7000 fp=7000 lr=0\n"
	       "1000 sp+16 fp:c-16 ra:c-8\n1200 end\n"
	       "7000: 7040 2b00000000001204",
	       "1010 1204 end");
}

static void an_aarch64_signal_frame_has_all_registers(void **state)
{
	(void)state;
	/* x29 at 544, x30 at 552, sp at 560, pc at 568: interrupted in a leaf. */
	expect("aarch64 pc=1080 sp=7000 fp=1 lr=1\n"
	       "1000 sp+0 ra:lr\n1080 signal\n1100 end\n"
	       "7220: 5 1104 7300 1010",
	       "1080 1010 1104 end");
}

static void code_without_a_rule_is_left_by_its_frame_pointer(void **state)
{
	(void)state;
	expect("x86-64 pc=22010 sp=7000 fp=7008\n"
	       "1000 sp+8\n1100 end\n"
	       "7000: 0 0 1010 1104",
	       "22010 1010 1104 end");
	expect("x86-64 pc=22010 sp=7000 fp=0\n7000: 0", "22010 end");
	expect("x86-64 pc=22010 sp=7000 fp=7009\n7000: 0 0 0 0", "22010 fp-failed");
	expect("x86-64 pc=22010 sp=7000 fp=6ff0\n7000: 0 0 0 0", "22010 fp-failed");
}

/* On AArch64 a frame record does not tell the caller's stack pointer. */
static void behind_a_frame_record_of_aarch64_the_records_are_followed(void **state)
{
	(void)state;
	expect("aarch64 pc=22010 sp=7000 fp=7008 lr=0\n"
	       "1000 sp+80\n1100 end\n"
	       "7000: 0 7020 1010 0 7030 1104",
	       "22010 1010 1104 end");
}

static void a_cfa_that_does_not_ascend_ends_the_walk(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=6ff0\n1000 fp+16\n7000: 1010", "1010 bad-cfa");
	expect("x86-64 pc=1010 sp=7000 fp=10\n1000 fp+16\n7000: 1010", "1010 bad-cfa");
}

static void garbage_on_the_stack_ends_the_walk(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n1000 sp+16\n7000: 4141414141414141 4141414141414141",
	       "1010 4141414141414141 unmapped");
}

static void frames_beyond_the_copy_are_distinguished_from_no_stack(void **state)
{
	static const char text[] = "x86-64 pc=1010 sp=7000 fp=1\n1000 sp+16\n7000: 0 1018 0 1020";
	struct fixture f;

	(void)state;
	expect(text, "1010 1018 1020 short-copy");
	parse(&f, text);
	f.is_whole = true;
	expect_of(&f, "1010 1018 1020 unreadable");
}

static void rules_that_cannot_be_followed_say_so(void **state)
{
	(void)state;
	expect("x86-64 pc=1010 sp=7000 fp=1\n1000 unsupported\n7000: 0", "1010 unsupported");
	expect("x86-64 pc=3333 sp=7000 fp=1\n7000: 0", "3333 unmapped");
}

/* A frame that was found, but that has no room, does not count. */
static void frames_by_frame_pointer_are_counted_if_they_are_kept(void **state)
{
	struct unwinder *u = unwinder_new();
	uint64_t pcs[3];
	struct fixture f;

	(void)state;
	parse(&f, "x86-64 pc=22010 sp=7000 fp=7008\n7000: 0 7018 22020 7028 22030 0 22040");
	for (size_t max = 1; max <= 3; max++) {
		struct unwind_chain chain = { .pcs = pcs, .max = max };
		struct unwind_input in = { .regs = f.regs,
					   .stack = f.stack,
					   .stack_size = f.stack_size,
					   .find = find_in_fixture,
					   .ctx = &f };

		unwind_walk(u, &in, &chain);
		assert_int_equal(chain.stop, UNWIND_DEPTH);
		assert_int_equal(chain.n, max);
		assert_int_equal(chain.n_by_fp, max - 1);
	}
	unwinder_free(u);
}

static void frames_larger_than_half_a_megabyte_fit_a_rule(void **state)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_SP | 15 << 4, .off = UINT16_MAX };

	(void)state;
	assert_int_equal(unwind_rule_offset(rule), (8 << 20) - 8);
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
}

/* ---- recursion ---- */

static void recursion_100000_deep_ends_where_frames_or_bytes_do(void **state)
{
	enum { DEPTH = 100000 };
	struct unwinder *u = unwinder_new();
	uint64_t *stack = xcalloc(DEPTH, 16), *pcs = xcalloc(DEPTH + 1, 8);
	struct unwind_chain chain = { .pcs = pcs, .max = 512 };
	struct unwind_input in = { .stack = stack, .find = find_in_fixture, .space = 1 };
	struct fixture f;

	(void)state;
	parse(&f, "x86-64 pc=1010 sp=7000 fp=1\n1000 sp+16\n1100 end");
	for (size_t i = 0; i < DEPTH; i++)
		stack[2 * i + 1] = i + 1 < DEPTH ? 0x1018 : 0x1104;
	in.ctx = &f;
	in.regs = f.regs;
	in.stack_size = 16 * DEPTH;
	unwind_walk(u, &in, &chain);
	assert_int_equal(chain.stop, UNWIND_DEPTH);
	assert_int_equal(chain.n, 512);

	chain.max = DEPTH + 1;
	unwind_walk(u, &in, &chain);
	assert_int_equal(chain.stop, UNWIND_END);
	assert_int_equal(chain.n, DEPTH + 1);

	in.stack_size = 16 << 10;
	unwind_walk(u, &in, &chain);
	assert_int_equal(chain.stop, UNWIND_SHORT_COPY);
	assert_int_equal(chain.n, 1025);
	free(stack);
	free(pcs);
	unwinder_free(u);
}

/* ---- the same code in BPF ---- */

static const char bpf_program[] =
	"#include <stdint.h>\n"
	"#include \"unwind/stop.h\"\n"
	"struct unwind_ctx { uint64_t table; };\n"
	"static long (*read_user)(void *, uint32_t, const void *) = (void *)112;\n"
	"static inline enum unwind_stop unwind_read_stack(struct unwind_ctx *c, uint64_t addr,\n"
	"						  uint64_t *value)\n"
	"{ return read_user(value, 8, (void *)addr) ? UNWIND_UNREADABLE : UNWIND_GOES_ON; }\n"
	"static inline _Bool unwind_sampled_register(struct unwind_ctx *c, uint32_t n, uint64_t "
	"*v)\n"
	"{ return 0; }\n"
	"static inline _Bool unwind_thread_word(struct unwind_ctx *c, int64_t at, uint64_t *v)\n"
	"{ return 0; }\n"
	"static inline uint32_t unwind_row_at(struct unwind_ctx *c, uint32_t i) { return i; }\n"
	"#include \"unwind/step.h\"\n"
	"int step(struct unwind_rule *rule, struct unwind_regs *r, struct unwind_ctx *c)\n"
	"{ return unwind_step(*rule, r, c) + (int)unwind_search(c, 0, 4000, 17); }\n";

static void the_step_compiles_for_bpf(void **state)
{
	(void)state;
	need_command("clang -target bpf -x c -c /dev/null -o empty.o");
	write_file("step.bpf.c", bpf_program);
	/* A subprogram call or a loop that stays is fine; a call to libc is not: -nostdlib links
	 * nothing. */
	run_command("clang -O2 -g -ffreestanding -target bpf -Wall -Werror -Wno-unused-function "
		    "-I'" ASSAY_SRC "' -idirafter /usr/include/$(cc -dumpmachine) "
		    "-c step.bpf.c -o step.o");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_left_by_its_stack_pointer),
		cmocka_unit_test(a_return_address_behind_its_function_belongs_to_the_call),
		cmocka_unit_test(the_frame_pointer_is_restored_from_where_it_was_saved),
		cmocka_unit_test(a_popped_frame_pointer_is_in_its_register),
		cmocka_unit_test(a_plt_stub_pushes_a_word_in_its_second_instruction),
		cmocka_unit_test(a_realigned_stack_is_followed_through_memory),
		cmocka_unit_test(rbx_is_found_where_an_inner_frame_saved_it),
		cmocka_unit_test(a_new_thread_has_no_caller),
		cmocka_unit_test(the_result_of_clone_is_known_in_the_sampled_frame_alone),
		cmocka_unit_test(i386_has_words_of_four_bytes),
		cmocka_unit_test(an_i386_register_has_the_number_of_its_own_abi),
		cmocka_unit_test(an_i386_signal_frame_has_all_registers),
		cmocka_unit_test(a_signal_frame_has_all_registers),
		cmocka_unit_test(a_caller_may_be_on_another_stack),
		cmocka_unit_test(stacks_that_lead_to_each_other_end_at_the_depth),
		cmocka_unit_test(what_a_function_calls_on_another_stack_is_not_called_from_here),
		cmocka_unit_test(a_leaf_of_aarch64_returns_to_its_link_register),
		cmocka_unit_test(the_link_register_is_used_once),
		cmocka_unit_test(signatures_of_return_addresses_are_taken_off),
		cmocka_unit_test(an_aarch64_signal_frame_has_all_registers),
		cmocka_unit_test(code_without_a_rule_is_left_by_its_frame_pointer),
		cmocka_unit_test(behind_a_frame_record_of_aarch64_the_records_are_followed),
		cmocka_unit_test(a_cfa_that_does_not_ascend_ends_the_walk),
		cmocka_unit_test(garbage_on_the_stack_ends_the_walk),
		cmocka_unit_test(frames_beyond_the_copy_are_distinguished_from_no_stack),
		cmocka_unit_test(rules_that_cannot_be_followed_say_so),
		cmocka_unit_test(frames_by_frame_pointer_are_counted_if_they_are_kept),
		cmocka_unit_test(frames_larger_than_half_a_megabyte_fit_a_rule),
		cmocka_unit_test(recursion_100000_deep_ends_where_frames_or_bytes_do),
		cmocka_unit_test(the_step_compiles_for_bpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
