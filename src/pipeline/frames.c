/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/frames.h"

#include "base/mem.h"
#include "pipeline/user_stacks.h"

struct frame_resolver {
	struct machine *machine;
	struct user_stacks *stacks; /* made at the first copied stack */
	char *proc, *arch;
	struct finder *finder;
	struct file_jobs *jobs;
	struct java_stacks *java;
	struct v8_stacks *v8;
	struct trampolines *trampolines;
	bool (*place)(void *context, const struct lang_frame *frame, struct code_addr *out);
	void *context;
	bool keeps_unmapped, addresses_alone;
	struct frames frames;
};

struct frame_resolver *frame_resolver_new(const struct frame_resolver_config *config)
{
	struct frame_resolver *r = xcalloc(1, sizeof(*r));

	r->machine = config->machine;
	r->proc = config->proc ? xstrdup(config->proc) : NULL;
	r->jobs = config->jobs;
	r->arch = config->arch ? xstrdup(config->arch) : NULL;
	r->finder = config->finder;
	r->java = config->java;
	r->v8 = config->v8;
	r->trampolines = config->trampolines;
	r->place = config->place;
	r->context = config->context;
	r->keeps_unmapped = config->keeps_unmapped;
	r->addresses_alone = config->addresses_alone;
	return r;
}

void frame_resolver_free(struct frame_resolver *r)
{
	if (!r)
		return;
	user_stacks_free(r->stacks);
	free(r->proc);
	free(r->arch);
	free(r);
}

/* Returns false if the frame was dropped. A user chain is not trustworthy behind it. */
static bool keep_frame(struct frame_resolver *r, uint64_t addr, bool is_mapped)
{
	struct frames *f = &r->frames;

	f->addr[f->n] = addr;
	f->n += is_mapped || r->keeps_unmapped;
	f->n_unmapped += !is_mapped;
	return is_mapped || r->keeps_unmapped;
}

static void resolve_kernel(struct frame_resolver *r, const struct event *e,
			   const struct thread_view *thread, const uint64_t *addrs, uint32_t n)
{
	struct frames *f = &r->frames;

	for (uint32_t i = 0; i < n && f->n < MAX_FRAMES; i++) {
		int loss = machine_resolve(r->machine, thread, MODE_KERNEL, addrs[i], e->time_ns,
					   &f->code[f->n]);

		keep_frame(r, addrs[i], loss < 0);
	}
}

/*
 * During execve(2) the old program is unmapped, but its registers are still there. Such a stack has
 * only kernel frames, and is complete (collect/bpf/stack.h handles it the same way).
 */
static bool is_in_exec(const struct frame_resolver *r, const struct sample_event *s, uint32_t i,
		       bool is_mapped)
{
	bool is_first = !i && r->frames.n == r->frames.n_kernel;

	return is_first && !is_mapped && s->mode == MODE_KERNEL && !r->keeps_unmapped;
}

static void resolve_user(struct frame_resolver *r, const struct event *e,
			 const struct thread_view *thread, const uint64_t *addrs, uint32_t n)
{
	const struct mapping *near = NULL;
	struct frames *f = &r->frames;

	for (uint32_t i = 0; i < n && f->n < MAX_FRAMES; i++) {
		int loss = machine_resolve_near(r->machine, thread, addrs[i], e->time_ns, &near,
						&f->code[f->n]);

		if (is_in_exec(r, &e->sample, i, loss < 0)) {
			f->cut = -1;
			break;
		}
		if (!keep_frame(r, addrs[i], loss < 0)) {
			f->is_cut = true;
			break;
		}
	}
}

/* Callers in a guest: on x86-64, its kernel has the upper half of the addresses. */
static void resolve_guest(struct frame_resolver *r, const struct event *e,
			  const struct thread_view *thread)
{
	struct frames *f = &r->frames;

	for (uint32_t i = 0; i < e->sample.n_callers && f->n < MAX_FRAMES; i++) {
		uint64_t addr = e->sample.callers[i];
		enum cpu_mode mode = addr >> 63 ? MODE_GUEST_KERNEL : MODE_GUEST_USER;
		int loss =
			machine_resolve(r->machine, thread, mode, addr, e->time_ns, &f->code[f->n]);

		if (!keep_frame(r, addr, loss < 0))
			break;
	}
}

struct user_stacks *frame_resolver_user_stacks(struct frame_resolver *r)
{
	if (!r->stacks)
		r->stacks = user_stacks_new(
			&(struct user_stacks_config){ r->machine, r->proc, r->jobs, r->arch,
						      r->finder, r->java, r->v8, r->trampolines });
	return r->stacks;
}

struct file_look *frame_resolver_take_look(struct frame_resolver *r, image_id image)
{
	return r->stacks ? user_stacks_take_look(r->stacks, image) : NULL;
}

