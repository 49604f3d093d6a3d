/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of `assay diff --fail-if`: whether they fit the sessions, and what they find. */
#pragma once

#include <stdbool.h>

#include "commands/diff_setup.h"

/*
 * CPU times of different machines are no change of the program. -ENOTSUP: a rule is about them.
 */
int diff_check_machines(const struct diff_setup *s, const struct diff_source *old,
			struct error *err);

/* Seconds need an event that counts time. -ENOTSUP: it counts none. */
int diff_check_units(const struct diff_setup *s, bool counts_time, const char *event,
		     struct error *err);

/* Sets *status if a rule is broken, or matches nothing. */
void diff_check_rules(struct diff_setup *s, const struct gate_input *in, int *status);
