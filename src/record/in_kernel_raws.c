/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel_raws.h"

#include <assert.h>
#include <linux/fs.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "guard/limits.h"
#include "guard/open.h"
#include "lang/detect.h"
#include "lang/language.h"
#include "machine/machine.h"
#include "pipeline/frames.h"
#include "pipeline/lang_frame.h"
#include "pipeline/off_cpu.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"
#include "record/in_kernel_java.h"
#include "record/java_frames.h"
#include "unwind/library.h"

/* Room for them that is kept when there are none: only the beginning has many. */
#define RAWS_KEPT_BYTES ((size_t)1 << 20)

/* Of a stack, so that pipeline_add() takes it with the frames of marks and wakers before it. */
#define WALKED_FRAMES_MAX (2 * MAX_FRAMES - 128)

/* False: the stack ends here. */
static bool has_room(struct in_kernel *k, struct walked_stack *walked, uint32_t n)
{
	if (walked->n + n <= WALKED_FRAMES_MAX)
		return true;
	walked->is_cut = true;
	pipeline_lose(k->pipeline, LOSS_CHAIN_CUT, UINT32_MAX, 1);
	return false;
}

/* The frames of a language at an address. False: their names are not known. */
static bool push_run(struct in_kernel *k, struct walked_stacks *set, struct walked_stack *walked,
		     const struct lang_run *run)
{
	size_t n = set->frames.n;

	for (uint32_t i = 0; i < run->n; i++) {
		struct code_addr code;

		if (!pipeline_place_frame(k->pipeline, &run->frames[i], &code)) {
			set->frames.n = n;
			return false;
		}
		vec_push(&set->frames, code);
	}
	walked->n += run->n;
	return true;
}

/* False: the frames behind it can't be trusted. */
static bool push_address(struct in_kernel *k, struct walked_stacks *set,
			 struct walked_stack *walked, const struct to_walk *w, bool is_user,
			 uint64_t addr)
{
	struct thread_view thread = machine_thread(k->machine, w->pid, w->tid);
	struct code_addr code;
	int reason = machine_resolve(k->machine, &thread, is_user ? MODE_USER : MODE_KERNEL, addr,
				     w->time_ns, &code);

	if (reason >= 0 && !walked->n)
		walked->leaf_loss = reason;
	if (reason >= 0 && is_user && walked->n) {
		walked->is_cut = true;
		return false;
	}
	vec_push(&set->frames, code);
	walked->n++;
	return true;
}

static void push_user(struct in_kernel *k, struct walked_stacks *set, struct walked_stack *walked,
		      const struct to_walk *w, const struct user_chain *chain)
{
	const struct lang_run *run = chain->runs.data, *end = run + chain->runs.n;
	bool is_first = true;

	walked->before_run = UINT32_MAX;
	for (uint32_t i = 0; i < chain->n; i++) {
		bool has_run = run < end && run->at == i;

		if (!has_room(k, walked, has_run ? MAX(run->n, 1U) : 1))
			return;
		if (has_run && is_first)
			walked->before_run = walked->n;
		is_first &= !has_run;
		if (has_run && push_run(k, set, walked, run++))
			continue;
		if (has_run)
			pipeline_lose(k->pipeline, chain->runs.no_name, UINT32_MAX, 1);
		if (!push_address(k, set, walked, w, true, chain->pcs[i]))
			return;
	}
}

bool raw_stack_walk(struct in_kernel *k, struct walked_stacks *set, const struct to_walk *w)
{
	struct thread_view thread = machine_thread(k->machine, w->pid, w->tid);
	struct walked_stack walked = { .at = (uint32_t)set->frames.n, .leaf_loss = -1 };
	struct user_chain chain;

	if (pipeline_keep_language_limits(k->pipeline))
		java_frames_forget_names(k->java);
	chain = user_stacks_walk_copy(pipeline_user_stacks(k->pipeline), w->pid, &thread, &w->copy,
				      w->patience);
	if (chain.is_pending)
		return false;
	if (w->process)
		in_kernel_learn_java(k, &(struct java_life){ w->pid, w->process, w->time_ns },
				     chain.cut < 0);
	walked.is_cut = chain.cut >= 0;
	if (chain.cut >= 0)
		pipeline_lose(k->pipeline, (enum loss_reason)chain.cut, UINT32_MAX, 1);
	if (chain.is_guessed)
		pipeline_lose(k->pipeline, LOSS_STACK_GUESSED, UINT32_MAX, 1);
	for (uint32_t i = 0; i < w->n_kernel; i++)
		push_address(k, set, &walked, w, false, w->kernel[i]);
	push_user(k, set, &walked, w, &chain);
	walked.before_run = MIN(walked.before_run, walked.n);
	assert(walked.at + walked.n == set->frames.n);
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
	const struct walked_stack *walked = &set->list.data[set->list.n - 1];

	for (uint32_t i = 0; i < walked->n; i++) {
		const struct code_addr *code = &set->frames.data[walked->at + i];
		image_id image = code->image;
		bool is_known = pipeline_look_at_image(k->pipeline, pid, &image);
		const struct lang_runtime *runtime =
			is_known ? pipeline_runtime(k->pipeline, image) : NULL;

		if (!runtime || language_is_on_stack(runtime->language) ||
		    !lang_is_interpreter(runtime, code->offset))
			continue;
		pipeline_lose(k->pipeline, losses[runtime->language], UINT32_MAX, 1);
		return;
	}
}

