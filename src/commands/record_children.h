/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `record -p` does not follow: processes below the named ones that exist already. */
#pragma once

#include "record/descendants.h"

struct record_children {
	struct process_times named, below;
};

/* Before the recording: with_children adds the processes below `pids` to it. Else, notes them. */
void record_children_begin(struct record_children *c, struct pid_list *pids, bool with_children);

/* After the recording: warns if the processes that were not followed did most of the work. */
void record_children_tell(const struct record_children *c);

void record_children_fini(struct record_children *c);
