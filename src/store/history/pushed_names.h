/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of services and events that programs push into a history (assay import --into): so many
 * of each at most. A program could else name others without an end, and reports list all services.
 * A report of a host with more than SESSION_COUNTERS_MAX events is refused as a whole.
 *
 * A name has a *place*. Half of the places are shares: each pusher has as many of its own, and no
 * other can take them. There are PUSHED_SHARES shares; if more pushers come, the shares get
 * smaller. The other half goes to those who come first. A name that several push has one place,
 * which the first of them holds.
 *
 * HISTORY/.pushed has a line for each name and pusher: "service DAY HASH PUSHER" or "event DAY HASH
 * PUSHER", with the last day since 1970 on which it was pushed, and hashes in hexadecimal. "refused
 * N" counts the pushes that were refused, and "pusher DAY PUSHER N LABEL" those of a pusher. Lines
 * older than PUSHED_DAYS go away, and a name without a line leaves its place.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PUSHED_SERVICES_MAX 1000
#define PUSHED_EVENTS_MAX   256
#define PUSHED_DAYS         30
#define PUSHED_SHARES       8
#define PUSHER_LABEL_SIZE   96 /* with its NUL; the rest is cut */

struct buf;
struct error;

struct pushed_names {
	const char *const *services, *const *events;
	size_t n_services, n_events;
	/* Its id, which stays the same, a space, and its name for messages. NULL: unknown. */
	const char *pusher;
};

/*
 * Adds the names of a push to those of the history. -EDQUOT: the pusher has no place for one. Then
 * none is added, and the push counts as refused.
 */
int pushed_names_add(const char *history, const struct pushed_names *names, uint64_t now_s,
		     struct error *err);

/* How many pushes were refused so far. Appends "LABEL: N, …" of the last days, unless it is NULL.
 */
uint64_t pushed_names_refused(const char *history, struct buf *of_pushers);
