/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders of this machine that are, or were, the root of a container:
 *
 *	/proc/PID/root                                       of running containers
 *	/var/lib/docker/overlay2/ID/diff                     the layers of docker,
 *	STORAGE/overlay/ID/diff                              podman and CRI-O (storage_places.h),
 *	/var/lib/containerd/…overlayfs/snapshots/ID/fs       and containerd
 *
 * A file that is found there counts only by its build id.
 */
#pragma once

#include "base/mem.h"

/* At most so many roots, running containers first. */
#define CONTAINER_ROOTS_MAX 1024

struct container_roots {
	VEC(char *) paths;
};

/* `root` is put before all paths: "" for this machine. */
void container_roots_init(struct container_roots *roots, const char *root);
void container_roots_fini(struct container_roots *roots); /* { 0 } is fine */
