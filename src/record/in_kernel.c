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
#include "guard/limits.h"
#include "guard/open.h"
#include "machine/address_space.h"
#include "machine/machine.h"
#include "perfdata/regs.h"
#include "pipeline/lang_names.h"
#include "pipeline/off_cpu.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"
#include "record/code_fetch.h"
#include "record/in_kernel_frames.h"
#include "record/in_kernel_java.h"
#include "record/in_kernel_labels.h"
#include "record/in_kernel_raws.h"
#include "record/in_kernel_runtimes.h"
#include "record/interpreter_files.h"
#include "record/java_frames.h"
#include "record/program_files.h"
#include "record/thread_contexts.h"
#include "unwind/library.h"
#include "unwind/rule.h"

/* The longest wait for a file's path; then stacks through it go by frame pointer. */
#define TABLE_WAIT_NS 2000000000ULL

/* The bytes that are read of a stack of a thread that waited before the start. */
#define WAIT_STACK_BYTES 16384

static bool is_final(const struct in_kernel *k)
{
	return k->known_ns == UINT64_MAX;
}

static struct in_kernel *of_sink(struct event_sink *sink)
{
	return (struct in_kernel *)((char *)sink - offsetof(struct in_kernel, sink));
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

/*
 * Places files up to a time, to which the side band must be known. A file is placed at once,
 * because its process may end soon.
 */
static void place_files(struct in_kernel *k, uint64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->to_place.n; i++) {
		uint32_t number = k->to_place.data[i];
		struct seen_file *f = &k->files.data[number];
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
			in_kernel_examine(k, number, image);
	}
	k->to_place.n = kept;
}

static int follow_event(struct event_sink *sink, const struct event *e)
{
	struct in_kernel *k = of_sink(sink);
	struct code_addr code = { IMAGE_UNKNOWN_ID, 0 };
	int r;

	place_files(k, e->time_ns);
	r = event_push(k->next, e);
	if (r >= 0 && e->type == EVENT_MAPPING && e->mapping.ino) {
		struct thread_view thread = machine_thread(k->machine, e->pid, e->tid);
		uint64_t file = in_kernel_file_hash(e->mapping.dev, e->mapping.ino);

		if (machine_resolve(k->machine, &thread, MODE_USER, e->mapping.start, e->time_ns,
				    &code) < 0)
			*intmap_put(&k->images, file, NULL) = code.image.n;
	}
	thread_contexts_follow(k->contexts, e, code.image);
	return r;
}

static void want_table(struct in_kernel *k, uint32_t number)
{
	struct seen_file *f = &k->files.data[number];

	if (f->wanted_ns || f->given_round == sampler_table_round(k->sampler))
		return;
	f->wanted_ns = clock_monotonic_ns();
	vec_push(&k->wanted, number);
}

static void in_kernel_keep_file(struct sampler_visitor *visitor, const struct sampler_file *file)
{
	struct in_kernel *k = (struct in_kernel *)visitor;

	while (k->files.n <= file->number)
		vec_push(&k->files, (struct seen_file){ 0 });
	k->files.data[file->number].seen = *file;
	vec_push(&k->to_place, file->number);
}

/* Raw stacks. */

/* A function whose texts can't be read has no name; its frames are counted. */
static void learn_code(struct sampler_visitor *visitor, int32_t pid, const struct lang_code *code)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	struct lang_code *fetched = NULL;

	if (code_has_away(code)) {
		fetched =
			code_fetch(user_stacks_reads(pipeline_user_stacks(k->pipeline)), pid, code);
		code = fetched;
	}
	if (!code)
		return;
	if (lang_names_is_full(k->names)) {
		lang_names_forget(k->names);
		sampler_tell_codes_again(k->sampler);
	}
	lang_names_learn(k->names, pid, code);
	free(fetched);
}

