/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel.h"

#include <linux/fs.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "guard/open.h"
#include "lang/detect.h"
#include "machine/address_space.h"
#include "machine/machine.h"
#include "perfdata/regs.h"
#include "pipeline/host.h"
#include "pipeline/lang_names.h"
#include "pipeline/off_cpu.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"
#include "record/program_files.h"
#include "unwind/library.h"

/* The longest wait for a file's path; then stacks through it go by frame pointer. */
#define TABLE_WAIT_NS 2000000000ULL

/* more of them wait in the ring, which has its own limit */
#define RAWS_MAX_BYTES ((size_t)64 << 20)

/* Room for them that is kept when there are none: only the beginning has many. */
#define RAWS_KEPT_BYTES ((size_t)1 << 20)

#if defined(__aarch64__)
#define SP_REGISTER 31 /* its DWARF number */
#define PC_REGISTER 32
#else
#define SP_REGISTER 7
#define PC_REGISTER 16
#endif

/* The bytes that are read of a stack of a thread that waited before the start. */
#define WAIT_STACK_BYTES 16384

struct file {
	struct sampler_file seen;
	image_id image;       /* id 0: its path is not known yet */
	uint64_t wanted_ns;   /* start of the wait for its table; 0: not needed */
	uint32_t given_round; /* sampler_table_round() of its table; 0: no table yet */
};

/* A stack that was walked here. An unresolved leaf is left out. */
struct walked {
	uint32_t at, n; /* in frames */
	int leaf_loss;  /* enum loss_reason, or -1 */
};

/* Walked raw stacks, by hash: those of this epoch and of the one before. */
struct walked_stacks {
	VEC(struct code_addr) frames;
	VEC(struct walked) list;
	struct intmap by_hash;
};

struct late_count {
	struct sampler_count count;
	char comm[16];
};

/* Frames of a language that one native frame stands for. */
struct run {
	struct code_addr *data;
	size_t n, cap;
};

struct in_kernel {
	struct sampler_visitor visitor;
	struct event_sink sink;
	struct sampler *sampler;
	struct pipeline *pipeline;
	struct machine *machine;
	VEC(struct file) files; /* by number */
	VEC(uint32_t) to_place; /* files that the side band has not reached yet */
	struct intmap images;   /* file_hash() to image */
	VEC(struct code_addr) frames;
	VEC(uint32_t) wanted; /* files that need tables */
	VEC(uint8_t) raws;    /* raw stacks to walk, one behind the other */
	VEC(struct late_count) late;
	struct walked_stacks now, before;
	struct walked_stacks waiting;         /* of waits, which may be counted at any time */
	uint32_t first_wait;                  /* counter; UINT32_MAX: no waits */
	uint64_t wait_rest_ns[N_WAIT_STATES]; /* not yet a sample */
	uint64_t time_ns;
	uint64_t known_ns;        /* the side band is known up to then; UINT64_MAX: to its end */
	struct run run, held_run; /* frames of languages that wait for their native frame */
	struct lang_names *names; /* of functions of languages */
	bool with_tables;
	bool is_stalled;     /* a raw stack needs a table that was not ready … */
	uint64_t stalled_at; /* … at this generation of tables */
	uint32_t n_seen;     /* files that were checked for a table without a request */
};

static bool is_final(const struct in_kernel *k)
{
	return k->known_ns == UINT64_MAX;
}

static struct in_kernel *of_sink(struct event_sink *sink)
{
	return (struct in_kernel *)((char *)sink - offsetof(struct in_kernel, sink));
}

/* Devices have 32 bits, inodes nearly never more than 40: as good as the pair itself. */
static uint64_t file_hash(uint64_t dev, uint64_t ino)
{
	return hash_u64(dev) ^ ino;
}

