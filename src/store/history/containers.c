/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "store/history/history.h"
#include "store/sharing.h"

#define FILE_LIMIT (4 << 20)

/* Splits a path into its folder and its last component. The caller frees both. */
static char *split(const char *path, char **name)
{
	cleanup(free_at_exit) char *one = xstrdup(path), *two = xstrdup(path);

	*name = xstrdup(basename(one));
	return xstrdup(dirname(two));
}

/* Returns DIR for DIR/samples/NAME, else the path. */
static char *above_samples(const char *path)
{
	cleanup(free_at_exit) char *name = NULL, *samples = NULL;
	cleanup(free_at_exit) char *parent = split(path, &name);
	char *top = split(parent, &samples);

	if (!strcmp(samples, "samples"))
		return top;
	free(top);
	return xstrdup(path);
}

char *containers_file(const char *dir)
{
	cleanup(free_at_exit) char *name = NULL;
	cleanup(free_at_exit) char *parent = split(dir, &name);
	cleanup(free_at_exit) char *top = NULL;
	uint64_t wall_ns;

	top = history_part_time(name, &wall_ns) ? above_samples(parent) : xstrdup(dir);
	return xasprintf("%s/containers", top);
}

/*
 * *text is NULL if there is no such file, and after errors: -EINVAL, assay did not write the file;
 * -EFBIG, it is larger than any that assay writes.
 */
static int read_text(const char *file, char **text, size_t *size)
{
	cleanup(close_at_exit) int fd =
		open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	*text = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? file_read_fd(fd, CONTAINER_TEXT_MAX, text, size) : -EINVAL;
}

void containers_read(struct container_names *n, const char *file)
{
	cleanup(free_at_exit) char *text = NULL;

	if (read_text(file, &text, NULL) == 0 && text)
		container_names_parse(n, text);
}

void containers_trim(const char *file)
{
	size_t size = 0;
	cleanup(free_at_exit) char *text = NULL;
	const char *from;

	if (read_text(file, &text, &size) < 0 || size <= FILE_LIMIT)
		return;
	from = memchr(text + size / 2, '\n', size / 2);
	if (from)
		file_replace(file, from + 1, (size_t)(text + size - from - 1), NULL);
}

bool containers_append(const char *file, const char *id, const char *name)
{
	cleanup(free_at_exit) char *line = xasprintf("%s %s\n", id, name), *base = NULL;
	cleanup(free_at_exit) char *dir = split(file, &base);
	struct sharing sharing = sharing_below(dir);
	cleanup(close_at_exit) int fd =
		open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		     0600);

	if (fd < 0)
		return false;
	sharing_give_file(&sharing, fd);
	return file_write_all(fd, line, strlen(line)) == 0;
}

/*
 * Appends the names of `names` for the ids of the lines of `text`, where `known` has others; then
 * it knows them, so a repeated id counts once. Returns their number.
 */
static uint32_t put_names(struct buf *out, char *text, const struct container_names *names,
			  struct container_names *known)
{
	char *line, *id, *name;
	uint32_t n = 0;

	while ((line = strsep(&text, "\n"))) {
		const char *is, *was;

		if (!container_line_split(line, &id, &name))
			continue;
		is = container_names_find(names, id);
		was = container_names_find(known, id);
		if (!is || (was && !strcmp(was, is)) || !container_names_put(known, id, is))
			continue;
		buf_printf(out, "%s %s\n", id, is);
		n++;
	}
	return n;
}

uint32_t containers_missing(const char *here, const char *there, struct buf *out)
{
	struct container_names *names = container_names_new(), *known = container_names_new();
	cleanup(free_at_exit) char *text = NULL;
	uint32_t n;

	read_text(here, &text, NULL);
	containers_read(names, here);
	containers_read(known, there);
	n = put_names(out, text, names, known);
	container_names_free(names);
	container_names_free(known);
	return n;
}

/* Appends the lines of `text` whose ids are not in `names`. */
static void put_others(struct buf *out, char *text, const struct container_names *names)
{
	char *line, *id, *name;

	while ((line = strsep(&text, "\n")))
		if (container_line_split(line, &id, &name) && !container_names_find(names, id))
			buf_printf(out, "%s %s\n", id, name);
}

int containers_merge(const char *file, char *lines, struct error *err)
{
	cleanup(free_at_exit) char *old = NULL, *copy = xstrdup(lines);
	struct container_names *new_names, *put;
	struct buf text = { 0 };
	const char *from;
	int r = read_text(file, &old, NULL);

	if (r < 0)
		return error_set(err, r, "cannot read %s: %s", file, strerror(-r));
	new_names = container_names_new();
	put = container_names_new();
	container_names_parse(new_names, copy);
	put_others(&text, old, new_names);
	put_names(&text, lines, new_names, put);
	container_names_free(new_names);
	container_names_free(put);
	from = buf_cstr(&text);
	if (text.len > FILE_LIMIT)
		from = strchr(from + text.len - FILE_LIMIT, '\n') + 1;
	r = file_replace(file, from, strlen(from), err);
	buf_fini(&text);
	return r;
}

void containers_of_session(struct container_names *n, const struct session *s)
{
	cleanup(free_at_exit) char *file = containers_file(s->dir ? s->dir : s->path);
	cleanup(free_at_exit) char *last = NULL;

	containers_read(n, file);
	for (uint32_t i = 0; i < s->n_parts; i++) {
		char *of_part = containers_file(s->parts[i]->dir);

		if (!last || strcmp(last, of_part) != 0)
			containers_of_session(n, s->parts[i]);
		free(last);
		last = of_part;
	}
}
