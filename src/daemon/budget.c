/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/budget.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define TOO_MUCH   0.8 /* of the limit: the rate goes down … */
#define AIM        0.6 /* … to this share */
#define NEEDLESS   0.5 /* below this share, the rate may go up */
#define LEAST_STEP 0.67
#define MOST_STEP  1.5

void budget_begin(struct budget *b, double max_cpu_percent, uint64_t now_ns, uint64_t cpu_ns)
{
	*b = (struct budget){ .max_cpu_percent = max_cpu_percent, .changed_ns = now_ns, .n = 1 };
	b->seen[0].now_ns = now_ns;
	b->seen[0].cpu_ns = cpu_ns;
}

static void note(struct budget *b, uint64_t now_ns, uint64_t cpu_ns)
{
	size_t drop = 0;

	/* Keep one value that is older than the window, so that a whole window is covered. */
	while (drop + 1 < b->n && now_ns - b->seen[drop + 1].now_ns >= BUDGET_WINDOW_NS)
		drop++;
	if (!drop && b->n == BUDGET_SLOTS)
		drop = 1;
	memmove(b->seen, b->seen + drop, (b->n - drop) * sizeof(*b->seen));
	b->n -= drop;
	b->seen[b->n].now_ns = now_ns;
	b->seen[b->n++].cpu_ns = cpu_ns;
	b->cpu_percent = 100.0 * (double)(cpu_ns - b->seen[0].cpu_ns) /
			 (double)MAX(now_ns - b->seen[0].now_ns, 1u);
}

/* Begins a new window for the new rate. */
static uint64_t change(struct budget *b, uint64_t rate)
{
	b->seen[0] = b->seen[b->n - 1];
	b->n = 1;
	b->changed_ns = b->seen[0].now_ns;
	return rate;
}

uint64_t budget_rate(struct budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t rate,
		     uint64_t wanted)
{
	double share;

	if (!b->n || now_ns - b->seen[b->n - 1].now_ns < NS_PER_SECOND)
		return rate;
	note(b, now_ns, cpu_ns);
	share = b->max_cpu_percent > 0 ? b->cpu_percent / b->max_cpu_percent : 0;
	if (rate > wanted)
		return change(b, wanted);
	if (now_ns - b->seen[0].now_ns < BUDGET_WINDOW_NS / 2)
		return rate;
	if (share > TOO_MUCH && rate > 1)
		return change(b, MAX((uint64_t)((double)rate * MIN(AIM / share, LEAST_STEP)), 1u));
	if (share > NEEDLESS)
		b->changed_ns = now_ns;
	else if (rate < wanted && now_ns - b->changed_ns >= BUDGET_CALM_NS)
		return change(b, MIN((uint64_t)((double)rate * MOST_STEP) + 1, wanted));
	return rate;
}
