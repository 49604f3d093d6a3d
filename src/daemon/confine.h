/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls and the files of the daemon and its helpers: a filter (guard/filter.h) for each
 * process, and a fence (guard/fence.h) for those that look into no other process. Each function is
 * for the calling process, which has one thread and no_new_privs.
 */
#pragma once

#include <stdbool.h>

struct error;

/*
 * The daemon: it reads where files permit it, and writes below `dir`, in the cache and nowhere
 * else. Without an opener, it looks into processes itself, and there is no fence. Returns the
 * version of Landlock, 0: no fence, or a negative errno.
 */
int confine_daemon(const char *dir, bool has_opener, struct error *err);

/* The keeper: it starts openers, and unmounts our file system if there is one. */
int confine_keeper(bool opens_counters, bool has_mount, struct error *err);

/* The opener: it opens files, and counters if it has to. */
int confine_opener(bool opens_counters, struct error *err);

/* The upkeep: it reads and writes below `dir`, the history, only, and has no capabilities. */
int confine_upkeep(const char *dir, struct error *err);
