/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts as the daemon makes them: the sessions that a history (store/history/history.h) is made of.
 *
 * In a part, time is CLOCK_MONOTONIC, and one pair of both clocks tells when that was; so a new
 * part begins whenever the pair is not true any more (the clock was set, the machine slept), and
 * each hour, so that what is old can be merged or forgotten piece by piece.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"

struct error;

#define PART_NS (3600 * NS_PER_SECOND)

/* A path for a new part below `dir`, where nothing is: with "-2" and so on where it is taken. */
char *part_path(const char *dir, uint64_t wall_ns);

/* When the part that is being written began, by both clocks. */
struct part_clock {
	uint64_t wall_ns, mono_ns;
};

enum part_due {
	PART_GOES_ON,
	PART_IS_OVER,   /* its time is */
	PART_CLOCK_SET, /* the clock was set, or the machine slept */
};

/* Shall a new part begin now, as it is most_ns old? A clock that is slewed counts as set when it is
 * half a second off. */
enum part_due part_due(const struct part_clock *start, uint64_t most_ns, uint64_t wall_ns,
		       uint64_t mono_ns);

/*
 * After a crash: parts that hold nothing are removed, and so is the room that the others reserved
 * for their end. Returns how many parts had been left without an end, or a negative errno.
 */
int parts_tidy(const char *dir, struct error *err);
