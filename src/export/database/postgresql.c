/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PostgreSQL: COPY to a server, in one transaction that leaves all or nothing. */
#include <errno.h>
#include <libpq-fe.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/lazy_library.h"
#include "base/mem.h"
#include "config.h"
#include "export/database/sql.h"
#include "export/export.h"

#define FUNCTIONS(X)          \
	X(PQclear)            \
	X(PQconnectdbParams)  \
	X(PQdb)               \
	X(PQerrorMessage)     \
	X(PQescapeIdentifier) \
	X(PQexec)             \
	X(PQexecParams)       \
	X(PQfinish)           \
	X(PQfreemem)          \
	X(PQgetResult)        \
	X(PQgetvalue)         \
	X(PQntuples)          \
	X(PQputCopyData)      \
	X(PQputCopyEnd)       \
	X(PQresultStatus)     \
	X(PQstatus)

static struct {
	FUNCTIONS(LAZY_POINTER)
} pq;

static int load_library(struct error *err)
{
#define ROW(function) { #function, &pq.function },
	static const struct lazy_function functions[] = { FUNCTIONS(ROW) };
#undef ROW

	return lazy_library_load(LIBPQ_SONAMES, functions, ARRAY_SIZE(functions), err);
}

#define COPY_BYTES (256 << 10) /* sent at once */

struct postgresql_out {
	struct sql_out out; /* first: the out is also this */
	PGconn *db;
	const char *doing;
	struct buf rows;
	bool is_first; /* column of the row */
};

/* The server's message in one line, without hints that only psql can follow. */
static int postgresql_fail(struct postgresql_out *p, int code, const char *message)
{
	struct buf line = { 0 };

	if (p->out.code < 0)
		return p->out.code;
	p->out.code = code;
	for (const char *at = message; *at; at++) {
		if (*at != '\n')
			buf_u8(&line, *at == '\t' ? ' ' : (uint8_t)*at);
		else if (at[1])
			buf_str(&line, "; ");
	}
	error_set(p->out.err, code, "PostgreSQL: %s%s%s", p->doing, *p->doing ? ": " : "",
		  buf_cstr(&line));
	buf_fini(&line);
	return code;
}

static int postgresql_check(struct postgresql_out *p, PGresult *result, ExecStatusType want)
{
	int r = 0;

	if (pq.PQresultStatus(result) != want &&
	    (want != PGRES_COMMAND_OK || pq.PQresultStatus(result) != PGRES_EMPTY_QUERY))
		r = postgresql_fail(p, -EIO, pq.PQerrorMessage(p->db));
	pq.PQclear(result);
	return r;
}

static int postgresql_run(struct sql_out *out, const char *sql)
{
	struct postgresql_out *p = (struct postgresql_out *)out;

	return postgresql_check(p, pq.PQexec(p->db, sql), PGRES_COMMAND_OK);
}

static int postgresql_begin_rows(struct sql_out *out, const struct sql_table *table)
{
	struct postgresql_out *p = (struct postgresql_out *)out;
	cleanup(free_at_exit) char *sql = xasprintf("COPY %s FROM STDIN", table->name);

	p->rows.len = 0;
	p->is_first = true;
	return postgresql_check(p, pq.PQexec(p->db, sql), PGRES_COPY_IN);
}

static void send_rows(struct postgresql_out *p)
{
	if (p->out.code >= 0 && p->rows.len &&
	    pq.PQputCopyData(p->db, (const char *)p->rows.data, (int)p->rows.len) != 1)
		postgresql_fail(p, -EIO, pq.PQerrorMessage(p->db));
	p->rows.len = 0;
}

static void next_column(struct postgresql_out *p)
{
	if (!p->is_first)
		buf_u8(&p->rows, '\t');
	p->is_first = false;
}

/* Digits from the right: printf would take half of the export's time. */
static void postgresql_put_int(struct sql_out *out, int64_t value)
{
	struct postgresql_out *p = (struct postgresql_out *)out;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		digits[--at] = '-';
	next_column(p);
	buf_bytes(&p->rows, digits + at, sizeof(digits) - at);
}

/* COPY's text format has a backslash before special characters. */
static void postgresql_put_text(struct sql_out *out, const char *text)
{
	static const char special[] = "\\\n\r\t", letters[] = "\\nrt";
	struct postgresql_out *p = (struct postgresql_out *)out;

	next_column(p);
	for (;;) {
		size_t plain = strcspn(text, special);

		buf_bytes(&p->rows, text, plain);
		text += plain;
		if (!*text)
			return;
		buf_u8(&p->rows, '\\');
		buf_u8(&p->rows, (uint8_t)letters[strchr(special, *text++) - special]);
	}
}

static void postgresql_put_null(struct sql_out *out)
{
	struct postgresql_out *p = (struct postgresql_out *)out;

	next_column(p);
	buf_str(&p->rows, "\\N");
}

static void postgresql_end_row(struct sql_out *out)
{
	struct postgresql_out *p = (struct postgresql_out *)out;

	buf_u8(&p->rows, '\n');
	p->is_first = true;
	if (p->rows.len >= COPY_BYTES)
		send_rows(p);
}

static int postgresql_end_rows(struct sql_out *out)
{
	struct postgresql_out *p = (struct postgresql_out *)out;
	PGresult *result;
	int r;

	send_rows(p);
	if (out->code >= 0 && pq.PQputCopyEnd(p->db, NULL) != 1)
		postgresql_fail(p, -EIO, pq.PQerrorMessage(p->db));
	if (out->code < 0)
		return out->code;
	r = postgresql_check(p, pq.PQgetResult(p->db), PGRES_COMMAND_OK);
	while ((result = pq.PQgetResult(p->db)))
		pq.PQclear(result);
	return r;
}

