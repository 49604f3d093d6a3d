/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Annotation for programs: {"events": […], "functions": [{…, "lines": […], "instructions": […]}]}
 */
#include <jansson.h>

#include "annotate/annotate_code.h"
#include "base/error.h"
#include "report/header.h"
#include "store/session.h"

static json_t *weights_json(const struct annotation *a, const struct weight *w)
{
	json_t *list = json_array();

	for (uint32_t lane = 0; lane < a->profile->n_lanes; lane++)
		json_array_append_new(list, json_integer((json_int_t)w[lane].samples));
	return list;
}

static json_t *lines_json(struct annotation *a, uint32_t function)
{
	struct line_sums sums = { 0 };
	json_t *list = json_array();

	annotation_function_lines(a, function, &sums);
	vec_foreach (&sums.lines, line) {
		const char *path = strings_get(&a->files, (string_id){ line->file }), *text = "";
		size_t size = 0;
		json_t *row = json_object();

		source_line(source_files_get(a->sources, path), line->line, &text, &size);
		{
			cleanup(free_at_exit) char *copy = xstrndup(text, size);

			json_object_set_new(row, "file", json_text(path));
			json_object_set_new(row, "line", json_integer(line->line));
			json_object_set_new(row, "text", json_text(copy));
		}
		json_object_set_new(row, "samples",
				    weights_json(a,
						 line_sums_find(a, &sums, line->file, line->line)));
		if (a->has_totals)
			json_object_set_new(row, "total",
					    weights_json(a, line_sums_total(a, &sums, line->file,
									    line->line)));
		json_array_append_new(list, row);
	}
	line_sums_fini(&sums);
	return list;
}

static json_t *instruction_json(struct annotation *a, uint32_t image, const struct instruction *in,
				struct weight *w)
{
	const struct symbol_table *table = a->profile->images.data[image].table;
	struct buf target = { 0 };
	struct line_span span;
	json_t *row = json_object();

	annotation_sum(a, image, in->offset, in->offset + in->size, w);
	json_object_set_new(row, "offset", json_integer((json_int_t)in->offset));
	json_object_set_new(row, "size", json_integer(in->size));
	json_object_set_new(row, "text", json_text(in->text));
	if (in->has_target)
		json_object_set_new(row, "target", json_integer((json_int_t)in->target));
	function_code_put_target(a, image, in, &target);
	if (target.len > 3)
		json_object_set_new(row, "refers_to",
				    json_stringn(buf_cstr(&target) + 2, target.len - 3));
	if (lines_span(a->symbols, table, in->offset, &span)) {
		json_object_set_new(row, "file", json_text(span.file));
		json_object_set_new(row, "line", json_integer(span.line));
	}
	json_object_set_new(row, "samples", weights_json(a, w));
	if (a->has_totals) {
		annotation_total(a, image, in->offset, in->offset + in->size, w);
		json_object_set_new(row, "total", weights_json(a, w));
	}
	buf_fini(&target);
	return row;
}

static json_t *instructions_json(struct annotation *a, uint32_t function, struct error *err)
{
	uint32_t image = a->profile->functions.data[function].image;
	struct weight *w = xcalloc(a->profile->n_lanes, sizeof(*w));
	struct function_code code = { 0 };
	json_t *list = json_array();

	if (function_code_load(a, function, &code, err) >= 0)
		vec_foreach (&code.list, in) {
			json_array_append_new(list, instruction_json(a, image, in, w));
		}
	function_code_fini(&code);
	free(w);
	return list;
}

static json_t *function_json(struct annotation *a, uint32_t function)
{
	const struct profile_function *f = &a->profile->functions.data[function];
	const struct profile_image *image = &a->profile->images.data[f->image];
	struct error err = { 0 };
	json_t *row = json_object();

	json_object_set_new(row, "symbol",
			    json_text(symbol_name(a->symbols, image->table, f->symbol)));
	json_object_set_new(row, "image", json_text(image->image->path));
	json_object_set_new(row, "lines", lines_json(a, function));
	json_object_set_new(row, "instructions", instructions_json(a, function, &err));
	if (*err.text)
		json_object_set_new(row, "note", json_text(err.text));
	return row;
}

static json_t *annotate_json_events_json(const struct annotation *a)
{
	const struct profile *p = a->profile;
	json_t *list = json_array();

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		uint32_t counter = p->lanes[lane].counter;
		struct buf skid = { 0 };
		json_t *row = json_object();

		annotation_put_skid(a, lane, &skid);
		if (counter != NO_INDEX)
			json_object_set_new(row, "name",
					    json_text(p->session->info.counters[counter].name));
		json_object_set_new(row, "samples",
				    json_integer((json_int_t)p->lanes[lane].total.samples));
		json_object_set_new(row, "skid", json_text(buf_cstr(&skid)));
		json_array_append_new(list, row);
		buf_fini(&skid);
	}
	return list;
}

void annotation_print_json(struct annotation *a, const uint32_t *functions, size_t n, FILE *out)
{
	json_t *whole = json_object(), *list = json_array();

	json_object_set_new(whole, "schema", json_integer(1));
	json_object_set_new(whole, "events", annotate_json_events_json(a));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, function_json(a, functions[i]));
	json_object_set_new(whole, "functions", list);
	json_dumpf(whole, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(whole);
}
