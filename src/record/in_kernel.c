/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel.h"

#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "machine/machine.h"
#include "record/pipeline.h"

struct file {
	uint64_t dev, ino;
	image_id image; /* id 0: its path is not known yet */
};

struct in_kernel {
	struct sampler_visitor visitor;
	struct event_sink sink;
	struct sampler *sampler;
	struct pipeline *pipeline;
	struct machine *machine;
	VEC(struct file) files; /* by number */
	struct intmap images;   /* file_hash() to image */
	VEC(struct code_addr) frames;
	uint64_t time_ns;
};

static struct in_kernel *of_sink(struct event_sink *sink)
{
	return (struct in_kernel *)((char *)sink - offsetof(struct in_kernel, sink));
}

/* Devices have 32 bits, inodes nearly never more than 40: as good as the pair itself. */
static uint64_t file_hash(uint64_t dev, uint64_t ino)
{
	return hash_u64(dev) ^ ino;
}

static int follow(struct event_sink *sink, const struct event *e)
{
	struct in_kernel *k = of_sink(sink);
	int r = event_push(pipeline_sink(k->pipeline), e);
	struct thread_view thread;
	struct code_addr code;

	if (r < 0 || e->type != EVENT_MAPPING || !e->mapping.ino)
		return r;
	thread = machine_thread(k->machine, e->pid, e->tid);
	if (machine_resolve(k->machine, &thread, MODE_USER, e->mapping.start, e->time_ns, &code) <
	    0)
		*intmap_put(&k->images, file_hash(e->mapping.dev, e->mapping.ino), NULL) =
			code.image.n;
	return 0;
}

static void keep_file(struct sampler_visitor *visitor, uint32_t number, uint64_t dev, uint64_t ino)
{
	struct in_kernel *k = (struct in_kernel *)visitor;

	while (k->files.n <= number)
		vec_push(&k->files, (struct file){ 0 });
	k->files.data[number] = (struct file){ .dev = dev, .ino = ino };
}

static image_id image_of(struct in_kernel *k, uint32_t number)
{
	const uint32_t *image;
	struct file *f;

	if (number >= k->files.n)
		return IMAGE_UNKNOWN_ID;
	f = &k->files.data[number];
	if (!f->image.n && (image = intmap_find(&k->images, file_hash(f->dev, f->ino))))
		f->image.n = *image;
	return f->image;
}

/* The reason why a frame could not be resolved, or -1. */
static int resolve(struct in_kernel *k, const struct thread_view *thread, uint64_t frame,
		   struct code_addr *out)
{
	uint32_t file = (uint32_t)(frame >> FRAME_OFF_BITS);
	uint64_t off = frame & FRAME_OFF_MASK;

	if (frame & FRAME_KERNEL)
		return machine_resolve(k->machine, thread, MODE_KERNEL, frame, k->time_ns, out);
	if (file == FILE_NONE || file == FILE_TOO_MANY)
		return machine_resolve(k->machine, thread, MODE_USER, off, k->time_ns, out);
	*out = (struct code_addr){ image_of(k, file), off };
	return out->image.n ? -1 : LOSS_UNMAPPED;
}

static void add_count(struct sampler_visitor *visitor, const struct sampler_count *c)
{
	struct in_kernel *k = (struct in_kernel *)visitor;
	struct thread_view thread = machine_thread(k->machine, c->pid, c->tid);
	struct pipeline_sample sample = {
		.pid = c->pid,
		.tid = c->tid,
		.cpu = c->cpu,
		.counter = c->counter,
		.comm = strings_add(machine_strings(k->machine), c->comm),
		.app = c->app ? image_of(k, c->app) : thread.app,
		.time_ns = k->time_ns,
		.samples = c->samples,
		.period = c->period,
		.leaf_loss = -1,
	};
	uint32_t n = c->n_kernel + c->n_user;

	vec_reserve(&k->frames, n + 1);
	k->frames.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct code_addr code;
		int reason = resolve(k, &thread, c->frames[i], &code);

		if (reason >= 0 && i == 0)
			sample.leaf_loss = reason;
		else if (reason >= 0)
			sample.n_unmapped++;
		if (reason >= 0 && i >= MAX(c->n_kernel, 1u))
			break; /* as in the pipeline: what follows is no more trustworthy */
		k->frames.data[k->frames.n++] = code;
	}
	if (!k->frames.n) {
		k->frames.data[k->frames.n++] = (struct code_addr){ IMAGE_UNKNOWN_ID, 0 };
		sample.leaf_loss = LOSS_UNMAPPED;
	}
	sample.frames = k->frames.data;
	sample.n_frames = (uint32_t)k->frames.n;
	pipeline_add(k->pipeline, &sample);
}

struct in_kernel *in_kernel_new(struct sampler *sampler, struct pipeline *pipeline,
				struct machine *machine)
{
	struct in_kernel *k = xcalloc(1, sizeof(*k));

	k->visitor = (struct sampler_visitor){ keep_file, add_count };
	k->sink.push = follow;
	k->sampler = sampler;
	k->pipeline = pipeline;
	k->machine = machine;
	return k;
}

void in_kernel_free(struct in_kernel *k)
{
	if (!k)
		return;
	vec_fini(&k->files);
	vec_fini(&k->frames);
	intmap_fini(&k->images);
	free(k);
}

struct event_sink *in_kernel_sink(struct in_kernel *k)
{
	return &k->sink;
}

int in_kernel_read(struct in_kernel *k, uint64_t time_ns, struct error *err)
{
	k->time_ns = time_ns;
	return sampler_read(k->sampler, &k->visitor, err);
}
