/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler_load.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/bpf/label_name.h"
#include "collect/cgroup.h"
#include "collect/kernel_texts.h"
#include "collect/missed.h"
#include "collect/program_load.h"
#include "collect/sampler_limits.h"
#include "collect/sampler_state.h"
#include "collect/table_maps.h"

/* A second at the highest requested rate, and room for bursts of several counters. */
#define COUNTS_MIN 8192
#define COUNTS_MAX (4u << 20)

/* The ring is mapped twice, so it should not be larger than the rate needs. */
#define MESSAGES_MIN_BYTES  (1u << 20)
#define MESSAGES_LEAST_RATE 64u
#define TIMES_MIN_BYTES     (256u << 10)
#define TIMES_MAX_BYTES     (32u << 20)

#define TARGETS_ENTRIES 65536 /* followed processes */

/*
 * Stacks are kept packed in one array. A new generation begins at this size, which is the most that
 * a minute can bring. At a low rate, keeping more costs memory and saves little.
 */
#define STACKS_MAX_WORDS ((uint64_t)2 << 20)
#define STACKS_MIN_WORDS ((uint64_t)1 << 17)
#define USUAL_FRAMES     64

/* Samples a second on all CPUs; a counter by count is assumed to have a high rate. */
static uint64_t samples_a_second(const struct sampler_config *c)
{
	uint64_t rate = 0;

	vec_foreach (c->counters, counter)
		if (counter->in_kernel)
			rate += counter->attr.freq ? counter->attr.sample_freq : 10000;
	return rate * c->cpus->n;
}

static uint32_t counts_entries(const struct sampler_config *c)
{
	/* each sample makes at most one entry */
	uint64_t rate = samples_a_second(c);

	if (c->waits) /* waits of a millisecond or more are few */
		rate += (c->waits->min_ns < 1000000 ? 50000 : 10000) * c->cpus->n;
	rate = rate * 3 / 2;
	return (uint32_t)MIN(MAX(rate, COUNTS_MIN), COUNTS_MAX);
}

/* Of each CPU; 0: no limit. The least limit is not 0. */
static uint64_t capture_share(double most_percent, size_t n_cpus)
{
	double share = most_percent / 100 * CAPTURE_WHOLE / (double)MAX(n_cpus, 1u);

	return most_percent > 0 ? MAX((uint64_t)(share + 0.5), 1u) : 0;
}

/*
 * A stack at a raw tracepoint begins with frames of BPF, which end where the traced function
 * begins. Without its place, tracepoints of perf have to do.
 */
static void prepare_switches(struct sampler *s, bool off_cpu)
{
	struct sampler_bpf *b = s->bpf;
	struct kernel_texts texts = { 0 };
	struct kernel_marks marks = { 0 };

	s->has_raw_wakes = off_cpu && kernel_texts_read("/proc/kallsyms", &texts, &marks);
	s->has_raw_switches = s->has_raw_wakes && texts.has_exit;
	b->rodata->first_text[SLOT_SWITCH] = texts.switches;
	b->rodata->first_text[SLOT_WAKE] = texts.wakes;
	memcpy(b->rodata->kernel_marks, marks.list, sizeof(marks.list));
	b->rodata->n_kernel_marks = marks.n;
	bpf_program__set_autoload(b->progs.leaving, s->has_raw_switches);
	bpf_program__set_autoload(b->progs.came_back, s->has_raw_switches);
	bpf_program__set_autoload(b->progs.switched, off_cpu && !s->has_raw_switches);
	bpf_program__set_autoload(b->progs.waking, s->has_raw_wakes);
	bpf_program__set_autoload(b->progs.waking_by_perf, off_cpu && !s->has_raw_wakes);
	bpf_program__set_autoload(b->progs.io_queued, off_cpu);
	bpf_program__set_autoload(b->progs.executed, off_cpu);
	bpf_program__set_autoload(b->progs.show_stack, off_cpu);
}

