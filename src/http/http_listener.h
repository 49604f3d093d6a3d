/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside http/: the socket that a server listens at. */
#pragma once

#include <stdbool.h>

struct error;

struct http_listener {
	int fd;            /* does not block */
	char address[144]; /* "127.0.0.1:9464", "unix:/run/assay/web" */
	char *socket_path; /* of a Unix socket, which goes with the listener; else NULL */
	bool is_reachable; /* by other machines */
};

/* Listens at an address as of http_server_open(). The errors are the same. */
int http_listen(struct http_listener *l, const char *address, struct error *err);
void http_listener_fini(struct http_listener *l);
