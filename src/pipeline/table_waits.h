/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long walks of stacks wait for the unwind tables of files.
 *
 * The thread that walks empties the kernel's rings, and they fill up while it waits. So a walk
 * waits for a file no longer than WALK_WAIT_NS, and all walks no longer than WALKS_WAIT_NS and
 * WALKS_WAIT_PERCENT of the time. It also goes on without the table when a ring gets full: a stack
 * that is cut counts, and is better than a lost sample. One thread uses it at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct table_waits {
	uint64_t start_ns, waited_ns;
	bool is_endless; /* offline: nothing fills up, and the result is always the same */
	/* Whether there is time to wait; NULL: always. It is asked every few milliseconds. */
	bool (*may_wait)(void *context);
	void *context;
};

/*
 * Waits by `wait`, which returns false at a time (CLOCK_MONOTONIC) if the table is not there then.
 * *until_ns is the file's: 0 before the first wait. False: there is no more time.
 */
bool table_waits_for(struct table_waits *p, uint64_t *until_ns,
		     bool (*wait)(void *arg, uint64_t until_ns), void *arg);
