/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/counts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "counter/sources.h"
#include "counter/uprobe.h"

struct counts_fd {
	int fd;
	uint32_t counter, lane;
	uint32_t target; /* thread or CPU, by its index in the configuration */
	bool has_ended;  /* another one of its CPU has taken its place */
};

struct counts {
	struct counts_config config;
	VEC(struct counts_fd) fds;
	bool *has; /* by counter */
	size_t n_lanes;
};

static bool is_by_thread(const struct counts *c)
{
	return c->config.n_tids > 0;
}

/* The leader of a counter's group on this target; -1: it leads, or is in no group. */
static int counts_leader_of(const struct counts *c, size_t counter, size_t target, size_t first)
{
	uint32_t group = c->config.counters->data[counter].group;

	for (size_t i = first; group && i < c->fds.n; i++)
		if (c->fds.data[i].target == target &&
		    c->config.counters->data[c->fds.data[i].counter].group == group)
			return c->fds.data[i].fd;
	return -1;
}

/* Members start and stop with their leader, so that all have one time. */
static int counts_open_event(struct counts *c, size_t counter, size_t target, int leader)
{
	const struct counts_config *config = &c->config;
	struct perf_event_attr a = config->counters->data[counter].attr;
	int pid = is_by_thread(c) ? config->tids[target] : -1;
	int cpu = is_by_thread(c) ? -1 : (int)config->cpus->data[target];

	a.freq = 0;
	a.sample_period = 0;
	a.precise_ip = 0; /* selects the sampled instruction, and nothing is sampled */
	a.disabled = leader < 0;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.inherit = config->inherit && is_by_thread(c) &&
		    !counters_has_probe(config->counters, counter); /* counter/uprobe.h */
	a.enable_on_exec = config->enable_on_exec && leader < 0;
	return sources_open_in_group(config->sources, &a, pid, cpu, leader);
}

static int counts_explain_refusal(struct counts *c, size_t counter, size_t target, int leader,
				  int code, struct error *err)
{
	cleanup(close_at_exit) int alone =
		leader < 0 ? -1 : counts_open_event(c, counter, target, -1);

	if (alone >= 0)
		return counter_explain_group(c->config.counters, counter, code, err);
	return counter_explain(c->config.sources, &c->config.counters->data[counter], code, err);
}

/*
 * Opens one counter on one thread or CPU, with a leader among the descriptors from `first` on.
 * -ESRCH: the thread has ended, or the CPU has no such counter; err is not set.
 */
static int counts_open_on(struct counts *c, size_t counter, size_t target, size_t first,
			  struct error *err)
{
	const struct counts_config *config = &c->config;
	int fd, leader = counts_leader_of(c, counter, target, first);

	if (!is_by_thread(c) &&
	    !counter_is_on_cpu(&config->counters->data[counter], config->cpus->data[target]))
		return -ESRCH;
	fd = counts_open_event(c, counter, target, leader);
	if (fd == -ESRCH)
		return fd;
	if (fd < 0)
		return counts_explain_refusal(c, counter, target, leader, fd, err);
	vec_push(&c->fds, (struct counts_fd){ fd, (uint32_t)counter,
					      config->is_separate ? (uint32_t)target : 0,
					      (uint32_t)target, false });
	c->has[counter] = true;
	return 0;
}

/* One counter for all threads or CPUs; targets that ended meanwhile are no failure. */
static int counts_open_counter(struct counts *c, size_t counter, struct error *err)
{
	const struct counts_config *config = &c->config;
	const struct counter *spec = &config->counters->data[counter];
	size_t n = is_by_thread(c) ? config->n_tids : config->cpus->n;

	for (size_t t = 0; t < n; t++) {
		int e = counts_open_on(c, counter, t, 0, err);

		if (e < 0 && e != -ESRCH)
			return e;
		if (e < 0 && is_by_thread(c) && n == 1)
			return counter_explain(config->sources, spec, e, err);
	}
	return c->has[counter]
		       ? 0
		       : error_set(err, -ESRCH, "event '%s': nothing to count it on", spec->name);
}

