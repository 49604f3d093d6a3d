/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse_question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/strings.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_answer.h"
#include "fleet/clickhouse_asker.h"
#include "fleet/row_binary.h"
#include "profile/query.h"
#include "store/session.h"

#define DAY_S 86400u

/* Names in a filter's list of SQL. More are refused: ClickHouse reads 256 KiB. */
#define NAMES_MAX 2000

static const char *asker_coverage(const struct asker *q)
{
	return clickhouse_tables[clickhouse_coverage_of(q->question->leaves)].name;
}

/* ---- shards ---- */

/*
 * Whether a failure is one of a limit: the answer has too many bytes here, or the server gives a
 * question no more rows (158), time (159, 160) or memory (241).
 */
static bool is_limit(int r, const char *text)
{
	static const char *const codes[] = { "Code: 158", "Code: 159", "Code: 160", "Code: 241" };

	for (size_t i = 0; r == -EREMOTEIO && i < ARRAY_SIZE(codes); i++)
		if (strstr(text, codes[i]))
			return true;
	return r == -EMSGSIZE;
}

static char *missing_text(const struct asker *q, uint32_t shard, int r, const char *why)
{
	return is_limit(r, why)
		       ? xasprintf("shard %" PRIu32 " of %" PRIu32
				   " is left out, as the question is too large for it: choose a "
				   "shorter time, or services or hosts (%s)",
				   shard + 1, clickhouse_n_shards(q->ch), why)
		       : xasprintf("shard %" PRIu32 " of %" PRIu32 " is missing: %s", shard + 1,
				   clickhouse_n_shards(q->ch), why);
}

/*
 * Asks one shard. If it does not answer, or refuses, its part is missing in the answer from here
 * on, and a warning says so. 0, or an error that ends the question.
 */
static int ask_shard(struct asker *q, uint32_t shard, const char *sql, struct buf *out)
{
	struct error err = { 0 };
	int r;

	out->len = 0;
	if (!q->answers[shard])
		return 0;
	r = clickhouse_ask(q->ch, shard, sql, out, &err);
	if (r < 0) {
		out->len = 0;
		q->answers[shard] = false;
		vec_push(&q->warnings, missing_text(q, shard, r, err.text));
	}
	return 0;
}

int asker_ask_all(struct asker *q, const char *sql,
		  void (*read_row)(struct asker *q, uint32_t shard, struct reader *r),
		  struct error *err)
{
	struct buf bytes = { 0 };
	int r = 0;

	for (uint32_t s = 0; s < clickhouse_n_shards(q->ch) && r >= 0; s++) {
		struct reader rows;

		r = ask_shard(q, s, sql, &bytes);
		rows = reader_over(bytes.data, bytes.len);
		while (r >= 0 && reader_left(&rows))
			read_row(q, s, &rows);
		if (rows.bad)
			r = error_set(err, -EPROTO, "the answer of %s is not whole",
				      clickhouse_address(q->ch, s));
	}
	buf_fini(&bytes);
	return r;
}

static string_id read_name(struct strings *to, struct reader *r)
{
	size_t n;
	const char *text = row_binary_text(r, &n);

	return strings_add_n(to, text ? text : "", text ? strnlen(text, n) : 0);
}

/* ---- events ---- */

static struct answer_event *event_of(struct answer *a, string_id name)
{
	vec_foreach (&a->events, e)
		if (e->name.n == name.n)
			return e;
	vec_push(&a->events, (struct answer_event){ .name = name });
	return &a->events.data[a->events.n - 1];
}

/* ---- conditions ---- */

static void put_times(struct buf *sql, uint64_t from_s, uint64_t to_s)
{
	buf_str(sql, "time >= ");
	sql_put_time(sql, from_s);
	buf_str(sql, " AND time < ");
	sql_put_time(sql, to_s);
}

