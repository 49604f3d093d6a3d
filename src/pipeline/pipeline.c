/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/pipeline.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/guest_task.h"
#include "guard/memory_reads.h"
#include "lang/language.h"
#include "pipeline/container_log.h"
#include "pipeline/ext.h"
#include "pipeline/frames.h"
#include "pipeline/java_stacks.h"
#include "pipeline/jit_names.h"
#include "pipeline/lang_names.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/trampolines.h"
#include "pipeline/user_stacks.h"
#include "pipeline/v8_stacks.h"
#include "store/native.h"

/* An ended process is kept this long, for samples that come late. */
#define ENDED_KEPT_NS (2 * NS_PER_SECOND)

/* The tally counts samples per CPU below this number. Foreign files may name any CPU. */
#define TALLY_CPUS 8192

struct event_sink *pipeline_sink(struct pipeline *p)
{
	return &p->sink;
}

struct pipeline_counts pipeline_counts(const struct pipeline *p)
{
	return p->counts;
}

uint64_t pipeline_next_flush(const struct pipeline *p)
{
	return p->flush_ns;
}

void pipeline_lose(void *context, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	struct pipeline *p = context;

	if (!n)
		return;
	p->ops->lose(p->store, reason, counter, n);
	p->tally.losses[reason] += n;
	if (loss_texts[reason].kind == LOSS_LOST)
		p->counts.lost += n;
	else if (loss_texts[reason].kind == LOSS_UNATTRIBUTED)
		p->counts.unattributed += n;
}

const struct pipeline_tally *pipeline_tally(const struct pipeline *p)
{
	return &p->tally;
}

uint64_t pipeline_grown(const struct pipeline *p)
{
	return p->ops->grown ? p->ops->grown(p->store) : 0;
}

const struct error *pipeline_write_failure(const struct pipeline *p)
{
	return p->last_failure.code ? &p->last_failure : NULL;
}

static void keep_error(struct pipeline *p, const struct error *err)
{
	p->last_failure = *err;
	if (!p->write_error.code)
		p->write_error = *err;
}

void pipeline_set_tap(struct pipeline *p, const struct sample_tap *tap)
{
	p->tap = tap;
}

/* Samples. */

static void lose_names(void *context, enum loss_reason reason)
{
	pipeline_lose(context, reason, 0, 1);
}

static bool find_function(void *context, int32_t pid, uint64_t addr, struct jit_function *out)
{
	return machine_find_function(((struct pipeline *)context)->machine, pid, addr, out);
}

void pipeline_note_jit(struct pipeline *p, int32_t pid, const struct code_addr *code)
{
	const struct image *image = image_get(machine_images(p->machine), code->image);

	/* For jitdump files, the machine already has the names. */
	if (image->kind == IMAGE_JIT && image->path[0] != '/' &&
	    *pipeline_canonical(p, code->image) != IMAGE_UNREAD)
		jit_names_hit(p->jit, pid, code->image, code->offset);
}

static void note_jit_frames(struct pipeline *p, const struct sample *sample)
{
	for (uint32_t i = 0; p->jit && i < sample->n_frames; i++)
		pipeline_note_jit(p, sample->class.pid, &sample->frames[i]);
}

struct user_stacks *pipeline_user_stacks(struct pipeline *p)
{
	return frame_resolver_user_stacks(p->resolver);
}

static void advance_store(struct pipeline *p, uint64_t now_ns);

void pipeline_keep(struct pipeline *p, const struct sample *sample)
{
	struct error err; /* not cleared, as it has 768 bytes and this runs for every sample */

	if (sample->time_ns >= p->flush_ns)
		advance_store(p, sample->time_ns);
	p->counts.samples += sample->samples;
	while (p->tally.cpu_samples.n <= sample->class.cpu && sample->class.cpu < TALLY_CPUS)
		vec_push(&p->tally.cpu_samples, 0);
	if (sample->class.cpu < TALLY_CPUS)
		p->tally.cpu_samples.data[sample->class.cpu] += sample->samples;
	if (p->containers)
		container_log_see(p->containers, sample->class.cgroup);
	if (p->tap)
		p->tap->see(p->tap->context, sample);
	err.code = 0;
	if (p->ops->add(p->store, sample, &err) < 0)
		keep_error(p, &err);
}

