/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may read a session. What ran is nobody else's business: as perf.data, a session is its
 * owner's alone. But a daemon's history is there for those who may ask the daemon, too: a directory
 * that is of SHARING_GROUP and closed to all others (0750) is shared, and so is what is made in it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define SHARING_GROUP "assay"

struct sharing {
	bool is_shared;
	gid_t group;
};

/* Whether what is made in the directory is shared. */
struct sharing sharing_below(const char *dir);

/*
 * For the group to read: a directory becomes 0750, a file 0640, if its group can be set; else they
 * stay as they are. Nothing, for what is not shared. False: it could not be done.
 */
bool sharing_give_dir(const struct sharing *s, const char *path);
bool sharing_give_file(const struct sharing *s, int fd);

/* The group, if this machine has it. */
struct sharing sharing_with_group(void);
