/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/trace_error.h"

#include <string.h>

#include "base/mem.h"
#include "event/loss.h"

enum { CODE_LOST = 9 }; /* of any other reason */

/* Of two reasons with one code, the first one stands for it. */
static const struct {
	uint32_t reason, code;
} codes[] = {
	{ LOSS_TRACE_BAD_PACKET, 3 }, { LOSS_TRACE_CUT, 3 },        { LOSS_TRACE_NO_CODE, 5 },
	{ LOSS_TRACE_MISMATCH, 6 },   { LOSS_TRACE_UNEXPECTED, 6 }, { LOSS_TRACE_OVERFLOW, 7 },
	{ LOSS_TRACE_LOST, 8 },       { LOSS_TRACE_LOOP, 10 },
};

uint32_t trace_error_code(uint32_t reason)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].reason == reason)
			return codes[i].code;
	return CODE_LOST;
}

uint32_t trace_error_reason(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code)
			return codes[i].reason;
	return LOSS_TRACE_UNEXPECTED;
}

const char *trace_error_text(uint32_t reason)
{
	const char *text = loss_texts[MIN(reason, (uint32_t)N_LOSS_REASONS - 1)].text;
	const char *colon = strstr(text, ": ");

	return colon ? colon + 2 : text;
}
