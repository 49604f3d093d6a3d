/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session as tables: one schema (docs/sql.md) for every database.
 *
 * A database is a struct sql_ops. Through it, sql_export() makes the tables, adds the rows, and
 * then makes indexes, foreign keys and views, because all three are cheaper at the end. The caller
 * has a transaction open, or writes to a file that nobody reads yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct export;
struct sql_out;

#define SQL_SCHEMA_VERSION 2 /* 1: samples had whole seconds */

enum sql_type {
	SQL_ID,   /* the table's key: 0, 1, 2 … */
	SQL_INT,  /* 64 bits, signed; addresses above the middle are negative */
	SQL_TEXT, /* UTF-8 */
};

#define SQL_MAX_COLUMNS 20

struct sql_column {
	const char *name;
	enum sql_type type;
	const char *references; /* the table with this id; NULL: none */
	const char *help;       /* without quotes: it becomes a comment in the database */
};

struct sql_table {
	const char *name, *help;
	struct sql_column columns[SQL_MAX_COLUMNS]; /* the first one without a name ends them */
	void (*fill)(struct sql_out *out, const struct export *x);
	const char *key; /* NULL: one column; else rows come in its order, and it is the index */
};
extern const struct sql_table sql_tables[]; /* {0} ends them */

struct sql_view {
	const char *name, *help, *select;
};
extern const struct sql_view sql_views[];

struct sql_ops {
	/* Runs statements that give no rows. */
	int (*run)(struct sql_out *out, const char *sql);
	/* Rows of one table: their values in the order of its columns, and the end of each row. */
	int (*begin_rows)(struct sql_out *out, const struct sql_table *table);
	void (*put_int)(struct sql_out *out, int64_t value);
	void (*put_text)(struct sql_out *out, const char *text);
	void (*put_null)(struct sql_out *out);
	void (*end_row)(struct sql_out *out);
	int (*end_rows)(struct sql_out *out);
	const char *integer_type;
	/* Checks foreign keys, which are therefore made after the rows; keeps comments. */
	bool is_strict;
};

/* A back end's own state begins with this. */
struct sql_out {
	const struct sql_ops *ops;
	int code; /* negative errno of the first failure, with its text in *err; later rows are
		     dropped */
	struct error *err;
};

/* The profile that a format loads for it. */
#define SQL_EXPORT_REQUEST                                                               \
	.keys = { .key = { PROFILE_EVENT, PROFILE_PROCESS, PROFILE_THREAD, PROFILE_COMM, \
			   PROFILE_CPU, PROFILE_APP, PROFILE_CGROUP },                   \
		  .n = 7 },                                                              \
	.with_chains = true, .with_places = true, .with_samples = true

/* Makes and fills all tables. Returns 0 or out->code. */
int sql_export(struct sql_out *out, const struct export *x);