/* No name passes the filter: a condition that no row meets. */
static void put_names(struct buf *sql, const char *column, const struct name_list *names)
{
	buf_printf(sql, " AND %s IN (", column);
	for (size_t i = 0; i < names->n; i++) {
		buf_str(sql, i ? ", " : "");
		sql_put_text(sql, names->data[i]);
	}
	buf_str(sql, names->n ? ")" : "'')");
}

static int check_names(const struct name_list *names, const char *filter, struct error *err)
{
	if (names->n > NAMES_MAX)
		return error_set(err, -E2BIG, "%s: takes %zu names, and a question can name %d",
				 filter, names->n, NAMES_MAX);
	return 0;
}

static void read_host(struct asker *q, uint32_t shard, struct reader *r)
{
	const char *name = strings_get(&q->names, read_name(&q->names, r));

	(void)shard;
	if (r->bad || !query_takes_name(q->question->query, FILTER_HOST, name))
		return;
	q->n_hosts_known++;
	if (q->picks_hosts)
		vec_push(&q->hosts, name);
}

static void read_service(struct asker *q, uint32_t shard, struct reader *r)
{
	string_id id = read_name(&q->names, r);
	const char *name = strings_get(&q->names, id);

	(void)shard;
	if (r->bad || !query_takes_name(q->question->query, FILTER_SERVICE, name))
		return;
	for (size_t i = 0; i < q->services.n; i++)
		if (q->services.data[i] == name) /* another shard has it, too */
			return;
	vec_push(&q->services, name);
}

/* The text of code without a name in reports. */
#define NO_SYMBOL_TEXT "(no symbols)"

static void read_function(struct asker *q, uint32_t shard, struct reader *r)
{
	uint64_t number = reader_u64(r);
	const char *name = strings_get(&q->names, read_name(&q->names, r));
	bool is_new;

	(void)shard;
	if (r->bad || !query_takes_function(q->question->query, FILTER_SYMBOL, name))
		return;
	intmap_put(&q->functions_seen, number, &is_new);
	if (is_new)
		vec_push(&q->function_numbers, number);
}

/*
 * The functions of a filter symbol:, if they are few. The report filters again, so a list is used
 * only if it has all that the filter takes. It filters stacks alone.
 */
static int find_functions(struct asker *q, struct error *err)
{
	const struct query *query = q->question->query;
	int r;

	if (!q->plan.functions || !query || !query_has(query, FILTER_SYMBOL) ||
	    query_takes_function(query, FILTER_SYMBOL, NO_SYMBOL_TEXT))
		return 0;
	r = asker_ask_all(q, "SELECT func, name FROM functions WHERE name != '' FORMAT RowBinary",
			  read_function, err);
	q->picks_functions = q->function_numbers.n <= NAMES_MAX;
	return r;
}

static void put_functions(const struct asker *q, struct buf *sql)
{
	buf_str(sql, " AND func IN (0"); /* no function has this number */
	vec_foreach (&q->function_numbers, number)
		buf_printf(sql, ", %" PRIu64, *number);
	buf_str(sql, ")");
}

static int find_names(struct asker *q, struct error *err)
{
	struct buf sql = { 0 };
	int r = asker_ask_all(q, "SELECT host FROM hosts GROUP BY host FORMAT RowBinary", read_host,
			      err);

	if (r >= 0 && q->picks_services) {
		buf_printf(&sql, "SELECT service FROM %s WHERE service != '' AND ",
			   clickhouse_tables[q->question->leaves ? CLICKHOUSE_LEAF_DAY
								 : CLICKHOUSE_FUNC_DAY]
				   .name);
		put_times(&sql, q->plan.from_s - q->plan.from_s % DAY_S, q->plan.to_s);
		buf_str(&sql, " GROUP BY service FORMAT RowBinary");
		r = asker_ask_all(q, buf_cstr(&sql), read_service, err);
	}
	r = r < 0 ? r : check_names(&q->hosts, "host", err);
	r = r < 0 ? r : check_names(&q->services, "service", err);
	buf_fini(&sql);
	return r;
}

/* ---- coverage ---- */