static image_id in_kernel_image_of(struct in_kernel *k, uint32_t number)
{
	const uint32_t *image;
	struct file *f;

	if (number >= k->files.n)
		return IMAGE_UNKNOWN_ID;
	f = &k->files.data[number];
	if (!f->image.n && (image = intmap_find(&k->images, file_hash(f->seen.dev, f->seen.ino))))
		f->image.n = *image;
	return f->image;
}

/*
 * The image of the process's mapping in the place where the sampler saw the file. On overlayfs,
 * device and inode can't name it: the sampler has the layer's file, and records have the file
 * above.
 */
static image_id image_at_place(struct in_kernel *k, const struct sampler_file *file)
{
	struct thread_view thread = machine_thread(k->machine, file->pid, file->pid);
	const struct mapping *m = machine_mapping(k->machine, &thread, file->place.start);

	if (!m || file->place.start - m->start + m->file_off != file->place.file_off)
		return IMAGE_UNKNOWN_ID;
	return m->image;
}

static void examine_file(struct in_kernel *k, uint32_t number, image_id image)
{
	const struct lang_runtime *runtime;

	image = pipeline_look_at_image(k->pipeline, k->files.data[number].seen.pid, image);
	runtime = pipeline_runtime(k->pipeline, image);
	if (runtime && k->with_tables)
		sampler_set_runtime(k->sampler, number, runtime);
}

/*
 * Places files up to a time, to which the side band must be known. A file is placed at once,
 * because its process may end soon.
 */
static void place_files(struct in_kernel *k, uint64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->to_place.n; i++) {
		uint32_t number = k->to_place.data[i];
		struct file *f = &k->files.data[number];
		image_id image;

		if (f->seen.time_ns > until_ns) {
			k->to_place.data[kept++] = number;
			continue;
		}
		image = f->seen.place.start ? image_at_place(k, &f->seen) : IMAGE_UNKNOWN_ID;
		if (image.n)
			f->image = image;
		image = in_kernel_image_of(k, number);
		if (image.n)
			examine_file(k, number, image);
	}
	k->to_place.n = kept;
}

static int follow_event(struct event_sink *sink, const struct event *e)
{
	struct in_kernel *k = of_sink(sink);
	struct thread_view thread;
	struct code_addr code;
	int r;

	if (k->to_place.n)
		place_files(k, e->time_ns);
	r = event_push(pipeline_sink(k->pipeline), e);
	if (r < 0 || e->type != EVENT_MAPPING || !e->mapping.ino)
		return r;
	thread = machine_thread(k->machine, e->pid, e->tid);
	if (machine_resolve(k->machine, &thread, MODE_USER, e->mapping.start, e->time_ns, &code) <
	    0)
		*intmap_put(&k->images, file_hash(e->mapping.dev, e->mapping.ino), NULL) =
			code.image.n;
	return 0;
}

static void want_table(struct in_kernel *k, uint32_t number)
{
	struct file *f = &k->files.data[number];

	if (f->wanted_ns || f->given_round == sampler_table_round(k->sampler))
		return;
	f->wanted_ns = clock_monotonic_ns();
	vec_push(&k->wanted, number);
}

static void in_kernel_keep_file(struct sampler_visitor *visitor, const struct sampler_file *file)
{
	struct in_kernel *k = (struct in_kernel *)visitor;

	while (k->files.n <= file->number)
		vec_push(&k->files, (struct file){ 0 });
	k->files.data[file->number].seen = *file;
	vec_push(&k->to_place, file->number);
}

/* The reason why a frame could not be resolved, or -1. */
static int resolve_frame(struct in_kernel *k, const struct thread_view *thread, uint64_t frame,
			 struct code_addr *out)
{
	uint32_t file = (uint32_t)(frame >> FRAME_OFF_BITS);
	uint64_t off = frame & FRAME_OFF_MASK;

	if (frame & FRAME_KERNEL)
		return machine_resolve(k->machine, thread, MODE_KERNEL, frame, k->time_ns, out);
	if (file == FILE_NONE || file == FILE_TOO_MANY)
		return machine_resolve(k->machine, thread, MODE_USER, off, k->time_ns, out);
	*out = (struct code_addr){ in_kernel_image_of(k, file), off };
	return out->image.n ? -1 : LOSS_UNMAPPED;
}

