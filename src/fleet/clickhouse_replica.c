/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_replica.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/plural.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"

/* Every user may ask this. system.replicas needs a right of its own. */
static const char replicated_sql[] =
	"SELECT toUInt64(count()) FROM system.tables WHERE database = currentDatabase() AND "
	"engine LIKE 'Replicated%' FORMAT RowBinary";

/*
 * The log of all replicas is in Keeper. `log_pointer` is the first entry that this replica has not
 * copied to its own queue, so it is behind up to log_max_index. Both are 0 without an entry, and
 * without Keeper, whose log nobody knows then. Merges in the queue change no rows.
 */
static const char behind_sql[] =
	"SELECT toUInt64(count()), toUInt64(sum(is_readonly OR is_session_expired)), "
	"toUInt64(sum(queue_size - merges_in_queue + "
	"if(log_max_index > 0 AND log_max_index >= log_pointer, log_max_index + 1 - log_pointer, "
	"0))) FROM system.replicas WHERE database = currentDatabase() AND "
	"(is_readonly OR is_session_expired OR queue_size > merges_in_queue OR (log_max_index > 0 "
	"AND log_max_index >= log_pointer)) "
	"FORMAT RowBinary";

/* Reads n numbers of the answer to a question. */
static int ask_numbers(struct clickhouse *ch, uint32_t shard, const char *sql, uint64_t *out,
		       size_t n, struct error *err)
{
	struct buf answer = { 0 };
	struct reader row;
	int r = clickhouse_ask(ch, shard, sql, &answer, err);

	row = reader_over(answer.data, answer.len);
	for (size_t i = 0; i < n; i++)
		out[i] = reader_u64(&row);
	if (r >= 0 && row.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(ch, shard));
	buf_fini(&answer);
	return r;
}

enum behind { BEHIND_TABLES, BEHIND_LOST, BEHIND_CHANGES, N_BEHIND };

int clickhouse_check_replica(struct clickhouse *ch, uint32_t shard, struct error *err)
{
	uint64_t n_replicated, behind[N_BEHIND] = { 0 };
	int r = ask_numbers(ch, shard, replicated_sql, &n_replicated, 1, err);

	if (r >= 0 && n_replicated)
		r = ask_numbers(ch, shard, behind_sql, behind, N_BEHIND, err);
	if (r >= 0 && behind[BEHIND_LOST])
		return error_set(err, -EAGAIN,
				 "%s: this replica has no connection to ZooKeeper or Keeper, so it "
				 "does not know which rows it lacks",
				 clickhouse_address(ch, shard));
	if (r < 0 || !behind[BEHIND_TABLES])
		return r;
	return error_set(err, -EAGAIN,
			 "%s: this replica lacks %" PRIu64
			 " change%s of other replicas, in %" PRIu64
			 " table%s: try again when it has all",
			 clickhouse_address(ch, shard), behind[BEHIND_CHANGES],
			 plural_s(behind[BEHIND_CHANGES]), behind[BEHIND_TABLES],
			 plural_s(behind[BEHIND_TABLES]));
}
