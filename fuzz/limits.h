/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits of a fuzz target that needs more than limits.c gives to all. The target defines
 * fuzz_limits, with the reason. A field of 0 is the usual limit.
 */
#pragma once

#include <stdint.h>

struct fuzz_limits {
	int64_t floor_kib;    /* of memory, for any input */
	int64_t bytes_a_byte; /* of memory, for each byte of the input */
	int64_t floor_ms;     /* of processor time */
	int64_t ns_a_byte;
};

extern const struct fuzz_limits fuzz_limits;
