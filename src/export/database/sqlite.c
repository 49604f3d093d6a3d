/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQLite: one file, filled by prepared statements. It needs no journal: nobody reads it before it
 * is renamed, and a partial file is removed.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "export/database/sql.h"
#include "export/export.h"

#define APPLICATION_ID 0x61737361 /* "assa", as in the output of file(1) */

struct sqlite_out {
	struct sql_out out; /* first: the out is also this */
	sqlite3 *db;
	sqlite3_stmt *insert;
	int column; /* bound last */
};

/* Reports the first failure. A full disk ends a transaction; its report is the full disk. */
static int sqlite_fail(struct sqlite_out *s, int r)
{
	int code = (r & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;

	if (s->out.code < 0)
		return s->out.code;
	if ((r & 0xff) == SQLITE_IOERR && s->db && sqlite3_system_errno(s->db))
		code = -sqlite3_system_errno(s->db);
	else if (r == SQLITE_NOMEM)
		code = -ENOMEM;
	else if (r == SQLITE_NOMEM)
		code = -ENOMEM;
	s->out.code = code;
	if (code == -EIO)
		return error_set(s->out.err, code, "SQLite: %s",
				 s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(r));
	return error_set(s->out.err, code, "%s", strerror(-code));
}

static int sqlite_run(struct sql_out *out, const char *sql)
{
	struct sqlite_out *s = (struct sqlite_out *)out;
	int r = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : sqlite_fail(s, r);
}

static int sqlite_begin_rows(struct sql_out *out, const struct sql_table *table)
{
	struct sqlite_out *s = (struct sqlite_out *)out;
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "INSERT INTO %s VALUES (", table->name);
	for (const struct sql_column *c = table->columns; c->name; c++)
		buf_str(&sql, c[1].name ? "?," : "?)");
	r = sqlite3_prepare_v2(s->db, buf_cstr(&sql), -1, &s->insert, NULL);
	buf_fini(&sql);
	s->column = 0;
	return r == SQLITE_OK ? 0 : sqlite_fail(s, r);
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
		sqlite_fail(s, r);
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

static void sqlite_write_all(struct sqlite_out *s, const struct export *x)
{
	cleanup(free_at_exit) char *versions =
		xasprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID,
			  SQL_SCHEMA_VERSION);

	if (sqlite_run(&s->out,
		       "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;"
		       "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; BEGIN") < 0 ||
	    sqlite_run(&s->out, versions) < 0 || sql_export(&s->out, x) < 0)
		return;
	sqlite_run(&s->out, "COMMIT");
}

static int store_sqlite(const struct export *x, const char *target, struct error *err)
{
	struct sqlite_out s = { .out = { .ops = &sqlite_ops, .err = err } };
	int r = sqlite3_open_v2(target, &s.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (r == SQLITE_OK)
		sqlite_write_all(&s, x);
	else
		sqlite_fail(&s, (r & 0xff) == SQLITE_CANTOPEN && sqlite3_system_errno(s.db)
					? SQLITE_IOERR
					: r);
	sqlite3_finalize(s.insert);
	sqlite3_close(s.db);
	return s.out.code;
}

const struct export_ops export_sqlite = {
	.target = EXPORT_FILE,
	.is_binary = true,
	SQL_EXPORT_REQUEST,
	.store = store_sqlite,
};