/* Threads with several counters need a program for each (sampler_counters.c). */
static void prepare_events(struct sampler_bpf *b, const struct sampler_config *c)
{
	struct bpf_program *programs[] = {
#define X(n) b->progs.sample_##n,
		SAMPLER_EVENTS(X)
#undef X
	};

	assert(!c->n_tids || c->counters->n <= SAMPLER_EVENTS_MAX);
	b->rodata->with_event_programs = c->n_tids && c->counters->n > 1;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i],
					  b->rodata->with_event_programs && i < c->counters->n);
	bpf_program__set_autoload(b->progs.sample, samples_a_second(c) > 0);
}

static int set_event_sampler(const struct sampler_bpf *b, struct error *err)
{
	int program = bpf_program__fd(b->progs.sample);
	uint32_t zero = 0;

	if (!b->rodata->with_event_programs ||
	    !bpf_map_update_elem(bpf_map__fd(b->maps.event_sampler), &zero, &program, BPF_ANY))
		return 0;
	return error_errno(err, -errno, "cannot let several counters run the in-kernel sampler");
}

/* The maps of waits are loaded only with them. */
static void prepare_waits(struct sampler *s, const struct sampler_config *c,
			  const struct sampler_limits *limits)
{
	const struct sampler_waits *w = c->waits;
	struct sampler_bpf *b = s->bpf;

	prepare_switches(s, w && w->off_cpu);
	bpf_program__set_autoload(b->progs.contention_began, w && w->kernel_locks);
	bpf_program__set_autoload(b->progs.contention_ended, w && w->kernel_locks);
	bpf_program__set_autoload(b->progs.forked, w && w->n_targets && !w->targets_are_threads);
	bpf_map__set_max_entries(b->maps.waits, w && w->off_cpu ? limits->waits : 1);
	bpf_map__set_max_entries(b->maps.contentions, w && w->kernel_locks ? limits->locks : 1);
	bpf_map__set_max_entries(b->maps.targets, w && w->n_targets ? TARGETS_ENTRIES : 1);
	if (!w)
		return;
	b->rodata->waits_of_targets = w->n_targets > 0;
	b->rodata->targets_are_threads = w->targets_are_threads;
	b->rodata->waits_min_ns = w->min_ns;
	b->rodata->waits_counter = w->first_counter;
	b->rodata->locks_counter = w->first_counter + WAIT_KERNEL_LOCK;
	b->rodata->capture_share = capture_share(w->most_percent, c->cpus->n);
}

static int prepare_filter(struct sampler_bpf *b, const struct sampler_config *c, struct error *err)
{
	const struct process_filter *f = c->filter;
	struct comm_masks masks = { 0 };
	int e = f && f->comm ? comm_masks_make(f->comm, &masks, err) : 0;

	b->rodata->with_uid = f && f->has_uid;
	b->rodata->wanted_uid = f ? f->uid : 0;
	b->rodata->with_comm = f && f->comm;
	memcpy((void *)&b->rodata->wanted_comm, &masks, sizeof(masks));
	b->rodata->waits_of_cgroup = c->is_of_cgroup && c->waits;
	bpf_map__set_autocreate(b->maps.wanted_cgroup, c->is_of_cgroup && c->waits);
	return e;
}

static int want_cgroup(struct sampler_bpf *b, const struct sampler_config *c, struct error *err)
{
	uint32_t zero = 0;

	if (!c->is_of_cgroup || !c->waits)
		return 0;
	if (bpf_map_update_elem(bpf_map__fd(b->maps.wanted_cgroup), &zero, &c->cgroup_fd, BPF_ANY) <
	    0)
		return error_errno(err, -errno,
				   "waits of a control group are measured on cgroup2 alone");
	return 0;
}

static void prepare_labels(struct sampler_bpf *b, const struct sampler_config *c)
{
	b->rodata->with_labels = c->n_labels > 0;
	for (size_t i = 0; i < c->n_labels && i < LABELS_MAX; i++) {
		__u64 name[LABEL_NAME_MAX / 8] = { 0 }; /* the type that the hash reads */

		memcpy(name, c->labels[i], strnlen(c->labels[i], sizeof(name)));
		((__u64 *)b->rodata->wanted_labels)[i] = label_name_hash(name);
	}
}

static uint64_t stacks_max_words(const struct sampler_config *c)
{
	uint64_t of_a_minute = samples_a_second(c) * 60 * USUAL_FRAMES;

	return MIN(MAX(of_a_minute, STACKS_MIN_WORDS), STACKS_MAX_WORDS);
}

