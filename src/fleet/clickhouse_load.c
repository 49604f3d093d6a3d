/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/fleet_store.h"
#include "fleet/row_binary.h"
#include "store/history/blocks.h"
#include "store/session.h"

#define LOCK ".loading"

struct loader {
	const struct fleet_load_config *config;
	struct fleet_load_result *result;
	struct known_rows *known; /* by shard */

	/* Of the host at hand. */
	const char *host;
	char *dir, *labels;
	struct intmap stored;   /* hash of (time, part) of the blocks that ClickHouse has … */
	VEC(uint64_t) stored_s; /* … and their times */
};

static uint64_t stored_key(uint32_t time_s, uint32_t part)
{
	const uint32_t key[2] = { time_s, part };

	return XXH3_64bits(key, sizeof(key));
}

/* Asks which blocks of the host are stored. */
static int loader_find_stored(struct loader *l, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	int r;

	buf_str(&sql, "SELECT toUInt32(time) AS t, part FROM coverage WHERE host = ");
	sql_put_text(&sql, l->host);
	buf_str(&sql, " AND event = '' GROUP BY t, part FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, l->host), buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		uint32_t time_s = reader_u32(&rows), part = reader_u32(&rows);

		intmap_put(&l->stored, stored_key(time_s, part), NULL);
		vec_push(&l->stored_s, time_s);
	}
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the server's list of blocks is not whole");
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

/* Whether ClickHouse has a block of the host that begins in this time. */
static bool loader_has_time(const struct loader *l, uint64_t from_s, uint64_t to_s)
{
	vec_foreach (&l->stored_s, t)
		if (*t >= from_s && *t < to_s)
			return true;
	return false;
}

struct bucket_bounds {
	uint64_t from_ns, to_ns;
};

static bool is_in_bucket(void *context, const struct block_span *span)
{
	const struct bucket_bounds *b = context;

	return span->first_ns >= b->from_ns && span->first_ns < b->to_ns;
}

static void loader_leave_out(struct loader *l, const char *part, const char *why)
{
	cleanup(free_at_exit) char *text = xasprintf("%s/%s is left out: %s", l->host, part, why);

	l->result->n_left_out++;
	if (l->config->warn)
		l->config->warn(text);
}

static int loader_store(struct loader *l, const struct fleet_block *block,
			const struct session *session, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct known_rows *known = &l->known[clickhouse_shard_of(ch, block->host)];
	struct block_rows rows = { 0 };
	struct error why = { 0 };
	int r = block_rows_make(block, session, l->config->symbols, l->labels,
				(uint32_t)(clock_wall_ns() / NS_PER_SECOND), known, &rows, &why);

	if (r < 0) {
		loader_leave_out(l, "a block", why.text);
		r = 0;
	} else {
		r = clickhouse_store(ch, block, &rows, known, &why);
		l->result->n_blocks += r >= 0;
		l->result->samples += r < 0 ? 0 : rows.samples;
		l->result->lost += r < 0 ? 0 : rows.lost;
		for (size_t t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++) {
			l->result->rows += rows.n[t];
			l->result->bytes += rows.bytes[t].len;
		}
	}
	block_rows_fini(&rows);
	if (r == -EREMOTEIO) { /* a server that refuses this block may take the others */
		loader_leave_out(l, "a block", why.text);
		return 0;
	}
	return r < 0 ? error_set(err, r, "%s", why.text) : r;
}

static int loader_put_bucket(struct loader *l, const char *name, uint64_t bucket, bool is_merged,
			     struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);
	const struct fleet_block block = { l->host, fleet_block_part(name), bucket };
	uint64_t time_s = bucket / NS_PER_SECOND;
	struct bucket_bounds bounds = { bucket, bucket + BLOCK_BUCKET_NS };
	const struct block_filter filter = { .takes = is_in_bucket,
					     .context = &bounds,
					     .until_ns = bounds.to_ns };
	cleanup(session_close_at_exit) struct session *session = NULL;
	struct error why = { 0 };

	if (l->config->stops && l->config->stops())
		return error_set(err, -EINTR, "a signal ended the loading");
	if (intmap_find(&l->stored, stored_key((uint32_t)time_s, block.part))) {
		l->result->n_known++;
		return 0;
	}
	if (session_open_blocks(path, &filter, &session, &why) < 0) {
		loader_leave_out(l, name, why.text);
		return 0;
	}
	if (is_merged && loader_has_time(l, time_s,
					 time_s + MAX(session->info.block_ns, BLOCK_BUCKET_NS) /
							  NS_PER_SECOND)) {
		l->result->n_known++;
		return 0;
	}
	return loader_store(l, &block, session, err);
}

