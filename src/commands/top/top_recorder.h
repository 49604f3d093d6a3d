/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of the live view: a separate process `assay record`, whose session is read while it
 * grows. So the terminal, its signals and a slow reader do not disturb the recording.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct error;
struct input;
struct option_list;

struct top_recorder {
	pid_t pid;   /* 0: it has ended */
	int said_fd; /* what it says on standard error; -1: all of it was read */
	int wait_status;
	char *dir;       /* of the session */
	struct buf said; /* its first words */
	bool has_command;
};

/*
 * Starts it with these arguments of `assay record` and waits until the session can be read. The
 * output of a command goes to `output`. -ECHILD: it has ended at once; top_recorder_explain()
 * says why.
 */
int top_recorder_start(struct top_recorder *r, struct input *in, const struct option_list *args,
		       const char *output, struct error *err);

/* Reads what it said; notices its end. */
void top_recorder_poll(struct top_recorder *r);

/*
 * After its end: whether it failed. top_recorder_explain() puts its messages into `err` and returns
 * the exit status.
 */
bool top_recorder_has_failed(const struct top_recorder *r);
int top_recorder_explain(struct top_recorder *r, struct error *err);

/* Deletes files of the session that have nothing from `ns` (CLOCK_MONOTONIC) on. */
struct session;
void top_recorder_forget(const struct top_recorder *r, const struct session *s, uint64_t ns);

/* Ends it, and the command. */
void top_recorder_stop(struct top_recorder *r);
