/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap_samples.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "heap/heap_library.h"
#include "heap/heap_probes.h"
#include "heap/heap_ring.h"
#include "heap/held.h"
#include "heap/mapped.h"
#include "heap/operators.h"
#include "machine/machine.h"
#include "machine/proc.h"
#include "pipeline/frames.h"
#include "pipeline/heap_events.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"

/* Between two readings; the shorter one when the last reading found much. */
#define PATIENCE_NS (50 * NS_PER_MS)
#define BURST_NS    (2 * NS_PER_MS)
#define BURST       (HEAP_SLOTS / 8)

/* Records of threads that no event named: a program can invent any number of ids. */
#define UNNAMED_MAX 4096

/* The library, operator new and the library again: its frames are among the first ones. */
#define OWN_FRAMES 6

/* A process with probes, and the thread with which they end. */
struct probed {
	int32_t pid, tid;
};

struct heap {
	struct event_sink sink;
	struct heap_ring *ring;     /* the library's; NULL: … */
	struct heap_probes *probes; /* … by uprobes */
	struct heap_variables variables;
	char *environment[3];
	char *library;
	struct pipeline *pipeline;
	struct machine *machine;
	uint32_t first_counter;
	uint64_t mean_bytes;
	struct heap_records pending; /* by time */
	size_t n_delivered;          /* of them */
	size_t n_collected;          /* by the last reading */
	struct held *held;
	struct operators operators;
	struct mapped mapped;
	VEC(struct probed) probed;
	bool has_stopped;            /* no more probes are placed */
	VEC(int32_t) scanned;        /* those whose mappings were read from /proc */
	uint64_t n_execs, n_started; /* programs, and those that are seen */
	uint64_t n_unnamed;          /* records of threads that no event named */
	double rest[N_HEAP_EVENTS];  /* of estimates, which samples have as whole numbers */
	struct code_addr frames[MAX_FRAMES];
	bool is_cut; /* the callers of the last of them are not known */
};

int heap_open(uint64_t mean_bytes, struct heap **out, struct error *err)
{
	struct heap *h = xcalloc(1, sizeof(*h));
	int e = heap_ring_open(mean_bytes, &h->ring, err);

	h->library = e < 0 ? NULL : heap_library_find(err);
	if (!h->library) {
		heap_free(h);
		return e < 0 ? e : -ENOENT;
	}
	h->mean_bytes = mean_bytes;
	h->variables = heap_library_variables(h->library, heap_ring_path(h->ring));
	h->environment[0] = h->variables.preload;
	h->environment[1] = h->variables.ring;
	h->held = held_new();
	*out = h;
	return 0;
}

int heap_open_probes(uint64_t mean_bytes, struct heap **out, struct error *err)
{
	struct heap *h = xcalloc(1, sizeof(*h));
	int e = heap_probes_open(mean_bytes, &h->probes, err);

	if (e < 0) {
		heap_free(h);
		return e;
	}
	h->mean_bytes = mean_bytes;
	h->held = held_new();
	*out = h;
	return 0;
}

/* A thread that has ended has none, and neither has a process that nobody waited for. */
static bool has_memory(int32_t tid)
{
	cleanup(free_at_exit) char *link = xasprintf("/proc/%d/exe", tid);
	char program[PATH_MAX];

	return readlink(link, program, sizeof(program)) > 0;
}

/* A thread of the process, the first one if it lives. */
static int32_t living_thread(int32_t pid)
{
	struct pid_list tids = { 0 };
	int32_t living = pid;

	proc_list_threads("/proc", pid, &tids);
	for (size_t i = 0; i < tids.n; i++)
		if (has_memory(tids.data[i])) {
			living = tids.data[i];
			break;
		}
	vec_fini(&tids);
	return living;
}

/* Its first thread may have ended. */
int heap_attach(struct heap *h, int32_t pid, struct error *err)
{
	int32_t tid = living_thread(pid);

	vec_push(&h->probed, ((struct probed){ pid, tid }));
	return heap_probes_attach(h->probes, tid, err);
}

/* Its first exec is the program. */
int heap_attach_later(struct heap *h, int32_t pid, char *const *files, size_t n_files,
		      struct error *err)
{
	h->n_started++;
	vec_push(&h->probed, ((struct probed){ pid, pid }));
	return heap_probes_attach_later(h->probes, pid, files, n_files, err);
}

bool heap_has_probes(const struct heap *h)
{
	return h->probes != NULL;
}

void heap_stop(struct heap *h)
{
	h->has_stopped = true;
	if (h->probes)
		heap_probes_detach(h->probes);
}

