/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profiled command: started, but stopped until counting is set up.
 *
 * The child has the caller's terminal, working directory and environment, and the signal mask and
 * dispositions of the recorder's start.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

struct child {
	pid_t pid;
	int go_fd;    /* a byte here starts the command */
	int error_fd; /* errno of a failed execve(2), or the end of the file */
};

/* The path of a command along $PATH; NULL: there is none. The caller frees it. */
char *child_find(const char *command);

/*
 * Whether the command can be found and executed: 0; -ENOENT, -EACCES … with a
 * message. Looked up along $PATH as execvp(3) does.
 */
int child_check(const char *command, struct error *err);

/*
 * Forks. `mask` is the command's signal mask. `variables`: "NAME=VALUE" for its environment, and
 * NULL at the end; NULL: none. `keeps_stdout`: its standard output is ours; else our standard
 * error.
 */
int child_prepare(char *const argv[], char *const variables[], const sigset_t *mask,
		  bool keeps_stdout, struct child *out, struct error *err);

/* Starts the command, and waits for its execve(2) or its failure. */
int child_go(struct child *c, char *const argv[], struct error *err);

/* Ends a child that was never started. */
void child_abandon(struct child *c);
