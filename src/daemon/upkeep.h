/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history's upkeep, in a child process of lowest priority. It packs finished parts
 * (store/history/pack.h), and merges and removes old ones (store/history/retention.h). It may be
 * killed at any time; the next one continues.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct daemon_settings;
struct error;

/*
 * Starts the upkeep of the parts in `dir`, except `active`, the name of the part that is being
 * written. Returns a process id or a negative errno. The child writes its errors to the log. Its
 * nice value is 19. On a machine that is always busy, it could then run for days; so `is_late`, for
 * one that follows an upkeep without end, gives it the nice value 0.
 */
pid_t upkeep_start(const char *dir, const char *active, const struct daemon_settings *settings,
		   bool is_late, struct error *err);

/*
 * A child for such work: 0 in the child, which has the lowest priority (is_late: an ordinary one),
 * and ends when the daemon does. The child has to confine itself (confine_upkeep()).
 */
pid_t upkeep_fork(bool is_late, struct error *err);

/*
 * Ends the upkeep and waits for it. At its low priority, that may take a while: `meanwhile` (may be
 * NULL) is called every few milliseconds. pid 0: none runs.
 */
void upkeep_end(pid_t pid, void (*meanwhile)(void *context), void *context);

/* Whether it has ended. Then the process is also reaped. */
bool upkeep_reap(pid_t pid);
