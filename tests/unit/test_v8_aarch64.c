/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways out of V8's frames on AArch64, by code of a few instructions. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "pipeline/v8_ways.h"

#define CODE 0x7f0000001000u

#define NOP         0xd503201f
#define RET         0xd65f03c0
#define CALL        0x94000010
#define JUMP        0xd61f0220 /* br x17 */
#define PADDING     0xcccccccc
#define PUSH_PAIR   0xa9bf7bfd /* stp x29,x30,[sp,#-16]! */
#define POP_PAIR    0xa8c17bfd /* ldp x29,x30,[sp],#16 */
#define SET_FP      0x910003fd /* mov x29,sp */
#define SP_FROM_FP  0x910003bf /* mov sp,x29 */
#define LOAD_PAIR   0xa9407bbd /* ldp x29,x30,[x29] */
#define PUSH_OTHERS 0xa9bf53f3 /* stp x19,x20,[sp,#-16]! */
#define POP_OTHERS  0xa8c153f3 /* ldp x19,x20,[sp],#16 */
#define PUSH_VECTOR 0x6dbf3fee /* stp d14,d15,[sp,#-16]! */
#define POP_VECTOR  0x6cc13fee /* ldp d14,d15,[sp],#16 */

static const uint32_t *code;
static size_t n_code;

/* Around the code are zeros. */
static bool read_code(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	for (size_t i = 0; i < size; i++) {
		uint64_t at = addr + i - CODE;

		((uint8_t *)out)[i] = at < n_code * 4 ? ((const uint8_t *)code)[at] : 0;
	}
	return true;
}

static const struct v8_forms node_18 = { .has_entry_record = true };
static const struct v8_forms node_12 = { 0 };

static struct v8 v8_with(const struct v8_forms *forms, const uint32_t *insns, size_t n)
{
	code = insns;
	n_code = n;
	return (struct v8){ .memory = { read_code, NULL, NULL },
			    .forms = forms,
			    .is_aarch64 = true };
}

/* The way out at each instruction: f by the frame pointer, l by the link register. */
static void check_ways(const uint32_t *insns, size_t n, const char *expected)
{
	struct v8 v8 = v8_with(&node_18, insns, n);
	char got[64] = "";

	assert_true(n < sizeof(got));
	for (size_t i = 0; i < n; i++) {
		enum v8_way way = v8_way_of_leaf(&v8, NULL, CODE + i * 4);

		got[i] = way == V8_BY_FP ? 'f' : way == V8_BY_LINK ? 'l' : '?';
	}
	assert_string_equal(got, expected);
}

static void a_frame_is_there_from_its_pointer_to_its_record(void **state)
{
	static const uint32_t insns[] = { NOP, PUSH_PAIR,  SET_FP,   NOP, CALL,
					  NOP, SP_FROM_FP, POP_PAIR, NOP, RET };
	static const uint32_t marked[] = {
		0xa9be43ff, /* stp xzr,x16,[sp,#-32]! */
		0xa9017bfd, /* stp x29,x30,[sp,#16] */
		0x910043fd, /* add x29,sp,#16 */
		NOP,        SP_FROM_FP, POP_PAIR, RET,
	};

	(void)state;
	check_ways(insns, ARRAY_SIZE(insns), "lllfffffll");
	check_ways(marked, ARRAY_SIZE(marked), "lllfffl");
}

static void code_that_only_returns_has_no_frame(void **state)
{
	static const uint32_t insns[] = { NOP, 0x54000040 /* b.eq: over one */, NOP, NOP, RET };

	(void)state;
	check_ways(insns, ARRAY_SIZE(insns), "lllll");
}

/* A handler of a bytecode ends in the next one, which has the same frame. */
static void code_that_jumps_away_keeps_its_frame_unless_it_was_taken_down(void **state)
{
	static const uint32_t handler[] = { NOP, NOP, NOP, JUMP };
	static const uint32_t tail[] = { PUSH_PAIR, SET_FP, CALL, LOAD_PAIR, NOP, NOP, JUMP };
	static const uint32_t parts[] = {
		SET_FP, CALL, 0xf94007be /* ldr x30,[x29,#8] */, 0xf94003bd /* ldr x29,[x29] */,
		NOP,    JUMP
	};
	/* to the handler of an exception, whose frame the pointer gets */
	static const uint32_t thrown[] = { SET_FP,     CALL, 0x9102235d /* add x29,x26,#136 */,
					   0xf94003bd, NOP,  JUMP };

	(void)state;
	check_ways(handler, ARRAY_SIZE(handler), "ffff");
	check_ways(tail, ARRAY_SIZE(tail), "llfflll");
	check_ways(parts, ARRAY_SIZE(parts), "lfffll");
	check_ways(thrown, ARRAY_SIZE(thrown), "lfffff");
}

/* The straight way is a circle. */
static void any_way_through_the_code_tells_of_the_frame(void **state)
{
	static const uint32_t insns[] = {
		NOP, 0x54000060 /* b.eq: over two */, NOP, 0x17ffffff /* b: back */, RET,
	};
	static const uint32_t framed[] = {
		NOP, 0xb4000060 /* cbz x0: over two */, NOP, 0x17ffffff, SP_FROM_FP, POP_PAIR, RET,
	};

	(void)state;
	check_ways(insns, ARRAY_SIZE(insns), "llffl");
	check_ways(framed, ARRAY_SIZE(framed), "ffffffl");
}

static uint32_t words_at(const struct v8 *v8, size_t i)
{
	uint16_t words = 999;

	return v8_pushed_words(v8, CODE + i * 4, &words) ? words : 999;
}

