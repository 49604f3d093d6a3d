/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/reader.h"

bool process_clock(pid_t pid, uint64_t *ns)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return false;
	*ns = (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
	return true;
}

/* ---- /proc/stat ---- */

static bool take_cpu_line(const char *text, uint32_t cpu, uint64_t ticks[8])
{
	char name[24];
	const char *line;

	snprintf(name, sizeof(name), "\ncpu%" PRIu32 " ", cpu);
	line = strstr(text, name);
	return line && sscanf(line + strlen(name),
			      "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			      " %" SCNu64 " %" SCNu64,
			      &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
			      &ticks[6], &ticks[7]) == 8;
}

bool cpu_stat_read(const char *proc, const struct cpu_list *cpus, struct cpu_stat *out)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/stat", proc);
	cleanup(free_at_exit) char *text = NULL;
	uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	size_t size;

	*out = (struct cpu_stat){ 0 };
	if (file_read_all(path, 16 << 20, &text, &size) < 0)
		return false;
	vec_foreach (cpus, cpu) {
		uint64_t ticks[8]; /* user, nice, system, idle, iowait, irq, softirq, steal */

		if (!take_cpu_line(text, *cpu, ticks))
			continue;
		out->n_cpus++;
		out->idle_ns += (ticks[3] + ticks[4]) * tick_ns;
		out->interrupts_ns += (ticks[5] + ticks[6]) * tick_ns;
		out->steal_ns += ticks[7] * tick_ns;
	}
	return out->n_cpus > 0;
}

/* ---- taskstats ---- */

#define EXIT_TIMES_ROOM (8 << 20) /* some thousand messages */

struct request {
	struct nlmsghdr n;
	struct genlmsghdr g;
	uint8_t attributes[64];
};

static void request_begin(struct request *r, uint16_t type, uint8_t command)
{
	*r = (struct request){
		.n = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
		       .nlmsg_type = type,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.g = { .cmd = command, .version = 1 },
	};
}

static void request_put(struct request *r, uint16_t type, const void *bytes, size_t size)
{
	struct nlattr *a = (void *)((uint8_t *)r + r->n.nlmsg_len);

	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + size);
	memcpy(a + 1, bytes, size);
	r->n.nlmsg_len += NLA_ALIGN(a->nla_len);
}

/*
 * Sends, and reads the answers up to the acknowledgement. An attribute of the wanted type goes to
 * out, up to size bytes of it.
 */
