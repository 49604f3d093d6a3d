/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes of a command, or of processes, that their later threads and children have, too. */
#pragma once

#include <stdbool.h>

#include "counter/counter.h"
#include "counter/uprobe_events.h"

/*
 * Puts the probes among the counters into the kernel's list, if the recording can follow later
 * threads. Where that is not possible, a warning says which code is not seen. The result goes to
 * uprobe_events_end(), behind the recording; it may be NULL.
 */
struct uprobe_events *later_probes_begin(struct counters *counters, bool can_follow);
