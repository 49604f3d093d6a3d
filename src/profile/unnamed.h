/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code without names that a runtime made, and the switch by which that runtime names it. */
#pragma once

#include <stdint.h>

struct profile;

/*
 * A sentence for people about an image of code made at run time that has no name at all. It names
 * the runtime that is in the same stacks, or else the only one of the profile. NULL: it is no such
 * image, or some of its code has names.
 */
const char *profile_unnamed_jit(const struct profile *p, uint32_t image);
