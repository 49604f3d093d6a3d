/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/in_kernel_frames.h"

#include <linux/fs.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "guard/open.h"
#include "lang/detect.h"
#include "lang/language.h"
#include "machine/machine.h"
#include "pipeline/lang_names.h"
#include "pipeline/off_cpu.h"
#include "pipeline/pipeline.h"
#include "record/in_kernel_java.h"
#include "unwind/library.h"

/* Devices have 32 bits, inodes nearly never more than 40: as good as the pair itself. */
uint64_t in_kernel_file_hash(uint64_t dev, uint64_t ino)
{
	return hash_u64(dev) ^ ino;
}

image_id in_kernel_image_of(struct in_kernel *k, uint32_t number)
{
	const uint32_t *image;
	struct seen_file *f;

	if (number >= k->files.n)
		return IMAGE_UNKNOWN_ID;
	f = &k->files.data[number];
	if (!f->image.n &&
	    (image = intmap_find(&k->images, in_kernel_file_hash(f->seen.dev, f->seen.ino))))
		f->image.n = *image;
	return f->image;
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

/* Counts. */

/* LANGUAGE_NONE: the frame is native. */
static enum language language_of(uint64_t frame)
{
	uint64_t file = frame >> FRAME_OFF_BITS;

	return !(frame & FRAME_KERNEL) && file > FILE_LANGUAGE && file < FILE_LANGUAGE + N_LANGUAGES
		       ? (enum language)(file - FILE_LANGUAGE)
		       : LANGUAGE_NONE;
}

/* The same for languages whose frames stand beside native ones. */
static enum language heap_language_of(uint64_t frame)
{
	enum language language = language_of(frame);

	return language_is_on_stack(language) ? LANGUAGE_NONE : language;
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

static void push_run(struct in_kernel *k, struct language_run *run)
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
	struct language_run read = k->run;

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
 * The language of the interpreter whose loop a native frame is, or LANGUAGE_NONE. A caller's
 * address is behind its call.
 */
static enum language look_for_loop(struct in_kernel *k, const struct sampler_count *c,
				   struct code_addr code, uint32_t i)
{
	image_id image = code.image;
	bool is_known = pipeline_look_at_image(k->pipeline, c->pid, &image);
	const struct lang_runtime *runtime = is_known ? pipeline_runtime(k->pipeline, image) : NULL;

	return runtime && lang_is_interpreter(runtime, code.offset - (i > c->n_kernel))
		       ? (enum language)runtime->language
		       : LANGUAGE_NONE;
}

/* The language of the stack's innermost loop, if that called another function; or LANGUAGE_NONE. */
static enum language language_of_caller(struct in_kernel *k, const struct sampler_count *c,
					const struct thread_view *thread)
{
	enum language language = LANGUAGE_NONE;
	uint32_t i;

	for (i = c->n_kernel; !language && i < c->n_kernel + c->n_user; i++) {
		uint64_t frame = c->frames[i];
		struct code_addr code;

		if (frame == FRAME_CUT)
			break;
		if (language_of(frame)) /* of Java: two numbers */
			i++;
		else if (resolve_frame(k, thread, frame, &code) < 0)
			language = look_for_loop(k, c, code, i);
	}
	return i == c->n_kernel + 1 ? LANGUAGE_NONE : language;
}

/*
 * How far the stack's frames of languages can be trusted. A loop that lacks its run is the
 * innermost one, and it is at its beginning or end only if it is the stack's innermost frame, too.
 * A stack can lack all runs: its interpreter's state was not where assay reads it.
 */
static enum language_fit fit_of(struct in_kernel *k, const struct sampler_count *c,
				const struct thread_view *thread)
{
	enum language language = LANGUAGE_NONE;

	if (c->fit == LANGUAGE_FITS)
		return LANGUAGE_FITS;
	for (uint32_t i = c->n_kernel; !language && i < c->n_kernel + c->n_user; i++)
		language = heap_language_of(c->frames[i]);
	if (!language && c->fit == LANGUAGE_LACKS_RUN)
		language = language_of_caller(k, c, thread);
	if (!language || (c->fit == LANGUAGE_LACKS_RUN && heap_language_of(c->frames[c->n_kernel])))
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

/*
 * A frame of Java in the i-th and the next number. False: it has no names, and is an address like
 * those of native frames.
 */
static bool push_java_frame(struct in_kernel *k, const struct sampler_count *c, uint32_t i)
{
	uint64_t number = i + 1 < c->n_kernel + c->n_user ? c->frames[i + 1] : 0;

	return in_kernel_push_java(k, c->pid, c->frames[i] & FRAME_OFF_MASK, number);
}

void in_kernel_push_frames(struct in_kernel *k, const struct sampler_count *c,
			   const struct thread_view *thread, struct pipeline_sample *sample)
{
	enum language_fit fit = fit_of(k, c, thread);
	bool is_unnamed = false; /* a frame of Java: the stack ends there, as in a copy */
	bool is_run = false;     /* a frame of a language was read, and not its native frame yet */
	bool is_java = false;

	k->run.n = k->held_run.n = 0;
	for (uint32_t i = 0; i < c->n_kernel + c->n_user; i++) {
		uint64_t frame = c->frames[i];
		uint32_t first = i; /* of its numbers */
		struct code_addr code;
		int reason;

		if (frame == FRAME_CUT) {
			sample->is_cut = true;
			break;
		}
		if (language_of(frame) == LANGUAGE_JAVA) {
			is_java = true;
			if (push_java_frame(k, c, i++))
				continue;
			pipeline_lose(k->pipeline, LOSS_JAVA_NAME, c->counter, c->samples);
			frame &= FRAME_OFF_MASK;
			is_unnamed = true;
		}
		if (language_of(frame)) {
			push_language_frame(k, c, i++);
			is_run = true;
			continue;
		}
		reason = resolve_frame(k, thread, frame, &code);
		if (reason >= 0 && first == 0)
			sample->leaf_loss = reason;
		else if (reason >= 0)
			sample->n_unmapped++;
		/* as in the pipeline: the following frames can't be trusted either */
		if (reason >= 0 && first >= MAX(c->n_kernel, 1u)) {
			sample->is_cut = true;
			break;
		}
		if (is_run || (k->held_run.n && look_for_loop(k, c, code, i)))
			push_loop(k, fit, code);
		else
			vec_push(&k->frames, code);
		is_run = false;
		if (is_unnamed) {
			sample->is_cut = true;
			break;
		}
	}
	if (fit == LANGUAGE_FITS) /* the stack was cut before the native frame */
		push_run(k, &k->run);
	if (is_java && !sample->is_cut)
		k->java_stacks.walked += c->samples;
}
