/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet init: the tables of ClickHouse. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/reader.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_schema.h"

static struct clickhouse_layout layout_of(const struct fleet_args *args, enum clickhouse_dialect d,
					  uint32_t shard, uint32_t n_shards)
{
	return (struct clickhouse_layout){ d, args->replicated, shard, n_shards };
}

static int each_later_column(const struct clickhouse_layout *layout,
			     int (*visit)(void *context, const char *sql, struct error *err),
			     void *context, struct error *err)
{
	struct buf question = { 0 }, statement = { 0 };
	int r = 0;

	for (size_t i = 0;
	     r >= 0 && clickhouse_print_later_column(layout, i, &question, &statement); i++) {
		r = visit(context, buf_cstr(&statement), err);
		statement.len = 0;
	}
	buf_fini(&question);
	buf_fini(&statement);
	return r;
}

/*
 * Visits the statements that make a shard's tables, until one fails. With `with_upgrade`, they add
 * the columns that tables of an older version lack. 18.16 has no such statement that can be given
 * again: there, add_later_columns() asks first.
 */
static int each_statement(const struct clickhouse_layout *layout, bool with_upgrade,
			  int (*visit)(void *context, const char *sql, struct error *err),
			  void *context, struct error *err)
{
	struct buf sql = { 0 };
	int r = 0;

	for (int t = 0; t < N_CLICKHOUSE_TABLES && r >= 0; t++) {
		sql.len = 0;
		clickhouse_print_table(layout, (enum clickhouse_table)t, &sql);
		r = visit(context, buf_cstr(&sql), err);
	}
	if (r >= 0 && with_upgrade && layout->dialect == CLICKHOUSE_TODAY)
		r = each_later_column(layout, visit, context, err);
	sql.len = 0;
	clickhouse_print_version_table(layout, &sql);
	r = r < 0 ? r : visit(context, buf_cstr(&sql), err);
	sql.len = 0;
	clickhouse_print_version_row(layout, &sql);
	r = r < 0 ? r : visit(context, buf_cstr(&sql), err);
	buf_fini(&sql);
	return r;
}

static int put_statement(void *context, const char *sql, struct error *err)
{
	(void)err;
	buf_printf(context, "%s;\n\n", sql);
	return 0;
}

struct init_shard {
	struct clickhouse *ch;
	uint32_t shard;
};

static int run_statement(void *context, const char *sql, struct error *err)
{
	const struct init_shard *s = context;

	return clickhouse_ask(s->ch, s->shard, sql, NULL, err);
}

/* Adds a column to the tables of an older version. Rows that are there have it empty. */
static int add_column(struct clickhouse *ch, uint32_t shard, const char *question,
		      const char *statement, struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	uint64_t n;
	int r = clickhouse_ask(ch, shard, question, &answer, err);

	rows = reader_over(answer.data, answer.len);
	n = reader_u64(&rows);
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(ch, shard));
	buf_fini(&answer);
	return r < 0 || n ? r : clickhouse_ask(ch, shard, statement, NULL, err);
}

static int add_later_columns(const struct clickhouse_layout *layout, struct clickhouse *ch,
			     uint32_t shard, struct error *err)
{
	struct buf question = { 0 }, statement = { 0 };
	int r = 0;

	for (size_t i = 0;
	     r >= 0 && clickhouse_print_later_column(layout, i, &question, &statement); i++) {
		r = add_column(ch, shard, buf_cstr(&question), buf_cstr(&statement), err);
		question.len = statement.len = 0;
	}
	buf_fini(&question);
	buf_fini(&statement);
	return r;
}

/*
 * Tables that are missing would be of another kind than those that are there: the copies of a shard
 * would differ.
 */
static int check_kind(const struct fleet_args *args, struct clickhouse *ch, uint32_t shard,
		      struct error *err)
{
	static const char sql[] =
		"SELECT toUInt64(count()), toUInt64(sum(engine LIKE 'Replicated%')) "
		"FROM system.tables WHERE database = currentDatabase() AND name IN "
		"('coverage', 'stacks', 'schema_version') FORMAT RowBinary";
	struct buf answer = { 0 };
	struct reader rows;
	uint64_t n, n_replicated;
	int r = clickhouse_ask(ch, shard, sql, &answer, err);