/* Raw stacks. */

static void learn_code(struct sampler_visitor *visitor, int32_t pid, const struct lang_code *code)
{
	struct in_kernel *k = (struct in_kernel *)visitor;

	if (lang_names_is_full(k->names)) {
		lang_names_forget(k->names);
		sampler_tell_codes_again(k->sampler);
	}
	lang_names_learn(k->names, pid, code);
}

static size_t raw_size(const struct raw_stack_message *raw)
{
	return offsetof(struct raw_stack_message, stack) + (size_t)raw->n_pages * RAW_STACK_PAGE;
}

static void keep_raw(struct sampler_visitor *visitor, const struct raw_stack_message *raw)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	size_t size = raw_size(raw);

	vec_reserve(&k->raws, k->raws.n + size);
	memcpy(k->raws.data + k->raws.n, raw, size);
	k->raws.n += size;
	while (k->files.n <= raw->wants) /* the vdso, which no message names */
		vec_push(&k->files, (struct file){ .seen.pid = (int32_t)raw->pid });
	want_table(k, raw->wants);
}

/* The registers and the stack of a thread, for a walk here whose result is kept under a hash. */
struct to_walk {
	int32_t pid, tid;
	uint64_t time_ns, hash;
	struct user_copy copy;
	const uint64_t *kernel; /* its frames in the kernel */
	uint32_t n_kernel;
	bool may_wait; /* for a table that is not ready */
};

/* False: it can't wait here, and has to be walked later. */
static bool walk_here(struct in_kernel *k, struct walked_stacks *set, const struct to_walk *w)
{
	struct thread_view thread = machine_thread(k->machine, w->pid, w->tid);
	struct user_chain chain = user_stacks_walk_copy(pipeline_user_stacks(k->pipeline), w->pid,
							&thread, &w->copy, w->may_wait);
	struct walked walked = { .at = (uint32_t)set->frames.n, .leaf_loss = -1 };

	if (chain.is_pending)
		return false;
	if (chain.cut >= 0)
		pipeline_lose(k->pipeline, (enum loss_reason)chain.cut, UINT32_MAX, 1);
	for (uint32_t i = 0; i < w->n_kernel + chain.n; i++) {
		bool is_user = i >= w->n_kernel;
		struct code_addr code;
		int reason = machine_resolve(k->machine, &thread, is_user ? MODE_USER : MODE_KERNEL,
					     is_user ? chain.pcs[i - w->n_kernel] : w->kernel[i],
					     w->time_ns, &code);

		if (reason >= 0 && i == 0)
			walked.leaf_loss = reason;
		if (reason >= 0 && is_user && i)
			break;
		vec_push(&set->frames, code);
		walked.n++;
	}
	*intmap_put(&set->by_hash, w->hash, NULL) = (uint32_t)set->list.n;
	vec_push(&set->list, walked);
	return true;
}

/* A raw stack has no frames of languages: the sampler does not know the runtime yet. */
static void count_early(struct in_kernel *k, const struct walked_stacks *set, int32_t pid)
{
	static const enum loss_reason losses[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = LOSS_##id##_EARLY,
		LANGUAGES(X)
#undef X
	};
	const struct walked *walked = &set->list.data[set->list.n - 1];

	for (uint32_t i = 0; i < walked->n; i++) {
		const struct code_addr *code = &set->frames.data[walked->at + i];
		image_id image = pipeline_look_at_image(k->pipeline, pid, code->image);
		const struct lang_runtime *runtime = pipeline_runtime(k->pipeline, image);

		if (!runtime || !lang_is_interpreter(runtime, code->offset))
			continue;
		pipeline_lose(k->pipeline, losses[runtime->language], UINT32_MAX, 1);
		return;
	}
}

