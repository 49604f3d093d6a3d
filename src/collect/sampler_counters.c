/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters whose overflows run the sampler's program: opened, switched on and off, closed. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/cgroup.h"
#include "collect/sampler_state.h"
#include "counter/pace.h"
#include "counter/sources.h"
#include "machine/proc.h"

/* Beyond this multiple of the rate that the maps were made for, they must be made anew. */
#define MADE_FOR_TIMES 4

/*
 * The leader of a counter's group, among those opened from `first` on; -1: it leads, or is alone.
 */
static int sampler_leader_of(const struct sampler *s, size_t counter, size_t first)
{
	const struct counter *counters = s->config.counters->data;

	for (size_t i = first; counters[counter].group && i < s->fds.n; i++)
		if (counters[s->counter_of_fd.data[i]].group == counters[counter].group)
			return s->fds.data[i];
	return -1;
}

/* Whom a counter is opened for: everything on a CPU, or a thread wherever it runs. */
struct place {
	int32_t tid; /* -1: all */
	int32_t cpu; /* -1: all */
};

static int sampler_explain_refusal(const struct sampler_config *c, size_t counter,
				   struct place place, int leader, int code, struct error *err)
{
	cleanup(close_at_exit) int alone =
		leader < 0 ? -1
			   : sources_open(c->sources, &c->counters->data[counter].attr, place.tid,
					  place.cpu);

	if (c->is_of_cgroup && code == -ENOENT)
		return cgroup_explain(c->cgroup_fd, code, err);
	if (alone >= 0)
		return counter_explain_group(c->counters, counter, code, err);
	return counter_explain(c->sources, &c->counters->data[counter], code, err);
}

/*
 * A thread inherits a counter with its program, and without its cookie. So each of several counters
 * has a program of its own.
 */
static const struct bpf_program *sampler_program_of(const struct sampler *s, size_t counter)
{
	const struct bpf_program *of_events[] = {
#define X(n) s->bpf->progs.sample_##n,
		SAMPLER_EVENTS(X)
#undef X
	};

	return s->bpf->rodata->with_event_programs ? of_events[counter] : s->bpf->progs.sample;
}

/* Opens a counter at a place, whose counters are those from descriptor `first` on. */
static int attach_counter(struct sampler *s, const struct sampler_config *c, size_t counter,
			  struct place place, size_t first, struct error *err)
{
	struct perf_event_attr a = pace_attr(&c->counters->data[counter]);
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = counter); /* zeroes the padding */
	int fd, leader = sampler_leader_of(s, counter, first);
	struct bpf_link *link;

	a.size = sizeof(a);
	a.disabled = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.inherit = place.tid >= 0 && c->inherit;
	a.enable_on_exec = place.tid >= 0 && c->enable_on_exec && !s->is_off[counter];
	if (c->is_of_cgroup)
		fd = perf_system.open(NULL, &a, c->cgroup_fd, place.cpu, leader,
				      PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
	else
		fd = perf_system.open(NULL, &a, place.tid, place.cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd == -ENODEV || (fd == -ESRCH && place.tid >= 0)) /* offline, or ended, meanwhile */
		return 0;
	if (fd < 0)
		return sampler_explain_refusal(c, counter, place, leader, fd, err);
	link = bpf_program__attach_perf_event_opts(sampler_program_of(s, counter), fd, &opts);
	if (!link) {
		int e = -errno;

		close(fd);
		return error_errno(err, e, "cannot attach the in-kernel sampler to '%s'",
				   c->counters->data[counter].name);
	}
	if (s->is_off[counter] || a.enable_on_exec) /* attaching has enabled it */
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	vec_push(&s->fds, fd); /* the link's own from here on */
	vec_push(&s->counter_of_fd, (uint32_t)counter);
	vec_push(&s->cpu_of_fd, place.cpu);
	vec_push(&s->links, link);
	return 0;
}

/* Those that the rings do not bring. */
static int attach_counters(struct sampler *s, struct place place, struct error *err)
{
	const struct sampler_config *c = &s->config;
	size_t first = s->fds.n;
	int e = 0;

	for (size_t k = 0; !e && k < c->counters->n; k++) {
		const struct counter *counter = &c->counters->data[k];

		if (counter->in_kernel &&
		    (place.cpu < 0 || counter_is_on_cpu(counter, (uint32_t)place.cpu)))
			e = attach_counter(s, c, k, place, first, err);
	}
	return e;
}

static void detach_from(struct sampler *s, size_t first)
{
	while (s->fds.n > first) {
		bpf_link__destroy(s->links.data[--s->links.n]);
		s->fds.n = s->counter_of_fd.n = s->cpu_of_fd.n = s->links.n;
	}
}

/*
 * The former events may still count (cpu_watch.h): they end once the new ones are there. If the
 * kernel refuses the new ones, the former ones go on. It refuses an exclusive event (EBUSY) while
 * the former one is alive.
 */
