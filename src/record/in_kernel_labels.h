/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the labels of goroutines to frames of a session (IMAGE_LABEL_PREFIX in machine/image.h).
 * Values come from the profiled program, so nothing in them is trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/image.h"

struct label_value;
struct machine;
struct pipeline;

struct label_marks;

/* `names` are those of the session, in the order of the sampler's values. All stay the caller's. */
struct label_marks *label_marks_new(struct pipeline *pipeline, struct machine *machine,
				    const char *const *names, size_t n);
void label_marks_free(struct label_marks *l); /* NULL is fine */

/*
 * Writes a frame for each label that the sample has, and returns their number. `values` NULL: each
 * label's value is not known. `out` has room for LABELS_MAX (collect/bpf/shared.h).
 */
size_t label_marks_place(struct label_marks *l, const struct label_value *values,
			 struct code_addr *out);
