/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running processes in /proc, as events (see proc(5)). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "event/event.h"

struct image;

struct pid_list {
	int32_t *data;
	size_t n, cap;
};

/*
 * Pushes COMM and MAPPING events of one process, with the given time. Returns the number of events;
 * 0 if the process has gone or we may not read it; or the sink's error.
 */
int proc_scan_process(const char *proc, int32_t pid, uint64_t time_ns, struct event_sink *sink);

/*
 * The same of the processes of some threads, and the names of these threads. Those that have gone
 * are left out. Threads of a process stand together. Returns 0 or the sink's error.
 */
int proc_scan_threads(const char *proc, const struct pid_list *tids, uint64_t time_ns,
		      struct event_sink *sink);

/*
 * The same of a process that ran the file `program` when its events were last seen (NULL: not
 * known). If it has code of files, and none of this one, it has executed another program meanwhile:
 * COMM is that of an exec. A file is this one if it has its device and inode, or its path. A path
 * alone may change (the file is renamed), and /proc tells a process's paths by the root of assay,
 * the kernel's events by the root of the process (chroot(2)). Device and inode alone may differ,
 * too: the two sources may name different layers of overlayfs.
 */
int proc_scan_again(const char *proc, int32_t pid, const struct image *program, uint64_t time_ns,
		    struct event_sink *sink);

/*
 * Device and inode of the mapping that covers an address of assay's own process, as in MAPPING
 * events. False: no file is mapped there, or /proc can't be read.
 */
bool proc_own_mapping(const char *proc, uint64_t addr, uint64_t *dev, uint64_t *ino);

/* All processes; those that end meanwhile are left out. Returns 0 or a negative errno. */
int proc_scan_all(const char *proc, uint64_t time_ns, struct event_sink *sink);

/* Appends the pids of all processes, or the tids of one process. 0 or a negative errno. */
int proc_list_pids(const char *proc, struct pid_list *out);
int proc_list_threads(const char *proc, int32_t pid, struct pid_list *out);

/* The process of a thread. -1: it has gone. */
int32_t proc_process_of(const char *proc, int32_t tid);

/* Whether one of the threads still runs. A process that waits for its parent's wait(2) does not. */
bool proc_any_runs(const struct pid_list *tids);

/* The name of a thread, without its newline. */
bool proc_read_comm(const char *proc, int32_t pid, int32_t tid, char *comm, size_t size);
