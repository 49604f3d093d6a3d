/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_load.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_audit.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/fleet_store.h"
#include "fleet/load_batch.h"
#include "fleet/row_binary.h"
#include "store/history/blocks.h"
#include "store/session.h"

#define LOCK ".loading"

struct fleet_load_memory {
	struct known_rows *known; /* by shard */
	uint32_t n_shards;
	struct intmap
		hosts; /* hash of a host's name to a hash of its folder's last change; 0: no */
	struct intmap parts; /* part_stamp() of parts whose blocks are stored: 1; else 0 */
};

/* A block that waits in a batch: where to note that it was not stored. */
struct waiting_block {
	uint64_t host, part; /* keys of the memory */
	char *host_name;
};

struct loader {
	const struct fleet_load_config *config;
	struct fleet_load_result *result;
	struct fleet_load_memory *memory;
	struct load_batch **batches; /* by shard */
	VEC(struct waiting_block) waiting;

	/* Of the host at hand. */
	const char *host;
	char *dir, *labels;
	struct intmap stored;   /* hash of (time, part) of the blocks that ClickHouse has … */
	VEC(uint64_t) stored_s; /* … and their times */
};

struct fleet_load_memory *fleet_load_memory_new(void)
{
	return xcalloc(1, sizeof(struct fleet_load_memory));
}

void fleet_load_memory_free(struct fleet_load_memory *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_shards; i++)
		known_rows_fini(&m->known[i]);
	free(m->known);
	intmap_fini(&m->hosts);
	intmap_fini(&m->parts);
	free(m);
}

/* A part that is replaced has another number, because its folder has another file's. */
static uint64_t part_stamp(const struct loader *l, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);
	struct stat st = { 0 };
	uint64_t stamp[3];

	if (stat(path, &st) < 0)
		st.st_ino = 0;
	stamp[0] = XXH3_64bits(path, strlen(path));
	stamp[1] = st.st_ino;
	stamp[2] = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	return XXH3_64bits(stamp, sizeof(stamp));
}

static bool loader_knows_part(const struct loader *l, const char *name)
{
	const uint32_t *knows =
		l->memory->parts.n ? intmap_find(&l->memory->parts, part_stamp(l, name)) : NULL;

	return knows && *knows;
}

static uint64_t host_key(const char *host)
{
	return XXH3_64bits(host, strlen(host));
}

/* Of a block that is not stored, or perhaps: its host and its part are looked at again. */
static void loader_forget(struct loader *l, const struct waiting_block *block)
{
	*intmap_put(&l->memory->hosts, block->host, NULL) = 0;
	*intmap_put(&l->memory->parts, block->part, NULL) = 0;
}

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

static void loader_leave_out(struct loader *l, const char *host, const char *part, const char *why)
{
	cleanup(free_at_exit) char *text = xasprintf("%s/%s is left out: %s", host, part, why);

	l->result->n_left_out++;
	if (l->config->warn)
		l->config->warn(text);
}

/* Whether ClickHouse has a block of the host that begins in this time. */
static bool loader_has_time(const struct loader *l, uint64_t from_s, uint64_t to_s)
{
	vec_foreach (&l->stored_s, t)
		if (*t >= from_s && *t < to_s)
			return true;
	return false;
}

/* The samples of the host's blocks that begin in this time. */
static int loader_ask_samples(const struct loader *l, uint64_t from_s, uint64_t to_s,
			      uint64_t *samples, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct buf sql = { 0 }, answer = { 0 };
	struct reader row;
	int r;

	buf_str(&sql, "SELECT toUInt64(sum(samples)) FROM coverage FINAL WHERE host = ");
	sql_put_text(&sql, l->host);
	buf_str(&sql, " AND time >= ");
	sql_put_time(&sql, from_s);
	buf_str(&sql, " AND time < ");
	sql_put_time(&sql, to_s);
	buf_str(&sql, " FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, l->host), buf_cstr(&sql), &answer, err);
	row = reader_over(answer.data, answer.len);
	*samples = reader_u64(&row);
	if (r >= 0 && row.bad)
		r = error_set(err, -EPROTO, "the server's sum of samples is not whole");
	buf_fini(&sql);
	buf_fini(&answer);
	return r;
}

static uint64_t samples_of(const struct session *session)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < session->n_segments; i++)
		for (uint32_t b = 0; b < session->segments[i]->n_blocks; b++)
			n += session->segments[i]->blocks[b].samples;
	return n;
}

