/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One daemon a directory: DIR/lock is flock'ed while it lives, and says its process id. */
#pragma once

#include <sys/types.h>

struct error;

/*
 * Takes DIR/lock: a descriptor that holds it, or -EBUSY with the process id of who does in the
 * message. A lock that a killed daemon left is taken as it is. The lock is the descriptor's: a
 * child that inherits it holds it on.
 */
int lock_take(const char *dir, struct error *err);

/* Says another process id in it: that of the child that goes on. */
int lock_write_pid(int fd, pid_t pid, struct error *err);

/* The daemon that holds DIR/lock, or 0: nobody does. */
pid_t lock_holder(const char *dir);
