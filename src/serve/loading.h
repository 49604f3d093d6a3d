/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that works on the directory of a fleet, for `assay serve --fleet`: `assay fleet …
 * --follow`. If it ends, it is started again after a while.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct loading;

/* Loads the servers of ClickHouse. `login`: a file with USER:PASSWORD; NULL: none. */
struct loading *loading_new(const char *fleet, const char *urls, const char *login);
/* Merges old blocks. */
struct loading *loading_new_merge(const char *fleet);
/* Makes blocks of the profiles that are pushed into a history, which is then no larger. */
struct loading *loading_new_pushed(const char *fleet, const char *history, uint64_t max_bytes);
/* Sets the rates of the hosts by the samples that each of the services has to have an hour. */
struct loading *loading_new_rates(const char *fleet, uint64_t target_samples, char *const *services,
				  size_t n_services);
/* Ends the process. NULL is fine. */
void loading_free(struct loading *l);

/* Starts the process if it is due, and notices its end. `l` may be NULL in all of these. */
void loading_run(struct loading *l);
int loading_fd(
	const struct loading *l); /* readable when the process has ended; -1: there is none */
/* When loading_run() must be called at last, of the monotonic clock; UINT64_MAX: never. */
uint64_t loading_deadline_ns(const struct loading *l);
