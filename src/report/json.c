/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON: { "header": {…}, "rows": [{…}, …], "total": […] }. docs/report-json.md
 * defines the keys. Rows are written one by one, so that a large tree
 * needs no more memory here than a small one.
 */
#include <jansson.h>

#include "base/buf.h"
#include "report/data.h"
#include "report/header.h"
#include "report/json.h"
#include "report/names.h"
#include "store/session.h"

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(6))

static int write_bytes(const char *bytes, size_t size, void *out)
{
	return fwrite(bytes, 1, size, out) == size ? 0 : -1;
}

static json_t *json_value_json(const struct value *v)
{
	switch (v->kind) {
	case VALUE_COUNT:
	case VALUE_PERIOD:
		return json_number(v->number);
	case VALUE_PERCENT:
		return json_real(v->percent);
	case VALUE_TEXT:
		return json_text(v->text);
	case VALUE_NONE:
		break;
	}
	return NULL;
}

static void json_print_row(const struct report *r, uint32_t row, uint32_t lane, FILE *out)
{
	json_t *object = json_object();

	for (size_t i = 0; i < r->columns.n; i++) {
		const struct column *c = r->columns.column[i];
		struct value v;

		column_value(r, c, row, lane, &v);
		if (v.kind != VALUE_NONE)
			json_object_set_new(object, c->key, json_value_json(&v));
	}
	json_dump_callback(object, write_bytes, out, FLAGS);
	json_decref(object);
}

static void json_set_class(const struct report *r, uint32_t lane, enum profile_key key,
			   json_t *object)
{
	uint32_t value = profile_lane_value(&r->profile->lanes[lane], key);
	char scratch[KEY_TEXT_SIZE];

	if (value != NO_INDEX)
		json_object_set_new(object, profile_keys[key].key,
				    json_text(profile_key_text(r->profile, key, value, scratch)));
}

static json_t *total_json(const struct report *r)
{
	json_t *totals = json_array();

	for (uint32_t lane = 0; lane < r->profile->n_lanes; lane++) {
		const struct profile_lane *l = &r->profile->lanes[lane];
		json_t *object = json_object();

		if (l->counter != NO_INDEX)
			json_object_set_new(object, "event",
					    json_text(r->profile->session->info.counters[l->counter]
							      .name));
		for (size_t i = 0; i < r->profile->lane_keys.n; i++)
			json_set_class(r, lane, r->profile->lane_keys.key[i], object);
		json_object_set_new(object, "samples", json_number(l->total.samples));
		json_object_set_new(object, "events", json_number(l->total.period));
		json_array_append_new(totals, object);
	}
	return totals;
}

static void json_print_part(json_t *part, FILE *out)
{
	json_dump_callback(part, write_bytes, out, FLAGS);
	json_decref(part);
}

static void json_print_json(const struct report *r, const struct text_style *style, FILE *out)
{
	const char *before = "\n";

	(void)style;
	fputs("{\"header\": ", out);
	json_print_part(header_json(r), out);
	fputs(",\n\"rows\": [", out);
	for (uint32_t row = 0; row < r->rows.list.n; row++)
		for (uint32_t lane = 0; lane < r->rows.n_lanes && data_has_row(r, row); lane++) {
			if (!data_has_lane(r, row, lane))
				continue;
			fputs(before, out);
			json_print_row(r, row, lane, out);
			before = ",\n";
		}
	fputs("\n],\n\"total\": ", out);
	json_print_part(total_json(r), out);
	fputs("}\n", out);
}

const struct report_format json_format = {
	.name = "json",
	.help = "one object: header, rows, total (docs/report-json.md)",
	.is_for_programs = true,
	.print = json_print_json,
};
