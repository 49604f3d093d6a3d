/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"
#include "foreign/foreign.h"
#include "record/import_foreign.h"
#include "record/import_oprofile.h"
#include "record/itrace.h"
#include "record/pt_trace.h"
#include "record/replay.h"
#include "record/spool.h"

struct import {
	struct event_sink sink; /* first: the sink is also this */
	const struct import_config *config;
	struct import_result *result;
	struct replay *replay;
	struct perfdata *data; /* the replay's */
	struct machine *machine;
	struct pipeline *pipeline; /* NULL until the first sample: its time is the start */
	uint64_t start_ns, latest_ns;
	struct error *err;
	/* Of a decoded trace: what recorded it has no samples, and is no event of the session. */
	uint32_t *counters; /* the session's number of each; NULL: the same */
};

void import_result_fini(struct import_result *r)
{
	vec_foreach (&r->notes, note)
		free(*note);
	vec_fini(&r->notes);
}

void import_note(struct import_result *r, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&r->notes, xstrdup(text));
}

void import_own_cost(struct session_end *end)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	end->own_cpu_ns = ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000 +
			  ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	end->own_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
}

/* What the session says of itself. */

static struct counter_info describe(const struct perfdata_counter *c)
{
	const struct perf_event_attr *a = &c->attr;

	return (struct counter_info){
		.name = c->name,
		.spec = c->name,
		.unit = c->unit,
		.freq_hz = a->freq ? a->sample_freq : 0,
		.count = a->freq ? 0 : a->sample_period,
		.in_user = !a->exclude_user,
		.in_kernel = !a->exclude_kernel,
	};
}

static const char *describe_stacks(const struct perfdata_info *info)
{
	uint64_t types = 0;

	vec_foreach (&info->counters, c)
		types |= c->attr.sample_type;
	if (types & PERF_SAMPLE_STACK_USER)
		return "copied stacks";
	if (types & PERF_SAMPLE_CALLCHAIN)
		return "frame pointers";
	return types & PERF_SAMPLE_BRANCH_STACK ? "none; branch stacks" : "none";
}

/* Of a trace: where the instruction was is known exactly. */
static struct counter_info describe_made(const struct import *im, const struct perfdata_counter *c)
{
	struct counter_info info = describe(c);

	if (!im->counters || c->n_ids)
		return info;
	info.spec = "intel_pt:pp";
	if (im->config->itrace->unit != ITRACE_INSTRUCTIONS)
		info.count = 0; /* each so many nanoseconds or ticks */
	return info;
}

/* The time of day at the start: by the two clocks of the recording, else by the file's date. */
static uint64_t start_wall_ns(const struct import *im, const struct perfdata_info *info)
{
	if (info->has_clock)
		return info->wall_ns + (im->start_ns - info->clock_ns);
	if (info->last_ns > im->start_ns &&
	    info->last_ns - im->start_ns < replay_mtime_ns(im->replay))
		return replay_mtime_ns(im->replay) - (info->last_ns - im->start_ns);
	return replay_mtime_ns(im->replay);
}

static bool has_samples(const struct import *im, const struct perfdata_counter *c)
{
	struct pt_trace_info trace;

	return !(pt_trace_read_info(im->data, &trace) && c->attr.type == trace.pmu_type) &&
	       !(c->attr.type == PERF_TYPE_SOFTWARE && c->attr.config == PERF_COUNT_SW_DUMMY);
}

static int open_pipeline(struct import *im)
{
	const struct perfdata_info *d = perfdata_info(im->data);
	const struct import_config *c = im->config;
	cleanup(free_at_exit) char *release = xasprintf("Linux %s", d->os_release);
	cleanup(free_at_exit) char *collector = xasprintf("perf %s", d->version);
	struct session_info info = {
		.version = c->version,
		.command = d->command,
		.target = "perf.data",
		.hostname = d->hostname,
		.os_release = d->os_release[0] ? release : "",
		.arch = d->arch,
		.cpu_model = d->cpu_desc,
		.collector = d->version[0] ? collector : "perf",
		.stacks = describe_stacks(d),
		.note = "",
		.n_cpus = d->n_cpus,
		.n_counters = (uint32_t)d->counters.n,
	};
	struct pipeline_config pipeline = {
		.ops = c->ops,
		.dir = c->dir,
		.info = &info,
		.is_offline = true,
		.machine = im->machine,
	};

	if (d->first_ns && d->first_ns < im->start_ns)
		im->start_ns = d->first_ns;
	info.start_ns = im->start_ns;
	info.start_wall_ns = start_wall_ns(im, d);
	info.counters = xcalloc(d->counters.n, sizeof(*info.counters));
	info.n_counters = 0;
	for (size_t i = 0; i < d->counters.n; i++) {
		if (im->counters)
			im->counters[i] = info.n_counters;
		if (!im->counters || has_samples(im, &d->counters.data[i]))
			info.counters[info.n_counters++] = describe_made(im, &d->counters.data[i]);
	}
	im->pipeline = pipeline_open(&pipeline, im->err);
	free(info.counters);
	return im->pipeline ? 0 : im->err->code;
}

/* What comes before the first sample needs the machine alone. */
static bool is_for_session(const struct event *e)
{
	return e->type == EVENT_SAMPLE || e->type == EVENT_TRACE_ERROR || e->type == EVENT_LOST ||
	       e->type == EVENT_LOST_SAMPLES || e->type == EVENT_THROTTLE;
}

