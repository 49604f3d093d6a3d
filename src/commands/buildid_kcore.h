/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay buildid-cache --kcore. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct error;

/*
 * Copies the code of the kernel whose memory is `kcore` (/proc/kcore) to the cache, unless there is
 * a copy with the same modules at the same addresses. With `is_verbose`, prints the place. The file
 * must be named kcore, with kallsyms and modules beside it, and with ../sys/kernel/notes for the
 * build id. A recording's kcore_dir has no notes.
 */
int buildid_kcore_add(const char *cache, const char *kcore, bool is_verbose, struct error *err);

/* Prints a line for each copy: the build id and "[kernel.kcore]/TIME". */
void buildid_kcore_list(const char *cache, FILE *out);
