/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/database/sql.h"

#include <stdio.h>

#include "base/buf.h"
#include "export/export.h"

static int sql_run(struct sql_out *out, struct buf *sql)
{
	const char *text = buf_cstr(sql);

	sql->len = 0;
	return out->code < 0 ? out->code : out->ops->run(out, text);
}

static int sql_make_table(struct sql_out *out, const struct sql_table *t, struct buf *sql)
{
	bool has_inner_key = t->key && !out->ops->is_strict;

	buf_printf(sql, "CREATE TABLE %s ( -- %s\n", t->name, t->help);
	for (const struct sql_column *c = t->columns; c->name; c++) {
		buf_printf(sql, "  %s %s%s", c->name,
			   c->type == SQL_TEXT ? "TEXT" : out->ops->integer_type,
			   c->type == SQL_ID ? " PRIMARY KEY" : "");
		/* a database that checks foreign keys does so faster after all rows */
		if (c->references && !out->ops->is_strict)
			buf_printf(sql, " REFERENCES %s (id)", c->references);
		buf_printf(sql, "%s -- %s\n", c[1].name || has_inner_key ? "," : "", c->help);
	}
	if (has_inner_key)
		buf_printf(sql, "  PRIMARY KEY (%s)\n", t->key);
	buf_str(sql, has_inner_key ? ") WITHOUT ROWID" : ")");
	return sql_run(out, sql);
}

static int fill_table(struct sql_out *out, const struct export *x, const struct sql_table *t)
{
	int r = out->code < 0 ? out->code : out->ops->begin_rows(out, t);

	if (r < 0)
		return r;
	t->fill(out, x);
	return out->code < 0 ? out->code : out->ops->end_rows(out);
}

static void comment_on_columns(const struct sql_table *t, struct buf *sql)
{
	buf_printf(sql, "COMMENT ON TABLE %s IS '%s';\n", t->name, t->help);
	for (const struct sql_column *c = t->columns; c->name; c++)
		buf_printf(sql, "COMMENT ON COLUMN %s.%s IS '%s';\n", t->name, c->name, c->help);
}

/* Indexes on references to other tables; keys and comments that the table's text does not have. */
static int finish_table(struct sql_out *out, const struct sql_table *t, struct buf *sql)
{
	for (const struct sql_column *c = t->columns; c->name; c++) {
		if (!c->references)
			continue;
		if (!t->key)
			buf_printf(sql, "CREATE INDEX %s_by_%s ON %s (%s);\n", t->name, c->name,
				   t->name, c->name);
		if (out->ops->is_strict)
			buf_printf(sql, "ALTER TABLE %s ADD FOREIGN KEY (%s) REFERENCES %s (id);\n",
				   t->name, c->name, c->references);
	}
	if (out->ops->is_strict && t->key)
		buf_printf(sql, "ALTER TABLE %s ADD PRIMARY KEY (%s);\n", t->name, t->key);
	if (out->ops->is_strict)
		comment_on_columns(t, sql);
	return sql_run(out, sql);
}

static int make_view(struct sql_out *out, const struct sql_view *v, struct buf *sql)
{
	buf_printf(sql, "CREATE VIEW %s AS -- %s\n%s;\n", v->name, v->help, v->select);
	if (out->ops->is_strict)
		buf_printf(sql, "COMMENT ON VIEW %s IS '%s';\n", v->name, v->help);
	return sql_run(out, sql);
}

int sql_export(struct sql_out *out, const struct export *x)
{
	struct buf sql = { 0 };

	for (const struct sql_table *t = sql_tables; t->name && out->code >= 0; t++)
		sql_make_table(out, t, &sql);
	for (const struct sql_table *t = sql_tables; t->name && out->code >= 0; t++)
		fill_table(out, x, t);
	for (const struct sql_table *t = sql_tables; t->name && out->code >= 0; t++)
		finish_table(out, t, &sql);
	for (const struct sql_view *v = sql_views; v->name && out->code >= 0; v++)
		make_view(out, v, &sql);
	buf_fini(&sql);
	return out->code;
}
