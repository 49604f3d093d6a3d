/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bound for samples without times: the store keeps one session, samples/current, which only
 * grows. When it is large, it becomes samples/earlier in place of the one before, and a new one
 * begins. Both together stay below the size that is to be kept.
 *
 * A child process of lowest priority measures the session in intervals. In between, the store
 * counts how much its files grow. When that may be enough, a child measures at once.
 */
#pragma once

#include <stdint.h>

struct daemon;

/* The session that the present one becomes. */
#define TURNOVER_NAME "earlier"

/* Now and then, with the growth of the store's files since the recording began. */
void watch_size(struct daemon *d, uint64_t grown_bytes, uint64_t now_ns);
