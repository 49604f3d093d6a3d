/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/perfdata_pipe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"

struct perfdata_pipe {
	pthread_mutex_t lock; /* of the rest */
	int fd, code;
	uint64_t size;
};

struct perfdata_pipe *perfdata_pipe_new(int fd)
{
	struct perfdata_pipe *p = xcalloc(1, sizeof(*p));

	p->fd = fd;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void perfdata_pipe_free(struct perfdata_pipe *p)
{
	if (!p)
		return;
	close(p->fd);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void perfdata_pipe_put(struct perfdata_pipe *p, const uint8_t *bytes, size_t size)
{
	while (size && !p->code) {
		ssize_t n = file_write_quietly(p->fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) { /* another process can make the pipe non-blocking */
			poll(&(struct pollfd){ .fd = p->fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (n < 0) {
			p->code = -errno;
			return;
		}
		bytes += n;
		size -= (size_t)n;
		p->size += (size_t)n;
	}
}

void perfdata_pipe_write(struct perfdata_pipe *p, const struct iovec *parts, size_t n)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < n; i++)
		perfdata_pipe_put(p, parts[i].iov_base, parts[i].iov_len);
	pthread_mutex_unlock(&p->lock);
}

int perfdata_pipe_failure(struct perfdata_pipe *p)
{
	int code;

	pthread_mutex_lock(&p->lock);
	code = p->code;
	pthread_mutex_unlock(&p->lock);
	return code;
}

uint64_t perfdata_pipe_size(struct perfdata_pipe *p)
{
	uint64_t size;

	pthread_mutex_lock(&p->lock);
	size = p->size;
	pthread_mutex_unlock(&p->lock);
	return size;
}
