/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loss reason of a walk that ended too early. */
#pragma once

#include "event/loss.h"
#include "unwind/stop.h"

/* enum loss_reason, or -1 if nothing is missing. */
int loss_of_stop(enum unwind_stop stop);
