/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target of `assay record`: one of several kinds, by number or by name. */
#pragma once

#include <stdbool.h>

#include "commands/record_setup.h"

struct error;

/* Refuses options that exclude each other: -EINVAL. */
int record_check_target(struct record_setup *s, struct error *err);

/* With --alloc by uprobes, the session's note says so. */
void record_note_alloc(struct record_setup *s);

/* Whether counters are of CPUs, as for the whole machine, and not of threads. */
bool record_is_by_cpu(const struct record_setup *s);

/*
 * Looks up the target's names. By BPF, a filter in the kernel takes the processes of a user or with
 * a name, also later ones. Else the processes that run now are followed.
 */
int record_find_target(struct record_setup *s, bool in_kernel, struct error *err);

/* -o -: the kernel's records in perf's form for pipes. */
int record_prepare_pipe(struct record_args *args, struct error *err);
