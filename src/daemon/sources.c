/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/error.h"
#include "daemon/daemon_state.h"

int daemon_add_source(struct daemon *d, int fd, int (*ready)(void *context, struct error *err),
		      void *context, struct error *err)
{
	for (uint32_t i = 0; i < DAEMON_SOURCES; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		if (d->sources[i].fd >= 0)
			continue;
		if (epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
			return error_errno(err, -errno, "epoll_ctl");
		d->sources[i] = (struct daemon_source){ fd, ready, context };
		return 0;
	}
	return error_set(err, -ENOSPC, "more than %d sources of requests", DAEMON_SOURCES);
}

void daemon_drop_source(struct daemon *d, int fd)
{
	for (int i = 0; i < DAEMON_SOURCES; i++) {
		if (d->sources[i].fd != fd)
			continue;
		epoll_ctl(d->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		d->sources[i].fd = -1;
	}
}
