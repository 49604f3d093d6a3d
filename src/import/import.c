/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "base/thread.h"
#include "counter/foreign_trace.h"
#include "foreign/foreign.h"
#include "foreign/sniff.h"
#include "import/import_foreign.h"
#include "import/import_split.h"
#include "import/importer.h"
#include "replay/replay.h"
#include "replay/spool.h"
#include "store/native.h"
#include "store/session_append.h"
#include "symbol/finder.h"
#include "symbol/symbols.h"
#include "trace/itrace.h"
#include "trace/pt_trace.h"

/* How long a process that has ended is kept for samples that come late. */
#define ENDED_KEPT_NS (2 * NS_PER_SECOND)

/*
 * The file's parts, in the order of time. Each has its own thread, reader, machine, pipeline and
 * session. At the end, the sessions are put behind each other. Mostly there is one part.
 */
struct import_part {
	struct event_sink sink; /* first: the sink is also this */
	struct import *whole;
	struct perfdata_part range;
	struct replay *replay;
	struct perfdata *data; /* the replay's */
	struct machine *machine;
	struct pipeline *pipeline; /* NULL until the first sample: its time is the start */
	char *dir;
	uint64_t latest_ns;
	uint64_t forget_ns; /* when ended processes are looked for next */
	int status;
	struct error err, damage;
	pthread_t thread;
	bool has_thread;
	enum { NOT_KNOWN, HAS_START, HAS_NONE } start; /* the whole's lock is for this */
};

struct import {
	const struct import_config *config;
	struct import_result *result;
	struct import_part parts[IMPORT_PARTS_MAX];
	uint32_t n_parts;
	struct replay *replay; /* the first part's */
	struct finder finder;
	uint64_t start_ns; /* of the session; as `start` */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Of a decoded trace: what recorded it has no samples, and is no event of the session. */
	uint32_t *counters; /* the session's number of each; NULL: the same */
};

static void import_names_fini(struct import_names *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_fini(names);
}

