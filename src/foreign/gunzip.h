/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip streams (RFC 1952), unpacked in memory: pprof files, and texts that someone compressed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct error;

bool gunzip_has_magic(const void *bytes, size_t size);

/*
 * Appends what all members of the stream unpack to. -EFBIG for a bomb (more than 200 times
 * its size and 64 MiB, or more than `limit` bytes), -EBADMSG for what is damaged or cut short: what
 * was unpacked before that is in `out`.
 */
int gunzip(const void *bytes, size_t size, size_t limit, struct buf *out, struct error *err);
