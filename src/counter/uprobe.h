/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on code of programs, by the PMU uprobe (perf_event_open(2)). counter/spec/probe_spec.h has
 * their form as events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "counter/counter.h"

struct error;

struct uprobe_place {
	uint64_t file_off;
	uint64_t semaphore_off; /* of a static probe: the kernel counts its users there; 0: none */
};
struct uprobe_places {
	struct uprobe_place *data;
	size_t n, cap;
};

/* Who finds them, as this room reads no files of programs: symbol/probe_places.c. */
struct uprobe_finder {
	/* One place. -ENOENT with the nearest names; -ENODATA: the file is stripped. */
	int (*function)(const char *path, const char *name, struct uprobe_places *out,
			struct error *err);
	/* -ENOENT with the nearest names; -ENODATA: the file has none. */
	int (*usdt)(const char *path, const char *provider, const char *name,
		    struct uprobe_places *out, struct error *err);
};
extern const struct uprobe_finder uprobe_finder;

/* Whether the event is of the PMU, and not yet in the kernel's list (counter/uprobe_events.h). */
static inline bool counter_is_probe(const struct counter *c)
{
	return c->probed && c->attr.type != PERF_TYPE_TRACEPOINT;
}

/*
 * The kernel can't give such an event to a new thread or process: it would look for the path in the
 * memory of that process, and fork(2) would fail. So these probes are never inherited, and a
 * command's probes see its first thread alone. NULL: there are none; else the words for the user.
 */
const char *uprobe_scope(const struct counters *counters);

/* Whether the counter or another one of its group is a probe: a group is inherited as a whole. */
bool counters_has_probe(const struct counters *counters, size_t at);

/*
 * Whether there can be probes at all. -EOPNOTSUPP: the kernel has no such PMU; -EACCES: they take
 * root or CAP_PERFMON. `what` is for the message: "a call of 'f'".
 */
int uprobe_check(const struct counter_sources *sources, const char *what, struct error *err);

/* Fills type and place. `path` stays the caller's, and the attr points to it. Behind the check. */
int uprobe_fill(const struct counter_sources *sources, const char *path,
		const struct uprobe_place *place, bool is_return, struct perf_event_attr *out,
		struct error *err);