static void read_coverage(struct asker *q, uint32_t shard, struct reader *r)
{
	string_id event = read_name(&q->answer.texts, r);
	struct answer_rate rate = { read_name(&q->answer.texts, r), { event, 0, 0 } };
	uint64_t samples = reader_u64(r), period = reader_u64(r), lost = reader_u64(r);
	struct answer_event *e;

	(void)shard;
	if (r->bad)
		return;
	q->lost += lost;
	if (!event.n) { /* the rows of blocks: each host has one */
		q->n_hosts++;
		return;
	}
	e = event_of(&q->answer, event);
	q->samples += samples;
	e->samples += samples;
	e->period += period;
	rate.event.samples = samples;
	rate.event.period = period;
	vec_push(&q->answer.rates, rate);
}

static int find_coverage(struct asker *q, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql,
		   "SELECT event, host, toUInt64(sum(samples)), toUInt64(sum(period)), "
		   "toUInt64(sum(lost)) FROM %s FINAL WHERE ",
		   asker_coverage(q));
	put_times(&sql, q->plan.from_s, q->plan.to_s);
	if (q->picks_hosts)
		put_names(&sql, "host", &q->hosts);
	buf_str(&sql, " GROUP BY event, host FORMAT RowBinary");
	r = asker_ask_all(q, buf_cstr(&sql), read_coverage, err);
	buf_fini(&sql);
	return r;
}

/* The begin of the first block, for a question about all time. */
static void read_begin(struct asker *q, uint32_t shard, struct reader *r)
{
	uint32_t first_s = reader_u32(r);

	(void)shard;
	if (!r->bad && first_s && first_s < q->plan.to_s)
		q->plan.from_s = q->plan.from_s ? MIN(q->plan.from_s, first_s) : first_s;
}

/* ---- sums ---- */

static void read_sum(struct asker *q, uint32_t shard, struct reader *r)
{
	struct answer_row row = { .shard = shard };

	row.host = read_name(&q->answer.texts, r);
	row.service = read_name(&q->answer.texts, r);
	row.event = read_name(&q->answer.texts, r);
	row.build = read_name(&q->answer.texts, r);
	row.time_s = reader_u32(r);
	row.key = reader_u64(r);
	row.samples = reader_u64(r);
	row.total = reader_u64(r);
	if (r->bad)
		return;
	event_of(&q->answer, row.event);
	vec_push(&q->answer.rows, row);
}

void asker_put_span(const struct asker *q, const struct plan_span *span, struct buf *sql)
{
	put_times(sql, span->from_s, span->to_s);
	if (q->picks_hosts)
		put_names(sql, "host", &q->hosts);
	if (q->picks_services)
		put_names(sql, "service", &q->services);
	if (q->picks_functions && span->table != CLICKHOUSE_FACTS) /* of stacks */
		put_functions(q, sql);
}

/* Stacks of a question of functions are asked for by their innermost frame. */
static void put_leaf_join(const struct asker *q, const struct plan_span *span, struct buf *sql)
{
	buf_str(sql, " ANY LEFT JOIN (SELECT stack, any(frames)[1] AS leaf, argMax(builds, "
		     "length(builds))[1] AS leaf_build FROM stacks WHERE stack IN (SELECT stack "
		     "FROM facts WHERE service "
		     "!= '' AND ");
	asker_put_span(q, span, sql);
	buf_str(sql, ") GROUP BY stack) AS leaves USING stack");
}

/* The functions of a span, for the list of their names. */
static void put_source(const struct asker *q, const struct plan_span *span, struct buf *source)
{
	bool leaves = span->table == CLICKHOUSE_FACTS;

	buf_printf(source, "%sSELECT %s FROM %s WHERE service != '' AND ",
		   source->len ? " UNION ALL " : "",
		   leaves ? "frames[1] AS func FROM stacks WHERE stack IN (SELECT stack" : "func",
		   clickhouse_tables[span->table].name);
	asker_put_span(q, span, source);
	buf_str(source, leaves ? ")" : "");
}

