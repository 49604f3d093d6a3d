/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

static pid_t read_pid(int fd)
{
	char text[32] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		return 0;
	return (pid_t)strtol(text, NULL, 10);
}

int lock_take(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644), e;

	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		fchmod(fd, 0644); /* all users may read which daemon runs, whatever the umask */
		return fd;
	}
	e = errno;
	if (e == EWOULDBLOCK)
		error_set(err, -EBUSY,
			  "a daemon collects into %s already: process %d ('assay ctl "
			  "--session-dir %s shutdown' ends it)",
			  dir, (int)read_pid(fd), dir);
	else
		error_errno(err, -e, "cannot lock %s", path);
	close(fd);
	return e == EWOULDBLOCK ? -EBUSY : -e;
}

int lock_write_pid(int fd, pid_t pid, struct error *err)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return error_errno(err, -errno, "cannot write the lock file");
	return 0;
}

pid_t lock_holder(const char *dir)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/lock", dir);
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	return read_pid(fd);
}