static int loader_put_part(struct loader *l, const char *name, bool is_merged, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);
	struct block_buckets buckets = { 0 };
	struct error why = { 0 };
	int r = part_buckets(path, BLOCK_BUCKET_NS, &buckets, &why);

	if (r < 0) {
		loader_leave_out(l, name, why.text);
		r = 0;
	}
	for (size_t i = 0; i < buckets.n && r >= 0; i++)
		if (buckets.data[i] >= l->config->from_ns && buckets.data[i] < l->config->to_ns)
			r = loader_put_bucket(l, name, buckets.data[i], is_merged, err);
	vec_fini(&buckets);
	return r;
}

/* Marks merged parts, and removes those that they replace from the list. */
static bool *loader_find_merged(const struct loader *l, struct history_names *names)
{
	struct history_names gone = { 0 };
	bool *merged;

	for (size_t i = 0; i < names->n; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, names->data[i]);
		cleanup(free_at_exit) char *replaces = NULL;
		char *rest, *name;
		struct session_info info;
		struct session_end end;

		session_extent(path, &info, &end, &replaces);
		for (rest = replaces; rest && (name = strsep(&rest, " "));)
			if (strcmp(name, names->data[i]) != 0)
				vec_push(&gone, xstrdup(name));
	}
	vec_foreach (&gone, name)
		history_names_drop(names, *name);
	merged = xcalloc(names->n + 1, sizeof(*merged));
	for (size_t i = 0; i < names->n; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, names->data[i]);
		cleanup(free_at_exit) char *replaces = NULL;
		struct session_info info;
		struct session_end end;

		session_extent(path, &info, &end, &replaces);
		merged[i] = replaces && *replaces;
	}
	history_names_fini(&gone);
	return merged;
}

static void loader_begin_host(struct loader *l, const char *host)
{
	l->host = host;
	l->dir = xasprintf("%s/%s", l->config->fleet, host);
	l->labels = fleet_labels_read(l->config->fleet, host);
}

static void loader_end_host(struct loader *l)
{
	free(l->dir);
	free(l->labels);
	intmap_clear(&l->stored);
	l->stored_s.n = 0;
}

static int loader_put_host(struct loader *l, const char *host, struct error *err)
{
	struct history_names names = { 0 };
	bool *merged = NULL;
	int r;

	loader_begin_host(l, host);
	r = loader_find_stored(l, err);
	if (r >= 0 && history_list(l->dir, &names) < 0)
		loader_leave_out(l, "its history", "it can't be read");
	if (r >= 0)
		merged = loader_find_merged(l, &names);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		r = loader_put_part(l, names.data[i], merged[i], err);
	free(merged);
	history_names_fini(&names);
	loader_end_host(l);
	return r;
}

/* If a shard fails, the hosts of the others are still loaded. Returns the first failure. */
static int loader_put_hosts(struct loader *l, const struct history_names *hosts, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	cleanup(free_at_exit) bool *failed = xcalloc(clickhouse_n_shards(ch), sizeof(*failed));
	struct error why;
	int result = 0;

	for (size_t i = 0; i < hosts->n && result != -EINTR; i++) {
		uint32_t shard = clickhouse_shard_of(ch, hosts->data[i]);
		int r = failed[shard] ? 0 : loader_put_host(l, hosts->data[i], &why);

		failed[shard] |= r < 0;
		if (r < 0 && (!result || r == -EINTR)) {
			result = r;
			if (err)
				*err = why;
		}
	}
	return result;
}

static int loader_lock(const char *fleet, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" LOCK, fleet);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int code = errno == EWOULDBLOCK ? -EBUSY : -errno;

		close(fd);
		return code == -EBUSY ? error_set(err, code, "another process loads %s", fleet)
				      : error_errno(err, code, "cannot lock %s", path);
	}
	return fd;
}

int fleet_load(const struct fleet_load_config *config, struct fleet_load_result *out,
	       struct error *err)
{
	struct loader l = { .config = config, .result = out };
	uint32_t n_shards = clickhouse_n_shards(config->clickhouse);
	cleanup(close_at_exit) int lock = -1;
	struct history_names hosts = { 0 };
	int r = fleet_is_at(config->fleet)
			? 0
			: error_set(err, -ENODEV, "%s is no fleet", config->fleet);

	*out = (struct fleet_load_result){ 0 };
	if (r >= 0)
		r = lock = loader_lock(config->fleet, err);
	r = r < 0 ? r : fleet_hosts(config->fleet, &hosts, err);
	if (r >= 0 && config->drops_first)
		r = clickhouse_drop_day(config->clickhouse, config->from_ns / NS_PER_SECOND, err);
	l.known = xcalloc(n_shards, sizeof(*l.known));
	r = r < 0 ? r : loader_put_hosts(&l, &hosts, err);
	for (uint32_t i = 0; i < n_shards; i++)
		known_rows_fini(&l.known[i]);
	free(l.known);
	intmap_fini(&l.stored);
	vec_fini(&l.stored_s);
	history_names_fini(&hosts);
	return r;
}