/* Of a stack with code of Java or JavaScript. */
static bool is_copy(const struct raw_stack_message *raw)
{
	return raw->is_copy;
}

static bool walk_raw(struct in_kernel *k, const struct raw_stack_message *raw,
		     enum table_patience patience)
{
	size_t skip = raw->regs[SP_REGISTER] & (RAW_STACK_PAGE - 1);
	size_t size = (size_t)raw->n_pages * RAW_STACK_PAGE;
	struct to_walk w = {
		.pid = (int32_t)raw->pid,
		.tid = (int32_t)raw->tid,
		.time_ns = raw->time_ns,
		.hash = raw->hash,
		.process = raw->same_as ? 0 : raw->process,
		.copy = { .regs = (const uint64_t *)raw->regs,
			  .is_i386 = raw->is_i386,
			  .is_in_kernel = raw->n_kernel > 0,
			  .stack = (const uint8_t *)raw->stack + MIN(skip, size),
			  .stack_size = size - MIN(skip, size),
			  .is_whole = raw->n_pages < RAW_PAGES,
			  .is_wait = raw->is_wait,
			  .time_ns = is_copy(raw) ? raw->time_ns : 0 },
		.kernel = (const uint64_t *)raw->kernel,
		.n_kernel = MIN((uint32_t)raw->n_kernel, (uint32_t)MAX_KERNEL_FRAMES),
		/* a walk of code counts its losses, so it is done once */
		.patience = is_copy(raw) ? TABLE_AWAITED : patience,
	};

	struct walked_stacks *set = raw->is_for_later ? &k->waiting : &k->now;

	if (!raw_stack_walk(k, set, &w))
		return false;
	count_early(k, set, w.pid);
	if (raw->same_as)
		in_kernel_compare_java(k, raw, set);
	return true;
}

/*
 * How long raw stacks wait. The oldest come first; some more than necessary go at once, because the
 * rest moves.
 */
struct raw_limits {
	uint64_t until_ns; /* older ones don't wait any more */
	size_t bytes;      /* nor those with more bytes from them on */
};

static struct raw_limits raw_limits_now(const struct in_kernel *k)
{
	uint64_t now_ns = clock_monotonic_ns();

	return (struct raw_limits){
		.until_ns = now_ns - MIN(now_ns, RAW_WAIT_NS),
		.bytes = k->raws.n > RAWS_WAIT_BYTES ? RAWS_WAIT_BYTES / 2 : RAWS_WAIT_BYTES,
	};
}

static bool is_overdue(const struct in_kernel *k, size_t at, const struct raw_limits *limits)
{
	const struct raw_stack_message *raw = (const void *)(k->raws.data + at);

	return at < k->raws.n &&
	       (raw->time_ns < limits->until_ns || k->raws.n - at > limits->bytes);
}

/* Whether the turn of the copies has not come yet. */
static bool do_copies_wait(const struct in_kernel *k)
{
	return k->copies_wait && k->raws.n < COPIES_WAIT_BYTES &&
	       k->copy_ns > clock_monotonic_ns() - COPY_WAIT_NS;
}

/* Whether a stack has to stay for a later turn. */
static bool does_wait(const struct raw_stack_message *raw, enum table_patience patience,
		      bool is_in_vain, bool copies_wait)
{
	return is_copy(raw) ? copies_wait : is_in_vain && patience == TABLE_LATER;
}

/* All raw stacks of a turn, oldest first. */
struct turn {
	struct in_kernel *k;
	uint64_t until_ns;
	bool may_wait, is_in_vain, copies_wait;
	struct raw_limits limits;
	size_t at;   /* the next one */
	size_t kept; /* bytes of those that stay */
	size_t n_copies;
	uint64_t oldest_ns; /* of those that stay */
};

static struct raw_stack_message *next_raw(const struct turn *t)
{
	return (struct raw_stack_message *)(t->k->raws.data + t->at);
}

