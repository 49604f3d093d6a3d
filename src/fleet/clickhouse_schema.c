/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define FIRST_MODERN 23 /* the major version from which on the dialect of today is right */

/* Blocks whose deduplication tokens a plain table remembers. */
#define TOKEN_WINDOW 1000

const struct clickhouse_table_info clickhouse_tables[N_CLICKHOUSE_TABLES] = {
#define X(id, name, kind, keep, receipt) { name, keep, receipt },
	CLICKHOUSE_TABLES(X)
#undef X
};

/* ---- types of columns ---- */

/* X(id, today, 18.16) */
#define COLUMN_TYPES(X)                                                                \
	X(WORD, "LowCardinality(String) CODEC(ZSTD(1))", "String") /* of few values */ \
	X(TEXT, "String CODEC(ZSTD(1))", "String")                                     \
	X(TEXTS, "Array(String) CODEC(ZSTD(1))", "Array(String)")                      \
	X(TIME, "DateTime('UTC') CODEC(Delta, ZSTD(1))", "DateTime('UTC')")            \
	X(HASH, "UInt64 CODEC(ZSTD(1))", "UInt64")                                     \
	X(PLACE, "UInt64 CODEC(Delta, ZSTD(1))", "UInt64") /* sorted */                \
	X(HASHES, "Array(UInt64) CODEC(ZSTD(1))", "Array(UInt64)")                     \
	X(SUM, "UInt64 CODEC(T64, ZSTD(1))", "UInt64")                                 \
	X(NUMBER, "UInt32 CODEC(ZSTD(1))", "UInt32")                                   \
	X(BYTE, "UInt8 CODEC(ZSTD(1))", "UInt8")

enum column_type {
#define X(id, today, old) COLUMN_##id,
	COLUMN_TYPES(X)
#undef X
};

static const char *const column_types[][2] = {
#define X(id, today, old) { [CLICKHOUSE_TODAY] = today, [CLICKHOUSE_18] = old },
	COLUMN_TYPES(X)
#undef X
};

struct column {
	const char *name; /* NULL ends the list */
	enum column_type type;
};

#define COLUMNS_MAX 12

#define FUNC_COLUMNS                                                                               \
	{                                                                                          \
		{ "service", COLUMN_WORD }, { "event", COLUMN_WORD }, { "func", COLUMN_HASH },     \
			{ "build", COLUMN_WORD }, { "time", COLUMN_TIME }, { "self", COLUMN_SUM }, \
		{                                                                                  \
			"incl", COLUMN_SUM                                                         \
		}                                                                                  \
	}
#define STACK_COLUMNS                                                                           \
	{                                                                                       \
		{ "service", COLUMN_WORD }, { "event", COLUMN_WORD }, { "stack", COLUMN_HASH }, \
			{ "time", COLUMN_TIME },                                                \
		{                                                                               \
			"samples", COLUMN_SUM                                                   \
		}                                                                               \
	}

#define COVERAGE_COLUMNS                                                                    \
	{                                                                                   \
		{ "host", COLUMN_WORD }, { "event", COLUMN_WORD }, { "time", COLUMN_TIME }, \
			{ "part", COLUMN_NUMBER }, { "samples", COLUMN_SUM },               \
			{ "period", COLUMN_SUM }, { "lost", COLUMN_SUM },                   \
			{ "rows", COLUMN_NUMBER },                                          \
		{                                                                           \
			"received", COLUMN_TIME                                             \
		}                                                                           \
	}

