/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/follow_time.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "guard/limits.h"
#include "guard/memory_reads.h"

void follow_time_init(struct follow_time *t)
{
	*t = (struct follow_time){ .delay_fd = -1 };
}

void follow_time_fini(struct follow_time *t)
{
	close_at_exit(&t->delay_fd);
}

/* How long the thread that walks, and the one that reads for it, have had no CPU. */
static uint64_t delay_of_threads(const struct follow_time *t, const struct memory_reads *reads)
{
	return thread_delay_ns(t->delay_fd) + memory_reads_delay_ns(reads);
}

void follow_time_begin(struct follow_time *t, const struct memory_reads *reads, uint64_t waited_ns)
{
	bool is_near = t->all_ns >= FOLLOWS_NS / 2;

	if (is_near && !t->has_delay_fd && !memory_reads_here()) {
		t->delay_fd = thread_open_delay();
		t->has_delay_fd = true;
	}
	t->start_ns = clock_monotonic_ns();
	t->waited_ns = waited_ns;
	t->delay_ns = is_near ? delay_of_threads(t, reads) : UINT64_MAX;
}

/* On a busy machine, most of the time of a walk may be a wait for a CPU. */
void follow_time_end(struct follow_time *t, const struct memory_reads *reads, uint64_t waited_ns)
{
	uint64_t ns, delay_ns;

	if (!t->start_ns)
		return;
	ns = clock_monotonic_ns() - t->start_ns - (waited_ns - t->waited_ns);
	delay_ns = t->delay_ns == UINT64_MAX ? 0 : delay_of_threads(t, reads);
	if (delay_ns > t->delay_ns)
		ns -= MIN(ns, delay_ns - t->delay_ns);
	t->all_ns += ns;
	t->start_ns = 0;
}

bool follow_time_is_over(const struct follow_time *t, uint64_t since_ns, bool is_wait)
{
	uint64_t all_ns = FOLLOWS_NS + (t->start_ns - since_ns) / 100 * FOLLOWS_PERCENT;

	return t->all_ns >= (is_wait ? all_ns / 2 : all_ns);
}
