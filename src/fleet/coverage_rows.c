/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coverage: what a block has, in rows of ClickHouse (fleet/clickhouse_rows.h). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/loss.h"
#include "fleet/clickhouse_rows.h"
#include "fleet/row_binary.h"
#include "profile/profile.h"
#include "store/session.h"

const char *rows_event_name(const struct profile *p, uint32_t lane)
{
	const char *name = p->session->info.counters[p->lanes[lane].counter].name;

	return *name ? name : "[unknown]";
}

const char *rows_service_name(const struct profile *p, uint32_t group)
{
	char scratch[KEY_TEXT_SIZE];
	const char *text =
		profile_key_text(p, PROFILE_SERVICE, profile_class_value(p, PROFILE_SERVICE, group),
				 scratch);

	return *text ? text : "[unknown]";
}

static void put_event(const struct coverage_rows *c, const char *event, const struct weight *w,
		      uint64_t lost, struct block_rows *to)
{
	struct buf *out = &to->bytes[c->table];

	to->n[c->table]++;
	row_binary_put_text(out, c->block->host);
	row_binary_put_text(out, event);
	buf_u32(out, (uint32_t)(c->block->bucket / NS_PER_SECOND));
	buf_u32(out, c->block->part);
	buf_u64(out, w->samples);
	buf_u64(out, w->period);
	buf_u64(out, lost);
	buf_u32(out, c->n_rows);
	buf_u32(out, c->seen_s);
}

void rows_put_coverage(const struct coverage_rows *c, struct block_rows *out)
{
	const struct profile *p = c->profile;
	struct weight none = { 0 }, sum = { 0 };

	for (size_t l = 0; l < N_LOSS_REASONS; l++)
		if (loss_texts[l].kind == LOSS_LOST)
			out->lost += p->losses[l];
	put_event(c, "", &none, out->lost, out);
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		const char *event = rows_event_name(p, c->lanes[i]);

		weight_add(&sum, &p->lanes[c->lanes[i]].total);
		if (i + 1 < p->n_lanes && !strcmp(event, rows_event_name(p, c->lanes[i + 1])))
			continue;
		put_event(c, event, &sum, 0, out);
		out->samples += sum.samples;
		sum = none;
	}
}

int block_rows_check(const struct block_rows *rows, const struct profile *p, struct error *err)
{
	if (rows->samples != p->n_stored)
		return error_set(err, -EBADMSG,
				 "%" PRIu64 " of %" PRIu64 " samples of a block can be read",
				 rows->samples, p->n_stored);
	for (size_t i = 0; i < N_CLICKHOUSE_TABLES; i++)
		if (rows->n[i] > BLOCK_ROWS_MAX)
			return error_set(err, -E2BIG, "a block has %" PRIu32 " rows for %s: %u fit",
					 rows->n[i], clickhouse_tables[i].name, BLOCK_ROWS_MAX);
	return 0;
}
