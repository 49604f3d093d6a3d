/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/open_helper.h"
#include "base/mem.h"
#include "base/thread.h"
#include "guard/opener.h"

#define ANSWER_MS 2000

static struct {
	pthread_mutex_t lock;
	int socket;
	uint32_t number;
	bool is_late; /* the reply to `number` has not come */
	struct opener_state state;
} opener = { .lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };

static int opener_send(const struct opener_request *r, int fd)
{
	struct opener_head head = r->head;
	struct iovec bytes[] = { { &head, sizeof(head) }, { (void *)r->path, r->size } };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = bytes, .msg_iovlen = ARRAY_SIZE(bytes) };

	if (++opener.number == OPENER_NOTICE)
		opener.number++;
	head.number = opener.number;
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(opener.socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives one reply. */
static int opener_receive(struct opener_reply *reply, int *fd)
{
	struct iovec bytes = { reply, sizeof(*reply) };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(opener.socket, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n == sizeof(*reply) ? 0 : n < 0 ? -errno : -EPIPE;
}

/* False: an opener died. */
static bool take_notice(int32_t result)
{
	opener.state.pid = MAX(result, 0);
	opener.state.n_died += result < 0;
	return result >= 0;
}

/* The reply to the last request; those of earlier ones are dropped. */
static int opener_await(int wait_ms)
{
	uint64_t end_ns = clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;

	for (;;) {
		struct pollfd p = { .fd = opener.socket, .events = POLLIN };
		uint64_t now_ns = clock_monotonic_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns + 999999) / 1000000) : 0;
		struct opener_reply reply;
		int fd, r = poll(&p, 1, left_ms);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -ETIMEDOUT;
		r = opener_receive(&reply, &fd);
		if (r < 0)
			return r;
		if (reply.number == OPENER_NOTICE) {
			if (!take_notice(reply.result))
				return -ECONNRESET;
		} else if (reply.number == opener.number) {
			return reply.result < 0 ? reply.result : fd < 0 ? -EIO : fd;
		}
		close_at_exit(&fd);
	}
}

/* Takes what came since the last request. True: its late reply is still to come. */
static bool opener_drain(void)
{
	int fd;

	while ((fd = opener_await(0)) != -ETIMEDOUT) {
		close_at_exit(&fd);
		opener.is_late = false;
		if (fd < 0 && fd != -ECONNRESET)
			break;
	}
	return opener.is_late;
}

int opener_ask(const struct opener_request *request, int fd)
{
	int r = -ENOTCONN;

	pthread_mutex_lock(&opener.lock);
	if (opener.socket >= 0) {
		r = opener_drain() ? -EBUSY : opener_send(request, fd);
		r = r < 0 ? r : opener_await(ANSWER_MS);
		opener.is_late |= r == -ETIMEDOUT;
	}
	pthread_mutex_unlock(&opener.lock);
	return r;
}

struct opener_state opener_state(void)
{
	static struct opener_state state;

	/* Another thread may be waiting for a reply. */
	if (pthread_mutex_trylock(&opener.lock) != 0)
		return state;
	if (opener.socket >= 0)
		opener_drain();
	state = opener.state;
	pthread_mutex_unlock(&opener.lock);
	return state;
}

/* ---- requests ---- */

static bool put_path(struct opener_request *r, const char *path)
{
	r->size = strlen(path) + 1;
	if (r->size > sizeof(r->path))
		return false;
	memcpy(r->path, path, r->size);
	return true;
}

/* The result of the kernel if there is no opener, or if it refuses. */
static int opener_ask_or(const struct opener_request *r, int fd, int error)
{
	int opened = opener_ask(r, fd);

	return opened < 0 ? error : opened;
}

static enum opener_kind kind_of_path(const char *path)
{
	static const enum opener_kind by_name[] = { OPENER_JIT_MAP, OPENER_JIT_DUMP,
						    OPENER_ENGINE_FILE };

	for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
		if (opener_is_path_of(by_name[i], path))
			return by_name[i];
	return OPENER_IMAGE;
}

static struct opener_request request_for(enum opener_kind kind, const struct guard_rules *rules)
{
	struct opener_request r = { .head.kind = kind };

	if (rules) {
		r.head.max_bytes = rules->max_bytes;
		r.head.owner = rules->owner;
		r.head.is_link_refused = rules->is_link_refused;
	}
	return r;
}

