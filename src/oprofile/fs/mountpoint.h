/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount point of oprofilefs: creates it if it is missing, and unmounts the remains of a killed
 * daemon.
 */
#pragma once

struct error;

#define MOUNT_TYPE "fuse.assay"

/*
 * Prepares the mount point. *out is the path without links; the caller frees it. -EBUSY: another
 * file system, or a living daemon's, is mounted there.
 */
int mountpoint_prepare(const char *path, char **out, struct error *err);

/*
 * The type of the file system mounted at a path without links; the caller frees it. NULL: none is
 * mounted.
 */
char *mountpoint_type(const char *path);
