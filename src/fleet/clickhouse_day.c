/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_day.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/clickhouse_schema.h"
#include "fleet/fleet_store.h"
#include "fleet/row_binary.h"
#include "store/history/blocks.h"

#define DAY_S UINT64_C(86400)

/* Files that are merged or fetched at this moment are there again after so long. */
#define BROKEN_PAUSE_S 3

/* A merge of parts may remove some while they are looked at. */
#define LIST_TRIES 10

#define REBUILDING     ".rebuilding"
#define REBUILDING_MAX (64u << 10)

/* ---- what the directory has ---- */

static int samples_of_part(const char *part, uint64_t start_s, uint64_t *samples, struct error *err)
{
	struct block_buckets buckets = { 0 };
	struct part_extent extent;
	int r;

	if (history_extent(part, &extent) &&
	    (extent.last_ns / NS_PER_SECOND < start_s ||
	     extent.first_ns / NS_PER_SECOND >= start_s + DAY_S + extent.block_ns / NS_PER_SECOND))
		return 0;
	r = part_buckets(part, BLOCK_BUCKET_NS, &buckets, err);
	vec_foreach (&buckets, bucket)
		if (bucket->start_ns / NS_PER_SECOND / DAY_S == start_s / DAY_S)
			*samples += bucket->samples;
	vec_fini(&buckets);
	return r;
}

static int samples_of_list(const char *dir, uint64_t start_s, uint64_t *samples, struct error *err)
{
	struct history_names names = { 0 };
	int r = history_list(dir, &names);

	*samples = 0;
	if (r < 0)
		error_errno(err, r, "cannot read %s", dir);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		cleanup(free_at_exit) char *part = xasprintf("%s/%s", dir, names.data[i]);

		r = samples_of_part(part, start_s, samples, err);
		if (r < 0 && access(part, F_OK) < 0)
			r = -EAGAIN;
	}
	history_names_fini(&names);
	return r;
}

static int samples_here(const char *place, const char *host, uint64_t start_s, uint64_t *samples,
			struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/%s", place, host);
	int r = -EAGAIN;

	for (int i = 0; i < LIST_TRIES && r == -EAGAIN; i++)
		r = samples_of_list(dir, start_s, samples, err);
	return r;
}

/* ---- what ClickHouse has ---- */

struct day_check {
	struct clickhouse *ch;
	const struct clickhouse_day *day;
	const char *table;
	uint32_t shard;
};

static void put_day(const struct day_check *c, bool others, struct buf *sql)
{
	buf_str(sql, others ? " WHERE NOT (time >= " : " WHERE (time >= ");
	sql_put_time(sql, c->day->start_s);
	buf_str(sql, " AND time < ");
	sql_put_time(sql, c->day->start_s + DAY_S);
	buf_str(sql, ")");
}

/* -EUCLEAN: the server can't read its files, also at a second try. */
static int ask_whole(const struct day_check *c, const char *sql, struct buf *answer,
		     struct error *err)
{
	const struct timespec pause = { .tv_sec = BROKEN_PAUSE_S };
	int r = 0;

	for (int i = 0; i < 2; i++) {
		struct error why = { 0 };

		answer->len = 0;
		r = clickhouse_ask(c->ch, c->shard, sql, answer, &why);
		if (r >= 0)
			return 0;
		if (r != -EREMOTEIO || !clickhouse_is_broken(why.text))
			return error_set(err, r, "%s", why.text);
		error_set(err, r, "%s", why.text);
		if (!i)
			nanosleep(&pause, NULL);
	}
	return -EUCLEAN;
}

static bool day_host_is_known(const struct day_check *c, const char *host)
{
	return fleet_host_is_valid(host) && fleet_has_host(c->day->place, host);
}

static int compare_host(const struct day_check *c, const char *host, uint64_t there,
			struct error *err)
{
	uint64_t here = 0;
	int r;

	if (!there)
		return 0;
	if (!day_host_is_known(c, host)) {
		if (fleet_log_has(c->day->fleet, "forget", host))
			return 0;
		return error_set(
			err, -EBADMSG,
			"%s has %" PRIu64 " sample%s of that day in ClickHouse, and is no "
			"host of the directory: ClickHouse keeps the day, or it would lose "
			"some",
			host, there, plural_s(there));
	}
	r = samples_here(c->day->place, host, c->day->start_s, &here, err);
	if (r >= 0 && here < there)
		r = error_set(err, -EBADMSG,
			      "%s has %" PRIu64 " sample%s of that day in ClickHouse, and %" PRIu64
			      " in the directory: ClickHouse keeps the day, or it would lose some",
			      host, there, plural_s(there), here);
	return r;
}

