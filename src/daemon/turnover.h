/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bound for samples without times: the store keeps one session, samples/current, which only
 * grows. When it is large, it becomes samples/earlier in place of the one before, and a new one
 * begins. Both together stay below the size that is to be kept.
 */
#pragma once

#include <stdint.h>

struct daemon;

/* The session that the present one becomes. */
#define TURNOVER_NAME "earlier"

/*
 * Now and then: measures the session in a child process of lowest priority, and turns it over when
 * that found it large.
 */
void watch_size(struct daemon *d, uint64_t now_ns);
