/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay serve: sessions, recordings and histories in a browser, and an API over HTTP (docs/api.md).
 *
 * One process without threads speaks HTTP, checks who asks (access.h) and keeps answers. Workers
 * (worker.h) read sources and make answers: at most SERVE_WORKERS at once. Equal requests share a
 * worker and its answer. If SERVE_WAITING requests wait, others get 429.
 */
#pragma once

#include <stddef.h>

struct error;

#define SERVE_WORKERS     2
#define SERVE_WAITING     128
#define SERVE_CACHE_BYTES ((size_t)64 << 20)

struct serve_options {
	char *const *paths; /* of sources */
	size_t n_paths;
	const char *listen;     /* as of http_server_open(); of this machine only */
	const char *token_file; /* NULL: none */
	/* Prints the once-only address, each time that there is another one. */
	void (*announce)(void *context, const char *address, const char *login_path);
	void *context;
};

/* Serves until SIGINT, SIGTERM or SIGHUP comes. Returns 0 then. */
int serve_run(const struct serve_options *options, struct error *err);
