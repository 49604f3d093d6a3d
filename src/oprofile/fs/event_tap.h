/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples on their way to the store (pipeline/pipeline.h, sample taps) to the event buffer.
 *
 *   user mode    (image, offset) → the image's cookie, and the offset; JIT code: cookie 0, address
 *   kernel       (image, offset) → its present address
 *   unknown      left out and counted as lost, as by OProfile's driver
 *
 * A cookie is the number of a file. It stays the same as long as the tap exists, even if another
 * recording with different image ids begins.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "machine/machine.h"
#include "pipeline/pipeline.h"

struct event_buffer;
struct event_tap;

/* The buffer stays the caller's, and outlives the tap. */
struct event_tap *event_tap_new(struct event_buffer *buffer, uint32_t backtrace_depth);
void event_tap_free(struct event_tap *t); /* NULL is fine */

/* For pipeline_set_tap() and recorder_set_tap(). The tap owns it. */
const struct sample_tap *event_tap_samples(const struct event_tap *t);

/* Sets the machine whose images the samples have; NULL: no samples will follow. */
void event_tap_set_machine(struct event_tap *t, struct machine *machine);

/* A line "COOKIE PATH" each, in the order of cookies; bytes below 32 in paths as \ooo. */
void event_tap_cookies(const struct event_tap *t, struct buf *out);

struct event_tap_counts {
	uint64_t lost_no_mapping, lost_overflow;
};
struct event_tap_counts event_tap_counts(const struct event_tap *t);
