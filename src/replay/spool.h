/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a file of any kind. */
#pragma once

struct error;
struct file_mapping;

/*
 * Maps the file at `path` (base/files/file.h). Input that can be read only once ("-": standard
 * input, a pipe) first goes into a file without a name in $TMPDIR. Recordings are read twice, and
 * their middle at any time.
 */
int spool_map(const char *path, struct file_mapping *out, struct error *err);
