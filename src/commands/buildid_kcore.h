/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay buildid-cache --kcore. */
#pragma once

#include <stdbool.h>

struct error;

/*
 * Copies the code of the kernel whose memory is `kcore` (/proc/kcore) to the cache, unless there is
 * a copy with the same modules at the same addresses. With `is_verbose`, prints the place.
 */
int buildid_kcore_add(const char *cache, const char *kcore, bool is_verbose, struct error *err);
