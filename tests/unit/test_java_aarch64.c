/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways out of HotSpot's frames on AArch64, by code of a few instructions. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "lang/hotspot.h"
#include "lang/hotspot_insn.h"

#define CODE 0x7f0000000000u

#define NOP        0xd503201f
#define RET        0xd65f03c0
#define CALL       0x94000010
#define PUSH_PAIR  0xa9bf7bfd /* stp x29,x30,[sp,#-16]! */
#define POP_PAIR   0xa8c17bfd /* ldp x29,x30,[sp],#16 */
#define SET_FP     0x910003fd /* mov x29,sp */
#define SP_FROM_FP 0x910003bf /* mov sp,x29 */

static const uint32_t *code;
static size_t n_code;

static bool read_code(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (addr < CODE || addr - CODE > n_code * 4 || size > n_code * 4 - (addr - CODE))
		return false;
	memcpy(out, (const uint8_t *)code + (addr - CODE), size);
	return true;
}

static const struct hotspot vm = { .memory = { read_code, NULL, NULL },
				   .version = 17 << 8,
				   .is_aarch64 = true };

/* The ways out at each instruction: a letter for the first one. */
static void check_ways(const struct hotspot_blob *of, const uint32_t *insns, size_t n,
		       const char *expected)
{
	static const char letters[] = {
		[HOTSPOT_BY_SIZE] = 's',     [HOTSPOT_AT_TOP] = '?',      [HOTSPOT_BEHIND_FP] = 'b',
		[HOTSPOT_BY_FP] = 'f',       [HOTSPOT_BY_SENDER] = 'i',   [HOTSPOT_BY_LINK] = 'l',
		[HOTSPOT_BY_REGISTER] = 'r', [HOTSPOT_BY_OTHER_FP] = '?',
	};
	struct hotspot_blob blob = *of;
	struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX];
	char got[64] = "";

	code = insns;
	n_code = n;
	blob.code = CODE;
	blob.code_end = CODE + n * 4;
	assert_true(n < sizeof(got));
	for (size_t i = 0; i < n; i++) {
		assert_true(hotspot_leaves(&vm, &blob, CODE + i * 4, true, leaves) > 0);
		got[i] = letters[leaves[0].way];
		if (leaves[0].way == HOTSPOT_BY_LINK && leaves[0].words)
			got[i] = 'h'; /* room is made, and nothing is in it yet */
	}
	assert_string_equal(got, expected);
}

static void a_small_frame_is_made_and_left(void **state)
{
	static const uint32_t insns[] = {
		NOP,        0xd10083ff,             /* sub sp,sp,#32 */
		0xa9017bfd,                         /* stp x29,x30,[sp,#16] */
		NOP,        CALL,       0xa9417bfd, /* ldp x29,x30,[sp,#16] */
		0x910083ff,                         /* add sp,sp,#32 */
		0xf9423788,                         /* ldr x8,[x28,#1128] */
		0xeb2863ff,                         /* cmp sp,x8 */
		0x54000048,                         /* b.hi */
		RET,        NOP,
	};
	const struct hotspot_blob blob = { .kind = HOTSPOT_COMPILED,
					   .frame_size = 4,
					   .complete = 12 };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns),
		   "llhssssllll"
		   "s");
}

static void a_large_frame_is_made_and_left(void **state)
{
	static const uint32_t insns[] = {
		NOP,      PUSH_PAIR, SET_FP,     0xd108c3ff, /* sub sp,sp,#560 */
		NOP,      CALL,      0x9108c3ff,             /* add sp,sp,#560 */
		POP_PAIR, RET,
	};
	static const uint32_t by_register[] = {
		PUSH_PAIR,  0xd2820008,             /* mov x8,#4096 */
		0xcb2863ff,                         /* sub sp,sp,x8 */
		NOP,        0xd2820008, 0x8b2863ff, /* add sp,sp,x8 */
		POP_PAIR,   RET,
	};
	struct hotspot_blob blob = { .kind = HOTSPOT_COMPILED, .frame_size = 72, .complete = 16 };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns), "llbfsssbl");
	blob.frame_size = 514;
	blob.complete = 12;
	check_ways(&blob, by_register, ARRAY_SIZE(by_register), "lbbsssbl");
}

static void the_frame_has_gone_at_a_late_poll(void **state)
{
	static const uint32_t insns[] = {
		RET,        0x10ffff88, /* adr x8,… */
		0xf901a388,             /* str x8,[x28,#832] */
		0x14000400,             /* b */
		NOP,
	};
	const struct hotspot_blob blob = { .kind = HOTSPOT_COMPILED, .frame_size = 4 };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns), "sllls");
}

/* By the code that is still to come, on any way. */
static void a_stub_has_a_frame_until_it_leaves_it(void **state)
{
	static const uint32_t insns[] = {
		PUSH_PAIR, SET_FP, NOP, 0xb4000060, /* cbz x0: to the second NOP */
		POP_PAIR,  RET,    NOP, 0x17fffffd, /* b: to the POP_PAIR */
		NOP,       RET,
	};
	const struct hotspot_blob blob = { .kind = HOTSPOT_STUBS };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns),
		   "lbfffl"
		   "ffll");
}

static void an_adapter_keeps_the_stack_pointer_in_a_register(void **state)
{
	static const uint32_t insns[] = {
		NOP,        0x910003f3, /* mov x19,sp */
		0xd10043ff,             /* sub sp,sp,#16 */
		0xd61f0100,             /* br x8 */
		NOP,        0x910003ed, /* mov x13,sp */
		0xd61f0100,
	};
	const struct hotspot_blob blob = { .kind = HOTSPOT_FRAMELESS };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns), "llrrllr");
}

