/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rounds of `assay ship`: it looks at the history, sends what is final, tells the daemon how
 * far it is, and waits. After a failure it waits for a random time, or as long as a server asks
 * for. A signal ends it (commands/end_signals.h). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/gateway.h"
#include "fleet/ship_status.h"

struct error;
struct ship;
struct ship_names;
struct ship_post;

struct ship_rounds {
	struct ship *ship, *leaves;   /* leaves: of addresses; NULL: none are sent */
	struct gateway *gateway;      /* NULL: another place */
	const struct ship_post *post; /* of other tools; NULL: another place */
	const char *state_dir;        /* of what the gateway has */
	struct ship_names *names;     /* NULL as well */
	double interval_s;            /* between two rounds */
	bool once, dry_run;           /* one round, of which a dry run stores nothing */
	bool quiet;
	struct ship_status status; /* for the daemon: how far an earlier process was */

	/* Its own: */
	struct gateway_state state;
	double limit_s;
	uint32_t n_sent;     /* blocks of the last round, of both kinds … */
	uint64_t n_sent_all; /* … and of all rounds */
	bool has_looked;     /* the last round only looked at what waits */
	bool is_first;
};

/*
 * Runs rounds until a signal comes, or one round with `once` or `dry_run`. It may free `leaves`,
 * and sets it to NULL then. Negative: a failure that the next round would have, too, or any of one
 * round. *err may be empty then: each reason was printed.
 */
int ship_rounds_run(struct ship_rounds *rs, struct error *err);
