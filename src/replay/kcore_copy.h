/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `record --kcore`: the kernel's code as it ran, beside a recording.
 *
 *   DIR/data                    the perf.data file
 *   DIR/kcore_dir/kcore         an ELF core of the kernel's text and its modules
 *   DIR/kcore_dir/kallsyms      copies of /proc/kallsyms
 *   DIR/kcore_dir/modules       and /proc/modules
 *
 * The kernel changes its own code (static keys, alternatives, ftrace), so that vmlinux is not what
 * ran. /proc/kcore has it all, of an address space of terabytes: what is text is copied alone.
 * The layout is that of perf, which reads it. (fs/proc/kcore.c; perf-record(1), --kcore)
 */
#pragma once

#include <stdint.h>

struct error;

/*
 * Makes `dir` (one that was there, a recording's, is kept as DIR.old), and the copies in it.
 * `proc` NULL: "/proc". Which file is missing, or not permitted, and what to do, is in the
 * message; nothing is left behind then.
 */
int kcore_copy(const char *proc, const char *dir, uint64_t *n_bytes, struct error *err);

/* Removes what kcore_copy() made, and puts back what was there, if `dir` has no "data". */
void kcore_copy_undo(const char *dir);
