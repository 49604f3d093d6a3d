/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at the files of images (image_files.h) without waiting for them (file_jobs.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/loss.h"
#include "lang/detect.h"
#include "machine/image.h"
#include "pipeline/file_jobs.h"
#include "pipeline/image_files.h"

struct file_look {
	image_id id;                 /* as it was asked for */
	struct image image;          /* with its identity; unchanged if there is a loss */
	enum loss_reason loss;       /* why the file was not read, or N_LOSS_REASONS */
	enum lang_detected detected; /* LANG_NONE: it is no runtime of a language */
	struct lang_runtime runtime;
	bool lacks_names; /* reports may not find its symbols, and they could not be kept */
};

/* Valid during the call. */
typedef void (*file_look_done)(void *context, const struct file_look *look);

/*
 * Has the file of a FILE image looked at that process `pid` has mapped. file_jobs_take() calls
 * `done`. `image` and `finder` are copied. Returns the user of the job (file_jobs_user()).
 */
uint32_t file_look_begin(struct file_jobs *jobs, const struct image_finder *finder, int32_t pid,
			 image_id id, const struct image *image, file_look_done done,
			 void *context);
