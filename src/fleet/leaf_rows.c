/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/leaf_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/row_binary.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "store/session.h"

#define DAY_S 86400u

/* The samples of one place in a service. */
struct leaf_row {
	const char *service, *event, *path;
	const char *build; /* hexadecimal; "": not known */
	uint8_t kind;      /* enum image_kind */
	uint64_t place;    /* offset in the file */
	struct weight weight;
};

struct leaf_maker {
	const struct fleet_block *block;
	struct profile *p;
	char (*builds)[BUILD_ID_HEX_SIZE]; /* by image */
	VEC(struct leaf_row) rows;
	struct block_rows *out;
};

static int leaf_by_key(const void *a, const void *b)
{
	const struct leaf_row *x = a, *y = b;
	const char *const texts[][2] = { { x->service, y->service },
					 { x->event, y->event },
					 { x->build, y->build },
					 { x->path, y->path } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int order = strcmp(texts[i][0], texts[i][1]);

		if (order)
			return order;
	}
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Sorts the rows, and adds up those of one place. */
static void leaf_rows_merge(struct leaf_maker *m)
{
	size_t n = 0;

	if (m->rows.n)
		qsort(m->rows.data, m->rows.n, sizeof(*m->rows.data), leaf_by_key);
	for (size_t i = 0; i < m->rows.n; i++)
		if (n && !leaf_by_key(&m->rows.data[n - 1], &m->rows.data[i]))
			weight_add(&m->rows.data[n - 1].weight, &m->rows.data[i].weight);
		else
			m->rows.data[n++] = m->rows.data[i];
	m->rows.n = n;
}

/* Samples without a frame have no file: they count, and no export takes them. */
static void leaf_rows_add(struct leaf_maker *m, size_t entry, uint32_t lane)
{
	const struct profile *p = m->p;
	const struct profile_entry *e = &p->entries.data[entry];
	struct leaf_row row = { .service = rows_service_name(p, e->group),
				.event = rows_event_name(p, lane),
				.path = "",
				.build = "",
				.kind = IMAGE_UNKNOWN,
				.weight = profile_weights(p, entry)[lane] };

	if (e->node) {
		const struct profile_place *place = &p->places.data[p->node_places.data[e->node]];
		uint32_t image = p->functions.data[place->function].image;

		row.path = p->images.data[image].image->path;
		row.kind = (uint8_t)p->images.data[image].image->kind;
		row.build = m->builds[image];
		row.place = place->offset;
	}
	if (row.weight.samples)
		vec_push(&m->rows, row);
}

static void leaf_put_row(struct leaf_maker *m, const struct leaf_row *row)
{
	struct buf *out = &m->out->bytes[CLICKHOUSE_LEAF_DAY];
	uint32_t time_s = (uint32_t)(m->block->bucket / NS_PER_SECOND);

	m->out->n[CLICKHOUSE_LEAF_DAY]++;
	row_binary_put_text(out, row->service);
	row_binary_put_text(out, row->event);
	row_binary_put_text(out, row->build);
	row_binary_put_text(out, row->path);
	buf_u8(out, row->kind);
	buf_u64(out, row->place);
	buf_u32(out, time_s - time_s % DAY_S);
	buf_u64(out, row->weight.samples);
	buf_u64(out, row->weight.period);
}

static void leaf_put_rows(struct leaf_maker *m)
{
	const struct profile *p = m->p;
	const struct leaf_row receipt = { .service = "",
					  .event = "",
					  .build = "",
					  .path = "",
					  .place = fleet_block_id(m->block),
					  .weight = { .samples = 1 } };

	m->builds = xcalloc(p->images.n + 1, sizeof(*m->builds));
	for (uint32_t i = 0; i < p->images.n; i++)
		if (p->images.data[i].image->build_id.len)
			build_id_hex(&p->images.data[i].image->build_id, m->builds[i]);
	for (size_t e = 0; e < p->entries.n; e++)
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			leaf_rows_add(m, e, lane);
	leaf_rows_merge(m);
	leaf_put_row(m, &receipt);
	vec_foreach (&m->rows, row)
		leaf_put_row(m, row);
}

static int leaf_by_event(const void *a, const void *b, void *context)
{
	const uint32_t *x = a, *y = b;

	return strcmp(rows_event_name(context, *x), rows_event_name(context, *y));
}

int leaf_rows_make(const struct fleet_block *block, const struct session *session, uint32_t seen_s,
		   struct block_rows *out, struct error *err)
{
	const struct query everything = { .with_idle = true };
	struct profile_request request = { .session = session,
					   .query = &everything,
					   .with_places = true };
	struct leaf_maker m = { .block = block, .out = out };
	cleanup(free_at_exit) uint32_t *lanes = NULL;
	int r;

	key_list_add(&request.keys, PROFILE_SERVICE);
	m.p = profile_load(&request);
	leaf_put_rows(&m);
	lanes = xcalloc(m.p->n_lanes + 1, sizeof(*lanes));
	for (uint32_t i = 0; i < m.p->n_lanes; i++)
		lanes[i] = i;
	if (m.p->n_lanes)
		qsort_r(lanes, m.p->n_lanes, sizeof(*lanes), leaf_by_event, m.p);
	rows_put_coverage(&(struct coverage_rows){ .block = block,
						   .profile = m.p,
						   .lanes = lanes,
						   .table = CLICKHOUSE_LEAF_COVERAGE,
						   .n_rows = out->n[CLICKHOUSE_LEAF_DAY],
						   .seen_s = seen_s },
			  out);
	r = block_rows_check(out, m.p, err);
	vec_fini(&m.rows);
	free(m.builds);
	profile_free(m.p);
	return r;
}
