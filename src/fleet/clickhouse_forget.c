/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_forget.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"
#include "machine/image.h"
#include "store/history/merge.h"

#define WAIT_NS  (UINT64_C(600) * NS_PER_SECOND)
#define PAUSE_NS (200 * NS_PER_MS)

/*
 * X(table, code, keys, counts, sums). `code` is the column that gets the number of the run. `keys`
 * are the other columns of a key, which stay. `counts` are the columns of samples, and `sums` is
 * what they get.
 */
#define FORGET_TABLES(X)                                                             \
	X(FACTS, "stack", "host, time, part", "samples", "sum(samples)")             \
	X(FUNC_HOUR, "func", "time", "self, incl", "sum(self), sum(self)")           \
	X(FUNC_DAY, "func", "time", "self, incl", "sum(self), sum(self)")            \
	X(FUNC_HOST_DAY, "func", "host, time", "self, incl", "sum(self), sum(self)") \
	X(STACK_HOUR, "stack", "time", "samples", "sum(samples)")                    \
	X(STACK_DAY, "stack", "time", "samples", "sum(samples)")                     \
	X(LEAF_DAY, "place", "time", "samples, events", "sum(samples), sum(events)")

static const struct forget_table {
	enum clickhouse_table table;
	const char *code, *keys, *counts, *sums;
} forget_tables[] = {
#define X(id, code, keys, counts, sums) { CLICKHOUSE_##id, code, keys, counts, sums },
	FORGET_TABLES(X)
#undef X
};

struct forgetting {
	struct clickhouse *ch;
	uint32_t shard;
	const char *service;
	uint64_t run;
};

/* ---- sums ---- */

/* The days that have rows of a service, as numbers of days since 1970. */
static int find_days(const struct forgetting *f, const struct forget_table *t, bool forgotten,
		     struct buf *days, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql,
		   "SELECT toUInt32(toRelativeDayNum(toDate(time))) AS d FROM %s WHERE service = ",
		   clickhouse_tables[t->table].name);
	sql_put_text(&sql, forgotten ? CLICKHOUSE_FORGOTTEN : f->service);
	if (forgotten)
		buf_printf(&sql, " AND %s = %" PRIu64, t->code, f->run);
	buf_str(&sql, " GROUP BY d ORDER BY d FORMAT RowBinary");
	r = clickhouse_ask(f->ch, f->shard, buf_cstr(&sql), days, err);
	buf_fini(&sql);
	return r;
}

static int insert_sums(const struct forgetting *f, const struct forget_table *t, uint32_t day,
		       struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql,
		   "INSERT INTO %s (service, event, %s, %s, %s) SELECT '" CLICKHOUSE_FORGOTTEN
		   "', event, toUInt64(%" PRIu64 "), %s, %s FROM %s WHERE service = ",
		   clickhouse_tables[t->table].name, t->code, t->keys, t->counts, f->run, t->keys,
		   t->sums, clickhouse_tables[t->table].name);
	sql_put_text(&sql, f->service);
	buf_printf(&sql, " AND toRelativeDayNum(toDate(time)) = %" PRIu32 " GROUP BY event, %s",
		   day, t->keys);
	r = clickhouse_ask(f->ch, f->shard, buf_cstr(&sql), NULL, err);
	buf_fini(&sql);
	return r;
}

static bool days_have(const struct buf *days, uint32_t day)
{
	struct reader r = reader_over(days->data, days->len);

	while (reader_left(&r))
		if (reader_u32(&r) == day && !r.bad)
			return true;
	return false;
}

/* Inserts the sums of all days that do not have them. */
static int keep_sums(const struct forgetting *f, const struct forget_table *t, bool *has_rows,
		     struct error *err)
{
	struct buf days = { 0 }, done = { 0 };
	int r = find_days(f, t, false, &days, err);
	struct reader rows;

	r = r < 0 ? r : find_days(f, t, true, &done, err);
	rows = reader_over(days.data, days.len);
	*has_rows = r >= 0 && days.len;
	while (r >= 0 && reader_left(&rows)) {
		uint32_t day = reader_u32(&rows);

		if (rows.bad)
			r = error_set(err, -EPROTO, "the answer of %s is not whole",
				      clickhouse_address(f->ch, f->shard));
		else if (!days_have(&done, day))
			r = insert_sums(f, t, day, err);
	}
	buf_fini(&days);
	buf_fini(&done);
	return r;
}

/* ---- rows ---- */

static int ask_number(const struct forgetting *f, const char *sql, uint64_t *out, struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	int r = clickhouse_ask(f->ch, f->shard, sql, &answer, err);

	rows = reader_over(answer.data, answer.len);
	*out = reader_u64(&rows);
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(f->ch, f->shard));
	buf_fini(&answer);
	return r;
}