static bool walk_raw(struct in_kernel *k, const struct raw_stack_message *raw, bool may_wait)
{
	size_t skip = raw->regs[SP_REGISTER] & (RAW_STACK_PAGE - 1);
	size_t size = (size_t)raw->n_pages * RAW_STACK_PAGE;
	struct to_walk w = {
		.pid = (int32_t)raw->pid,
		.tid = (int32_t)raw->tid,
		.time_ns = raw->time_ns,
		.hash = raw->hash,
		.copy = { .regs = (const uint64_t *)raw->regs,
			  .stack = (const uint8_t *)raw->stack + MIN(skip, size),
			  .stack_size = size - MIN(skip, size),
			  .is_whole = raw->n_pages < RAW_PAGES },
		.kernel = (const uint64_t *)raw->kernel,
		.n_kernel = MIN((uint32_t)raw->n_kernel, (uint32_t)MAX_KERNEL_FRAMES),
		.may_wait = may_wait,
	};

	struct walked_stacks *set = raw->is_for_later ? &k->waiting : &k->now;

	if (!walk_here(k, set, &w))
		return false;
	count_early(k, set, w.pid);
	return true;
}

/*
 * Walks the raw stacks up to a time, to which the side band must be known. While a table is not
 * ready, the ring would fill; so, unless may_wait, stacks that need it stay.
 */
static void walk_raws(struct in_kernel *k, uint64_t until_ns, bool may_wait)
{
	uint64_t generation = user_stacks_generation(pipeline_user_stacks(k->pipeline));
	uint64_t oldest_ns = UINT64_MAX;
	size_t kept = 0, size;

	if (!may_wait && k->is_stalled && k->stalled_at == generation)
		return;
	k->is_stalled = false;
	k->stalled_at = generation;
	for (size_t at = 0; at < k->raws.n; at += size) {
		struct raw_stack_message *raw = (struct raw_stack_message *)(k->raws.data + at);

		size = raw_size(raw);
		if (raw->time_ns <= until_ns) {
			if (walk_raw(k, raw, may_wait))
				continue;
			k->is_stalled = true;
		}
		oldest_ns = MIN(oldest_ns, raw->time_ns);
		memmove(k->raws.data + kept, raw, size);
		kept += size;
	}
	k->raws.n = kept;
	user_stacks_rest_walked(pipeline_user_stacks(k->pipeline));
	/* a process may have ended long before the table of its waiting stacks is ready */
	pipeline_keep_ended(k->pipeline, oldest_ns);
	if (!kept && k->raws.cap > RAWS_KEPT_BYTES)
		vec_fini(&k->raws);
}

static void walked_fini(struct walked_stacks *w)
{
	vec_fini(&w->frames);
	vec_fini(&w->list);
	intmap_fini(&w->by_hash);
}

/* A raw stack comes just before its first count, so without a count by now it has none. */
static void forget_walked(struct in_kernel *k)
{
	struct walked_stacks empty = k->before;

	empty.frames.n = empty.list.n = 0;
	intmap_clear(&empty.by_hash);
	k->before = k->now;
	k->now = empty;
}

static const struct walked *find_walked(const struct in_kernel *k, uint64_t hash,
					const struct code_addr **frames)
{
	const struct walked_stacks *sets[] = { &k->now, &k->before, &k->waiting };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const uint32_t *at = intmap_find(&sets[i]->by_hash, hash);

		if (!at)
			continue;
		*frames = sets[i]->frames.data + sets[i]->list.data[*at].at;
		return &sets[i]->list.data[*at];
	}
	return NULL;
}

/* Tables. */

