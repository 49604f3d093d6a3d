/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The losses of a block that is being written: a row for each reason and counter. */
#pragma once

#include "store/segment.h"

struct losses {
	struct loss_row *data;
	size_t n, cap;
};

void losses_add(struct losses *l, enum loss_reason reason, uint32_t counter, uint64_t n);

/* A block's header has room for BLOCK_LOSSES_MAX rows. If there are more, adds up the counters. */
void losses_fold(struct losses *l);
