/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between assay and its parsers: bytes, and one descriptor at most. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Sends two parts as one message. `fd` below 0: none. `wait` 0, or MSG_DONTWAIT: -EAGAIN if the
 * other side has not read enough of what was sent.
 */
int message_send(int socket, int wait, const void *head, size_t head_size, const void *bytes,
		 size_t size, int fd);

/* The size of a message, 0 at the end, or a negative errno. *fd is the caller's; -1: none. */
ssize_t message_receive(int socket, void *room, size_t size, int *fd);