/* Stacks come before hosts and times: equal values then follow each other, and compress. */
static const struct {
	const char *order;
	struct column columns[COLUMNS_MAX];
} table_columns[N_CLICKHOUSE_TABLES] = {
	[CLICKHOUSE_STACKS] = { "service, stack",
				{ { "service", COLUMN_WORD },
				  { "stack", COLUMN_HASH },
				  { "frames", COLUMN_HASHES },
				  { "builds", COLUMN_TEXTS }, /* of the frames */
				  { "seen", COLUMN_TIME } } },
	[CLICKHOUSE_FUNCTIONS] = { "func",
				   { { "func", COLUMN_HASH },
				     { "name", COLUMN_TEXT },
				     { "image", COLUMN_WORD },
				     { "build", COLUMN_WORD },
				     { "start", COLUMN_HASH },
				     { "kind", COLUMN_BYTE },
				     { "language", COLUMN_BYTE },
				     { "seen", COLUMN_TIME } } },
	[CLICKHOUSE_IMAGES] = { "build, path",
				{ { "build", COLUMN_TEXT },
				  { "path", COLUMN_TEXT },
				  { "kind", COLUMN_BYTE },
				  { "seen", COLUMN_TIME } } },
	[CLICKHOUSE_HOSTS] = { "host",
			       { { "host", COLUMN_TEXT },
				 { "label_names", COLUMN_TEXTS },
				 { "label_values", COLUMN_TEXTS },
				 { "seen", COLUMN_TIME } } },
	[CLICKHOUSE_FACTS] = { "service, event, stack, host, time, part",
			       { { "service", COLUMN_WORD },
				 { "event", COLUMN_WORD },
				 { "stack", COLUMN_HASH },
				 { "host", COLUMN_WORD },
				 { "time", COLUMN_TIME },
				 { "part", COLUMN_NUMBER },
				 { "samples", COLUMN_SUM } } },
	[CLICKHOUSE_FUNC_HOUR] = { "service, event, func, build, time", FUNC_COLUMNS },
	[CLICKHOUSE_FUNC_DAY] = { "service, event, func, build, time", FUNC_COLUMNS },
	[CLICKHOUSE_FUNC_HOST_DAY] = { "service, event, func, build, host, time",
				       { { "service", COLUMN_WORD },
					 { "event", COLUMN_WORD },
					 { "func", COLUMN_HASH },
					 { "build", COLUMN_WORD },
					 { "host", COLUMN_WORD },
					 { "time", COLUMN_TIME },
					 { "self", COLUMN_SUM },
					 { "incl", COLUMN_SUM } } },
	[CLICKHOUSE_STACK_HOUR] = { "service, event, stack, time", STACK_COLUMNS },
	[CLICKHOUSE_STACK_DAY] = { "service, event, stack, time", STACK_COLUMNS },
	[CLICKHOUSE_COVERAGE] = { "host, event, time, part", COVERAGE_COLUMNS },
	[CLICKHOUSE_LEAF_DAY] = { "service, event, build, path, kind, place, time",
				  { { "service", COLUMN_WORD },
				    { "event", COLUMN_WORD },
				    { "build", COLUMN_WORD },
				    { "path", COLUMN_WORD },
				    { "kind", COLUMN_BYTE },
				    { "place", COLUMN_PLACE },
				    { "time", COLUMN_TIME },
				    { "samples", COLUMN_SUM },
				    { "events", COLUMN_SUM } } },
	[CLICKHOUSE_LEAF_COVERAGE] = { "host, event, time, part", COVERAGE_COLUMNS },
};

/* ---- statements ---- */

enum table_kind { TABLE_LOG, TABLE_SUM, TABLE_LAST };

static const enum table_kind table_kinds[N_CLICKHOUSE_TABLES] = {
#define X(id, name, kind, keep, receipt) TABLE_##kind,
	CLICKHOUSE_TABLES(X)
#undef X
};

/* The engines, and the word that chooses their special columns. */
static const char *const engine_names[] = {
	[TABLE_LOG] = "MergeTree",
	[TABLE_SUM] = "SummingMergeTree",
	[TABLE_LAST] = "ReplacingMergeTree",
};

bool clickhouse_dialect_of(const char *version, enum clickhouse_dialect *out)
{
	unsigned int major, minor;

	if (sscanf(version, "%u.%u", &major, &minor) != 2)
		return false;
	*out = major >= FIRST_MODERN ? CLICKHOUSE_TODAY : CLICKHOUSE_18;
	return major >= FIRST_MODERN || (major == 18 && minor >= 16);
}

/* The others have functions: self and incl. */
static bool table_has_samples(enum clickhouse_table table)
{
	return table == CLICKHOUSE_FACTS || table == CLICKHOUSE_STACK_HOUR ||
	       table == CLICKHOUSE_STACK_DAY || table == CLICKHOUSE_LEAF_DAY;
}

const char *clickhouse_counts(enum clickhouse_table table)
{
	return table_has_samples(table) ? "samples" : "self";
}

