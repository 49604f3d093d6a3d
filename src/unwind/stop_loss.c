/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/stop_loss.h"

#include <stddef.h>

#include "base/mem.h"

int loss_of_stop(enum unwind_stop stop)
{
	static const struct {
		enum unwind_stop stop;
		enum loss_reason reason;
	} cuts[] = {
		{ UNWIND_NO_RULE, LOSS_STACK_NO_RULE },
		{ UNWIND_BAD_CFA, LOSS_STACK_BAD },
		{ UNWIND_SHORT_COPY, LOSS_STACK_SHORT },
		{ UNWIND_UNREADABLE, LOSS_STACK_UNREADABLE },
		{ UNWIND_UNSUPPORTED, LOSS_STACK_UNSUPPORTED },
		{ UNWIND_NO_REGISTER, LOSS_STACK_UNSUPPORTED },
		{ UNWIND_FP_FAILED, LOSS_STACK_NO_FP },
		{ UNWIND_NO_CALL, LOSS_STACK_NO_FP },
		{ UNWIND_UNMAPPED, LOSS_FRAME_UNMAPPED },
		{ UNWIND_OTHER_STACK, LOSS_STACK_OTHER },
		{ UNWIND_DEPTH, LOSS_CHAIN_CUT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++)
		if (cuts[i].stop == stop)
			return (int)cuts[i].reason;
	return -1;
}
