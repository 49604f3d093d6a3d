/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libassay/handles.h"
#include "profile/query.h"
#include "store/session.h"

ASSAY_API struct assay_query *assay_query_new(void)
{
	return xcalloc(1, sizeof(struct assay_query));
}

ASSAY_API void assay_query_free(struct assay_query *q)
{
	if (q)
		query_fini(&q->samples);
	free(q);
}

ASSAY_API int assay_query_filter(struct assay_query *q, const char *filter,
				 struct assay_error *error)
{
	struct error err = { 0 };
	int r;

	if (!q || !filter)
		return assay_refuse(error, -EINVAL, "a filter needs a query and a text");
	r = query_add(&q->samples, filter, &err);
	r = r < 0 ? r : query_check(&q->samples, &err);
	return r < 0 ? assay_give_error(error, r, &err) : 0;
}

ASSAY_API int assay_query_by(struct assay_query *q, const char *keys, struct assay_error *error)
{
	struct key_list by = { .n = 0 };
	struct error err = { 0 };
	int r;

	if (!q || !keys)
		return assay_refuse(error, -EINVAL, "keys need a query and a text");
	r = key_list_parse(&by, keys, &err);
	if (r < 0)
		return assay_give_error(error, r, &err);
	q->by = by;
	return 0;
}

ASSAY_API void assay_query_idle(struct assay_query *q, int is_on)
{
	if (q)
		q->samples.with_idle = is_on;
}

ASSAY_API int assay_query_frames(struct assay_query *q, const char *which,
				 struct assay_error *error)
{
	enum shown_frames frames = which ? shown_frames_find(which) : N_SHOWN_FRAMES;

	if (!q || frames == N_SHOWN_FRAMES)
		return assay_refuse(error, -EINVAL,
				    "frames need a query, and both, native or language");
	q->samples.frames = frames;
	return 0;
}

ASSAY_API void assay_query_weigh_events(struct assay_query *q, int is_on)
{
	if (q)
		q->weighs_events = is_on;
}

ASSAY_API void assay_query_min_percent(struct assay_query *q, double percent)
{
	if (q && percent >= 0 && percent <= 100)
		q->min_percent = percent;
}

ASSAY_API const char *assay_key_name(size_t index)
{
	return index < N_PROFILE_KEYS ? profile_keys[index].key : NULL;
}

ASSAY_API const char *assay_key_help(size_t index)
{
	return index < N_PROFILE_KEYS ? profile_keys[index].help : NULL;
}

/* ---- tables and trees ---- */

static const struct view table_view = {
	.name = "table",
	.layout = LAYOUT_FLAT,
	.with_chains = true,
	.text_columns = "samples",
	.data_columns = "samples",
};

static const struct assay_query default_query;

/* The query's own samples, as container names are the session's. */
static struct query query_of(const struct assay_session *session, const struct assay_query *q)
{
	struct query samples = q->samples;

	samples.containers = input_containers(session->in);
	return samples;
}

static int make_rows(struct assay_session *session, const struct view *view,
		     const struct assay_query *q, struct assay_rows *rows, struct error *err)
{
	struct query samples = query_of(session, q);
	struct profile_request request = {
		.session = session->session,
		.symbols = session->symbols,
		.query = &samples,
	};
	int r;

	rows->options = (struct report_options){
		.by = q->by,
		.min_percent = q->min_percent,
		.by_period = q->weighs_events,
		.for_program = true, /* texts as in JSON */
	};
	if (!rows->options.by.n && view == &table_view) {
		key_list_add(&rows->options.by, PROFILE_IMAGE);
		key_list_add(&rows->options.by, PROFILE_SYMBOL);
	}
	r = report_request(view, &rows->options, &request, err);
	if (r < 0)
		return r;
	rows->profile = profile_load(&request); /* a table may be empty */
	rows->report = report_new(view, &rows->options, &rows->query, rows->profile);
	return 0;
}

static int new_rows(struct assay_session *session, const struct view *view,
		    const struct assay_query *query, struct assay_rows **out,
		    struct assay_error *error)
{
	const struct assay_work work = assay_begin_work();
	struct assay_rows *rows;
	struct error err = { 0 };
	int r;

	if (!out)
		return assay_refuse(error, -EINVAL, "there is no place for the rows");
	*out = NULL;
	if (!session)
		return assay_refuse(error, -EINVAL, "rows need a session");
	rows = xcalloc(1, sizeof(*rows));
	strings_init(&rows->texts);
	rows->session = session;
	session->uses++;
	r = make_rows(session, view, query ? query : &default_query, rows, &err);
	r = assay_end_work(&work, r, &err);
	if (r < 0) {
		assay_rows_free(rows);
		return assay_give_error(error, r, &err);
	}
	*out = rows;
	return 0;
}

ASSAY_API int assay_rows(struct assay_session *session, const struct assay_query *query,
			 struct assay_rows **out, struct assay_error *error)
{
	return new_rows(session, &table_view, query, out, error);
}

