/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of one buffer. Two of them can have the same bytes, if the buffer was not filled in
 * between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The place in `now` of the first byte that is not in `before`. *is_consecutive: it follows the
 * last byte of `before`. Otherwise bytes are missing between them, and the place is a PSB (or the
 * end).
 */
size_t pt_overlap(const uint8_t *before, size_t n_before, const uint8_t *now, size_t n_now,
		  bool *is_consecutive);
