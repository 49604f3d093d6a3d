/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers questions about a fleet in ClickHouse: the sums that a question needs become a session,
 * so every view of a report reads them. Each shard is asked, and assay adds up their answers.
 *
 * Times are cut by the rows of the tables: their begins are in the window, which grows to whole
 * hours, or to whole days where only days are kept. Events of a sample are the mean of its host's
 * event: the tables have samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clickhouse;
struct error;
struct key_list;
struct query;
struct session;

struct fleet_question {
	const struct query *query;   /* its window, and its filters host: and service: */
	const struct key_list *keys; /* that rows will have; NULL: those of functions */
	/*
	 * Innermost functions without callers: far fewer rows. Totals are there (IMAGE_ARCS_PATH)
	 * if hosts are not apart, and the query has no filter but those of hosts, services, events
	 * and times.
	 */
	bool functions_alone;
	bool hosts_apart;  /* hosts are kept apart */
	bool times_apart;  /* so are hours, or days */
	bool builds_apart; /* builds of frames are wanted */
	bool needs_totals; /* functions alone will not do without totals */
	/*
	 * Addresses of samples instead: of all hosts together, by whole days. The other wishes do
	 * not count. `leaves_build`: of this build id in hexadecimal digits alone; NULL: of all.
	 */
	bool leaves;
	const char *leaves_build;
};

/*
 * Makes the session in the directory `scratch`, which exists. It has the coverage: hosts with
 * samples of the hosts that are known, and a note with samples, losses, tables and shards. *missing
 * is the number of shards that did not answer; the session has a warning for each. -ENODATA: there
 * are no samples. -EMSGSIZE: the answer is too large.
 * -ENOTSUP: a filter host: of addresses, or a key or filter of facts that ClickHouse does not have.
 */
int clickhouse_question(struct clickhouse *ch, const struct fleet_question *question,
			const char *scratch, struct session **out, uint32_t *missing,
			struct error *err);
