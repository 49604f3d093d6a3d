/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/replay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "counter/foreign_trace.h"
#include "event/guest_task.h"
#include "replay/branch_chooser.h"
#include "replay/spool.h"
#include "symbol/finder.h"
#include "symbol/symbols.h"
#include "trace/pt_synth.h"
#include "trace/pt_trace.h"

#define MAX_FILES 65536

/* How long a process that has ended is kept for samples that come late. */
#define ENDED_KEPT_NS (2 * NS_PER_SECOND)

struct replay {
	struct event_sink sink; /* first: the sink is also this */
	struct file_mapping *maps;
	bool shares_maps; /* they are another replay's */
	struct perfdata_bytes *files;
	size_t n_files;
	struct perfdata *data;
	struct machine *machine;
	struct frame_resolver *resolver;
	struct replay_sink *to;
	struct known_thread {
		int32_t pid, tid;
		uint32_t guest; /* its process here; 0: not known, or none's */
		bool is_guest;
		bool is_valid; /* until the machine changes */
		struct thread_view view;
		const char *comm;
		uint32_t generation; /* of `view` */
	} known; /* of the last sample: of a trace millions are of the same thread */
	/* The first generation of a thread of this machine since its kernel changed; 0: none. */
	uint32_t kernel_generation;
	uint64_t forget_ns; /* when ended processes are looked for next */
	char *path;
	struct finder *finder;  /* NULL: files are only at their paths */
	struct pt_trace *trace; /* NULL: nothing is decoded */
	struct pt_synth *synth;
	struct branch_chooser *chooser; /* NULL: all branches are wanted */
	struct pt_flow_stats trace_stats;
};

/* Puts what is made of the trace between the events of the recording. */
struct merger {
	struct event_sink sink; /* first: the sink is also this */
	struct replay *replay;
	struct event_sink *to;
	struct pt_synth_room room;
};

/* Opening the files. */

static bool has_magic(const char *path)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t magic;

	return fd >= 0 && read(fd, &magic, sizeof(magic)) == sizeof(magic) &&
	       perfdata_has_magic(&magic, sizeof(magic));
}

bool replay_is_perfdata(const char *path)
{
	cleanup(free_at_exit) char *inside = xasprintf("%s/data", path);
	struct stat st;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return has_magic(inside);
	/* Of what can be read once only, nothing may be taken for a look. */
	return !S_ISREG(st.st_mode) || has_magic(path);
}

static int add_file(struct replay *r, const char *path, struct error *err)
{
	struct file_mapping *map = &r->maps[r->n_files];
	int e = map->base ? 0 : spool_map(path, map, err); /* the first may be the caller's */

	if (e < 0)
		return e;
	if (map->base)
		madvise((void *)map->base, map->size, MADV_SEQUENTIAL);
	r->files[r->n_files] = (struct perfdata_bytes){ map->base, map->size, strrchr(path, '/') };
	if (r->files[r->n_files].name)
		r->files[r->n_files].name++;
	r->n_files++;
	return 0;
}