static void the_sender_of_a_frame_that_is_being_made_is_not_known(void **state)
{
	static const uint32_t insns[] = {
		0xa90a7bfd,             /* stp x29,x30,[sp,#160] */
		0x910143fd,             /* add x29,sp,#80 */
		NOP,        0xa9044fff, /* stp xzr,x19,[sp,#64] */
		NOP,        NOP,        NOP, NOP, NOP, NOP, NOP, NOP,
	};
	const struct hotspot_blob blob = { .kind = HOTSPOT_INTERPRETER };
	enum hotspot_answer returned = HOTSPOT_NOT_ASKED;
	uint64_t registers[33] = { 0 };

	(void)state;
	check_ways(&blob, insns, ARRAY_SIZE(insns), "iiffiiiiiiii");
	assert_false(hotspot_is_innermost(&vm, CODE, 8, registers, &returned));
	returned = HOTSPOT_NOT_ASKED;
	assert_true(hotspot_is_innermost(&vm, CODE + 8, 8, registers, &returned));
}

static void the_link_register_leads_to_an_interpreted_caller(void **state)
{
	static const uint32_t insns[] = {
		NOP, 0xf85f03b4, /* ldur x20,[x29,#-16] */
		NOP, 0xf85f03a8, /* ldur x8,[x29,#-16] */
	};
	uint64_t registers[33] = { 0 };

	(void)state;
	code = insns;
	n_code = ARRAY_SIZE(insns);
	for (size_t i = 0; i < n_code; i++) {
		enum hotspot_answer at_pc = HOTSPOT_NOT_ASKED, at_link = HOTSPOT_NO;

		registers[30] = 0;
		assert_int_equal(hotspot_is_innermost(&vm, CODE + i * 4, 8, registers, &at_pc),
				 i % 2);
		registers[30] = (CODE + i * 4) | 0x2bull << 48; /* a signature is above */
		assert_int_equal(hotspot_is_innermost(&vm, CODE, 8, registers, &at_link), i % 2);
	}
	registers[30] = 0;
	assert_true(hotspot_is_innermost(&vm, CODE, 0, registers,
					 &(enum hotspot_answer){ HOTSPOT_NOT_ASKED }));
}

static void instructions_end_code_as_those_of_x86_do(void **state)
{
	static const struct {
		uint32_t insn;
		enum pt_end end;
		int32_t to; /* from its address; 0: to no known place */
	} rows[] = {
		{ NOP, PT_END_FALL, 0 },
		{ 0x14000010, PT_END_JUMP, 64 },
		{ 0x17fffffd, PT_END_JUMP, -12 },
		{ 0x54fffc8b, PT_END_COND, -112 }, /* b.lt */
		{ 0xb4000060, PT_END_COND, 12 },   /* cbz */
		{ CALL, PT_END_CALL, 64 },
		{ 0xd63f0100, PT_END_CALL_INDIRECT, 0 }, /* blr x8 */
		{ 0xd61f0100, PT_END_JUMP_INDIRECT, 0 }, /* br x8 */
		{ RET, PT_END_RETURN, 0 },
		{ 0xd65f0bff, PT_END_RETURN, 0 }, /* retaa */
		{ 0xd4200000, PT_END_RETURN, 0 }, /* brk */
		{ 0, PT_END_RETURN, 0 },
	};
	struct pt_insn insn;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *bytes = (const uint8_t *)&rows[i].insn;

		assert_false(hotspot_insn_read(&vm, bytes, 3, &insn));
		assert_true(hotspot_insn_read(&vm, bytes, 4, &insn));
		assert_int_equal(insn.size, 4);
		assert_int_equal(insn.end, rows[i].end);
		assert_int_equal(insn.is_direct, rows[i].to != 0);
		if (insn.is_direct)
			assert_int_equal(pt_insn_target(&insn, CODE), CODE + (uint64_t)rows[i].to);
	}
}

static void polls_and_traps_are_known(void **state)
{
	static const uint32_t poll = 0xb940015f;   /* ldr wzr,[x10] */
	static const uint32_t load = 0xb9400140;   /* ldr w0,[x10] */
	static const uint32_t reason = 0x12800341; /* mov w1,#-27 */
	static const uint32_t far[] = { 0x58000048, 0xd61f0100, 0x12345678, 0xffff };
	uint64_t target = 0;

	(void)state;
	assert_true(hotspot_is_poll(&vm, (const uint8_t *)&poll, 4));
	assert_false(hotspot_is_poll(&vm, (const uint8_t *)&poll, 3));
	assert_false(hotspot_is_poll(&vm, (const uint8_t *)&load, 4));
	assert_true(hotspot_is_trap_reason(&vm, (const uint8_t *)&reason, 4));
	assert_false(hotspot_is_trap_reason(&vm, (const uint8_t *)&load, 4));
	assert_false(hotspot_far_jump(&vm, (const uint8_t *)far, 15, &target));
	assert_true(hotspot_far_jump(&vm, (const uint8_t *)far, 16, &target));
	assert_int_equal(target, 0xffff12345678);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_frame_is_made_and_left),
		cmocka_unit_test(a_large_frame_is_made_and_left),
		cmocka_unit_test(the_frame_has_gone_at_a_late_poll),
		cmocka_unit_test(a_stub_has_a_frame_until_it_leaves_it),
		cmocka_unit_test(an_adapter_keeps_the_stack_pointer_in_a_register),
		cmocka_unit_test(the_sender_of_a_frame_that_is_being_made_is_not_known),
		cmocka_unit_test(the_link_register_leads_to_an_interpreted_caller),
		cmocka_unit_test(instructions_end_code_as_those_of_x86_do),
		cmocka_unit_test(polls_and_traps_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
