/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/clickhouse_schema.h"
#include "fleet/fleet_store.h"
#include "fleet/row_binary.h"
#include "store/history/blocks.h"

#define DAY_S 86400u

/* Samples of a block, or of a day. */
struct audit_sum {
	uint64_t time_s;
	uint32_t part;
	uint64_t samples, lost;
};

struct audit_list {
	struct audit_sum *data;
	size_t n, cap;
};

static bool audit_keeps(enum clickhouse_table table, uint64_t day_s)
{
	uint64_t now_s = clock_wall_ns() / NS_PER_SECOND;

	return day_s + (uint64_t)clickhouse_tables[table].keep_days * DAY_S > now_s;
}

static int audit_by_block(const void *a, const void *b)
{
	const struct audit_sum *x = a, *y = b;

	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

/* ---- hosts ---- */

/* The blocks of the keys, as ClickHouse names them, in its order. */
static int audit_list_sent(const char *fleet, enum clickhouse_table coverage, const char *host,
			   struct audit_list *out, struct error *err)
{
	struct fleet_keys keys = { 0 };
	int r = fleet_keys_read(fleet, host, &keys, err);

	for (size_t i = 0; i < keys.n && r >= 0; i++) {
		const struct fleet_key *k = &keys.data[i];
		char name[HISTORY_NAME_SIZE];

		if (!k->hash || !audit_keeps(coverage, k->bucket / NS_PER_SECOND))
			continue;
		block_name(k->bucket, k->part, name);
		vec_push(out, (struct audit_sum){ k->bucket / NS_PER_SECOND, fleet_block_part(name),
						  k->samples, k->lost });
	}
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), audit_by_block);
	vec_fini(&keys);
	return r;
}

static int audit_list_stored(struct clickhouse *ch, enum clickhouse_table coverage,
			     const char *host, struct audit_list *out, struct error *err)
{
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt32(time) AS t, part, toUInt64(sum(samples)), "
		   "toUInt64(sum(lost)) FROM %s FINAL WHERE host = ",
		   clickhouse_tables[coverage].name);
	sql_put_text(&sql, host);
	buf_str(&sql, " GROUP BY t, part ORDER BY t, part FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, host), buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		struct audit_sum sum = { .time_s = reader_u32(&rows) };

		sum.part = reader_u32(&rows);
		sum.samples = reader_u64(&rows);
		sum.lost = reader_u64(&rows);
		if (!rows.bad && audit_keeps(coverage, sum.time_s))
			vec_push(out, sum);
	}
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the list of blocks of %s is not whole", host);
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

struct host_audit {
	const char *host;
	enum clickhouse_table coverage;
	uint64_t block_s; /* the length of a block */
	audit_difference_visitor *visit;
	void *context;
	struct intmap merged_days; /* by number of the day */
};

static bool day_is_merged(const struct host_audit *a, uint64_t time_s)
{
	return intmap_find(&a->merged_days, time_s / DAY_S) != NULL;
}

static void report_sums(const struct host_audit *a, const struct audit_sum *sent,
			const struct audit_sum *stored, uint64_t length_s)
{
	const struct audit_difference d = { .host = a->host,
					    .table = clickhouse_tables[a->coverage].name,
					    .time_s = sent->time_s,
					    .length_s = length_s,
					    .sent = sent->samples,
					    .sent_lost = sent->lost,
					    .stored = stored->samples,
					    .stored_lost = stored->lost };

	if (sent->samples != stored->samples || sent->lost != stored->lost)
		a->visit(a->context, &d);
}

/* A stored block without a key has samples of several: its day is compared by the sum. */
static void find_merged_days(struct host_audit *a, const struct audit_list *sent,
			     const struct audit_list *stored)
{
	for (size_t i = 0; i < stored->n; i++)
		if (!sent->n || !bsearch(&stored->data[i], sent->data, sent->n, sizeof(*sent->data),
					 audit_by_block))
			intmap_put(&a->merged_days, stored->data[i].time_s / DAY_S, NULL);
}

static void compare_blocks(struct host_audit *a, const struct audit_list *sent,
			   const struct audit_list *stored)
{
	for (size_t i = 0; i < sent->n; i++) {
		const struct audit_sum *at = NULL, none = { 0 };

		if (day_is_merged(a, sent->data[i].time_s))
			continue;
		if (stored->n)
			at = bsearch(&sent->data[i], stored->data, stored->n, sizeof(*stored->data),
				     audit_by_block);
		report_sums(a, &sent->data[i], at ? at : &none, a->block_s);
	}
}

