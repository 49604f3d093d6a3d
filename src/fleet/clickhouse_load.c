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
#include "fleet/batch_list.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_day.h"
#include "fleet/clickhouse_fleet.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_replica.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/fleet_store.h"
#include "fleet/late_names.h"
#include "fleet/load_batch.h"
#include "fleet/loader.h"
#include "fleet/row_binary.h"
#include "fleet/unfinished.h"
#include "store/history/blocks.h"
#include "store/session.h"

#define LOCK ".loading"

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

/* Of a part of the host at hand. */
static uint64_t loader_part_stamp(const struct loader *l, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);

	return load_part_stamp(path);
}

static bool loader_knows_part(const struct loader *l, const char *name)
{
	const uint32_t *knows = l->memory->parts.n
					? intmap_find(&l->memory->parts, loader_part_stamp(l, name))
					: NULL;

	return knows && *knows;
}

static const char *loader_coverage(const struct loader *l)
{
	return clickhouse_tables[clickhouse_coverage_of(l->leaves)].name;
}

static uint64_t stored_key(uint32_t time_s, uint32_t part)
{
	const uint32_t key[2] = { time_s, part };

	return XXH3_64bits(key, sizeof(key));
}

/*
 * Asks which blocks of the host are stored. The answer has a row of zeros, too: a proxy may answer
 * with nothing.
 */
