/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_lists.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
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
		     void *context, void (*missing)(void *context, const char *sentence),
		     struct error *err)
{
	struct buf bytes = { 0 };
	int r = 0;

	for (uint32_t s = 0; s < clickhouse_n_shards(ch) && r >= 0; s++) {
		struct error trouble = { 0 };
		struct reader rows;

		bytes.len = 0;
		if (clickhouse_ask(ch, s, sql, &bytes, &trouble) < 0) {
			missing(context, trouble.text);
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
			  void (*missing)(void *context, const char *sentence), struct error *err)
{
	return list_rows(ch,
			 "SELECT host, toUInt64(toUInt32(max(time))), toUInt64(sum(samples)), "
			 "toUInt64(sum(lost)), toUInt64(countIf(event = '')), toUInt64(0) "
			 "FROM coverage FINAL GROUP BY host ORDER BY host FORMAT RowBinary",
			 visit, context, missing, err);
}

int clickhouse_list_blocks(struct clickhouse *ch, uint64_t from_s, uint64_t to_s,
			   listed_coverage_visitor *visit, void *context,
			   void (*missing)(void *context, const char *sentence), struct error *err)
{
	const uint64_t bucket_s = BLOCK_BUCKET_NS / NS_PER_SECOND;
	struct buf sql = { 0 };
	int r;

	buf_str(&sql, "SELECT host, toUInt64(toUInt32(time)) AS t, toUInt64(sum(samples)), "
		      "toUInt64(sum(lost)), toUInt64(1), toUInt64(part) AS p FROM coverage FINAL "
		      "WHERE time > ");
	sql_put_time(&sql, MIN(from_s > bucket_s ? from_s - bucket_s : 0, TIME_MAX));
	buf_str(&sql, " AND time < ");
	sql_put_time(&sql, MIN(to_s, TIME_MAX));
	buf_str(&sql, " GROUP BY host, t, p FORMAT RowBinary");
	r = list_rows(ch, buf_cstr(&sql), visit, context, missing, err);
	buf_fini(&sql);
	return r;
}
