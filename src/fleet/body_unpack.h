/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of a request that a host sends: bytes, or bytes that zstd packed (RFC 8878). A stranger
 * made them, so only a process without rights unpacks them (guard/parser.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/files/file.h"

/* Limits of a body: as it comes, unpacked, and the ratio of both. */
#define BODY_PACKED_MAX   ((size_t)8 << 20)
#define BODY_UNPACKED_MAX ((size_t)64 << 20)
#define BODY_RATIO_MAX    100

#define BODY_WHY_SIZE 256

/*
 * Unpacks a body, and appends it to `out`; if it is not packed, `out` stays as it is, and the size
 * alone is checked. -EFBIG: a limit. -EBADMSG: it is damaged or empty. Then `why` is a sentence
 * without a stop.
 */
int body_unpack(const struct file_mapping *file, bool is_packed, struct buf *out,
		char why[static BODY_WHY_SIZE]);
