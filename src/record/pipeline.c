/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/pipeline.h"

#include "base/error.h"
#include "perfdata/record.h"
#include "record/image_files.h"
#include "record/jit_names.h"
#include "record/user_stacks.h"

#define SECOND_NS 1000000000ULL

/* How long a process that has ended is kept for samples that come late. */
#define ENDED_KEPT_NS (2 * SECOND_NS)

#define NOT_LOOKED_AT UINT32_MAX

struct pipeline {
	struct event_sink sink;
	const struct store_ops *ops;
	struct store *store;
	struct machine *machine;
	struct jit_names *jit;
	struct image_files *files;
	struct user_stacks *stacks; /* made at the first copied stack */
	bool is_offline;
	char *proc, *arch;
	VEC(uint32_t) canonical; /* image id to the id it is stored under */
	struct code_addr frames[RECORD_MAX_CALLERS + 1];
	uint64_t flush_ns; /* end of the second that is being gathered */
	struct pipeline_counts counts;
	struct error write_error;
};

struct event_sink *pipeline_sink(struct pipeline *p)
{
	return &p->sink;
}

struct pipeline_counts pipeline_counts(const struct pipeline *p)
{
	return p->counts;
}

const struct error *pipeline_write_error(const struct pipeline *p)
{
	return p->write_error.code ? &p->write_error : NULL;
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
	if (loss_texts[reason].kind == LOSS_LOST)
		p->counts.lost += n;
	else if (loss_texts[reason].kind == LOSS_UNATTRIBUTED)
		p->counts.unattributed += n;
}

static void keep_error(struct pipeline *p, const struct error *err)
{
	if (!p->write_error.code)
		p->write_error = *err;
}

/* Images. */

/*
 * The kernel tells a build id where the file's first page is in memory, and
 * /proc never does; one file may so have two images. The first sample decides: its
 * build id is read, and all is kept under the image that has one.
 */
static image_id look_at_image(struct pipeline *p, int32_t pid, image_id id)
{
	struct image_table *images = machine_images(p->machine);
	struct image image = *image_get(images, id);
	struct build_id build_id;

	if (!p->files || image.kind != IMAGE_FILE || image.path[0] != '/')
		return id;
	build_id = image_files_look(p->files, pid, &image);
	if (image.build_id.len || !build_id.len)
		return id;
	image.build_id = build_id;
	image.dev = image.ino = 0;
	return image_intern(images, &image);
}

static image_id canonical_image(struct pipeline *p, int32_t pid, image_id id)
{
	while (p->canonical.n <= id.n)
		vec_push(&p->canonical, NOT_LOOKED_AT);
	if (p->canonical.data[id.n] == NOT_LOOKED_AT)
		p->canonical.data[id.n] = look_at_image(p, pid, id).n;
	return (image_id){ p->canonical.data[id.n] };
}

/* Samples. */

static void note_jit(struct pipeline *p, int32_t pid, const struct code_addr *code)
{
	if (image_get(machine_images(p->machine), code->image)->kind == IMAGE_JIT)
		jit_names_hit(p->jit, pid, code->image, code->offset);
}

static int resolve_frame(struct pipeline *p, const struct event *e,
			 const struct thread_view *thread, enum cpu_mode mode, uint64_t addr,
			 struct code_addr *out)
{
	int reason = machine_resolve(p->machine, thread, mode, addr, e->time_ns, out);

	if (reason < 0)
		out->image = canonical_image(p, e->pid, out->image);
	if (p->jit && image_get(machine_images(p->machine), out->image)->kind == IMAGE_JIT)
		jit_names_hit(p->jit, e->pid, out->image, out->offset);
	return reason;
}

/*
 * One part of a chain, behind the `n` frames that are there. Code without frame
 * pointers leaves any number where a return address would be: a user part ends at the
 * first one that no mapping covers, as what follows is no more trustworthy.
 */
