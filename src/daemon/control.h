/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's control socket: a unix stream socket that takes requests as lines of JSON
 * (daemon/request.h), served between two readings of the rings by the thread that records. So
 * nothing here waits for anybody, and what it holds is bounded: at most CONTROL_MAX_CLIENTS are
 * served, half of them of one user who is not root; a client's next request is read when its last
 * answer is gone, and who does not read or does not finish a line is dropped.
 */
#pragma once

#include "base/mem.h"
#include "daemon/request.h"
#include "store/sharing.h"

struct control;

#define CONTROL_MAX_CLIENTS 256
#define CONTROL_SLOW_S      5  /* for the rest of a line, or to take an answer */
#define CONTROL_IDLE_S      60 /* without a request */
#define CONTROL_GROUP       SHARING_GROUP

/*
 * Listens at `path`, in place of a socket that a killed daemon left: the caller has made sure that
 * no other one lives. Its mode is 0660 and its group CONTROL_GROUP, where there is one. `handlers`
 * and `context` outlive it. -EEXIST: something that is no socket is there.
 */
int control_open(const char *path, const struct control_handlers *handlers, void *context,
		 struct control **out, struct error *err);

/* Closes all and removes the socket. NULL is fine. */
void control_close(struct control *c);
DEFINE_AT_EXIT(control_close, struct control)

/* Readable when control_serve() has something to do: an epoll descriptor. */
int control_fd(const struct control *c);

/* Does what can be done at once, a bounded part of it, and returns. `now_ns`: CLOCK_MONOTONIC. */
void control_serve(struct control *c, uint64_t now_ns);

/* Serves a stream socket that is connected already, and closes it in the end. */
void control_adopt(struct control *c, int fd, uint64_t now_ns);

uint32_t control_clients(const struct control *c);