/* Whether the server can read the other days: it must, to store this one. */
static int check_other_days(const struct day_check *c, struct error *err)
{
	struct buf sql = { 0 }, answer = { 0 };
	struct error why = { 0 };
	int r;

	buf_printf(
		&sql,
		"SELECT toUInt64(sum(part)), toUInt64(max(length(host) + length(event))) FROM %s",
		c->table);
	put_day(c, true, &sql);
	buf_str(&sql, " FORMAT RowBinary");
	r = ask_whole(c, buf_cstr(&sql), &answer, &why);
	buf_fini(&sql);
	buf_fini(&answer);
	if (r == -EUCLEAN)
		return error_set(err, -EBADMSG,
				 "the server can't read another day, so it can't store this one: "
				 "rebuild that first: %s",
				 why.text);
	return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

static int compare_shard(const struct day_check *c, struct error *err)
{
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	int r;

	buf_printf(&sql, "SELECT host, toUInt64(sum(samples)) FROM %s FINAL", c->table);
	put_day(c, false, &sql);
	buf_str(&sql, " GROUP BY host ORDER BY host FORMAT RowBinary");
	r = ask_whole(c, buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		size_t n;
		const char *name = row_binary_text(&rows, &n);
		cleanup(free_at_exit) char *host = xstrndup(name ? name : "", name ? n : 0);
		uint64_t samples = reader_u64(&rows);

		r = rows.bad ? error_set(err, -EPROTO, "the answer of %s is not whole",
					 clickhouse_address(c->ch, c->shard))
			     : compare_host(c, host, samples, err);
	}
	buf_fini(&sql);
	buf_fini(&answer);
	return r < 0 ? r : check_other_days(c, err);
}

int clickhouse_check_day(struct clickhouse *ch, const struct clickhouse_day *day, struct error *err)
{
	enum clickhouse_table coverage = clickhouse_coverage_of(day->is_leaves);
	const struct clickhouse_table_info *table = &clickhouse_tables[coverage];
	struct day_check c = { .ch = ch, .day = day, .table = table->name };
	struct error broken = { 0 };
	int r = 0;

	if (day->start_s + table->keep_days * DAY_S <= clock_wall_ns() / NS_PER_SECOND)
		return 0; /* too old to be loaded */
	for (; c.shard < clickhouse_n_shards(ch) && r >= 0; c.shard++) {
		struct error why = { 0 };

		r = compare_shard(&c, &why);
		if (r == -EUCLEAN) {
			broken = why;
			r = 0;
		} else if (r < 0) {
			error_set(err, r, "%s", why.text);
		}
	}
	return r >= 0 && *broken.text ? error_set(err, -EUCLEAN, "%s", broken.text) : r;
}

/* ---- days that are dropped ---- */

static char *rebuilding_path(const char *fleet)
{
	return xasprintf("%s/" REBUILDING, fleet);
}

/* The lines of other days. */
static int rebuilding_read(const char *fleet, uint64_t start_s, struct buf *others,
			   struct error *err)
{
	cleanup(free_at_exit) char *path = rebuilding_path(fleet), *text = NULL;
	size_t size;
	int r = file_read_all(path, REBUILDING_MAX, &text, &size);
	char *rest = text, *line;

	if (r < 0)
		return r == -ENOENT ? 0 : error_errno(err, r, "cannot read %s", path);
	while ((line = strsep(&rest, "\n")))
		if (*line && strtoull(line, NULL, 10) != start_s)
			buf_printf(others, "%s\n", line);
	return 0;
}

static int rebuilding_write(const char *fleet, const struct buf *text, struct error *err)
{
	cleanup(free_at_exit) char *path = rebuilding_path(fleet);

	if (text->len)
		return file_replace_mode(path, 0640, text->data, text->len, err);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot remove %s", path);
	return 0;
}

int rebuilding_add(const char *fleet, uint64_t start_s, struct error *err)
{
	struct buf text = { 0 };
	int r = rebuilding_read(fleet, start_s, &text, err);

	buf_printf(&text, "%" PRIu64 "\n", start_s);
	r = r < 0 ? r : rebuilding_write(fleet, &text, err);
	buf_fini(&text);
	return r;
}

int rebuilding_remove(const char *fleet, uint64_t start_s, struct error *err)
{
	struct buf text = { 0 };
	int r = start_s == UINT64_MAX ? 0 : rebuilding_read(fleet, start_s, &text, err);

	r = r < 0 ? r : rebuilding_write(fleet, &text, err);
	buf_fini(&text);
	return r;
}

bool rebuilding_has_days(const char *fleet)
{
	cleanup(free_at_exit) char *path = rebuilding_path(fleet);

	return access(path, F_OK) == 0;
}