static uint32_t resolve_part(struct pipeline *p, const struct event *e,
			     const struct thread_view *thread, enum cpu_mode mode,
			     const uint64_t *addrs, uint32_t n_addrs, uint32_t n)
{
	for (uint32_t i = 0; i < n_addrs && n < ARRAY_SIZE(p->frames); i++) {
		if (resolve_frame(p, e, thread, mode, addrs[i], &p->frames[n]) < 0) {
			n++;
			continue;
		}
		pipeline_lose(p, LOSS_FRAME_UNMAPPED, e->sample.counter, 1);
		if (mode == MODE_USER)
			break;
	}
	return n;
}

/* The user's part from its copied stack; the first address is known if the sample is of user mode.
 */
static uint32_t walk_user_stack(struct pipeline *p, const struct event *e,
				const struct thread_view *thread, uint32_t n)
{
	const struct sample_event *s = &e->sample;
	uint32_t skip = s->mode == MODE_USER;
	struct user_chain chain;

	if (!p->stacks)
		p->stacks = user_stacks_new(p->machine, p->is_offline ? NULL : p->proc, p->arch);
	chain = user_stacks_walk(p->stacks, e->pid, thread, s);
	if (chain.cut >= 0)
		pipeline_lose(p, (enum loss_reason)chain.cut, s->counter, 1);
	if (chain.n <= skip)
		return n;
	return resolve_part(p, e, thread, MODE_USER, chain.pcs + skip, chain.n - skip, n);
}

static uint32_t resolve_callers(struct pipeline *p, const struct event *e,
				const struct thread_view *thread)
{
	const struct sample_event *s = &e->sample;
	uint32_t n = resolve_part(p, e, thread, MODE_KERNEL, s->callers, s->n_kernel, 1);

	/* Registers alone may have been asked for beside the kernel's own chain. */
	if (s->extra && s->extra->stack && s->extra->user.n_values)
		return walk_user_stack(p, e, thread, n);
	return resolve_part(p, e, thread, MODE_USER, s->callers + s->n_kernel,
			    s->n_callers - s->n_kernel, n);
}

static void keep_sample(struct pipeline *p, const struct sample *sample)
{
	struct error err; /* not cleared: 768 bytes, for every sample */

	if (sample->time_ns >= p->flush_ns)
		pipeline_advance(p, sample->time_ns);
	p->counts.samples += sample->samples;
	err.code = 0;
	if (p->ops->add(p->store, sample, &err) < 0)
		keep_error(p, &err);
}

static int push_sample(struct pipeline *p, const struct event *e)
{
	const struct sample_event *s = &e->sample;
	struct thread_view thread = machine_thread(p->machine, e->pid, e->tid);
	struct sample sample = {
		.class = { .counter = s->counter,
			   .app = canonical_image(p, e->pid, thread.app),
			   .pid = e->pid,
			   .tid = e->tid,
			   .comm = thread.comm,
			   .cpu = e->cpu },
		.time_ns = e->time_ns,
		.frames = p->frames,
		.samples = 1,
		.period = s->period,
	};
	int reason = resolve_frame(p, e, &thread, s->mode, s->ip, &p->frames[0]);

	if (reason >= 0)
		pipeline_lose(p, (enum loss_reason)reason, s->counter, 1);
	if (s->chain_cut)
		pipeline_lose(p, LOSS_CHAIN_CUT, s->counter, 1);
	sample.n_frames = resolve_callers(p, e, &thread);
	keep_sample(p, &sample);
	return 0;
}

