/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from code. The first byte: bit 0 32-bit code, bit 1 one function. The rest is the code,
 * which ends with its memory. Each rule is a guessed one of a known kind.
 */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#include "base/mem.h"
#include "unwind/code_frames.h"

const struct fuzz_limits fuzz_limits = { .floor_ms = 1000, .ns_a_byte = 100000 };

static bool is_expected(struct unwind_rule rule)
{
	enum unwind_cfa cfa = unwind_rule_cfa(rule);

	return unwind_rule_is_guessed(rule) && unwind_rule_ra(rule) == UNWIND_RA_BELOW_CFA &&
	       (cfa == UNWIND_CFA_SP || cfa == UNWIND_CFA_FP || cfa == UNWIND_CFA_REGISTER ||
		cfa == UNWIND_CFA_FP_DEREF);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct code_frames f = { .width = 64 };
	struct unwind_rule rule;
	uint8_t *code;

	if (!size)
		return 0;
	f.width = bytes[0] & 1 ? 32 : 64;
	f.n = (uint32_t)MIN(size - 1, (size_t)CODE_FRAMES_MAX);
	code = xcalloc(f.n + !f.n, 1);
	memcpy(code, bytes + 1, f.n);
	f.code = code;
	code_frames_begin(&f);
	code_frames_follow(&f, 0);
	code_frames_follow_rest(&f, bytes[0] & 2);
	for (uint32_t at = 0; at < f.n; at = code_frames_next(&f, at))
		if (code_frames_rule(&f, at, &rule) && !is_expected(rule))
			abort();
	code_frames_fini(&f);
	free(code);
	return 0;
}