static struct audit_sum sum_of_day(const struct audit_list *list, uint64_t day)
{
	struct audit_sum sum = { .time_s = day * DAY_S };

	for (size_t i = 0; i < list->n; i++)
		if (list->data[i].time_s / DAY_S == day) {
			sum.samples += list->data[i].samples;
			sum.lost += list->data[i].lost;
		}
	return sum;
}

static void compare_merged_days(struct host_audit *a, const struct audit_list *sent,
				const struct audit_list *stored)
{
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < stored->n; i++) {
		uint64_t day = stored->data[i].time_s / DAY_S;
		struct audit_sum s, t;

		if (day == last || !day_is_merged(a, stored->data[i].time_s))
			continue;
		last = day;
		s = sum_of_day(sent, day);
		t = sum_of_day(stored, day);
		report_sums(a, &s, &t, DAY_S);
	}
}

int clickhouse_audit_host(struct clickhouse *ch, const char *fleet, bool leaves, const char *host,
			  audit_difference_visitor *visit, void *context,
			  struct audit_host_sums *sums, struct error *err)
{
	struct host_audit a = { .host = host,
				.coverage = clickhouse_coverage_of(leaves),
				.block_s = (leaves ? LEAVES_BUCKET_NS : BLOCK_BUCKET_NS) /
					   NS_PER_SECOND,
				.visit = visit,
				.context = context };
	struct audit_list sent = { 0 }, stored = { 0 };
	int r = audit_list_sent(fleet, a.coverage, host, &sent, err);

	*sums = (struct audit_host_sums){ 0 };
	r = r < 0 ? r : audit_list_stored(ch, a.coverage, host, &stored, err);
	if (r >= 0) {
		find_merged_days(&a, &sent, &stored);
		compare_blocks(&a, &sent, &stored);
		compare_merged_days(&a, &sent, &stored);
	}
	for (size_t i = 0; i < stored.n; i++) {
		sums->n_blocks++;
		sums->samples += stored.data[i].samples;
		sums->lost += stored.data[i].lost;
	}
	vec_fini(&sent);
	vec_fini(&stored);
	intmap_fini(&a.merged_days);
	return r;
}

/* ---- hosts that the directory does not have ---- */

static void report_stranger(const char *fleet, enum clickhouse_table coverage, struct reader *rows,
			    audit_difference_visitor *visit, void *context)
{
	size_t n;
	const char *name = row_binary_text(rows, &n);
	cleanup(free_at_exit) char *host = xstrndup(name ? name : "", name ? n : 0);
	struct audit_difference d = { .host = host, .table = clickhouse_tables[coverage].name };

	d.time_s = reader_u32(rows);
	d.length_s = reader_u32(rows) + BLOCK_BUCKET_NS / NS_PER_SECOND - d.time_s;
	d.stored = reader_u64(rows);
	d.stored_lost = reader_u64(rows);
	if (!rows->bad && !(fleet_host_is_valid(host) && fleet_has_host(fleet, host)))
		visit(context, &d);
}

int clickhouse_audit_strangers(struct clickhouse *ch, const char *fleet, bool leaves,
			       audit_difference_visitor *visit, void *context, struct error *err)
{
	enum clickhouse_table coverage = clickhouse_coverage_of(leaves);
	cleanup(free_at_exit) char *sql =
		xasprintf("SELECT host, toUInt32(min(time)), toUInt32(max(time)), "
			  "toUInt64(sum(samples)), toUInt64(sum(lost)) FROM %s FINAL GROUP BY host "
			  "ORDER BY host FORMAT RowBinary",
			  clickhouse_tables[coverage].name);
	int r = 0;

	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++) {
		struct buf answer = { 0 };
		struct reader rows;

		r = clickhouse_ask(ch, shard, sql, &answer, err);
		rows = reader_over(answer.data, answer.len);
		while (r >= 0 && reader_left(&rows))
			report_stranger(fleet, coverage, &rows, visit, context);
		if (r >= 0 && rows.bad)
			r = error_set(err, -EPROTO, "the answer of %s is not whole",
				      clickhouse_address(ch, shard));
		buf_fini(&answer);
	}
	return r;
}

/* ---- tables ---- */

#define SQL_DAY "toUInt32(intDiv(toUInt32(time), 86400)) AS d"

