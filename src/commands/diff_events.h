/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of two profiles that assay diff compares: those of two tools have different names. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct profile;

const char *diff_event_name(const struct profile *p, uint32_t lane);
bool diff_event_counts_time(const struct profile *p, uint32_t lane);

/*
 * The first pair, in lanes[0] and lanes[1], of events with samples: of one name; else of one name
 * without modifiers (":pppH"); else two events that count CPU time. *is_same: of one name. -EINVAL:
 * there is no pair.
 */
int diff_events_match(const struct profile *const profiles[2], const char *const names[2],
		      uint32_t lanes[2], bool *is_same, struct error *err);

/*
 * Warns of differences in CPU time that are not the program's: one side has lost samples, or is
 * sampled at another rate.
 */
void diff_events_compare(const struct profile *const profiles[2], const char *const names[2],
			 const uint32_t lanes[2]);
