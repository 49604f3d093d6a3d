/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: why threads waited, and the threads that ended waits (IMAGE_WAKER_PREFIX and its
 * like in machine/image.h). In the session, these frames are inside of the wait's innermost frame.
 * Here they are cut off, so that a wait is where the thread waited, and become values of keys.
 * Marks of memory accesses (profile/accesses.h) and of latencies are cut off, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/wait_reasons.h"

struct load_part;

/* Sets part->waker_marks, unless the segment has no wakers. */
void load_find_wakers(struct profile *p, struct load_part *part);

/*
 * The innermost frames of the rows at hand become those of the waits; sets part->row_wakers. With
 * latency_weight, the events of each row become the sum of its latencies.
 */
void load_cut_wakers(struct profile *p, struct load_part *part);

/* Whether a key or a filter asks. */
bool index_wants_wakers(const struct profile *p);

/* Why threads waited at a node of the profile, by an event of the session. */
enum wait_reason profile_wait_reason(const struct profile *p, uint32_t counter, uint32_t node);

/* The value of one of the keys of waits, and its text. */
uint32_t profile_waker_value(const struct profile *p, enum profile_key key, uint32_t waker);
const char *profile_waker_text(const struct profile *p, uint32_t value);
