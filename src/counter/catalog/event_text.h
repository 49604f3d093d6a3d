/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event of a session is, in words: OProfile's header lines, and its XML. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"

struct event_text {
	char help[256];
	char mask[256]; /* of the unit mask: "No unit mask", "multiple flags" … */
};

/*
 * `cpu` is a processor's pretty name ("AMD64 generic") and selects event files. NULL or unknown:
 * this machine's catalogue. `name` may end with modifiers after a colon. False: the event is
 * unknown, and the text is "Unknown event".
 */
bool event_text_find(const struct counter_sources *sources, const char *cpu, const char *name,
		     uint64_t unit_mask, struct event_text *out);
