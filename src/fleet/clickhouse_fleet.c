/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_replica.h"
#include "fleet/fleet_store.h"
#include "fleet/row_binary.h"

/* Fills `id` with the id that the tables have; "": they have none. */
static int read_owner(struct clickhouse *ch, uint32_t shard, char id[static FLEET_ID_SIZE],
		      struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	/* Two loads that began at once may both have added theirs. The smaller one counts. */
	int r = clickhouse_ask(ch, shard,
			       "SELECT shard, shards FROM schema_version WHERE version = 0 ORDER "
			       "BY shard, shards LIMIT 1 FORMAT RowBinary",
			       &answer, err);

	rows = reader_over(answer.data, answer.len);
	*id = '\0';
	if (r >= 0 && reader_left(&rows)) {
		uint32_t first = reader_u32(&rows), last = reader_u32(&rows);

		snprintf(id, FLEET_ID_SIZE, "%08" PRIx32 "%08" PRIx32, first, last);
		if (rows.bad)
			r = error_set(err, -EPROTO, "the answer of %s is not whole",
				      clickhouse_address(ch, shard));
	}
	buf_fini(&answer);
	return r;
}

static int add_owner(struct clickhouse *ch, uint32_t shard, const char *id, struct error *err)
{
	uint64_t n = strtoull(id, NULL, 16);
	cleanup(free_at_exit) char *sql =
		xasprintf("INSERT INTO schema_version VALUES (0, %" PRIu32 ", %" PRIu32 ")",
			  (uint32_t)(n >> 32), (uint32_t)n);

	return clickhouse_ask(ch, shard, sql, NULL, err);
}

/*
 * Tables of an older assay may have rows and no id. If the directory knows none of their hosts,
 * they are of another fleet.
 */
static int check_hosts(struct clickhouse *ch, uint32_t shard, const char *fleet, struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	bool is_known = false;
	size_t n = 0;
	int r = clickhouse_ask(ch, shard, "SELECT DISTINCT host FROM coverage FORMAT RowBinary",
			       &answer, err);

	rows = reader_over(answer.data, answer.len);
	for (; r >= 0 && reader_left(&rows) && !is_known; n++) {
		size_t length;
		const char *name = row_binary_text(&rows, &length);
		cleanup(free_at_exit) char *host = xstrndup(name ? name : "", name ? length : 0);

		is_known = fleet_has_host(fleet, host) || fleet_log_has(fleet, "forget", host);
	}
	buf_fini(&answer);
	if (r < 0 || is_known || !n)
		return r;
	return error_set(err, -EXDEV,
			 "%s has rows of %zu host%s, and %s knows %s: name another "
			 "database",
			 clickhouse_address(ch, shard), n, plural_s(n), fleet,
			 plural(n, "no such host", "none of them"));
}

int clickhouse_check_fleet(struct clickhouse *ch, uint32_t shard, const char *fleet, bool claims,
			   struct error *err)
{
	char own[FLEET_ID_SIZE], owner[FLEET_ID_SIZE];
	int r = fleet_id_text(fleet, own, err);

	r = r < 0 ? r : read_owner(ch, shard, owner, err);
	if (r >= 0 && !*owner && claims) {
		r = check_hosts(ch, shard, fleet, err);
		r = r < 0 ? r : add_owner(ch, shard, own, err);
		r = r < 0 ? r : read_owner(ch, shard, owner, err);
	}
	if (r < 0 || !*owner || !strcmp(own, owner))
		return MIN(r, 0);
	return error_set(err, -EXDEV,
			 "%s has the fleet %s, and %s is the fleet %s: name another database (if "
			 "%s lost its file .id, write the first of these ids into it)",
			 clickhouse_address(ch, shard), owner, fleet, own, fleet);
}

int clickhouse_check_fleets(struct clickhouse *ch, const char *fleet, struct error *err)
{
	int r = 0;

	for (uint32_t shard = 0; shard < clickhouse_n_shards(ch) && r >= 0; shard++) {
		r = clickhouse_check_fleet(ch, shard, fleet, false, err);
		r = r < 0 ? r : clickhouse_check_replica(ch, shard, err);
	}
	return r;
}
