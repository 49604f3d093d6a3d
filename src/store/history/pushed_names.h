/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of services and events that programs push into a history (assay import --into): so many
 * of each at most. A program could else name others without an end, and reports list all services.
 * A report of a host with more than SESSION_COUNTERS_MAX events is refused as a whole.
 *
 * HISTORY/.pushed has a line for each: "service DAY HASH" or "event DAY HASH", with the last day
 * since 1970 on which it was pushed, and the line "refused N". A name that nobody has pushed for
 * PUSHED_DAYS leaves its place to another one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PUSHED_SERVICES_MAX 1000
#define PUSHED_EVENTS_MAX   256
#define PUSHED_DAYS         30

struct error;

struct pushed_names {
	const char *const *services, *const *events;
	size_t n_services, n_events;
};

/*
 * Adds the names of a push to those of the history. -EDQUOT: there would be too many. Then none is
 * added, and the push counts as refused.
 */
int pushed_names_add(const char *history, const struct pushed_names *names, uint64_t now_s,
		     struct error *err);

/* How many pushes were refused so far. */
uint64_t pushed_names_refused(const char *history);