void pipeline_add(struct pipeline *p, const struct pipeline_sample *s)
{
	struct sample sample = {
		.class = { .counter = s->counter,
			   .app = canonical_image(p, s->pid, s->app),
			   .pid = s->pid,
			   .tid = s->tid,
			   .comm = s->comm,
			   .cpu = s->cpu },
		.time_ns = s->time_ns,
		.frames = p->frames,
		.n_frames = MIN(s->n_frames, (uint32_t)ARRAY_SIZE(p->frames)),
		.samples = s->samples,
		.period = s->period,
	};

	if (s->leaf_loss >= 0)
		pipeline_lose(p, (enum loss_reason)s->leaf_loss, s->counter, s->samples);
	pipeline_lose(p, LOSS_FRAME_UNMAPPED, s->counter, s->n_unmapped * s->samples);
	for (uint32_t i = 0; i < sample.n_frames; i++) {
		p->frames[i] = s->frames[i];
		p->frames[i].image = canonical_image(p, s->pid, s->frames[i].image);
		note_jit(p, s->pid, &p->frames[i]);
	}
	keep_sample(p, &sample);
}

static int push(struct event_sink *sink, const struct event *e)
{
	struct pipeline *p = (struct pipeline *)sink;

	switch (e->type) {
	case EVENT_SAMPLE:
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
	default:
		machine_event(p->machine, e);
		return 0;
	}
}

/* Names of code without a file. */

static void name_code(void *context, image_id image, uint64_t start, uint64_t size,
		      const char *name)
{
	struct pipeline *p = context;
	struct code_symbol symbol = { .image = image, .offset = start, .size = size, .name = name };

	p->ops->name_code(p->store, &symbol);
}

static void name_kernel_code(void *context, image_id image, uint64_t size, const char *name)
{
	name_code(context, image, 0, size, name);
}

static void process_ended(void *context, int32_t pid)
{
	struct pipeline *p = context;

	if (p->jit)
		jit_names_finish(p->jit, pid, name_code, p);
}

/* Opening, time, the end. */

struct pipeline *pipeline_open(const struct pipeline_config *config, struct error *err)
{
	struct pipeline *p = xcalloc(1, sizeof(*p));

	*p = (struct pipeline){
		.sink = { push },
		.ops = config->ops,
		.machine = config->machine,
		.is_offline = config->is_offline,
		.proc = xstrdup(config->proc ? config->proc : "/proc"),
		.arch = xstrdup(config->info->arch ? config->info->arch : ""),
		.flush_ns = (config->info->start_ns / SECOND_NS + 1) * SECOND_NS,
	};
	if (p->ops->open(config->dir, config->info, machine_images(p->machine),
			 machine_strings(p->machine), &p->store, err) < 0) {
		free(p->proc);
		free(p->arch);
		free(p);
		return NULL;
	}
	if (!config->is_offline) {
		p->jit = jit_names_new(p->proc);
		p->files = image_files_new(p->proc);
	}
	return p;
}

void pipeline_advance(struct pipeline *p, uint64_t now_ns)
{
	struct error err = { 0 };

	if (now_ns < p->flush_ns)
		return;
	if (p->ops->flush(p->store, p->flush_ns, &err) < 0)
		keep_error(p, &err);
	machine_forget_ended(p->machine, now_ns > ENDED_KEPT_NS ? now_ns - ENDED_KEPT_NS : 0,
			     process_ended, p);
	p->flush_ns = (now_ns / SECOND_NS + 1) * SECOND_NS;
}

int pipeline_close(struct pipeline *p, const struct session_end *end,
		   struct pipeline_counts *counts, struct error *err)
{
	uint64_t n_unwritten = 0;
	int r;

	if (p->jit)
		jit_names_finish_all(p->jit, name_code, p);
	machine_kernel_names(p->machine, name_kernel_code, p);
	r = p->ops->close(p->store, end, &n_unwritten, err);
	p->counts.samples -= n_unwritten;
	p->counts.lost += n_unwritten;
	if (counts)
		*counts = p->counts;
	if (!r && p->write_error.code) {
		if (err)
			*err = p->write_error;
		r = p->write_error.code;
	}
	jit_names_free(p->jit);
	image_files_free(p->files);
	user_stacks_free(p->stacks);
	vec_fini(&p->canonical);
	free(p->proc);
	free(p->arch);
	free(p);
	return r;
}
