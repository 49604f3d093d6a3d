/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of `assay explain` (explain/rules.def): which facts matter, in which order, and in
 * which words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "explain/facts.h"

struct buf;

/* So many findings are shown. */
#define EXPLAIN_MAX_FINDINGS 5

/* From this share of missing samples on, the data is incomplete. */
#define EXPLAIN_MAX_LOST 0.01

/* A share of fewer samples says nothing. */
#define EXPLAIN_MIN_SAMPLES 10

struct explain_rule {
	const char *key;
	double least, rank;
	const char *sentence, *evidence, *next;
};
extern const struct explain_rule explain_rules[N_EXPLAIN_RULES];

/* How commands are written that can be typed now. */
struct explain_commands {
	const char *input;  /* " -i DIR", quoted; "" for the default session */
	const char *record; /* "record -o again.assay", with "sudo assay " or "assay " before it */
	const char *target; /* " -- ./app", " -p 12 --duration 10" … */
};

/* The findings in the order of importance. Returns their number, at most EXPLAIN_MAX_FINDINGS. */
size_t explain_choose(const struct explain_facts *f,
		      enum explain_rule_id out[EXPLAIN_MAX_FINDINGS]);

double explain_share(const struct explain_fact *fact); /* 0 if nothing is known */
double explain_lost_share(const struct explain_facts *f);

/* Append a text of a finding. Names in it are as the session has them. */
void explain_put_sentence(const struct explain_facts *f, enum explain_rule_id id, struct buf *out);
void explain_put_evidence(const struct explain_facts *f, enum explain_rule_id id, struct buf *out);
/* A command for a POSIX shell. No name in it can end a quotation. */
void explain_put_next(const struct explain_facts *f, enum explain_rule_id id,
		      const struct explain_commands *commands, struct buf *out);

/* "4.21 s", "12.3 M": an amount of a unit. */
void explain_put_amount(struct buf *out, double amount, enum explain_unit unit);
/* "71 %" */
void explain_put_share(struct buf *out, double share);

/*
 * A name as a glob that takes it, for the inside of single quotes. Bytes that a shell, a terminal
 * or a glob would not take as they are become '*'.
 */
void explain_put_glob(struct buf *out, const char *name);