/* True when the wait is over. */
static bool give_table(struct in_kernel *k, uint32_t number)
{
	struct user_stacks *stacks = pipeline_user_stacks(k->pipeline);
	struct file *f = &k->files.data[number];
	image_id image = in_kernel_image_of(k, number);
	bool is_overdue = clock_monotonic_ns() - f->wanted_ns > TABLE_WAIT_NS;
	const struct unwind_table *table = NULL;
	bool is_there = number == TABLE_OF_VDSO ? user_stacks_vdso_table(stacks, &table)
			: image.n ? user_stacks_table(stacks, f->seen.pid, image, &table)
				  : is_overdue; /* no record named it */

	if (!is_there)
		return false;
	sampler_set_table(k->sampler, number, table);
	f->wanted_ns = 0;
	f->given_round = sampler_table_round(k->sampler);
	return true;
}

/* The copied tables are seldom needed here. */
static void rest_tables(struct in_kernel *k)
{
	const struct unwind_table *table;

	while ((table = sampler_next_table(k->sampler)))
		unwind_library_rest(table);
}

static void give_tables(struct in_kernel *k)
{
	size_t kept = 0;

	rest_tables(k);
	for (size_t i = 0; i < k->wanted.n; i++)
		if (!give_table(k, k->wanted.data[i]))
			k->wanted.data[kept++] = k->wanted.data[i];
	k->wanted.n = kept;
}

int in_kernel_poll(struct in_kernel *k, struct error *err)
{
	if (k->raws.n > RAWS_MAX_BYTES)
		return 0;
	return sampler_poll(k->sampler, &k->visitor, err);
}

void in_kernel_catch_up(struct in_kernel *k, uint64_t until_ns)
{
	place_files(k, until_ns);
	if (k->with_tables)
		give_tables(k);
	k->known_ns = until_ns;
	walk_raws(k, until_ns, is_final(k));
}

bool in_kernel_is_behind(const struct in_kernel *k)
{
	return k->raws.n || k->to_place.n || (k->with_tables && k->wanted.n);
}

/* Counts. */

/* LANGUAGE_NONE: the frame is native. */
static enum language language_of(uint64_t frame)
{
	uint64_t file = frame >> FRAME_OFF_BITS;

	return !(frame & FRAME_KERNEL) && file > FILE_LANGUAGE && file < FILE_LANGUAGE + N_LANGUAGES
		       ? (enum language)(file - FILE_LANGUAGE)
		       : LANGUAGE_NONE;
}

static enum loss_reason loss_of_fit(enum language language)
{
	static const enum loss_reason losses[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = LOSS_##id##_MISMATCH,
		LANGUAGES(X)
#undef X
	};

	return losses[language];
}

static enum loss_reason loss_of_name(enum language language)
{
	static const enum loss_reason losses[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = LOSS_##id##_NAME,
		LANGUAGES(X)
#undef X
	};

	return losses[language];
}

static void push_run(struct in_kernel *k, struct run *run)
{
	for (size_t i = 0; i < run->n; i++)
		vec_push(&k->frames, run->data[i]);
	run->n = 0;
}

/*
 * The run that was read is complete with its native frame, the interpreter's loop. A run that was
 * taken too early belongs to the next such frame.
 */
static void push_loop(struct in_kernel *k, enum language_fit fit, struct code_addr loop)
{
	struct run read = k->run;

	if (fit == LANGUAGE_LACKS_RUN) {
		push_run(k, &k->held_run);
		k->run = k->held_run;
		k->held_run = read;
	} else if (fit == LANGUAGE_FITS) {
		push_run(k, &k->run);
	}
	k->run.n = 0;
	vec_push(&k->frames, loop);
}

/*
 * How far the stack's frames of languages can be trusted. A loop that lacks its run is the
 * innermost one, and it is at its beginning or end only if it is the stack's innermost frame, too.
 */
static enum language_fit fit_of(struct in_kernel *k, const struct sampler_count *c)
{
	enum language language = LANGUAGE_NONE;

	if (c->fit == LANGUAGE_FITS)
		return LANGUAGE_FITS;
	for (uint32_t i = c->n_kernel; !language && i < c->n_kernel + c->n_user; i++)
		language = language_of(c->frames[i]);
	if (!language || (c->fit == LANGUAGE_LACKS_RUN && language_of(c->frames[c->n_kernel])))
		return c->fit;
	pipeline_lose(k->pipeline, loss_of_fit(language), c->counter, c->samples);
	return LANGUAGE_RUNS_LEFT;
}

