/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile specification: which samples of a session are meant.
 *
 * One filter an operand, TAG:VALUE[,VALUE…]; "\," is a literal comma. Values of
 * one tag are alternatives, different tags must all hold. Words are globs
 * (fnmatch(3), '*' crosses '/'), numbers may be ranges ("0-3"). An operand
 * without a tag names a program or an image, as OProfile's do.
 *
 * Idle samples (pid 0) are left out unless asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

enum filter_match { MATCH_GLOB, MATCH_NUMBER, MATCH_TIME };

/* X(id, tag, match, value, help) */
#define FILTERS(X)                                                                             \
	X(IMAGE, "image", GLOB, "GLOB", "code in these images: programs, libraries, [kernel]") \
	X(SYMBOL, "symbol", GLOB, "GLOB", "code in these functions, by their demangled names") \
	X(VIA, "via", GLOB, "GLOB", "samples with one of these functions in their call chain") \
	X(APP, "app", GLOB, "GLOB", "processes that run these programs")                       \
	X(COMM, "comm", GLOB, "GLOB", "threads of these names")                                \
	X(PID, "pid", NUMBER, "N", "these processes")                                          \
	X(TID, "tid", NUMBER, "N", "these threads")                                            \
	X(CPU, "cpu", NUMBER, "N", "these processors")                                         \
	X(EVENT, "event", GLOB, "GLOB", "these events")                                        \
	X(CONTEXT, "context", GLOB, "GLOB",                                                    \
	  "user, system, irq, softirq (interrupts by the kernel's call chain) or idle")        \
	X(TIME, "time", TIME, "FROM-TO",                                                       \
	  "seconds since the start, to the second: 2s-5s, 2-, -1m, or 3 for the fourth second")

/* The operand without a tag: a program or an image. */
#define FILTER_WITHOUT_TAG(X) X(BINARY, "", GLOB, "GLOB", "app: or image:, whichever matches")

enum filter_tag {
#define X(id, tag, match, value, help) FILTER_##id,
	FILTERS(X) FILTER_WITHOUT_TAG(X)
#undef X
		N_FILTERS
};

struct filter_info {
	const char *tag;
	enum filter_match match;
	const char *value, *help;
};
extern const struct filter_info filter_infos[N_FILTERS];

struct filter_value {
	char *glob;
	uint64_t from, to; /* NUMBER: both included. TIME: ns since the start, `to` not included */
};

struct filter {
	struct filter_value *data;
	size_t n, cap;
};

struct query {
	struct filter filters[N_FILTERS]; /* n == 0: no such filter */
	bool with_idle;
};

void query_fini(struct query *q); /* { 0 } is a valid query: everything but idle */

/* Adds one operand. A bad tag, number or time is -EINVAL with what is allowed. */
int query_add(struct query *q, const char *operand, struct error *err);

bool query_has(const struct query *q, enum filter_tag tag);

/* Both are true where the query has no such filter. */
bool query_takes_number(const struct query *q, enum filter_tag tag, uint64_t number);
bool query_takes_name(const struct query *q, enum filter_tag tag, const char *name);

/* As query_takes_name() for a path: the last component, or "[kernel]" as "kernel", will do. */
bool query_takes_path(const struct query *q, enum filter_tag tag, const char *path);

/* As query_takes_name() for a function: its parameters may be left out of the glob. */
bool query_takes_function(const struct query *q, enum filter_tag tag, const char *name);

/* The length of a demangled name without its parameters: "f(int) const" gives 1. */
size_t function_base_len(const char *name);
