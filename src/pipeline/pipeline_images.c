/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of samples get the ids that they are stored under; samples wait for that. */
#include <string.h>

#include "base/clock.h"
#include "lang/language.h"
#include "pipeline/image_looks.h"
#include "pipeline/jit_names.h"
#include "pipeline/pipeline_state.h"

#define PYTHON_WITH_TRAMPOLINE (3 << 8 | 12)

static const struct {
	enum loss_reason version, collector;
} runtime_losses[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = { LOSS_##id##_VERSION, LOSS_##id##_COLLECTOR },
	LANGUAGES(X)
#undef X
};

void pipeline_lose_runtime(struct pipeline *p, const struct lang_runtime *runtime)
{
	if (p->expects_languages)
		pipeline_lose(p, runtime_losses[runtime->language].collector, UINT32_MAX, 1);
}

/* Whether none of the frames of a language is recorded. */
static bool lacks_frames(const struct pipeline *p, const struct lang_runtime *runtime)
{
	bool has_trampoline = p->expects_trampolines && runtime->language == LANGUAGE_PYTHON &&
			      runtime->version >= PYTHON_WITH_TRAMPOLINE;

	return language_is_on_stack(runtime->language) || has_trampoline ? p->lacks_walks
									 : !p->expects_languages;
}

static void note_runtime(struct pipeline *p, image_id image, enum lang_detected detected,
			 const struct lang_runtime *runtime)
{
	if (pipeline_runtime(p, image))
		return;
	if (lacks_frames(p, runtime))
		pipeline_lose(p, runtime_losses[runtime->language].collector, UINT32_MAX, 1);
	else if (detected == LANG_REFUSED)
		pipeline_lose(p, runtime_losses[runtime->language].version, UINT32_MAX, 1);
	if (detected == LANG_FOUND)
		vec_push(&p->runtimes, (struct runtime_image){ image, *runtime });
}

const struct lang_runtime *pipeline_runtime(const struct pipeline *p, image_id image)
{
	vec_foreach (&p->runtimes, r)
		if (r->image.n == image.n)
			return &r->runtime;
	return NULL;
}

static void note_go_program(struct pipeline *p, image_id image, const struct lang_runtime *program)
{
	if (!pipeline_label_places(p, image))
		vec_push(&p->go_programs, (struct runtime_image){ image, *program });
}

const struct label_places *pipeline_label_places(const struct pipeline *p, image_id image)
{
	vec_foreach (&p->go_programs, r)
		if (r->image.n == image.n)
			return &r->runtime.labels;
	return NULL;
}

void pipeline_expect_languages(struct pipeline *p)
{
	p->expects_languages = true;
}

void pipeline_expect_trampolines(struct pipeline *p)
{
	p->expects_trampolines = true;
}

uint32_t pipeline_session(const struct pipeline *p)
{
	return p->session;
}

uint32_t *pipeline_canonical(struct pipeline *p, image_id id)
{
	while (p->canonical.n <= id.n)
		vec_push(&p->canonical, IMAGE_NOT_LOOKED_AT);
	return &p->canonical.data[id.n];
}

void pipeline_forget_pending(struct pipeline *p, image_id id)
{
	size_t kept = 0;

	vec_foreach (&p->pending, look)
		if (look->id.n != id.n)
			p->pending.data[kept++] = *look;
	p->pending.n = kept;
}

bool pipeline_is_file_late(const struct pipeline *p, image_id id)
{
	return id.n < p->late.n && p->late.data[id.n];
}

static void note_late(struct pipeline *p, image_id id)
{
	while (p->late.n <= id.n)
		vec_push(&p->late, false);
	p->late.data[id.n] = true;
}

/* Once for a look. */
static void count_late(struct pipeline *p, image_id id)
{
	while (p->counted.n <= id.n)
		vec_push(&p->counted, false);
	if (!p->counted.data[id.n])
		pipeline_lose(p, LOSS_FILE_LATE, 0, 1);
	p->counted.data[id.n] = true;
}

static void end_look(void *context, const struct file_look *look)
{
	struct pipeline *p = context;
	struct image_table *images = machine_images(p->machine);
	struct build_id key = image_cache_key(&look->image);
	image_id id = look->id;

	if (look->loss == N_LOSS_REASONS)
		frame_resolver_know_key(p->resolver, id, &key);
	if (look->lacks_names)
		pipeline_lose(p, LOSS_FILE_UNPARSED, 0, 1);
	if (look->loss != N_LOSS_REASONS)
		pipeline_lose(p, look->loss, 0, 1);
	else if (!image_get(images, id)->build_id.len)
		id = image_intern(images, &look->image);
	*pipeline_canonical(p, look->id) = id.n;
	pipeline_forget_pending(p, look->id);
	if (look->id.n < p->counted.n)
		p->counted.data[look->id.n] = false;
	if (pipeline_is_file_late(p, look->id))
		p->late.data[look->id.n] = false;
	if (look->detected != LANG_NONE)
		note_runtime(p, id, look->detected, &look->runtime);
	else if (!look->runtime.language && look->runtime.version)
		note_go_program(p, id, &look->runtime);
}

/* The file was opened for its unwind table already. */
static bool use_look_of_stacks(struct pipeline *p, image_id id)
{
	cleanup(free_at_exit) struct file_look *look = frame_resolver_take_look(p->resolver, id);

	if (!look)
		return false;
	look->id = id;
	look->image.path = image_get(machine_images(p->machine), id)->path;
	end_look(p, look);
	return true;
}

/*
 * The kernel reports a build id only if the file's first page is in memory, and /proc never does.
 * So one file may have two images. At an image's first sample its build id is read, and all samples
 * go to the image with that build id.
 */
static void begin_look(struct pipeline *p, int32_t pid, image_id id)
{
	const struct image *image = image_get(machine_images(p->machine), id);
	const struct image_finder finder = { .proc = p->proc, .names_dir = p->names_dir };
	struct pending_look pending = { .id = id, .until_ns = clock_monotonic_ns() + LOOK_WAIT_NS };

	if (!p->jobs || image->kind != IMAGE_FILE || image->path[0] != '/') {
		p->canonical.data[id.n] = id.n;
		return;
	}
	if (use_look_of_stacks(p, id))
		return;
	p->canonical.data[id.n] = IMAGE_BEING_LOOKED_AT;
	pending.user = file_look_begin(p->jobs, &finder, pid, id, image, end_look, p);
	vec_push(&p->pending, pending);
}

/* Most images were seen before: this is for each frame. */
static bool is_image_known(const struct pipeline *p, image_id id)
{
	return id.n < p->canonical.n && p->canonical.data[id.n] < IMAGE_UNREAD;
}

bool pipeline_look_at_image(struct pipeline *p, int32_t pid, image_id *id)
{
	if (*pipeline_canonical(p, *id) == IMAGE_NOT_LOOKED_AT)
		begin_look(p, pid, *id);
	if (p->canonical.data[id->n] >= IMAGE_UNREAD)
		return false;
	id->n = p->canonical.data[id->n];
	return true;
}

static void end_waiting_for(struct pipeline *p, const struct pending_look *look)
{
	if (*pipeline_canonical(p, look->id) == IMAGE_UNREAD) {
		machine_dump_is_late(p->machine, look->id);
		return;
	}
	*pipeline_canonical(p, look->id) = look->id.n;
	note_late(p, look->id);
	count_late(p, look->id);
}

/* Whether samples that wait since a time for a look may wait no longer. */
static bool is_wait_over(struct pipeline *p, const struct pending_look *look, uint64_t since_ns,
			 uint64_t wait_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < since_ns + wait_ns)
		return false;
	return wait_ns < LOOK_WAIT_NS || now_ns >= since_ns + LOOK_WAIT_MAX_NS ||
	       !file_jobs_go_on(p->jobs, look->user, LOOK_WAIT_NS);
}