static void count_losses(struct pipeline *p, const struct sample_event *s, const struct frames *f)
{
	if (f->leaf_loss >= 0)
		pipeline_lose(p, (enum loss_reason)f->leaf_loss, s->counter, 1);
	if (s->chain_cut)
		pipeline_lose(p, LOSS_CHAIN_CUT, s->counter, 1);
	if (f->n_unmapped)
		pipeline_lose(p, LOSS_FRAME_UNMAPPED, s->counter, f->n_unmapped);
	if (f->cut >= 0)
		pipeline_lose(p, (enum loss_reason)f->cut, s->counter, 1);
	if (f->is_guessed)
		pipeline_lose(p, LOSS_STACK_GUESSED, s->counter, 1);
	if (f->n_unnamed)
		pipeline_lose(p, f->no_name, s->counter, f->n_unnamed);
}

/* Adds the counts of a raw sample: one stored sample for each event that it counts in. */
static void keep_counts(struct pipeline *p, const struct event *e, struct sample *sample,
			struct code_addr *frames)
{
	struct ext_count counts[EXT_MAX_COUNTS];
	int n = ext_derive(p->ext, e, counts);

	if (n == EXT_LOST)
		pipeline_lose(p, LOSS_EXT_ADDRESS, e->sample.counter, 1);
	else if (n == EXT_BAD)
		pipeline_lose(p, LOSS_BAD_RECORD, e->sample.counter, 1);
	for (int i = 0; i < n; i++) {
		sample->class.counter = counts[i].counter;
		sample->samples = counts[i].samples;
		sample->period = counts[i].period;
		pipeline_keep_or_wait(p, sample, frames);
	}
}

/* Of a sample that a trace gave, the address is a branch's. */
static bool is_access(const struct sample_extra *x)
{
	return x->data_src || (x->addr && !x->flags);
}

static struct code_addr access_mark(struct pipeline *p, const char *path, uint64_t value)
{
	const struct image mark = { .kind = IMAGE_NAMED, .path = path };

	return (struct code_addr){ image_intern(machine_images(p->machine), &mark), value };
}

/* The access becomes the innermost frames, for profile/wakers.h to cut off. */
static void add_access(struct pipeline *p, const struct event *e, const struct thread_view *thread,
		       struct frames *f)
{
	const struct sample_extra *x = e->sample.extra;
	struct code_addr added[ACCESS_FRAMES];
	uint32_t n = 0;

	if (x->latency)
		added[n++] = access_mark(p, IMAGE_LATENCY_PATH, x->latency);
	if (x->addr && is_access(x) && !mode_is_guest(e->sample.mode))
		added[n++] = machine_resolve_data(p->machine, thread, x->addr);
	if (is_access(x))
		added[n++] = access_mark(p, IMAGE_ACCESS_PATH, x->data_src);
	memmove(f->code + n, f->code, f->n * sizeof(*f->code));
	memcpy(f->code, added, n * sizeof(*added));
	f->n += n;
}

/* Behind the outermost frame. Other stores have no frames but code. */
static uint32_t add_cut(struct pipeline *p, struct code_addr *frames, uint32_t n, bool is_cut)
{
	static const struct image mark = { .kind = IMAGE_NAMED, .path = IMAGE_CUT_PATH };

	if (!is_cut || p->ops != &native_store)
		return n;
	if (!p->cut_image.n)
		p->cut_image = image_intern(machine_images(p->machine), &mark);
	frames[n] = (struct code_addr){ p->cut_image, 0 };
	return n + 1;
}

bool pipeline_keep_language_limits(struct pipeline *p)
{
	if (!p->lang_names || !lang_names_is_full(p->lang_names))
		return false;
	lang_names_forget(p->lang_names);
	java_stacks_forget_all(p->java);
	v8_stacks_forget_all(p->v8);
	return true;
}