static int loader_find_stored(struct loader *l, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct buf sql = { 0 }, answer = { 0 };
	struct reader rows;
	bool is_whole = false;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt32(time) AS t, part FROM %s WHERE host = ", loader_coverage(l));
	sql_put_text(&sql, l->host);
	buf_str(&sql, " AND event = '' GROUP BY t, part UNION ALL SELECT toUInt32(0) AS t, "
		      "toUInt32(0) AS part FORMAT RowBinary");
	r = clickhouse_ask(ch, clickhouse_shard_of(ch, l->host), buf_cstr(&sql), &answer, err);
	rows = reader_over(answer.data, answer.len);
	while (r >= 0 && reader_left(&rows)) {
		uint32_t time_s = reader_u32(&rows), part = reader_u32(&rows);

		if (!rows.bad && !time_s && !part) {
			is_whole = true;
			continue;
		}
		intmap_put(&l->stored, stored_key(time_s, part), NULL);
		vec_push(&l->stored_s, time_s);
	}
	if (r >= 0 && (rows.bad || !is_whole))
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

/* The samples of the host's blocks that begin in this time. */
static int loader_ask_samples(const struct loader *l, uint64_t from_s, uint64_t to_s,
			      uint64_t *samples, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct buf sql = { 0 }, answer = { 0 };
	struct reader row;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt64(sum(samples)) FROM %s FINAL WHERE host = ", loader_coverage(l));
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

/* Whether a table of sums has one of the blocks. */
static int loader_has_receipts(const struct loader *l, const struct batch_list *list,
			       struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	size_t n = list->blocks.n;
	struct fleet_block *blocks = xcalloc(n, sizeof(*blocks));
	cleanup(free_at_exit) enum block_presence *has = xcalloc(n, sizeof(*has));
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct listed_block *b = &list->blocks.data[i];

		blocks[i] = (struct fleet_block){ l->host, fleet_block_part(b->part), b->bucket };
	}
	r = clickhouse_find_blocks(ch, clickhouse_shard_of(ch, l->host), blocks, n, l->leaves, has,
				   err);
	for (size_t i = 0; i < n && r >= 0; i++)
		r |= has[i] != BLOCK_IS_NOWHERE;
	free(blocks);
	return r;
}

/* Of a merged block of which `coverage` has nothing: other tables may have some of its samples. */
static int loader_judge_unfinished(struct loader *l, const char *name, uint64_t from_s,
				   uint64_t to_s, struct error *err)
{
	struct batch_list list = { 0 };
	int r = unfinished_find(l->config->fleet, l->leaves, l->host, from_s * NS_PER_SECOND,
				to_s * NS_PER_SECOND, &list, err);

	if (r >= 0 && list.blocks.n)
		r = loader_has_receipts(l, &list, err);
	if (r > 0)
		loader_leave_out(l, l->host, name,
				 "it was merged, and an insert of a part of its samples was not "
				 "finished: 'assay fleet rebuild' of the day stores all");
	batch_list_fini(&list);
	return r;
}

/*
 * Whether ClickHouse has a part of a merged block. Nothing tells the rest from this part. So only a
 * rebuild of the day stores it. 0: it has nothing of this time. 1: do not store the block.
 */
static int loader_judge_merged(struct loader *l, const char *name, uint64_t bucket,
			       struct error *err)
{
	cleanup(session_close_at_exit) struct session *session = NULL;
	uint64_t time_s = bucket / NS_PER_SECOND, length_s, to_s, there;
	struct error why = { 0 };
	int r = loader_open_block(l, l->host, name, bucket, &session, &why);

	if (r < 0) {
		loader_leave_out(l, l->host, name, why.text);
		return 1;
	}
	length_s = MAX(session->info.block_ns, l->bucket_ns) / NS_PER_SECOND;
	to_s = (time_s / length_s + 1) * length_s;
	if (!loader_has_time(l, time_s, to_s))
		return loader_judge_unfinished(l, name, time_s, to_s, err);
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

/* What is older than its table of coverage keeps would be stored again each time. */
static bool loader_keeps(const struct loader *l, uint64_t time_s)
{
	uint32_t days = clickhouse_tables[clickhouse_coverage_of(l->leaves)].keep_days;

	return time_s + (uint64_t)days * 86400 > clock_wall_ns() / NS_PER_SECOND;
}

static int loader_put_bucket(struct loader *l, const char *name, uint64_t bucket, bool is_merged,
			     struct error *err)
{
	uint64_t time_s = bucket / NS_PER_SECOND;
	struct batched_block block;
	struct error why = { 0 };
	int r;

	if (l->config->stops && l->config->stops())
		return error_set(err, -EINTR, "a signal ended the loading");
	if (!loader_keeps(l, time_s) ||
	    intmap_find(&l->stored, stored_key((uint32_t)time_s, fleet_block_part(name)))) {
		l->result->n_known++;
		return 0;
	}
	r = is_merged ? loader_judge_merged(l, name, bucket, err) : 0;
	if (r)
		return MIN(r, 0);
	if (loader_read_block(l, l->host, name, bucket, &block, &why) < 0) {
		loader_leave_out(l, l->host, name, why.text);
		return 0;
	}
	return loader_add_block(l, &block, err);
}

static int loader_put_part(struct loader *l, const char *name, bool is_merged, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", l->dir, name);
	struct block_buckets buckets = { 0 };
	struct error why = { 0 };
	int r = part_buckets(path, l->bucket_ns, &buckets, &why);

	if (r < 0) {
		loader_leave_out(l, l->host, name, why.text);
		r = 0;
	}
	/* A part that can't be read is not looked at each time. A batch that fails forgets it. */
	*intmap_put(&l->memory->parts, loader_part_stamp(l, name), NULL) = 1;
	for (size_t i = 0; i < buckets.n && r >= 0; i++)
		if (buckets.data[i].start_ns >= l->config->from_ns &&
		    buckets.data[i].start_ns < l->config->to_ns)
			r = loader_put_bucket(l, name, buckets.data[i].start_ns, is_merged, err);
	if (r < 0)
		*intmap_put(&l->memory->parts, loader_part_stamp(l, name), NULL) = 0;
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
		*intmap_put(&l->memory->parts, loader_part_stamp(l, *name), NULL) = 1;
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
	l->dir = xasprintf("%s/%s", l->fleet, host);
}

static void loader_end_host(struct loader *l)
{
	free(l->dir);
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
	cleanup(free_at_exit) char *dir = xasprintf("%s/%s", l->fleet, host);
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
	uint64_t key = loader_host_key(l, host);
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

/* If a shard fails, the hosts of the others are still loaded. */
static void loader_put_hosts(struct loader *l, const struct history_names *hosts)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct error why = { 0 };

	for (size_t i = 0; i < hosts->n && l->code != -EINTR; i++) {
		uint32_t shard = clickhouse_shard_of(ch, hosts->data[i]);
		int r = l->failed[shard] ? 0 : loader_put_changed_host(l, hosts->data[i], &why);

		if (r < 0)
			loader_fail(l, shard, r, &why);
	}
	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch); shard++)
		if (l->failed[shard] || l->code == -EINTR)
			loader_drop_batch(l, shard); /* it was not sent */
		else
			loader_store_batch(l, shard, 0, NULL);
}