void import_result_fini(struct import_result *r)
{
	import_names_fini(&r->services);
	import_names_fini(&r->events);
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
	end->own_cpu_ns =
		((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * NS_PER_SECOND +
		((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
	end->own_peak_bytes = (uint64_t)u.ru_maxrss * 1024;
}

/* What the session says of itself. */

static struct counter_info import_describe(const struct perfdata_counter *c)
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
	struct counter_info info = import_describe(c);

	if (!im->counters || c->n_ids)
		return info;
	info.spec = "intel_pt:pp";
	if (im->config->itrace->unit != ITRACE_INSTRUCTIONS)
		info.count = 0; /* each so many nanoseconds or ticks */
	return info;
}

/* The time of day at the start: by the two clocks of the recording, else by the file's date. */
static uint64_t start_wall_ns(const struct import *im, const struct perfdata_info *info,
			      uint64_t start_ns)
{
	uint64_t mtime_ns = replay_mtime_ns(im->replay);

	if (info->has_clock)
		return info->wall_ns + (start_ns - info->clock_ns);
	if (info->last_ns > start_ns && info->last_ns - start_ns < mtime_ns)
		return mtime_ns - (info->last_ns - start_ns);
	return mtime_ns;
}

static bool import_has_samples(struct perfdata *data, const struct perfdata_counter *c)
{
	struct pt_trace_info trace;

	return !(pt_trace_read_info(data, &trace) && c->attr.type == trace.pmu_type) &&
	       !(c->attr.type == PERF_TYPE_SOFTWARE && c->attr.config == PERF_COUNT_SW_DUMMY);
}

static int import_open_pipeline(struct import_part *part, uint64_t start_ns)
{
	struct import *im = part->whole;
	const struct perfdata_info *d = perfdata_info(part->data);
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
		.start_ns = start_ns,
		.start_wall_ns = start_wall_ns(im, d, start_ns),
		.exact_times = !c->sums_alone,
	};
	struct pipeline_config pipeline = {
		.ops = c->ops,
		.dir = part->dir,
		.info = &info,
		.is_offline = true,
		.machine = part->machine,
		.finder = &im->finder,
	};

	info.counters = xcalloc(d->counters.n, sizeof(*info.counters));
	for (size_t i = 0; i < d->counters.n; i++) {
		if (im->counters)
			im->counters[i] = info.n_counters;
		if (!im->counters || import_has_samples(part->data, &d->counters.data[i]))
			info.counters[info.n_counters++] = describe_made(im, &d->counters.data[i]);
	}
	part->pipeline = pipeline_open(&pipeline, &part->err);
	free(info.counters);
	return part->pipeline ? 0 : part->err.code;
}

/* The start. */

static void tell_start(struct import_part *part, int start)
{
	struct import *im = part->whole;

	pthread_mutex_lock(&im->lock);
	if (part->start == NOT_KNOWN)
		part->start = start;
	pthread_cond_broadcast(&im->wake);
	pthread_mutex_unlock(&im->lock);
}

/* True if one of the parts before has a start, once they all know. The lock is held. */
static bool import_await_start(struct import *im, const struct import_part *part)
{
	for (struct import_part *p = im->parts; p < part; p++) {
		while (p->start == NOT_KNOWN)
			pthread_cond_wait(&im->wake, &im->lock);
		if (p->start == HAS_START)
			return true;
	}
	return false;
}

/*
 * The first part that has a sample makes the session, and it has its start of it; the others say
 * the same start, and are put behind it.
 */
static int begin_session(struct import_part *part, uint64_t first_ns)
{
	struct import *im = part->whole;
	uint64_t recorded_ns = perfdata_info(part->data)->first_ns;
	bool is_first;
	int r;

	pthread_mutex_lock(&im->lock);
	is_first = !import_await_start(im, part);
	if (is_first)
		im->start_ns = recorded_ns ? MIN(recorded_ns, first_ns) : first_ns;
	pthread_mutex_unlock(&im->lock);
	part->dir = is_first ? xstrdup(im->config->dir)
			     : xasprintf("%s/part.%td", im->config->dir, part - im->parts);
	r = import_open_pipeline(part, im->start_ns);
	tell_start(part, r < 0 ? HAS_NONE : HAS_START);
	return r;
}

/* Events. */

/* Only the machine needs the events before the first sample. */
static bool is_for_session(const struct event *e)
{
	return e->type == EVENT_SAMPLE || e->type == EVENT_TRACE_ERROR || e->type == EVENT_LOST ||
	       e->type == EVENT_LOST_SAMPLES || e->type == EVENT_THROTTLE;
}

/*
 * By the times of events that all parts see. So all parts have forgotten the same processes,
 * whatever samples they have.
 */
static void import_forget_ended(struct import_part *part, const struct event *e)
{
	uint64_t before_ns;

	if (e->time_ns < part->forget_ns)
		return;
	before_ns = e->time_ns > ENDED_KEPT_NS ? e->time_ns - ENDED_KEPT_NS : 0;
	if (part->pipeline)
		pipeline_forget_ended(part->pipeline, before_ns);
	else
		machine_forget_ended(part->machine, before_ns, NULL, NULL);
	part->forget_ns = e->time_ns + NS_PER_SECOND;
}

static int push_side_band(struct import_part *part, const struct event *e)
{
	import_forget_ended(part, e);
	machine_event(part->machine, e);
	return 0;
}

static int import_push(struct event_sink *sink, const struct event *e)
{
	struct import_part *part = (struct import_part *)sink;
	const uint32_t *counters = part->whole->counters;
	struct event renumbered;
	int r;

	if (reserve_check() < 0)
		return -ENOMEM;
	part->latest_ns = MAX(part->latest_ns, e->time_ns);
	if (!is_for_session(e))
		return push_side_band(part, e);
	if (!part->pipeline) {
		/* What a trace without times has comes at the end. */
		r = begin_session(part, e->time_ns ? e->time_ns : part->latest_ns);
		if (r < 0)
			return r;
	}
	if (!counters || e->type != EVENT_SAMPLE)
		return event_push(pipeline_sink(part->pipeline), e);
	renumbered = *e;
	renumbered.sample.counter = counters[e->sample.counter];
	return event_push(pipeline_sink(part->pipeline), &renumbered);
}

/* The end. */

static void note_sections(struct import *im)
{
	vec_foreach (&perfdata_info(replay_data(im->replay))->sections, s)
		if (!s->name)
			import_note(im->result,
				    "feature section %u (%" PRIu64
				    " bytes) is not known to this version",
				    s->feature, s->size_bytes);
}

static void import_add_note(void *context, const char *sentence)
{
	import_note(context, "%s", sentence);
}

/* What each part counts for itself goes to the last one's session. */
static void import_tell_losses(struct import *im, struct pipeline *to)
{
	uint64_t bad = 0, late = 0, unknown_ids = 0;

	for (uint32_t i = 0; i < im->n_parts; i++) {
		const struct perfdata_stats *s = perfdata_stats(im->parts[i].data);

		bad += s->bad_records;
		late += s->late;
		unknown_ids += s->unknown_ids;
	}
	pipeline_lose(to, LOSS_BAD_RECORD, UINT32_MAX, bad);
	pipeline_lose(to, LOSS_OUT_OF_ORDER, UINT32_MAX, late);
	pipeline_lose(to, LOSS_BAD_RECORD, UINT32_MAX, unknown_ids);
	if (unknown_ids)
		import_note(im->result,
			    "%" PRIu64 " samples have an id that no event of the file has",
			    unknown_ids);
}

/* The last part has seen all of the file. */
static void tell_stats(struct import *im)
{
	const struct import_part *last = &im->parts[im->n_parts - 1];
	const struct perfdata_stats *s = perfdata_stats(last->data);
	const char *foreign = foreign_trace_of_kind(perfdata_info(last->data)->aux_type);

	im->result->bytes = s->bytes;
	if (s->unknown_types)
		import_note(im->result,
			    "%" PRIu64 " records of types not known to this version (%u, for one)",
			    s->unknown_types, s->an_unknown_type);
	if (s->text_bytes)
		import_note(im->result,
			    "%" PRIu64 " bytes at its end are messages of perf record, left out",
			    s->text_bytes);
	replay_trace_notes(im->replay, import_add_note, im->result);
	if (s->aux.n && !replay_trace_stats(im->replay))
		import_note(im->result, "%" PRIu64 " bytes of AUX data (%s) are not decoded",
			    s->aux_bytes, foreign ? foreign : "processor trace");
	if (perfdata_info(last->data)->is_stat)
		import_note(im->result, "the file is of perf stat: it has counts, no samples");
	if (machine_has_untimed_code(last->machine))
		import_note(
			im->result,
			"its clock differs from the jitdump's: code that replaced other code has "
			"the samples of both; record with perf record -k 1");
	note_sections(im);
}

static void add_counts(struct pipeline_counts *to, const struct pipeline_counts *counts)
{
	to->samples += counts->samples;
	to->lost += counts->lost;
	to->unattributed += counts->unattributed;
}

/* Ends the part's session, and puts it behind those before. */
static int finish_part(struct import_part *part, const struct session_end *end, struct error *err)
{
	const char *dir = part->whole->config->dir;
	struct pipeline_counts counts = { 0 };
	int r = pipeline_close(take_ptr(part->pipeline), end, &counts, err);

	add_counts(&part->whole->result->counts, &counts);
	return r < 0 || !strcmp(part->dir, dir) ? r : session_append(dir, part->dir, err);
}

/* Less ran than the first sample would have stood for. */
static void tell_no_samples(struct import *im)
{
	if (im->result->counts.samples || !replay_trace_stats(im->replay) ||
	    !im->config->itrace->instructions)
		return;
	import_note(im->result,
		    "its trace is shorter than a period of --itrace (100 us if none is given): "
		    "--itrace=i1us or i1i give some");
}

static int import_finish(struct import *im, struct error *err)
{
	struct session_end end = { .exit_status = -1 };
	struct import_part *last = im->parts;
	int r = 0;

	for (uint32_t i = 0; i < im->n_parts; i++) {
		end.end_ns = MAX(end.end_ns, im->parts[i].latest_ns);
		if (im->parts[i].pipeline)
			last = &im->parts[i];
	}
	im->result->duration_ns = end.end_ns > im->start_ns ? end.end_ns - im->start_ns : 0;
	import_tell_losses(im, last->pipeline);
	tell_stats(im);
	import_own_cost(&end);
	for (struct import_part *p = im->parts; p <= last && !r; p++)
		if (p->pipeline)
			r = finish_part(p, p == last ? &end : NULL, err);
	tell_no_samples(im);
	return r;
}

/* Reading. */

static void *read_part(void *arg)
{
	struct import_part *part = arg;

	part->status = replay_part(part->replay, &part->range, &part->sink, &part->damage);
	tell_start(part, HAS_NONE);
	return NULL;
}

static void read_parts(struct import *im)
{
	for (uint32_t i = 1; i < im->n_parts; i++)
		im->parts[i].has_thread =
			thread_start(&im->parts[i].thread, read_part, &im->parts[i]);
	for (uint32_t i = 0; i < im->n_parts; i++)
		if (!im->parts[i].has_thread)
			read_part(&im->parts[i]);
	for (uint32_t i = 1; i < im->n_parts; i++)
		if (im->parts[i].has_thread)
			pthread_join(im->parts[i].thread, NULL);
}

static int run(struct import *im, struct error *err)
{
	bool is_open = false;

	read_parts(im);
	for (uint32_t i = 0; i < im->n_parts; i++) {
		struct import_part *part = &im->parts[i];

		if (part->status < 0 && !part->damage.code) { /* the session could not be made */
			*err = part->err;
			return part->status;
		}
		if (!im->result->damage.code)
			im->result->damage = part->damage;
		is_open |= part->pipeline != NULL;
	}
	if (!is_open && begin_session(im->parts, 0) < 0) {
		*err = im->parts[0].err;
		return err->code;
	}
	return import_finish(im, err);
}

/* What the first part's replay has open, the others read as well. */
static int import_open_parts(struct import *im, struct error *err)
{
	struct perfdata_part ranges[IMPORT_PARTS_MAX];
	struct perfdata *data = replay_data(im->replay);
	uint64_t start_off, end_off;
	uint32_t n = 1;
	int r = 0;

	perfdata_data_range(data, &start_off, &end_off);
	if (im->config->ops == &native_store && !im->counters && perfdata_has_parts(data))
		n = import_count_parts(end_off - start_off);
	import_split(start_off, end_off, n, ranges);
	for (uint32_t i = 0; i < n && !r; i++) {
		struct import_part *part = &im->parts[im->n_parts++];

		*part = (struct import_part){ .sink = { import_push },
					      .whole = im,
					      .range = ranges[i] };
		if (i)
			r = replay_open_beside(im->replay, &part->replay, err);
		else
			part->replay = im->replay;
		if (r < 0)
			break;
		part->data = replay_data(part->replay);
		part->machine = replay_machine(part->replay);
		if (im->config->places)
			replay_set_guests(part->machine, im->config->places);
	}
	return r;
}

static void close_parts(struct import *im)
{
	if (!im)
		return;
	/* The others read what the first has open. */
	for (uint32_t i = im->n_parts; i-- > 0;) {
		struct import_part *part = &im->parts[i];

		if (part->pipeline)
			pipeline_close(part->pipeline, NULL, NULL, NULL);
		if (part->dir && strcmp(part->dir, im->config->dir) != 0 &&
		    access(part->dir, F_OK) == 0)
			file_remove_tree(part->dir, NULL);
		free(part->dir);
		replay_close(i ? part->replay : NULL);
	}
	replay_close(im->replay);
	free(im->counters);
	pthread_cond_destroy(&im->wake);
	pthread_mutex_destroy(&im->lock);
	finder_fini(&im->finder);
	free(im);
}
DEFINE_AT_EXIT(close_parts, struct import)

static int import_replay(const struct import_config *config, struct file_mapping *map,
			 struct import_result *out, struct error *err)
{
	cleanup(close_parts_at_exit) struct import *im = xcalloc(1, sizeof(*im));
	int r;

	im->config = config;
	im->result = out;
	pthread_mutex_init(&im->lock, NULL);
	finder_init(&im->finder, config->places);
	pthread_cond_init(&im->wake, NULL);
	r = replay_open_mapped(config->path, map, &im->replay, err);
	if (r < 0)
		return r;
	if (config->itrace && replay_find_trace(im->replay))
		r = replay_decode(im->replay, config->itrace, config->places, err);
	else
		r = itrace_refuse_filter(config->itrace, err);
	if (r < 0)
		return error_wrap(err, r, "%s", config->path);
	if (replay_trace_stats(im->replay))
		im->counters = xcalloc(perfdata_info(replay_data(im->replay))->counters.n,
				       sizeof(*im->counters));
	r = import_open_parts(im, err);
	return r < 0 ? r : run(im, err);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_session(const char *path)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", path);

	return is_directory(samples);
}

bool import_is_recording(const char *path)
{
	struct file_mapping map = { 0 };
	bool is_known;

	if (replay_is_perfdata(path) || importer_find(path))
		return true;
	if (is_directory(path) || file_map(path, &map, NULL) < 0)
		return false;
	is_known = foreign_sniff(map.base, map.size, true) != FOREIGN_NONE;
	file_unmap(&map);
	return is_known;
}

int import_file(const struct import_config *config, struct import_result *out, struct error *err)
{
	const struct importer *importer = importer_find(config->path);
	struct error own = { 0 };
	struct file_mapping map = { 0 };
	int r = 0;

	err = err ? err : &own;
	*out = (struct import_result){ 0 };
	if (importer)
		return importer->import(config, out, err);
	if (is_session(config->path))
		return error_set(err, -EINVAL, "%s is a session already; 'assay report -i %s'",
				 config->path, config->path);
	if (!is_directory(config->path))
		r = spool_map(config->path, &map, err);
	if (r < 0)
		return r;
	if (!config->body && (perfdata_has_magic(map.base, map.size) ||
			      foreign_sniff(map.base, map.size, true) == FOREIGN_NONE))
		return import_replay(config, &map, out, err);
	r = itrace_refuse_filter(config->itrace, err);
	r = r < 0 ? error_wrap(err, r, "%s", config->path) : import_foreign(config, &map, out, err);
	file_unmap(&map);
	return r;
}
