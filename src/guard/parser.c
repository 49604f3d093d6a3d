/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/parser.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "guard/sandbox.h"

#define REQUEST_MAX  ((size_t)128 << 10)
#define INLINE_MAX   ((size_t)64 << 10) /* a larger answer is in a memfd */
#define ANSWER_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Before the bytes of a request. */
struct request_head {
	uint32_t number, handler;
};

/* Before the bytes of an answer; with a descriptor, they are in the memfd. */
struct answer_head {
	uint32_t number, is_in_memfd;
	uint64_t size;
};

struct parser {
	struct parser_config config;
	pthread_mutex_t lock; /* of the fields below, and of a request with its answer */
	pid_t pid;            /* 0: none */
	int questions, files; /* sockets */
	uint32_t number;
	struct parser_cost cost;
	uint8_t *room; /* INLINE_MAX and a head */
};

/* ---- messages ---- */

union control {
	struct cmsghdr head;
	uint8_t room[CMSG_SPACE(sizeof(int))];
};

static int send_parts(int socket, const void *head, size_t head_size, const void *bytes,
		      size_t size, int fd)
{
	struct iovec parts[] = { { (void *)head, head_size }, { (void *)bytes, size } };
	union control control = { 0 };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = size ? 2 : 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The size of a message, 0 at the end, or a negative errno. *fd is the caller's; -1: none. */
static ssize_t receive(int socket, void *room, size_t size, int *fd)
{
	struct iovec part = { room, size };
	union control control;
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n > 0 && m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		close_at_exit(fd);
		*fd = -1;
		return -EPROTO;
	}
	return n < 0 ? -errno : n;
}

/* ---- the child ---- */

static int put_in_memfd(const struct buf *answer)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && file_write_all(fd, answer->data, answer->len) == 0 &&
	    fcntl(fd, F_ADD_SEALS, ANSWER_SEALS) == 0)
		return fd;
	close_at_exit(&fd);
	return -1;
}

static bool send_answer(int socket, uint32_t number, const struct buf *answer)
{
	struct answer_head head = { .number = number, .size = answer->len };
	cleanup(close_at_exit) int fd = -1;

	if (answer->len <= INLINE_MAX)
		return send_parts(socket, &head, sizeof(head), answer->data, answer->len, -1) == 0;
	head.is_in_memfd = true;
	fd = put_in_memfd(answer);
	return fd >= 0 && send_parts(socket, &head, sizeof(head), NULL, 0, fd) == 0;
}

static bool answer_one(const struct parser_config *config, int socket, uint8_t *room)
{
	struct request_head head;
	struct buf answer = { 0 };
	struct reader request;
	int fd;
	ssize_t n = receive(socket, room, REQUEST_MAX, &fd);
	bool is_sent;

	close_at_exit(&fd);
	if (n < (ssize_t)sizeof(head))
		return false;
	memcpy(&head, room, sizeof(head));
	request = reader_over(room + sizeof(head), (size_t)n - sizeof(head));
	/* If the parent dies meanwhile, nobody else ends this request. */
	alarm(2 * config->deadline_ms / 1000 + 2);
	if (head.handler < config->n_handlers)
		config->handlers[head.handler](&request, &answer);
	alarm(0);
	is_sent = send_answer(socket, head.number, &answer);
	buf_fini(&answer);
	return is_sent;
}

/* Keeps the two sockets alone; 0 to 2 lead nowhere. */
static void close_others(int *questions, int *files)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	*questions = fcntl(*questions, F_DUPFD_CLOEXEC, 5);
	*files = fcntl(*files, F_DUPFD_CLOEXEC, 5);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (*questions < 0 || *files < 0)
		_exit(1);
	dup2(*questions, 3);
	dup2(*files, 4);
	*questions = 3;
	*files = 4;
	close_range(5, ~0U, 0);
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	/* Ctrl-C goes to all processes of a terminal; the parent decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static void run_child(const struct parser_config *config, int questions, int files)
{
	uint8_t *room = xmalloc(REQUEST_MAX);

	prctl(PR_SET_NAME, "assay-parser");
	reset_signals();
	close_others(&questions, &files);
	if (config->connect)
		config->connect(files);
	if (sandbox_enter(config->memory_bytes, NULL) < 0)
		_exit(1);
	while (answer_one(config, questions, room))
		;
	_exit(0);
}

/* ---- this process ---- */

struct parser *parser_new(const struct parser_config *config)
{
	struct parser *p = xcalloc(1, sizeof(*p));