/* The columns of a row in a table of stacks, of functions, and of stacks as functions. */
struct span_columns {
	const char *key, *build, *samples;
};

static int ask_span(struct asker *q, const struct plan_span *span, struct error *err)
{
	static const struct span_columns stacks = { "stack", "''", "samples" },
					 functions = { "func", "build", "self" },
					 leaves = { "leaf", "leaf_build", "samples" };
	bool by_leaf = q->plan.functions && span->table == CLICKHOUSE_FACTS;
	const struct span_columns *of = by_leaf             ? &leaves
					: q->plan.functions ? &functions
							    : &stacks;
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql,
		   "SELECT %s AS h, service, event, %s AS b, toUInt32(%s) AS t, %s, "
		   "toUInt64(sum(%s)) AS n, toUInt64(%s) AS i FROM %s",
		   q->hosts_apart ? "host" : "''", of->build,
		   q->question->times_apart ? "time" : "0", of->key, of->samples,
		   q->answer.has_totals ? "sum(incl)" : "0", clickhouse_tables[span->table].name);
	if (by_leaf)
		put_leaf_join(q, span, &sql);
	buf_str(&sql, " WHERE service != '' AND ");
	asker_put_span(q, span, &sql);
	if (q->plan.functions)
		put_source(q, span, &q->answer.source);
	buf_printf(&sql,
		   " GROUP BY h, service, event, b, t, %s HAVING n > 0 OR i > 0 FORMAT RowBinary",
		   of->key);
	r = asker_ask_all(q, buf_cstr(&sql), read_sum, err);
	buf_fini(&sql);
	return r;
}

static void read_leaf(struct asker *q, uint32_t shard, struct reader *r)
{
	struct answer_leaf leaf = { .service = read_name(&q->answer.texts, r) };

	(void)shard;
	leaf.event = read_name(&q->answer.texts, r);
	leaf.build = read_name(&q->answer.texts, r);
	leaf.path = read_name(&q->answer.texts, r);
	leaf.kind = reader_u8(r);
	leaf.place = reader_u64(r);
	leaf.samples = reader_u64(r);
	leaf.events = reader_u64(r);
	if (r->bad)
		return;
	event_of(&q->answer, leaf.event);
	vec_push(&q->answer.leaves, leaf);
}

static int ask_leaves(struct asker *q, const struct plan_span *span, struct error *err)
{
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql,
		   "SELECT service, event, build, path, kind, place, toUInt64(sum(samples)) AS n, "
		   "toUInt64(sum(events)) FROM %s WHERE service != '' AND ",
		   clickhouse_tables[span->table].name);
	put_times(&sql, span->from_s, span->to_s);
	if (q->picks_services)
		put_names(&sql, "service", &q->services);
	if (q->question->leaves_build) {
		buf_str(&sql, " AND build = ");
		sql_put_text(&sql, q->question->leaves_build);
	}
	buf_str(&sql, " GROUP BY service, event, build, path, kind, place HAVING n > 0 FORMAT "
		      "RowBinary");
	r = asker_ask_all(q, buf_cstr(&sql), read_leaf, err);
	buf_fini(&sql);
	return r;
}

/* ---- the answer ---- */

static void put_note(const struct asker *q, struct buf *note)
{
	uint32_t n_shards = clickhouse_n_shards(q->ch), n_answers = 0;

	for (uint32_t s = 0; s < n_shards; s++)
		n_answers += q->answers[s];
	buf_printf(note, "the fleet has %" PRIu64 " sample%s here%s, %" PRIu64 " lost; tables",
		   q->samples, plural_s(q->samples), q->picks_services ? " in all services" : "",
		   q->lost);
	for (size_t i = 0; i < q->plan.n_spans; i++) {
		bool is_named = false;

		for (size_t k = 0; k < i; k++)
			is_named |= q->plan.spans[k].table == q->plan.spans[i].table;
		if (!is_named)
			buf_printf(note, "%s %s", i ? "," : "",
				   clickhouse_tables[q->plan.spans[i].table].name);
	}
	buf_printf(note, "; %" PRIu32 " of %" PRIu32 " shard%s", n_answers, n_shards,
		   plural_s(n_shards));
}