static struct thread_view pipeline_thread(struct pipeline *p, const struct event *e)
{
	uint32_t guest = e->sample.extra ? e->sample.extra->machine_pid : 0;
	struct thread_view thread;

	if (!guest)
		return machine_thread(p->machine, e->pid, e->tid);
	thread = machine_thread(p->machine, guest_task(guest, e->pid), guest_task(guest, e->tid));
	thread.guest_pid = (int32_t)guest;
	return thread;
}

static int push_sample(struct pipeline *p, const struct event *e)
{
	const struct sample_event *s = &e->sample;
	struct thread_view thread = pipeline_thread(p, e);
	struct frames *f = frames_resolve(p->resolver, e, &thread);
	struct sample sample = {
		.class = { .counter = s->counter,
			   .app = thread.app,
			   .pid = e->pid,
			   .tid = e->tid,
			   .comm = thread.comm,
			   .cpu = e->cpu,
			   .cgroup = machine_cgroup(p->machine, &thread,
						    s->extra ? s->extra->cgroup : 0) },
		.time_ns = e->time_ns,
		.is_timed = true,
		.samples = 1,
		.period = s->period,
	};

	/* other stores would take the data for the place of the sample */
	if (p->ops == &native_store && s->extra)
		add_access(p, e, &thread, f);
	sample.frames = f->code;
	sample.n_frames = add_cut(p, f->code, f->n, f->is_cut);
	count_losses(p, s, f);
	note_jit_frames(p, &sample);
	if (p->ext && ext_has(p->ext, s->counter))
		keep_counts(p, e, &sample, f->code);
	else
		pipeline_keep_or_wait(p, &sample, f->code);
	return 0;
}

void pipeline_add(struct pipeline *p, const struct pipeline_sample *s)
{
	struct sample sample = {
		.class = { .counter = s->counter,
			   .app = s->app,
			   .pid = s->pid,
			   .tid = s->tid,
			   .comm = s->comm,
			   .cpu = s->cpu,
			   .cgroup = s->cgroup },
		.time_ns = s->time_ns,
		.is_timed = s->is_timed,
		.frames = p->frames,
		.n_frames = MIN(s->n_frames, (uint32_t)ARRAY_SIZE(p->frames) - CUT_FRAMES),
		.samples = s->samples,
		.period = s->period,
	};

	if (s->leaf_loss >= 0)
		pipeline_lose(p, (enum loss_reason)s->leaf_loss, s->counter, s->samples);
	pipeline_lose(p, LOSS_FRAME_UNMAPPED, s->counter, s->n_unmapped * s->samples);
	if (sample.n_frames < s->n_frames)
		pipeline_lose(p, LOSS_CHAIN_CUT, s->counter, s->samples);
	memcpy(p->frames, s->frames, sample.n_frames * sizeof(*p->frames));
	sample.n_frames =
		add_cut(p, p->frames, sample.n_frames, s->is_cut || sample.n_frames < s->n_frames);
	note_jit_frames(p, &sample);
	pipeline_keep_or_wait(p, &sample, p->frames);
}

static int pipeline_push(struct event_sink *sink, const struct event *e)
{
	struct pipeline *p = (struct pipeline *)sink;

	switch (e->type) {
	case EVENT_SAMPLE:
		pipeline_keep_language_limits(p);
		return push_sample(p, e);
	case EVENT_LOST:
		pipeline_lose(p, LOSS_RING_FULL, UINT32_MAX, e->lost.n);
		return 0;
	case EVENT_LOST_SAMPLES:
		pipeline_lose(p, LOSS_PMU_BUFFER, e->lost.counter, e->lost.n);
		return 0;
	case EVENT_THROTTLE:
		if (!e->throttle.is_end)
			pipeline_lose(p, LOSS_THROTTLED, e->throttle.counter, 1);
		return 0;
	case EVENT_TRACE_ERROR:
		pipeline_lose(p, (enum loss_reason)e->trace_error.reason, UINT32_MAX, 1);
		return 0;
	default:
		machine_event(p->machine, e);
		return 0;
	}
}

