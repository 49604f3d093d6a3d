/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One event of a list while it is parsed. Inside counter/ only. */
#pragma once

#include "counter/draft.h"

/* The content of braces, and the modifiers behind them. */
struct parse_group {
	const char *letters; /* "": none */
	size_t first;        /* index of its first counter */
};

struct parse {
	const struct counter_sources *sources;
	const struct counter_rate *rate;
	const char *spec; /* this event as typed */
	struct counters *out;
	struct error *err;
	const struct parse_group *group; /* NULL: in none */
};

/* Parses NAME and the words after its colons, in perf's or OProfile's syntax. Cuts up `text`. */
int parse_words(const struct parse *p, char *text);

/*
 * Adds the rate and appends the counters that the draft stands for. `name` is for reports where
 * the draft has none; `letters` are the modifiers, applied already.
 */
int parse_finish(const struct parse *p, struct draft *d, const char *name, const char *letters);