/* Images whose look takes too long have their path alone, until it ends. */
static bool expire_looks(struct pipeline *p)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t n = 0;
	size_t kept = 0;

	/* those behind one that waits on may be of another user */
	while (n < p->pending.n && p->pending.data[n].until_ns <= now_ns) {
		const struct pending_look look = p->pending.data[n++];

		if (is_wait_over(p, &look, look.until_ns - LOOK_WAIT_NS, LOOK_WAIT_NS))
			end_waiting_for(p, &look);
		else
			p->pending.data[kept++] = look;
	}
	if (kept == n)
		return false;
	memmove(p->pending.data + kept, p->pending.data + n,
		(p->pending.n - n) * sizeof(*p->pending.data));
	p->pending.n -= n - kept;
	return true;
}

/* Whether the place of a frame is known. It may have been code of a jitdump that was not read. */
static bool settle_frame(struct pipeline *p, const struct sample *sample, bool is_last,
			 struct code_addr *frame)
{
	if (*pipeline_canonical(p, frame->image) != IMAGE_UNREAD)
		return true;
	if (!machine_settle(p->machine, sample->time_ns, is_last, frame))
		return false;
	pipeline_note_jit(p, sample->class.pid, frame);
	return true;
}

/* Has the files of new images looked at. */
static bool look_at_images(struct pipeline *p, const struct sample *sample,
			   struct code_addr *frames)
{
	image_id id = sample->class.app;
	bool are_known = pipeline_look_at_image(p, sample->class.pid, &id);