int counts_open(const struct counts_config *config, struct counts **out, struct error *err)
{
	cleanup(counts_close_at_exit) struct counts *c = xcalloc(1, sizeof(*c));
	size_t n_good = 0;
	int r = 0;

	c->config = *config;
	c->has = xcalloc(config->counters->n + 1, sizeof(*c->has));
	c->n_lanes = !config->is_separate ? 1 : config->n_tids ? config->n_tids : config->cpus->n;
	for (size_t i = 0; i < config->counters->n; i++) {
		/* the first refusal is reported */
		int one = counts_open_counter(c, i, r < 0 ? NULL : err);

		n_good += one == 0;
		if (one < 0 && !config->skips_missing)
			return one;
		r = r < 0 ? r : one;
	}
	if (!n_good)
		return r;
	*out = take_ptr(c);
	return 0;
}

void counts_close(struct counts *c)
{
	if (!c)
		return;
	vec_foreach (&c->fds, f)
		close(f->fd);
	vec_fini(&c->fds);
	free(c->has);
	free(c);
}

bool counts_has(const struct counts *c, size_t counter)
{
	return c->has[counter];
}

size_t counts_n_lanes(const struct counts *c)
{
	return c->n_lanes;
}

int32_t counts_lane(const struct counts *c, size_t lane)
{
	if (!c->config.is_separate)
		return -1;
	return is_by_thread(c) ? c->config.tids[lane] : (int32_t)c->config.cpus->data[lane];
}

static int enable_from(struct counts *c, size_t first, struct error *err)
{
	for (size_t i = first; i < c->fds.n; i++)
		if (!c->fds.data[i].has_ended &&
		    ioctl(c->fds.data[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_errno(err, -errno, "cannot start counter '%s'",
					   c->config.counters->data[c->fds.data[i].counter].name);
	return 0;
}

int counts_enable(struct counts *c, struct error *err)
{
	return enable_from(c, 0, err);
}

static bool has_former(const struct counts *c, size_t target, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c->fds.data[i].target == target && !c->fds.data[i].has_ended)
			return true;
	return false;
}

/* Of the first n descriptors; they may still count (cpu_watch.h). */
static void end_former(struct counts *c, size_t target, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct counts_fd *f = &c->fds.data[i];

		if (f->target != target || f->has_ended)
			continue;
		ioctl(f->fd, PERF_EVENT_IOC_DISABLE, 0);
		f->has_ended = true;
	}
}

int counts_cpu_online(struct counts *c, uint32_t cpu, struct error *err)
{
	const struct cpu_list *cpus = c->config.cpus;
	size_t first = c->fds.n, target = 0;
	int e = 0;

	while (target < cpus->n && cpus->data[target] != cpu)
		target++;
	if (target == cpus->n)
		return error_set(err, -ENOENT, "CPU %u is not counted", cpu);
	for (size_t i = 0; i < c->config.counters->n && !e; i++) {
		if (c->has[i])
			e = counts_open_on(c, i, target, first, err);
		e = e == -ESRCH ? 0 : e;
	}
	if (e < 0) {
		while (c->fds.n > first)
			close(c->fds.data[--c->fds.n].fd);
		return e == -EBUSY && has_former(c, target, first) ? 0 : e;
	}
	if (c->fds.n > first)
		end_former(c, target, first);
	return enable_from(c, first, err);
}

void counts_disable(struct counts *c)
{
	vec_foreach (&c->fds, f)
		ioctl(f->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* The estimated count, had it run all the time. */
static uint64_t scale_count(uint64_t value, uint64_t wanted_ns, uint64_t ran_ns)
{
	if (!ran_ns || ran_ns >= wanted_ns)
		return value;
	return (uint64_t)((long double)value * (long double)wanted_ns / (long double)ran_ns + 0.5L);
}

int counts_read(struct counts *c, struct count *out)
{
	memset(out, 0, c->n_lanes * c->config.counters->n * sizeof(*out));
	vec_foreach (&c->fds, f) {
		struct count *sum = &out[f->lane * c->config.counters->n + f->counter];
		uint64_t v[3]; /* value, time enabled, time running */
		ssize_t n = read(f->fd, v, sizeof(v));

		/* a pinned counter without a place gives nothing */
		if (n == 0)
			continue;
		if (n != sizeof(v))
			return n < 0 ? -errno : -EIO;
		sum->value += scale_count(v[0], v[1], v[2]);
		sum->wanted_ns += v[1];
		sum->ran_ns += v[2];
	}
	return 0;
}
