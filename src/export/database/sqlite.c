/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQLite: one file (database/sqlite_file.h), filled by prepared statements. */
#include "base/buf.h"
#include "export/database/sql.h"
#include "export/database/sqlite_file.h"
#include "export/export.h"

#define APPLICATION_ID 0x61737361 /* "assa", as in the output of file(1) */

struct sqlite_out {
	struct sql_out out; /* first: the out is also this */
	struct sqlite_file file;
	sqlite3_stmt *insert;
	int column; /* bound last */
};

static int sqlite_run(struct sql_out *out, const char *sql)
{
	return sqlite_file_run(&((struct sqlite_out *)out)->file, sql);
}

static int sqlite_begin_rows(struct sql_out *out, const struct sql_table *table)
{
	struct sqlite_out *s = (struct sqlite_out *)out;
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "INSERT INTO %s VALUES (", table->name);
	for (const struct sql_column *c = table->columns; c->name; c++)
		buf_str(&sql, c[1].name ? "?," : "?)");
	r = sqlite3_prepare_v2(s->file.db, buf_cstr(&sql), -1, &s->insert, NULL);
	buf_fini(&sql);
	s->column = 0;
	return r == SQLITE_OK ? 0 : sqlite_file_fail(&s->file, r);
}

static void sqlite_put_int(struct sql_out *out, int64_t value)
{
	struct sqlite_out *s = (struct sqlite_out *)out;

	sqlite3_bind_int64(s->insert, ++s->column, value);
}

/* Texts outlive the row. */
static void sqlite_put_text(struct sql_out *out, const char *text)
{
	struct sqlite_out *s = (struct sqlite_out *)out;

	sqlite3_bind_text(s->insert, ++s->column, text, -1, SQLITE_STATIC);
}

static void sqlite_put_null(struct sql_out *out)
{
	struct sqlite_out *s = (struct sqlite_out *)out;

	sqlite3_bind_null(s->insert, ++s->column);
}

static void sqlite_end_row(struct sql_out *out)
{
	struct sqlite_out *s = (struct sqlite_out *)out;
	int r = out->code < 0 ? SQLITE_DONE : sqlite3_step(s->insert);

	s->column = 0;
	sqlite3_reset(s->insert);
	if (r != SQLITE_DONE)
		sqlite_file_fail(&s->file, r);
}

static int sqlite_end_rows(struct sql_out *out)
{
	struct sqlite_out *s = (struct sqlite_out *)out;

	sqlite3_finalize(s->insert);
	s->insert = NULL;
	return out->code;
}

static const struct sql_ops sqlite_ops = {
	.run = sqlite_run,
	.begin_rows = sqlite_begin_rows,
	.put_int = sqlite_put_int,
	.put_text = sqlite_put_text,
	.put_null = sqlite_put_null,
	.end_row = sqlite_end_row,
	.end_rows = sqlite_end_rows,
	.integer_type = "INTEGER",
};

static int store_sqlite(const struct export *x, const char *target, struct error *err)
{
	struct sqlite_out s = { .out = { .ops = &sqlite_ops, .err = err } };
	cleanup(free_at_exit) char *versions =
		xasprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID,
			  SQL_SCHEMA_VERSION);

	s.file = (struct sqlite_file){ .code = &s.out.code, .err = err };
	if (sqlite_file_begin(&s.file, target) >= 0 && sqlite_run(&s.out, versions) >= 0)
		sql_export(&s.out, x);
	sqlite3_finalize(s.insert);
	return sqlite_file_end(&s.file);
}

const struct export_ops export_sqlite = {
	.target = EXPORT_FILE,
	.is_binary = true,
	SQL_EXPORT_REQUEST,
	.store = store_sqlite,
};
