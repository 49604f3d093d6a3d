/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of one buffer: the same bytes may be in two of them, as the buffer was not written
 * full in between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where in `now` begins what `before` has not. *is_consecutive: it follows what `before` ends with;
 * else something is missing between them, and the place is that of a PSB (or the end).
 */
size_t pt_overlap(const uint8_t *before, size_t n_before, const uint8_t *now, size_t n_now,
		  bool *is_consecutive);