/* The frame of a language in the i-th and the next number. */
static void push_language_frame(struct in_kernel *k, const struct sampler_count *c, uint32_t i)
{
	uint64_t second = i + 1 < c->n_kernel + c->n_user ? c->frames[i + 1] : 0;
	const struct lang_frame frame = {
		.pid = c->pid,
		.pointer = c->frames[i] & FRAME_OFF_MASK,
		.check = second & CHECK_MASK,
		.position = (uint32_t)(second >> POSITION_SHIFT),
	};
	struct code_addr code;

	if (lang_names_place(k->names, &frame, &code))
		vec_push(&k->run, code);
	else
		pipeline_lose(k->pipeline, loss_of_name(language_of(c->frames[i])), c->counter,
			      c->samples);
}

/* Whether a native frame is the interpreter's loop. A caller's address is behind its call. */
static bool is_loop(struct in_kernel *k, const struct sampler_count *c, struct code_addr code,
		    uint32_t i)
{
	image_id image = pipeline_look_at_image(k->pipeline, c->pid, code.image);
	const struct lang_runtime *runtime = pipeline_runtime(k->pipeline, image);

	return runtime && lang_is_interpreter(runtime, code.offset - (i > c->n_kernel));
}

static void push_frames(struct in_kernel *k, const struct sampler_count *c,
			const struct thread_view *thread, struct pipeline_sample *sample)
{
	enum language_fit fit = fit_of(k, c);
	bool is_run = false; /* a frame of a language was read, and not its native frame yet */

	k->run.n = k->held_run.n = 0;
	for (uint32_t i = 0; i < c->n_kernel + c->n_user; i++) {
		struct code_addr code;
		int reason;

		if (language_of(c->frames[i])) {
			push_language_frame(k, c, i++);
			is_run = true;
			continue;
		}
		reason = resolve_frame(k, thread, c->frames[i], &code);
		if (reason >= 0 && i == 0)
			sample->leaf_loss = reason;
		else if (reason >= 0)
			sample->n_unmapped++;
		if (reason >= 0 && i >= MAX(c->n_kernel, 1u))
			break; /* as in the pipeline: the following frames can't be trusted either
				*/
		if (is_run || (k->held_run.n && is_loop(k, c, code, i)))
			push_loop(k, fit, code);
		else
			vec_push(&k->frames, code);
		is_run = false;
	}
	if (fit == LANGUAGE_FITS) /* the stack was cut before the native frame */
		push_run(k, &k->run);
}

/* False: the stack is not among the walked raw stacks. */
static bool push_walked(struct in_kernel *k, uint64_t hash, struct pipeline_sample *sample)
{
	const struct code_addr *frames;
	const struct walked *walked = find_walked(k, hash, &frames);

	if (!walked)
		return false;
	sample->leaf_loss = walked->leaf_loss;
	for (uint32_t i = 0; i < walked->n; i++)
		vec_push(&k->frames, frames[i]);
	return true;
}

/*
 * A sample a millisecond, like a profile of the waiting thread at 1000 Hz. The rest counts with the
 * next wait of that state.
 */
static uint64_t samples_of_wait(struct in_kernel *k, const struct sampler_count *c)
{
	uint64_t *rest = &k->wait_rest_ns[MIN(c->counter - k->first_wait, N_WAIT_STATES - 1u)];
	uint64_t ns = *rest + c->period, n = ns / OFF_CPU_SAMPLE_NS;

	*rest = ns % OFF_CPU_SAMPLE_NS;
	return MAX(n, 1u);
}

/*
 * Walks the count's raw stack if possible. True if it still waits for a table or for the side band;
 * then the count is kept until the next reading. A stack from after known_ns would be walked by the
 * mappings of the program before an exec.
 */
