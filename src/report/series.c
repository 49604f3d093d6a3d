/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/series.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/intmap.h"
#include "base/json.h"
#include "report/header.h"
#include "store/history/blocks.h"
#include "store/session.h"

const struct view series_view = {
	.name = "series",
	.layout = LAYOUT_FLAT,
	.text_columns = "samples,name",
	.data_columns = "event,classes,keys,samples,events,other",
};

struct series {
	const struct report *report;
	uint64_t first_s, step_s; /* since 1970 */
	size_t n_steps;
	struct intmap row_of; /* of values */
	uint32_t other;       /* the row of the others; NO_INDEX */
	uint64_t *values;     /* [(row * n_lanes + lane) * n_steps + step] */
	uint64_t *lost;       /* by step */
};

static enum profile_key series_key(const struct report *r)
{
	return r->keys.key[0];
}

/* ---- steps ---- */

/* The samples of a fleet have no times within a bucket. */
static uint64_t least_step(const struct profile *p, uint64_t asked_s)
{
	uint64_t grain_s = p->session->n_hosts_asked ? BLOCK_BUCKET_NS / NS_PER_SECOND : 1;

	return MAX(MAX(asked_s, grain_s), p->slice_s);
}

static uint64_t series_second(const struct report *r, uint64_t ns)
{
	return session_wall_ns(&r->profile->session->info, ns) / NS_PER_SECOND;
}

static void choose_steps(struct series *s, uint64_t asked_s)
{
	const struct profile *p = s->report->profile;
	size_t n = p->slices.n, most = asked_s ? SERIES_MAX_STEPS : SERIES_STEPS;
	uint64_t first = n ? series_second(s->report, p->slices.data[0].first_ns) : 0;
	uint64_t last = n ? series_second(s->report, p->slices.data[n - 1].first_ns) : 0;

	s->step_s = least_step(p, asked_s);
	while (last / s->step_s - first / s->step_s >= most)
		s->step_s *= 2;
	s->first_s = first / s->step_s * s->step_s;
	s->n_steps = n ? last / s->step_s - first / s->step_s + 1 : 0;
}

/* A time that only a damaged session has goes to the nearest step. */
static size_t step_of(const struct series *s, uint64_t ns)
{
	uint64_t second = series_second(s->report, ns);

	if (second < s->first_s)
		return 0;
	return (size_t)MIN((second - s->first_s) / s->step_s, s->n_steps - 1);
}

/* ---- values ---- */

static uint32_t series_entry_value(const struct series *s, const struct profile_entry *e)
{
	const struct profile *p = s->report->profile;
	enum profile_key key = series_key(s->report);

	if (profile_keys[key].kind == KEY_CLASS)
		return profile_class_value(p, key, e->group);
	return profile_code_value(p, key, p->nodes.data[e->node].function);
}

static void find_rows(struct series *s)
{
	const struct rows *rows = &s->report->rows;

	s->other = NO_INDEX;
	for (uint32_t i = 0; i < rows->list.n; i++) {
		const struct row *row = &rows->list.data[i];

		if (row->kind == ROW_OTHER)
			s->other = i;
		else if (row->kind == ROW_ITEM)
			*intmap_put(&s->row_of, row->value[series_key(s->report)], NULL) = i;
	}
}

static void add_entry(struct series *s, size_t entry, size_t step)
{
	const struct profile *p = s->report->profile;
	const struct weight *weights = profile_weights(p, entry);
	const uint32_t *known =
		intmap_find(&s->row_of, series_entry_value(s, &p->entries.data[entry]));
	uint32_t row = known ? *known : s->other;

	for (uint32_t lane = 0; lane < p->n_lanes && row != NO_INDEX; lane++)
		s->values[((size_t)row * p->n_lanes + lane) * s->n_steps + step] +=
			weight_value(&weights[lane], s->report->options->by_period);
}

static void add_slices(struct series *s)
{
	const struct profile *p = s->report->profile;

	vec_foreach (&p->slices, slice)
		for (size_t i = slice->first; i < slice->first + slice->n; i++)
			add_entry(s, i, step_of(s, slice->first_ns));
}

static void add_block_losses(struct series *s, const struct block *block)
{
	for (uint32_t i = 0; i < block->n_losses; i++)
		if (block->losses[i].reason < N_LOSS_REASONS &&
		    loss_texts[block->losses[i].reason].kind == LOSS_LOST)
			s->lost[step_of(s, block->first_ns)] += block->losses[i].n;
}

