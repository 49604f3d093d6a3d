/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording of Intel PT with one buffer for each thread, opened for our decoder. It has the
 * buffers, the clock, and the code that the processes had mapped at each time.
 */
#pragma once

#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/flow.h"

struct replay_file {
	char *path;
	struct file_mapping bytes; /* empty where it could not be opened */
};

struct replay_mapping {
	uint64_t start, end, file_off;
	const struct replay_file *file;
};

struct replay_process {
	int32_t pid;
	VEC(struct replay_mapping) maps; /* the newest last, and found first */
};

/* What the side band says, in the order of time. */
struct replay_change {
	uint64_t time_ns;
	int32_t pid, ppid; /* ppid ≠ 0: a fork */
	bool is_exec;
	struct replay_mapping map;
};

struct replay_thread {
	int32_t pid, tid;
};

struct replay {
	struct file_mapping bytes;
	struct perfdata *perfdata;
	struct pt_clock clock;
	bool has_tsc;
	VEC(struct replay_change) changes;
	VEC(struct replay_process) processes;
	struct replay_file files[256];
	size_t n_files, n_applied;
	VEC(struct replay_thread) threads;
	int32_t pid; /* whose buffer is decoded */
	struct pt_code *code;
	void (*events)(void *context, const struct pt_event *events, size_t n);
	void *context;
};

void replay_open(struct replay *r, const char *path); /* exits with a message on failure */
void replay_close(struct replay *r);

/*
 * Decodes one buffer into `events` (NULL: nowhere). Without a clock the code graph is kept from one
 * to the next of a process.
 */
void replay_decode(struct replay *r, const struct perfdata_aux *aux, bool all_branches,
		   void (*events)(void *context, const struct pt_event *events, size_t n),
		   void *context, struct pt_flow_stats *stats);
