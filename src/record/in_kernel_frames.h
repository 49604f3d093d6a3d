/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packed frames of the sampler become places of code, native ones and those of languages. */
#pragma once

#include "record/in_kernel_state.h"

struct pipeline_sample;
struct thread_view;

/* The image of a file by the sampler's number; [unknown] while its path is not known. */
image_id in_kernel_image_of(struct in_kernel *k, uint32_t number);
uint64_t in_kernel_file_hash(uint64_t dev, uint64_t ino);

/* Appends the frames of a count to k->frames. Sets leaf_loss and n_unmapped. */
void in_kernel_push_frames(struct in_kernel *k, const struct sampler_count *c,
			   const struct thread_view *thread, struct pipeline_sample *sample);