int sampler_cpu_online(struct sampler *s, uint32_t cpu, struct error *err)
{
	size_t first = s->fds.n;
	bool has_former = false;
	int e = 0;

	e = attach_counters(s, (struct place){ -1, (int32_t)cpu }, err);
	if (e < 0)
		detach_from(s, first);
	for (size_t i = 0; i < first; i++) {
		if (s->cpu_of_fd.data[i] != (int32_t)cpu)
			continue;
		has_former = true;
		if (s->fds.n == first) /* refused, or the CPU has gone again */
			continue;
		ioctl(s->fds.data[i], PERF_EVENT_IOC_DISABLE, 0);
		s->cpu_of_fd.data[i] = CPU_ENDED;
	}
	return e == -EBUSY && has_former ? 0 : e;
}

static int attach_thread(struct sampler *s, int32_t tid, struct error *err)
{
	const struct sampler_config *c = &s->config;
	int e = 0;

	if (!c->tids_on_cpus)
		return attach_counters(s, (struct place){ tid, -1 }, err);
	for (size_t i = 0; !e && i < c->cpus->n; i++)
		e = attach_counters(s, (struct place){ tid, (int32_t)c->cpus->data[i] }, err);
	return e;
}

/* Loading took long: processes have other threads by now. */
static int attach_threads(struct sampler *s, struct error *err)
{
	const struct sampler_config *c = &s->config;
	struct pid_list tids = { 0 };
	int e = 0;

	vec_foreach (c->processes, pid)
		proc_list_threads("/proc", *pid, &tids);
	for (size_t i = 0; !c->processes->n && i < c->n_tids; i++)
		vec_push(&tids, c->tids[i]);
	for (size_t i = 0; !e && i < tids.n; i++)
		e = attach_thread(s, tids.data[i], err);
	vec_fini(&tids);
	return e;
}

int sampler_start(struct sampler *s, struct error *err)
{
	const struct sampler_config *c = &s->config;
	int e = c->n_tids ? attach_threads(s, err) : 0;

	for (size_t i = 0; !e && !c->n_tids && i < c->cpus->n; i++)
		e = sampler_cpu_online(s, c->cpus->data[i], err);
	if (!e)
		e = sampler_follow_targets(s, err);
	return e || c->starts_paused ? e : sampler_attach_waits(s, c, err);
}

void sampler_disable(struct sampler *s)
{
	vec_foreach (&s->fds, fd)
		ioctl(*fd, PERF_EVENT_IOC_DISABLE, 0);
	sampler_detach_waits(s);
	table_maps_stop(s->tables);
}

void sampler_pause_counter(struct sampler *s, uint32_t counter, bool is_paused)
{
	s->is_off[counter] = is_paused;
	if (!is_paused)
		__atomic_store_n(&s->bpf->bss->is_waiting, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < s->fds.n; i++)
		if (s->counter_of_fd.data[i] == counter && s->cpu_of_fd.data[i] != CPU_ENDED)
			ioctl(s->fds.data[i],
			      is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

int sampler_pause(struct sampler *s, bool is_paused, struct error *err)
{
	for (uint32_t k = 0; k < s->config.counters->n; k++)
		sampler_pause_counter(s, k, is_paused);
	if (is_paused)
		sampler_detach_waits(s);
	if (is_paused || s->switch_links.n)
		return 0;
	sampler_forget_waits(s);
	return sampler_attach_waits(s, &s->config, err);
}

void sampler_each_event(const struct sampler *s,
			void (*visit)(void *context, const char *name,
				      const struct perf_event_attr *attr, const uint64_t *ids,
				      size_t n_ids),
			void *context)
{
	vec_foreach (s->config.counters, c) {
		struct perf_event_attr attr = pace_attr(c);

		attr.size = sizeof(attr);
		if (c->in_kernel)
			visit(context, c->name, &attr, NULL, 0);
	}
}

int sampler_set_rate(struct sampler *s, size_t counter, uint64_t rate, uint64_t period,
		     struct error *err)
{
	const struct counter *c = &s->config.counters->data[counter];

	if (c->attr.freq && (rate * s->config.cpus->n * 3 / 2 > s->counts_room ||
			     rate > MADE_FOR_TIMES * s->made_for_hz))
		return error_set(err, -E2BIG,
				 "the in-kernel sampler was made for fewer than %" PRIu64
				 " samples of '%s' a second",
				 rate, c->name);
	for (size_t i = 0; i < s->fds.n; i++)
		if (s->counter_of_fd.data[i] == counter &&
		    ioctl(s->fds.data[i], PERF_EVENT_IOC_PERIOD, &period) < 0)
			return error_errno(err, -errno, "cannot set the rate of counter '%s'",
					   c->name);
	return 0;
}
