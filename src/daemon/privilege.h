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
 * Raises the priority of the recording thread if that is permitted and the nice
 * value is 0. The kernel's records wait in rings of limited size, and users wait for a dump. The
 * daemon's budget keeps it small anyway. Threads and the upkeep do not keep the priority
 * (thread_be_ordinary(), upkeep.c). The recording thread gets more: thread_be_real_time().
 */
void privilege_go_first(void);

enum privilege_role {
	ROLE_DAEMON,
	ROLE_KEEPER, /* keeper.h */
	ROLE_OPENER,
};

/*
 * Becomes the user, gives up every capability that the role does not have, and sets no_new_privs.
 * Never adds a capability. `has_mount`: the keeper has to unmount our file system at the end.
 */
int privilege_drop(enum privilege_role role, const struct daemon_user *user, bool has_mount,
		   struct error *err);

/* Whether this process has rights that only its opener is to have. */
bool privilege_check_opener(void);

/* Whether this kernel opens counters for CAP_SYS_ADMIN only. Then the opener opens them. */
bool privilege_counters_want_admin(void);
