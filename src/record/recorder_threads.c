/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a recording, some of which may begin while their counters are opened. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/recorder_state.h"

/* A program that begins threads all the time may never leave a gap. */
#define TRIES    20
#define TRIES_NS NS_PER_SECOND

int recorder_find_threads(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;

	for (size_t i = 0; i < c->pids->n; i++)
		if (proc_list_threads("/proc", c->pids->data[i], &r->tids) < 0)
			return error_set(err, -ESRCH, "no process %d", c->pids->data[i]);
	for (size_t i = 0; i < c->tids->n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d", c->tids->data[i]);
		if (access(path, F_OK) < 0)
			return error_set(err, -ESRCH, "no thread %d", c->tids->data[i]);
		vec_push(&r->tids, c->tids->data[i]);
	}
	if (is_command_target(c))
		vec_push(&r->tids, (int32_t)r->child.pid);
	return 0;
}

static bool has_thread(const struct pid_list *tids, int32_t tid)
{
	vec_foreach (tids, t)
		if (*t == tid)
			return true;
	return false;
}

/* Lists the threads of now: the number of those that are not in r->tids. */
static uint64_t list_again(const struct recorder *r, struct pid_list *now)
{
	uint64_t n = 0;

	now->n = 0;
	vec_foreach (r->config->pids, pid)
		proc_list_threads("/proc", *pid, now);
	vec_foreach (now, tid)
		n += !has_thread(&r->tids, *tid);
	return n;
}

int recorder_settle_threads(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	uint64_t since_ns = clock_monotonic_ns();
	struct pid_list now = { 0 }, former;
	int e = 0;

	if (!c->pids->n || c->by_thread)
		return 0;
	for (int i = 0; (r->n_begun = list_again(r, &now)); i++) {
		if (i == TRIES || clock_monotonic_ns() - since_ns > TRIES_NS)
			break;
		former = r->tids;
		r->tids = now;
		now = former;
		e = rings_open_again(r->rings, r->tids.data, r->tids.n, err);
		if (e < 0)
			break;
	}
	vec_fini(&now);
	return e;
}
