/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of the kernel's functions, for the programs at raw tracepoints. */
#include "collect/kernel_texts.h"

#include "base/buf.h"
#include "scratch.h"

#define SCHEDULE "ffffffff82000000 t __schedule\n"
#define NEXT     "ffffffff82001230 T __pfx_schedule\nffffffff82001240 T schedule\n"
#define WAKE     "ffffffff81000010 T try_to_wake_up\nffffffff81000110 t other\n"
#define EXIT     "ffffffff81000200 T __traceiter_sched_exit_tp\n"

static struct kernel_marks marks;

static bool texts_of(const char *kallsyms, struct kernel_texts *out)
{
	write_file("kallsyms", kallsyms);
	return kernel_texts_read("kallsyms", out, &marks);
}

static void a_function_ends_where_the_next_one_begins(void **state)
{
	struct kernel_texts t;

	(void)state;
	assert_true(texts_of(WAKE EXIT SCHEDULE NEXT, &t));
	assert_true(t.switches.start == 0xffffffff82000000 && t.switches.size == 0x1230);
	assert_true(t.wakes.start == 0xffffffff81000010 && t.wakes.size == 0x100);
	assert_true(t.has_exit);
	/* whatever the order is */
	assert_true(texts_of(NEXT SCHEDULE WAKE EXIT, &t));
	assert_true(t.switches.start == 0xffffffff82000000 && t.switches.size == 0x1230);
}

static void an_older_kernel_has_no_tracepoint_at_the_return(void **state)
{
	struct kernel_texts t;

	(void)state;
	assert_true(texts_of(WAKE SCHEDULE NEXT, &t));
	assert_false(t.has_exit);
}

static void places_that_are_not_there_are_not_known(void **state)
{
	static const char *const cases[] = {
		"",
		SCHEDULE NEXT EXIT,
		WAKE EXIT,
		/* a module's own function, and data of this name */
		WAKE EXIT NEXT "ffffffffc0000000 t __schedule\t[evil]\n",
		WAKE EXIT NEXT "ffffffff82000000 d __schedule\n",
		/* the last symbol has no end */
		WAKE EXIT SCHEDULE,
		/* without permission */
		"0000000000000000 t __schedule\n0000000000000000 T try_to_wake_up\n",
	};
	struct kernel_texts t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_false(texts_of(cases[i], &t));
	assert_false(kernel_texts_read("nothing", &t, &marks));
}

static bool is_mark(uint32_t at, uint64_t start, uint32_t size, bool is_exit)
{
	const struct kernel_mark *m = &marks.list[at];

	return m->start == start && m->size == size && m->is_exit == is_exit;
}

static void functions_of_interrupts_are_marks_in_their_order(void **state)
{
	struct kernel_texts t;

	(void)state;
	texts_of("ffffffff81000800 t asm_sysvec_b\n"
		 "ffffffff81000b00 t do_idle\n"
		 "ffffffff81000c10 T irqentry_exit_to_user_mode\n"
		 "ffffffff81000c00 T __pfx_irqentry_exit_to_user_mode\n"
		 "ffffffff81000d00 T handle_softirqs.cold\n"
		 "ffffffff81000d10 T sysvec\n"
		 "ffffffff81000700 t asm_common_interrupt\n"
		 "ffffffff81000780 t asm_sysvec_a\n"
		 "ffffffff81000860 t common_interrupt_return\n"
		 "ffffffffc0000000 t do_softirq\t[evil]\n"
		 "ffffffff81000e00 T __sysvec_last\n",
		 &t);
	assert_int_equal(marks.n, 4);
	assert_true(is_mark(0, 0xffffffff81000700, 0x160, false)); /* three of them */
	assert_true(is_mark(1, 0xffffffff81000c00, 0x100, true));
	assert_true(is_mark(2, 0xffffffff81000d00, 0x10, false));
	assert_true(is_mark(3, 0xffffffff81000e00, 0x3f000000 - 0xe00, false));
	texts_of("0000000000000000 t asm_sysvec_a\n0000000000000000 t do_softirq\n", &t);
	assert_int_equal(marks.n, 0);
}

static void marks_above_the_limit_are_left_out(void **state)
{
	struct buf text = { 0 };
	struct kernel_texts t;

	(void)state;
	for (uint32_t i = 0; i < KERNEL_MARKS_MAX + 10; i++)
		buf_printf(&text, "ffffffff81%06x t sysvec_%u\nffffffff81%06x t other_%u\n", i * 64,
			   i, i * 64 + 32, i);
	texts_of(buf_cstr(&text), &t);
	assert_int_equal(marks.n, KERNEL_MARKS_MAX);
	assert_true(is_mark(KERNEL_MARKS_MAX - 1, 0xffffffff81001fc0, 32, false));
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_ends_where_the_next_one_begins),
		cmocka_unit_test(an_older_kernel_has_no_tracepoint_at_the_return),
		cmocka_unit_test(places_that_are_not_there_are_not_known),
		cmocka_unit_test(functions_of_interrupts_are_marks_in_their_order),
		cmocka_unit_test(marks_above_the_limit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
