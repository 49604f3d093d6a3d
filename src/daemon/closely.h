/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More samples for some seconds, on request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct error;

/*
 * Samples for `seconds` at the rate, or at the present one if that is higher, and beyond the
 * daemon's budget. The samples are in the history. `target` is "machine", or a filter of a kind
 * that closely_is_target() takes. -EPERM: the settings do not allow it. -EBUSY: another one runs.
 * -EINVAL: more than DAEMON_RECORD_SECONDS, DAEMON_RECORD_HZ, or another target. -EOPNOTSUPP: each
 * event has a fixed period, or the samples are kept in sample files.
 */
#define DAEMON_RECORD_SECONDS 60
#define DAEMON_RECORD_HZ      999
int closely_begin(struct daemon *d, const char *target, uint64_t seconds, uint64_t rate_hz,
		  struct error *err);

/*
 * Whether it goes on; the budget then waits, and begins anew afterwards. Returns to the former rate
 * when the time is over. Call it each second.
 */
bool closely_goes_on(struct daemon *d, uint64_t now_ns);

/* Ends it early: the former rate is wanted again. Does not change the counters. */
void closely_end(struct daemon *d);

/* The wanted rate without it. */
uint64_t closely_freq_before(const struct daemon *d);