static void pipeline_expect(struct event_sink *sink, const struct event *e)
{
	frames_expect(((struct pipeline *)sink)->resolver, e);
}

/* Names of code without a file. */

static void name_code(void *context, image_id image, uint64_t start, uint64_t size,
		      const char *name)
{
	struct pipeline *p = context;
	struct code_symbol symbol = { .image = image, .offset = start, .size = size, .name = name };

	p->ops->name_code(p->store, &symbol);
}

void pipeline_name_code(struct pipeline *p, const struct code_symbol *symbol)
{
	p->ops->name_code(p->store, symbol);
}

static void name_kernel_code(void *context, image_id image, uint64_t size, const char *name)
{
	name_code(context, image, 0, size, name);
}

/* Of one process, or (-1) of all. */
static void name_jit_code(struct pipeline *p, int32_t pid)
{
	machine_jit_names(p->machine, pid, name_code, p);
	if (p->resolver)
		pipeline_lose(p, LOSS_FILE_UNPARSED, 0, frame_resolver_take_unparsed(p->resolver));
}

static void process_ended(void *context, int32_t pid)
{
	struct pipeline *p = context;

	name_jit_code(p, pid);
	if (p->jit)
		jit_names_finish(p->jit, pid);
	if (p->java)
		java_stacks_forget(p->java, pid);
	if (p->v8)
		v8_stacks_forget(p->v8, pid);
	if (p->trampolines)
		trampolines_forget(p->trampolines, pid);
	if (pipeline_user_stacks(p))
		memory_reads_forget(user_stacks_reads(pipeline_user_stacks(p)), pid);
}

/* The image is looked at; until that is over, it is no runtime. */
static const struct lang_runtime *runtime_of(void *context, int32_t pid, image_id image)
{
	struct pipeline *p = context;

	return pipeline_look_at_image(p, pid, &image) ? pipeline_runtime(p, image) : NULL;
}

static bool look_for_runtime(void *context, int32_t pid, image_id image,
			     const struct lang_runtime **runtime)
{
	struct pipeline *p = context;

	if (pipeline_is_file_late(p, image) || !pipeline_look_at_image(p, pid, &image))
		return false;
	*runtime = pipeline_runtime(p, image);
	return true;
}

static bool learn_function(void *context, int32_t pid, const struct lang_code *code)
{
	struct lang_names *names = ((struct pipeline *)context)->lang_names;

	if (lang_names_is_full(names))
		return false;
	lang_names_learn(names, pid, code);
	return true;
}

static bool place_frame(void *context, const struct lang_frame *frame, struct code_addr *out)
{
	return lang_names_place(((struct pipeline *)context)->lang_names, frame, out);
}

bool pipeline_place_frame(struct pipeline *p, const struct lang_frame *frame, struct code_addr *out)
{
	return place_frame(p, frame, out);
}

static bool read_memory(void *context, int32_t pid, uint64_t addr, void *out, size_t size)
{
	(void)context;
	return memory_read_of(pid, addr, out, size) == (ssize_t)size;
}

static void open_runtimes(struct pipeline *p, struct frame_resolver_config *resolver)
{
	p->lang_names = lang_names_new(p, p->machine);
	resolver->place = place_frame;
	resolver->context = p;
	p->trampolines = resolver->trampolines = trampolines_new(read_memory, NULL);
	p->java = resolver->java =
		java_stacks_new(&(struct java_stacks_config){ .machine = p->machine,
							      .proc = p->proc,
							      .learn = learn_function,
							      .runtime = runtime_of,
							      .lose = lose_names,
							      .context = p });
	p->v8 = resolver->v8 = v8_stacks_new(&(struct v8_stacks_config){ .machine = p->machine,
									 .proc = p->proc,
									 .learn = learn_function,
									 .look = look_for_runtime,
									 .lose = lose_names,
									 .context = p });
}

/* Opening, advancing, closing. */

/* Only sessions of this machine with cgroups keep names of containers. */
static void keep_containers(struct pipeline *p, const struct pipeline_config *config)
{
	container_log_free(p->containers);
	p->containers = NULL;
	if (!p->is_offline && p->ops == &native_store && !(config->info->merged & SEPARATE_CGROUP))
		p->containers = container_log_new(config->dir, machine_strings(p->machine));
}

