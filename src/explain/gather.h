/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside explain/: the profile that facts are gathered from, and what is known of its functions. */
#pragma once

#include "explain/facts.h"
#include "explain/known_code.h"
#include "profile/profile.h"

struct gather {
	const struct session *session;
	struct symbolizer *symbols;
	struct profile *p; /* by comm, process, context and waker, with chains */
	struct explain_facts *out;
	uint32_t cpu_lane;   /* of CPU time, cycles, or else any event; NO_INDEX: only waits */
	uint32_t fault_lane; /* of page faults; NO_INDEX: none */
	bool counts_cpu;     /* cpu_lane is of CPU time or cycles */
	bool has_waits;
	bool has_language; /* functions of an interpreted language are known */
	/* By function: */
	bool *is_kernel, *is_c_library;
	uint8_t *code, *wait;    /* enum known_code; enum known_wait, of programs alone */
	const char **wait_words; /* NULL where the wait is not known */
};

/* What a stack says, innermost frame first. Functions are NO_INDEX where there is none. */
struct gather_stack {
	uint32_t leaf;
	uint32_t user;                 /* the innermost one outside of the kernel */
	uint32_t own;                  /* … that is neither the C library's nor a known one */
	uint32_t outer[N_KNOWN_CODES]; /* the outermost function of each kind */
	bool has_language;             /* a frame of an interpreted language */
};
void gather_look(const struct gather *g, uint32_t node, struct gather_stack *out);

/*
 * The node that called this one, or 0. A cut stack ends at its cut: the root that it hangs below
 * (profile/cut_roots.h) is none of its callers, and no filter finds it by that root.
 */
uint32_t gather_caller(const struct gather *g, uint32_t node);

/* The value of a key, as text. NULL: the function is NO_INDEX, or it has no name. */
const char *gather_symbol(const struct gather *g, uint32_t function);
const char *gather_image(const struct gather *g, uint32_t function);
void gather_put_symbol(struct gather *g, enum explain_rule_id id, enum explain_text which,
		       uint32_t function);

/* Sets symbol, image and share of the function that has the most of a part. */
void gather_put_top(struct gather *g, enum explain_rule_id id, uint32_t function, double weight);

/* The index of the largest number; NO_INDEX: all are 0. */
uint32_t gather_largest(const double *numbers, size_t n);

/* Each fills in facts of g->out. */
void gather_cpu(struct gather *g);
void gather_code(struct gather *g);
void gather_waits(struct gather *g);
