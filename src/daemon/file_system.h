/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system that the daemon mounts at its start and serves in its own loop. The files stand for
 * daemon/actions.h. No lock: all calls come from the daemon's one thread.
 */
#pragma once

struct daemon;
struct machine;

struct daemon_file_system {
	/* NULL, with the reason in the log: it cannot be mounted, and the daemon does without. */
	void *(*open)(struct daemon *d, const char *mountpoint);
	/* Unmounts. NULL is fine, here and below. */
	void (*close)(void *mounted);
	/* A recording begins, with this machine; or (NULL) ends. */
	void (*set_machine)(void *mounted, struct machine *machine);
	/* Gives the readers what has come. Each turn of the loop. */
	void (*turn)(void *mounted);
};

/* In commands/tables.c; NULL: this build has none. */
extern const struct daemon_file_system *const daemon_file_system;
