/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a profiled process, for targets that follow pointers: every address has a byte of
 * the fuzzer's input, which repeats. Addresses with zeros in bits 8 to 15 cannot be read.
 *
 * A target sets `input` anew for each input. A target that reads more than INPUT_READS_MAX times
 * ends with a trap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_READS_MAX 20000

static struct {
	const uint8_t *bytes;
	size_t size;
	uint32_t n_reads;
} input;

static bool read_input(void *context, uint64_t addr, void *out, size_t size)
{
	uint8_t *to = out;

	(void)context;
	if (++input.n_reads > INPUT_READS_MAX)
		__builtin_trap();
	if (!(addr & 0xff00))
		return false;
	for (size_t i = 0; i < size; i++)
		to[i] = input.bytes[(addr + i) % input.size];
	return true;
}
