/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/files/file.h"
#include "base/mem.h"

union control {
	struct cmsghdr head;
	uint8_t room[CMSG_SPACE(sizeof(int))];
};

int message_send(int socket, int wait, const void *head, size_t head_size, const void *bytes,
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
	return sendmsg(socket, &m, MSG_NOSIGNAL | wait) < 0 ? -errno : 0;
}

ssize_t message_receive(int socket, void *room, size_t size, int *fd)
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
	/* ECONNRESET comes once, before messages of a child that died later. */
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
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
