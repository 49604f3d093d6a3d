/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of several CPUs at the same time: some of each CPU in turn, where otherwise all of one CPU
 * come before those of the next.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct script_interleave;

/* At most `n` lines of a CPU in a row. */
struct script_interleave *script_interleave_new(uint32_t n);
void script_interleave_free(struct script_interleave *i); /* NULL is fine; no lines may wait */

/* Takes the end of `out`, from `from` on, as a line of a CPU. Earlier times go to `out`. */
void script_interleave_take(struct script_interleave *i, struct buf *out, size_t from, uint32_t cpu,
			    uint64_t time_ns);

/* All that waits goes to `out`. */
void script_interleave_flush(struct script_interleave *i, struct buf *out);
