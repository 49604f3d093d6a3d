/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay serve: sessions, recordings and histories in a browser, and an API over HTTP (docs/api.md).
 *
 * One process without threads speaks HTTP, checks who asks (access.h) and keeps answers. Workers
 * (worker.h) read sources and make answers (jobs.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/sources.h"

struct error;
struct http_tls;

struct serve_options {
	char *const *paths; /* of sources */
	size_t n_paths;
	/*
	 * As of http_server_open(). An address that other machines can reach needs TLS or a proxy,
	 * and tokens or certificates of clients.
	 */
	const char *listen;
	const char *token_file;     /* NULL: none */
	const struct http_tls *tls; /* NULL: without TLS */
	char *const *hosts;         /* further names of this server */
	size_t n_hosts;
	bool is_behind_proxy;
	/*
	 * The directory of a fleet that takes the blocks of hosts (gate.h); NULL: none. It is one
	 * of `paths`, too, to be seen.
	 */
	const char *fleet;
	/*
	 * The servers of ClickHouse that get the blocks of `fleet`, as of clickhouse_open(), and
	 * the file with their login; NULL: none. "clickhouse:URL,…" is one of `paths`, too.
	 */
	const char *clickhouse, *login;
	/*
	 * Each service of `fleet` that one of the globs takes has to have so many samples an hour:
	 * the gateway sets the rates of its hosts. None: it does not.
	 */
	char *const *target_services;
	size_t n_target_services;
	uint64_t target_samples;
	/*
	 * The history that gets the profiles which programs push; NULL: they are refused. It is one
	 * of `paths`, too, to be seen. `push_bytes` is its most.
	 */
	const char *push_dir;
	uint64_t push_bytes;
	struct cpu_price cpu_price; /* for the page */
	/*
	 * Prints the once-only address, each time that there is another one. `place` is
	 * "https://HOST:PORT" or "unix:PATH".
	 */
	void (*announce)(void *context, const char *place, const char *login_path);
	void *context;
};

/* Serves until SIGINT, SIGTERM or SIGHUP comes. Returns 0 then. */
int serve_run(const struct serve_options *options, struct error *err);
