/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system that the daemon mounts at its start and serves in its loop. Its files stand for
 * daemon/actions.h. Needs no lock: only the daemon's thread calls it.
 */
#pragma once

struct daemon;
struct machine;

struct daemon_file_system {
	/*
	 * Mounts it. NULL: it can't be mounted; the log has the reason, and the daemon does
	 * without.
	 */
	void *(*open)(struct daemon *d, const char *mountpoint);
	/* Unmounts. `mounted` may be NULL, here and below. */
	void (*close)(void *mounted);
	/* A recording begins with this machine, or ends (NULL). */
	void (*set_machine)(void *mounted, struct machine *machine);
	/* Delivers new samples to readers. Called in each turn of the loop. */
	void (*turn)(void *mounted);
};

/* In commands/tables.c; NULL: this build has none. */
extern const struct daemon_file_system *const daemon_file_system;
