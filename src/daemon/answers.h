/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers to control requests: daemon/actions.h, as JSON. */
#pragma once

#include "daemon/request.h"
#include "daemon/statistics.h"

struct buf;

/* The context of the handlers. Disk use is looked up at most every few seconds. */
struct answers {
	struct daemon *daemon;
	struct statistics statistics;
	uint64_t disk_looked_ns; /* CLOCK_MONOTONIC; 0: never */
};

extern const struct control_handlers answer_handlers;

/* As it is now. Texts in it hold until the next callback. */
const struct statistics *answers_statistics(struct answers *a);
