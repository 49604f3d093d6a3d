/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explains why a query selects nothing: the filter, and values that it could have. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "event/loss.h"
#include "profile/missing_labels.h"
#include "profile/query.h"
#include "profile/rows.h"
#include "store/session.h"

#define VALUES_NAMED 8

/* What a filter selects by; other numbers are of the session's events. */
enum { BY_TIME = N_PROFILE_KEYS, BY_COUNT, BY_UNIT_MASK, BY_NOTHING };
static const uint8_t filter_keys[N_FILTERS] = {
	[FILTER_IMAGE] = PROFILE_IMAGE,
	[FILTER_LIB_IMAGE] = PROFILE_IMAGE,
	[FILTER_IMAGE_EXCLUDE] = PROFILE_IMAGE,
	[FILTER_SYMBOL] = PROFILE_SYMBOL,
	[FILTER_SYMBOL_EXCLUDE] = PROFILE_SYMBOL,
	[FILTER_VIA] = PROFILE_SYMBOL,
	[FILTER_APP] = PROFILE_APP,
	[FILTER_COMM] = PROFILE_COMM,
	[FILTER_PID] = PROFILE_PROCESS,
	[FILTER_TID] = PROFILE_THREAD,
	[FILTER_CPU] = PROFILE_CPU,
	[FILTER_CGROUP] = PROFILE_CGROUP,
	[FILTER_UNIT] = PROFILE_UNIT,
	[FILTER_CONTAINER] = PROFILE_CONTAINER,
	[FILTER_POD] = PROFILE_POD,
	[FILTER_HOST] = PROFILE_HOST,
	[FILTER_SERVICE] = PROFILE_SERVICE,
	[FILTER_WAKER] = PROFILE_WAKER,
	[FILTER_REASON] = PROFILE_REASON,
	[FILTER_OWNER] = PROFILE_OWNER,
	[FILTER_DEVICE] = PROFILE_DEVICE,
	[FILTER_MEM] = PROFILE_MEM,
	[FILTER_TLB] = PROFILE_TLB,
	[FILTER_SNOOP] = PROFILE_SNOOP,
	[FILTER_DATA_SYMBOL] = PROFILE_DATA_SYMBOL,
	[FILTER_DATA_IMAGE] = PROFILE_DATA_IMAGE,
	[FILTER_TRACE] = PROFILE_TRACE,
	[FILTER_SPAN] = PROFILE_SPAN,
	[FILTER_LABEL] = PROFILE_LABEL,
	[FILTER_PARALLELISM] = PROFILE_PARALLELISM,
	[FILTER_MODE] = PROFILE_MODE,
	[FILTER_LANGUAGE] = PROFILE_LANGUAGE,
	[FILTER_BUILD] = PROFILE_BUILD,
	[FILTER_FILE] = PROFILE_FILE,
	[FILTER_EVENT] = PROFILE_EVENT,
	[FILTER_CONTEXT] = PROFILE_CONTEXT,
	[FILTER_COUNT] = BY_COUNT,
	[FILTER_UNIT_MASK] = BY_UNIT_MASK,
	[FILTER_TIME] = BY_TIME,
	[FILTER_SESSION] = BY_NOTHING,
	[FILTER_SESSION_EXCLUDE] = BY_NOTHING,
	[FILTER_ARCHIVE] = BY_NOTHING,
	[FILTER_BINARY] = PROFILE_APP,
};

static int more_samples(const void *a, const void *b, void *context)
{
	const struct rows *rows = context;
	uint64_t x = rows_cells(rows, *(const uint32_t *)a)->self.samples;
	uint64_t y = rows_cells(rows, *(const uint32_t *)b)->self.samples;

	return (x < y) - (x > y);
}

/* "gzip, sh and 12 more" */
static void empty_put_values(struct buf *text, const struct profile *p, enum profile_key key,
			     const struct rows *rows)
{
	uint32_t *order = xcalloc(rows->list.n + 1, sizeof(*order));
	char scratch[KEY_TEXT_SIZE];

	for (uint32_t i = 0; i < rows->list.n; i++)
		order[i] = i;
	qsort_r(order, rows->list.n, sizeof(*order), more_samples, (void *)rows);
	for (size_t i = 0; i < MIN(rows->list.n, VALUES_NAMED); i++)
		buf_printf(text, "%s%.60s", i ? ", " : "",
			   profile_key_text(p, key, rows->list.data[order[i]].value[key], scratch));
	if (rows->list.n > VALUES_NAMED)
		buf_printf(text, " and %zu more", rows->list.n - VALUES_NAMED);
	free(order);
}

