/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a session that `assay explain` looks at: one for each rule (explain/rules.def), and
 * what the session cannot show. A fact is numbers and names. It says nothing about importance.
 *
 * Facts come from three profiles: of all samples, of wall time, and of the lines of the hottest
 * function. Times of waits are sums over threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"

struct session;
struct symbolizer;
struct error;
struct profile;

enum explain_rule_id {
#define RULE(id, key, share, rank, sentence, evidence, next) EXPLAIN_##id,
#include "explain/rules.def"
#undef RULE
	N_EXPLAIN_RULES
};

enum explain_unit { EXPLAIN_NS, EXPLAIN_EVENTS, EXPLAIN_SAMPLES };

/* X(member, placeholder): texts, "" if there is none. Those of a session may hold anything. */
#define EXPLAIN_TEXTS(X)                                                    \
	X(symbol, "symbol") /* of the function that has most of the part */ \
	X(image, "image")                                                   \
	X(comm, "comm")                                                     \
	X(caller, "caller")                                                 \
	X(where, "where") /* source file and line */                        \
	X(waker, "waker")                                                   \
	X(waker_symbol, "waker-symbol")                                     \
	X(owner, "owner") /* of the lock */                                 \
	X(device, "device")                                                 \
	X(text, "text")                                                     \
	X(package, "package") /* the command that installs debug information */

enum explain_text {
#define X(member, placeholder) EXPLAIN_TEXT_##member,
	EXPLAIN_TEXTS(X)
#undef X
		N_EXPLAIN_TEXTS
};

/* How to look at the code of a function, or at page faults. */
enum explain_look { LOOK_STACKS, LOOK_ASSEMBLY, LOOK_SOURCE, LOOK_VIA, LOOK_FAULTS };

struct explain_fact {
	double part, whole; /* whole 0: nothing is known */
	enum explain_unit unit;
	bool is_measured; /* not estimated by samples */
	double of_symbol; /* the share of the part that the function has */
	uint64_t n;       /* a number that the rule names; 0: not known */
	enum explain_look look;
	string_id text[N_EXPLAIN_TEXTS]; /* of explain_facts.texts */
};

/* A kind of facts that the session lacks, and the options of a recording that has them. */
struct explain_missing {
	const char *what, *why; /* constants, or of `texts` */
	const char *options;    /* " --off-cpu"; "": those of a usual one */
};

struct explain_facts {
	struct explain_fact fact[N_EXPLAIN_RULES];
	struct strings texts;
	/* Of the session */
	bool has_samples;
	const char *cpu; /* what the CPU's event counts: "CPU time", or its name; NULL: none */
	double cpu_sum;  /* in `cpu_unit` */
	enum explain_unit cpu_unit;
	double elapsed_s;
	uint64_t n_samples, n_of_all; /* taken: of the event of CPU time, and of all events */
	uint64_t n_lost;              /* missing, of any event */
	const char *loss;             /* the largest reason of missing samples; NULL */
	VEC(struct explain_missing) missing;
};

/* What the code that recorded the session knows, and the session does not. { 0 }: nothing. */
struct explain_outside {
	const char *no_waits;     /* the reason why waits were not recorded; NULL */
	uint64_t throttled_ns;    /* by the limit of the control group */
	const char *throttled_by; /* the file that has it; NULL: not known */
};

/*
 * `*out` is the caller's to
 * explain_facts_fini(), also after an error. -ENOMEM, or an error of the profile.
 */
int explain_gather(const struct session *session, struct symbolizer *symbols,
		   const struct explain_outside *outside, struct explain_facts *out,
		   struct error *err);
void explain_facts_fini(struct explain_facts *f);

/* ---- inside the room ---- */

/* Sets a text of a fact. NULL is "". */
void explain_set_text(struct explain_facts *f, enum explain_rule_id id, enum explain_text which,
		      const char *text);
static inline const char *explain_text(const struct explain_facts *f,
				       const struct explain_fact *fact, enum explain_text which)
{
	return strings_get(&f->texts, fact->text[which]);
}
