/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon may do once its place on disk and its socket are made: the capabilities that
 * opening counters needs, then and again (a CPU comes online, another rate, other events), and no
 * others, for it and all that it could ever start. Dropped before the recording opens: its threads
 * begin without them.
 */
#pragma once

#include <stdbool.h>

struct error;

/*
 * The recorder's thread goes before others from now on, where that is permitted and nobody gave it
 * a nice value: what the kernel counted waits in rings of a given size for it, and who asks for a
 * dump as well. Its own budget keeps it small. What it starts doesn't inherit that
 * (thread_be_ordinary(), upkeep.c).
 */
void privilege_go_first(void);

/*
 * Gives up every capability that privilege.c has no reason for, and sets no_new_privs. What was
 * not there before is not there after. `may_mount`: a file system of ours is to be unmounted at
 * the end.
 */
int privilege_drop(bool may_mount, struct error *err);
