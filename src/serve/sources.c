/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "fleet/fleet_store.h"
#include "fleet/load_state.h"
#include "open/input.h"
#include "store/history/history.h"

static const char *const kind_names[] = {
	[SOURCE_SESSION] = "session", [SOURCE_HISTORY] = "history",
	[SOURCE_FLEET] = "fleet",     [SOURCE_RECORDING] = "recording",
	[SOURCE_FILE] = "file",       [SOURCE_CLICKHOUSE] = "clickhouse"
};

/* Opens a file if it is one of perf. */
static int open_recording(const char *path, uint64_t *size)
{
	static const char magics[][9] = { "PERFILE2", "2ELIFREP" }; /* of either byte order */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[8];
	struct stat st;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    (!memcmp(magic, magics[0], sizeof(magic)) ||
	     !memcmp(magic, magics[1], sizeof(magic)))) {
		*size = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return -ENOENT;
}

static enum source_kind kind_of_file(const char *path)
{
	uint64_t size;
	cleanup(close_at_exit) int fd = open_recording(path, &size);

	return fd >= 0 ? SOURCE_RECORDING : SOURCE_FILE;
}

int source_open_recording(const struct source *s, uint64_t *size)
{
	return s->kind == SOURCE_RECORDING ? open_recording(s->path, size) : -ENOENT;
}

/* A history has a folder of parts; a session has the folder "samples" alone. */
static bool find_kind(const char *path, const struct stat *st, enum source_kind *kind)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", path);
	cleanup(free_at_exit) char *parts = NULL;
	struct stat of_samples;

	if (S_ISREG(st->st_mode)) {
		*kind = kind_of_file(path);
		return true;
	}
	if (fleet_is_at(path)) {
		*kind = SOURCE_FLEET;
		return true;
	}
	parts = S_ISDIR(st->st_mode) ? history_dir(path) : NULL;
	*kind = parts ? SOURCE_HISTORY : SOURCE_SESSION;
	return parts || (!stat(samples, &of_samples) && S_ISDIR(of_samples.st_mode));
}

static char *unique_name(const struct sources *s, const char *path)
{
	cleanup(free_at_exit) char *plain = xstrdup(path);
	size_t n = strlen(plain);
	char *name;

	while (n > 1 && plain[n - 1] == '/')
		plain[--n] = '\0';
	name = xstrdup(path_file_name(plain));
	for (unsigned int i = 2; sources_find(s, name); i++) {
		free(name);
		name = xasprintf("%s (%u)", path_file_name(plain), i);
	}
	return name;
}

/* The name says the kind: an address may be of no use to a reader. */
static char *clickhouse_name(const struct sources *s)
{
	char *name = xstrdup("ClickHouse");

	for (unsigned int i = 2; sources_find(s, name); i++) {
		free(name);
		name = xasprintf("ClickHouse (%u)", i);
	}
	return name;
}