ASSAY_API int assay_tree(struct assay_session *session, const struct assay_query *query,
			 struct assay_rows **out, struct assay_error *error)
{
	return new_rows(session, &tree_view, query, out, error);
}

ASSAY_API int assay_inverted_tree(struct assay_session *session, const struct assay_query *query,
				  struct assay_rows **out, struct assay_error *error)
{
	return new_rows(session, &inverted_view, query, out, error);
}

ASSAY_API void assay_rows_free(struct assay_rows *rows)
{
	if (!rows)
		return;
	report_free(rows->report);
	profile_free(rows->profile);
	strings_fini(&rows->texts);
	assay_session_unuse(rows->session);
	free(rows);
}

ASSAY_API size_t assay_rows_count(const struct assay_rows *rows)
{
	return rows ? rows->report->rows.list.n : 0;
}

/* ---- columns of weights ---- */

ASSAY_API size_t assay_rows_columns(const struct assay_rows *rows)
{
	return rows ? rows->profile->n_lanes : 0;
}

static const struct profile_lane *lane_at(const struct assay_rows *rows, size_t column)
{
	return column < assay_rows_columns(rows) ? &rows->profile->lanes[column] : NULL;
}

ASSAY_API const char *assay_rows_column(const struct assay_rows *rows, size_t column)
{
	const struct profile_lane *lane = lane_at(rows, column);

	if (!lane)
		return NULL;
	return lane->counter == NO_INDEX
		       ? ""
		       : rows->session->session->info.counters[lane->counter].name;
}

ASSAY_API uint64_t assay_rows_total_samples(const struct assay_rows *rows, size_t column)
{
	const struct profile_lane *lane = lane_at(rows, column);

	return lane ? lane->total.samples : 0;
}

ASSAY_API uint64_t assay_rows_total_events(const struct assay_rows *rows, size_t column)
{
	const struct profile_lane *lane = lane_at(rows, column);

	return lane ? lane->total.period : 0;
}

/* ---- one row ---- */

static const struct row *row_at(const struct assay_rows *rows, size_t row)
{
	return row < assay_rows_count(rows) ? &rows->report->rows.list.data[row] : NULL;
}

static const struct cell *cell_at(const struct assay_rows *rows, size_t row, size_t column)
{
	static const struct cell nothing;

	return row_at(rows, row) && lane_at(rows, column)
		       ? &rows_cells(&rows->report->rows, row)[column]
		       : &nothing;
}

ASSAY_API const char *assay_row_text(struct assay_rows *rows, size_t row, const char *column)
{
	const struct column *c = column ? column_find(column, strlen(column)) : NULL;
	struct value value;

	if (!row_at(rows, row) || !c)
		return NULL;
	value.kind = VALUE_NONE;
	if (rows->profile->n_lanes)
		column_value(rows->report, c, (uint32_t)row, 0, &value);
	if (value.kind == VALUE_COUNT) {
		snprintf(value.scratch, sizeof(value.scratch), "%" PRIu64, value.number);
		value.text = value.scratch;
	} else if (value.kind != VALUE_TEXT) {
		return "";
	}
	return strings_get(&rows->texts, strings_add(&rows->texts, value.text));
}

ASSAY_API uint64_t assay_row_samples(const struct assay_rows *rows, size_t row, size_t column)
{
	return cell_at(rows, row, column)->self.samples;
}

ASSAY_API uint64_t assay_row_total_samples(const struct assay_rows *rows, size_t row, size_t column)
{
	return cell_at(rows, row, column)->total.samples;
}

ASSAY_API uint64_t assay_row_events(const struct assay_rows *rows, size_t row, size_t column)
{
	return cell_at(rows, row, column)->self.period;
}

ASSAY_API uint64_t assay_row_total_events(const struct assay_rows *rows, size_t row, size_t column)
{
	return cell_at(rows, row, column)->total.period;
}

ASSAY_API size_t assay_row_depth(const struct assay_rows *rows, size_t row)
{
	const struct row *at = row_at(rows, row);

	return at ? at->depth : 0;
}

ASSAY_API size_t assay_row_parent(const struct assay_rows *rows, size_t row)
{
	const struct row *at = row_at(rows, row);

	return at && at->parent != NO_INDEX ? at->parent : SIZE_MAX;
}

ASSAY_API int assay_row_is_other(const struct assay_rows *rows, size_t row)
{
	const struct row *at = row_at(rows, row);

	return at && at->kind == ROW_OTHER;
}

/* ---- losses ---- */

ASSAY_API const char *assay_loss_name(size_t index)
{
	return index < N_LOSS_REASONS ? loss_texts[index].key : NULL;
}

ASSAY_API const char *assay_loss_text(size_t index)
{
	return index < N_LOSS_REASONS ? loss_texts[index].text : NULL;
}

ASSAY_API uint64_t assay_rows_loss(const struct assay_rows *rows, size_t index)
{
	return rows && index < N_LOSS_REASONS ? rows->profile->losses[index] : 0;
}
