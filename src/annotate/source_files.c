/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "annotate/source_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/strings.h"

#define MAX_SOURCE (64U << 20)
#define MAX_LINE   4096 /* of what is shown of a line */

struct source_files {
	const struct source_search *search;
	struct strings paths; /* as asked for: file i is string i + 1 */
	VEC(struct source_file *) files;
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
		free((*f)->path);
		free((*f)->text);
		free((*f)->starts);
		free(*f);
	}
	vec_fini(&s->files);
	strings_fini(&s->paths);
	free(s);
}

/* Takes the path over if there is a file. */
static bool try_path(struct source_file *f, char *path)
{
	struct stat st;

	if (f->path || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    file_read_all(path, MAX_SOURCE, &f->text, &f->size) < 0) {
		free(path);
		return false;
	}
	f->path = path;
	f->mtime_ns = timespec_ns(st.st_mtim);
	return true;
}

static void find_file(const struct source_search *s, struct source_file *f, const char *path)
{
	for (size_t i = 0; i < s->n_rewrites; i++) {
		const char *equals = strchr(s->rewrites[i], '=');
		size_t len = equals ? (size_t)(equals - s->rewrites[i]) : 0;

		if (len && !strncmp(path, s->rewrites[i], len) &&
		    try_path(f, xasprintf("%s%s", equals + 1, path + len)))
			return;
	}
	if (try_path(f, xstrdup(path)))
		return;
	for (size_t i = 0; i < s->n_dirs; i++)
		for (const char *end = path; end; end = strchr(end, '/')) {
			end += *end == '/';
			if (try_path(f, xasprintf("%s/%s", s->dirs[i], end)))
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
	if (id <= s->files.n)
		return s->files.data[id - 1];
	f = xcalloc(1, sizeof(*f));
	find_file(s->search, f, path);
	if (f->path)
		split_lines(f);
	vec_push(&s->files, f);
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