void heap_free(struct heap *h)
{
	if (!h)
		return;
	heap_probes_free(h->probes);
	mapped_fini(&h->mapped);
	vec_fini(&h->probed);
	vec_fini(&h->scanned);
	heap_ring_free(h->ring);
	heap_variables_fini(&h->variables);
	heap_records_fini(&h->pending);
	held_free(h->held);
	operators_fini(&h->operators);
	free(h->library);
	free(h);
}

char *const *heap_variables(const struct heap *h)
{
	return h->probes ? NULL : h->environment;
}

/* Samples. */

static bool is_own_image(const struct heap *h, image_id id)
{
	const struct image *image = image_get(machine_images(h->machine), id);

	return image->path && h->library && !strcmp(image->path, h->library);
}

static bool has_probes_in(const struct heap *h, image_id id)
{
	const char *path = image_get(machine_images(h->machine), id)->path;

	return h->probes && path && heap_probes_are_in(h->probes, path);
}

/* The number of innermost frames that are ours, or below ours. */
static uint32_t count_own_frames(struct heap *h, int32_t pid, image_id app, uint32_t n)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < MIN(n, (uint32_t)OWN_FRAMES); i++)
		if (is_own_image(h, h->frames[i].image))
			own = i + 1;
	/* new[] calls new */
	while ((own || h->probes) && own + 1 < n &&
	       operators_has(&h->operators, machine_images(h->machine), pid, h->frames[own],
			     h->frames[own].image.n == app.n && has_probes_in(h, app)))
		own++;
	return own < n ? own : 0;
}

/* Returns the number of frames in h->frames, or 0. */
static uint32_t walk_frames(struct heap *h, const struct heap_record *r,
			    const struct thread_view *thread)
{
	struct user_copy copy = {
		.regs = r->copy,
		.stack = heap_record_stack(r),
		.stack_size = r->stack_bytes,
	};
	struct user_chain chain = user_stacks_walk_copy(pipeline_user_stacks(h->pipeline), r->pid,
							thread, &copy, TABLE_AWAITED);
	const struct mapping *near = NULL;
	uint32_t n = 0;

	if (chain.cut >= 0 && chain.cut != LOSS_FRAME_UNMAPPED)
		pipeline_lose(h->pipeline, (enum loss_reason)chain.cut, h->first_counter, 1);
	for (; n < chain.n && n < ARRAY_SIZE(h->frames); n++)
		if (machine_resolve_near(h->machine, thread, chain.pcs[n], r->time_ns, &near,
					 &h->frames[n]) >= 0)
			break;
	h->is_cut = chain.cut >= 0 || n < chain.n;
	return n;
}

static uint64_t whole_part(double value, double *rest)
{
	uint64_t whole = (uint64_t)(value + *rest);

	*rest += value - (double)whole;
	return whole;
}

static void add_pair(struct heap *h, enum heap_event event, struct pipeline_sample *sample,
		     uint64_t bytes, uint64_t blocks)
{
	uint64_t periods[] = { bytes, blocks };

	for (uint32_t i = 0; i < ARRAY_SIZE(periods); i++) {
		sample->counter = h->first_counter + event + i;
		sample->period = periods[i];
		pipeline_add(h->pipeline, sample);
	}
}

static void hold(struct heap *h, const struct heap_record *r, const struct pipeline_sample *s,
		 uint64_t bytes, uint64_t blocks)
{
	struct held_block block = {
		.id = r->id,
		.class = { .app = s->app,
			   .pid = s->pid,
			   .tid = s->tid,
			   .comm = s->comm,
			   .cpu = s->cpu,
			   .cgroup = s->cgroup },
		.bytes = bytes,
		.blocks = blocks,
		.size = mapped_size(r->bytes),
		.left = mapped_size(r->bytes),
		.is_cut = s->is_cut,
	};

	bool is_held = !r->is_untracked && held_add(h->held, &block, s->frames, s->n_frames);

	if (is_held && r->mapping && !mapped_add(&h->mapped, r->pid, r->mapping, r->bytes, r->id)) {
		held_remove(h->held, r->id);
		is_held = false;
	}
	if (!is_held)
		pipeline_lose(h->pipeline, LOSS_ALLOC_UNTRACKED, h->first_counter, 1);
}

/* Each thread that the kernel has not named costs memory, and a look into /proc. */
static bool takes_thread(struct heap *h, const struct heap_record *r)
{
	if (machine_thread_name(h->machine, r->pid, r->tid) || h->n_unnamed++ < UNNAMED_MAX)
		return true;
	pipeline_lose(h->pipeline, LOSS_BAD_RECORD, h->first_counter, 1);
	return false;
}

