/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/mem.h"
#include "lang/aarch64.h"

static struct aarch64_code code_of(const uint32_t *insns, size_t n, uint64_t link_addr)
{
	return (struct aarch64_code){ (const uint8_t *)insns, link_addr, n };
}

static void assert_value(const struct aarch64_values *values, int reg, enum aarch64_kind kind,
			 uint64_t addr)
{
	assert_int_equal(values->of[reg].kind, kind);
	if (kind != AARCH64_UNKNOWN)
		assert_int_equal(values->of[reg].addr, addr);
}

/* PyGILState_GetThisThreadState() of Debian's Python 3.11. */
static void the_place_of_a_loaded_word_is_known(void **state)
{
	static const uint32_t insns[] = {
		0x90002e20, /* adrp x0, a35000 */
		0x913fe000, /* add x0, x0, #0xff8 */
		0xf9412c01, /* ldr x1, [x0, #600] */
		0xb4000061, /* cbz x1, 4714bc */
		0xb9426400, /* ldr w0, [x0, #612] */
	};
	struct aarch64_code code = code_of(insns, ARRAY_SIZE(insns), 0x4714a4);
	struct aarch64_values values = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		aarch64_follow(&values, &code, i);
	assert_value(&values, 0, AARCH64_ADDRESS, 0xa35ff8);
	assert_value(&values, 1, AARCH64_LOADED, 0xa35ff8 + 600);
	aarch64_follow(&values, &code, 4);
	assert_value(&values, 0, AARCH64_LOADED, 0xa35ff8 + 612);
}

static void a_word_from_the_table_of_offsets_is_the_variable(void **state)
{
	static const uint32_t insns[] = {
		0xb0000c42, /* adrp x2, 37f000 */
		0xf9435042, /* ldr x2, [x2, #1696] */
		0x91002041, /* add x1, x2, #8 */
		0xaa0103e3, /* mov x3, x1 */
		0xf9000061, /* str x1, [x3] */
		0xa9017bfd, /* stp x29, x30, [sp, #16] */
		0xd2800001, /* mov x1, #0 */
	};
	struct aarch64_code code = code_of(insns, ARRAY_SIZE(insns), 0x1f6124);
	struct aarch64_values values = { .variable = 0x5000 };

	(void)state;
	for (size_t i = 0; i < code.n; i++)
		aarch64_follow(&values, &code, i);
	assert_value(&values, 2, AARCH64_ADDRESS, 0x5000);
	assert_value(&values, 3, AARCH64_ADDRESS, 0x5008);
	assert_value(&values, 1, AARCH64_UNKNOWN, 0);
	assert_value(&values, 29, AARCH64_UNKNOWN, 0);
}

/* All registers have an address. The instruction changes those of the mask. */
static void assert_forgets(uint32_t insn, uint64_t mask)
{
	struct aarch64_code code = code_of(&insn, 1, 0x1000);
	struct aarch64_values values = { 0 };

	for (int i = 0; i < 31; i++)
		values.of[i] = (struct aarch64_value){ AARCH64_ADDRESS, 0x5000 };
	aarch64_follow(&values, &code, 0);
	for (int i = 0; i < 31; i++)
		assert_value(&values, i, mask >> i & 1 ? AARCH64_UNKNOWN : AARCH64_ADDRESS, 0x5000);
}

static void registers_that_change_otherwise_are_unknown(void **state)
{
	(void)state;
	assert_forgets(0xa94003f3, 1 << 19 | 1 << 0);         /* ldp x19, x0, [sp] */
	assert_forgets(0xa8c10440, 1 << 0 | 1 << 1 | 1 << 2); /* ldp x0, x1, [x2], #16 */
	assert_forgets(0xa9bf0440, 1 << 2);                   /* stp x0, x1, [x2, #-16]! */
	assert_forgets(0xa9000440, 0);                        /* stp x0, x1, [x2] */
	assert_forgets(0xf8408440, 1 << 0 | 1 << 2);          /* ldr x0, [x2], #8 */
	assert_forgets(0xf8408c40, 1 << 0 | 1 << 2);          /* ldr x0, [x2, #8]! */
	assert_forgets(0xf8008440, 1 << 2);                   /* str x0, [x2], #8 */
	assert_forgets(0xf9000440, 0);                        /* str x0, [x2, #8] */
	assert_forgets(0x97f904af, 0x4007ffff);               /* bl */
	assert_forgets(0xd63f0040, 0x4007ffff);               /* blr x2 */
	assert_forgets(0x17feb9aa, 0);                        /* b */
}

static void branches_have_their_targets(void **state)
{
	static const struct {
		uint32_t insn;
		uint64_t link_addr, target;
		bool is_call;
	} branches[] = {
		{ 0x17feb9aa, 0x4714b8, 0x41fb60, false }, /* b */
		{ 0x97f904af, 0x1f61a4, 0x37460, true },   /* bl */
		{ 0xb4000576, 0x1f6164, 0x1f6210, false }, /* cbz */
		{ 0x540002a8, 0x1f617c, 0x1f61d0, false }, /* b.hi */
		{ 0x376803c2, 0x1f6190, 0x1f6208, false }, /* tbnz */
	};
	static const uint32_t others[] = { 0xd65f03c0, 0xd61f0020, 0xd63f0040, 0xf100201f };
	struct aarch64_code code;
	uint64_t target;
	bool is_call;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
		code = code_of(&branches[i].insn, 1, branches[i].link_addr);
		assert_true(aarch64_branch(&code, 0, &target, &is_call));
		assert_int_equal(target, branches[i].target);
		assert_int_equal(is_call, branches[i].is_call);
	}
	code = code_of(others, ARRAY_SIZE(others), 0);
	for (size_t i = 0; i < code.n; i++)
		assert_false(aarch64_branch(&code, i, &target, &is_call));
	assert_true(aarch64_is_jump(others[1]) && !aarch64_is_call(others[1]));
	assert_true(aarch64_is_call(others[2]) && !aarch64_is_jump(others[2]));
	assert_false(aarch64_is_jump(others[0]) || aarch64_is_call(others[0]));
}

static void comparisons_name_their_registers(void **state)
{
	uint32_t left, right;

	(void)state;
	assert_true(aarch64_compares_number(0xf102a41f, &left, &right)); /* cmp x0, #0xa9 */
	assert_int_equal(left, 0);
	assert_int_equal(right, 0xa9);
	assert_true(aarch64_compares(0x6b01027f, &left, &right)); /* cmp w19, w1 */
	assert_int_equal(left, 19);
	assert_int_equal(right, 1);
	assert_false(aarch64_compares(0xf102a41f, &left, &right));
	assert_false(aarch64_compares_number(0x6b01027f, &left, &right));
	assert_false(aarch64_compares_number(0xf1000400, &left, &right)); /* subs x0, x0, #1 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_of_a_loaded_word_is_known),
		cmocka_unit_test(a_word_from_the_table_of_offsets_is_the_variable),
		cmocka_unit_test(registers_that_change_otherwise_are_unknown),
		cmocka_unit_test(branches_have_their_targets),
		cmocka_unit_test(comparisons_name_their_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
