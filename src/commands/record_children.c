/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_children.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* Less CPU time than this is no work that a profile could show. */
#define TOLD_NS 20000000ULL

void record_children_begin(struct record_children *c, struct pid_list *pids, bool with_children)
{
	struct pid_list all = { 0 };
	size_t n = pids->n;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		vec_push(&all, pids->data[i]);
	if (descendants_add("/proc", &all) >= 0 && all.n > n) {
		const struct pid_list below = { all.data + n, all.n - n, 0 };

		if (with_children) {
			for (size_t i = 0; i < below.n; i++)
				vec_push(pids, below.data[i]);
		} else {
			process_times_read("/proc", pids, &c->named);
			process_times_read("/proc", &below, &c->below);
		}
	}
	free(all.data);
}

void record_children_tell(const struct record_children *c)
{
	uint64_t named_ns, below_ns;

	if (!c->below.list.n)
		return;
	named_ns = process_times_since("/proc", &c->named);
	below_ns = process_times_since("/proc", &c->below);
	if (below_ns < TOLD_NS || below_ns <= named_ns)
		return;
	log_warning(
		"the named processes used %.2f s of CPU time; %zu process%s below them, such as "
		"%d, used %.2f s and %s not profiled, because -p follows only children that "
		"begin later; add --children to profile all of them",
		(double)named_ns / (double)NS_PER_SECOND, c->below.list.n,
		c->below.list.n == 1 ? "" : "es", c->below.list.data[0].pid,
		(double)below_ns / (double)NS_PER_SECOND, c->below.list.n == 1 ? "was" : "were");
}

void record_children_fini(struct record_children *c)
{
	vec_fini(&c->named.list);
	vec_fini(&c->below.list);
}
