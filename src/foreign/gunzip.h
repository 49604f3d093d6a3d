/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip streams (RFC 1952), unpacked in memory: pprof files, and texts that someone compressed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;

bool gunzip_has_magic(const void *bytes, size_t size);

/*
 * Unpacks all members of the stream and appends their bytes. Returns -EFBIG for more than `limit`
 * bytes, or more than 64 MiB and 200 times the size of the stream. -EBADMSG: the stream is damaged
 * or cut; `out` has the bytes before the damage.
 */
int gunzip(const void *bytes, size_t size, size_t limit, struct buf *out, struct error *err);
