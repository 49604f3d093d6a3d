/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What samples are kept apart by, as texts: --separate of those that record. */
#pragma once

#include <stdint.h>

struct error;

#define SEPARATION_WORDS "none, lib, kernel, process, thread, cpu, cgroup, all"

/*
 * A list of words with commas, as OProfile has them: kernel implies lib, thread implies process.
 * *merged is what is left out, of enum separation. -EINVAL: a word that is none.
 */
int separation_parse(const char *list, uint32_t *merged, struct error *err);
