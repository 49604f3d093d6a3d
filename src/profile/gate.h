/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that a difference of two profiles must not break, for tests of builds.
 *
 *   total>+5%           the CPU time of the whole grew by more than 5 percent
 *   total>+0.2s         … by more than 0.2 seconds
 *   symbol:GLOB>+5%cpu  the CPU time of a function grew by more than 5 percent
 *   symbol:GLOB>+0.2s   … by more than 0.2 seconds
 *   symbol:GLOB>+3%     the share of a function grew by more than 3 points
 *
 * `symbol>` is for each function. `<` and a negative number are for less time. The time of an event
 * that counts no time is its events.
 *
 * Only significant changes break a rule. With one old profile, the noise of sampling decides (the
 * test of profile/diff.h). With several, their spread decides: Student's t for one new value beside
 * n old ones. With turns, the spread of their changes decides: Student's t for pairs.
 */
#pragma once

#include <stdbool.h>

#include "profile/diff.h"

struct error;

enum gate_unit { GATE_POINTS, GATE_PERCENT, GATE_SECONDS };

struct gate_rule {
	const char *text; /* the caller's */
	char *glob;       /* of function names; NULL: the total */
	enum gate_unit unit;
	double limit; /* in its unit */
	bool is_below;
};

/* -EINVAL: the text is no rule. The message shows the forms. */
int gate_rule_parse(const char *text, struct gate_rule *out, struct error *err);
void gate_rule_fini(struct gate_rule *rule);

enum gate_verdict {
	GATE_KEPT,            /* no change beyond the limit */
	GATE_NOT_SIGNIFICANT, /* such a change, but chance may have made it */
	GATE_BROKEN,
	GATE_UNMATCHED, /* of a rule: no function has such a name */
};

/* A function, or the total, whose change is beyond a rule's limit. */
struct gate_finding {
	const char *symbol, *image; /* of the diff's names; "" for the total */
	double old_time, new_time;  /* ns, or events; the mean where there are several */
	double spread;   /* standard deviation of the old times, or of the changes of turns; 0: one
			    old profile */
	size_t n_turns;  /* 0: the new profile is one */
	double change;   /* in the rule's unit */
	double sureness; /* z or t; from `needed` on, the change is significant */
	double needed;
	bool is_significant;
};

struct gate_result {
	const struct gate_rule *rule;
	enum gate_verdict verdict; /* the worst of its findings */
	VEC(struct gate_finding) findings;
};

/* All old profiles beside the new one, or beside that of the same turn; diffs[0] is shown, and its
 * names are those of findings. */
struct gate_input {
	const struct diff *diffs;
	size_t n;
	bool counts_time; /* the event's unit is ns */
	bool in_turn;     /* each diff has its own new profile, of the same turn */
};

/* Whether a rule is about absolute time, which other machines do not share. */
static inline bool gate_rule_is_absolute(const struct gate_rule *rule)
{
	return rule->unit != GATE_POINTS;
}

void gate_check(const struct gate_input *in, const struct gate_rule *rule, struct gate_result *out);
void gate_result_fini(struct gate_result *r);

/* A finding in words: "draw in app: 1.200 s to 1.500 s, +25.0 % of CPU time". */
void gate_finding_print(struct buf *out, const struct gate_rule *rule,
			const struct gate_finding *finding, bool counts_time);
