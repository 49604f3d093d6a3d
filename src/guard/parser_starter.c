/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/parser_starter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/fence.h"
#include "guard/filter.h"
#include "guard/message.h"
#include "guard/sandbox.h"

#define SOCKET STDIN_FILENO

/* START comes with a socket for questions, and then FILES with one for files. */
enum starter_kind { STARTER_START, STARTER_FILES, STARTER_END, STARTER_HURRY };

struct starter_request {
	uint32_t kind;
	int32_t pid, nice_value;
	uint64_t memory_bytes;
};

struct starter_reply {
	int32_t result;
	struct parser_end end;
};

/* ---- the starter's process ---- */

struct starter {
	VEC(pid_t) children;
	uint64_t memory_bytes;
	int questions; /* of a child that starts; -1: none */
};

/* What a parser needs until it has a filter of its own, and the starting of it. */
static const struct filter_row starter_calls[] = {
	FILTER_ALLOW(capget),
	FILTER_ALLOW(capset),
	FILTER_ALLOW(close_range),
	FILTER_ALLOW(dup2),
	FILTER_ALLOW(dup3),
	FILTER_ALLOW(getpriority),
	FILTER_ALLOW(kill),
	FILTER_ALLOW(newfstatat),
	FILTER_ALLOW(open),
	FILTER_ALLOW(openat),
	FILTER_ALLOW(prctl),
	FILTER_ALLOW(prlimit64),
	FILTER_ALLOW(seccomp),
	FILTER_ALLOW(set_tid_address),
	FILTER_ALLOW(setpriority),
	FILTER_ALLOW(setrlimit),
	FILTER_ALLOW(wait4),
	{ .call = SCMP_SYS(clone), .mask = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID },
};

static pid_t *find_child(struct starter *s, pid_t pid)
{
	vec_foreach (&s->children, child)
		if (*child == pid)
			return child;
	return NULL;
}

static int start_parser(struct starter *s, int files)
{
	pid_t pid = s->questions < 0 || files < 0 ? -1 : fork();
	int r = pid < 0 ? -errno : pid;

	if (pid == 0)
		parser_child_run(s->memory_bytes, s->questions, files);
	if (pid > 0)
		vec_push(&s->children, pid);
	return r;
}

static void starter_answer(struct starter *s, const struct starter_request *r, int *fd,
			   struct starter_reply *out)
{
	pid_t *child = find_child(s, r->pid);

	switch ((enum starter_kind)r->kind) {
	case STARTER_START:
		close_at_exit(&s->questions);
		s->questions = *fd;
		s->memory_bytes = r->memory_bytes;
		*fd = -1;
		break;
	case STARTER_FILES:
		out->result = start_parser(s, *fd);
		close_at_exit(&s->questions);
		s->questions = -1;
		break;
	case STARTER_END:
		if (child) {
			parser_child_reap(*child, &out->end);
			*child = s->children.data[--s->children.n];
		}
		break;
	case STARTER_HURRY:
		if (child)
			setpriority(PRIO_PROCESS, (id_t)*child, r->nice_value);
		break;
	}
}

static bool starter_serve_one(struct starter *s)
{
	struct starter_request request;
	struct starter_reply reply = { 0 };
	cleanup(close_at_exit) int fd = -1;

	if (message_receive(SOCKET, &request, sizeof(request), &fd) != sizeof(request))
		return false;
	starter_answer(s, &request, &fd, &reply);
	return message_send(SOCKET, 0, &reply, sizeof(reply), NULL, 0, -1) == 0;
}

static int confine_starter(void)
{
	const struct filter_table tables[] = { filter_basic, filter_signals,
					       FILTER_TABLE(starter_calls) };
	const char *const readable[] = { "/" }, *const writable[] = { "/dev/null" };
	const struct fence fence = { .readable = readable,
				     .n_readable = ARRAY_SIZE(readable),
				     .writable = writable,
				     .n_writable = ARRAY_SIZE(writable) };
	int r = fence_enter(&fence, NULL);

	return r < 0 ? r : filter_enter(tables, ARRAY_SIZE(tables), "starter", NULL);
}

/* A signal for the group of the daemon does not end the starter before the daemon. */
static void be_starter(int socket)
{
	struct starter s = { .questions = -1 };
	struct parser_end end;
	sigset_t all;

	prctl(PR_SET_NAME, "assay-starter");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(socket, SOCKET) < 0 || sandbox_give_up_rights(NULL) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(1);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	if (confine_starter() < 0)
		_exit(1);
	while (starter_serve_one(&s))
		;
	vec_foreach (&s.children, child)
		parser_child_reap(*child, &end);
	_exit(0);
}

/* ---- the daemon's process ---- */

static struct {
	pthread_mutex_t lock;
	int socket; /* -1: there is no starter */
} starter = { PTHREAD_MUTEX_INITIALIZER, -1 };

static int starter_send(const struct starter_request *r, int fd, struct starter_reply *out)
{
	int none = -1, e;

	if (starter.socket < 0)
		return -ENOTCONN;
	e = message_send(starter.socket, 0, r, sizeof(*r), NULL, 0, fd);
	if (e == 0 && message_receive(starter.socket, out, sizeof(*out), &none) != sizeof(*out))
		e = -EPIPE;
	close_at_exit(&none);
	if (e < 0) {
		close_at_exit(&starter.socket);
		starter.socket = -1;
	}
	return e;
}

static int starter_ask(const struct starter_request *r, struct starter_reply *out)
{
	int e;

	pthread_mutex_lock(&starter.lock);
	e = starter_send(r, -1, out);
	pthread_mutex_unlock(&starter.lock);
	return e;
}

pid_t parser_starter_start(uint64_t memory_bytes, int questions, int files)
{
	const struct starter_request first = { .kind = STARTER_START,
					       .memory_bytes = memory_bytes };
	const struct starter_request second = { .kind = STARTER_FILES };
	struct starter_reply reply = { 0 };
	int e;

	pthread_mutex_lock(&starter.lock);
	e = starter_send(&first, questions, &reply);
	if (e == 0)
		e = starter_send(&second, files, &reply);
	pthread_mutex_unlock(&starter.lock);
	return e < 0 ? e : reply.result;
}

void parser_starter_end(pid_t pid, struct parser_end *out)
{
	const struct starter_request r = { .kind = STARTER_END, .pid = pid };
	struct starter_reply reply = { 0 };

	starter_ask(&r, &reply);
	*out = reply.end;
}

void parser_starter_hurry(pid_t pid, int nice_value)
{
	const struct starter_request r = { .kind = STARTER_HURRY,
					   .pid = pid,
					   .nice_value = nice_value };
	struct starter_reply reply;

	starter_ask(&r, &reply);
}

pid_t parser_starter_begin(struct error *err)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, -errno, "cannot start the starter of parsers");
	pid = fork();
	if (pid == 0)
		be_starter(ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return error_errno(err, -errno, "cannot start the starter of parsers");
	}
	starter.socket = ends[0];
	return pid;
}

void parser_starter_finish(pid_t pid)
{
	close_at_exit(&starter.socket);
	starter.socket = -1;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
