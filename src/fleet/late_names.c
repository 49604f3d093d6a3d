/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/late_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/clickhouse.h"
#include "fleet/row_binary.h"
#include "store/history/history.h"
#include "symbol/symbols.h"

/* Of a question and an insert, which bounds both. */
#define BUILDS_MAX 100

struct builds {
	VEC(struct build_id) list;
};

/* The build whose index a file is, if it changed since then. */
static bool is_late_index(int dir, const char *name, uint64_t since_s, struct build_id *id)
{
	size_t n = strcspn(name, ".");
	char hex[BUILD_ID_HEX_SIZE];
	struct stat st;

	if (n >= sizeof(hex) || strcmp(name + n, ".sym") != 0)
		return false;
	snprintf(hex, sizeof(hex), "%.*s", (int)n, name);
	return build_id_parse(hex, id) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_mtim.tv_sec >= since_s;
}

/* A folder that has not changed since then has no index that came later. */
static void find_late_indexes(const struct late_names *config, struct builds *out)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" HISTORY_NAMES_DIR, config->fleet);
	const struct dirent *entry;
	struct build_id id;
	struct stat st;
	DIR *d;

	if (stat(path, &st) < 0 || (uint64_t)st.st_mtim.tv_sec < config->since_s)
		return;
	d = opendir(path);
	while (d && (entry = readdir(d)))
		if (is_late_index(dirfd(d), entry->d_name, config->since_s, &id))
			vec_push(&out->list, id);
	if (d)
		closedir(d);
}

/* Asks for the functions without a name of some builds. */
static int ask_nameless(const struct late_names *config, uint32_t shard,
			const struct build_id *builds, size_t n, struct buf *answer,
			struct error *err)
{
	char hex[BUILD_ID_HEX_SIZE];
	struct buf sql = { 0 };
	int r;

	buf_str(&sql, "SELECT func, i, b, s, k, l, t FROM (SELECT func, argMax(image, seen) AS i, "
		      "argMax(build, seen) AS b, argMax(start, seen) AS s, argMax(kind, seen) AS "
		      "k, argMax(language, seen) AS l, max(toUInt32(seen)) AS t FROM functions "
		      "WHERE func IN (SELECT func FROM functions WHERE build IN (");
	for (size_t i = 0; i < n; i++) {
		build_id_hex(&builds[i], hex);
		buf_printf(&sql, "%s'%s'", i ? "," : "", hex);
	}
	buf_str(&sql, ")) GROUP BY func) WHERE b != '' FORMAT RowBinary");
	r = clickhouse_ask(config->clickhouse, shard, buf_cstr(&sql), answer, err);
	buf_fini(&sql);
	return r;
}

/* The name of the code at an offset of a file; NULL: it has none yet. */
static const char *late_name(struct symbolizer *symbols, const struct image *image, uint64_t start)
{
	const struct symbol_table *table = symbolizer_table(symbols, image, NULL, 0);
	uint32_t at = symbol_find(table, start);
	struct symbol symbol;

	if (at == NO_SYMBOL)
		return NULL;
	symbol = symbol_get(table, at);
	return symbol.name[0] && !symbol.name_end ? symbol_name(symbols, table, at) : NULL;
}

/* The server could answer anything. */
static bool has_index(enum image_kind kind)
{
	return kind == IMAGE_FILE || kind == IMAGE_KERNEL || kind == IMAGE_MODULE;
}

static char *read_text(struct reader *r)
{
	size_t n;
	const char *text = row_binary_text(r, &n);

	return xstrndup(text ? text : "", n);
}

/* Reads a function without a name. True: it has one now, and `rows` got its row. */
static bool name_function(const struct late_names *config, struct reader *r, struct buf *rows)
{
	uint64_t number = reader_u64(r), start;
	cleanup(free_at_exit) char *path = read_text(r), *build = read_text(r);
	struct image image = { .path = path };
	uint8_t language;
	uint32_t seen_s;
	const char *name;

	start = reader_u64(r);
	image.kind = (enum image_kind)reader_u8(r);
	language = reader_u8(r);
	seen_s = reader_u32(r);
	if (r->bad || !has_index(image.kind) || !build_id_parse(build, &image.build_id))
		return false;
	name = late_name(config->symbols, &image, start);
	if (!name)
		return false;
	buf_u64(rows, number);
	row_binary_put_text(rows, name);
	row_binary_put_text(rows, path);
	row_binary_put_text(rows, ""); /* no build, and so no start: it has a name */
	buf_u64(rows, 0);
	buf_u8(rows, (uint8_t)image.kind);
	buf_u8(rows, language);
	/* The newest row of a number counts. */
	buf_u32(rows, MAX((uint32_t)(clock_wall_ns() / NS_PER_SECOND), seen_s + 1));
	return true;
}

static int64_t name_builds(const struct late_names *config, uint32_t shard,
			   const struct build_id *builds, size_t n, struct error *err)
{
	struct buf answer = { 0 }, rows = { 0 };
	int64_t r = ask_nameless(config, shard, builds, n, &answer, err);
	struct reader reader = reader_over(answer.data, answer.len);
	int64_t n_named = 0;

	while (r >= 0 && reader_left(&reader))
		n_named += name_function(config, &reader, &rows);
	if (r >= 0 && reader.bad)
		r = error_set(err, -EPROTO, "the server's list of functions is not whole");
	if (r >= 0 && n_named)
		r = clickhouse_insert(config->clickhouse, shard, CLICKHOUSE_FUNCTIONS, "", &rows,
				      err);
	buf_fini(&answer);
	buf_fini(&rows);
	return r < 0 ? r : n_named;
}

int64_t late_names_load(const struct late_names *config, uint32_t shard, struct error *err)
{
	struct builds builds = { 0 };
	int64_t r = 0, n_named = 0;

	find_late_indexes(config, &builds);
	for (size_t i = 0; i < builds.list.n && r >= 0; i += BUILDS_MAX) {
		r = name_builds(config, shard, builds.list.data + i,
				MIN(builds.list.n - i, (size_t)BUILDS_MAX), err);
		n_named += MAX(r, 0);
	}
	vec_fini(&builds.list);
	return r < 0 ? r : n_named;
}
