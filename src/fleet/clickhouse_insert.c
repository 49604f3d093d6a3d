/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_insert.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"
#include "fleet/row_binary.h"

#define DAY_S       86400u
#define STORE_TRIES 3 /* of blocks, if the outcome is not known */

/* A row of each answer about receipts. Without it, the answer is not whole, as a proxy's may be. */
#define WHOLE_ID  255
#define WHOLE_ROW "SELECT toUInt8(255) AS id, toUInt64(0) AS block, toUInt64(1) AS n"
_Static_assert(N_CLICKHOUSE_TABLES <= WHOLE_ID, "no table has this number");

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
	case CLICKHOUSE_LEAF_DAY:
		return time_s - time_s % DAY_S;
	case CLICKHOUSE_FACTS:
	case CLICKHOUSE_STACKS:
	case CLICKHOUSE_FUNCTIONS:
	case CLICKHOUSE_IMAGES:
	case CLICKHOUSE_HOSTS:
	case CLICKHOUSE_COVERAGE:
	case CLICKHOUSE_LEAF_COVERAGE:
	case N_CLICKHOUSE_TABLES:
		break;
	}
	return time_s;
}

struct insert {
	struct clickhouse *ch;
	uint32_t shard;
	const struct stored_block *blocks;
	size_t n;
	struct intmap numbers; /* of a block's id to index + 1 of blocks */
	bool *is_there;        /* [table * n + block] */
	bool opened;           /* an insert was begun whose outcome is not known */
};

static uint64_t insert_time(const struct insert *in, size_t block)
{
	return in->blocks[block].block.bucket / NS_PER_SECOND;
}

static void put_receipt_question(const struct insert *in, enum clickhouse_table table,
				 struct buf *sql)
{
	const struct clickhouse_table_info *t = &clickhouse_tables[table];
	uint64_t first_s = UINT64_MAX, last_s = 0;

	buf_printf(sql,
		   "%sSELECT toUInt8(%d) AS id, %s AS block, toUInt64(sum(%s)) AS n FROM %s "
		   "WHERE service = '' AND event = '' AND %s IN (",
		   sql->len ? " UNION ALL " : "", (int)table, t->receipt,
		   clickhouse_receipt_counts(table), t->name, t->receipt);
	for (size_t i = 0; i < in->n; i++) {
		uint64_t time_s = receipt_time(table, insert_time(in, i));

		buf_printf(sql, "%s%" PRIu64, i ? "," : "", fleet_block_id(&in->blocks[i].block));
		first_s = MIN(first_s, time_s);
		last_s = MAX(last_s, time_s);
	}
	buf_str(sql, ") AND time >= ");
	sql_put_time(sql, first_s);
	buf_str(sql, " AND time <= ");
	sql_put_time(sql, last_s);
	buf_str(sql, " GROUP BY block");
}

static int read_receipts(struct insert *in, const struct buf *answer, struct error *err)
{
	struct reader rows = reader_over(answer->data, answer->len);
	bool is_whole = false;

	while (reader_left(&rows)) {
		uint8_t table = reader_u8(&rows);
		uint64_t id = reader_u64(&rows), sum = reader_u64(&rows);
		const uint32_t *block = rows.bad ? NULL : intmap_find(&in->numbers, id);

		is_whole |= table == WHOLE_ID;
		if (table < N_CLICKHOUSE_TABLES && block && sum)
			in->is_there[table * in->n + *block - 1] = true;
	}
	return rows.bad || !is_whole
		       ? error_set(err, -EPROTO, "the server's answer about blocks is not whole")
		       : 0;
}

static int ask_receipts(struct insert *in, struct error *err)
{
	struct buf sql = { 0 }, answer = { 0 };
	int r;

	for (int t = 0; t < N_CLICKHOUSE_TABLES; t++)
		if (clickhouse_tables[t].receipt)
			put_receipt_question(in, (enum clickhouse_table)t, &sql);
	buf_str(&sql, " UNION ALL " WHOLE_ROW " FORMAT RowBinary");
	memset(in->is_there, 0, N_CLICKHOUSE_TABLES * in->n * sizeof(*in->is_there));
	r = clickhouse_ask(in->ch, in->shard, buf_cstr(&sql), &answer, err);
	r = r < 0 ? r : read_receipts(in, &answer, err);
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

/* Whether the server may have the request. */
static bool may_be_done(int code)
{
	return code < 0 && code != -EREMOTEIO && code != -EBUSY && code != -ECONNREFUSED &&
	       code != -EHOSTUNREACH && code != -EPROTO;
}

/* Inserts the rows of those blocks that the table does not have. */
static int insert_table(struct insert *in, enum clickhouse_table table, struct error *err)
{
	cleanup(free_at_exit) char *token = NULL;
	struct buf rows = { 0 }, ids = { 0 };
	int r = 0;

	for (size_t i = 0; i < in->n; i++) {
		const struct buf *bytes = &in->blocks[i].rows->bytes[table];

		if (in->is_there[table * in->n + i] || !bytes->len)
			continue;
		buf_bytes(&rows, bytes->data, bytes->len);
		buf_u64(&ids, fleet_block_id(&in->blocks[i].block));
	}
	token = xasprintf("%s/%016" PRIx64, clickhouse_tables[table].name,
			  ids.len ? (uint64_t)XXH3_64bits(ids.data, ids.len) : 0);
	if (rows.len)
		r = clickhouse_insert(in->ch, in->shard, table, token, &rows, err);
	/* Rows of names may come twice. */
	in->opened |= clickhouse_tables[table].receipt && may_be_done(r);
	buf_fini(&rows);
	buf_fini(&ids);
	return r;
}

/* One try. Names first, `coverage` last: the order of the tables. */
static int insert_tables(struct insert *in, struct error *err)
{
	int r = ask_receipts(in, err);

	for (int t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++)
		r = insert_table(in, (enum clickhouse_table)t, err);
	return r;
}

static void insert_init(struct insert *in, struct clickhouse *ch, uint32_t shard,
			const struct stored_block *blocks, size_t n)
{
	*in = (struct insert){ .ch = ch, .shard = shard, .blocks = blocks, .n = n };
	in->is_there = xcalloc(N_CLICKHOUSE_TABLES * n, sizeof(*in->is_there));
	for (size_t i = 0; i < n; i++)
		*intmap_put(&in->numbers, fleet_block_id(&blocks[i].block), NULL) = (uint32_t)i + 1;
}

static void insert_fini(struct insert *in)
{
	free(in->is_there);
	intmap_fini(&in->numbers);
}

static enum block_presence block_presence(const struct insert *in, size_t block,
					  enum clickhouse_table coverage)
{
	bool has_some = false;

	if (in->is_there[coverage * in->n + block])
		return BLOCK_IS_STORED;
	for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++)
		has_some |= in->is_there[t * in->n + block];
	return has_some ? BLOCK_IS_IN_SOME_TABLES : BLOCK_IS_NOWHERE;
}

