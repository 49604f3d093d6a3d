/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profiled command: started, but held at the door until counting is set up.
 *
 * The child has the caller's terminal, working directory, environment, signal
 * mask and dispositions as they were when the recorder started.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

struct error;

struct child {
	pid_t pid;
	int go_fd;    /* a byte here lets it go */
	int error_fd; /* errno of a failed execve(2), or the end of the file */
};

/*
 * Whether the command can be found and executed: 0; -ENOENT, -EACCES … with a
 * message. Looked up along $PATH as execvp(3) does.
 */
int child_check(const char *command, struct error *err);

/* Forks. `mask` is the signal mask that the command gets. */
int child_prepare(char *const argv[], const sigset_t *mask, struct child *out, struct error *err);

/* Lets it execute the command and waits until it has, or could not. */
int child_go(struct child *c, char *const argv[], struct error *err);

/* Ends a child that was never let go. */
void child_abandon(struct child *c);