const char *clickhouse_receipt_counts(enum clickhouse_table table)
{
	return table_has_samples(table) ? "samples" : "incl";
}

/* "(self, incl)" of sums, "seen" of the newest. Appends nothing for the others. */
static void schema_put_engine_columns(enum clickhouse_table table, struct buf *out)
{
	const struct column *columns = table_columns[table].columns;
	const char *last = "", *before = "";

	for (size_t i = 0; columns[i].name; i++)
		last = columns[i].name;
	if (table_kinds[table] == TABLE_LAST)
		buf_str(out, last);
	if (table_kinds[table] != TABLE_SUM)
		return;
	buf_str(out, "(");
	for (size_t i = 0; columns[i].name; i++) {
		if (columns[i].type != COLUMN_SUM)
			continue;
		buf_printf(out, "%s%s", before, columns[i].name);
		before = ", ";
	}
	buf_str(out, ")");
}

static void schema_put_engine(const struct clickhouse_layout *layout, enum clickhouse_table table,
			      struct buf *out)
{
	struct buf special = { 0 };

	schema_put_engine_columns(table, &special);
	buf_printf(out, "ENGINE = %s%s(", layout->replicated ? "Replicated" : "",
		   engine_names[table_kinds[table]]);
	if (layout->replicated)
		buf_printf(out, "'%s/%" PRIu32 "/%s', '{replica}'%s", layout->replicated,
			   layout->shard, clickhouse_tables[table].name, special.len ? ", " : "");
	buf_printf(out, "%s)", buf_cstr(&special));
	buf_fini(&special);
}

static void schema_put_settings(const struct clickhouse_layout *layout, enum clickhouse_table table,
				struct buf *out)
{
	const struct clickhouse_table_info *t = &clickhouse_tables[table];

	if (layout->dialect == CLICKHOUSE_18)
		return;
	if (t->keep_days)
		buf_printf(out, "\nTTL %s + INTERVAL %" PRIu32 " DAY", "time", t->keep_days);
	buf_str(out, "\nSETTINGS index_granularity = 8192");
	if (t->keep_days)
		buf_str(out, ", ttl_only_drop_parts = 1");
	if (!layout->replicated)
		buf_printf(out, ", non_replicated_deduplication_window = %d", TOKEN_WINDOW);
}

void clickhouse_print_table(const struct clickhouse_layout *layout, enum clickhouse_table table,
			    struct buf *out)
{
	const struct column *columns = table_columns[table].columns;

	buf_printf(out, "CREATE TABLE IF NOT EXISTS %s (", clickhouse_tables[table].name);
	for (size_t i = 0; i < COLUMNS_MAX && columns[i].name; i++)
		buf_printf(out, "%s\n    %s %s", i ? "," : "", columns[i].name,
			   column_types[columns[i].type][layout->dialect]);
	buf_str(out, "\n) ");
	schema_put_engine(layout, table, out);
	if (clickhouse_tables[table].keep_days)
		buf_str(out, "\nPARTITION BY toDate(time)");
	buf_printf(out, "\nORDER BY (%s)", table_columns[table].order);
	schema_put_settings(layout, table, out);
}

void clickhouse_print_columns(enum clickhouse_table table, struct buf *out)
{
	const struct column *columns = table_columns[table].columns;

	for (size_t i = 0; i < COLUMNS_MAX && columns[i].name; i++)
		buf_printf(out, "%s%s", i ? "," : "", columns[i].name);
}

/* ---- older tables ---- */

/* Columns that came later: the tables of older versions lack them. */
static const struct {
	enum clickhouse_table table;
	const char *name, *after;
	enum column_type type;
} later_columns[] = { { CLICKHOUSE_STACKS, "builds", "frames", COLUMN_TEXTS } };

bool clickhouse_print_later_column(const struct clickhouse_layout *layout, size_t i,
				   struct buf *question, struct buf *statement)
{
	if (i >= ARRAY_SIZE(later_columns))
		return false;
	buf_printf(question,
		   "SELECT toUInt64(count()) FROM system.columns WHERE database = "
		   "currentDatabase() AND table = '%s' AND name = '%s' FORMAT RowBinary",
		   clickhouse_tables[later_columns[i].table].name, later_columns[i].name);
	buf_printf(statement, "ALTER TABLE %s ADD COLUMN %s%s %s AFTER %s",
		   clickhouse_tables[later_columns[i].table].name,
		   layout->dialect == CLICKHOUSE_TODAY ? "IF NOT EXISTS " : "",
		   later_columns[i].name, column_types[later_columns[i].type][layout->dialect],
		   later_columns[i].after);
	return true;
}