/* The number that a filter takes: not the value of a key, but the id that it stands for. */
static uint32_t filter_number(const struct profile *p, uint8_t by, uint32_t value)
{
	if (by == PROFILE_PROCESS)
		return (uint32_t)p->processes.data[value].pid;
	if (by == PROFILE_THREAD)
		return (uint32_t)p->threads.data[value].tid;
	return value;
}

void profile_each_value(const struct profile_request *request, enum filter_tag tag,
			void (*visit)(void *ctx, uint32_t number, const char *text), void *ctx)
{
	const struct query all = { .with_idle = true };
	struct profile_request r = *request;
	uint8_t by = filter_keys[tag];
	char scratch[KEY_TEXT_SIZE];
	struct rows rows = { 0 };
	struct profile *p;

	if (by >= N_PROFILE_KEYS)
		return;
	r.query = &all;
	r.keys = (struct key_list){ { (enum profile_key)by }, 1 };
	r.with_lines = by == PROFILE_FILE;
	p = profile_load(&r);
	profile_collate(p, &r.keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++) {
		uint32_t value = rows.list.data[i].value[by];

		visit(ctx, filter_number(p, by, value),
		      profile_key_text(p, (enum profile_key)by, value, scratch));
	}
	rows_fini(&rows);
	profile_free(p);
}

static void empty_put_time(struct buf *text, const struct profile *p)
{
	uint64_t start = p->session->info.start_ns;

	buf_printf(text, "%.0f to %.0f s",
		   p->first_ns > start ? (double)(p->first_ns - start) / 1e9 : 0.0,
		   p->last_ns > start ? (double)(p->last_ns - start) / 1e9 : 0.0);
}

static void put_numbers(struct buf *text, const struct session_info *info, bool is_mask)
{
	for (uint32_t i = 0; i < info->n_counters; i++)
		buf_printf(text, is_mask ? "%s0x%" PRIx64 " (%s)" : "%s%" PRIu64 " (%s)",
			   i ? ", " : "",
			   is_mask ? info->counters[i].unit_mask : info->counters[i].count,
			   info->counters[i].name);
}

static int explain_filter(const struct profile_request *request, enum filter_tag tag,
			  struct error *err)
{
	const struct filter_value *value = &request->query->filters[tag].data[0];
	const struct query all = { .with_idle = request->query->with_idle };
	struct profile_request unfiltered = *request;
	uint8_t by = filter_keys[tag];
	enum profile_key key = (enum profile_key)by;
	struct rows rows = { 0 };
	struct buf text = { 0 }, missing = { 0 };
	struct profile *p;

	unfiltered.query = &all;
	unfiltered.with_chains = false;
	unfiltered.columns.n = 0;
	unfiltered.keys = (struct key_list){ { key }, by < N_PROFILE_KEYS };
	unfiltered.with_lines = by == PROFILE_FILE;
	p = profile_load(&unfiltered);
	if (by == BY_TIME) {
		empty_put_time(&text, p);
	} else if (by >= N_PROFILE_KEYS) {
		put_numbers(&text, &request->session->info, by == BY_UNIT_MASK);
	} else {
		profile_collate(p, &unfiltered.keys, false, &rows);
		empty_put_values(&text, p, key, &rows);
	}
	if (filter_keys[tag] == PROFILE_LABEL || tag == FILTER_TRACE || tag == FILTER_SPAN)
		put_missing_labels(request->session, &(struct key_list){ 0 }, request->query,
				   &missing);
	error_set(err, -ENOENT, "no sample matches %s%s%s%s; %s%s", filter_infos[tag].tag,
		  *filter_infos[tag].tag ? ":" : "", value->glob,
		  request->query->filters[tag].n > 1 ? ",…" : "",
		  missing.len ? "" : "there are: ", buf_cstr(missing.len ? &missing : &text));
	buf_fini(&missing);
	rows_fini(&rows);
	buf_fini(&text);
	profile_free(p);
	return -ENOENT;
}