static bool walk_or_defer(struct in_kernel *k, const struct sampler_count *c)
{
	const struct code_addr *frames;

	if (c->frames || find_walked(k, c->stack, &frames) || !k->raws.n)
		return false;
	walk_raws(k, k->known_ns, is_final(k)); /* it may have arrived just now */
	return !is_final(k) && k->raws.n && !find_walked(k, c->stack, &frames);
}

static bool keep_late(struct in_kernel *k, const struct sampler_count *c)
{
	struct late_count *late = vec_add(&k->late);

	late->count = *c;
	snprintf(late->comm, sizeof(late->comm), "%s", c->comm);
	return true;
}

static bool add_count(struct sampler_visitor *visitor, const struct sampler_count *c)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	struct thread_view thread = machine_thread(k->machine, c->pid, c->tid);
	image_id app = c->app ? in_kernel_image_of(k, c->app) : thread.app;
	struct pipeline_sample sample = {
		.pid = c->pid,
		.tid = c->tid,
		.cpu = c->cpu,
		.counter = c->counter,
		.comm = c->pid == PID_OTHER_NAMESPACE
				? thread.comm
				: strings_add(machine_strings(k->machine), c->comm),
		.app = app.n ? app : thread.app,
		.cgroup = machine_cgroup(k->machine, &thread, c->cgroup),
		.time_ns = k->time_ns,
		.period = c->period,
		.leaf_loss = -1,
	};

	if (walk_or_defer(k, c))
		return keep_late(k, c);
	sample.samples = c->counter < k->first_wait ? c->samples : samples_of_wait(k, c);
	k->frames.n = 0;
	if (c->frames)
		push_frames(k, c, &thread, &sample);
	else if (!push_walked(k, c->stack, &sample))
		return false;
	if (!k->frames.n) {
		vec_push(&k->frames, (struct code_addr){ IMAGE_UNKNOWN_ID, 0 });
		sample.leaf_loss = LOSS_UNMAPPED;
	}
	sample.frames = k->frames.data;
	sample.n_frames = (uint32_t)k->frames.n;
	pipeline_add(k->pipeline, &sample);
	return true;
}

/* Programs that are about to start. */

/* The command does not wait longer than this for the tables, which are built only once. */
#define EXPECT_NS 2000000000ULL

/* The number that tells an inode's users apart; 0 for file systems that do not give it. */
static uint32_t generation_of(int fd)
{
	int generation = 0;

	return ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 ? (uint32_t)generation : 0;
}

/* The number of the file; 0: not prepared. */
static uint32_t expect_file(struct in_kernel *k, int32_t pid, const char *path)
{
	cleanup(close_at_exit) int fd = guard_open(GUARD_HERE, path, &guard_image_rules, NULL);
	struct image image = { .kind = IMAGE_FILE, .path = path };
	struct sampler_file file = { .pid = pid };
	struct file_key key = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	key.ino = file.ino = image.ino = st.st_ino;
	key.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	key.generation = generation_of(fd);
	file.dev = image.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
	file.number = sampler_know_file(k->sampler, &key);
	if (!file.number)
		return 0;
	while (k->files.n <= file.number)
		vec_push(&k->files, (struct file){ 0 });
	k->files.data[file.number].seen = file;
	k->files.data[file.number].image = image_intern(machine_images(k->machine), &image);
	examine_file(k, file.number, k->files.data[file.number].image);
	want_table(k, file.number);
	return file.number;
}

void in_kernel_expect_program(struct in_kernel *k, int32_t pid, const char *path)
{
	uint64_t until_ns = clock_monotonic_ns() + EXPECT_NS;
	struct program_files files = { 0 };

	program_files_find(path, &files);
	vec_foreach (&files, file)
		expect_file(k, pid, *file);
	program_files_fini(&files);
	for (give_tables(k);
	     (k->wanted.n || !sampler_has_tables(k->sampler)) && clock_monotonic_ns() < until_ns;
	     give_tables(k))
		usleep(1000);
}