static int ask(int fd, struct request *r, uint16_t wanted, void *out, size_t size)
{
	_Alignas(8) uint8_t answer[4096];

	if (send(fd, r, r->n.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(fd, answer, sizeof(answer), 0);
		struct nlmsghdr *h = (void *)answer;

		if (n < 0)
			return -errno;
		for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
			struct nlattr *a = (void *)((uint8_t *)NLMSG_DATA(h) + GENL_HDRLEN);
			const uint8_t *end = (uint8_t *)h + h->nlmsg_len;

			if (h->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
			for (; (uint8_t *)(a + 1) < end && a->nla_len >= NLA_HDRLEN;
			     a = (void *)((uint8_t *)a + NLA_ALIGN(a->nla_len)))
				if (size && (a->nla_type & NLA_TYPE_MASK) == wanted)
					memcpy(out, a + 1,
					       MIN(MIN(a->nla_len - (size_t)NLA_HDRLEN, size),
						   (size_t)(end - (uint8_t *)(a + 1))));
		}
	}
}

/* Of a message of taskstats: a thread, or all threads of a process. */
struct aggregate {
	uint32_t id, tgid; /* tgid: since version 12 */
	uint16_t version;  /* 0: there are no statistics */
	uint64_t ns;
};

static void take_statistics(struct aggregate *g, const uint8_t *bytes, size_t n)
{
	struct reader version = reader_over(bytes, n), ns = version, tgid = version;

	g->version = reader_u16(&version);
	reader_bytes(&ns, offsetof(struct taskstats, cpu_run_virtual_total));
	g->ns = reader_u64(&ns);
	reader_bytes(&tgid, TASKSTATS_TGID_OFFSET);
	g->tgid = g->version >= TASKSTATS_TGID_VERSION ? reader_u32(&tgid) : 0;
}

/* The id and the statistics of one attribute. */
static struct aggregate aggregate_of(struct reader r)
{
	struct aggregate g = { 0 };

	while (reader_left(&r) >= NLA_HDRLEN && !r.bad) {
		uint16_t len = reader_u16(&r), type = reader_u16(&r);
		size_t n = len < NLA_HDRLEN ? 0 : len - NLA_HDRLEN;
		const uint8_t *bytes = reader_bytes(&r, n);

		reader_bytes(&r, MIN((size_t)(NLA_ALIGN(len) - len), reader_left(&r)));
		if (len < NLA_HDRLEN || !bytes)
			break;
		if (type == TASKSTATS_TYPE_STATS)
			take_statistics(&g, bytes, n);
		else if (type != TASKSTATS_TYPE_NULL && n >= sizeof(g.id))
			memcpy(&g.id, bytes, sizeof(g.id));
	}
	return g;
}

/* Whether this kernel says whose thread has ended: since Linux 5.19. */
static int has_thread_groups(int fd, uint16_t family)
{
	const uint32_t own = (uint32_t)getpid();
	uint8_t answer[2048] = { 0 };
	struct request r;
	int e;

	request_begin(&r, family, TASKSTATS_CMD_GET);
	request_put(&r, TASKSTATS_CMD_ATTR_PID, &own, sizeof(own));
	e = ask(fd, &r, TASKSTATS_TYPE_AGGR_PID, answer, sizeof(answer));
	if (e < 0)
		return e;
	return aggregate_of(reader_over(answer, sizeof(answer))).version >= TASKSTATS_TGID_VERSION
		       ? 0
		       : -EOPNOTSUPP;
}

int exit_times_open(void)
{
	static const int room = EXIT_TIMES_ROOM;
	cleanup(close_at_exit) int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	uint16_t family = 0;
	struct request r;
	char cpus[32];
	int e;

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	request_begin(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	request_put(&r, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));
	e = ask(fd, &r, CTRL_ATTR_FAMILY_ID, &family, sizeof(family));
	if (e < 0 || !family)
		return e < 0 ? e : -ENOENT;
	e = has_thread_groups(fd, family);
	if (e < 0)
		return e;
	snprintf(cpus, sizeof(cpus), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	request_begin(&r, family, TASKSTATS_CMD_GET);
	request_put(&r, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus, strlen(cpus) + 1);
	e = ask(fd, &r, 0, NULL, 0);
	if (e < 0)
		return e;
	e = fd;
	fd = -1;
	return e;
}

struct exit_visit {
	void (*visit)(void *context, pid_t pid, uint64_t ns, bool is_whole);
	void *context;
};

static void visit_aggregate(const struct exit_visit *v, struct reader r, bool is_whole)
{
	const struct aggregate g = aggregate_of(r);

	/* of threads, only the first one's number is the process's */
	if (g.id && g.id <= INT32_MAX && (is_whole || g.tgid == g.id))
		v->visit(v->context, (pid_t)g.id, g.ns, is_whole);
}

static void visit_message(const struct exit_visit *v, const uint8_t *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);

	while (reader_left(&r) >= NLA_HDRLEN && !r.bad) {
		uint16_t len = reader_u16(&r), type = reader_u16(&r) & NLA_TYPE_MASK;
		size_t n = len < NLA_HDRLEN ? 0 : len - NLA_HDRLEN;
		const uint8_t *inner = reader_bytes(&r, n);

		reader_bytes(&r, MIN((size_t)(NLA_ALIGN(len) - len), reader_left(&r)));
		if (len < NLA_HDRLEN || !inner)
			return;
		if (type == TASKSTATS_TYPE_AGGR_PID || type == TASKSTATS_TYPE_AGGR_TGID)
			visit_aggregate(v, reader_over(inner, n), type == TASKSTATS_TYPE_AGGR_TGID);
	}
}

bool exit_times_read(int fd, void (*visit)(void *context, pid_t pid, uint64_t ns, bool is_whole),
		     void *context)
{
	const struct exit_visit v = { visit, context };
	_Alignas(8) uint8_t answer[8192];
	bool is_complete = true;

	for (;;) {
		ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		struct nlmsghdr *h = (void *)answer;

		if (n < 0 && errno == ENOBUFS)
			is_complete = false;
		if (n < 0 && errno != ENOBUFS && errno != EINTR)
			return is_complete;
		for (; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n))
			if (h->nlmsg_type >= NLMSG_MIN_TYPE &&
			    h->nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN))
				visit_message(&v, (uint8_t *)NLMSG_DATA(h) + GENL_HDRLEN,
					      h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
	}
}