static uint64_t count_taken(const struct profile_request *request, const struct query *query,
			    uint64_t *n_idle)
{
	struct profile_request r = *request;
	struct profile *p;
	uint64_t n;

	r.query = query;
	r.with_chains = query_has(query, FILTER_VIA);
	r.columns.n = 0;
	p = profile_load(&r);
	n = p->n_selected;
	*n_idle = p->n_idle;
	profile_free(p);
	return n;
}

/* How many are too many; 0: they are not. */
static uint32_t count_lanes(const struct profile_request *request)
{
	struct profile *p = request->columns.n ? profile_load(request) : NULL;
	uint32_t n = p ? p->n_lanes_refused : 0;

	profile_free(p);
	return n;
}

static int explain_window(const struct time_window *window, struct error *err)
{
	struct buf text = { 0 };
	int r;

	time_window_print(&text, window);
	r = error_set(err, -ENOENT,
		      "the session has no samples of the time %s; 'assay info' shows when it began",
		      buf_cstr(&text));
	buf_fini(&text);
	return r;
}

/* The session has no samples at all: its losses say why. */
static int explain_losses(const struct profile_request *request, struct error *err)
{
	const struct query all = { .with_idle = true };
	const struct profile_request unfiltered = { .session = request->session, .query = &all };
	struct profile *p = profile_load(&unfiltered);
	int most = -1, r;

	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (loss_texts[i].kind == LOSS_LOST && p->losses[i] &&
		    (most < 0 || p->losses[i] > p->losses[most]))
			most = i;
	if (most >= 0)
		r = error_set(err, -ENOENT,
			      "the session has no samples: %" PRIu64 " were lost (%s)",
			      p->losses[most], loss_texts[most].text);
	else if (p->losses[LOSS_PROTECTED])
		r = error_set(err, -ENOENT,
			      "the session has no samples: the kernel ended the counters where a "
			      "program with other rights (set-uid, set-gid or file capabilities) "
			      "was executed; root's 'assay record -a' has it");
	else if (request->session->has_window)
		r = explain_window(&request->session->window, err);
	else
		r = error_set(err, -ENOENT,
			      "the session has no samples; a longer run or a higher rate "
			      "(assay record -F) gives some");
	profile_free(p);
	return r;
}

/* Each may match alone, so no single one is the reason. */
static int explain_matchers(const struct query *q, struct error *err)
{
	cleanup(buf_fini) struct buf text = { 0 };

	vec_foreach (&q->matchers, m) {
		if (text.len)
			buf_str(&text, ", ");
		matcher_print(m, &text);
	}
	return error_set(err, -ENOENT,
			 "no sample matches all of the filters and matchers together: %s",
			 buf_cstr(&text));
}

int profile_explain_empty(const struct profile_request *request, struct error *err)
{
	uint64_t n_idle, ignored;
	uint32_t n_lanes = count_lanes(request);

	count_taken(request, request->query, &n_idle);
	if (n_idle)
		return error_set(err, -ENOENT,
				 "all %" PRIu64
				 " samples are of idle processors; --idle shows them",
				 n_idle);
	if (n_lanes)
		return error_set(err, -E2BIG,
				 "%" PRIu32
				 " classes would be as many groups of columns, and at most %d "
				 "are possible: choose some (cpu: tid: event:), or merge more "
				 "(--merge)",
				 n_lanes, PROFILE_MAX_LANES);
	for (int tag = 0; tag < N_FILTERS; tag++) {
		struct query single = { .with_idle = request->query->with_idle };

		if (!request->query->filters[tag].n || filter_keys[tag] == BY_NOTHING)
			continue;
		single.filters[tag] = request->query->filters[tag];
		if (!count_taken(request, &single, &ignored))
			return explain_filter(request, (enum filter_tag)tag, err);
	}
	if (request->query->matchers.n)
		return explain_matchers(request->query, err);
	for (int tag = 0; tag < N_FILTERS; tag++)
		if (request->query->filters[tag].n && filter_keys[tag] != BY_NOTHING)
			return error_set(err, -ENOENT,
					 "no sample matches all of the filters together; each of "
					 "them alone has some");
	return explain_losses(request, err);
}
