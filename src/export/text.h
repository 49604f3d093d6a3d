/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and strings of text formats, fast enough for millions of them. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

void text_u64(struct buf *out, uint64_t v);

/* Nanoseconds in units of `unit_ns` (a power of ten), exact: 1234567, 1000 is "1234.567". */
void text_scaled(struct buf *out, uint64_t ns, uint64_t unit_ns);
