/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector of a recording (the rings, or the sampler in the kernel) and the source of stacks.
 */
#pragma once

#include <stdbool.h>

#include "commands/record_setup.h"
#include "record/recorder.h"

/*
 * Whether the kernel counts the samples: the requested collector or the best one; the rings if it
 * is not possible. s->note then says which functions are missing.
 */
bool record_choose_sampler(struct record_setup *s);

enum stack_source record_choose_stacks(const struct record_setup *s, bool in_kernel);