void clickhouse_print_version_table(const struct clickhouse_layout *layout, struct buf *out)
{
	buf_str(out, "CREATE TABLE IF NOT EXISTS schema_version (\n    version UInt32,\n"
		     "    shard UInt32,\n    shards UInt32\n) ENGINE = ");
	if (layout->replicated)
		buf_printf(out,
			   "ReplicatedReplacingMergeTree('%s/%" PRIu32
			   "/schema_version', '{replica}')",
			   layout->replicated, layout->shard);
	else
		buf_str(out, "ReplacingMergeTree()");
	buf_str(out, "\nORDER BY (version, shard, shards)");
}

void clickhouse_print_version_row(const struct clickhouse_layout *layout, struct buf *out)
{
	buf_printf(out, "INSERT INTO schema_version VALUES (%d, %" PRIu32 ", %" PRIu32 ")",
		   CLICKHOUSE_SCHEMA_VERSION, layout->shard, layout->n_shards);
}

/* ---- users ---- */

/* A reader can't change settings, and each of its questions has limits. */
#define READ_SECONDS 20
#define READ_BYTES   4000000000
#define READ_ROWS    2000000000

#define STR_(x) #x
#define STR(x)  STR_(x)

/* clang-format off */
static const char users_sql[] =
	"CREATE SETTINGS PROFILE IF NOT EXISTS assay_read SETTINGS max_execution_time = " STR(READ_SECONDS) ", max_memory_usage = " STR(READ_BYTES) ", max_rows_to_read = " STR(READ_ROWS) ", readonly = 1;\n"
	"CREATE USER IF NOT EXISTS assay_write IDENTIFIED WITH sha256_hash BY '%s';\n"
	"CREATE USER IF NOT EXISTS assay_read IDENTIFIED WITH sha256_hash BY '%s' SETTINGS PROFILE 'assay_read';\n"
	"GRANT SELECT, INSERT, ALTER DELETE ON %s.* TO assay_write;\n" /* DROP PARTITION needs ALTER DELETE */
	"GRANT SELECT ON system.parts TO assay_write;\n"
	"GRANT SELECT ON system.replicas TO assay_write;\n"
	"GRANT SELECT ON %s.* TO assay_read;\n";

static const char users_xml[] =
	"<yandex>\n"
	"  <profiles>\n"
	"    <assay_write/>\n"
	"    <assay_read>\n"
	"      <readonly>1</readonly>\n"
	"      <max_execution_time>" STR(READ_SECONDS) "</max_execution_time>\n"
	"      <max_memory_usage>" STR(READ_BYTES) "</max_memory_usage>\n"
	"      <max_rows_to_read>" STR(READ_ROWS) "</max_rows_to_read>\n"
	"    </assay_read>\n"
	"  </profiles>\n"
	"  <users>\n"
	"    <assay_write>\n"
	"      <password_sha256_hex>%s</password_sha256_hex>\n"
	"      <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>\n"
	"      <profile>assay_write</profile>\n"
	"      <quota>default</quota>\n"
	"      <allow_databases><database>%s</database></allow_databases>\n"
	"    </assay_write>\n"
	"    <assay_read>\n"
	"      <password_sha256_hex>%s</password_sha256_hex>\n"
	"      <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>\n"
	"      <profile>assay_read</profile>\n"
	"      <quota>default</quota>\n"
	"      <allow_databases><database>%s</database></allow_databases>\n"
	"    </assay_read>\n"
	"  </users>\n"
	"</yandex>\n";
/* clang-format on */

void clickhouse_print_users(enum clickhouse_dialect dialect, const struct clickhouse_users *users,
			    struct buf *out)
{
	if (dialect == CLICKHOUSE_18)
		buf_printf(out, users_xml, users->write_sha256, users->database, users->read_sha256,
			   users->database);
	else
		buf_printf(out, users_sql, users->write_sha256, users->read_sha256, users->database,
			   users->database);
}
