/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf_event_attr as text, in the form of `perf record -vv` (perf-intel-pt(1) shows it):
 * a line a field that is not 0, flags by their names.
 */
#pragma once

#include <linux/perf_event.h>

#include "base/buf.h"

/* The fields between two lines of dashes. */
void attr_text(const struct perf_event_attr *attr, struct buf *out);

/* In one line: "type: 1, size: 136, …". */
void attr_text_line(const struct perf_event_attr *attr, struct buf *out);

/* The call that goes with it. */
void attr_text_open(int pid, int cpu, int group_fd, unsigned long flags, struct buf *out);