/* Which of the blocks have a row in the table of coverage. */
static int ask_coverage(struct insert *in, enum clickhouse_table coverage, struct error *err)
{
	uint64_t first_s = UINT64_MAX, last_s = 0;
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	int r;

	buf_printf(&sql,
		   "SELECT host, toUInt32(time) AS t, part FROM %s WHERE event = '' AND host IN (",
		   clickhouse_tables[coverage].name);
	for (size_t i = 0; i < in->n; i++) {
		buf_str(&sql, i ? "," : "");
		sql_put_text(&sql, in->blocks[i].block.host);
		first_s = MIN(first_s, insert_time(in, i));
		last_s = MAX(last_s, insert_time(in, i));
	}
	buf_str(&sql, ") AND time >= ");
	sql_put_time(&sql, first_s);
	buf_str(&sql, " AND time <= ");
	sql_put_time(&sql, last_s);
	buf_str(&sql, " GROUP BY host, t, part FORMAT RowBinary");
	r = clickhouse_ask(in->ch, in->shard, buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		size_t length;
		const char *name = row_binary_text(&rows, &length);
		cleanup(free_at_exit) char *host = xstrndup(name ? name : "", name ? length : 0);
		uint64_t time_s = reader_u32(&rows);
		const struct fleet_block block = { host, reader_u32(&rows),
						   time_s * NS_PER_SECOND };
		const uint32_t *number = intmap_find(&in->numbers, fleet_block_id(&block));

		if (!rows.bad && number)
			in->is_there[coverage * in->n + *number - 1] = true;
	}
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the server's list of blocks is not whole");
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

int clickhouse_find_blocks(struct clickhouse *ch, uint32_t shard, const struct fleet_block *blocks,
			   size_t n, bool leaves, enum block_presence *presence, struct error *err)
{
	struct stored_block *stored = xcalloc(n, sizeof(*stored));
	enum clickhouse_table coverage = clickhouse_coverage_of(leaves);
	struct insert in;
	int r;

	assert(n);
	for (size_t i = 0; i < n; i++)
		stored[i] = (struct stored_block){ .block = blocks[i] };
	insert_init(&in, ch, shard, stored, n);
	r = ask_receipts(&in, err);
	r = r < 0 ? r : ask_coverage(&in, coverage, err);
	for (size_t i = 0; i < n && r >= 0; i++)
		presence[i] = block_presence(&in, i, coverage);
	insert_fini(&in);
	free(stored);
	return r;
}

int clickhouse_store(struct clickhouse *ch, const struct stored_block *blocks, size_t n,
		     bool *opened, struct error *err)
{
	struct insert in;
	int r = -EREMOTEIO;

	assert(n);
	insert_init(&in, ch, clickhouse_shard_of(ch, blocks[0].block.host), blocks, n);
	for (int i = 0; i < STORE_TRIES; i++) {
		r = insert_tables(&in, err);
		/* Done, or refused for a reason. */
		if (r >= 0 || r == -EREMOTEIO || r == -EBUSY || r == -EINTR)
			break;
	}
	*opened = in.opened && r < 0;
	insert_fini(&in);
	return r < 0 ? error_wrap(err, r, "a block of %s", blocks[0].block.host) : 0;
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

static bool is_of_leaves(enum clickhouse_table table)
{
	return table == CLICKHOUSE_LEAF_DAY || table == CLICKHOUSE_LEAF_COVERAGE;
}

int clickhouse_drop_day(struct clickhouse *ch, uint64_t day_s, bool leaves, struct error *err)
{
	char day[16];
	int r = 0;

	day_text(day_s, day);
	/* `coverage` goes first: a block without its row there is looked at again. */
	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++)
		for (int t = N_CLICKHOUSE_TABLES; t-- > 0 && r >= 0;)
			if (clickhouse_tables[t].keep_days &&
			    (leaves || !is_of_leaves((enum clickhouse_table)t)))
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
