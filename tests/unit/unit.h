/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Skips the test at hand; the reason is shown with it. */
#define skip_because(reason)                            \
	do {                                            \
		print_message("skipped: " reason "\n"); \
		skip();                                 \
	} while (0)
