/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/top/top_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "open/input.h"
#include "store/session.h"

#define MAX_SAID     4096
#define SEGMENT_SIZE "1M"
/* Stopping: what ends a command, then the recording without it, then everything. */
#define STEP_MS 1500

static void redirect(int fd, const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC, 0666);

	if (file >= 0)
		dup2(file, fd);
}

static void be_recorder(const struct top_recorder *r, const struct option_list *args,
			const char *output, int said_fd, pid_t parent)
{
	const char **argv = xcalloc(args->n + 8, sizeof(*argv));
	sigset_t none;
	size_t n = 0;

	argv[n++] = "assay";
	argv[n++] = "record";
	argv[n++] = "--quiet";
	argv[n++] = "--segment-size=" SEGMENT_SIZE;
	argv[n++] = "-o";
	argv[n++] = r->dir;
	for (size_t i = 0; i < args->n; i++)
		argv[n++] = args->data[i];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Keys that send signals are for the view; should that be killed, so is the recorder. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
	redirect(STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC);
	dup2(said_fd, STDERR_FILENO);
	execv("/proc/self/exe", (char **)argv);
	dprintf(STDERR_FILENO, "assay: record: cannot start the recorder: %s\n", strerror(errno));
	_exit(EXIT_FAILED);
}

static bool is_readable(const struct top_recorder *r)
{
	struct session *s;

	if (session_open(r->dir, &s, NULL) < 0)
		return false;
	session_close(s);
	return true;
}

static int wait_for_session(struct top_recorder *r, struct error *err)
{
	while (r->pid && !is_readable(r)) {
		struct pollfd said = { .fd = r->said_fd, .events = POLLIN };

		poll(&said, 1, 20);
		top_recorder_poll(r);
	}
	return top_recorder_has_failed(r) ? error_set(err, -ECHILD, "the recorder failed") : 0;
}

int top_recorder_start(struct top_recorder *r, struct input *in, const struct option_list *args,
		       const char *output, struct error *err)
{
	pid_t parent = getpid();
	const char *dir;
	int ends[2], e = input_scratch(in, &dir, err);

	if (e < 0)
		return e;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, -errno, "pipe");
	r->dir = xasprintf("%s/live", dir);
	fflush(NULL);
	r->pid = fork();
	if (!r->pid)
		be_recorder(r, args, output, ends[1], parent);
	close(ends[1]);
	r->said_fd = ends[0];
	if (r->pid < 0) {
		e = -errno;
		r->pid = 0;
		return error_errno(err, e, "cannot start the recorder");
	}
	return wait_for_session(r, err);
}

static void read_said(struct top_recorder *r)
{
	char text[1024];
	ssize_t n;

	while (r->said_fd >= 0 && (n = read(r->said_fd, text, sizeof(text))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if (r->said.len < MAX_SAID)
			buf_bytes(&r->said, text, (size_t)n);
	}
	if (r->said_fd >= 0)
		close(r->said_fd);
	r->said_fd = -1;
}

void top_recorder_poll(struct top_recorder *r)
{
	int status;

	read_said(r);
	if (!r->pid || waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	r->pid = 0;
	r->wait_status = status;
	read_said(r);
}

/* If the session has an end, the recorder worked, and the status is the command's. */
bool top_recorder_has_failed(const struct top_recorder *r)
{
	struct session *s;
	bool has_end;

	if (r->pid || session_open(r->dir, &s, NULL) < 0)
		return !r->pid;
	has_end = s->has_end;
	session_close(s);
	return !has_end;
}

int top_recorder_explain(struct top_recorder *r, struct error *err)
{
	static const char prefix[] = "assay: record: ";
	char *text = (char *)buf_cstr(&r->said), *at = strstr(text, prefix);

	at = at ? at + strlen(prefix) : text;
	at[strcspn(at, "\n")] = '\0';
	if (*at)
		error_set(err, -ECHILD, "%s", at);
	else
		error_set(err, -ECHILD, "the recorder ended without a message");
	return WIFEXITED(r->wait_status) && WEXITSTATUS(r->wait_status)
		       ? WEXITSTATUS(r->wait_status)
		       : EXIT_FAILED;
}

/* The newest file stays whatever it has: the recorder writes to it. */
void top_recorder_forget(const struct top_recorder *r, const struct session *s, uint64_t ns)
{
	for (uint32_t i = 0; i + 1 < s->n_segments; i++) {
		const struct segment *segment = s->segments[i];
		cleanup(free_at_exit) char *path = NULL;

		if (segment->n_blocks && segment->blocks[segment->n_blocks - 1].last_ns >= ns)
			return;
		path = xasprintf("%s/samples/current/%s", r->dir, segment->name);
		unlink(path);
	}
}

void top_recorder_stop(struct top_recorder *r)
{
	static const int signals[] = { SIGTERM, SIGTERM, SIGKILL };

	for (size_t i = 0; i < ARRAY_SIZE(signals) && r->pid; i++) {
		kill(r->pid, signals[i]);
		for (int ms = 0; r->pid && (ms < STEP_MS || signals[i] == SIGKILL); ms += 10) {
			poll(NULL, 0, 10);
			top_recorder_poll(r);
		}
	}
	if (r->said_fd >= 0)
		close(r->said_fd);
	buf_fini(&r->said);
	free(r->dir);
}
