/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests that write files. The program runs in a new folder below TMPDIR, which is removed at
 * the end, so that names are relative, short, and no other program's.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/files/file.h"

#define ROOM_MB 32 /* more than any of these programs writes */

static char scratch_dir[PATH_MAX]; /* its absolute path */
static pid_t scratch_owner;

static void leave_folder(void)
{
	if (getpid() == scratch_owner && chdir("/") == 0)
		file_remove_tree(scratch_dir, NULL);
}

static bool has_room(void)
{
	int fd = open("room", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	errno = fd < 0 ? errno : posix_fallocate(fd, 0, ROOM_MB << 20);
	if (fd >= 0)
		close(fd);
	return !errno && unlink("room") == 0;
}

/* The folder is open to other users, as some tests become one. */
__attribute__((constructor)) static void enter_folder(void)
{
	const char *set = getenv("TMPDIR"), *place = set && *set ? set : "/tmp";
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/assay-unit-XXXXXX", place);
	if (mkdtemp(name) && realpath(name, scratch_dir) && chdir(scratch_dir) == 0 &&
	    chmod(scratch_dir, 0755) == 0) {
		scratch_owner = getpid();
		setenv("HOME", scratch_dir, 1);
		atexit(leave_folder);
		errno = 0;
		if (has_room())
			return;
	}
	/* cmocka has not begun: these are all lines of this program. */
	printf("skipped: %s has no room for %d MB: %s (set TMPDIR to another folder)\n", place,
	       ROOM_MB, strerror(errno));
	puts("not ok 1 - # SKIP every test of this program\n1..1");
	exit(0);
}