	p->config = *config;
	p->questions = p->files = -1;
	p->room = xmalloc(INLINE_MAX + sizeof(struct answer_head));
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

/* Kills the child and counts its cost. */
static void end_child(struct parser *p)
{
	struct rusage used;

	if (!p->pid)
		return;
	close_at_exit(&p->questions);
	close_at_exit(&p->files);
	p->questions = p->files = -1;
	kill(p->pid, SIGKILL);
	while (wait4(p->pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	p->pid = 0;
	p->cost.cpu_ns += timeval_ns(used.ru_utime) + timeval_ns(used.ru_stime);
	p->cost.peak_bytes = MAX(p->cost.peak_bytes, (uint64_t)used.ru_maxrss * 1024);
}

void parser_free(struct parser *p)
{
	if (!p)
		return;
	end_child(p);
	pthread_mutex_destroy(&p->lock);
	free(p->room);
	free(p);
}

static int start_child(struct parser *p, struct error *err)
{
	int questions[2], files[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, questions) < 0)
		return error_errno(err, -errno, "cannot start the parser");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) == 0)
		p->pid = fork();
	if (p->pid == 0 && files[0] >= 0)
		run_child(&p->config, questions[1], files[1]);
	close(questions[1]);
	close_at_exit(&files[1]);
	if (p->pid <= 0) {
		p->pid = 0;
		close(questions[0]);
		close_at_exit(&files[0]);
		return error_errno(err, -errno, "cannot start the parser");
	}
	p->questions = questions[0];
	p->files = files[0];
	p->cost.n_started++;
	return 0;
}

/* Until the child answers, serves its requests for files. 0, or why there is no answer. */
static int await_answer(struct parser *p, uint64_t end_ns)
{
	for (;;) {
		struct pollfd polled[] = { { .fd = p->questions, .events = POLLIN },
					   { .fd = p->files, .events = POLLIN } };
		uint64_t now_ns = clock_monotonic_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;
		int r = poll(polled, ARRAY_SIZE(polled), left_ms);

		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0)
			return -ETIMEDOUT;
		if (r > 0 && polled[0].revents)
			return 0;
		if (r > 0 && (!p->config.serve || !p->config.serve(p->files)))
			return -EPIPE;
	}
}

/* Maps a sealed memfd. */
static int map_answer(int fd, uint64_t size, struct parser_answer *out)
{
	struct stat st;
	void *base;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & ANSWER_SEALS) != ANSWER_SEALS || fstat(fd, &st) < 0 || !size ||
	    size > PARSER_ANSWER_MAX || (uint64_t)st.st_size != size)
		return -EPROTO;
	base = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	*out = (struct parser_answer){ base, (size_t)size, true };
	return 0;
}

static int take_answer(struct parser *p, struct parser_answer *out)
{
	struct answer_head head;
	cleanup(close_at_exit) int fd = -1;
	ssize_t n = receive(p->questions, p->room, INLINE_MAX + sizeof(head), &fd);
	uint8_t *copy;

	if (n <= 0)
		return n < 0 && n != -ECONNRESET ? (int)n : -EPIPE;
	if ((size_t)n < sizeof(head))
		return -EPROTO;
	memcpy(&head, p->room, sizeof(head));
	if (head.number != p->number)
		return -EPROTO;
	if (head.is_in_memfd)
		return fd < 0 ? -EPROTO : map_answer(fd, head.size, out);
	n -= (ssize_t)sizeof(head);
	if ((uint64_t)n != head.size)
		return -EPROTO;
	copy = xmalloc((size_t)n + 1);
	memcpy(copy, p->room + sizeof(head), (size_t)n);
	*out = (struct parser_answer){ copy, (size_t)n, false };
	return 0;
}

static int ask_child(struct parser *p, uint32_t handler, const struct buf *request,
		     struct parser_answer *answer)
{
	const struct request_head head = { ++p->number, handler };
	uint64_t end_ns = clock_monotonic_ns() + p->config.deadline_ms * UINT64_C(1000000);
	int r = send_parts(p->questions, &head, sizeof(head), request->data, request->len, -1);

	if (r == 0)
		r = await_answer(p, end_ns);
	if (r == 0)
		r = take_answer(p, answer);
	return r == -ECONNRESET || r == -ENOTCONN ? -EPIPE : r;
}

static int explain(struct parser *p, int r, struct error *err)
{
	switch (r) {
	case 0:
		return 0;
	case -ETIMEDOUT:
		p->cost.n_late++;
		return error_set(err, r, "the parser took longer than %u ms",
				 p->config.deadline_ms);
	case -EPIPE:
		p->cost.n_died++;
		return error_set(err, r, "the parser died");
	default:
		p->cost.n_died++;
		return error_errno(err, r, "the parser's answer");
	}
}

int parser_ask(struct parser *p, uint32_t handler, const struct buf *request,
	       struct parser_answer *answer, struct error *err)
{
	int r = 0;

	assert(handler < p->config.n_handlers);
	*answer = (struct parser_answer){ 0 };
	if (request->len > REQUEST_MAX - sizeof(struct request_head))
		return error_set(err, -EMSGSIZE, "a request to the parser is too long");
	pthread_mutex_lock(&p->lock);
	if (!p->pid)
		r = start_child(p, err);
	if (r == 0) {
		r = explain(p, ask_child(p, handler, request, answer), err);
		if (r < 0)
			end_child(p);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void parser_answer_fini(struct parser_answer *a)
{
	if (a->is_mapped)
		munmap((void *)a->bytes, a->size);
	else
		free((void *)a->bytes);
	*a = (struct parser_answer){ 0 };
}

struct parser_cost parser_cost(struct parser *p)
{
	struct parser_cost cost;

	pthread_mutex_lock(&p->lock);
	cost = p->cost;
	pthread_mutex_unlock(&p->lock);
	return cost;
}

int parser_pid(struct parser *p)
{
	int pid;

	pthread_mutex_lock(&p->lock);
	pid = p->pid;
	pthread_mutex_unlock(&p->lock);
	return pid;
}
