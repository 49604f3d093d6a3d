/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses after reads of a process's memory that took too long (guard/memory_reads.h).
 *
 * The reason may be a program that delays its pages, or a slow machine. So the process is tried
 * again after a second. Each further pause is four times as long, up to a minute. After a minute
 * without such a read, the next pause is a second again.
 *
 * {0} is no pause. Times are those of samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"

#define READ_PAUSE_NS     NS_PER_SECOND
#define READ_PAUSE_MAX_NS (60 * NS_PER_SECOND)

struct read_pause {
	uint64_t until_ns; /* 0: never one */
	uint32_t n;        /* pauses without a minute between them */
};

static inline void read_pause_begin(struct read_pause *p, uint64_t now_ns)
{
	uint64_t pause_ns;

	if (now_ns >= p->until_ns + READ_PAUSE_MAX_NS)
		p->n = 0;
	pause_ns = MIN(READ_PAUSE_NS << 2 * MIN(p->n, 3u), READ_PAUSE_MAX_NS);
	p->n++;
	p->until_ns = now_ns + pause_ns;
}

/* Whether there was a pause, and it is over. */
static inline bool read_pause_is_over(const struct read_pause *p, uint64_t now_ns)
{
	return p->until_ns && now_ns >= p->until_ns;
}
