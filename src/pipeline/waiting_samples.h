/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples that wait until the files of their images are known (image_looks.h). Frames are kept as
 * they were resolved. { 0 } is valid and empty. One thread uses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "guard/limits.h"
#include "store/store.h"

struct waiting_samples {
	VEC(struct sample) samples; /* without `frames`: theirs follow each other in … */
	VEC(struct code_addr) frames;
};

void waiting_samples_fini(struct waiting_samples *w);

/* Copies a sample. False: there is no room. */
bool waiting_samples_add(struct waiting_samples *w, const struct sample *sample);

/*
 * Passes each sample to `take`, in their order, and forgets those for which it returns true. It may
 * change the sample and its frames.
 */
typedef bool (*waiting_take)(void *context, struct sample *sample, struct code_addr *frames);
void waiting_samples_visit(struct waiting_samples *w, waiting_take take, void *context);