static int push(struct event_sink *sink, const struct event *e)
{
	struct import *im = (struct import *)sink;
	struct event renumbered;
	int r;

	im->latest_ns = MAX(im->latest_ns, e->time_ns);
	if (!im->pipeline && !is_for_session(e)) {
		machine_event(im->machine, e);
		return 0;
	}
	if (!im->pipeline) {
		/* What a trace without times has comes at the end. */
		im->start_ns = e->time_ns ? e->time_ns : im->latest_ns;
		r = open_pipeline(im);
		if (r < 0)
			return r;
	}
	if (!im->counters || e->type != EVENT_SAMPLE)
		return event_push(pipeline_sink(im->pipeline), e);
	renumbered = *e;
	renumbered.sample.counter = im->counters[e->sample.counter];
	return event_push(pipeline_sink(im->pipeline), &renumbered);
}

/* The end. */

static void note_sections(struct import *im)
{
	vec_foreach (&perfdata_info(im->data)->sections, s)
		if (!s->name)
			import_note(im->result,
				    "feature section %u (%" PRIu64
				    " bytes) is not known to this version",
				    s->feature, s->size_bytes);
}

static void add_note(void *context, const char *sentence)
{
	import_note(context, "%s", sentence);
}

static void tell_stats(struct import *im)
{
	const struct perfdata_stats *s = perfdata_stats(im->data);

	im->result->bytes = s->bytes;
	if (s->bad_records)
		pipeline_lose(im->pipeline, LOSS_BAD_RECORD, UINT32_MAX, s->bad_records);
	if (s->late)
		pipeline_lose(im->pipeline, LOSS_OUT_OF_ORDER, UINT32_MAX, s->late);
	if (s->unknown_ids) {
		pipeline_lose(im->pipeline, LOSS_BAD_RECORD, UINT32_MAX, s->unknown_ids);
		import_note(im->result,
			    "%" PRIu64 " samples have an id that no event of the file has",
			    s->unknown_ids);
	}
	if (s->unknown_types)
		import_note(im->result,
			    "%" PRIu64 " records of types not known to this version (%u, for one)",
			    s->unknown_types, s->an_unknown_type);
	if (s->text_bytes)
		import_note(im->result,
			    "%" PRIu64 " bytes at its end are messages of perf record, left out",
			    s->text_bytes);
	replay_trace_notes(im->replay, add_note, im->result);
	if (s->aux.n && !replay_trace_stats(im->replay))
		import_note(im->result,
			    "%" PRIu64 " bytes of AUX data (processor trace) are not decoded",
			    s->aux_bytes);
	if (perfdata_info(im->data)->is_stat)
		import_note(im->result, "the file is of perf stat: it has counts, no samples");
	if (machine_has_untimed_code(im->machine))
		import_note(
			im->result,
			"its clock is not that of the jitdump: code that took the place of other "
			"code has all its samples; record with perf record -k 1");
	note_sections(im);
}

static int finish(struct import *im, struct error *err)
{
	struct session_end end = { .end_ns = im->latest_ns, .exit_status = -1 };

	import_own_cost(&end);
	im->result->duration_ns = im->latest_ns > im->start_ns ? im->latest_ns - im->start_ns : 0;
	return pipeline_close(take_ptr(im->pipeline), &end, &im->result->counts, err);
}

static int run(struct import *im, struct error *err)
{
	int r = replay_events(im->replay, &im->sink, &im->result->damage);

	if (r < 0 && !im->result->damage.code)
		return r; /* the session could not be made */
	if (!im->pipeline && (r = open_pipeline(im)) < 0)
		return r;
	tell_stats(im);
	return finish(im, err);
}

static int import_replay(const struct import_config *config, struct file_mapping *map,
			 struct import_result *out, struct error *err)
{
	struct import im = { .sink = { push }, .config = config, .result = out, .err = err };
	int r = replay_open_mapped(config->path, map, &im.replay, im.err);

	if (r < 0)
		return r;
	if (config->itrace && replay_has_trace(im.replay))
		r = replay_decode(im.replay, config->itrace, NULL, im.err);
	if (r < 0) {
		replay_close(im.replay);
		return error_wrap(err, r, "%s", config->path);
	}
	im.data = replay_data(im.replay);
	if (replay_trace_stats(im.replay))
		im.counters = xcalloc(perfdata_info(im.data)->counters.n, sizeof(*im.counters));
	im.machine = replay_machine(im.replay);
	r = run(&im, im.err);
	if (im.pipeline)
		pipeline_close(im.pipeline, NULL, NULL, NULL);
	free(im.counters);
	replay_close(im.replay);
	return r;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool import_is_recording(const char *path)
{
	struct file_mapping map = { 0 };
	bool is_known;

	if (replay_is_perfdata(path) || import_is_oprofile(path))
		return true;
	if (is_directory(path) || file_map(path, &map, NULL) < 0)
		return false;
	is_known = foreign_sniff(map.base, map.size, true) != FOREIGN_NONE;
	file_unmap(&map);
	return is_known;
}

int import_file(const struct import_config *config, struct import_result *out, struct error *err)
{
	struct error own = { 0 };
	struct file_mapping map = { 0 };
	int r = 0;

	err = err ? err : &own;
	*out = (struct import_result){ 0 };
	if (import_is_oprofile(config->path))
		return import_oprofile(config, out, err);
	if (!is_directory(config->path))
		r = spool_map(config->path, &map, err);
	if (r < 0)
		return r;
	if (perfdata_has_magic(map.base, map.size) ||
	    foreign_sniff(map.base, map.size, true) == FOREIGN_NONE)
		return import_replay(config, &map, out, err);
	r = import_foreign(config, &map, out, err);
	file_unmap(&map);
	return r;
}