void frame_resolver_know_key(struct frame_resolver *r, image_id image, const struct build_id *key)
{
	if (r->stacks)
		user_stacks_know_key(r->stacks, image, key);
}

uint64_t frame_resolver_take_unparsed(struct frame_resolver *r)
{
	return r->stacks ? user_stacks_take_unparsed(r->stacks) : 0;
}

/* The frames of a language at an address of the chain. False: their names are not known. */
static bool push_run(struct frame_resolver *r, const struct lang_run *run, uint64_t addr)
{
	struct frames *f = &r->frames;
	uint32_t n = f->n, i;

	for (i = 0; i < run->n && f->n < MAX_FRAMES; i++) {
		if (!r->place(r->context, &run->frames[i], &f->code[f->n])) {
			f->n = n;
			f->n_unnamed++;
			return false;
		}
		f->addr[f->n++] = addr;
	}
	if (i < run->n)
		f->cut = LOSS_CHAIN_CUT;
	return true;
}

/* A chain in which frames of a language take the place of addresses. */
static void resolve_runs(struct frame_resolver *r, const struct event *e,
			 const struct thread_view *thread, const struct user_chain *chain)
{
	struct frames *f = &r->frames;
	uint32_t at = 0;

	for (uint32_t i = 0; i <= chain->runs.n; i++) {
		const struct lang_run *run = i < chain->runs.n ? &chain->runs.data[i] : NULL;
		uint32_t end = run ? run->at : chain->n, n_unmapped = f->n_unmapped;

		resolve_user(r, e, thread, chain->pcs + at, end - at);
		if (f->n_unmapped != n_unmapped && !r->keeps_unmapped)
			return;
		/* Inlined methods are more frames than a chain has addresses. */
		if (f->n == MAX_FRAMES && end < chain->n) {
			f->cut = LOSS_CHAIN_CUT;
			return;
		}
		at = end;
		if (run && push_run(r, run, chain->pcs[at]))
			at++;
	}
}

/* If the sample was taken in user mode, frame 0 already is the walk's first address. */
static void walk_user_stack(struct frame_resolver *r, const struct event *e,
			    const struct thread_view *thread)
{
	const struct sample_event *s = &e->sample;
	uint32_t skip = s->mode == MODE_USER;
	struct user_chain chain;

	chain = user_stacks_walk(frame_resolver_user_stacks(r), e, thread);
	/* A frame that no mapping covers is counted as unmapped, not as a cut stack. */
	r->frames.cut = chain.cut == LOSS_FRAME_UNMAPPED ? -1 : chain.cut;
	r->frames.is_walked = true;
	r->frames.is_guessed = chain.is_guessed;
	if (chain.runs.n) {
		r->frames.no_name = chain.runs.no_name;
		if (skip && chain.n) { /* it may be one of a language */
			r->frames.n = 0;
			r->frames.leaf_loss = -1;
		}
		resolve_runs(r, e, thread, &chain);
		return;
	}
	if (chain.n > skip)
		resolve_user(r, e, thread, chain.pcs + skip, chain.n - skip);
}

struct frames *frames_resolve(struct frame_resolver *r, const struct event *e,
			      const struct thread_view *thread)
{
	const struct sample_event *s = &e->sample;
	struct frames *f = &r->frames;

	f->n = 1;
	f->n_unmapped = 0;
	f->n_unnamed = 0;
	f->cut = -1;
	f->is_walked = false;
	f->is_guessed = false;
	f->is_cut = s->chain_cut;
	f->addr[0] = s->ip;
	if (r->addresses_alone) {
		f->code[0] = (struct code_addr){ IMAGE_UNKNOWN_ID, s->ip };
		f->leaf_loss = -1;
		f->n_kernel = s->mode == MODE_KERNEL;
		f->is_cut = false;
		return f;
	}
	f->leaf_loss = machine_resolve(r->machine, thread, s->mode, s->ip, e->time_ns, &f->code[0]);
	f->n_kernel = 0;
	if (mode_is_guest(s->mode)) {
		resolve_guest(r, e, thread);
		return f;
	}
	if (s->n_kernel)
		resolve_kernel(r, e, thread, s->callers, s->n_kernel);
	f->n_kernel = s->mode == MODE_KERNEL || s->n_kernel ? f->n : 0;
	/* An event may ask for the registers alone; then the kernel's own chain is used. */
	if (s->extra && s->extra->stack && s->extra->user.n_values)
		walk_user_stack(r, e, thread);
	else if (s->n_callers > s->n_kernel)
		resolve_user(r, e, thread, s->callers + s->n_kernel, s->n_callers - s->n_kernel);
	f->is_cut |= f->cut >= 0;
	return f;
}

void frames_expect(struct frame_resolver *r, const struct event *e)
{
	if (r->stacks && e->sample.extra && e->sample.extra->stack)
		user_stacks_expect(r->stacks, e);
}
