/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of oprofilefs and their effects, without the file system (oprofile/fs/oprofilefs.h).
 * Names and numbers are those of OProfile's kernel driver below /dev/oprofile.
 *
 *   enable          1 begins to count, with the events of the numbered directories; 0 stops
 *   dump            any write makes all samples so far readable
 *   buffer          the event stream (oprofile/fs/event_stream.h)
 *   buffer_size, buffer_watershed    of the stream, in words; used when `buffer` is opened, which
 *                                    fails (EINVAL) if the second is not less than the first
 *   cpu_buffer_size                  is kept and has no effect: there are no such buffers
 *   backtrace_depth                  callers of a sample in the stream; 0: none
 *   cpu_type        "x86-64/zen5"; "timer" without hardware counters
 *   pointer_size    bytes of a word of the stream
 *   N/enabled, N/event, N/count, N/unit_mask, N/kernel, N/user, N/extra
 *   ibs_fetch/enable, max_count, rand_enable; ibs_op/enable, max_count, dispatched_ops,
 *   branch_target       on processors that have IBS: all fetches, all operations. rand_enable
 *                       is 1; branch_target is kept and has no effect
 *   stats/…, stats/cpuN/…   of cpuN, backtrace_aborted and sample_invalid_eip are 0: a sample and
 *                       its callers are one record here, and no address is a code of the stream
 *
 * These files are new: N/name (the event by name, because not every event has a number), `cookies`
 * (a line "COOKIE PATH" for each file of the stream, instead of lookup_dcookie(2), which Linux
 * removed) and `last_error` (the reason of the last refused write, because write(2) only has a
 * number).
 *
 * The numbered directories keep written values until `enable` uses them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "counter/counter.h"

struct error;
struct oprofile_tree;

/* X(name, text): the totals below stats/. */
#define OPROFILE_STATS(X)                                                \
	X(sample_received, "samples that were taken")                    \
	X(sample_lost_no_mm, "of processes that nobody knew")            \
	X(sample_lost_no_mapping, "at addresses that no mapping covers") \
	X(sample_lost_overflow, "lost before we had them: full rings")   \
	X(event_lost_overflow, "that found the event buffer full")       \
	X(bt_lost_no_mapping, "callers that no mapping covers")

struct oprofile_stats {
#define X(name, text) uint64_t name;
	OPROFILE_STATS(X)
#undef X
	const uint64_t *cpu_samples, *cpu_losses; /* by CPU; losses: with sample_lost_overflow */
	size_t n_cpus;
};

/* The host performs the writes and has the values to read. It is called within the tree's calls. */
struct oprofile_host {
	void *context;
	int (*enable)(void *context, bool on, struct error *err);
	bool (*is_enabled)(void *context);
	int (*dump)(void *context, struct error *err);
	/* As texts of `record -e`; counting begins anew if it was on. */
	int (*set_events)(void *context, const char *const *specs, size_t n, struct error *err);
	const struct counters *(*counters)(void *context); /* that are counted now */
	void (*stats)(void *context, struct oprofile_stats *out);
	void (*cookies)(void *context, struct buf *out);
	const struct counter_sources *sources; /* for cpu_type and names of events */
};

struct oprofile_tree *oprofile_tree_new(const struct oprofile_host *host, size_t n_cpus);
void oprofile_tree_free(struct oprofile_tree *t); /* NULL is fine */

/* Nodes are numbers, the root's is 0; they hold as long as the tree. */
struct oprofile_node {
	const char *name;
	uint32_t parent;
	uint32_t mode; /* S_IFDIR or S_IFREG, and permissions */
};
uint32_t oprofile_tree_count(const struct oprofile_tree *t);
/* False: no such node, or not at present (a directory of an unused counter). */
bool oprofile_tree_get(struct oprofile_tree *t, uint32_t node, struct oprofile_node *out);
bool oprofile_tree_find(struct oprofile_tree *t, uint32_t parent, const char *name, uint32_t *out);

bool oprofile_tree_is_buffer(const struct oprofile_tree *t, uint32_t node);

/* The text of a file other than `buffer`. */
void oprofile_tree_read(struct oprofile_tree *t, uint32_t node, struct buf *out);

/* Handles a write. -EINVAL: not a number or out of range. Other errors come from the host. */
int oprofile_tree_write(struct oprofile_tree *t, uint32_t node, const char *text, size_t size);

struct oprofile_sizes {
	uint64_t buffer_size, buffer_watershed, cpu_buffer_size, backtrace_depth;
};

/* For an opening of `buffer`. -EINVAL: they are impossible. */
int oprofile_tree_check_sizes(struct oprofile_tree *t, struct oprofile_sizes *out);
