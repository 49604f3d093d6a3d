/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of a request that a host sends: a file that zstd packs (RFC 8878); fleet/body_unpack.h
 * is the other side. */
#pragma once

#include "base/buf.h"

struct error;

/*
 * Packs a file into *out, which is empty before. It works piece by piece, and takes some 4 MiB of
 * memory beside the packed bytes. 0: it is packed. 1: it is larger than a gateway takes. Otherwise
 * a negative errno.
 */
int body_pack(const char *path, struct buf *out, struct error *err);
