/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keeper of the daemon's rights: a process that starts the opener (guard/opener.h), starts it
 * again when it dies, and unmounts our file system at the end.
 *
 *	daemon ── socket ──┬── opener    takes requests and answers
 *	                   └── keeper    tells when an opener starts or dies (opener_notice())
 *
 * The keeper ends when the daemon closes its end of the socket, however that happens. It takes no
 * request, so nobody can talk it into anything.
 */
#pragma once

#include <sys/types.h>

struct daemon_user;
struct error;

/*
 * Starts the keeper of a daemon that has more rights than an ordinary user, and asks its opener
 * from now on. Returns its process id, or 0: an ordinary user has none. Call it before
 * privilege_drop(), in the only thread. The opener has real-time priority, as the recording thread
 * has, which waits for it (base/thread.h). `mountpoint`: what to unmount; NULL: nothing.
 */
pid_t keeper_start(const struct daemon_user *user, const char *mountpoint, struct error *err);

/* Ends the keeper and its opener, and waits until the file system is unmounted. 0 is fine. */
void keeper_end(pid_t keeper);
