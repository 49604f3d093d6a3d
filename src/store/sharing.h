/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read permissions of a session. Profiles are private: a session belongs to its owner alone, as
 * perf.data does. A daemon's history is for users who may ask the daemon, too. So a directory that
 * belongs to SHARING_GROUP and is closed to all others (0750) is shared, and all new files below it
 * are shared.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define SHARING_GROUP "assay"

struct sharing {
	bool is_shared;
	gid_t group;
};

/* Whether new files below the directory are shared. */
struct sharing sharing_below(const char *dir);

/*
 * Opens a directory (0750) or a file (0640) for the group, if the group can be set; otherwise the
 * mode stays. Does nothing if `s` is not shared. False: it failed.
 */
bool sharing_give_dir(const struct sharing *s, const char *path);
bool sharing_give_file(const struct sharing *s, int fd);

/* Sharing with SHARING_GROUP, if this machine has the group. */
struct sharing sharing_with_group(void);