static void keep_raw(struct sampler_visitor *visitor, const struct raw_stack_message *raw)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	size_t size = raw_stack_size(raw);

	vec_reserve(&k->raws, k->raws.n + size);
	memcpy(k->raws.data + k->raws.n, raw, size);
	k->raws.n += size;
	if (raw->is_copy)
		k->copy_ns = MIN(k->copy_ns, raw->time_ns);
	k->java_stacks.copied += raw->is_copy && !raw->same_as;
	if (raw->wants == WANTS_NONE)
		return;
	while (k->files.n <= raw->wants) /* the vdso, which no message names */
		vec_push(&k->files, (struct seen_file){ .seen.pid = (int32_t)raw->pid });
	want_table(k, raw->wants);
}

/* Tables. */

/* True when the wait is over. */
static bool give_table(struct in_kernel *k, uint32_t number)
{
	struct user_stacks *stacks = pipeline_user_stacks(k->pipeline);
	struct seen_file *f = &k->files.data[number];
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

int in_kernel_poll(struct in_kernel *k, size_t most_bytes, struct error *err)
{
	if (k->raws.n > RAWS_MAX_BYTES)
		return 0;
	return sampler_poll(k->sampler, &k->visitor, most_bytes, err);
}

void in_kernel_catch_up(struct in_kernel *k, uint64_t until_ns)
{
	place_files(k, until_ns);
	in_kernel_examine_again(k);
	if (k->with_tables)
		give_tables(k);
	k->known_ns = until_ns;
	raw_stacks_walk(k, until_ns, is_final(k));
}

bool in_kernel_is_behind(const struct in_kernel *k)
{
	/* a file system that never answers is no reason to look more often */
	return k->raws.n || k->to_place.n || k->to_examine.n > k->n_late ||
	       (k->with_tables && k->wanted.n);
}

/* False: the stack is not among the walked raw stacks. */
static bool push_walked(struct in_kernel *k, uint64_t hash, struct pipeline_sample *sample)
{
	const struct code_addr *frames;
	const struct walked_stack *walked = walked_stacks_find(k, hash, &frames);

	if (!walked)
		return false;
	sample->leaf_loss = walked->leaf_loss;
	sample->is_cut = walked->is_cut;
	for (uint32_t i = 0; i < walked->n; i++)
		vec_push(&k->frames, frames[i]);
	return true;
}

/*
 * A sample a millisecond, like a profile of the waiting thread at 1000 Hz. The rest counts with the
 * next wait of that state. Waits for the kernel's locks are many and short: a sample each.
 */
static uint64_t samples_of_wait(struct in_kernel *k, const struct sampler_count *c)
{
	uint64_t *rest = &k->wait_rest_ns[MIN(c->counter - k->first_wait, N_WAIT_EVENTS - 1u)];
	uint64_t ns = *rest + c->period, n = ns / OFF_CPU_SAMPLE_NS;

	if (c->counter - k->first_wait >= N_WAIT_STATES)
		return c->samples;
	*rest = n ? ns % OFF_CPU_SAMPLE_NS : 0;
	return MAX(n, 1u);
}

/* More names than programs have: a program that invents names must not fill the table of images. */
#define MARKS_MAX 2048

/* A frame for a fact about a wait: its image is the prefix and the name. */
static struct code_addr wait_mark(struct in_kernel *k, const char *prefix, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s", prefix, name);
	string_id id = strings_add(machine_strings(k->machine), path);
	struct image image = { .kind = IMAGE_NAMED, .path = path };
	uint32_t *known = intmap_find(&k->mark_names, id.n);

	if (known)
		return (struct code_addr){ { *known }, 0 };
	if (k->n_marks >= MARKS_MAX && strcmp(name, "other") != 0)
		return wait_mark(k, prefix, "other");
	k->n_marks++;
	known = intmap_put(&k->mark_names, id.n, NULL);
	*known = image_intern(machine_images(k->machine), &image).n;
	return (struct code_addr){ { *known }, 0 };
}

/* What the wait is for, between its waker and its own frames (machine/image.h). */
static void push_detail(struct in_kernel *k, const struct sampler_count *c)
{
	bool is_owner = DETAIL_KIND(c->detail) == DETAIL_OWNER;
	char name[64];

	if (c->detail && off_cpu_detail_text(k->machine, "/proc", "/sys", c->pid, c->detail,
					     k->with_thread_ids, name, sizeof(name)))
		vec_push(&k->frames,
			 wait_mark(k, is_owner ? IMAGE_OWNER_PREFIX : IMAGE_DEVICE_PREFIX, name));
}

/* The waker's frames, outermost first, and the mark behind them (machine/image.h). */
static void push_waker(struct in_kernel *k, const struct sampler_count *c)
{
	struct pipeline_sample unused = { .leaf_loss = -1 };
	struct sampler_waker w;

	if (!c->waker)
		return;
	if (!sampler_find_waker(k->sampler, c->waker, &w)) {
		pipeline_lose(k->pipeline, LOSS_WAKERS_FULL, c->counter, 1);
		return;
	}
	if (w.frames) {
		const struct sampler_count of_waker = { .pid = w.pid,
							.tid = w.tid,
							.counter = c->counter,
							.frames = w.frames,
							.n_kernel = w.n_kernel,
							.n_user = w.n_user,
							.fit = w.fit,
							.samples = 1 };
		struct thread_view thread = machine_thread(k->machine, w.pid, w.tid);

		in_kernel_push_frames(k, &of_waker, &thread, &unused);
	} else if (!push_walked(k, w.stack, &unused)) {
		pipeline_lose(k->pipeline, LOSS_WAKERS_FULL, c->counter, 1);
	}
	for (size_t i = 0; i < k->frames.n / 2; i++) {
		struct code_addr other = k->frames.data[k->frames.n - 1 - i];

		k->frames.data[k->frames.n - 1 - i] = k->frames.data[i];
		k->frames.data[i] = other;
	}
	vec_push(&k->frames, wait_mark(k, IMAGE_WAKER_PREFIX, w.comm));
}

/* The labels of a sample, innermost of all (machine/image.h). */
static void push_labels(struct in_kernel *k, const struct sampler_count *c)
{
	struct code_addr frames[LABELS_MAX];
	size_t n;

	if (!k->labels || !c->waker)
		return;
	n = label_marks_place(k->labels, sampler_find_labels(k->sampler, c->waker), frames);
	for (size_t i = 0; i < n; i++)
		vec_push(&k->frames, frames[i]);
}

/*
 * Walks the count's raw stack if possible. True if it still waits for a table or for the side band;
 * then the count is kept until the next reading. A stack from after known_ns would be walked by the
 * mappings of the program before an exec.
 */
static bool walk_or_defer_one(struct in_kernel *k, bool has_frames, uint64_t stack)
{
	const struct code_addr *frames;

	if (has_frames || walked_stacks_find(k, stack, &frames) || !k->raws.n)
		return false;
	raw_stacks_walk(k, k->known_ns, is_final(k)); /* it may have arrived just now */
	return !is_final(k) && k->raws.n && !walked_stacks_find(k, stack, &frames);
}

static bool walk_or_defer(struct in_kernel *k, const struct sampler_count *c)
{
	struct sampler_waker w;

	return walk_or_defer_one(k, c->frames || !c->stack, c->stack) ||
	       (c->waker && sampler_find_waker(k->sampler, c->waker, &w) &&
		walk_or_defer_one(k, w.frames, w.stack));
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
		.comm = c->pid == PID_OTHER_NAMESPACE || !*c->comm
				? thread.comm
				: strings_add(machine_strings(k->machine), c->comm),
		.app = app.n ? app : thread.app,
		.cgroup = machine_cgroup(k->machine, &thread, c->cgroup),
		.time_ns = c->time_ns ? c->time_ns : k->time_ns,
		.is_timed = c->time_ns > 0,
		.period = c->period,
		.leaf_loss = -1,
	};
	size_t n_facts;

	if (walk_or_defer(k, c))
		return keep_late(k, c);
	sample.samples = c->counter < k->first_wait ? c->samples : samples_of_wait(k, c);
	k->frames.n = 0;
	if (c->counter < k->first_wait)
		push_labels(k, c);
	else
		push_waker(k, c);
	push_detail(k, c);
	n_facts = k->frames.n;
	if (c->frames)
		in_kernel_push_frames(k, c, &thread, &sample);
	else if (c->stack && !push_walked(k, c->stack, &sample))
		return false;
	if (k->frames.n == n_facts) {
		vec_push(&k->frames, (struct code_addr){ IMAGE_UNKNOWN_ID, 0 });
		sample.leaf_loss = c->stack ? LOSS_UNMAPPED : LOSS_WAITS_BARE;
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
		vec_push(&k->files, (struct seen_file){ 0 });
	k->files.data[file.number].seen = file;
	k->files.data[file.number].image = image_intern(machine_images(k->machine), &image);
	in_kernel_examine(k, file.number, k->files.data[file.number].image);
	want_table(k, file.number);
	return file.number;
}

/* No message names the vdso. */
static void want_vdso(struct in_kernel *k, int32_t pid)
{
	if (!k->files.n)
		vec_push(&k->files, (struct seen_file){ .seen.pid = pid });
	want_table(k, TABLE_OF_VDSO);
}

static void expect_files(struct in_kernel *k, int32_t pid, const struct program_files *files)
{
	uint64_t until_ns = clock_monotonic_ns() + EXPECT_NS;

	vec_foreach (files, file)
		expect_file(k, pid, *file);
	want_vdso(k, pid);
	for (give_tables(k); (k->wanted.n || k->to_examine.n || !sampler_has_tables(k->sampler)) &&
			     clock_monotonic_ns() < until_ns;
	     give_tables(k)) {
		usleep(1000);
		in_kernel_examine_again(k);
	}
}

void in_kernel_expect_program(struct in_kernel *k, int32_t pid, const char *path)
{
	struct program_files files = { 0 };

	program_files_find(path, &files);
	program_files_add_modules(&files);
	expect_files(k, pid, &files);
	program_files_fini(&files);
}

void in_kernel_expect_interpreters(struct in_kernel *k, const int32_t *pids, size_t n)
{
	struct program_files files = { 0 };

	for (size_t i = 0; i < n; i++)
		interpreter_files_of_process("/proc", pids[i], &files);
	if (!n)
		interpreter_files_find("/proc", &files);
	else
		program_files_add_modules(&files);
	expect_files(k, getpid(), &files);
	program_files_fini(&files);
}

struct in_kernel *in_kernel_new(struct sampler *sampler, struct pipeline *pipeline,
				struct machine *machine, struct event_sink *next, bool with_tables)
{
	struct in_kernel *k = xcalloc(1, sizeof(*k));

	k->visitor =
		(struct sampler_visitor){ in_kernel_keep_file, learn_code, keep_raw, add_count };
	k->with_tables = with_tables;
	k->first_wait = UINT32_MAX;
	k->copy_ns = UINT64_MAX;
	k->sink.push = follow_event;
	k->next = next;
	k->sampler = sampler;
	k->pipeline = pipeline;
	k->machine = machine;
	k->names = lang_names_new(pipeline, machine);
	k->java = in_kernel_java_new(k);
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
	vec_fini(&k->to_examine);
	vec_fini(&k->raws);
	vec_fini(&k->late);
	walked_stacks_fini(&k->now);
	walked_stacks_fini(&k->before);
	walked_stacks_fini(&k->waiting);
	intmap_fini(&k->images);
	intmap_fini(&k->mark_names);
	vec_fini(&k->run);
	vec_fini(&k->held_run);
	lang_names_free(k->names);
	in_kernel_log_java(k);
	java_frames_free(k->java);
	label_marks_free(k->labels);
	thread_contexts_free(k->contexts);
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
		sampler_find_frames(k->sampler, &late.count);
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
	thread_contexts_look(k->contexts, clock_monotonic_ns());
	e = sampler_read(k->sampler, is_final(k) ? UINT64_MAX : time_ns, &k->visitor, err);
	walked_stacks_forget(k);
	java_frames_next_round(k->java);
	return e;
}

void in_kernel_expect_waits(struct in_kernel *k, uint32_t first_counter, bool with_thread_ids)
{
	k->first_wait = first_counter;
	k->with_thread_ids = with_thread_ids;
}

void in_kernel_expect_labels(struct in_kernel *k, const char *const *names,
			     const char *const *in_program, size_t n)
{
	k->labels = label_marks_new(k->pipeline, k->machine, names, n);
	k->contexts = thread_contexts_new(k->pipeline, k->sampler, in_program, n);
}

/* Of a thread that waits: as the kernel shows it, or else /proc. 0: no stack. Names of Java and
 * JavaScript are those of the session at hand: such code is followed at the end alone. */
static uint64_t walk_blocked(struct in_kernel *k, const struct blocked_thread *t, uint64_t now_ns,
			     bool is_end)
{
	struct memory_reads *reads = user_stacks_reads(pipeline_user_stacks(k->pipeline));
	cleanup(free_at_exit) void *bytes = xmalloc(WAIT_STACK_BYTES);
	struct blocked_stack stack = { .regs = {
					       [SP_REGISTER] = t->sp,
					       [PC_REGISTER] = t->pc,
					       [UNWIND_RETURNED] = UINT64_MAX, /* 0: a new thread */
				       } };
	bool is_there = sampler_find_stack(k->sampler, t->tid, &stack);
	struct to_walk w = {
		.pid = t->pid,
		.tid = t->tid,
		.time_ns = now_ns,
		.hash = hash_u64(now_ns << 22 ^ (uint32_t)t->tid),
		.copy = { .regs = (const uint64_t *)stack.regs,
			  .is_i386 = is_there ? stack.is_i386 : t->is_i386,
			  .is_in_kernel = true,
			  .is_wait = true,
			  .time_ns = is_end ? now_ns : 0,
			  .stack = bytes,
			  .stack_size = off_cpu_read_stack(reads, t->pid, stack.regs[SP_REGISTER],
							   bytes, WAIT_STACK_BYTES) },
		.kernel = (const uint64_t *)stack.kernel,
		.n_kernel = MIN(stack.n_kernel, (uint32_t)MAX_KERNEL_FRAMES),
		.patience = TABLE_AWAITED,
	};

	if (!is_there && !t->pc)
		return 0;
	raw_stack_walk(k, &k->waiting, &w);
	return w.hash;
}

bool in_kernel_put_wait(struct in_kernel *k, const struct blocked_thread *t, uint64_t now_ns)
{
	struct wait wait = {
		.stack = walk_blocked(k, t, now_ns, false),
		.start_ns = now_ns,
		.pid = (uint32_t)t->pid,
		.state = (uint16_t)t->state,
		.is_rough = 1,
	};

	memcpy(wait.comm, t->comm, sizeof(wait.comm));
	return sampler_put_wait(k->sampler, t->tid, &wait);
}

/* The sampler captures the stack of most waits as they end. This one lasts. */
static bool add_lasting(struct sampler_visitor *visitor, const struct sampler_count *c)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	bool was_put = c->stack && intmap_find(&k->waiting.by_hash, c->stack);
	struct sampler_count count = *c;
	struct blocked_thread t;

	if ((!c->stack || was_put) && off_cpu_look("/proc", c->pid, c->tid, &t)) {
		count.stack = walk_blocked(k, &t, k->time_ns, true);
		count.comm = t.comm;
	}
	return add_count(visitor, &count);
}

int in_kernel_read_waits(struct in_kernel *k, uint64_t now_ns, struct error *err)
{
	int e;

	k->time_ns = now_ns;
	k->visitor.count = add_lasting;
	e = sampler_read_waits(k->sampler, now_ns, &k->visitor, err);
	k->visitor.count = add_count;
	return e;
}
