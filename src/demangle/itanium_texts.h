/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of C++ names that have codes of their own, for their parser and their printer. */
#pragma once

enum { N_ITANIUM_STANDARD_NAMES = 6, N_ITANIUM_SPECIAL_NAMES = 19 };

struct itanium_standard_name {
	char letter;
	const char *name, *full, *base;
};

extern const struct itanium_standard_name itanium_standard_names[N_ITANIUM_STANDARD_NAMES];
extern const char *const itanium_special_names[N_ITANIUM_SPECIAL_NAMES];
