/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cpu_watch.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define KERNEL_GROUP 1 /* the kernel's messages; udev passes them on to group 2 */
#define CPU_PATH     "/devices/system/cpu/cpu"

/*
 * The kernel drops messages when the queue is full, and a machine that finds a thousand disks sends
 * thousands. So only those that begin with "onli" or "offl" come into the queue.
 */
static struct sock_filter online_or_offline[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the first four bytes, big-endian */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f6e6c69, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f66666c, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

int cpu_watch_open(void)
{
	const struct sock_fprog filter = { ARRAY_SIZE(online_or_offline), online_or_offline };
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);
	int e;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 &&
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	e = -errno;
	close(fd);
	return e;
}

bool cpu_watch_parse(const char *message, size_t size, uint32_t *cpu, bool *is_online)
{
	const char *end = memchr(message, '\0', size), *at;
	unsigned long n;
	char *rest;

	if (!end)
		return false;
	if (!strncmp(message, "online@", 7))
		*is_online = true;
	else if (!strncmp(message, "offline@", 8))
		*is_online = false;
	else
		return false;
	at = strchr(message, '@') + 1;
	if (strncmp(at, CPU_PATH, strlen(CPU_PATH)))
		return false;
	at += strlen(CPU_PATH);
	n = strtoul(at, &rest, 10);
	if (rest == at || *rest || *at < '0' || *at > '9' || n > UINT16_MAX)
		return false;
	*cpu = (uint32_t)n;
	return true;
}

bool cpu_watch_next(int fd, uint32_t *cpu, bool *is_online)
{
	char message[4096];
	struct sockaddr_nl from = { 0 };
	socklen_t from_size = sizeof(from);
	ssize_t n;

	for (;;) {
		n = recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&from, &from_size);
		/* ENOBUFS: some were dropped; the next are there */
		if (n < 0 && errno != ENOBUFS && errno != EINTR)
			return false;
		if (n > 0 && !from.nl_pid && cpu_watch_parse(message, (size_t)n, cpu, is_online))
			return true;
	}
}