/*
 * Whether ClickHouse has a part of a merged block. Nothing tells the rest from this part. So only a
 * rebuild of the day stores it. 0: it has nothing of this time. 1: do not store the block.
 */
static int loader_judge_merged(struct loader *l, const char *name, uint64_t time_s,
			       const struct session *session, struct error *err)
{
	uint64_t length_s = MAX(session->info.block_ns, BLOCK_BUCKET_NS) / NS_PER_SECOND;
	uint64_t to_s = (time_s / length_s + 1) * length_s, there;
	int r;

	if (!loader_has_time(l, time_s, to_s))
		return 0;
	r = loader_ask_samples(l, time_s, to_s, &there, err);
	if (r < 0)
		return r;
	if (there < samples_of(session))
		loader_leave_out(l, l->host, name,
				 "it was merged, and ClickHouse has a part of its samples: 'assay "
				 "fleet rebuild' of the day stores all");
	else
		l->result->n_known++;
	return 1;
}

struct bucket_bounds {
	uint64_t from_ns, to_ns;
};

static bool is_in_bucket(void *context, const struct block_span *span)
{
	const struct bucket_bounds *b = context;

	return span->first_ns >= b->from_ns && span->first_ns < b->to_ns;
}

/* ---- batches ---- */

/*
 * A server may refuse a block for a while only, such as for lack of memory. So it is tried in the
 * next round, too.
 */
static void loader_visit_stored(void *context, uint64_t number, const struct block_rows *rows,
				int r, const struct error *why)
{
	struct loader *l = context;
	struct waiting_block *block = &l->waiting.data[number];

	if (r < 0) {
		loader_forget(l, block);
		loader_leave_out(l, block->host_name, "a block", why->text);
	} else {
		l->result->n_blocks++;
		l->result->samples += rows->samples;
		l->result->lost += rows->lost;
		for (size_t t = 0; t < N_CLICKHOUSE_TABLES; t++) {
			l->result->rows += rows->n[t];
			l->result->bytes += rows->bytes[t].len;
		}
	}
	free(take_ptr(block->host_name));
}

/*
 * A batch that failed may have no names: those are sent again. Blocks without an answer are looked
 * at again.
 */
static int loader_store_batch(struct loader *l, uint32_t shard, struct error *err)
{
	uint32_t n_left_out = l->result->n_left_out;
	int r = load_batch_store(l->batches[shard], loader_visit_stored, l, err);

	if (r < 0 || l->result->n_left_out != n_left_out)
		known_rows_clear(&l->memory->known[shard]);
	vec_foreach (&l->waiting, block)
		if (r < 0 && block->host_name &&
		    clickhouse_shard_of(l->config->clickhouse, block->host_name) == shard) {
			loader_forget(l, block);
			free(take_ptr(block->host_name));
		}
	l->waiting.n = 0; /* each block is stored at once, so none waits for another shard */
	return r;
}

