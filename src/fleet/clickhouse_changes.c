/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/clickhouse_asker.h"
#include "fleet/row_binary.h"

#define DAY_S 86400u

static void read_number(struct asker *q, uint32_t shard, struct reader *r)
{
	(void)shard;
	q->number += reader_u64(r);
}

/* Adds up the numbers of all shards. */
static int ask_number(struct asker *q, const char *begin, const struct plan_span *span,
		      const char *end, uint64_t *out, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	q->number = 0;
	buf_str(&sql, begin);
	asker_put_span(q, span, &sql);
	buf_printf(&sql, "%s FORMAT RowBinary", end);
	r = asker_ask_all(q, buf_cstr(&sql), read_number, err);
	*out = q->number;
	buf_fini(&sql);
	return r;
}

/* Rows of ten minutes that one answer may have. */
#define CHANGE_ROWS_MAX 4000000

/* A function of a day has a row for each of its ten minutes at most. */
static int find_change_rows(struct asker *q, const struct plan_span *facts, uint64_t *n,
			    struct error *err)
{
	uint64_t n_stacks, n_functions;
	struct plan_span days = *facts;
	int r = ask_number(q, "SELECT toUInt64(count()) FROM facts WHERE service != '' AND ", facts,
			   "", &n_stacks, err);

	days.from_s -= days.from_s % DAY_S;
	r = r < 0 ? r
		  : ask_number(q,
			       "SELECT toUInt64(144 * count()) FROM func_host_day WHERE service "
			       "!= '' AND self > 0 AND ",
			       &days, "", &n_functions, err);
	*n = r < 0 ? 0 : MIN(n_stacks, n_functions);
	return r;
}

/*
 * Stacks whose frames have no builds in any row. Code without a build, as of an interpreter, has
 * the same number before and after an upgrade: its old row, which has an empty list, stays for a
 * time.
 */
static int count_bare(struct asker *q, const struct plan_span *facts, uint64_t *n,
		      struct error *err)
{
	return ask_number(q,
			  "SELECT toUInt64(count()) FROM (SELECT stack FROM stacks WHERE "
			  "notEmpty(frames) AND stack IN (SELECT stack FROM facts WHERE service "
			  "!= '' AND ",
			  facts, ") GROUP BY stack HAVING max(length(builds)) = 0)", n, err);
}

int asker_plan_changes(struct asker *q, struct error *err)
{
	struct question_plan p;
	const struct plan_span *facts;
	uint64_t n_rows = 0, n_bare = 0;
	int r;

	if (!q->finds_changes || !q->plan.functions || !plan_changes(&q->exact, &p))
		return 0;
	facts = &p.spans[p.n_spans - 1];
	r = find_change_rows(q, facts, &n_rows, err);
	if (r >= 0 && n_rows > CHANGE_ROWS_MAX) {
		vec_push(&q->notes, xstrdup("changes of builds are looked for by days, as the "
					    "hosts have too many samples for ten minutes: choose "
					    "hosts or services"));
		return 0;
	}
	r = r < 0 ? r : count_bare(q, facts, &n_bare, err);
	if (n_bare)
		vec_push(&q->notes,
			 xasprintf("changes of builds are looked for by days, as %" PRIu64
				   " stacks were stored before the tables had builds of stacks: "
				   "'assay fleet rebuild' gives them builds, day by day",
				   n_bare));
	else if (r >= 0)
		q->plan = p;
	return r;
}
