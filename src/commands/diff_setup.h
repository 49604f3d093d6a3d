/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `assay diff`, and the two sides that its operands name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "commands/diff_baseline.h"
#include "commands/opening.h"
#include "open/input.h"
#include "report/gate_print.h"

struct diff_args {
	const char *input, *against, *history, *format, *csv, *output, *weight, *cache, *itrace,
		*filter, *frames;
	struct window_args window;
	struct option_list fail_if;
	double threshold, names_s;
	uint64_t limit, n_sessions;
	bool no_demangle, no_itrace, tree, significant, idle, no_pager, any_machine, in_turn;
	struct code_args code;
	const char *container_names;
};

struct diff_source {
	const char *path;
	struct query query;
	struct session *session;
	struct symbolizer *symbols;
	struct profile *profile;
	bool is_damaged;
	char *label; /* with the window, where there is one; NULL until it is asked for */
};

struct diff_setup {
	struct diff_args args;
	struct input *in;
	struct diff_source sides[2]; /* those that the table shows */
	/* The old sessions of --against-history, or both sides of --in-turn; the newest first. */
	struct diff_baseline baselines[2];
	struct diff_source *earlier[2]; /* all of them but the newest */
	size_t n_earlier[2];
	struct gate_rule *rules;
	struct gate_result *results;
	size_t n_rules;
};

/*
 * Fills in the sides and the rules from the operands. -EINVAL: wrong usage. The caller calls
 * diff_setup_fini() also after an error.
 */
int diff_setup_parse(struct diff_setup *s, const struct option_list *operands, struct error *err);
void diff_setup_fini(struct diff_setup *s);

/* What to call a side. */
const char *diff_source_name(const struct diff_source *side);

/* Whether the operands have OProfile's form: { OLD… } { NEW… }. */
bool diff_has_braces(const struct option_list *operands);
