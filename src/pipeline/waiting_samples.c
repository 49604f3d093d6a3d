/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/waiting_samples.h"

#include <string.h>

void waiting_samples_fini(struct waiting_samples *w)
{
	vec_fini(&w->samples);
	vec_fini(&w->frames);
}

bool waiting_samples_add(struct waiting_samples *w, const struct sample *sample)
{
	size_t bytes = (w->samples.n + 1) * sizeof(*sample) +
		       (w->frames.n + sample->n_frames) * sizeof(*sample->frames);

	if (bytes > WAITING_SAMPLES_BYTES)
		return false;
	vec_push(&w->samples, *sample);
	vec_reserve(&w->frames, w->frames.n + sample->n_frames);
	memcpy(w->frames.data + w->frames.n, sample->frames,
	       sample->n_frames * sizeof(*sample->frames));
	w->frames.n += sample->n_frames;
	return true;
}

void waiting_samples_visit(struct waiting_samples *w, waiting_take take, void *context)
{
	struct code_addr *frames = w->frames.data, *kept = frames;
	size_t n_kept = 0;

	vec_foreach (&w->samples, s) {
		uint32_t n = s->n_frames;
		struct sample copy = *s;

		copy.frames = frames;
		if (!take(context, &copy, frames)) {
			memmove(kept, frames, n * sizeof(*frames));
			kept += n;
			w->samples.data[n_kept++] = *s;
		}
		frames += n;
	}
	w->samples.n = n_kept;
	w->frames.n = (size_t)(kept - w->frames.data);
	if (!n_kept)
		waiting_samples_fini(w);
}
