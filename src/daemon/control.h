/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's control socket: a unix stream socket for requests as lines of JSON
 * (daemon/request.h). The recording thread serves it between two readings of the rings. So it never
 * blocks, and its memory is bounded. It has at most CONTROL_MAX_CLIENTS, and half of them for one
 * user who is not root. It reads a client's next request after it has sent the last answer. A
 * client that does not read, or does not finish a line, is dropped.
 */
#pragma once

#include "base/mem.h"
#include "daemon/request.h"
#include "store/sharing.h"

struct control;

#define CONTROL_MAX_CLIENTS 256
#define CONTROL_SLOW_S      5  /* for the rest of a line, or to receive an answer */
#define CONTROL_IDLE_S      60 /* without a request */
#define CONTROL_GROUP       SHARING_GROUP

/*
 * Listens at `path`. Replaces the socket of a killed daemon: the caller makes sure that no other
 * daemon lives. The mode is 0660 and the group CONTROL_GROUP, if that group exists. `handlers` and
 * `context` must outlive it. -EEXIST: something else than a socket is there.
 */
int control_open(const char *path, const struct control_handlers *handlers, void *context,
		 struct control **out, struct error *err);

/* Closes all connections and removes the socket. NULL is fine. */
void control_close(struct control *c);
DEFINE_AT_EXIT(control_close, struct control)

/* An epoll descriptor, which is readable when control_serve() has work. */
int control_fd(const struct control *c);

/* Does a bounded amount of work without blocking. `now_ns`: CLOCK_MONOTONIC. */
void control_serve(struct control *c, uint64_t now_ns);

/* Serves a connected stream socket, and closes it at the end. */
void control_adopt(struct control *c, int fd, uint64_t now_ns);

uint32_t control_clients(const struct control *c); /* for tests */
