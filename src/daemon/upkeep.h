/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history's upkeep, in a child process that gets what the CPUs have left: parts that are over
 * are packed (store/pack.h), old ones merged and removed (store/history/retention.h). It may be
 * killed at any time; the next one goes on where it was.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct daemon_settings;
struct error;

/*
 * Starts one for the parts in `dir`, of which `active` (a name) is being written: its process id,
 * or a negative errno. A message of what went wrong is in the log.
 */
pid_t upkeep_start(const char *dir, const char *active, const struct daemon_settings *settings,
		   struct error *err);

/*
 * Ends it, and waits for that, which takes as long as the CPUs and the disk make one wait who is
 * of idle priority: `meanwhile` (may be NULL) is called every few milliseconds. 0: there is none.
 */
void upkeep_end(pid_t pid, void (*meanwhile)(void *context), void *context);

/* Has it ended? Then it was waited for. */
bool upkeep_has_ended(pid_t pid);