/* As much as the native caller's rule needs. */
static void the_words_of_a_frame_without_a_pointer_are_counted(void **state)
{
	static const uint32_t insns[] = {
		PADDING,
		PADDING,
		PUSH_VECTOR,
		PUSH_OTHERS,
		PUSH_PAIR,
		NOP,
		SET_FP,
		CALL,
		POP_PAIR,
		0xa9415bf5 /* ldp x21,x22,[sp,#16] */,
		0xa8c253f3 /* …,[sp],#32 */,
		POP_VECTOR,
		RET,
	};
	static const uint32_t unknown[48] = { [0 ... 47] = NOP };
	static const uint32_t odd[][3] = {
		{ PADDING, 0xcb3063ff /* sub sp,sp,x16 */, NOP },
		{ PADDING, 0x9100021f /* mov sp,x16 */, NOP },
		{ PADDING, 0xad0003ff ^ 0x00800000 /* stp q31,q0,[sp,#0]! */, NOP },
		{ PADDING, 0x54000040 /* b.eq */, NOP },
	};
	static const uint32_t compared[] = { PADDING, 0xf100001f /* cmp x0,#0 */, NOP };
	struct v8 v8 = v8_with(&node_18, compared, ARRAY_SIZE(compared));

	(void)state;
	assert_int_equal(words_at(&v8, 2), 0);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		v8 = v8_with(&node_18, odd[i], ARRAY_SIZE(odd[i]));
		assert_int_equal(words_at(&v8, 2), 999);
	}
	v8 = v8_with(&node_18, insns, ARRAY_SIZE(insns));
	assert_int_equal(words_at(&v8, 2), 0);
	assert_int_equal(words_at(&v8, 3), 2);
	assert_int_equal(words_at(&v8, 4), 4);
	assert_int_equal(words_at(&v8, 6), 6);
	assert_int_equal(words_at(&v8, 9), 6);
	assert_int_equal(words_at(&v8, 11), 2);
	assert_int_equal(words_at(&v8, 12), 0);
	v8 = v8_with(&node_18, unknown, ARRAY_SIZE(unknown));
	assert_int_equal(words_at(&v8, 40), 999);
}

static void check_rule(const struct v8_forms *forms, enum v8_way way, int words, int record)
{
	const struct v8 v8 = { .forms = forms, .is_aarch64 = true };
	struct unwind_rule rule = v8_rule_of(&v8, way);

	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_FP);
	assert_int_equal(rule.off, words);
	assert_int_equal(unwind_rule_fp(rule), UNWIND_FP_AT_CFA);
	assert_int_equal(unwind_rule_ra(rule), UNWIND_RA_AT_CFA);
	assert_int_equal(words + rule.fp, record);
	assert_int_equal(words + rule.aux, record + 1);
}

static void code_that_native_code_calls_restores_its_registers(void **state)
{
	(void)state;
	check_rule(&node_18, V8_BY_ENTRY, 20, 0);
	check_rule(&node_18, V8_BY_REGEXP, 12, 0);
	check_rule(&node_12, V8_BY_ENTRY, 21, 11);
	check_rule(&node_12, V8_BY_REGEXP, 12, 10);
	assert_true(v8_is_entry(1 << 1));
	assert_true(v8_is_entry(2 << 1));
	assert_false(v8_is_entry(3 << 1));
	assert_false(v8_is_entry(0));
}

static void a_regular_expression_is_known_by_its_first_instructions(void **state)
{
	static const uint32_t insns[] = { 0x14000003 /* b */, NOP, NOP, 0xa9be6bf9 };
	static const uint32_t other[] = { NOP, NOP, NOP, 0xa9be6bf9 };
	struct v8_code of = { .code = 1, .start = CODE, .end = CODE + sizeof(insns) };
	struct v8 v8 = v8_with(&node_18, insns, ARRAY_SIZE(insns));

	(void)state;
	assert_true(v8_is_regexp(&v8, &of));
	assert_false(v8_is_regexp(&v8, NULL));
	of.shared = 1;
	assert_false(v8_is_regexp(&v8, &of));
	of.shared = 0;
	v8.forms = &node_12;
	assert_false(v8_is_regexp(&v8, &of));
	v8 = v8_with(&node_18, other, ARRAY_SIZE(other));
	assert_false(v8_is_regexp(&v8, &of));
}

static void the_builtin_that_calls_c_has_the_return_address_on_top(void **state)
{
	static const uint32_t insns[] = { 0xf90003fe /* str x30,[sp] */, CALL,
					  0xf94003fe /* ldr x30,[sp] */, RET };
	struct v8 v8 = v8_with(&node_18, insns, ARRAY_SIZE(insns));
	struct unwind_rule rule = v8_rule_of(&v8, V8_BY_TOP_WORD);

	(void)state;
	assert_true(v8_is_call_of_c(&v8, CODE + 8));
	assert_false(v8_is_call_of_c(&v8, CODE + 4));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_ra(rule), UNWIND_RA_AT_CFA);
	assert_int_equal(rule.off + rule.aux, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_there_from_its_pointer_to_its_record),
		cmocka_unit_test(code_that_only_returns_has_no_frame),
		cmocka_unit_test(code_that_jumps_away_keeps_its_frame_unless_it_was_taken_down),
		cmocka_unit_test(any_way_through_the_code_tells_of_the_frame),
		cmocka_unit_test(the_words_of_a_frame_without_a_pointer_are_counted),
		cmocka_unit_test(code_that_native_code_calls_restores_its_registers),
		cmocka_unit_test(a_regular_expression_is_known_by_its_first_instructions),
		cmocka_unit_test(the_builtin_that_calls_c_has_the_return_address_on_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
