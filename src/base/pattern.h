/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions that cannot explode: matching takes at most (bytes of the text) × (steps of
 * the pattern), whatever the pattern. They match whole texts.
 *
 * The syntax is that of RE2 without captures, as Prometheus has it: . [a-z] [^a] \d \w \s and their
 * capitals, ( ) (?: ) | * + ? {n,m}, ^ and $, and (?i) at the beginning. A dot is one character of
 * UTF-8.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

struct error;
struct pattern;

#define PATTERN_MAX_STEPS 4000

/* -EINVAL: it is no pattern, or has more than PATTERN_MAX_STEPS. */
int pattern_new(const char *text, struct pattern **out, struct error *err);
void pattern_free(struct pattern *p); /* NULL is fine */
DEFINE_AT_EXIT(pattern_free, struct pattern)

/* Whether the pattern matches the whole text. For one thread at a time. */
bool pattern_matches(struct pattern *p, const char *text);