struct in_kernel *in_kernel_new(struct sampler *sampler, struct pipeline *pipeline,
				struct machine *machine, bool with_tables)
{
	struct in_kernel *k = xcalloc(1, sizeof(*k));

	k->visitor =
		(struct sampler_visitor){ in_kernel_keep_file, learn_code, keep_raw, add_count };
	k->with_tables = with_tables;
	k->first_wait = UINT32_MAX;
	k->sink.push = follow_event;
	k->sampler = sampler;
	k->pipeline = pipeline;
	k->machine = machine;
	k->names = lang_names_new(pipeline, machine);
	return k;
}

void in_kernel_free(struct in_kernel *k)
{
	if (!k)
		return;
	vec_fini(&k->files);
	vec_fini(&k->frames);
	vec_fini(&k->wanted);
	vec_fini(&k->to_place);
	vec_fini(&k->raws);
	vec_fini(&k->late);
	walked_fini(&k->now);
	walked_fini(&k->before);
	walked_fini(&k->waiting);
	intmap_fini(&k->images);
	vec_fini(&k->run);
	vec_fini(&k->held_run);
	lang_names_free(k->names);
	free(k);
}

struct event_sink *in_kernel_sink(struct in_kernel *k)
{
	return &k->sink;
}

static void add_late(struct in_kernel *k)
{
	size_t n = k->late.n, kept;

	for (size_t i = 0; i < n; i++) {
		struct late_count late = k->late.data[i]; /* may be kept again, behind these */

		late.count.comm = late.comm;
		if (!add_count(&k->visitor, &late.count))
			pipeline_lose(k->pipeline, LOSS_RING_FULL, late.count.counter,
				      late.count.samples);
	}
	kept = k->late.n - n;
	if (kept)
		memmove(k->late.data, k->late.data + n, kept * sizeof(*k->late.data));
	k->late.n = kept;
}

int in_kernel_read(struct in_kernel *k, uint64_t time_ns, struct error *err)
{
	int e;

	k->time_ns = time_ns;
	/* files that no raw stack named, because the ring had no room for it */
	for (; k->with_tables && k->n_seen < k->files.n; k->n_seen++)
		want_table(k, k->n_seen);
	add_late(k);
	e = sampler_read(k->sampler, &k->visitor, err);
	forget_walked(k);
	return e;
}

void in_kernel_expect_waits(struct in_kernel *k, uint32_t first_counter)
{
	k->first_wait = first_counter;
}

void in_kernel_put_wait(struct in_kernel *k, const char *proc, const struct blocked_thread *t,
			uint64_t now_ns)
{
	cleanup(free_at_exit) void *stack = xmalloc(WAIT_STACK_BYTES);
	uint64_t regs[DWARF_REGISTERS] = { [SP_REGISTER] = t->sp, [PC_REGISTER] = t->pc };
	struct wait wait = {
		.stack = hash_u64(now_ns << 22 ^ (uint32_t)t->tid),
		.start_ns = now_ns,
		.pid = (uint32_t)t->pid,
		.state = (uint16_t)t->state,
	};
	struct to_walk w = {
		.pid = t->pid,
		.tid = t->tid,
		.time_ns = now_ns,
		.hash = wait.stack,
		.copy = { .regs = regs,
			  .stack = stack,
			  .stack_size = off_cpu_read_stack(proc, t, stack, WAIT_STACK_BYTES) },
		.may_wait = true,
	};

	memcpy(wait.comm, t->comm, sizeof(wait.comm));
	walk_here(k, &k->waiting, &w);
	sampler_put_wait(k->sampler, t->tid, &wait);
}

int in_kernel_read_waits(struct in_kernel *k, uint64_t now_ns, struct error *err)
{
	k->time_ns = now_ns;
	return sampler_read_waits(k->sampler, now_ns, &k->visitor, err);
}