static int loader_store(struct loader *l, const struct fleet_block *block, uint64_t part_key,
			const struct session *session, struct error *err)
{
	uint32_t shard = clickhouse_shard_of(l->config->clickhouse, block->host);
	struct known_rows *known = &l->memory->known[shard];
	struct load_batch *batch = l->batches[shard];
	const struct waiting_block waiting = { host_key(block->host), part_key,
					       xstrdup(block->host) };
	struct block_rows rows = { 0 };
	struct error why = { 0 };
	int r = block_rows_make(block, session, l->config->symbols, l->labels,
				(uint32_t)(clock_wall_ns() / NS_PER_SECOND), known, &rows, &why);

	if (r < 0) {
		loader_leave_out(l, l->host, "a block", why.text);
		r = 0;
	} else {
		if (!load_batch_has_room(batch, block, &rows))
			r = loader_store_batch(l, shard, err);
		if (r >= 0) {
			block_rows_remember(&rows, known);
			load_batch_add(batch, block, l->waiting.n, &rows);
			vec_push(&l->waiting, waiting);
			/* At once: the rows of the next block leave out names that are stored. */
			return loader_store_batch(l, shard, err);
		}
	}
	free(waiting.host_name);
	block_rows_fini(&rows);
	return r;
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
	int r;

	if (l->config->stops && l->config->stops())
		return error_set(err, -EINTR, "a signal ended the loading");
	if (intmap_find(&l->stored, stored_key((uint32_t)time_s, block.part))) {
		l->result->n_known++;
		return 0;
	}
	if (session_open_blocks(path, &filter, &session, &why) < 0) {
		loader_leave_out(l, l->host, name, why.text);
		return 0;
	}
	r = is_merged ? loader_judge_merged(l, name, time_s, session, err) : 0;
	if (r)
		return MIN(r, 0);
	return loader_store(l, &block, part_stamp(l, name), session, err);
}

static int loader_put_part(struct loader *l, const char *name, bool is_merged, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);
	struct block_buckets buckets = { 0 };
	struct error why = { 0 };
	int r = part_buckets(path, BLOCK_BUCKET_NS, &buckets, &why);

	if (r < 0) {
		loader_leave_out(l, l->host, name, why.text);
		r = 0;
	}
	/* A part that can't be read is not looked at each time. A batch that fails forgets it. */
	*intmap_put(&l->memory->parts, part_stamp(l, name), NULL) = 1;
	for (size_t i = 0; i < buckets.n && r >= 0; i++)
		if (buckets.data[i].start_ns >= l->config->from_ns &&
		    buckets.data[i].start_ns < l->config->to_ns)
			r = loader_put_bucket(l, name, buckets.data[i].start_ns, is_merged, err);
	if (r < 0)
		*intmap_put(&l->memory->parts, part_stamp(l, name), NULL) = 0;
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

		if (loader_knows_part(l, names->data[i]))
			continue; /* and so are those that it replaces */
		session_extent(path, &info, &end, &replaces);
		for (rest = replaces; rest && (name = strsep(&rest, " "));)
			if (strcmp(name, names->data[i]) != 0)
				vec_push(&gone, xstrdup(name));
	}
	vec_foreach (&gone, name) {
		*intmap_put(&l->memory->parts, part_stamp(l, *name), NULL) = 1;
		history_names_drop(names, *name);
	}
	merged = xcalloc(names->n + 1, sizeof(*merged));
	for (size_t i = 0; i < names->n; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, names->data[i]);
		cleanup(free_at_exit) char *replaces = NULL;
		struct session_info info;
		struct session_end end;

		if (loader_knows_part(l, names->data[i]))
			continue;
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
		loader_leave_out(l, host, "its history", "it can't be read");
	if (r >= 0)
		merged = loader_find_merged(l, &names);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		if (!loader_knows_part(l, names.data[i]))
			r = loader_put_part(l, names.data[i], merged[i], err);
	free(merged);
	history_names_fini(&names);
	loader_end_host(l);
	return r;
}

/*
 * A number for the list of a host's parts; 0: they may change within the grain of the file system's
 * clock, or they can't be read.
 */
