/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory has one daemon. The daemon holds flock(2) on DIR/lock, which has its process id. */
#pragma once

#include <sys/types.h>

struct error;

/* The user that a daemon of root becomes. Its directories are trusted like those of root. */
#define DAEMON_USER "assay"

/*
 * Takes DIR/lock. Returns a descriptor that holds it; or -EBUSY with the process id of its holder
 * in the message. The lock file of a killed daemon is no obstacle. A child that inherits the
 * descriptor holds the lock, too.
 */
int lock_take(const char *dir, struct error *err);

/* Writes another process id into it: the child's, which takes over. */
int lock_write_pid(int fd, pid_t pid, struct error *err);

/* The daemon that holds DIR/lock, or 0: nobody does. */
pid_t lock_holder(const char *dir);
