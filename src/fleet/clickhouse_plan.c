/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_plan.h"

#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "profile/key.h"
#include "profile/query.h"

#define HOUR_S   3600u
#define DAY_S    86400u
#define BUCKET_S 600u

/* Facts that blocks have, and the tables do not. Its program is the service there. */
static const bool lacks_key[N_PROFILE_KEYS] = {
	[PROFILE_PROCESS] = true,      [PROFILE_THREAD] = true,      [PROFILE_COMM] = true,
	[PROFILE_CPU] = true,          [PROFILE_CGROUP] = true,      [PROFILE_UNIT] = true,
	[PROFILE_CONTAINER] = true,    [PROFILE_POD] = true,         [PROFILE_WAKER] = true,
	[PROFILE_WAKER_SYMBOL] = true, [PROFILE_WAKER_STACK] = true, [PROFILE_REASON] = true,
	[PROFILE_OWNER] = true,        [PROFILE_DEVICE] = true,      [PROFILE_MEM] = true,
	[PROFILE_TLB] = true,          [PROFILE_SNOOP] = true,       [PROFILE_DATA_SYMBOL] = true,
	[PROFILE_DATA_IMAGE] = true,   [PROFILE_TRACE] = true,       [PROFILE_SPAN] = true,
	[PROFILE_LABEL] = true,        [PROFILE_PARALLELISM] = true, [PROFILE_LINE] = true,
	[PROFILE_ADDRESS] = true,
};

static const bool lacks_filter[N_FILTERS] = {
	[FILTER_COMM] = true,        [FILTER_PID] = true,         [FILTER_TID] = true,
	[FILTER_CPU] = true,         [FILTER_CGROUP] = true,      [FILTER_UNIT] = true,
	[FILTER_CONTAINER] = true,   [FILTER_POD] = true,         [FILTER_WAKER] = true,
	[FILTER_REASON] = true,      [FILTER_OWNER] = true,       [FILTER_DEVICE] = true,
	[FILTER_MEM] = true,         [FILTER_TLB] = true,         [FILTER_SNOOP] = true,
	[FILTER_DATA_SYMBOL] = true, [FILTER_DATA_IMAGE] = true,  [FILTER_TRACE] = true,
	[FILTER_SPAN] = true,        [FILTER_LABEL] = true,       [FILTER_COUNT] = true,
	[FILTER_UNIT_MASK] = true,   [FILTER_PARALLELISM] = true,
};

static int plan_refuse(const char *what, struct error *err)
{
	return error_set(err, -ENOTSUP,
			 "ClickHouse does not have '%s' of samples: ask the directory of the fleet "
			 "(-i DIR), or use host, service, event, image, build or symbol",
			 what);
}

int plan_check(const struct key_list *keys, const struct query *query, struct error *err)
{
	for (size_t i = 0; keys && i < keys->n; i++)
		if (lacks_key[keys->key[i]])
			return plan_refuse(profile_keys[keys->key[i]].key, err);
	for (int f = 0; query && f < N_FILTERS; f++)
		if (lacks_filter[f] && query_has(query, (enum filter_tag)f))
			return plan_refuse(filter_infos[f].tag, err);
	return 0;
}

static uint64_t down_to(uint64_t time_s, uint64_t grain_s)
{
	return time_s - time_s % grain_s;
}

static uint64_t up_to(uint64_t time_s, uint64_t grain_s)
{
	return down_to(time_s + grain_s - 1, grain_s);
}

static uint64_t kept_s(enum clickhouse_table table)
{
	return (uint64_t)clickhouse_tables[table].keep_days * DAY_S;
}

bool plan_keeps(const struct question_plan *p, enum clickhouse_table table, uint64_t time_s)
{
	return time_s + kept_s(table) > p->now_s;
}

static void plan_add(struct question_plan *p, enum clickhouse_table table, uint64_t from_s,
		     uint64_t to_s)
{
	if (from_s < to_s)
		p->spans[p->n_spans++] = (struct plan_span){ table, from_s, to_s };
}

static void plan_grow(struct question_plan *p, uint64_t grain_s)
{
	p->from_s = down_to(p->from_s, grain_s);
	p->to_s = up_to(p->to_s, grain_s);
}

/* The tables for stacks, and for functions. */
static const struct {
	enum clickhouse_table day, hour;
} roll_ups[] = { { CLICKHOUSE_STACK_DAY, CLICKHOUSE_STACK_HOUR },
		 { CLICKHOUSE_FUNC_DAY, CLICKHOUSE_FUNC_HOUR } };

/* A day that is not over is whole, too, if the window ends behind now. */
void plan_roll_ups(struct question_plan *p)
{
	enum clickhouse_table day = roll_ups[p->functions].day, hour = roll_ups[p->functions].hour;
	uint64_t first_day, last_day;

	p->from_s = down_to(p->from_s, plan_keeps(p, hour, p->from_s) ? HOUR_S : DAY_S);
	p->to_s = up_to(p->to_s, HOUR_S);
	if (p->to_s > p->now_s || !plan_keeps(p, hour, p->to_s))
		p->to_s = up_to(p->to_s, DAY_S);
	if (p->times_apart && plan_keeps(p, hour, p->from_s)) { /* a time is an hour */
		plan_add(p, hour, p->from_s, p->to_s);
		return;
	}
	first_day = up_to(p->from_s, DAY_S);
	last_day = down_to(p->to_s, DAY_S);
	if (first_day >= last_day) {
		plan_add(p, hour, p->from_s, p->to_s);
		return;
	}
	plan_add(p, hour, p->from_s, first_day);
	plan_add(p, day, first_day, last_day);
	plan_add(p, hour, last_day, p->to_s);
}

void plan_hosts(struct question_plan *p)
{
	plan_grow(p, p->functions ? DAY_S : BUCKET_S);
	plan_add(p, p->functions ? CLICKHOUSE_FUNC_HOST_DAY : CLICKHOUSE_FACTS, p->from_s, p->to_s);
}

void plan_leaves(struct question_plan *p)
{
	plan_grow(p, DAY_S);
	plan_add(p, CLICKHOUSE_LEAF_DAY, p->from_s, p->to_s);
}

bool plan_changes(const struct question_plan *exact, struct question_plan *p)
{
	uint64_t past_s = exact->now_s - MIN(exact->now_s, kept_s(CLICKHOUSE_FACTS));
	uint64_t first_s = down_to(past_s, DAY_S) + DAY_S;

	*p = *exact;
	plan_grow(p, BUCKET_S);
	if (p->from_s < first_s)
		p->from_s = down_to(p->from_s, DAY_S);
	p->n_spans = 0;
	plan_add(p, CLICKHOUSE_FUNC_HOST_DAY, p->from_s, MIN(first_s, p->to_s));
	plan_add(p, CLICKHOUSE_FACTS, MAX(first_s, p->from_s), p->to_s);
	return p->to_s > first_s;
}
