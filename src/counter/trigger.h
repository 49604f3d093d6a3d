/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters for moments: a call of a function, or the delivery of a signal. Each sample is one
 * moment and wakes the reader of the rings (struct counter, wakes).
 */
#pragma once

#include <stdint.h>

#include "counter/counter.h"

struct error;

/*
 * Whether calls can be waited for at all. -EOPNOTSUPP: the kernel has no uprobes; -EACCES: they
 * take root or CAP_PERFMON. `name` is for the message.
 */
int trigger_check_calls(const struct counter_sources *sources, const char *name, struct error *err);

/*
 * A trigger on calls of the code at `file_off` of `path`, by the PMU uprobe (perf_event_open(2),
 * "uprobe"). Its name is "trigger:NAME". Errors as for trigger_check_calls().
 */
int trigger_on_call(const struct counter_sources *sources, const char *name, const char *path,
		    uint64_t file_off, struct counters *out, struct error *err);

/* The same on an event of counter/uprobe.h: "uprobe:PATH:FUNCTION", "usdt:PATH:PROVIDER:NAME". */
int trigger_on_probe(const struct counter_sources *sources, const char *spec, struct counters *out,
		     struct error *err);

/*
 * A signal that is delivered to a thread, by the tracepoint signal:signal_deliver:
 * "trigger:SIGUSR1". -EACCES, -ENOENT: tracefs can't be read.
 */
int trigger_on_signal(const struct counter_sources *sources, int signal, struct counters *out,
		      struct error *err);

/* The number of "USR1", "SIGUSR1" or "10"; -EINVAL names some. */
int signal_parse(const char *text, struct error *err);