static bool sources_add(struct sources *s, const char *path)
{
	struct source source = { 0 };
	struct stat st;

	if (input_is_clickhouse(path)) {
		source.kind = SOURCE_CLICKHOUSE;
		source.name = clickhouse_name(s);
		source.path = xstrdup(path);
		vec_push(&s->list, source);
		return true;
	}

	if (s->list.n >= SOURCES_MAX || stat(path, &st) < 0 || !find_kind(path, &st, &source.kind))
		return false;
	source.name = unique_name(s, path);
	source.path = xstrdup(path);
	source.changed_ns =
		(uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	vec_push(&s->list, source);
	return true;
}

static int by_folder_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_folder(struct sources *s, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_shown, by_folder_name);

	for (int i = 0; i < n; i++) {
		cleanup(free_at_exit) char *inner = xasprintf("%s/%s", path, entries[i]->d_name);

		sources_add(s, inner);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

void sources_read(struct sources *s, char *const *paths, size_t n)
{
	sources_fini(s);
	for (size_t i = 0; i < n; i++)
		if (!sources_add(s, paths[i]))
			add_folder(s, paths[i]);
}

void sources_fini(struct sources *s)
{
	vec_foreach (&s->list, source) {
		free(source->name);
		free(source->path);
	}
	vec_fini(&s->list);
}

const struct source *sources_find(const struct sources *s, const char *name)
{
	vec_foreach (&s->list, source)
		if (!strcmp(source->name, name))
			return source;
	return NULL;
}

int cpu_price_parse(const char *text, struct cpu_price *out, struct error *err)
{
	char *end;

	out->price = strtod(text, &end);
	if (end == text || !(out->price > 0) || out->price > 1e9 || (*end && *end != ' '))
		return error_set(err, -EINVAL,
				 "'%s' is no price: write a number and a unit, such as '0.04 EUR'",
				 text);
	out->unit = end + strspn(end, " ");
	return 0;
}

void sources_put_json(const struct sources *s, const char *role, const struct cpu_price *price,
		      struct buf *out)
{
	buf_printf(out, "{\"schema\":1");
	json_put_text(out, "role", role);
	if (price->price > 0) {
		json_put_key(out, "cpu_hour");
		buf_printf(out, "{\"price\":%g", price->price);
		json_put_text(out, "unit", price->unit);
		buf_u8(out, '}');
	}
	buf_printf(out, ",\"sources\":[");
	vec_foreach (&s->list, source) {
		cleanup(free_at_exit) char *loading =
			source->kind == SOURCE_FLEET ? load_state_read(source->path) : NULL;

		buf_printf(out, source == s->list.data ? "\n{" : ",\n{");
		json_put_text(out, "name", source->name);
		json_put_text(out, "kind", kind_names[source->kind]);
		json_put_text(out, "path", source->path);
		json_put_number(out, "changed_seconds", source->changed_ns / NS_PER_SECOND);
		if (loading) {
			json_put_key(out, "loading");
			buf_str(out, loading);
		}
		buf_u8(out, '}');
	}
	buf_printf(out, "]}\n");
}

/* ---- stamps ---- */

/* A source with more files than these counts as live: changes of the rest are not seen. */
#define STAMP_FILES  20000
#define STAMP_LEVELS 7 /* DIR/samples/current/PART/samples/current/0000.segment */

struct stamp {
	uint64_t hash;
	unsigned int n_files;
	uint64_t changed_ns; /* the last change, since 1970 */
	uint64_t inode;      /* of the first file */
};

static void stamp_add(struct stamp *t, uint64_t v)
{
	t->hash = (t->hash ^ v) * 0x100000001b3; /* FNV-1a, by words */
}

static bool stamp_file(struct stamp *t, const char *path, bool follows, struct stat *st)
{
	uint64_t changed_ns;

	if (t->n_files++ >= STAMP_FILES || (follows ? stat(path, st) : lstat(path, st)) < 0)
		return false;
	changed_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st->st_mtim.tv_nsec;
	t->inode = t->inode ? t->inode : st->st_ino;
	stamp_add(t, st->st_ino);
	stamp_add(t, (uint64_t)st->st_size);
	stamp_add(t, changed_ns);
	t->changed_ns = MAX(t->changed_ns, changed_ns);
	return true;
}

static void stamp_path(struct stamp *t, const char *path, int levels)
{
	struct stat st;
	const struct dirent *entry;
	DIR *dir;

	if (!stamp_file(t, path, levels == STAMP_LEVELS, &st))
		return;
	dir = S_ISDIR(st.st_mode) && levels ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		cleanup(free_at_exit) char *inner = xasprintf("%s/%s", path, entry->d_name);

		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			stamp_path(t, inner, levels - 1);
	}
	if (dir)
		closedir(dir);
}

/* A part of the window, by its folder's name. */
static void stamp_part(struct stamp *all, const char *path, bool *is_live)
{
	struct stamp part = { .n_files = all->n_files };
	bool is_written;

	stamp_path(&part, path, 3);
	all->n_files = part.n_files;
	is_written = part.changed_ns + SOURCE_LIVE_NS > clock_wall_ns();
	*is_live |= is_written;
	/* A sum, because a folder has its parts in any order. */
	all->hash += is_written ? part.inode * 0x9e3779b97f4a7c15 : part.hash;
}

uint64_t source_stamp(const struct source *s, uint64_t until_ns, bool *is_live)
{
	cleanup(free_at_exit) char *parts = s->kind == SOURCE_HISTORY ? history_dir(s->path) : NULL;
	struct stamp all = { .hash = 0xcbf29ce484222325 };
	DIR *dir = parts ? opendir(parts) : NULL;
	const struct dirent *entry;
	uint64_t start_ns;

	*is_live = s->kind == SOURCE_CLICKHOUSE; /* nothing says that it changed */
	if (*is_live)
		return 0;
	if (!dir) {
		stamp_path(&all, s->path, STAMP_LEVELS);
		*is_live = all.n_files > STAMP_FILES;
		return all.hash;
	}
	while ((entry = readdir(dir))) {
		cleanup(free_at_exit) char *part = xasprintf("%s/%s", parts, entry->d_name);

		if (history_part_time(entry->d_name, &start_ns) && start_ns < until_ns)
			stamp_part(&all, part, is_live);
	}
	closedir(dir);
	*is_live |= all.n_files > STAMP_FILES;
	return all.hash;
}
