/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording with a hardware trace: its areas beside the rings, and its file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/aux_readers.h"
#include "counter/intel_pt.h"
#include "record/raw.h"
#include "record/raw_trace.h"
#include "record/recorder_state.h"

/* The counter that traces, by its index; -1: none. */
static int trace_counter(const struct recorder *r)
{
	for (size_t i = 0; i < r->counters.n; i++)
		if (r->counters.data[i].is_trace)
			return (int)i;
	return -1;
}

bool recorder_has_trace(const struct recorder *r)
{
	return trace_counter(r) >= 0;
}

static uint64_t largest_sample(const struct recorder *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->counters.n; i++)
		bytes = MAX(bytes, r->counters.data[i].attr.aux_sample_size);
	return bytes;
}

/*
 * Threads move to other CPUs than the traced ones, and their mappings there must be known. So the
 * trace covers the requested CPUs, and the side band all.
 */
static int widen_side_band(struct recorder *r, struct error *err)
{
	const struct cpu_list *wanted = r->config->cpus;
	struct buf list = { 0 };

	if (!wanted->n)
		return 0;
	vec_foreach (wanted, cpu)
		buf_printf(&list, "%s%u", list.len ? "," : "", *cpu);
	r->trace_cpus = xstrdup(buf_cstr(&list));
	buf_fini(&list);
	vec_foreach (&r->counters, c)
		if (!c->cpus)
			c->cpus = r->trace_cpus;
	r->cpus.n = 0;
	return cpu_list_online(NULL, &r->cpus, err);
}

int recorder_plan_trace(struct recorder *r, struct error *err)
{
	const struct recorder_config *c = r->config;
	struct aux_sizes *sizes = &r->aux_sizes;
	int at = trace_counter(r), e;

	if (at < 0)
		return 0;
	*sizes = (struct aux_sizes){ c->ring_bytes, c->aux_bytes, c->snapshot_bytes };
	e = aux_choose_sizes(c->aux_mode, aux_is_privileged(c->sources), largest_sample(r), sizes,
			     err);
	if (e < 0)
		return e;
	/* A quarter: at 500 MB/s a reader of the usual area has six milliseconds to come. */
	if (c->aux_mode == AUX_FULL)
		r->counters.data[at].attr.aux_watermark = (uint32_t)(sizes->area_bytes / 4);
	return c->by_thread ? 0 : widen_side_band(r, err);
}

void recorder_close_trace(struct recorder *r)
{
	recorder_stop_trace(r);
	aux_close(r->aux);
	r->aux = NULL;
	close_at_exit(&r->aux_wake_fd);
	r->aux_wake_fd = -1;
}

int recorder_open_trace(struct recorder *r, struct error *err)
{
	struct aux_config config = { .rings = r->rings,
				     .counter = (uint32_t)trace_counter(r),
				     .mode = r->config->aux_mode,
				     .area_bytes = r->aux_sizes.area_bytes,
				     .snapshot_bytes = r->aux_sizes.snapshot_bytes };

	if (!recorder_has_trace(r))
		return 0;
	return aux_open(&config, &r->aux, err);
}

static const struct perf_event_mmap_page *any_page(const struct recorder *r)
{
	const struct perf_event_mmap_page *page = NULL;

	for (size_t i = 0; i < rings_count(r->rings) && !page; i++)
		page = rings_place(r->rings, i).page;
	return page;
}

static bool has_switch_events(const struct recorder *r)
{
	for (size_t i = 0; i < r->counters.n; i++)
		if (r->counters.data[i].of_all_threads)
			return true;
	return false;
}

const struct raw_trace *recorder_describe_trace(const struct recorder *r, struct raw_trace *out)
{
	int at = trace_counter(r);

	if (at < 0)
		return NULL;
	*out = (struct raw_trace){
		.counter = &r->counters.data[at],
		.sources = r->config->sources,
		.mode = r->config->aux_mode,
		.is_per_cpu = !r->config->by_thread,
		.is_of_whole_cpus = !r->tids.n,
		.has_switch_events = has_switch_events(r),
		.has_switches = !r->config->by_thread && rings_has_switches(r->rings),
		.page = any_page(r),
	};
	return out;
}

static int take_aux_piece(void *context, const struct aux_piece *piece)
{
	struct recorder *r = context;

	return raw_add_aux(r->raw, piece);
}

/* Without threads, the loop reads the areas in its turn. */
int recorder_start_trace(struct recorder *r, struct error *err)
{
	struct aux_readers_config config = { .aux = r->aux, .sink = { take_aux_piece, r } };
	struct epoll_event event = { .events = EPOLLIN };

	if (!r->aux || aux_mode(r->aux) != AUX_FULL || !r->raw)
		return 0;
	if (r->aux_wake_fd < 0) {
		r->aux_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (r->aux_wake_fd < 0 ||
		    epoll_ctl(r->wake_fd, EPOLL_CTL_ADD, r->aux_wake_fd, &event) < 0)
			return error_errno(err, -errno, "eventfd");
	}
	config.wake_fd = r->aux_wake_fd;
	aux_readers_start(&config, &r->aux_readers);
	return 0;
}

void recorder_stop_trace(struct recorder *r)
{
	aux_readers_stop(take_ptr(r->aux_readers));
}

/* While the readers stand still, because their rings change. */
int recorder_cpu_online(struct recorder *r, uint32_t cpu, struct error *err)
{
	size_t first;
	int e;

	if (!r->aux)
		return rings_cpu_online(r->rings, cpu, err);
	recorder_stop_trace(r);
	e = rings_open_cpu(r->rings, cpu, &first, err);
	if (!e)
		e = aux_open_new(r->aux, err);
	if (!e)
		e = rings_enable_from(r->rings, first, err);
	if (recorder_start_trace(r, err) < 0 && !e)
		e = -EAGAIN;
	return e;
}

int recorder_drain_trace(struct recorder *r)
{
	struct aux_sink sink = { take_aux_piece, r };
	uint64_t n;

	if (r->aux_readers) {
		(void)!read(r->aux_wake_fd, &n, sizeof(n));
		return 0;
	}
	return r->aux && r->raw ? aux_drain(r->aux, &sink) : 0;
}

/* Before its exec, the command is still our code, which must not be traced. */
int recorder_snapshot(struct recorder *r, struct error *err)
{
	struct aux_sink sink = { take_aux_piece, r };
	size_t n;
	int e;

	if (!r->aux || aux_mode(r->aux) != AUX_SNAPSHOTS)
		return error_set(err, -EOPNOTSUPP,
				 "no snapshot is possible: no trace is recorded in snapshot mode");
	if (is_command_target(r->config) && !r->child_runs && !r->is_ended)
		return 0;
	e = aux_snapshot(r->aux, &sink, &n);
	/* the mappings up to now must precede the snapshots that need them */
	if (!e)
		e = recorder_drain(r, recorder_safe_time(r));
	return e < 0 ? error_errno(err, e, "cannot keep a snapshot") : 0;
}
