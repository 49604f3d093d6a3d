/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a decoding (--itrace's d): intel_pt.log in the working folder. It has all packets of
 * the trace, queue by queue. The decoded events follow, among the recording's own events. The log
 * may be many times larger than the trace. If it can't be written, there is no log.
 */
#pragma once

#include "event/event.h"
#include "perfdata/perfdata.h"
#include "trace/pt_trace.h"

struct pt_log;

struct pt_log *pt_log_open(const struct perfdata *data); /* NULL: it can't be written */
void pt_log_close(struct pt_log *log);                   /* NULL is fine */
void pt_log_span(struct pt_log *log, const struct pt_trace *trace, const struct pt_span *span);
void pt_log_event(struct pt_log *log, const struct event *e);