/* A directory has "data" with the header, and data.0, data.1 … with records alone. */
static int replay_open_files(struct replay *r, const char *path, struct error *err)
{
	struct stat st;
	int e;

	r->files = xcalloc(MAX_FILES, sizeof(*r->files));
	if (!strcmp(path, "-") || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return add_file(r, path, err);
	for (size_t i = 0; i < MAX_FILES; i++) {
		cleanup(free_at_exit) char *name =
			i ? xasprintf("%s/data.%zu", path, i - 1) : xasprintf("%s/data", path);

		if (i && access(name, F_OK) < 0)
			break;
		e = add_file(r, name, err);
		if (e < 0)
			return e;
	}
	return 0;
}

static void replay_close_files(struct replay *r)
{
	for (size_t i = 0; i < MAX(r->n_files, (size_t)1) && !r->shares_maps; i++)
		file_unmap(&r->maps[i]);
	if (!r->shares_maps)
		free(r->maps);
	free(r->files);
}

/* Releases the memory of the bytes that were read, so that it does not grow with the file. */
static void consumed(void *context, uint32_t file, uint64_t from_off, uint64_t until_off)
{
	const struct replay *r = context;
	uint64_t from = from_off & ~(uint64_t)0xffff, until = until_off & ~(uint64_t)0xffff;

	madvise((void *)(r->maps[file].base + from), until - from, MADV_DONTNEED);
}

struct perfdata *replay_data(struct replay *r)
{
	return r->data;
}

struct machine *replay_machine(struct replay *r)
{
	return r->machine;
}

uint64_t replay_mtime_ns(const struct replay *r)
{
	return r->maps[0].mtime_ns;
}

static int open_data(struct replay *r, struct error *err)
{
	struct machine_config offline = { .is_offline = true };
	int e = perfdata_open(r->files, r->n_files, &r->data, err);

	if (e < 0)
		return error_wrap(err, e, "%s", r->path);
	perfdata_on_consumed(r->data, consumed, r);
	offline.release = perfdata_info(r->data)->os_release;
	vec_foreach (&perfdata_info(r->data)->counters, c)
		offline.has_other_clock |=
			!c->attr.use_clockid || c->attr.clockid != CLOCK_MONOTONIC;
	r->machine = machine_new(&offline);
	return 0;
}

int replay_open_mapped(const char *path, struct file_mapping *map, struct replay **out,
		       struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *r = xcalloc(1, sizeof(*r));
	int e;

	r->maps = xcalloc(MAX_FILES, sizeof(*r->maps));
	r->path = xstrdup(path);
	r->maps[0] = *map;
	*map = (struct file_mapping){ 0 };
	e = replay_open_files(r, path, err);
	if (e < 0 || (e = open_data(r, err)) < 0)
		return e;
	*out = take_ptr(r);
	return 0;
}

int replay_open_beside(const struct replay *first, struct replay **out, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *r = xcalloc(1, sizeof(*r));
	int e;

	r->maps = first->maps;
	r->shares_maps = true;
	r->path = xstrdup(first->path);
	r->n_files = first->n_files;
	r->files = xcalloc(r->n_files, sizeof(*r->files));
	memcpy(r->files, first->files, r->n_files * sizeof(*r->files));
	e = open_data(r, err);
	if (e < 0)
		return e;
	*out = take_ptr(r);
	return 0;
}

int replay_open(const char *path, struct replay **out, struct error *err)
{
	struct file_mapping none = { 0 };

	return replay_open_mapped(path, &none, out, err);
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	pt_synth_free(r->synth);
	branch_chooser_free(r->chooser);
	pt_trace_close(r->trace);
	free(r->path);
	frame_resolver_free(r->resolver);
	if (r->finder)
		finder_fini(r->finder);
	free(r->finder);
	machine_free(r->machine);
	perfdata_free(r->data);
	replay_close_files(r);
	free(r);
}

void replay_set_guests(struct machine *m, const struct symbolizer_config *places)
{
	const struct machine_guests guests = {
		.has_code = places->guest_code,
		.files = { .kallsyms = places->guest_kallsyms,
			   .modules = places->guest_modules,
			   .mount = places->guest_mount },
	};

	machine_set_guests(m, &guests);
}

static void replay_new_finder(struct replay *r, const struct symbolizer_config *places)
{
	if (places)
		replay_set_guests(r->machine, places);
	r->finder = xmalloc(sizeof(*r->finder));
	finder_init(r->finder, places);
}

void replay_set_places(struct replay *r, const struct symbolizer_config *places)
{
	assert(!r->finder && !r->resolver);
	replay_new_finder(r, places);
}

struct finder *replay_finder(struct replay *r)
{
	if (!r->finder)
		replay_new_finder(r, NULL);
	return r->finder;
}

struct time_range {
	uint64_t first_ns, last_ns;
	bool of_all; /* records, not of samples alone */
};

static int replay_take_time(void *context, const struct perfdata_record *record)
{
	struct time_range *range = context;

	if ((record->type == PERF_RECORD_SAMPLE || range->of_all) && record->time_ns) {
		range->first_ns = MIN(range->first_ns, record->time_ns);
		range->last_ns = MAX(range->last_ns, record->time_ns);
	}
	return 0;
}

void replay_time_range(struct replay *r, uint64_t *first_ns, uint64_t *last_ns)
{
	const struct perfdata_info *info = perfdata_info(r->data);
	struct time_range range = { UINT64_MAX, 0, replay_find_trace(r) };
	cleanup(perfdata_free_at_exit) struct perfdata *again = NULL;

	*first_ns = info->first_ns;
	*last_ns = info->last_ns;
	if ((*last_ns && !range.of_all) || perfdata_open(r->files, r->n_files, &again, NULL) < 0)
		return;
	perfdata_each_record(again, replay_take_time, &range, NULL);
	*first_ns = MIN(range.first_ns, range.last_ns);
	*last_ns = range.last_ns;
}

/* ---- the trace ---- */

/*
 * A processor trace is of a PMU whose number the kernel gave it. Without one a recording is not
 * looked through for AUX data, which of a large one takes its time.
 */
static bool may_have_trace(const struct replay *r)
{
	vec_foreach (&perfdata_info(r->data)->counters, c)
		if (c->attr.type >= PERF_TYPE_MAX)
			return true;
	return false;
}

/* Trace data may stand in the samples of other events. */
static bool has_sampled_trace(const struct replay *r)
{
	vec_foreach (&perfdata_info(r->data)->counters, c)
		if (c->attr.sample_type & PERF_SAMPLE_AUX)
			return true;
	return false;
}

bool replay_find_trace(struct replay *r)
{
	struct pt_trace_info info;

	if (!may_have_trace(r))
		return false;
	perfdata_find_aux(r->data);
	for (uint32_t i = 0; i < r->n_files; i++)
		consumed(r, i, 0, r->files[i].size);
	return (perfdata_stats(r->data)->aux.n || has_sampled_trace(r)) &&
	       pt_trace_read_info(r->data, &info);
}

int replay_no_trace(const struct replay *r, const char *what, struct error *err)
{
	const struct error *damage = perfdata_damage(r->data);
	const char *foreign;

	if (damage->code)
		return error_set(err, -EBADMSG, "the recording has no Intel PT: %s", damage->text);
	foreign = foreign_trace_of_kind(perfdata_info(r->data)->aux_type);
	if (foreign)
		return error_set(err, -ENODATA,
				 "it has no Intel PT, but %s, which assay does not decode",
				 foreign);
	return error_set(err, -ENODATA, "it has no Intel PT%s", what);
}

static const struct known_thread *replay_thread_of(struct replay *r, const struct event *e)
{
	struct known_thread *k = &r->known;

	bool is_guest = mode_is_guest(e->sample.mode);
	uint32_t guest = e->sample.extra ? e->sample.extra->machine_pid : 0;
	int32_t pid = guest ? guest_task(guest, e->pid) : e->pid;
	int32_t tid = guest ? guest_task(guest, e->tid) : e->tid;

	if (k->is_valid && k->pid == e->pid && k->tid == e->tid && k->is_guest == is_guest &&
	    k->guest == guest)
		return k;
	*k = (struct known_thread){ .pid = e->pid,
				    .tid = e->tid,
				    .is_guest = is_guest,
				    .is_valid = true,
				    .generation = k->generation + 1 ? k->generation + 1 : 1,
				    .guest = guest,
				    .view = machine_thread(r->machine, pid, tid) };
	k->view.guest_pid = (int32_t)guest;
	k->comm = strings_get(machine_strings(r->machine), k->view.comm);
	if (!is_guest && !guest && !r->kernel_generation)
		r->kernel_generation = k->generation;
	return k;
}

/* No other record changes the map of the kernel (machine_event()). */
static void replay_forget_known(struct replay *r, const struct event *e)
{
	r->known.is_valid &= e->type == EVENT_SAMPLE;
	if (e->type == EVENT_MAPPING || e->type == EVENT_KSYMBOL)
		r->kernel_generation = 0;
}

static bool replay_chooses(void *context, const struct event *branch)
{
	struct replay *r = context;
	const struct known_thread *k = replay_thread_of(r, branch);

	return branch_chooser_takes(r->chooser, branch, &k->view, k->comm, k->generation);
}

int replay_decode(struct replay *r, const struct itrace *itrace,
		  const struct symbolizer_config *places, struct error *err)
{
	cleanup(perfdata_free_at_exit) struct perfdata *again = NULL;
	struct pt_trace_config config = { .data = r->data,
					  .path = r->path,
					  .places = places,
					  .spans = itrace->spans,
					  .n_spans = itrace->n_spans,
					  .detail = pt_synth_detail(itrace),
					  .quick = itrace->quick == 2 ? PT_QUICKEST
						   : itrace->quick    ? PT_QUICK
								      : PT_FULL };
	struct pt_synth_config synth = { .itrace = *itrace, .data = r->data };
	int e = perfdata_open(r->files, r->n_files, &again, err);

	if (e < 0)
		return e;
	if (places)
		replay_set_guests(r->machine, places);
	config.side_band = again;
	e = pt_trace_open(&config, &r->trace, err);
	if (e < 0)
		return e;
	synth.trace = r->trace;
	r->synth = pt_synth_new(&synth);
	if (itrace->filter) {
		r->chooser = branch_chooser_new(itrace->filter, r->machine, places);
		pt_synth_choose_branches(r->synth, replay_chooses, r);
	}
	return 0;
}

const struct pt_flow_stats *replay_trace_stats(struct replay *r)
{
	if (!r->trace)
		return NULL;
	pt_trace_stats(r->trace, &r->trace_stats);
	return &r->trace_stats;
}

void replay_trace_notes(struct replay *r, void (*note)(void *context, const char *sentence),
			void *context)
{
	if (r->trace)
		pt_trace_notes(r->trace, note, context);
}

static int push_merged(struct event_sink *sink, const struct event *e)
{
	struct merger *m = (struct merger *)sink;
	struct event with_stack;
	int r = e->time_ns ? pt_synth_run(m->replay->synth, e->time_ns, m->to) : 0;

	replay_forget_known(m->replay, e);
	pt_synth_event(m->replay->synth, e);
	if (r || e->type != EVENT_SAMPLE)
		return r ? r : event_push(m->to, e);
	with_stack = *e;
	pt_synth_add(m->replay->synth, &with_stack, &m->room);
	return event_push(m->to, &with_stack);
}

static int read_with_trace(struct replay *r, struct event_sink *sink, struct error *err)
{
	struct merger *m = xcalloc(1, sizeof(*m));
	int e, rest = 0;

	m->sink.push = push_merged;
	m->replay = r;
	m->to = sink;
	e = perfdata_read(r->data, &m->sink, err);
	if (!e || e == -EBADMSG)
		rest = pt_synth_run(r->synth, UINT64_MAX, sink);
	free(m);
	return e ? e : rest;
}

int replay_events(struct replay *r, struct event_sink *sink, struct error *err)
{
	return replay_part(r, &(struct perfdata_part)PERFDATA_WHOLE, sink, err);
}

int replay_part(struct replay *r, const struct perfdata_part *part, struct event_sink *sink,
		struct error *err)
{
	int e = r->synth ? read_with_trace(r, sink, err)
			 : perfdata_read_part(r->data, part, sink, err);

	/* Zeros instead of records: whatever the reader said of them, this is why. */
	for (size_t i = 0; i < r->n_files && (!e || e == -EBADMSG); i++)
		if (file_is_cut(&r->maps[i]))
			return error_set(err, -EBADMSG,
					 "was cut short while it was read, so its end is missing");
	return e;
}

static struct replay_sample replay_sample_of(struct replay *r, const struct event *e)
{
	const struct known_thread *k = replay_thread_of(r, e);
	bool is_host = !k->is_guest && !k->guest;

	return (struct replay_sample){
		.event = e,
		.counter = &perfdata_info(r->data)->counters.data[e->sample.counter],
		.thread = k->view,
		.comm = k->comm,
		.generation = k->generation,
		.kernel_generation = is_host ? r->kernel_generation : k->generation,
	};
}

static int replay_push_sample(struct replay *r, const struct event *e)
{
	struct replay_sample s = replay_sample_of(r, e);

	s.frames = frames_resolve(r->resolver, e, &s.thread);
	return r->to->sample(r->to, &s);
}

static void replay_forget_ended(struct replay *r, uint64_t now_ns)
{
	/* A trace without time comes when all processes have ended. */
	if (now_ns < r->forget_ns || (r->trace && pt_trace_info(r->trace)->is_timeless))
		return;
	machine_forget_ended(r->machine, now_ns > ENDED_KEPT_NS ? now_ns - ENDED_KEPT_NS : 0, NULL,
			     NULL);
	r->known.is_valid = false;
	r->forget_ns = now_ns + NS_PER_SECOND;
}

static int push_branches(void *context, const struct event *first, const struct pt_event *branches,
			 size_t n)
{
	struct replay *r = context;
	struct replay_sample s;

	replay_forget_ended(r, first->time_ns);
	s = replay_sample_of(r, first);
	return r->to->branches(r->to, &s, branches, n);
}

static int replay_push(struct event_sink *sink, const struct event *e)
{
	struct replay *r = (struct replay *)sink;

	replay_forget_ended(r, e->time_ns);
	if (e->type == EVENT_SAMPLE)
		return replay_push_sample(r, e);
	replay_forget_known(r, e);
	machine_event(r->machine, e);
	return r->to->event ? r->to->event(r->to, e) : 0;
}

int replay_samples(struct replay *r, struct replay_sink *sink, struct error *err)
{
	struct frame_resolver_config config = {
		.machine = r->machine,
		.arch = perfdata_info(r->data)->arch,
		.finder = r->finder,
		.keeps_unmapped = true,
		.addresses_alone = sink->addresses_alone,
	};

	r->resolver = frame_resolver_new(&config);
	r->to = sink;
	r->sink.push = replay_push;
	if (r->synth && sink->branches)
		pt_synth_take_branches(r->synth, push_branches, r);
	return replay_events(r, &r->sink, err);
}

int replay_resolve(struct replay *r, const struct replay_sample *sample, uint64_t addr,
		   struct code_addr *out)
{
	enum cpu_mode mode = pt_mode_of(mode_is_guest(sample->event->sample.mode), addr);

	return machine_resolve(r->machine, &sample->thread, mode, addr, sample->event->time_ns,
			       out);
}