static uint32_t loader_host_stamp(const struct loader *l, const char *host)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/%s", l->config->fleet, host);
	struct stat st;
	uint64_t changed_ns;

	if (stat(dir, &st) < 0)
		return 0;
	changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	if (changed_ns + NS_PER_SECOND > clock_wall_ns())
		return 0;
	return (uint32_t)XXH3_64bits(&changed_ns, sizeof(changed_ns)) | 1;
}

/* Loads the host if its list of parts changed since it was loaded last. */
static int loader_put_changed_host(struct loader *l, const char *host, struct error *err)
{
	struct intmap *hosts = &l->memory->hosts;
	uint64_t key = host_key(host);
	uint32_t stamp = loader_host_stamp(l, host);
	const uint32_t *last = intmap_find(hosts, key);
	int r;

	if (last && *last && *last == stamp)
		return 0;
	*intmap_put(hosts, key, NULL) = stamp; /* a batch that fails forgets it */
	r = loader_put_host(l, host, err);
	if (r < 0)
		*intmap_put(hosts, key, NULL) = 0;
	return r;
}

/* If a shard fails, the hosts of the others are still loaded. Returns the first failure. */
static int loader_put_hosts(struct loader *l, const struct history_names *hosts, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	cleanup(free_at_exit) bool *failed = xcalloc(clickhouse_n_shards(ch), sizeof(*failed));
	struct error why;
	int result = 0;

	for (size_t i = 0; i < hosts->n + clickhouse_n_shards(ch); i++) {
		bool is_host = i < hosts->n;
		uint32_t shard = is_host ? clickhouse_shard_of(ch, hosts->data[i])
					 : (uint32_t)(i - hosts->n); /* what waits there */
		int r = 0;

		if (!failed[shard] && (!is_host || result != -EINTR))
			r = is_host ? loader_put_changed_host(l, hosts->data[i], &why)
				    : loader_store_batch(l, shard, &why);
		failed[shard] |= r < 0 && r != -EINTR;
		if (r < 0 && (!result || r == -EINTR)) {
			result = r;
			if (err)
				*err = why;
		}
	}
	return result;
}

static void loader_begin(struct loader *l)
{
	struct fleet_load_memory *memory = l->memory;
	uint32_t n_shards = clickhouse_n_shards(l->config->clickhouse);

	if (!memory->known) {
		memory->known = xcalloc(n_shards, sizeof(*memory->known));
		memory->n_shards = n_shards;
	}
	assert(memory->n_shards == n_shards);
	l->batches = xcalloc(n_shards, sizeof(struct load_batch *));
	for (uint32_t i = 0; i < n_shards; i++)
		l->batches[i] = load_batch_new(l->config->clickhouse);
}

static void loader_fini(struct loader *l)
{
	for (uint32_t i = 0; i < clickhouse_n_shards(l->config->clickhouse); i++)
		load_batch_free(l->batches[i]);
	free(l->batches);
	vec_foreach (&l->waiting, block)
		if (block->host_name) { /* its shard failed before */
			known_rows_clear(
				&l->memory->known[clickhouse_shard_of(l->config->clickhouse,
								      block->host_name)]);
			loader_forget(l, block);
			free(block->host_name);
		}
	vec_fini(&l->waiting);
	intmap_fini(&l->stored);
	vec_fini(&l->stored_s);
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
	struct fleet_load_memory *own = config->memory ? NULL : fleet_load_memory_new();
	struct loader l = { .config = config, .result = out, .memory = own ? own : config->memory };
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
		r = clickhouse_check_day(config->clickhouse, config->fleet,
					 config->from_ns / NS_PER_SECOND, err);
	if (r >= 0 && config->drops_first)
		r = clickhouse_drop_day(config->clickhouse, config->from_ns / NS_PER_SECOND, err);
	loader_begin(&l);
	r = r < 0 ? r : loader_put_hosts(&l, &hosts, err);
	loader_fini(&l);
	fleet_load_memory_free(own);
	history_names_fini(&hosts);
	return r;
}
