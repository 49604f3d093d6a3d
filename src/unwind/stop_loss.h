/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Under which loss a walk that ended too early is counted. */
#pragma once

#include "event/loss.h"
#include "unwind/stop.h"

/* enum loss_reason, or -1 where nothing is missing. */
int loss_of_stop(enum unwind_stop stop);