/* A filter of code takes samples by their innermost frame, so only stacks have their totals. */
static bool asker_can_have_totals(const struct asker *q)
{
	static const bool is_of_all[N_FILTERS] = { [FILTER_HOST] = true,
						   [FILTER_SERVICE] = true,
						   [FILTER_EVENT] = true,
						   [FILTER_TIME] = true };

	for (int f = 0; f < N_FILTERS && q->question->query; f++)
		if (!is_of_all[f] && query_has(q->question->query, (enum filter_tag)f))
			return false;
	return true;
}

/* Tables that no longer have all of their stretch. */
static void note_missing_days(struct asker *q)
{
	for (size_t i = 0; i < q->plan.n_spans; i++) {
		const struct plan_span *span = &q->plan.spans[i];

		if (!plan_keeps(&q->plan, span->table, span->from_s + DAY_S))
			vec_push(&q->notes,
				 xasprintf("the table %s has the last %" PRIu32
					   " days only: earlier samples are missing here",
					   clickhouse_tables[span->table].name,
					   clickhouse_tables[span->table].keep_days));
	}
}

/*
 * Tables with hosts: the stacks of ten minutes, which are kept for a few days, and the functions of
 * a day, for longer times. Stacks are chosen for short times, and where totals of exact times are
 * wanted.
 */
static void asker_plan_hosts(struct asker *q)
{
	struct question_plan *p = &q->plan;
	bool is_short = p->to_s - p->from_s < DAY_S && !q->needs_builds;

	q->exact = *p;
	q->finds_changes = p->functions && p->times_apart && q->needs_builds;
	if ((is_short || q->question->needs_totals) && plan_keeps(p, CLICKHOUSE_FACTS, p->from_s))
		p->functions = false;
	plan_hosts(p);
}

static int asker_plan(struct asker *q, struct error *err)
{
	const struct query *query = q->question->query;
	cleanup(free_at_exit) char *begin =
		xasprintf("SELECT toUInt32(min(time)) FROM %s FORMAT RowBinary", asker_coverage(q));
	int r = 0;

	q->picks_hosts = query && query_has(query, FILTER_HOST);
	q->hosts_apart = q->question->hosts_apart || q->picks_hosts; /* the filter looks again */
	q->picks_services = query && query_has(query, FILTER_SERVICE);
	q->plan.functions = q->question->functions_alone &&
			    (!q->question->needs_totals || asker_can_have_totals(q));
	q->needs_builds = q->question->builds_apart || (query && query_has(query, FILTER_BUILD));
	q->plan.times_apart = q->question->times_apart;
	q->plan.now_s = clock_wall_ns() / NS_PER_SECOND;
	q->plan.to_s = q->plan.now_s + 1;
	if (query && query->has_window && query->window.from_ns)
		q->plan.from_s = query->window.from_ns / NS_PER_SECOND;
	if (query && query->has_window && query->window.to_ns != UINT64_MAX)
		q->plan.to_s = (query->window.to_ns + NS_PER_SECOND - 1) / NS_PER_SECOND;
	if (!q->plan.from_s)
		r = asker_ask_all(q, begin, read_begin, err);
	if (q->question->leaves && q->picks_hosts)
		return error_set(err, -ENOTSUP,
				 "ClickHouse adds up the addresses of all hosts: leave out host:, "
				 "or ask the directory of the fleet");
	if (q->question->leaves)
		plan_leaves(&q->plan);
	else if (q->hosts_apart)
		asker_plan_hosts(q);
	else
		plan_roll_ups(&q->plan);
	return r;
}

/* Stacks of days before the tables had builds. */
static void note_missing_builds(struct asker *q)
{
	uint64_t samples = q->answer.has_builds ? answer_without_builds(&q->answer) : 0;

	if (samples)
		vec_push(&q->notes,
			 xasprintf("%" PRIu64
				   " samples were stored before the tables had builds of "
				   "stacks: 'assay fleet rebuild' gives them builds, day by day",
				   samples));
}

