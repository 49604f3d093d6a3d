/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

/* A pipe is kept in a file without a name: a recording is read twice, its middle at any time. */
static int spool(const char *path, struct file_mapping *out, struct error *err)
{
	bool is_stdin = !strcmp(path, "-");
	cleanup(close_at_exit) int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	cleanup(free_at_exit) char *buffer = xmalloc(1 << 20);
	int in = is_stdin ? STDIN_FILENO : opened, fd, e;
	cleanup(free_at_exit) char *proc = NULL;
	ssize_t n;

	if (in < 0)
		return error_errno(err, -errno, "%s", path);
	fd = file_open_nameless();
	if (fd < 0)
		return error_errno(err, fd, "a temporary file to keep %s in", path);
	while ((n = read(in, buffer, 1 << 20)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		e = n < 0 ? -errno : file_write_all(fd, buffer, (size_t)n);
		if (e < 0) {
			close(fd);
			return error_errno(err, e, n < 0 ? "reading %s" : "keeping %s", path);
		}
	}
	proc = xasprintf("/proc/self/fd/%d", fd);
	e = file_map(proc, out, err);
	close(fd);
	return e;
}

int spool_map(const char *path, struct file_mapping *out, struct error *err)
{
	struct stat st;
	bool is_stdin = !strcmp(path, "-");

	if (is_stdin || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return spool(path, out, err);
	return file_map(path, out, err);
}
