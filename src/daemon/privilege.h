/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Privileges of the daemon after its directory and socket are made. It keeps the capabilities to
 * open counters, which it needs later, too: a CPU comes online, or rate or events change. The
 * opener, a separate process, keeps the capabilities that reach into other users' processes and
 * files (guard/opener.h). The daemon gives up all others, for itself and its children, before the
 * recording opens, so that its threads begin without them.
 */
#pragma once

#include <stdbool.h>

struct daemon_user;
struct error;

/*
 * Raises the priority of the recording thread if that is permitted and the nice value is 0. The
 * kernel's records wait in rings of limited size, and users wait for a dump. The daemon's budget
 * keeps it small anyway. Children do not inherit the priority (thread_be_ordinary(), upkeep.c).
 */
void privilege_go_first(void);

/*
 * Starts the opener of a daemon that has more rights than an ordinary user, and asks it from now
 * on. Returns its process id, or 0: an ordinary user has none. Call it before privilege_drop(), in
 * the only thread. The opener ends with the daemon.
 */
int privilege_start_opener(const struct daemon_user *user, struct error *err);

/*
 * Becomes the user, gives up every capability that privilege.c does not list, and sets
 * no_new_privs. Never adds a capability. `may_mount`: keep the capability to unmount our file
 * system at the end.
 */
int privilege_drop(const struct daemon_user *user, bool may_mount, struct error *err);
