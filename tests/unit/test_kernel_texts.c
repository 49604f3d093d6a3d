/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of the kernel's functions, for the programs at raw tracepoints. */
#include "collect/kernel_texts.h"

#include "scratch.h"

#define SCHEDULE "ffffffff82000000 t __schedule\n"
#define NEXT     "ffffffff82001230 T __pfx_schedule\nffffffff82001240 T schedule\n"
#define WAKE     "ffffffff81000010 T try_to_wake_up\nffffffff81000110 t other\n"
#define EXIT     "ffffffff81000200 T __traceiter_sched_exit_tp\n"

static bool texts_of(const char *kallsyms, struct kernel_texts *out)
{
	write_file("kallsyms", kallsyms);
	return kernel_texts_read("kallsyms", out);
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
	assert_false(kernel_texts_read("nothing", &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_ends_where_the_next_one_begins),
		cmocka_unit_test(an_older_kernel_has_no_tracepoint_at_the_return),
		cmocka_unit_test(places_that_are_not_there_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
