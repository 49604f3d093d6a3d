/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside fleet/: a question to ClickHouse on its way (fleet/clickhouse_question.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "fleet/clickhouse_answer.h"
#include "fleet/clickhouse_plan.h"

struct clickhouse;
struct error;
struct fleet_question;

struct name_list {
	const char **data;
	size_t n, cap;
};

struct asker {
	struct clickhouse *ch;
	const struct fleet_question *question;
	struct answer answer;
	struct strings names;             /* of hosts and services */
	struct question_plan exact, plan; /* as it was asked, and as the tables can answer */
	bool *answers;                    /* by shard */
	VEC(char *) warnings;             /* a shard is missing … */
	VEC(char *) notes;                /* … or other samples */

	bool picks_hosts, picks_services, hosts_apart, needs_builds, finds_changes;
	struct name_list hosts, services; /* that the filters take */
	bool picks_functions;
	struct intmap functions_seen;
	VEC(uint64_t) function_numbers;
	uint32_t n_hosts_known, n_hosts;
	uint64_t samples, lost;
	uint64_t number; /* ask_number() */
};

/*
 * Reads the rows of an answer of each shard that answers. A shard that does not gets a warning, and
 * is not asked again.
 */
int asker_ask_all(struct asker *q, const char *sql,
		  void (*read_row)(struct asker *q, uint32_t shard, struct reader *r),
		  struct error *err);

/* Appends the condition of the rows of a span that the filters take. */
void asker_put_span(const struct asker *q, const struct plan_span *span, struct buf *sql);

/*
 * Changes of builds are looked for by ten minutes in the days whose stacks are kept, if these have
 * builds, and are not too many. Otherwise, they are looked for by days.
 */
int asker_plan_changes(struct asker *q, struct error *err);
