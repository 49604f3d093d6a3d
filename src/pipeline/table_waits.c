/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/table_waits.h"

#include "base/clock.h"
#include "base/mem.h"
#include "guard/limits.h"

#define ASK_EVERY_NS (10 * NS_PER_MS)

static uint64_t end_of_wait(const struct table_waits *p, uint64_t *until_ns, uint64_t now_ns)
{
	uint64_t all_ns = WALKS_WAIT_NS + (now_ns - p->start_ns) / 100 * WALKS_WAIT_PERCENT;

	if (p->is_endless)
		return UINT64_MAX;
	if (!*until_ns)
		*until_ns = now_ns + WALK_WAIT_NS;
	return MIN(*until_ns, now_ns + all_ns - MIN(all_ns, p->waited_ns));
}

bool table_waits_for(struct table_waits *p, uint64_t *until_ns,
		     bool (*wait)(void *arg, uint64_t until_ns), void *arg)
{
	uint64_t begin_ns = clock_monotonic_ns(), now_ns = begin_ns;
	uint64_t end_ns = end_of_wait(p, until_ns, now_ns);
	bool is_there = false;

	while (!is_there && now_ns < end_ns && (!p->may_wait || p->may_wait(p->context))) {
		is_there = wait(arg, p->may_wait ? MIN(end_ns, now_ns + ASK_EVERY_NS) : end_ns);
		now_ns = clock_monotonic_ns();
	}
	p->waited_ns += now_ns - begin_ns;
	return is_there;
}