static void note_several_rates(struct asker *q)
{
	if (!q->hosts_apart && !q->question->leaves && answer_has_several_rates(&q->answer))
		vec_push(&q->notes,
			 xstrdup("hosts have different rates, and times of rows are from the mean "
				 "of all: add the key host, choose hosts, or count samples "
				 "(--weight samples)"));
}

static int asker_ask(struct asker *q, struct error *err)
{
	int r = plan_check(q->question->keys, q->question->query, err);

	r = r < 0 ? r : asker_plan(q, err);
	r = r < 0 ? r : find_names(q, err);
	r = r < 0 ? r : find_functions(q, err);
	r = r < 0 ? r : asker_plan_changes(q, err);
	note_missing_days(q);
	q->answer.has_totals = q->plan.functions && !q->finds_changes && asker_can_have_totals(q);
	r = r < 0 ? r : find_coverage(q, err);
	for (size_t i = 0; i < q->plan.n_spans && r >= 0; i++)
		r = q->question->leaves ? ask_leaves(q, &q->plan.spans[i], err)
					: ask_span(q, &q->plan.spans[i], err);
	if (r < 0)
		return r;
	q->answer.from_s = q->plan.from_s;
	q->answer.to_s =
		MIN(q->plan.to_s, MAX(clock_wall_ns() / NS_PER_SECOND, q->plan.from_s + 1));
	q->answer.has_stacks = !q->plan.functions;
	q->answer.has_builds = q->needs_builds;
	answer_merge(&q->answer);
	if (!q->answer.rows.n && !q->answer.leaves.n)
		return error_set(err, -ENODATA, "the fleet has no such samples here%s%s",
				 q->warnings.n ? "; " : "",
				 q->warnings.n ? q->warnings.data[0] : "");
	r = q->question->leaves ? 0 : answer_find_names(&q->answer, q->ch, err);
	if (r >= 0) {
		note_missing_builds(q);
		note_several_rates(q);
	}
	return r;
}

static int asker_write(struct asker *q, const char *scratch, struct session **out,
		       uint32_t *missing, struct error *err)
{
	struct buf note = { 0 };
	int r;

	put_note(q, &note);
	r = answer_write(&q->answer, scratch, buf_cstr(&note), out, err);
	buf_fini(&note);
	if (r < 0)
		return r;
	(*out)->n_hosts = q->n_hosts;
	(*out)->n_hosts_asked = MAX(q->n_hosts_known, q->n_hosts);
	*missing = (uint32_t)q->warnings.n;
	vec_foreach (&q->warnings, text)
		vec_push(&(*out)->warnings, take_ptr(*text));
	vec_foreach (&q->notes, text)
		vec_push(&(*out)->warnings, take_ptr(*text));
	return 0;
}

int clickhouse_question(struct clickhouse *ch, const struct fleet_question *question,
			const char *scratch, struct session **out, uint32_t *missing,
			struct error *err)
{
	uint32_t n_shards = clickhouse_n_shards(ch);
	struct asker q = { .ch = ch,
			   .question = question,
			   .answers = xcalloc(n_shards, sizeof(*q.answers)) };
	int r;

	answer_init(&q.answer);
	strings_init(&q.names);
	for (uint32_t s = 0; s < n_shards; s++)
		q.answers[s] = true;
	r = asker_ask(&q, err);
	r = r < 0 ? r : asker_write(&q, scratch, out, missing, err);
	answer_fini(&q.answer);
	strings_fini(&q.names);
	vec_foreach (&q.warnings, text)
		free(*text);
	vec_foreach (&q.notes, text)
		free(*text);
	vec_fini(&q.warnings);
	vec_fini(&q.notes);
	intmap_fini(&q.functions_seen);
	vec_fini(&q.function_numbers);
	vec_fini(&q.hosts);
	vec_fini(&q.services);
	free(q.answers);
	return r;
}
