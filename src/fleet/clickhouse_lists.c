/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_lists.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_store.h"
#include "fleet/row_binary.h"
#include "store/history/blocks.h"

/* A time that ClickHouse's DateTime can have. */
#define TIME_MAX UINT32_MAX

static bool read_listed(struct reader *r, listed_coverage_visitor *visit, void *context)
{
	struct listed_coverage row = { 0 };
	cleanup(free_at_exit) char *host = NULL;
	size_t n;
	const char *text = row_binary_text(r, &n);

	host = xstrndup(text ? text : "", n);
	row.host = host;
	row.start_s = reader_u64(r);
	row.samples = reader_u64(r);
	row.lost = reader_u64(r);
	row.n_blocks = reader_u64(r);
	row.part = reader_u64(r);
	if (!r->bad && fleet_host_is_valid(host))
		visit(context, &row);
	return !r->bad;
}

/* Asks each shard: a host is in one alone. */
static int list_rows(struct clickhouse *ch, const char *sql, listed_coverage_visitor *visit,
		     void *context, bool *is_incomplete, struct error *err)
{
	struct buf bytes = { 0 };
	int r = 0;

	for (uint32_t s = 0; s < clickhouse_n_shards(ch) && r >= 0; s++) {
		struct error trouble = { 0 };
		struct reader rows;

		bytes.len = 0;
		r = clickhouse_ask(ch, s, sql, &bytes, &trouble);
		if (r == -EMSGSIZE) {
			error_set(err, r, "%s", trouble.text);
			break;
		}
		if (r < 0) {
			log_warning("a shard is missing: %s", trouble.text);
			*is_incomplete = true;
			r = 0;
			continue;
		}
		rows = reader_over(bytes.data, bytes.len);
		while (reader_left(&rows) && read_listed(&rows, visit, context))
			;
		if (rows.bad)
			r = error_set(err, -EPROTO, "the answer of %s is not whole",
				      clickhouse_address(ch, s));
	}
	buf_fini(&bytes);
	return r;
}

int clickhouse_list_hosts(struct clickhouse *ch, listed_coverage_visitor *visit, void *context,
			  bool *is_incomplete, struct error *err)
{
	return list_rows(ch,
			 "SELECT host, toUInt64(toUInt32(max(time))), toUInt64(sum(samples)), "
			 "toUInt64(sum(lost)), toUInt64(countIf(event = '')), toUInt64(0) "
			 "FROM coverage FINAL GROUP BY host ORDER BY host FORMAT RowBinary",
			 visit, context, is_incomplete, err);
}

static void put_blocks_wish(const struct listed_blocks *wish, struct buf *sql)
{
	const uint64_t bucket_s = BLOCK_BUCKET_NS / NS_PER_SECOND;

	buf_str(sql, " FROM coverage FINAL WHERE time > ");
	sql_put_time(sql, MIN(wish->from_s > bucket_s ? wish->from_s - bucket_s : 0, TIME_MAX));
	buf_str(sql, " AND time < ");
	sql_put_time(sql, MIN(wish->to_s, TIME_MAX));
	for (size_t i = 0; i < wish->n_hosts; i++) {
		buf_str(sql, i ? ", " : " AND host IN (");
		sql_put_text(sql, wish->hosts[i]);
	}
	buf_str(sql, wish->n_hosts ? ")" : "");
}

static void add_blocks(void *context, const struct listed_coverage *row)
{
	*(uint64_t *)context += row->n_blocks;
}

int clickhouse_list_blocks(struct clickhouse *ch, const struct listed_blocks *wish,
			   listed_coverage_visitor *visit, void *context, uint64_t *n,
			   bool *is_incomplete, struct error *err)
{
	struct buf rows = { 0 }, count = { 0 };
	int r = 0;

	*n = 0;
	buf_str(&rows, "SELECT host, toUInt64(toUInt32(time)) AS t, toUInt64(sum(samples)), "
		       "toUInt64(sum(lost)), toUInt64(1), toUInt64(part) AS p");
	put_blocks_wish(wish, &rows);
	buf_printf(&rows,
		   " GROUP BY host, t, p ORDER BY t DESC, host, p LIMIT %" PRIu64
		   " FORMAT RowBinary",
		   wish->limit);
	buf_str(&count, "SELECT host, toUInt64(0), toUInt64(0), toUInt64(0), "
			"toUInt64(uniqExact(time, part)), toUInt64(0)");
	put_blocks_wish(wish, &count);
	buf_str(&count, " GROUP BY host FORMAT RowBinary");
	if (!wish->hosts || wish->n_hosts)
		r = list_rows(ch, buf_cstr(&rows), visit, context, is_incomplete, err);
	if (r >= 0 && (!wish->hosts || wish->n_hosts))
		r = list_rows(ch, buf_cstr(&count), add_blocks, n, is_incomplete, err);
	buf_fini(&rows);
	buf_fini(&count);
	return r;
}
