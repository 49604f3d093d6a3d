/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/opener.h"

#define HANDLE_OF_KERNFS 0xfe /* FILEID_KERNFS of the kernel */
#define IMAGE_HEAD       20   /* e_ident and e_type of ELF, in either class */

/*
 * Hands out binaries only. A core dump is an ELF file, too, with the memory of a program. Takes the
 * descriptor over.
 */
static int opener_only_image(int fd)
{
	uint8_t head[IMAGE_HEAD];
	unsigned int type;

	if (fd < 0)
		return fd;
	if (pread(fd, head, sizeof(head), 0) == sizeof(head) && !memcmp(head, ELFMAG, SELFMAG)) {
		type = head[EI_DATA] == ELFDATA2MSB ? head[EI_NIDENT] << 8 | head[EI_NIDENT + 1]
						    : head[EI_NIDENT + 1] << 8 | head[EI_NIDENT];
		if (type == ET_REL || type == ET_EXEC || type == ET_DYN)
			return fd;
	}
	close(fd);
	return -EACCES;
}

static struct guard_rules opener_rules(const struct opener_request *r)
{
	return (struct guard_rules){
		.max_bytes = r->head.max_bytes,
		.owner = r->head.owner,
		.is_link_refused = r->head.is_link_refused,
	};
}

static int opener_open_path(const struct opener_request *r, int root)
{
	const struct guard_rules rules = opener_rules(r);

	return guard_open(root < 0 ? GUARD_HERE : root, r->path, &rules, NULL);
}

static int opener_open_link(const struct opener_request *r, const char *name)
{
	const struct guard_rules rules = opener_rules(r);
	char link[96];

	snprintf(link, sizeof(link), "/proc/%d/%s", (int)r->head.pid, name);
	return opener_only_image(guard_link(link, &rules, NULL));
}

static int opener_open_mapping(const struct opener_request *r)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)r->head.first,
		 (unsigned long long)r->head.last);
	return opener_open_link(r, name);
}

static int opener_open_maps(const struct opener_request *r)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)r->head.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Others wait meanwhile. A program comes first in its maps, and a library early enough. */
#define OPENER_MAPS_MAX 16384

/* Whether the process of a folder of /proc runs a runtime whose memory assay reads. */
static bool opener_is_of_runtime(int process)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup(free_at_exit) char *line = NULL;
	size_t size = 0;
	bool is = false;

	for (uint32_t i = 0; maps && !is && i < OPENER_MAPS_MAX; i++) {
		if (getline(&line, &size, maps) < 0)
			break;
		is = opener_is_runtime(line);
	}
	if (maps)
		fclose(maps);
	else
		close_at_exit(&fd);
	return is;
}

/* The process may execute another program meanwhile: it is looked at before and behind. */
static int opener_open_memory(const struct opener_request *r)
{
	cleanup(close_at_exit) int process = -1;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)r->head.pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return -errno;
	if (!opener_is_of_runtime(process))
		return -EACCES;
	fd = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (opener_is_of_runtime(process))
		return fd;
	close(fd);
	return -EACCES;
}

static int opener_open_tracepoint(const struct opener_request *r)
{
	static const char *const tops[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[OPENER_PATH_MAX + 64];
	struct statfs fs;
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(tops) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s/events/%s", tops[i], r->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	}
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) == 0 && fs.f_type == TRACEFS_MAGIC)
		return fd;
	close(fd);
	return -EACCES;
}

static int opener_open_cgroup(const struct opener_request *r, int mount)
{
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = { .handle = { .handle_bytes = sizeof(uint64_t), .handle_type = HANDLE_OF_KERNFS } };
	struct statfs fs;
	int fd;

	if (fstatfs(mount, &fs) < 0 ||
	    (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC))
		return -EACCES;
	memcpy(h.handle.f_handle, &r->head.first, sizeof(uint64_t));
	fd = open_by_handle_at(mount, &h.handle, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int opener_open_counter(const struct opener_request *r, int leader)
{
	struct perf_event_attr attr = { 0 };
	int fd;

	memcpy(&attr, r->attr, r->size);
	fd = (int)syscall(SYS_perf_event_open, &attr, r->head.pid, r->head.cpu, leader,
			  r->head.first | PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int opener_open_kind(const struct opener_request *r, int fd)
{
	switch ((enum opener_kind)r->head.kind) {
	case OPENER_FACTS:
		return guard_path(fd < 0 ? GUARD_HERE : fd, r->path);
	case OPENER_IMAGE:
		return opener_only_image(opener_open_path(r, fd));
	case OPENER_JIT_MAP:
	case OPENER_JIT_DUMP:
	case OPENER_ENGINE_FILE:
		return opener_open_path(r, fd);
	case OPENER_PROC_MAPS:
		return opener_open_maps(r);
	case OPENER_PROC_ROOT:
		return guard_root("/proc", r->head.pid);
	case OPENER_PROC_EXE:
		return opener_open_link(r, "exe");
	case OPENER_PROC_MAPPING:
		return opener_open_mapping(r);
	case OPENER_PROC_MEMORY:
		return opener_open_memory(r);
	case OPENER_TRACEPOINT:
		return opener_open_tracepoint(r);
	case OPENER_CGROUP:
		return opener_open_cgroup(r, fd);
	case OPENER_COUNTER:
		return opener_open_counter(r, fd);
	case N_OPENER_KINDS:
		break;
	}
	return -EINVAL;
}

/* The one descriptor of a message; -1: none. Others are closed. */
static int take_descriptor(struct msghdr *m)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(one));
			close_at_exit(&fd);
			fd = one; /* a client that sends more of them loses all but the last */
		}
	}
	return fd;
}

static bool opener_answer(int socket, uint32_t number, int opened)
{
	const struct opener_reply reply = { number, MIN(opened, 0) };
	struct iovec bytes = { (void *)&reply, sizeof(reply) };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (opened >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &opened, sizeof(opened));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) >= 0;
}

void opener_notice(int socket, int32_t result)
{
	const struct opener_reply notice = { OPENER_NOTICE, result };
	struct iovec bytes = { (void *)&notice, sizeof(notice) };
	const struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	/* If the daemon takes nothing, the notice is lost, and a request times out. */
	(void)!sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* False: the other side has gone. */
static bool opener_serve_one(int socket)
{
	static uint8_t bytes[sizeof(struct opener_head) + OPENER_PATH_MAX];
	static struct opener_request request;
	struct iovec room = { bytes, sizeof(bytes) };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &room,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	cleanup(close_at_exit) int fd = -1, opened = -1;
	uint32_t number = 0;
	int r = -EINVAL;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	fd = take_descriptor(&m);
	memcpy(&number, bytes, MIN((size_t)n, sizeof(number)));
	if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		r = opener_parse(bytes, (size_t)n, fd >= 0, &request);
	opened = r < 0 ? r : opener_open_kind(&request, fd);
	return opener_answer(socket, number, opened);
}

void opener_serve(int socket)
{
	while (opener_serve_one(socket))
		;
}
