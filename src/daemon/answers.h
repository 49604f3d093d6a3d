/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers to control requests: the actions of daemon/actions.h, with answers in JSON. */
#pragma once

#include "daemon/request.h"
#include "daemon/statistics.h"

struct buf;

/* The context of the handlers. The disk use is measured every few seconds at most. */
struct answers {
	struct daemon *daemon;
	struct statistics statistics;
	uint64_t disk_looked_ns; /* CLOCK_MONOTONIC; 0: never */
};

extern const struct control_handlers answer_handlers;

/* The present statistics. Texts in it are valid until the next callback. */
const struct statistics *answers_statistics(struct answers *a);