static const struct sql_ops postgresql_ops = {
	.run = postgresql_run,
	.begin_rows = postgresql_begin_rows,
	.put_int = postgresql_put_int,
	.put_text = postgresql_put_text,
	.put_null = postgresql_put_null,
	.end_row = postgresql_end_row,
	.end_rows = postgresql_end_rows,
	.integer_type = "BIGINT",
	.is_strict = true,
};

/* Values that the target lacks come from the environment (PGHOST …), as in psql; we set a few. */
static int postgresql_connect_to(struct postgresql_out *p, const char *target)
{
	static const char *const keys[] = { "connect_timeout", "application_name", "dbname",
					    "client_encoding", NULL };
	const char *const values[] = { "10", "assay", target, "UTF8", NULL };

	p->doing = "";
	p->db = pq.PQconnectdbParams(keys, values, 1);
	if (pq.PQstatus(p->db) == CONNECTION_OK)
		return 0;
	return postgresql_fail(p, -ECONNREFUSED, pq.PQerrorMessage(p->db));
}

/* An existing name that collides with ours, or NULL. Other tables and views stay. */
static char *find_in_the_way(struct postgresql_out *p, const char *schema)
{
	const char *const values[] = { schema };
	PGresult *result = pq.PQexecParams(p->db,
					   "SELECT relname FROM pg_class c JOIN pg_namespace n "
					   "ON n.oid = c.relnamespace WHERE n.nspname = $1 AND "
					   "relkind IN ('r', 'v', 'm', 'p', 'f') ORDER BY 1",
					   1, NULL, values, NULL, NULL, 0);
	char *found = NULL;

	for (int i = 0; i < pq.PQntuples(result) && !found; i++) {
		const char *name = pq.PQgetvalue(result, i, 0);

		for (const struct sql_table *t = sql_tables; t->name && !found; t++)
			found = strcmp(t->name, name) ? NULL : xstrdup(name);
		for (const struct sql_view *v = sql_views; v->name && !found; v++)
			found = strcmp(v->name, name) ? NULL : xstrdup(name);
	}
	postgresql_check(p, result, PGRES_TUPLES_OK);
	return found;
}

static int drop_our_tables(struct postgresql_out *p)
{
	struct buf sql = { 0 };
	size_t n = 0;
	int r;

	/* backwards: a view may use an earlier one */
	while (sql_views[n].name)
		n++;
	while (n-- > 0)
		buf_printf(&sql, "DROP VIEW IF EXISTS %s;\n", sql_views[n].name);
	buf_str(&sql, "DROP TABLE IF EXISTS ");
	for (const struct sql_table *t = sql_tables; t->name; t++)
		buf_printf(&sql, "%s%s", t == sql_tables ? "" : ", ", t->name);
	p->doing = "replacing the tables";
	r = postgresql_run(&p->out, buf_cstr(&sql));
	buf_fini(&sql);
	return r;
}

/* Makes room for our tables in the schema, and looks up names in it. */
static int postgresql_make_room(struct postgresql_out *p, const struct export_options *options)
{
	const char *schema = options->schema;
	char *quoted = pq.PQescapeIdentifier(p->db, schema, strlen(schema));
	cleanup(free_at_exit) char *in_the_way = NULL, *sql = NULL;

	if (!quoted)
		return postgresql_fail(p, -EINVAL, pq.PQerrorMessage(p->db));
	sql = xasprintf("SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS %s; "
			"SET LOCAL search_path = %s",
			quoted, quoted);
	pq.PQfreemem(quoted);
	p->doing = "making the schema";
	if (postgresql_run(&p->out, sql) < 0)
		return p->out.code;
	in_the_way = find_in_the_way(p, schema);
	if (in_the_way && !options->replace) {
		p->out.code = -EEXIST;
		return error_set(
			p->out.err, -EEXIST,
			"PostgreSQL: database '%s' has '%s.%s' already; --replace replaces an "
			"earlier export, and --schema NAME chooses another schema",
			pq.PQdb(p->db), schema, in_the_way);
	}
	return in_the_way ? drop_our_tables(p) : p->out.code;
}

static void postgresql_write_all(struct postgresql_out *p, const struct export *x,
				 const char *target)
{
	if (postgresql_connect_to(p, target) < 0)
		return;
	p->doing = "beginning";
	if (postgresql_run(&p->out, "BEGIN") < 0 || postgresql_make_room(p, x->options) < 0)
		return;
	p->doing = "writing";
	if (sql_export(&p->out, x) < 0)
		return;
	p->doing = "the end of the transaction";
	postgresql_run(&p->out, "COMMIT");
}

/* Closing the connection rolls back uncommitted rows. */
static int store_postgresql(const struct export *x, const char *target, struct error *err)
{
	struct postgresql_out p = { .out = { .ops = &postgresql_ops, .err = err } };
	int r = load_library(err);

	if (r < 0)
		return error_wrap(err, r, "PostgreSQL");
	postgresql_write_all(&p, x, target);
	pq.PQfinish(p.db);
	buf_fini(&p.rows);
	return p.out.code;
}

const struct export_ops export_postgresql = {
	.target = EXPORT_PLACE,
	SQL_EXPORT_REQUEST,
	.store = store_postgresql,
};