int opener_open(int root, const char *path, const struct guard_rules *rules, int error)
{
	enum opener_kind kind = kind_of_path(path);
	struct opener_request r = request_for(kind, rules);

	if (opener.socket < 0 || !open_helper_can_mend(error) || !put_path(&r, path) ||
	    (kind == OPENER_ENGINE_FILE && root != GUARD_HERE))
		return error;
	return opener_ask_or(&r, root == GUARD_HERE ? -1 : root, error);
}

int opener_facts(int root, const char *path, int error)
{
	struct opener_request r = request_for(OPENER_FACTS, NULL);

	if (opener.socket < 0 || !open_helper_can_mend(error) || !put_path(&r, path))
		return error;
	return opener_ask_or(&r, root == GUARD_HERE ? -1 : root, error);
}

/* "/proc/PID/": the pid and the rest. */
static const char *after_process(const char *path, int32_t *pid)
{
	static const char proc[] = "/proc/";
	char *end;
	long n;

	if (strncmp(path, proc, strlen(proc)) != 0)
		return "";
	path += strlen(proc);
	n = strtol(path, &end, 10);
	if (end == path || *end != '/' || n <= 0 || n > INT32_MAX)
		return "";
	*pid = (int32_t)n;
	return end + 1;
}

int opener_link(const char *link, const struct guard_rules *rules, int error)
{
	struct opener_request r = request_for(OPENER_PROC_EXE, rules);
	const char *rest = after_process(link, &r.head.pid);

	if (opener.socket < 0 || !open_helper_can_mend(error))
		return error;
	if (sscanf(rest, "map_files/%" SCNx64 "-%" SCNx64, &r.head.first, &r.head.last) == 2)
		r.head.kind = OPENER_PROC_MAPPING;
	else if (strcmp(rest, "exe") != 0)
		return error;
	return opener_ask_or(&r, -1, error);
}

int opener_root(const char *folder, int error)
{
	struct opener_request r = request_for(OPENER_PROC_ROOT, NULL);

	if (opener.socket < 0 || !open_helper_can_mend(error) ||
	    strcmp(after_process(folder, &r.head.pid), "root") != 0)
		return error;
	return opener_ask_or(&r, -1, error);
}

int opener_memory(const char *path, int error)
{
	struct opener_request r = request_for(OPENER_PROC_MEMORY, NULL);

	if (opener.socket < 0 || !open_helper_can_mend(error) ||
	    strcmp(after_process(path, &r.head.pid), "mem") != 0)
		return error;
	return opener_ask_or(&r, -1, error);
}

bool opener_is_there(void)
{
	return opener.socket >= 0;
}

int opener_cgroup(int mount, uint64_t number, int error)
{
	struct opener_request r = request_for(OPENER_CGROUP, NULL);

	r.head.first = number;
	if (opener.socket < 0 || !open_helper_can_mend(error))
		return error;
	return opener_ask_or(&r, mount, error);
}

/* ---- files of the kernel, and counters ---- */

static int helper_open_file(const char *path)
{
	static const char *const tops[] = { "/sys/kernel/tracing/events/",
					    "/sys/kernel/debug/tracing/events/" };
	struct opener_request r = request_for(OPENER_PROC_MAPS, NULL);

	if (!strcmp(after_process(path, &r.head.pid), "maps"))
		return opener_ask(&r, -1);
	r.head = (struct opener_head){ .kind = OPENER_TRACEPOINT };
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		const char *rest = path + strlen(tops[i]);

		if (!strncmp(path, tops[i], strlen(tops[i])) &&
		    opener_is_path_of(OPENER_TRACEPOINT, rest) && put_path(&r, rest))
			return opener_ask(&r, -1);
	}
	return -EACCES;
}

static int helper_open_counter(const struct perf_event_attr *attr, int pid, int cpu, int leader,
			       unsigned long flags)
{
	struct opener_request r = request_for(OPENER_COUNTER, NULL);

	r.head.pid = pid;
	r.head.cpu = cpu;
	r.head.first = flags;
	r.size = sizeof(*attr);
	memcpy(r.attr, attr, sizeof(*attr));
	((struct perf_event_attr *)(void *)r.attr)->size = sizeof(*attr);
	return opener_ask(&r, leader);
}

void opener_connect(int socket)
{
	static const struct open_helper helper = { helper_open_file, helper_open_counter };

	close_at_exit(&opener.socket);
	if (socket >= 0)
		thread_init_lock(&opener.lock);
	opener.socket = socket;
	opener.is_late = false;
	opener.state = (struct opener_state){ 0 };
	open_helper_set(socket < 0 ? NULL : &helper);
}
