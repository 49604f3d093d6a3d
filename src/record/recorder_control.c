/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to a recording in progress. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "counter/pace.h"
#include "pipeline/ext.h"
#include "record/in_kernel.h"
#include "record/raw.h"
#include "record/recorder_state.h"

void recorder_stop(struct recorder *r)
{
	r->is_ended = true;
	r->result->end = END_REQUEST;
}

int recorder_enable(struct recorder *r, struct error *err)
{
	int e;

	if (!r->is_paused && !r->has_single)
		return 0;
	e = rings_pause(r->rings, false, err);
	if (!e && r->sampler)
		e = sampler_pause(r->sampler, false, err);
	if (e < 0)
		return e;
	if (r->sampler && r->is_paused)
		recorder_begin_waits(r);
	r->is_paused = r->has_single = false;
	return 0;
}

/* Those that go on are counted up to the pause. */
static void end_waits(struct recorder *r)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct error err = { 0 };

	if (recorder_gather(r, &err) < 0 || in_kernel_read_waits(r->in_kernel, now_ns, &err) < 0)
		log_warning("waits that go on at this pause are missing: %s", err.text);
	sampler_forget_waits(r->sampler);
}

void recorder_disable(struct recorder *r)
{
	if (r->is_paused && !r->has_single)
		return;
	rings_pause(r->rings, true, NULL);
	if (r->sampler)
		sampler_pause(r->sampler, true, NULL);
	if (r->in_kernel && recorder_n_waits(r->config) && !r->is_paused)
		end_waits(r);
	r->is_paused = r->was_steered = true;
	r->has_single = false;
}

static int no_such_event(const struct recorder *r, const char *name, struct error *err)
{
	struct buf names = { 0 };
	int e;

	vec_foreach (&r->counters, c)
		buf_printf(&names, "%s%s", names.len ? ", " : "", c->name);
	e = error_set(err, -ENOENT, "no event '%s' is recorded; there are: %s", name,
		      buf_cstr(&names));
	buf_fini(&names);
	return e;
}

int recorder_switch_event(struct recorder *r, const char *name, bool is_on, struct error *err)
{
	uint32_t i = 0;
	int e = 0;

	while (i < r->counters.n && strcmp(r->counters.data[i].name, name) != 0)
		i++;
	if (i == r->counters.n)
		return no_such_event(r, name, err);
	if (r->counters.data[i].in_kernel)
		sampler_pause_counter(r->sampler, i, !is_on);
	else
		e = rings_pause_counter(r->rings, i, !is_on, err);
	if (!e)
		r->has_single = r->was_steered = true;
	return e;
}

const struct counters *recorder_counters(const struct recorder *r)
{
	return &r->counters;
}

void recorder_each_event(const struct recorder *r,
			 void (*visit)(void *context, const char *name,
				       const struct perf_event_attr *attr, const uint64_t *ids,
				       size_t n_ids),
			 void *context)
{
	if (r->config->in_kernel)
		sampler_each_event(r->sampler, visit, context);
	rings_each_event(r->rings, visit, context);
}

bool recorder_is_enabled(const struct recorder *r)
{
	return !r->is_paused || r->has_single;
}

static int refuse_behind(struct error *err)
{
	return error_set(err, -EAGAIN,
			 "the disk is slow and has not stored the earlier data yet; counting goes "
			 "on: try again");
}

int recorder_flush(struct recorder *r, struct error *err)
{
	int e = recorder_gather(r, err);

	if (e < 0)
		return e;
	if (r->ext)
		ext_sync_files(r->ext);
	if (r->raw)
		return raw_advance(r->raw);
	e = pipeline_flush(r->pipeline, err);
	return e >= 0 && pipeline_is_behind(r->pipeline) ? refuse_behind(err) : e;
}

int recorder_leave(struct recorder *r, struct error *err)
{
	int e = recorder_gather(r, err);

	if (e < 0)
		return e;
	if (r->sampler)
		sampler_collect_missed(r->sampler, pipeline_lose, r->pipeline);
	return pipeline_leave(r->pipeline, err);
}

uint64_t recorder_counted(const struct recorder *r, uint32_t counter)
{
	assert(counter < r->counters.n);
	return rings_counted(r->rings, counter);
}

int recorder_check_switch(const struct recorder *r, struct error *err)
{
	if (r->raw)
		return error_set(err, -EOPNOTSUPP, "a raw recording stays in one file");
	/* the end of a session would wait for it */
	return pipeline_is_behind(r->pipeline) ? refuse_behind(err) : 0;
}

