/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/containers.h"

#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Returns NULL if there is no such file, or if assay did not write it. */
static char *read_text(const char *file, size_t *size)
{
	cleanup(close_at_exit) int fd =
		open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    file_read_fd(fd, CONTAINER_TEXT_MAX, &text, size) < 0)
		return NULL;
	return text;
}

void containers_read(struct container_names *n, const char *file)
{
	cleanup(free_at_exit) char *text = read_text(file, NULL);

	if (text)
		container_names_parse(n, text);
}

void containers_trim(const char *file)
{
	size_t size = 0;
	cleanup(free_at_exit) char *text = read_text(file, &size);
	const char *from =
		text && size > FILE_LIMIT ? memchr(text + size / 2, '\n', size / 2) : NULL;

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
