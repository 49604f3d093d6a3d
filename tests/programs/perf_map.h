/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ASSAY_TESTS_PERF_MAP_H
#define ASSAY_TESTS_PERF_MAP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Creates /tmp/perf-PID.map of this process, and stores its path. A former process of this number
 * may have left a map of another user. Even root can't open that for writing
 * (fs.protected_regular), so it is removed first. Ends the program on an error.
 */
static inline FILE *create_perf_map(char *path, size_t size)
{
	FILE *map;

	snprintf(path, size, "/tmp/perf-%d.map", getpid());
	unlink(path);
	map = fopen(path, "wb");
	if (!map) {
		perror(path);
		exit(1);
	}
	return map;
}

#endif
