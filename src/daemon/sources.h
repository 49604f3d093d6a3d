/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that the daemon waits for, beside the rings. */
#pragma once

#include "base/mem.h"

struct daemon;
struct error;

#define DAEMON_SOURCES 16

struct daemon_source {
	int fd; /* -1: unused */
	int (*ready)(void *context, struct error *err);
	void *context;
};

/*
 * Calls `ready` whenever fd is readable, while the daemon runs. The caller owns the descriptor, and
 * calls daemon_drop_source() before it closes it. -ENOSPC: too many sources.
 */
int daemon_add_source(struct daemon *d, int fd, int (*ready)(void *context, struct error *err),
		      void *context, struct error *err);
void daemon_drop_source(struct daemon *d, int fd);