/* Servers delete rows by and by. */
static int await_deletion(const struct forgetting *f, const char *table, struct error *err)
{
	const struct timespec pause = timespec_of_ns(PAUSE_NS);
	cleanup(free_at_exit) char *running =
		xasprintf("SELECT toUInt64(count()) FROM system.mutations WHERE database = "
			  "currentDatabase() AND table = '%s' AND is_done = 0 FORMAT RowBinary",
			  table);
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS, n = 1;

	for (;;) {
		int r = ask_number(f, running, &n, err);

		if (r < 0 || !n)
			return r;
		if (clock_monotonic_ns() > end_ns)
			return error_set(err, -ETIMEDOUT,
					 "%s has not deleted the rows of %s yet, and goes on; see "
					 "its table system.mutations",
					 clickhouse_address(f->ch, f->shard), table);
		nanosleep(&pause, NULL);
	}
}

static int delete_rows(const struct forgetting *f, const char *table, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "ALTER TABLE %s DELETE WHERE service = ", table);
	sql_put_text(&sql, f->service);
	r = clickhouse_ask(f->ch, f->shard, buf_cstr(&sql), NULL, err);
	buf_fini(&sql);
	return r < 0 ? r : await_deletion(f, table, err);
}

/* The stacks of the service have no samples. */
static int forget_stacks(const struct forgetting *f, struct error *err)
{
	const char *table = clickhouse_tables[CLICKHOUSE_STACKS].name;
	struct buf sql = { 0 };
	uint64_t n = 0;
	int r;

	buf_printf(&sql, "SELECT toUInt64(count()) FROM %s WHERE service = ", table);
	sql_put_text(&sql, f->service);
	buf_str(&sql, " FORMAT RowBinary");
	r = ask_number(f, buf_cstr(&sql), &n, err);
	buf_fini(&sql);
	return r < 0 || !n ? r : delete_rows(f, table, err);
}

/* The name and the stack of what is forgotten. */
static int name_forgotten(const struct forgetting *f, struct error *err)
{
	cleanup(free_at_exit) char *function =
		xasprintf("INSERT INTO functions (func, name, image, build, start, kind, language, "
			  "seen) SELECT "
			  "toUInt64(%" PRIu64 "), '(forgotten)', '" IMAGE_FORGOTTEN_PATH
			  "', '', toUInt64(0), toUInt8(%d), toUInt8(0), now()",
			  f->run, IMAGE_NAMED);
	cleanup(free_at_exit) char *stack =
		xasprintf("INSERT INTO stacks (service, stack, frames, builds, seen) SELECT "
			  "'" CLICKHOUSE_FORGOTTEN "', toUInt64(%" PRIu64 "), [toUInt64(%" PRIu64
			  ")], [''], now()",
			  f->run, f->run);
	int r = clickhouse_ask(f->ch, f->shard, function, NULL, err);

	return r < 0 ? r : clickhouse_ask(f->ch, f->shard, stack, NULL, err);
}

static int forget_in_shard(const struct forgetting *f, struct error *err)
{
	int r = name_forgotten(f, err);

	for (size_t i = 0; i < ARRAY_SIZE(forget_tables) && r >= 0; i++) {
		const struct forget_table *t = &forget_tables[i];
		bool has_rows;

		r = keep_sums(f, t, &has_rows, err);
		if (r >= 0 && has_rows)
			r = delete_rows(f, clickhouse_tables[t->table].name, err);
	}
	return r < 0 ? r : forget_stacks(f, err);
}

int clickhouse_forget_service(struct clickhouse *ch, const char *service, uint64_t run,
			      struct error *err)
{
	int r = 0;

	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++)
		r = forget_in_shard(&(struct forgetting){ ch, shard, service, run }, err);
	return r;
}

/* ---- a host ---- */

int clickhouse_days_of_host(struct clickhouse *ch, const char *host, struct buf *days,
			    struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_str(&sql, "SELECT d FROM (");
	for (int leaves = 0; leaves < 2; leaves++) {
		buf_printf(&sql,
			   "%sSELECT toUInt32(toRelativeDayNum(toDate(time))) AS d FROM %s WHERE "
			   "host = ",
			   leaves ? " UNION ALL " : "",
			   clickhouse_tables[clickhouse_coverage_of(leaves)].name);
		sql_put_text(&sql, host);
	}
	buf_str(&sql, ") GROUP BY d ORDER BY d FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, host), buf_cstr(&sql), days, err);
	buf_fini(&sql);
	return r;
}

int clickhouse_forget_host(struct clickhouse *ch, const char *host, struct error *err)
{
	const struct forgetting f = { .ch = ch, .shard = clickhouse_shard_of(ch, host) };
	const char *table = clickhouse_tables[CLICKHOUSE_HOSTS].name;
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "ALTER TABLE %s DELETE WHERE host = ", table);
	sql_put_text(&sql, host);
	r = clickhouse_ask(ch, f.shard, buf_cstr(&sql), NULL, err);
	buf_fini(&sql);
	return r < 0 ? r : await_deletion(&f, table, err);
}