	rows = reader_over(answer.data, answer.len);
	n = reader_u64(&rows);
	n_replicated = reader_u64(&rows);
	if (r >= 0 && rows.bad)
		r = error_set(err, -EPROTO, "the answer of %s is not whole",
			      clickhouse_address(ch, shard));
	if (r >= 0 && n_replicated && !args->replicated)
		r = error_set(err, -EINVAL,
			      "%s: its tables are replicated; add --replicated PATH, with the path "
			      "as before",
			      clickhouse_address(ch, shard));
	if (r >= 0 && n > n_replicated && args->replicated)
		r = error_set(err, -EINVAL,
			      "%s: it has tables that are not replicated; leave out --replicated, "
			      "or name an empty database",
			      clickhouse_address(ch, shard));
	buf_fini(&answer);
	return r;
}

static int init_shards(const struct fleet_args *args, struct clickhouse *ch, struct error *err)
{
	uint32_t n = clickhouse_n_shards(ch);
	cleanup(free_at_exit) bool *was_there = xcalloc(n, sizeof(*was_there));
	int r = 0;

	for (uint32_t shard = 0; shard < n && r >= 0; shard++)
		if (*clickhouse_trouble(ch, shard))
			r = error_set(err, -EHOSTUNREACH, "%s", clickhouse_trouble(ch, shard));
	/* With another order, the blocks of a host would be in two places. */
	for (uint32_t shard = 0; shard < n && r >= 0; shard++) {
		r = clickhouse_check_place(ch, shard, err);
		was_there[shard] = r >= 0 || r == -ESTALE;
		r = r == -ENODATA || r == -ESTALE ? 0 : r; /* tables are made that are missing */
		r = r < 0 ? r : check_kind(args, ch, shard, err);
	}
	for (uint32_t shard = 0; shard < n && r >= 0; shard++) {
		const struct clickhouse_layout layout =
			layout_of(args, clickhouse_dialect(ch, shard), shard, n);

		/* The version comes last, so an upgrade that fails half-way is made again. */
		if (was_there[shard])
			r = add_later_columns(&layout, ch, shard, err);
		if (r >= 0)
			r = each_statement(&layout, false, run_statement,
					   &(struct init_shard){ ch, shard }, err);
		if (r >= 0)
			log_info("%s: the tables are there (ClickHouse %s, shard %" PRIu32
				 " of %" PRIu32 ")",
				 clickhouse_address(ch, shard), clickhouse_version(ch, shard),
				 shard + 1, n);
	}
	return r;
}

/* Without servers, the SQL of today's dialect. */
static int print_shards(const struct fleet_args *args, const struct clickhouse *ch,
			struct error *err)
{
	uint32_t n = ch ? clickhouse_n_shards(ch) : 1;
	struct buf out = { 0 };
	int r = 0;

	for (uint32_t shard = 0; shard < n && r >= 0; shard++) {
		const struct clickhouse_layout layout =
			layout_of(args, ch ? clickhouse_dialect(ch, shard) : CLICKHOUSE_TODAY,
				  shard, n);

		buf_printf(&out, "-- shard %" PRIu32 " of %" PRIu32 ": %s\n", shard + 1, n,
			   ch ? clickhouse_address(ch, shard) : "ClickHouse 23 or newer");
		r = each_statement(&layout, true, put_statement, &out, err);
	}
	r = r < 0 ? r : output_whole("-", out.data, out.len, err);
	buf_fini(&out);
	return r;
}

int fleet_init_run(const struct fleet_args *args, const struct option_list *operands,
		   struct error *err)
{
	const struct clickhouse_options options = { .urls = args->clickhouse,
						    .login = args->login,
						    .is_new = true };
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	int r = 0;

	if (operands->n)
		return error_set(err, -EINVAL, "init takes no '%s': write --clickhouse URL,…",
				 operands->data[0]);
	if (!args->clickhouse && (!args->print || args->users))
		return error_set(err, -EINVAL, "--clickhouse URL,… is missing");
	if (args->clickhouse)
		r = clickhouse_open(&options, &ch, err);
	if (r >= 0 && args->users)
		r = fleet_write_users(args->users, ch, err);
	else if (r >= 0)
		r = args->print ? print_shards(args, ch, err) : init_shards(args, ch, err);
	return r < 0 ? r : EXIT_OK;
}
