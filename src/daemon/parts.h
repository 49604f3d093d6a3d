/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's parts: the sessions of a history (store/history/history.h).
 *
 * Times in a part are CLOCK_MONOTONIC, and one pair of both clocks converts them. So a new part
 * begins when the pair is no longer true: the clock was set, or the machine slept. A new part also
 * begins each hour, so that old samples can be merged or removed step by step.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"

struct error;

#define PART_NS (3600 * NS_PER_SECOND)

/*
 * Returns an unused path for a new part below `dir`. If the name is taken, it ends with "-2" and so
 * on. The caller frees it.
 */
char *part_path(const char *dir, uint64_t wall_ns);

/* The start of the present part, on both clocks. */
struct part_clock {
	uint64_t wall_ns, mono_ns;
};

enum part_due {
	PART_GOES_ON,
	PART_IS_OVER,   /* its time is over */
	PART_CLOCK_SET, /* the clock was set, or the machine slept */
};

/*
 * Whether a new part is due, after most_ns at the latest. A clock that was slewed by half a second
 * or more counts as set.
 */
enum part_due part_due(const struct part_clock *start, uint64_t most_ns, uint64_t wall_ns,
		       uint64_t mono_ns);

/*
 * Cleans up after a crash: removes empty parts, and the room that other parts reserved for their
 * end. Returns the number of parts without an end, or a negative errno.
 */
int parts_tidy(const char *dir, struct error *err);
