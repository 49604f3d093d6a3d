/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

/* ASSAY_TEST_FILTER, a pattern with * and ?, chooses the tests of a program. */
__attribute__((constructor)) static void choose_tests(void)
{
	const char *filter = getenv("ASSAY_TEST_FILTER");

	if (filter)
		cmocka_set_test_filter(filter);
}

/* Skips the test at hand; the reason is shown with it. */
#define skip_because(reason)                            \
	do {                                            \
		print_message("skipped: " reason "\n"); \
		skip();                                 \
	} while (0)
