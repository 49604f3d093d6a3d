/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of --separate: the properties by which samples are kept apart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/image.h"

struct error;

#define SEPARATION_WORDS "none, lib, kernel, process, thread, cpu, cgroup, all"

/*
 * Parses a list of words with commas. As in OProfile, kernel implies lib, and thread implies
 * process. *merged: the enum separation bits that the list leaves out. -EINVAL: an unknown word.
 */
int separation_parse(const char *list, uint32_t *merged, struct error *err);

/* Whether SEPARATE_KERNEL is about code of this image. */
static inline bool image_is_kernel_code(const struct image *image)
{
	return image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE ||
	       image->kind == IMAGE_BPF;
}