static enum table_patience patience_now(const struct turn *t)
{
	return t->may_wait                           ? TABLE_AWAITED
	       : is_overdue(t->k, t->at, &t->limits) ? TABLE_GIVEN_UP
						     : TABLE_LATER;
}

/* Whether the next stack is walked in this turn. */
static bool is_due(const struct turn *t)
{
	return next_raw(t)->time_ns <= t->until_ns &&
	       !does_wait(next_raw(t), patience_now(t), t->is_in_vain, t->copies_wait);
}

/* It may be given up in the midst of a walk: then it is called again for the same stack. */
static void walk_next(struct turn *t)
{
	struct in_kernel *k = t->k;
	struct raw_stack_message *raw = next_raw(t);
	size_t size = raw_stack_size(raw);
	bool is_of_turn = raw->time_ns <= t->until_ns, is_walked;

	is_walked = is_due(t) && walk_raw(k, raw, patience_now(t));
	t->n_copies += is_copy(raw) && is_due(t);
	if (!is_walked) {
		k->is_stalled |= is_of_turn && !is_copy(raw);
		if (is_copy(raw))
			k->copy_ns = MIN(k->copy_ns, raw->time_ns);
		t->oldest_ns = MIN(t->oldest_ns, raw->time_ns);
		if (t->kept < t->at)
			memmove(k->raws.data + t->kept, raw, size);
		t->kept += size;
	}
	t->at += size;
}

static void walk_rest(void *arg)
{
	struct turn *t = arg;

	while (t->at < t->k->raws.n)
		walk_next(t);
}

/* Whether several copies are to be walked. */
static bool has_several_copies(const struct turn *turn)
{
	struct turn t = *turn;
	uint32_t n = 0;

	for (; n < 2 && t.at < t.k->raws.n; t.at += raw_stack_size(next_raw(&t)))
		n += is_copy(next_raw(&t)) && is_due(&t);
	return n == 2;
}

static void walk_turn(struct in_kernel *k, struct turn *t)
{
	struct user_stacks *stacks = pipeline_user_stacks(k->pipeline);

	while (has_several_copies(t)) {
		if (user_stacks_run(stacks, walk_rest, t))
			return;
		walk_next(t); /* it lacks the memory of its process */
	}
	walk_rest(t);
}

void raw_stacks_walk(struct in_kernel *k, uint64_t until_ns, bool may_wait)
{
	struct user_stacks *stacks = pipeline_user_stacks(k->pipeline);
	uint64_t generation = user_stacks_generation(stacks);
	uint64_t n_learnt = user_stacks_n_learnt(stacks);
	struct turn t = {
		.k = k,
		.until_ns = until_ns,
		.may_wait = may_wait,
		.is_in_vain = !may_wait && k->is_stalled && k->stalled_at == generation,
		.copies_wait = !may_wait && do_copies_wait(k),
		.limits = raw_limits_now(k),
		.oldest_ns = UINT64_MAX,
	};

	if (t.is_in_vain && (t.copies_wait || k->copy_ns > until_ns) &&
	    !is_overdue(k, 0, &t.limits))
		return;
	k->copy_ns = UINT64_MAX;
	k->is_stalled = false;
	k->stalled_at = generation;
	walk_turn(k, &t);
	k->raws.n = t.kept;
	if (t.n_copies)
		k->copies_wait =
			(user_stacks_n_learnt(stacks) - n_learnt) * COPIES_FOR_ONE_LEARNT <=
			t.n_copies;
	user_stacks_rest_walked(stacks);
	/* a process may have ended long before the table of its waiting stacks is ready */
	pipeline_keep_ended(k->pipeline, t.oldest_ns);
	if (!t.kept && k->raws.cap > RAWS_KEPT_BYTES)
		vec_fini(&k->raws);
}

void walked_stacks_fini(struct walked_stacks *w)
{
	vec_fini(&w->frames);
	vec_fini(&w->list);
	intmap_fini(&w->by_hash);
}

void walked_stacks_forget(struct in_kernel *k)
{
	struct walked_stacks empty = k->before;

	empty.frames.n = empty.list.n = 0;
	intmap_clear(&empty.by_hash);
	k->before = k->now;
	k->now = empty;
}

const struct walked_stack *walked_stacks_find(const struct in_kernel *k, uint64_t hash,
					      const struct code_addr **frames)
{
	const struct walked_stacks *sets[] = { &k->now, &k->before, &k->waiting };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const uint32_t *at = intmap_find(&sets[i]->by_hash, hash);

		if (!at)
			continue;
		assert(*at < sets[i]->list.n);
		*frames = sets[i]->frames.data + sets[i]->list.data[*at].at;
		return &sets[i]->list.data[*at];
	}
	return NULL;
}