/* The texts of enum stack_source (record/recorder.h). */
static bool lacks_walks(const char *stacks)
{
	return stacks && (!strcmp(stacks, "frame pointers") || !strcmp(stacks, "none"));
}

struct pipeline *pipeline_open(const struct pipeline_config *config, struct error *err)
{
	struct pipeline *p = xcalloc(1, sizeof(*p));
	struct frame_resolver_config resolver = {
		.machine = config->machine,
		.proc = config->is_offline ? NULL
			: config->proc     ? config->proc
					   : "/proc",
		.arch = config->info->arch,
		.finder = config->finder,
	};

	*p = (struct pipeline){
		.sink = { pipeline_push, pipeline_expect },
		.ops = config->ops,
		.machine = config->machine,
		.ext = config->ext,
		.is_offline = config->is_offline,
		.proc = xstrdup(config->proc ? config->proc : "/proc"),
		.names_dir = config->names_dir ? xstrdup(config->names_dir) : NULL,
		.flush_ns = (config->info->start_ns / NS_PER_SECOND + 1) * NS_PER_SECOND,
		.kept_since_ns = UINT64_MAX,
		.lacks_walks = !config->is_offline && lacks_walks(config->info->stacks),
	};
	if (p->ops->open(config->dir, config->info, machine_images(p->machine),
			 machine_strings(p->machine), &p->store, err) < 0) {
		free(p->proc);
		free(p->names_dir);
		free(p);
		return NULL;
	}
	keep_containers(p, config);
	if (!config->is_offline) {
		p->jobs = resolver.jobs = file_jobs_new();
		p->jit = jit_names_new(&(struct jit_names_config){ .proc = p->proc,
								   .jobs = p->jobs,
								   .visit = name_code,
								   .find = find_function,
								   .lose = lose_names,
								   .context = p });
		open_runtimes(p, &resolver);
	}
	p->resolver = frame_resolver_new(&resolver);
	if (p->jobs)
		pipeline_begin_dumps(p);
	return p;
}

int pipeline_begin(struct pipeline *p, uint64_t wall_ns, uint64_t ns, struct error *err)
{
	return p->ops->begin ? p->ops->begin(p->store, wall_ns, ns, err) : 0;
}

/* `n`: the samples that the store could not write so far. */
static void count_unwritten(struct pipeline *p, uint64_t n)
{
	uint64_t more = n - p->n_unwritten;

	p->n_unwritten = n;
	p->counts.samples -= more;
	p->counts.lost += more;
	p->tally.losses[LOSS_DISK_FULL] += more;
}

static int flush_until(struct pipeline *p, uint64_t until_ns, struct error *err)
{
	int e = p->ops->flush(p->store, until_ns, err);

	if (p->containers)
		container_log_retry(p->containers);
	if (p->ops->unwritten)
		count_unwritten(p, p->ops->unwritten(p->store));
	if (e < 0)
		keep_error(p, err);
	else
		p->last_failure.code = 0;
	return e;
}

int pipeline_flush(struct pipeline *p, struct error *err)
{
	struct error why = { 0 };
	int e;

	pipeline_end_waiting(p, LOOK_FLUSH_WAIT_NS);
	e = flush_until(p, UINT64_MAX, &why);
	if (e < 0 && err)
		*err = why;
	return MIN(e, 0);
}

bool pipeline_is_behind(const struct pipeline *p)
{
	return p->ops->is_behind && p->ops->is_behind(p->store);
}

void pipeline_forget_ended(struct pipeline *p, uint64_t before_ns)
{
	machine_forget_ended(p->machine, MIN(before_ns, p->kept_since_ns), process_ended, p);
}

void pipeline_keep_ended(struct pipeline *p, uint64_t since_ns)
{
	p->kept_since_ns = since_ns;
}

