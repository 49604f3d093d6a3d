/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lock and the log of a fleet's own files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"

void fleet_time_text(uint64_t wall_ns, char out[static FLEET_TIME_SIZE])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
	struct tm tm;

	strcpy(out, "-");
	if (wall_ns && gmtime_r(&seconds, &tm))
		strftime(out, FLEET_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

int fleet_lock(const char *fleet, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.fleet", fleet);
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && geteuid() == 0 && st.st_uid != 0)
		r = error_set(err, -EPERM,
			      "%s belongs to user %u, as whom the gateway runs: give this "
			      "command as this user (runuser -u USER -- assay fleet …)",
			      fleet, st.st_uid);
	else if (fd < 0 || flock(fd, LOCK_EX) < 0)
		r = error_errno(err, -errno, "cannot lock %s", path);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return r;
}

int fleet_log(const char *fleet, const char *what, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.log", fleet);
	FILE *out = fopen(path, "ae");
	char when[FLEET_TIME_SIZE];
	int r = 0;

	fleet_time_text(clock_wall_ns(), when);
	if (!out)
		return error_errno(err, -errno, "cannot write %s", path);
	fprintf(out, "%s uid %u: %s %s\n", when, (unsigned int)getuid(), what, host);
	if (fflush(out) || fsync(fileno(out)) < 0)
		r = error_errno(err, -errno, "cannot write %s", path);
	fclose(out);
	return r;
}

bool fleet_log_has(const char *fleet, const char *what, const char *host)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.log", fleet);
	cleanup(free_at_exit) char *end = xasprintf(": %s %s\n", what, host);
	size_t n = strlen(end), size = 0;
	FILE *in = fopen(path, "re");
	char *line = NULL;
	bool found = false;
	ssize_t len;

	while (in && !found && (len = getline(&line, &size, in)) >= 0)
		found = (size_t)len >= n && !strcmp(line + (size_t)len - n, end);
	free(line);
	if (in)
		fclose(in);
	return found;
}
