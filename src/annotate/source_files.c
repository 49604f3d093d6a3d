/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "annotate/source_files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "guard/open.h"
#include "guard/readable.h"

#define MAX_SOURCE (64U << 20)
#define MAX_LINE   4096 /* the shown bytes of a line */

/* A binary of the user names the path. */
struct source_owner {
	uint32_t path, user; /* path: of struct source_files */
};

struct source_files {
	const struct source_search *search;
	struct strings paths;            /* as asked for: file i is string i + 1 */
	VEC(struct source_file *) files; /* NULL: not looked for yet */
	VEC(struct source_owner) owners;
};

struct source_files *source_files_new(const struct source_search *search)
{
	struct source_files *s = xcalloc(1, sizeof(*s));

	s->search = search;
	strings_init(&s->paths);
	return s;
}

void source_files_free(struct source_files *s)
{
	if (!s)
		return;
	vec_foreach (&s->files, f) {
		if (!*f)
			continue;
		free((*f)->path);
		free((*f)->text);
		free((*f)->starts);
		free(*f);
	}
	vec_fini(&s->files);
	vec_fini(&s->owners);
	strings_fini(&s->paths);
	free(s);
}

void source_files_name(struct source_files *s, const char *path, uint32_t user)
{
	uint32_t id = strings_add(&s->paths, path).n;

	vec_foreach (&s->owners, o)
		if (o->path == id && o->user == user)
			return;
	vec_push(&s->owners, (struct source_owner){ id, user });
}

static bool source_is_permitted(const struct source_files *s, uint32_t path, int fd)
{
	vec_foreach (&s->owners, o)
		if (o->path == path && guard_is_readable_by(fd, o->user))
			return true;
	return guard_is_readable_by(fd, GUARD_NOBODY);
}

/* Whether ".." leads out of a folder that the user chose. */
static bool has_parent(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

/* Takes the path over if there is a file. `path_id`: 0 for one in a folder that the user chose. */
static bool try_path(const struct source_files *s, struct source_file *f, char *path,
		     uint32_t path_id)
{
	static const struct guard_rules rules = { MAX_SOURCE, GUARD_ANY_OWNER, false };
	cleanup(close_at_exit) int fd = f->path ? -1 : guard_open(GUARD_HERE, path, &rules, NULL);
	bool is_refused = fd >= 0 && path_id && !source_is_permitted(s, path_id, fd);
	struct stat st;

	f->is_refused |= is_refused;
	if (fd < 0 || is_refused || fstat(fd, &st) < 0 ||
	    file_read_fd(fd, MAX_SOURCE, &f->text, &f->size) < 0) {
		free(path);
		return false;
	}
	f->path = path;
	f->mtime_ns = timespec_ns(st.st_mtim);
	return true;
}

static void find_file(const struct source_files *files, struct source_file *f, const char *path,
		      uint32_t id)
{
	const struct source_search *s = files->search;
	uint32_t chosen = has_parent(path) ? id : 0;

	for (size_t i = 0; i < s->n_rewrites; i++) {
		const char *equals = strchr(s->rewrites[i], '=');
		size_t len = equals ? (size_t)(equals - s->rewrites[i]) : 0;

		if (len && !strncmp(path, s->rewrites[i], len) &&
		    try_path(files, f, xasprintf("%s%s", equals + 1, path + len), chosen))
			return;
	}
	if (try_path(files, f, xstrdup(path), id))
		return;
	for (size_t i = 0; i < s->n_dirs; i++)
		for (const char *end = path; end; end = strchr(end, '/')) {
			end += *end == '/';
			if (try_path(files, f, xasprintf("%s/%s", s->dirs[i], end), chosen))
				return;
		}
}

static void split_lines(struct source_file *f)
{
	VEC(uint32_t) starts = { 0 };
	const char *at = f->text, *end = f->text + f->size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		vec_push(&starts, (uint32_t)(at - f->text));
		at = newline ? newline + 1 : end;
	}
	f->n_lines = (uint32_t)starts.n;
	vec_push(&starts, (uint32_t)f->size);
	f->starts = starts.data;
}

const struct source_file *source_files_get(struct source_files *s, const char *path)
{
	uint32_t id = strings_add(&s->paths, path).n;
	struct source_file *f;

	if (!id) {
		static const struct source_file none;

		return &none;
	}
	while (s->files.n < id)
		vec_push(&s->files, NULL);
	if (s->files.data[id - 1])
		return s->files.data[id - 1];
	f = xcalloc(1, sizeof(*f));
	find_file(s, f, path, id);
	if (f->path)
		split_lines(f);
	s->files.data[id - 1] = f;
	return f;
}

bool source_line(const struct source_file *f, uint32_t n, const char **text, size_t *size)
{
	size_t len;

	if (!n || n > f->n_lines)
		return false;
	*text = f->text + f->starts[n - 1];
	len = f->starts[n] - f->starts[n - 1];
	while (len && ((*text)[len - 1] == '\n' || (*text)[len - 1] == '\r'))
		len--;
	*size = MIN(len, (size_t)MAX_LINE);
	return true;
}