	for (uint32_t i = 0; i < sample->n_frames; i++) {
		if (is_image_known(p, frames[i].image))
			continue;
		are_known &= settle_frame(p, sample, false, &frames[i]);
		id = frames[i].image;
		are_known &= pipeline_look_at_image(p, sample->class.pid, &id);
	}
	return are_known;
}

/* While a look at the image goes on, the image stays as it is, which counts. */
static void take_as_known(struct pipeline *p, int32_t pid, image_id *id)
{
	if (pipeline_look_at_image(p, pid, id) || p->canonical.data[id->n] == IMAGE_UNREAD)
		return;
	vec_foreach (&p->pending, look)
		if (look->id.n == id->n)
			count_late(p, look->id);
}

/* Images that are not known yet stay as they are. */
static void keep_as_known(struct pipeline *p, struct sample *sample, struct code_addr *frames)
{
	for (uint32_t i = 0; !p->is_offline && i < sample->n_frames; i++) {
		if (is_image_known(p, frames[i].image)) {
			frames[i].image.n = p->canonical.data[frames[i].image.n];
			continue;
		}
		settle_frame(p, sample, true, &frames[i]);
		take_as_known(p, sample->class.pid, &frames[i].image);
	}
	if (!p->is_offline)
		take_as_known(p, sample->class.pid, &sample->class.app);
	pipeline_keep(p, sample);
}

/* Where there is no room, something may have become known meanwhile. */
static bool wait_for_images(struct pipeline *p, const struct sample *sample)
{
	if (waiting_samples_add(&p->waiting, sample))
		return true;
	pipeline_take_looks(p);
	return waiting_samples_add(&p->waiting, sample);
}

void pipeline_keep_or_wait(struct pipeline *p, struct sample *sample, struct code_addr *frames)
{
	if (p->is_offline || look_at_images(p, sample, frames) || !wait_for_images(p, sample))
		keep_as_known(p, sample, frames);
}

static bool keep_if_known(void *context, struct sample *sample, struct code_addr *frames)
{
	bool are_known = look_at_images(context, sample, frames);

	if (are_known)
		keep_as_known(context, sample, frames);
	return are_known;
}

static bool keep_anyway(void *context, struct sample *sample, struct code_addr *frames)
{
	keep_as_known(context, sample, frames);
	return true;
}

static void visit_waiting(struct pipeline *p, waiting_take take)
{
	p->is_settling = true;
	waiting_samples_visit(&p->waiting, take, p);
	p->is_settling = false;
}

void pipeline_take_looks(struct pipeline *p)
{
	bool is_news = p->jobs && file_jobs_take(p->jobs);

	is_news |= p->pending.n && expire_looks(p);
	if (is_news)
		visit_waiting(p, keep_if_known);
}

/* Looks that end are taken at once; others are looked at now and then. */
#define GO_ON_LOOK_NS (100 * NS_PER_MS)

void pipeline_end_waiting(struct pipeline *p, uint64_t wait_ns)
{
	uint64_t since_ns = clock_monotonic_ns();

	for (pipeline_take_looks(p); p->waiting.samples.n && p->pending.n &&
				     !is_wait_over(p, p->pending.data, since_ns, wait_ns);
	     pipeline_take_looks(p))
		file_jobs_wait(p->jobs, clock_monotonic_ns() + MIN(wait_ns, GO_ON_LOOK_NS));
	visit_waiting(p, keep_anyway);
}

void pipeline_end_jobs(struct pipeline *p, uint64_t wait_ns)
{
	uint64_t until_ns;

	pipeline_end_waiting(p, wait_ns);
	until_ns = clock_monotonic_ns() + wait_ns;
	if (!p->jit)
		return;
	while (machine_reads_dumps(p->machine) && clock_monotonic_ns() < until_ns) {
		file_jobs_wait(p->jobs, until_ns);
		pipeline_take_looks(p);
	}
	jit_names_finish_all(p->jit);
	while (jit_names_pending(p->jit) && clock_monotonic_ns() < until_ns) {
		file_jobs_wait(p->jobs, until_ns);
		pipeline_take_looks(p);
	}
}

bool pipeline_is_looking(const struct pipeline *p)
{
	return p->jobs && file_jobs_count(p->jobs);
}