static bool is_in_time(const struct series *s, const struct block *block)
{
	const struct query *q = s->report->query;
	const struct session_info *info = &s->report->profile->session->info;
	uint64_t wall_ns = session_wall_ns(info, block->first_ns);

	return query_takes_number(q, FILTER_TIME,
				  block->first_ns > info->start_ns
					  ? block->first_ns - info->start_ns
					  : 0) &&
	       (!q->has_window || (wall_ns >= q->window.from_ns && wall_ns < q->window.to_ns));
}

static void add_losses(struct series *s)
{
	const struct session *session = s->report->profile->session;

	for (uint32_t i = 0; i < session->n_segments; i++)
		for (uint32_t b = 0; b < session->segments[i]->n_blocks; b++)
			if (is_in_time(s, &session->segments[i]->blocks[b]))
				add_block_losses(s, &session->segments[i]->blocks[b]);
}

/* ---- printing ---- */

static void put_numbers(struct buf *out, const char *key, const uint64_t *numbers, size_t n)
{
	json_put_key(out, key);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%" PRIu64, i ? "," : "[", numbers[i]);
	buf_str(out, n ? "]" : "[]");
}

static void put_series(const struct series *s, uint32_t row, uint32_t lane, struct buf *out)
{
	const struct profile *p = s->report->profile;
	const struct row *at = &s->report->rows.list.data[row];
	const struct weight *self = &rows_cells(&s->report->rows, row)[lane].self;
	enum profile_key key = series_key(s->report);
	char scratch[KEY_TEXT_SIZE];

	buf_u8(out, '{');
	if (p->lanes[lane].counter != NO_INDEX)
		json_put_text(out, "event", p->session->info.counters[p->lanes[lane].counter].name);
	if (at->kind == ROW_OTHER)
		json_put_number(out, "other", at->n_hidden);
	else
		json_put_text(out, profile_keys[key].key,
			      profile_key_text(p, key, at->value[key], scratch));
	if (at->kind == ROW_ITEM && key == PROFILE_SYMBOL)
		json_put_text(out, "image",
			      profile_key_text(p, PROFILE_IMAGE,
					       profile_code_value(p, PROFILE_IMAGE, at->value[key]),
					       scratch));
	json_put_number(out, "samples", self->samples);
	json_put_number(out, "events", self->period);
	put_numbers(out, "values", &s->values[((size_t)row * p->n_lanes + lane) * s->n_steps],
		    s->n_steps);
	buf_u8(out, '}');
}

static void series_print(const struct series *s, FILE *out)
{
	const struct report *r = s->report;
	const char *before = "\n";
	struct buf text = { 0 };
	json_t *header = header_json(r);

	fputs("{\"header\": ", out);
	json_dumpf(header, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(header);
	fprintf(out,
		",\n\"start_seconds\": %" PRIu64 ", \"step_seconds\": %" PRIu64
		", \"steps\": %zu,\n\"series\": [",
		s->first_s, s->step_s, s->n_steps);
	for (uint32_t row = 0; row < r->rows.list.n; row++)
		for (uint32_t lane = 0; lane < r->profile->n_lanes; lane++) {
			const struct weight *self = &rows_cells(&r->rows, row)[lane].self;

			if (!self->samples && !self->period)
				continue;
			fputs(before, out);
			before = ",\n";
			put_series(s, row, lane, &text);
			fwrite(text.data, 1, text.len, out);
			text.len = 0;
		}
	put_numbers(&text, "lost", s->lost, s->n_steps);
	buf_u8(&text, '\0');
	fprintf(out, "\n],\n%s}\n", (const char *)text.data + (*text.data == ','));
	buf_fini(&text);
}

void series_print_json(const struct report *r, uint64_t step_s, FILE *out)
{
	struct series s = { .report = r };

	choose_steps(&s, step_s);
	s.values = xcalloc(r->rows.list.n * r->profile->n_lanes * s.n_steps + 1, sizeof(uint64_t));
	s.lost = xcalloc(s.n_steps + 1, sizeof(uint64_t));
	find_rows(&s);
	if (s.n_steps) {
		add_slices(&s);
		add_losses(&s);
	}
	series_print(&s, out);
	intmap_fini(&s.row_of);
	free(s.values);
	free(s.lost);
}
