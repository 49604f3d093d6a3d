/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel_java.h"

#include <inttypes.h>

#include "base/log.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"
#include "record/in_kernel_frames.h"
#include "record/in_kernel_state.h"
#include "record/java_frames.h"

static bool set_java_frame(void *context, const struct java_key *key,
			   const struct java_frame *frame)
{
	struct in_kernel *k = context;

	return sampler_set_java(k->sampler, key, frame);
}

static void drop_java_frame(void *context, const struct java_key *key)
{
	struct in_kernel *k = context;

	sampler_drop_java(k->sampler, key);
}

static bool place_java_frame(void *context, const struct lang_frame *frame, struct code_addr *code)
{
	struct in_kernel *k = context;

	return pipeline_place_frame(k->pipeline, frame, code);
}

struct java_frames *in_kernel_java_new(struct in_kernel *k)
{
	const struct java_frames_config config = { set_java_frame, drop_java_frame,
						   place_java_frame, k };

	return java_frames_new(&config);
}

struct java_learning {
	struct java_frames *frames;
	const struct java_life *life;
	uint32_t session;
	enum java_copy most; /* of the frames */
};

static void learn_java_frame(void *context, const struct java_known *known)
{
	struct java_learning *l = context;
	enum java_copy copy = java_frames_learn(l->frames, l->life, known, l->session);

	l->most = MAX(l->most, copy);
}

void in_kernel_learn_java(struct in_kernel *k, const struct java_life *life, bool is_whole)
{
	const struct java_stacks *stacks = user_stacks_java(pipeline_user_stacks(k->pipeline));
	struct java_learning l = { k->java, life, pipeline_session(k->pipeline), JAVA_COPY_KNOWN };
	enum java_copy why;

	if (!java_stacks_copied(stacks, &why))
		return;
	if (is_whole)
		java_stacks_each_known(stacks, &l, learn_java_frame);
	else
		why = JAVA_COPY_CUT;
	k->java_stacks.why[why == JAVA_COPY_KNOWN ? l.most : why]++;
}

bool in_kernel_push_java(struct in_kernel *k, int32_t pid, uint64_t address, uint64_t number)
{
	struct java_codes codes;

	if (!java_frames_find(k->java, pid, address, number, pipeline_session(k->pipeline), &codes))
		return false;
	for (uint32_t i = 0; i < codes.n; i++)
		vec_push(&k->frames, codes.data[i]);
	return true;
}

void in_kernel_log_java(const struct in_kernel *k)
{
	static const char *const texts[N_JAVA_COPIES] = {
#define X(id, text) [JAVA_COPY_##id] = text,
		JAVA_COPIES(X)
#undef X
	};
	const struct java_stack_counts *n = &k->java_stacks;

	if (n->walked || n->copied)
		log_verbose("stacks of Java or JavaScript: %" PRIu64
			    " walked in the kernel, %" PRIu64 " copied",
			    n->walked, n->copied);
	for (size_t i = 0; i < N_JAVA_COPIES; i++)
		if (n->why[i])
			log_verbose("copied stacks of Java with %s: %" PRIu64, texts[i], n->why[i]);
	if (n->compared || n->cut)
		log_verbose("stacks of Java: %" PRIu64 " compared, %" PRIu64 " different, %" PRIu64
			    " whole in the kernel alone",
			    n->compared, n->different, n->cut);
}

static bool are_same_frames(const struct code_addr *a, const struct code_addr *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].image.n != b[i].image.n || a[i].offset != b[i].offset)
			return false;
	return true;
}

static size_t frames_before_java(const struct sampler_count *c)
{
	const uint64_t java = (uint64_t)(FILE_LANGUAGE + LANGUAGE_JAVA);
	size_t n = 0;

	while (n < c->n_kernel + c->n_user && c->frames[n] >> FRAME_OFF_BITS != java)
		n++;
	return n;
}

void in_kernel_compare_java(struct in_kernel *k, const struct raw_stack_message *raw,
			    const struct walked_stacks *set)
{
	const struct walked_stack *walked = &set->list.data[set->list.n - 1];
	struct thread_view thread =
		machine_thread(k->machine, (int32_t)raw->pid, (int32_t)raw->tid);
	struct sampler_count count = { .pid = (int32_t)raw->pid,
				       .tid = (int32_t)raw->tid,
				       .stack = raw->same_as,
				       .time_ns = raw->time_ns,
				       .samples = 1 };
	struct pipeline_sample sample = { .leaf_loss = -1 };
	uint64_t n_walked = k->java_stacks.walked;
	size_t n = k->frames.n, n_outer;

	sampler_find_frames(k->sampler, &count);
	if (!count.frames)
		return;
	in_kernel_push_frames(k, &count, &thread, &sample);
	k->java_stacks.walked = n_walked; /* it is no sample */
	n_outer = k->frames.n - n - MIN(frames_before_java(&count), k->frames.n - n);
	if (walked->is_cut && raw->n_pages < RAW_PAGES && !sample.is_cut)
		k->java_stacks.cut++;
	if (!walked->is_cut) {
		k->java_stacks.compared++;
		if (sample.is_cut || n_outer != walked->n - walked->before_run ||
		    !are_same_frames(k->frames.data + k->frames.n - n_outer,
				     set->frames.data + walked->at + walked->before_run, n_outer))
			k->java_stacks.different++;
	}
	k->frames.n = n;
}
