/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unix sockets by paths of any length: a sockaddr_un has room for 107 bytes (unix(7)). */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

struct error;

struct unix_address {
	struct sockaddr_un name;
	socklen_t size;
	int dir; /* the folder, open, where the path is longer: the name goes through /proc; -1 */
};

/* For bind(2) and connect(2), until unix_address_fini(). */
int unix_address_of(const char *path, struct unix_address *out, struct error *err);
void unix_address_fini(struct unix_address *a);