static void lose_refused(struct pipeline *p)
{
	struct machine_refusals refused = machine_take_refusals(p->machine);

	pipeline_lose(p, LOSS_MAPPINGS_FULL, UINT32_MAX, refused.mappings);
	pipeline_lose(p, LOSS_FILES_UNNAMED, UINT32_MAX, refused.files);
	pipeline_lose(p, LOSS_JIT_DUMP_LATE, 0, refused.unread_code);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		pipeline_lose(p, (enum loss_reason)i, 0, refused.dumps[i]);
}

/* Writes samples that are a second old, if the second is over. */
static void advance_store(struct pipeline *p, uint64_t now_ns)
{
	struct error err = { 0 };

	if (now_ns < p->flush_ns)
		return;
	lose_refused(p);
	flush_until(p, p->flush_ns, &err);
	if (!p->is_offline && !p->is_settling) {
		name_jit_code(p, 0); /* of processes that have none any more */
		pipeline_forget_ended(p, now_ns > ENDED_KEPT_NS ? now_ns - ENDED_KEPT_NS : 0);
	}
	p->flush_ns = (now_ns / NS_PER_SECOND + 1) * NS_PER_SECOND;
}

void pipeline_advance(struct pipeline *p, uint64_t now_ns)
{
	pipeline_take_looks(p);
	advance_store(p, now_ns);
}

static int close_store(struct pipeline *p, const struct session_end *end, struct error *err)
{
	uint64_t n_unwritten = 0;
	int r;

	name_jit_code(p, -1);
	lose_refused(p);
	machine_kernel_names(p->machine, name_kernel_code, p);
	r = p->ops->close(p->store, end, &n_unwritten, err);
	count_unwritten(p, n_unwritten);
	p->n_unwritten = 0; /* of the next store */
	return r;
}

int pipeline_leave(struct pipeline *p, struct error *err)
{
	int r;

	name_jit_code(p, -1);
	lose_refused(p);
	machine_kernel_names(p->machine, name_kernel_code, p);
	r = p->ops->leave(p->store, err);
	count_unwritten(p, p->ops->unwritten(p->store));
	p->session++; /* which needs all names anew */
	return r;
}

int pipeline_switch(struct pipeline *p, const struct pipeline_config *config,
		    const struct session_end *end, struct error *err)
{
	struct error why = { 0 };
	struct store *next;
	int r = p->ops->open(config->dir, config->info, machine_images(p->machine),
			     machine_strings(p->machine), &next, err);

	if (r < 0)
		return r;
	p->last_failure.code = 0;
	pipeline_end_jobs(p, SWITCH_WAIT_NS);
	if (close_store(p, end, &why) < 0)
		keep_error(p, &why);
	p->store = next;
	p->session++;
	keep_containers(p, config);
	p->write_error.code = 0;
	return 0;
}

int pipeline_close(struct pipeline *p, const struct session_end *end,
		   struct pipeline_counts *counts, struct error *err)
{
	int r;

	pipeline_end_jobs(p, end ? LOOK_WAIT_NS : 0);
	if (p->jit)
		pipeline_lose(p, LOSS_JIT_MAP_LATE, 0, jit_names_pending(p->jit));
	if (p->jobs)
		machine_read_dumps_by(p->machine, NULL);
	r = close_store(p, end, err);
	container_log_free(p->containers);
	if (counts)
		*counts = p->counts;
	if (!r && p->write_error.code) {
		if (err)
			*err = p->write_error;
		r = p->write_error.code;
	}
	file_jobs_free(p->jobs);
	jit_names_free(p->jit);
	waiting_samples_fini(&p->waiting);
	vec_fini(&p->pending);
	frame_resolver_free(p->resolver);
	java_stacks_free(p->java);
	v8_stacks_free(p->v8);
	trampolines_free(p->trampolines);
	lang_names_free(p->lang_names);
	vec_fini(&p->canonical);
	vec_fini(&p->late);
	vec_fini(&p->counted);
	vec_fini(&p->runtimes);
	vec_fini(&p->go_programs);
	vec_fini(&p->tally.cpu_samples);
	free(p->proc);
	free(p->names_dir);
	free(p);
	return r;
}