/* Loads the blocks of the fleet, or those of addresses in `leaves`. */
static void loader_put_fleet(struct loader *l, const char *leaves)
{
	struct history_names hosts = { 0 };
	struct error why = { 0 };
	int r;

	loader_choose(l, leaves);
	r = fleet_hosts(l->fleet, &hosts, &why);
	if (r < 0 && !l->code) {
		l->code = r;
		l->why = why;
	}
	loader_put_hosts(l, &hosts);
	history_names_fini(&hosts);
}

/* ---- a round ---- */

static void loader_begin(struct loader *l)
{
	struct fleet_load_memory *memory = l->memory;
	uint32_t n_shards = clickhouse_n_shards(l->config->clickhouse);

	if (!memory->known) {
		memory->known = xcalloc(n_shards, sizeof(*memory->known));
		memory->n_shards = n_shards;
	}
	assert(memory->n_shards == n_shards);
	l->failed = xcalloc(n_shards, sizeof(*l->failed));
	l->batches = xcalloc(n_shards, sizeof(struct load_batch *));
	for (uint32_t i = 0; i < n_shards; i++)
		l->batches[i] = load_batch_new(l->config->fleet, l->config->clickhouse, i);
}

static void loader_fini(struct loader *l)
{
	for (uint32_t i = 0; i < clickhouse_n_shards(l->config->clickhouse); i++) {
		loader_drop_batch(l, i);
		load_batch_free(l->batches[i]);
	}
	free(l->batches);
	free(l->failed);
	intmap_fini(&l->stored);
	vec_fini(&l->stored_s);
}

int fleet_load_lock(const char *fleet, struct error *err)
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

/* Samples that ClickHouse can't read are lost there. The directory alone has the day then. */
static int loader_check_day(const struct fleet_load_config *config, const char *leaves,
			    struct error *err)
{
	const struct clickhouse_day day = { .fleet = config->fleet,
					    .place = leaves ? leaves : config->fleet,
					    .is_leaves = leaves != NULL,
					    .start_s = config->from_ns / NS_PER_SECOND };
	struct error why = { 0 };
	int r = clickhouse_check_day(config->clickhouse, &day, &why);

	if (r == -EUCLEAN && config->takes_broken) {
		cleanup(free_at_exit) char *text = xasprintf(
			"the day is made from the directory alone, as its table is broken: %s",
			why.text);

		config->warn(text);
		return 0;
	}
	if (r == -EUCLEAN)
		return error_set(err, -EBADMSG,
				 "ClickHouse can't read the day, and keeps it; 'assay fleet "
				 "rebuild' makes it from the directory: %s",
				 why.text);
	return r < 0 ? error_set(err, r, "%s", why.text) : r;
}

/* Drops the day of config->from_ns, if the directory has its samples. */
static int loader_drop_day(const struct fleet_load_config *config, const char *leaves,
			   struct error *err)
{
	uint64_t day_s = config->from_ns / NS_PER_SECOND;
	int r = loader_check_day(config, NULL, err);

	if (r >= 0 && leaves)
		r = loader_check_day(config, leaves, err);
	r = r < 0 ? r : rebuilding_add(config->fleet, day_s, err);
	r = r < 0 ? r : clickhouse_drop_day(config->clickhouse, day_s, leaves, err);
	if (r >= 0) /* without a receipt, the lines that stay do no harm */
		unfinished_remove_day(config->fleet, day_s, NULL);
	return r;
}

/*
 * Lists of these shards under other addresses: their inserts may run, too. And a day must not be
 * dropped while any insert may run: ClickHouse forgets its token with the day.
 */
static int loader_check_lists(const struct loader *l, struct error *err)
{
	const struct clickhouse *ch = l->config->clickhouse;
	uint32_t n = l->config->drops_first ? 0 : clickhouse_n_shards(ch);
	cleanup(free_at_exit) const char **known = xcalloc(n + 1, sizeof(*known));

	for (uint32_t shard = 0; shard < n; shard++)
		known[shard] = clickhouse_address(ch, shard);
	return batch_list_check_others(l->config->fleet, known, n, CLICKHOUSE_INSERT_MAX_NS, err);
}

