/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `record --kcore`: a copy of the running kernel's code, beside a recording.
 *
 *   DIR/data                    the perf.data file
 *   DIR/kcore_dir/kcore         an ELF core of the kernel's text and its modules
 *   DIR/kcore_dir/kallsyms      copies of /proc/kallsyms
 *   DIR/kcore_dir/modules       and /proc/modules
 *
 * The kernel changes its own code (static keys, alternatives, ftrace), so vmlinux has other code.
 * /proc/kcore spans an address space of terabytes; assay copies the text alone. perf has the same
 * layout and reads the copy. (fs/proc/kcore.c; perf-record(1), --kcore)
 */
#pragma once

#include <stdint.h>

struct error;

/*
 * Makes `dir` (one that was there, a recording's, is kept as DIR.old), and the copies in it.
 * `proc` NULL: "/proc". On failure the message names the missing or forbidden file and the remedy,
 * and nothing is left behind.
 */
int kcore_copy(const char *proc, const char *dir, uint64_t *n_bytes, struct error *err);

/*
 * The three files alone, in `folder`, which is made for them. They are written to a hidden folder
 * beside it (".new-…"), which is then renamed: nobody reads half a copy. -EEXIST or -ENOTEMPTY: a
 * copy has this name. On failure no part of the copy is left, but the folders above it may be.
 */
int kcore_copy_files(const char *proc, const char *folder, uint64_t *n_bytes, struct error *err);

/* Removes the copies of kcore_copy(), and puts back the former `dir`, if `dir` has no "data". */
void kcore_copy_undo(const char *dir);
