/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The branch stacks in the text of perf script, played as a recording: a perf.data of its mappings
 * and samples is made in memory.
 */
#pragma once

#include <stdbool.h>

struct error;
struct replay;

/* Whether the file is such a text, by its first bytes. */
bool replay_is_script(const char *path);

/* -ENODATA: it has no branches, or no mappings for their addresses. */
int replay_open_script(const char *path, struct replay **out, struct error *err);
