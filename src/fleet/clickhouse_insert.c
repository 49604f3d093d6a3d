/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_insert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"

#define DAY_S       86400u
#define STORE_TRIES 3 /* of a block, if the outcome is not known */

/* The start of the stretch of time that a row of the table stands for. */
static uint64_t receipt_time(enum clickhouse_table table, uint64_t time_s)
{
	switch (table) {
	case CLICKHOUSE_FUNC_HOUR:
	case CLICKHOUSE_STACK_HOUR:
		return time_s - time_s % 3600;
	case CLICKHOUSE_FUNC_DAY:
	case CLICKHOUSE_FUNC_HOST_DAY:
	case CLICKHOUSE_STACK_DAY:
		return time_s - time_s % DAY_S;
	default:
		return time_s;
	}
}

static void put_receipt_question(struct buf *sql, const struct fleet_block *block,
				 enum clickhouse_table table)
{
	const struct clickhouse_table_info *t = &clickhouse_tables[table];

	buf_printf(sql,
		   "%sSELECT toUInt8(%d) AS id, toUInt64(sum(%s)) AS n FROM %s WHERE service = '' "
		   "AND event = '' AND %s = %" PRIu64 " AND time = ",
		   sql->len ? " UNION ALL " : "", (int)table, clickhouse_receipt_counts(table),
		   t->name, t->receipt, fleet_block_id(block));
	sql_put_time(sql, receipt_time(table, block->bucket / NS_PER_SECOND));
}

int clickhouse_receipts(struct clickhouse *ch, const struct fleet_block *block,
			struct block_receipts *out, struct error *err)
{
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	int r, n = 0;

	*out = (struct block_receipts){ 0 };
	for (int t = 0; t < N_CLICKHOUSE_TABLES; t++)
		if (clickhouse_tables[t].receipt) {
			put_receipt_question(&sql, block, (enum clickhouse_table)t);
			n++;
		}
	buf_str(&sql, " FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, block->host), buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		uint8_t table = reader_u8(&rows);
		uint64_t sum = reader_u64(&rows);

		if (!rows.bad && table < N_CLICKHOUSE_TABLES)
			out->n[table] = sum;
		n--;
	}
	if (r >= 0 && (rows.bad || n))
		r = error_set(err, -EPROTO, "the server's answer about a block is not whole");
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

static int store_table(struct clickhouse *ch, const struct fleet_block *block,
		       enum clickhouse_table table, const struct block_rows *rows,
		       struct error *err)
{
	cleanup(free_at_exit) char *token =
		xasprintf("%s/%" PRIu32 "/%" PRIu64 "/%s", block->host, block->part,
			  block->bucket / NS_PER_SECOND, clickhouse_tables[table].name);

	return clickhouse_insert(ch, clickhouse_shard_of(ch, block->host), table, token,
				 &rows->bytes[table], err);
}

/* One try. Names first, `coverage` last: the order of the tables. */
static int store_tables(struct clickhouse *ch, const struct fleet_block *block,
			const struct block_rows *rows, struct error *err)
{
	struct block_receipts there;
	int r = clickhouse_receipts(ch, block, &there, err);

	for (int t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++)
		if (!there.n[t] && rows->n[t])
			r = store_table(ch, block, (enum clickhouse_table)t, rows, err);
	return r;
}

int clickhouse_store(struct clickhouse *ch, const struct fleet_block *block,
		     const struct block_rows *rows, struct known_rows *known, struct error *err)
{
	int r = -EREMOTEIO;

	for (int i = 0; i < STORE_TRIES; i++) {
		r = store_tables(ch, block, rows, err);
		if (r >= 0 || r == -EREMOTEIO) /* done, or refused for a reason */
			break;
	}
	if (r < 0)
		return error_wrap(err, r, "a block of %s", block->host);
	block_rows_remember(rows, known);
	return 0;
}

/* ---- partitions ---- */

static void day_text(uint64_t day_s, char out[static 16])
{
	time_t t = (time_t)day_s;
	struct tm tm;

	*out = '\0';
	if (gmtime_r(&t, &tm))
		strftime(out, 16, "%Y-%m-%d", &tm);
}

/* Appends the days (YYYY-MM-DD) that a table of the shard has, each with its NUL. */
static int list_days(struct clickhouse *ch, uint32_t shard, enum clickhouse_table table,
		     struct buf *days, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_str(&sql, "SELECT DISTINCT partition FROM system.parts WHERE active AND database = "
		      "currentDatabase() AND table = ");
	sql_put_text(&sql, clickhouse_tables[table].name);
	buf_str(&sql, " FORMAT TabSeparated");
	r = clickhouse_ask(ch, shard, buf_cstr(&sql), days, err);
	for (size_t i = 0; i < days->len; i++)
		if (days->data[i] == '\n')
			days->data[i] = '\0';
	buf_u8(days, 0);
	buf_fini(&sql);
	return r;
}

static bool is_day(const char *text)
{
	unsigned int year, month, day;
	int end = 0;

	return sscanf(text, "%4u-%2u-%2u%n", &year, &month, &day, &end) == 3 && !text[end];
}

static int drop_partition(struct clickhouse *ch, uint32_t shard, enum clickhouse_table table,
			  const char *day, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "ALTER TABLE %s DROP PARTITION ", clickhouse_tables[table].name);
	sql_put_text(&sql, day);
	r = clickhouse_ask(ch, shard, buf_cstr(&sql), NULL, err);
	buf_fini(&sql);
	return r;
}

/* Drops the days of a table from `first` to `last`, both included. */
static int drop_days(struct clickhouse *ch, uint32_t shard, enum clickhouse_table table,
		     const char *first, const char *last, struct error *err)
{
	struct buf days = { 0 };
	int r = list_days(ch, shard, table, &days, err);
	size_t at = 0;

	while (r >= 0 && at < days.len) {
		const char *day = (const char *)days.data + at;

		if (is_day(day) && strcmp(day, first) >= 0 && strcmp(day, last) <= 0)
			r = drop_partition(ch, shard, table, day, err);
		at += strlen(day) + 1;
	}
	buf_fini(&days);
	return r;
}

int clickhouse_drop_day(struct clickhouse *ch, uint64_t day_s, struct error *err)
{
	char day[16];
	int r = 0;

	day_text(day_s, day);
	/* `coverage` goes first: a block without its row there is looked at again. */
	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++)
		for (int t = N_CLICKHOUSE_TABLES; t-- > 0 && r >= 0;)
			if (clickhouse_tables[t].keep_days)
				r = drop_days(ch, shard, (enum clickhouse_table)t, day, day, err);
	return r;
}

int clickhouse_drop_old(struct clickhouse *ch, uint64_t now_s, struct error *err)
{
	char last[16];
	int r = 0;

	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++)
		for (int t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++) {
			uint64_t keep_s = (uint64_t)clickhouse_tables[t].keep_days * DAY_S;

			if (!keep_s || keep_s + DAY_S > now_s)
				continue;
			day_text(now_s - keep_s - DAY_S, last);
			r = drop_days(ch, shard, (enum clickhouse_table)t, "", last, err);
		}
	return r;
}
