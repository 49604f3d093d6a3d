/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option --filter of commands that read a processor trace chooses some of its branches.
 *
 *   --filter 'from-symbol:main to-image:libc.so.6'   calls of the C library by main
 *   --filter 'symbol:malloc,free flags:call'         calls of both, and calls that they make
 *
 * The text is a list of TAG:VALUE[,VALUE…] with blanks between them. Values of one tag are
 * alternatives, and all tags must match. TAG-exclude matches where TAG does not. A backslash makes
 * the next blank or comma a part of the value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

/* The end of a branch that a tag is about. OF_EITHER: one of both; OF_NONE: the branch itself. */
enum branch_end { OF_NONE, OF_FROM, OF_TO, OF_EITHER };
enum branch_fact { FACT_SYMBOL, FACT_IMAGE, FACT_ADDRESS, FACT_FLAGS, FACT_COMM, FACT_NUMBER };

/* X(id, tag, end, fact, value, help) */
#define BRANCH_TAGS(X)                                                                             \
	X(FROM_SYMBOL, "from-symbol", FROM, SYMBOL, "GLOB", "branches that leave these functions") \
	X(TO_SYMBOL, "to-symbol", TO, SYMBOL, "GLOB", "branches to these functions")               \
	X(SYMBOL, "symbol", EITHER, SYMBOL, "GLOB", "one of both")                                 \
	X(FROM_IMAGE, "from-image", FROM, IMAGE, "GLOB",                                           \
	  "branches that leave these files, by path or name; [kernel], [MODULE]")                  \
	X(TO_IMAGE, "to-image", TO, IMAGE, "GLOB", "branches to these files")                      \
	X(IMAGE, "image", EITHER, IMAGE, "GLOB", "one of both")                                    \
	X(FROM, "from", FROM, ADDRESS, "ADDRESS",                                                  \
	  "branches at this hexadecimal address; FIRST-LAST and FIRST+SIZE are ranges")            \
	X(TO, "to", TO, ADDRESS, "ADDRESS", "branches to this address")                            \
	X(ADDRESS, "address", EITHER, ADDRESS, "ADDRESS", "one of both")                           \
	X(FLAGS, "flags", NONE, FLAGS, "WORD",                                                     \
	  "branches of this kind: call, return, jcc, jmp, syscall, sysret, int, iret, async, "     \
	  "hw-int, tx-abrt, tr-strt, tr-end, in-tx, vmentry, vmexit")                              \
	X(COMM, "comm", NONE, COMM, "GLOB", "threads of these names")                              \
	X(PID, "pid", NONE, NUMBER, "N", "these processes; FIRST-LAST is a range")                 \
	X(TID, "tid", NONE, NUMBER, "N", "these threads")                                          \
	X(CPU, "cpu", NONE, NUMBER, "N", "these processors")

enum branch_tag {
#define X(id, tag, end, fact, value, help) BRANCH_TAG_##id,
	BRANCH_TAGS(X)
#undef X
		N_BRANCH_TAGS
};

struct branch_value {
	char *glob;
	uint64_t first, last; /* of addresses and numbers: both included */
	uint32_t all, none;   /* of flags (enum pt_flags): these are set, and these are not */
};

struct branch_term {
	enum branch_tag tag;
	bool is_not;
	VEC(struct branch_value) values;
};

/* At most 64 terms: an end of a branch has a bit for each. */
struct branch_filter {
	VEC(struct branch_term) terms;
	bool needs_places; /* a symbol or an image counts */
};

/* -EINVAL with a message. *out is the caller's to branch_filter_fini(). */
int branch_filter_parse(const char *text, struct branch_filter *out, struct error *err);
void branch_filter_fini(struct branch_filter *f); /* { 0 } is a filter that takes all */

/* One end of a branch. Texts may be NULL: they are not known, and match nothing. */
struct branch_place {
	uint64_t addr;
	const char *names[3]; /* of its function: as in the file, and demangled */
	const char *image;
};

/* The terms whose values match a place: bit 0 is the first term. */
uint64_t branch_filter_match(const struct branch_filter *f, const struct branch_place *place);

struct branch_facts {
	uint32_t flags; /* enum pt_flags */
	int32_t pid, tid;
	uint32_t cpu;
	const char *comm;
	uint64_t from, to; /* by branch_filter_match() */
};
bool branch_filter_takes(const struct branch_filter *f, const struct branch_facts *facts);
