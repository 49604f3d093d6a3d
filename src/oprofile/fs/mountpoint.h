/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where oprofilefs is mounted: made if it is not there, and freed of what a daemon that was killed
 * has left mounted.
 */
#pragma once

struct error;

#define MOUNT_TYPE "fuse.assay"

/*
 * *out is the path without links, the caller's to free(). -EBUSY: another file system, or that of
 * a daemon that lives, is mounted there.
 */
int mountpoint_prepare(const char *path, char **out, struct error *err);

/* The type of what is mounted at a path without links, to be freed; NULL: nothing is. */
char *mountpoint_type(const char *path);