/* For half a second, in which all stacks may be raw. */
static uint32_t messages_bytes(const struct sampler_config *c, uint32_t most)
{
	uint64_t rate = c->waits ? UINT32_MAX : MAX(samples_a_second(c), MESSAGES_LEAST_RATE);
	uint32_t bytes = MESSAGES_MIN_BYTES;

	while (bytes < most && bytes < rate * sizeof(struct raw_stack_message) / 2)
		bytes *= 2;
	return MIN(bytes, most);
}

/* For two seconds of samples; for waits, as many as 50,000 switches a second on each CPU make. */
static uint32_t times_bytes(const struct sampler_config *c, uint32_t limit)
{
	uint64_t rate = samples_a_second(c) + (c->waits ? 50000 * c->cpus->n : 0);
	uint32_t bytes = limit ? limit : TIMES_MIN_BYTES;

	if (!c->with_times)
		return 4096;
	while (!limit && bytes < TIMES_MAX_BYTES && bytes < rate * 2 * sizeof(struct time_message))
		bytes *= 2;
	return bytes;
}

int sampler_load(struct sampler *s, struct error *err)
{
	const struct sampler_config *c = &s->config;
	struct sampler_limits limits = sampler_limits(c->cpus->n);
	char types_path[32];
	cleanup(close_at_exit) int types_fd = program_types(types_path);
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct sampler_bpf *b;
	int e;

	opts.btf_custom_path = types_fd >= 0 ? types_path : NULL;
	s->bpf = b = sampler_bpf__open_opts(&opts);
	if (!b)
		return error_errno(err, -errno, "cannot open the in-kernel sampler");
	b->rodata->with_stacks = c->with_stacks;
	b->rodata->by_frame_pointer = c->by_frame_pointer;
	b->rodata->own_pid_namespace = c->pid_namespace;
	b->rodata->with_cgroup_v1 = cgroup_has_v1();
	b->rodata->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	limits.counts = limits.counts ? limits.counts : counts_entries(c);
	s->counts_room = limits.counts;
	s->made_for_hz = samples_a_second(c) / MAX(c->cpus->n, 1u);
	bpf_map__set_max_entries(b->maps.counts_even, limits.counts);
	bpf_map__set_max_entries(b->maps.counts_odd, limits.counts);
	bpf_map__set_max_entries(b->maps.overflows, MAX((uint32_t)c->counters->n, 1u));
	bpf_map__set_max_entries(b->maps.seen, limits.seen);
	bpf_map__set_max_entries(b->maps.files, MAX_FILES);
	bpf_map__set_max_entries(b->maps.table_places, MAX_FILES);
	bpf_map__set_max_entries(b->maps.chunks, limits.chunks);
	s->messages_bytes = messages_bytes(c, limits.messages);
	s->max_words = limits.stacks ? limits.stacks
		       : c->waits    ? STACKS_MAX_WORDS
				     : stacks_max_words(c);
	bpf_map__set_max_entries(b->maps.messages, s->messages_bytes);
	b->rodata->with_times = c->with_times;
	bpf_map__set_max_entries(b->maps.times, MAX(times_bytes(c, limits.times),
						    (uint32_t)sysconf(_SC_PAGESIZE)));
	prepare_events(b, c);
	prepare_waits(s, c, &limits);
	prepare_labels(b, c);
	if (limits.files)
		b->data->next_file = MAX_FILES - MIN(limits.files, MAX_FILES - 1u);
	s->with_languages = limits.languages;
	bpf_map__set_max_entries(b->maps.java_frames, limits.languages ? JAVA_FRAMES_MAX : 1);
	b->rodata->compares_java = limits.compare;
	b->rodata->is_to_be_refused = limits.refuse;
	usleep(limits.load_ms * 1000);
	if ((e = prepare_filter(b, c, err)) < 0 ||
	    (e = program_load(b->skeleton, types_fd, err)) < 0 ||
	    (e = want_cgroup(b, c, err)) < 0 || (e = set_event_sampler(b, err)) < 0)
		return e;
	return table_maps_open(bpf_map__fd(b->maps.chunks), limits.chunks,
			       bpf_map__fd(b->maps.table_places), &s->tables, err);
}
