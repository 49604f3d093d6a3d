/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside fleet/: sums from ClickHouse, with names, as they become a session. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"

struct clickhouse;
struct error;
struct session;

/* A sum of samples. Texts are of answer.texts. */
struct answer_row {
	string_id host, service, event, build; /* "": not asked for */
	uint32_t time_s;                       /* 0: not asked for */
	uint32_t shard;                        /* one that has it */
	uint64_t key;                          /* of a function, or of a stack */
	uint64_t samples;
	uint64_t total; /* answer.has_totals: samples with the function in their stack */
};

/* Samples of an address (CLICKHOUSE_LEAF_DAY). Texts are of answer.texts. */
struct answer_leaf {
	string_id service, event, build, path;
	uint8_t kind; /* enum image_kind */
	uint64_t place, samples, events;
};

struct answer_function {
	string_id name, image, build;
	uint64_t start;
	uint8_t kind, language;
};

struct answer_event {
	string_id name;
	uint64_t samples, period;
};

/* The samples and events that a host sent, for the mean of its samples. */
struct answer_rate {
	string_id host;
	struct answer_event event;
};

struct answer {
	struct strings texts;
	VEC(struct answer_row) rows;
	VEC(struct answer_leaf) leaves; /* instead of rows */
	VEC(struct answer_event) events;
	VEC(struct answer_rate) rates;
	bool has_stacks;       /* the keys are stacks */
	bool has_totals;       /* of functions */
	bool has_builds;       /* of the frames of stacks, if they are keys */
	struct buf source;     /* SQL that selects the functions of the rows; empty: stacks */
	uint64_t from_s, to_s; /* of the rows */
	struct intmap stacks;  /* hash of the number to index + 1 of spans … */
	VEC(struct answer_stack {
		size_t first;
		uint32_t n;
		bool has_builds; /* it was stored with those of its frames */
	})
	spans;
	VEC(uint64_t) frames;    /* … of these: numbers of functions, the innermost first */
	VEC(string_id) builds;   /* as many */
	struct intmap by_number; /* number of a function to index + 1 of … */
	VEC(struct answer_function) functions;
};

void answer_init(struct answer *a);
void answer_fini(struct answer *a);

/* Sorts the rows by host, time, service, event, key and build, and adds up equal ones. */
void answer_merge(struct answer *a);

/*
 * Read the rows of the lists of names: (stack, frames, builds), and (func, name, image, build,
 * start, kind, language). They stop at the first row that is not whole, and r->bad is then set.
 * Public for the fuzzer.
 */
struct reader;
void answer_read_stacks(struct answer *a, struct reader *r);
void answer_read_functions(struct answer *a, struct reader *r);

/*
 * Asks for the stacks of the rows and for the names of all functions, each from a shard that has
 * it.
 */
int answer_find_names(struct answer *a, struct clickhouse *ch, struct error *err);

/*
 * Whether samples of a clock stand for other times on some hosts than on others. Sums of several
 * hosts then have the mean of all, and not of those that have the samples.
 */
bool answer_has_several_rates(const struct answer *a);

/* Samples in stacks that were stored without the builds of their frames. */
uint64_t answer_without_builds(const struct answer *a);

/*
 * Writes the rows as sessions below `dir` and opens them as one: a session for each host, if hosts
 * are apart. Leaves are one session (LEAVES_STACKS). `note`: for the header.
 */
int answer_write(const struct answer *a, const char *dir, const char *note, struct session **out,
		 struct error *err);
