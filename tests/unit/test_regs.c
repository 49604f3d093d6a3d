/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <linux/perf_event.h>

#include "perfdata/regs.h"

static void x86_registers_get_their_dwarf_numbers(void **state)
{
	/* bp, sp, ip and r8, in the order of their bits. */
	static const uint64_t values[] = { 66, 77, 88, 8008 };
	struct sample_registers regs = { .abi = PERF_SAMPLE_REGS_ABI_64,
					 .mask = 1 << 6 | 1 << 7 | 1 << 8 | 1 << 16,
					 .values = values,
					 .n_values = 4 };
	struct dwarf_registers out;

	(void)state;
	uint64_t sp, pc;

	assert_true(registers_by_dwarf(&regs, false, &out));
	assert_true(registers_place(&regs, false, &sp, &pc));
	assert_int_equal(sp, 77);
	assert_int_equal(pc, 88);
	assert_int_equal(out.value[6], 66);
	assert_int_equal(out.value[7], 77);
	assert_int_equal(out.value[16], 88);
	assert_int_equal(out.value[8], 8008);
	/* rax is not sampled; 0 would be a new thread's */
	assert_int_equal(out.value[0], UINT64_MAX);
	assert_int_equal(out.value[1], 0);
}

static void x86_ax_to_di_are_not_in_the_order_of_dwarf(void **state)
{
	/* ax bx cx dx si di */
	static const uint64_t values[] = { 10, 11, 12, 13, 14, 15 };
	struct sample_registers regs = {
		.abi = PERF_SAMPLE_REGS_ABI_64, .mask = 0x3f, .values = values, .n_values = 6
	};
	static const uint64_t by_dwarf[] = { 10, 13, 12, 11, 14, 15 }; /* rax rdx rcx rbx rsi rdi */
	struct dwarf_registers out;

	(void)state;
	assert_true(registers_by_dwarf(&regs, false, &out));
	for (int i = 0; i < 6; i++)
		assert_int_equal(out.value[i], by_dwarf[i]);
}

static void aarch64_registers_keep_their_numbers(void **state)
{
	static const uint64_t values[] = { 29, 30, 31, 32 };
	struct sample_registers regs = { .abi = PERF_SAMPLE_REGS_ABI_64,
					 .mask = 0xfULL << 29,
					 .values = values,
					 .n_values = 4 };
	struct dwarf_registers out;

	(void)state;
	uint64_t sp, pc;

	assert_true(registers_by_dwarf(&regs, true, &out));
	assert_true(registers_place(&regs, true, &sp, &pc));
	assert_int_equal(sp, 31);
	assert_int_equal(pc, 32);
	assert_true(out.is_aarch64);
	for (uint64_t i = 29; i < DWARF_REGISTERS; i++)
		assert_int_equal(out.value[i], i);
}

static void a_thread_without_user_registers_or_of_32_bits_on_aarch64_has_none(void **state)
{
	struct sample_registers regs = { .abi = PERF_SAMPLE_REGS_ABI_NONE };
	struct dwarf_registers out;

	(void)state;
	assert_false(registers_by_dwarf(&regs, false, &out));
	regs.abi = PERF_SAMPLE_REGS_ABI_32;
	assert_false(registers_by_dwarf(&regs, true, &out));
	assert_false(registers_place(&regs, false, &out.value[0], &out.value[1]));
}

static void a_32_bit_program_has_the_numbers_of_x86_64(void **state)
{
	static const uint64_t values[] = { 10, 11, 12, 13 };
	struct sample_registers regs = {
		.abi = PERF_SAMPLE_REGS_ABI_32, .mask = 0x1c1, .values = values, .n_values = 4
	};
	struct dwarf_registers out;

	(void)state;
	assert_true(registers_by_dwarf(&regs, false, &out));
	assert_true(out.is_i386 && !out.is_aarch64);
	assert_int_equal(out.value[0], 10); /* eax, ebp, esp, eip */
	assert_int_equal(out.value[6], 11);
	assert_int_equal(out.value[7], 12);
	assert_int_equal(out.value[16], 13);
}

static void a_mask_with_more_bits_than_values_stops_at_the_values(void **state)
{
	static const uint64_t values[] = { 1 };
	struct sample_registers regs = {
		.abi = PERF_SAMPLE_REGS_ABI_64, .mask = UINT64_MAX, .values = values, .n_values = 1
	};
	struct dwarf_registers out;
	uint64_t sp, pc;

	(void)state;
	assert_true(registers_by_dwarf(&regs, false, &out));
	assert_int_equal(out.value[0], 1);
	assert_int_equal(out.value[3], 0);
	assert_false(registers_place(&regs, false, &sp, &pc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_registers_get_their_dwarf_numbers),
		cmocka_unit_test(x86_ax_to_di_are_not_in_the_order_of_dwarf),
		cmocka_unit_test(aarch64_registers_keep_their_numbers),
		cmocka_unit_test(a_thread_without_user_registers_or_of_32_bits_on_aarch64_has_none),
		cmocka_unit_test(a_32_bit_program_has_the_numbers_of_x86_64),
		cmocka_unit_test(a_mask_with_more_bits_than_values_stops_at_the_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
