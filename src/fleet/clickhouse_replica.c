/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_replica.h"

#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reader.h"
#include "fleet/clickhouse.h"

/* Every user may ask this. system.replicas needs a right of its own. */
static const char replicated_sql[] =
	"SELECT toUInt64(count()) FROM system.tables WHERE database = currentDatabase() AND "
	"engine LIKE 'Replicated%' FORMAT RowBinary";

/*
 * The log of all replicas is in Keeper. `log_pointer` is the first entry that this replica has not
 * copied to its own queue, so it is behind up to log_max_index. Both are 0 without an entry. Merges
 * in the queue change no rows.
 */
static const char behind_sql[] =
	"SELECT toUInt64(count()), toUInt64(sum(queue_size - merges_in_queue + "
	"if(log_max_index > 0 AND log_max_index >= log_pointer, log_max_index + 1 - log_pointer, "
	"0))) FROM system.replicas WHERE database = currentDatabase() AND "
	"(queue_size > merges_in_queue OR (log_max_index > 0 AND log_max_index >= log_pointer)) "
	"FORMAT RowBinary";

/* Reads one or two numbers of the answer to a question. */
static int ask_numbers(struct clickhouse *ch, uint32_t shard, const char *sql, uint64_t *first,
		       uint64_t *second, struct error *err)
{
	struct buf answer = { 0 };
	struct reader row;
	int r = clickhouse_ask(ch, shard, sql, &answer, err);

	row = reader_over(answer.data, answer.len);
	*first = reader_u64(&row);
	if (second)
		*second = reader_u64(&row);
	if (r >= 0 && row.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(ch, shard));
	buf_fini(&answer);
	return r;
}

int clickhouse_check_replica(struct clickhouse *ch, uint32_t shard, struct error *err)
{
	uint64_t n_replicated, n_tables = 0, n_changes = 0;
	int r = ask_numbers(ch, shard, replicated_sql, &n_replicated, NULL, err);

	if (r >= 0 && n_replicated)
		r = ask_numbers(ch, shard, behind_sql, &n_tables, &n_changes, err);
	if (r < 0 || !n_tables)
		return r;
	return error_set(err, -EAGAIN,
			 "%s: this replica lacks %" PRIu64 " changes of other replicas, in %" PRIu64
			 " tables: try again when it has them",
			 clickhouse_address(ch, shard), n_changes, n_tables);
}