/* Asks for a number for each day. */
static int audit_days(struct clickhouse *ch, uint32_t shard, const char *sql,
		      struct audit_list *out, struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	int r = clickhouse_ask(ch, shard, sql, &answer, err);

	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		struct audit_sum sum = { .time_s = (uint64_t)reader_u32(&rows) * DAY_S };

		sum.samples = reader_u64(&rows);
		if (!rows.bad)
			vec_push(out, sum);
	}
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(ch, shard));
	buf_fini(&answer);
	return r;
}

struct table_audit {
	struct clickhouse *ch;
	uint32_t shard;
	enum clickhouse_table table;
	audit_difference_visitor *visit;
	void *context;
};

static void report_day(const struct table_audit *a, uint64_t day, const struct audit_list *want,
		       const struct audit_list *got)
{
	const struct audit_difference d = { .shard = a->shard,
					    .table = clickhouse_tables[a->table].name,
					    .time_s = day * DAY_S,
					    .length_s = DAY_S,
					    .sent = sum_of_day(want, day).samples,
					    .stored = sum_of_day(got, day).samples };

	if (d.sent != d.stored && audit_keeps(a->table, d.time_s))
		a->visit(a->context, &d);
}

static int compare_table(const struct table_audit *a, const struct audit_list *want,
			 struct error *err)
{
	const struct clickhouse_table_info *t = &clickhouse_tables[a->table];
	cleanup(free_at_exit) char *sql =
		xasprintf("SELECT " SQL_DAY ", toUInt64(sum(%s)) FROM %s WHERE service != '' "
			  "GROUP BY d FORMAT RowBinary",
			  clickhouse_counts(a->table), t->name);
	struct audit_list got = { 0 };
	int r = audit_days(a->ch, a->shard, sql, &got, err);

	for (size_t i = 0; i < want->n && r >= 0; i++)
		report_day(a, want->data[i].time_s / DAY_S, want, &got);
	for (size_t i = 0; i < got.n && r >= 0; i++) /* days that `coverage` does not have */
		if (!sum_of_day(want, got.data[i].time_s / DAY_S).samples)
			report_day(a, got.data[i].time_s / DAY_S, want, &got);
	vec_fini(&got);
	return r;
}

static int find_doubled(const struct table_audit *a, struct error *err)
{
	const struct clickhouse_table_info *t = &clickhouse_tables[a->table];
	cleanup(free_at_exit) char *sql =
		xasprintf("SELECT " SQL_DAY ", toUInt64(count()) FROM (SELECT time, %s, sum(%s) AS "
			  "n FROM %s WHERE service = '' GROUP BY time, %s HAVING n > 1) GROUP BY d "
			  "FORMAT RowBinary",
			  t->receipt, clickhouse_receipt_counts(a->table), t->name, t->receipt);
	struct audit_list days = { 0 };
	int r = audit_days(a->ch, a->shard, sql, &days, err);

	for (size_t i = 0; i < days.n && r >= 0; i++) {
		const struct audit_difference d = { .shard = a->shard,
						    .table = t->name,
						    .time_s = days.data[i].time_s,
						    .length_s = DAY_S,
						    .doubled = days.data[i].samples };

		a->visit(a->context, &d);
	}
	vec_fini(&days);
	return r;
}

/* The tables of functions, or that of addresses, of a shard. */
static int audit_tables_of(struct table_audit *a, bool leaves, struct error *err)
{
	cleanup(free_at_exit) char *sql =
		xasprintf("SELECT " SQL_DAY ", toUInt64(sum(samples)) FROM %s FINAL GROUP BY d "
			  "FORMAT RowBinary",
			  clickhouse_tables[clickhouse_coverage_of(leaves)].name);
	struct audit_list want = { 0 };
	int r = audit_days(a->ch, a->shard, sql, &want, err);

	for (int t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++) {
		if (!clickhouse_tables[t].receipt || (t == CLICKHOUSE_LEAF_DAY) != leaves)
			continue;
		a->table = (enum clickhouse_table)t;
		r = compare_table(a, &want, err);
		r = r < 0 ? r : find_doubled(a, err);
	}
	vec_fini(&want);
	return r;
}

int clickhouse_audit_tables(struct clickhouse *ch, audit_difference_visitor *visit, void *context,
			    struct error *err)
{
	struct table_audit a = { .ch = ch, .visit = visit, .context = context };
	int r = 0;

	for (; a.shard < clickhouse_n_shards(ch) && r >= 0; a.shard++) {
		r = audit_tables_of(&a, false, err);
		r = r < 0 ? r : audit_tables_of(&a, true, err);
	}
	return r;
}