/* Clocks of those who write indexes may differ by so much. */
#define CLOCKS_DIFFER_S 600

/*
 * Gives names to functions whose index came after their blocks. The round began at `began_s`: it
 * may not have seen an index that came since then.
 */
static void loader_name_late(struct loader *l, uint64_t began_s)
{
	const struct late_names late = { .fleet = l->config->fleet,
					 .clickhouse = l->config->clickhouse,
					 .symbols = l->config->symbols,
					 .since_s = l->memory->named_s };
	struct error why = { 0 };

	for (uint32_t shard = 0; shard < clickhouse_n_shards(late.clickhouse); shard++) {
		int64_t r = l->failed[shard] ? 0 : late_names_load(&late, shard, &why);

		if (r < 0)
			loader_fail(l, shard, (int)r, &why);
		else
			l->result->n_named += (uint64_t)r;
	}
	if (!l->code)
		l->memory->named_s = began_s - CLOCKS_DIFFER_S;
}

/* A shard of another fleet ends the round before any shard is claimed. */
static int loader_check_owners(struct loader *l, struct error *err)
{
	struct clickhouse *ch = l->config->clickhouse;
	struct error why = { 0 };

	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch); shard++)
		if (clickhouse_check_fleet(ch, shard, l->config->fleet, false, &why) == -EXDEV)
			return error_set(err, -EXDEV, "%s", why.text);
	return 0;
}

/* A replica answers about owners and receipts only if it has all rows. */
static int loader_claim(struct loader *l, uint32_t shard)
{
	struct error why = { 0 };
	int r = clickhouse_check_replica(l->config->clickhouse, shard, &why);

	if (r >= 0)
		r = clickhouse_check_fleet(l->config->clickhouse, shard, l->config->fleet, true,
					   &why);
	if (r < 0)
		loader_fail(l, shard, r, &why);
	return r;
}

/* Returns the first failure. */
static int loader_run(struct loader *l, const char *leaves, struct error *err)
{
	uint64_t began_s = clock_wall_ns() / NS_PER_SECOND;
	int r = loader_check_lists(l, err);

	r = r < 0 ? r : loader_check_owners(l, err);
	if (r < 0)
		return r;
	for (uint32_t shard = 0; shard < clickhouse_n_shards(l->config->clickhouse); shard++)
		if (loader_claim(l, shard) >= 0)
			loader_replay(l, shard, leaves);
	if (l->config->drops_first && !l->code)
		l->code = loader_drop_day(l->config, leaves, &l->why);
	if (!l->config->drops_first || l->code >= 0) {
		loader_put_fleet(l, NULL);
		if (leaves && l->code != -EINTR)
			loader_put_fleet(l, leaves);
	}
	if (l->code != -EINTR)
		loader_name_late(l, began_s);
	return l->code < 0 ? error_set(err, l->code, "%s", l->why.text) : 0;
}

/* A day that was dropped is stored again by the load of it, or of all. */
static int loader_note_whole(const struct fleet_load_config *config, struct error *err)
{
	if (config->drops_first)
		return rebuilding_remove(config->fleet, config->from_ns / NS_PER_SECOND, err);
	if (config->from_ns || config->to_ns != UINT64_MAX || !rebuilding_has_days(config->fleet))
		return 0;
	return rebuilding_remove(config->fleet, UINT64_MAX, err);
}

int fleet_load(const struct fleet_load_config *config, struct fleet_load_result *out,
	       struct error *err)
{
	cleanup(free_at_exit) char *leaves = fleet_leaves(config->fleet);
	bool remembers = config->memory && !rebuilding_has_days(config->fleet);
	struct fleet_load_memory *own = remembers ? NULL : fleet_load_memory_new();
	struct loader l = { .config = config, .result = out, .memory = own ? own : config->memory };
	cleanup(close_at_exit) int lock = -1;
	int r = fleet_require(config->fleet, err);

	*out = (struct fleet_load_result){ 0 };
	if (r >= 0)
		r = lock = fleet_load_lock(config->fleet, err);
	if (r >= 0) {
		loader_begin(&l);
		r = loader_run(&l, fleet_is_at(leaves) ? leaves : NULL, err);
		r = r < 0 ? r : loader_note_whole(config, err);
		loader_fini(&l);
	}
	fleet_load_memory_free(own);
	return r;
}