int recorder_switch(struct recorder *r, const char *dir, struct error *err)
{
	int e = recorder_check_switch(r, err);

	if (!e)
		e = recorder_gather(r, err);
	if (e < 0)
		return e;
	if (r->sampler)
		sampler_collect_missed(r->sampler, pipeline_lose, r->pipeline);
	return recorder_open_session(r, dir, err);
}

/* The loop meets an error again in its next turn. */
void recorder_keep_up(struct recorder *r)
{
	uint64_t safe = recorder_safe_time(r);

	if (r->in_kernel)
		in_kernel_poll(r->in_kernel, SIZE_MAX, NULL);
	recorder_drain(r, safe);
	if (r->in_kernel)
		in_kernel_catch_up(r->in_kernel, safe);
}

int recorder_set_rate(struct recorder *r, uint32_t counter, uint64_t rate, struct error *err)
{
	struct perf_event_attr *a;
	struct counter next;
	uint64_t period;
	int e = 0;

	if (counter >= r->counters.n || !rate)
		return error_set(err, -EINVAL, "no counter %u, or no rate", counter);
	a = &r->counters.data[counter].attr;
	/* A period is calculated from the rate of a clock, or of cycles, when they are opened. */
	next = r->counters.data[counter];
	next.attr.sample_period = rate; /* or sample_freq: one place */
	period = pace_period(&next);
	period = period ? period : rate;
	if (r->counters.data[counter].in_kernel)
		e = sampler_set_rate(r->sampler, counter, rate, period, err);
	else
		e = rings_set_rate(r->rings, counter, rate, period, err);
	if (e < 0)
		return e;
	a->sample_period = rate;
	if (a->freq)
		r->host.counters[counter].freq_hz = rate;
	else
		r->host.counters[counter].count = rate;
	r->was_steered = true;
	return 0;
}

static uint64_t resident_bytes(void)
{
	char line[128], *second;

	/* "pages resident …" */
	if (!file_read_line("/proc/self/statm", line, sizeof(line)))
		return 0;
	strtoul(line, &second, 10);
	return strtoul(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t usage_cpu_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * NS_PER_SECOND +
	       ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * 1000;
}

struct session_end recorder_session_end(const struct recorder *r, uint64_t end_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (struct session_end){ .end_ns = end_ns,
				     .own_cpu_ns = usage_cpu_ns(&usage),
				     .own_peak_bytes = (uint64_t)usage.ru_maxrss * 1024,
				     .exit_status = r->result->wait_status };
}

void recorder_stats(const struct recorder *r, struct recorder_stats *out)
{
	const struct pipeline_tally *tally = pipeline_tally(r->pipeline);
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	*out = (struct recorder_stats){
		.counts = pipeline_counts(r->pipeline),
		.cpu_samples = tally->cpu_samples.data,
		.n_cpus = tally->cpu_samples.n,
		.own_cpu_ns = usage_cpu_ns(&usage),
		.own_bytes = resident_bytes(),
		.n_processes = machine_process_count(r->machine),
		.start_ns = r->start_ns,
		.grown_bytes = pipeline_grown(r->pipeline),
		.is_full_of_files = r->sampler && !sampler_has_room_for_files(r->sampler),
		.write_error = pipeline_write_failure(r->pipeline),
	};
	memcpy(out->losses, tally->losses, sizeof(out->losses));
}

void recorder_add_cpu_losses(const struct recorder *r, uint64_t *by_cpu, size_t n_cpus)
{
	if (r->sampler)
		sampler_add_losses(r->sampler, by_cpu, n_cpus);
	else
		rings_add_losses(r->rings, by_cpu, n_cpus);
}

uint64_t recorder_written_bytes(const struct recorder *r)
{
	return r->written_bytes + file_tree_bytes(r->dir);
}

void recorder_note(struct recorder *r, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	pipeline_lose(r->pipeline, reason, counter, n);
}

void recorder_set_tap(struct recorder *r, const struct sample_tap *tap)
{
	pipeline_set_tap(r->pipeline, tap);
}

struct machine *recorder_machine(const struct recorder *r)
{
	return r->machine;
}

void recorder_features(const struct recorder *r, ext_visitor visit, void *context)
{
	if (r->ext)
		ext_print(r->ext, visit, context);
}

const char *recorder_dir(const struct recorder *r)
{
	return r->dir;
}