static bool has_pid(const int32_t *pids, size_t n, int32_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/*
 * The kernel ends the description of a process that executes a set-uid program, and probes go on.
 * While the program lives, /proc has its mappings. Returns the number of frames.
 */
static uint32_t walk_with_proc(struct heap *h, const struct heap_record *r,
			       struct thread_view *thread)
{
	if (!h->probes || has_pid(h->scanned.data, h->scanned.n, r->pid))
		return 0;
	vec_push(&h->scanned, r->pid);
	proc_scan_process("/proc", r->pid, r->time_ns, pipeline_sink(h->pipeline));
	*thread = machine_thread(h->machine, r->pid, r->tid);
	return walk_frames(h, r, thread);
}

/*
 * The C library maps memory for blocks, which count already, and for stacks of threads. A program
 * may have its malloc within itself, beside all that it maps for other reasons.
 */
static bool is_of_library(const struct heap *h, const struct heap_record *r, uint32_t n,
			  image_id app)
{
	return n && r->mapping && has_probes_in(h, h->frames[0].image) &&
	       h->frames[0].image.n != app.n;
}

static void add_allocation(struct heap *h, const struct heap_record *r)
{
	struct thread_view thread = machine_thread(h->machine, r->pid, r->tid);
	struct heap_estimate estimate = heap_estimate(r->bytes, h->mean_bytes);
	uint32_t n = walk_frames(h, r, &thread), own;
	struct pipeline_sample sample;
	uint64_t bytes, blocks;

	if (!n)
		n = walk_with_proc(h, r, &thread);
	own = count_own_frames(h, r->pid, thread.app, n);
	if (is_of_library(h, r, n, thread.app))
		return;
	sample = (struct pipeline_sample){
		.pid = r->pid,
		.tid = r->tid,
		.cpu = r->cpu,
		.comm = thread.comm,
		.app = thread.app,
		.cgroup = machine_cgroup(h->machine, &thread, 0),
		.time_ns = r->time_ns,
		.is_timed = true,
		.frames = h->frames + own,
		.n_frames = n - own,
		.is_cut = h->is_cut,
		.leaf_loss = -1,
		.samples = 1,
	};
	if (!n) {
		h->frames[0] = (struct code_addr){ IMAGE_UNKNOWN_ID, 0 };
		sample.n_frames = 1;
		sample.leaf_loss = thread.is_known ? LOSS_UNMAPPED : LOSS_NO_PROCESS;
	} else if ((own || h->probes) && h->frames[own].offset) {
		h->frames[own].offset--; /* in the call, not behind it */
	}
	bytes = whole_part(estimate.bytes, &h->rest[HEAP_EVENT_ALLOC_BYTES]);
	blocks = whole_part(estimate.blocks, &h->rest[HEAP_EVENT_ALLOC_BLOCKS]);
	add_pair(h, HEAP_EVENT_ALLOC_BYTES, &sample, bytes, blocks);
	hold(h, r, &sample, bytes, blocks);
}

static void shrink_held(void *context, uint64_t id, uint64_t bytes)
{
	held_shrink(context, id, bytes);
}

static void deliver_record(struct heap *h, struct heap_record *r)
{
	if (r->kind == HEAP_RELEASED)
		held_remove(h->held, r->id);
	else if (r->kind == HEAP_UNMAPPED)
		mapped_remove(&h->mapped, r->pid, r->id, r->bytes, r->last_id, shrink_held,
			      h->held);
	else if (r->kind == HEAP_STARTED)
		h->n_started++;
	else if (takes_thread(h, r))
		add_allocation(h, r);
	free(take_ptr(r->copy));
}

void heap_collect(struct heap *h)
{
	struct heap_ring_losses lost;
	uint64_t n_bad;
	size_t before;

	/* delivered ones go first, because the rest is sorted */
	memmove(h->pending.data, h->pending.data + h->n_delivered,
		(h->pending.n - h->n_delivered) * sizeof(*h->pending.data));
	h->pending.n -= h->n_delivered;
	h->n_delivered = 0;
	before = h->pending.n;
	n_bad = h->probes ? heap_probes_collect(h->probes, &h->pending)
			  : heap_ring_collect(h->ring, &h->pending);
	h->n_collected = h->pending.n - before;
	lost = h->probes ? heap_probes_take_losses(h->probes) : heap_ring_take_losses(h->ring);
	pipeline_lose(h->pipeline, LOSS_BAD_RECORD, h->first_counter, n_bad);
	for (uint32_t i = 0; i <= HEAP_EVENT_ALLOC_BLOCKS; i++)
		pipeline_lose(h->pipeline, LOSS_ALLOC_FULL, h->first_counter + i, lost.samples);
	pipeline_lose(h->pipeline, LOSS_ALLOC_RELEASES, h->first_counter, lost.notes);
}

uint64_t heap_patience_ns(const struct heap *h)
{
	return h->n_collected > BURST ? BURST_NS : PATIENCE_NS;
}

void heap_deliver(struct heap *h, uint64_t until_ns)
{
	while (h->n_delivered < h->pending.n && h->pending.data[h->n_delivered].time_ns <= until_ns)
		deliver_record(h, &h->pending.data[h->n_delivered++]);
}

static struct probed *find_probed(struct heap *h, int32_t pid)
{
	vec_foreach (&h->probed, probed)
		if (probed->pid == pid)
			return probed;
	return NULL;
}

/* The first thread may end before others do. Nobody looks for processes without mappings. */
static bool has_lost_mappings(struct heap *h, const struct event *e)
{
	if (e->type == EVENT_COMM)
		return e->comm.is_exec && e->time_ns;
	if (e->type == EVENT_FORK) /* the number is used again */
		return e->pid != e->fork.ppid;
	return e->type == EVENT_EXIT && e->pid == e->tid && mapped_has(&h->mapped, e->pid) &&
	       !has_memory(living_thread(e->pid));
}

/*
 * Programs that have to be seen. By probes, a new process is none of them, and the first program of
 * a command is.
 */
static void count_programs(struct heap *h, const struct event *e)
{
	bool is_exec = e->type == EVENT_COMM && e->comm.is_exec && e->time_ns;

	if (has_lost_mappings(h, e))
		mapped_forget(&h->mapped, e->pid);
	if (!h->probes)
		h->n_execs += e->type == EVENT_COMM && e->comm.is_exec;
	else if (e->type == EVENT_FORK)
		h->n_execs += e->pid != e->fork.ppid;
	else
		h->n_execs += is_exec && find_probed(h, e->pid);
}

/*
 * Probes end with the thread that they were placed by. If others go on, they are placed again: the
 * calls up to now are not seen.
 */
static void keep_probes(struct heap *h, const struct event *e)
{
	struct probed *probed = h->probes && e->type == EVENT_EXIT ? find_probed(h, e->pid) : NULL;
	struct error err = { 0 };
	int32_t tid;

	if (!probed || probed->tid != e->tid || h->has_stopped || has_memory(e->tid))
		return;
	tid = living_thread(e->pid);
	if (!has_memory(tid))
		return;
	probed->tid = tid;
	h->n_execs++; /* a part of it is missing */
	if (heap_probes_attach(h->probes, tid, &err) < 0)
		log_warning("%s", err.text);
}

static int heap_push(struct event_sink *sink, const struct event *e)
{
	struct heap *h = (struct heap *)sink;

	if (h->n_delivered < h->pending.n && e->time_ns)
		heap_deliver(h, e->time_ns - 1);
	count_programs(h, e);
	keep_probes(h, e);
	return event_push(pipeline_sink(h->pipeline), e);
}

static void heap_expect(struct event_sink *sink, const struct event *e)
{
	event_expect(pipeline_sink(((struct heap *)sink)->pipeline), e);
}

void heap_begin(struct heap *h, struct pipeline *pipeline, struct machine *machine,
		uint32_t first_counter)
{
	h->sink = (struct event_sink){ heap_push, heap_expect };
	h->pipeline = pipeline;
	h->machine = machine;
	h->first_counter = first_counter;
}

struct event_sink *heap_sink(struct heap *h)
{
	assert(h->pipeline);
	return &h->sink;
}

/* The end. */

struct held_end {
	struct heap *heap;
	uint64_t end_ns;
};

static void add_held(void *context, const struct held_block *block, const struct code_addr *frames,
		     uint32_t n_frames)
{
	const struct held_end *end = context;
	struct pipeline_sample sample = {
		.pid = block->class.pid,
		.tid = block->class.tid,
		.cpu = block->class.cpu,
		.comm = block->class.comm,
		.app = block->class.app,
		.cgroup = block->class.cgroup,
		.time_ns = end->end_ns,
		.frames = frames,
		.n_frames = n_frames,
		.is_cut = block->is_cut,
		.leaf_loss = -1,
		.samples = 1,
	};

	add_pair(end->heap, HEAP_EVENT_HELD_BYTES, &sample, block->bytes, block->blocks);
}

void heap_finish(struct heap *h, uint64_t end_ns)
{
	struct held_end end = { h, end_ns };

	held_each(h->held, add_held, &end);
	if (h->probes)
		pipeline_lose(h->pipeline, LOSS_ALLOC_TRAPS, h->first_counter,
			      heap_probes_calls(h->probes));
	if (h->n_execs > h->n_started)
		pipeline_lose(h->pipeline, LOSS_ALLOC_UNSEEN, h->first_counter,
			      h->n_execs - h->n_started);
}
