/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that the in-kernel sampler has met: which of them are runtimes of languages, or have
 * labels. The sampler is told when the look at a file has ended, however late.
 */
#pragma once

#include "record/in_kernel_state.h"

/* `number`: of the file in k->files. */
void in_kernel_examine(struct in_kernel *k, uint32_t number, image_id image);

/* Those whose look had not ended. */
void in_kernel_examine_again(struct in_kernel *k);
