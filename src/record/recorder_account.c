/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning of a recording's account of CPU time. */
#include <errno.h>

#include "collect/process_clock.h"
#include "record/cpu_account.h"
#include "record/recorder_state.h"

bool recorder_has_account(const struct recorder *r)
{
	const struct recorder_config *c = r->config;

	return c->with_cpu_times && !c->raw && !c->cgroup && !c->filter && !c->by_thread &&
	       !c->tids->n && !recorder_has_trace(r);
}

void recorder_begin_account(struct recorder *r)
{
	const struct recorder_config *c = r->config;
	struct cpu_account_config config = {
		.is_machine = c->whole_machine,
		.has_all_cpus = !c->cpus->n,
		.has_throttles = !c->in_kernel,
		.cpus = &r->cpus,
		.pids = c->pids->data,
		.n_pids = c->pids->n,
		.tids = r->tids.data,
		.n_tids = r->tids.n,
		.rings = r->rings,
	};

	if (!recorder_has_account(r))
		return;
	config.exits_fd = c->whole_machine && c->cpus->n ? -ENODATA : exit_times_open();
	r->cpu_account = cpu_account_begin(&config);
}
