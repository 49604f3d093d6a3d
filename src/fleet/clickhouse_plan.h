/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside fleet/: which tables of ClickHouse answer a question, and for which times. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/clickhouse_schema.h"

struct error;
struct key_list;
struct query;

/* A stretch of time, from one table. */
struct plan_span {
	enum clickhouse_table table;
	uint64_t from_s, to_s;
};

/* Times are seconds since 1970, `to_s` excluded. */
struct question_plan {
	uint64_t from_s, to_s; /* the window; it grows to the grain of the tables */
	uint64_t now_s;
	bool times_apart;
	bool functions; /* else stacks */
	struct plan_span spans[3];
	size_t n_spans;
};

/*
 * -ENOTSUP: a key or a filter is of a fact that the tables do not have, as the name of a thread.
 * `keys` and `query` may be NULL.
 */
int plan_check(const struct key_list *keys, const struct query *query, struct error *err);

/* Whether a table still has a time. */
bool plan_keeps(const struct question_plan *p, enum clickhouse_table table, uint64_t time_s);

/* Sums of all hosts: days, and hours at the edges of the window or if times are apart. */
void plan_roll_ups(struct question_plan *p);

/* Sums of each host: functions by whole days, or stacks by ten minutes. */
void plan_hosts(struct question_plan *p);

/* Addresses, by whole days. */
void plan_leaves(struct question_plan *p);

/*
 * Functions of each host again: by ten minutes from the first day of which all stacks are kept, by
 * whole days before. `exact`: the plan before it grew. False: no such day is in the window.
 */
bool plan_changes(const struct question_plan *exact, struct question_plan *p);
