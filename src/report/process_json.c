/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process report for programs; docs/processes.md says what the keys mean. Processes are
 * written one by one: a large session needs no more memory than its largest process.
 */
#include <jansson.h>

#include "report/header.h"
#include "report/process_report.h"
#include "store/session.h"

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

/* jansson hands over a few characters at a time, which is too many calls of fwrite(3). */
static int gather(const char *bytes, size_t size, void *text)
{
	buf_bytes(text, bytes, size);
	return 0;
}

static void print_value(json_t *value, FILE *out)
{
	struct buf text = { 0 };

	json_dump_callback(value, gather, &text, FLAGS);
	fwrite(text.data, 1, text.len, out);
	buf_fini(&text);
	json_decref(value);
}

/* Adds "samples", and "seconds" where there are any. */
static void set_weight(const struct process_report *r, json_t *object, const struct weight *w)
{
	json_object_set_new(object, "samples", json_number(w->samples));
	if (r->processes.basis != TIME_NONE)
		json_object_set_new(object, "seconds",
				    json_real(processes_seconds(&r->processes, w)));
}

static json_t *weight_json(const struct process_report *r, const struct weight *w)
{
	json_t *object = json_object();

	set_weight(r, object, w);
	return object;
}

static void set_contexts(const struct process_report *r, json_t *object,
			 const struct process_row *row)
{
	for (int c = 0; c < N_CONTEXTS; c++)
		json_object_set_new(object, sample_context_names[c], weight_json(r, &row->by[c]));
	json_object_set_new(object, "all", weight_json(r, &row->all));
	json_object_set_new(object, "unresolved", weight_json(r, &row->unknown));
}

static json_t *sentence_json(const struct process_report *r,
			     void (*put)(const struct process_report *r, struct buf *out))
{
	struct buf text = { 0 };
	json_t *value;

	put(r, &text);
	value = json_text(buf_cstr(&text));
	buf_fini(&text);
	return value;
}

static json_t *statistics_json(const struct process_report *r)
{
	const struct run_statistics *s = &r->statistics;
	json_t *object = json_object();

	json_object_set_new(object, "clock", sentence_json(r, process_report_put_clock));
	json_object_set_new(object, "blind_spot", sentence_json(r, process_report_put_blind_spot));
	json_object_set_new(object, "note", json_text(process_report_contexts_note(r)));
	set_contexts(r, object, &r->processes.total);
	json_object_set_new(object, "other_events", json_number(s->other_events));
	json_object_set_new(object, "filtered", json_number(s->filtered));
	json_object_set_new(object, "lost", json_number(s->lost));
	json_object_set_new(object, "delivered", json_number(s->delivered));
	json_object_set_new(object, "run_seconds", json_real(s->seconds));
	if (s->capacity_seconds > 0)
		json_object_set_new(object, "capacity_seconds", json_real(s->capacity_seconds));
	return object;
}

static json_t *instructions_json(struct process_report *r, const struct hit_row *hit)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < hit->n; i++) {
		const struct hit_place *place = &r->places.data[hit->first + i];
		struct instruction in;
		struct buf text = { 0 };
		json_t *row = json_object();
		const char *why;

		process_report_put_place(r, hit->function, place->offset, &text);
		json_object_set_new(row, "place", json_text(buf_cstr(&text)));
		json_object_set_new(row, "offset", json_number(place->offset));
		json_object_set_new(row, "samples", json_number(place->weight.samples));
		if (process_report_instruction(r, hit->function, place->offset, &in, &why))
			json_object_set_new(row, "text", json_text(in.text));
		json_array_append_new(list, row);
		buf_fini(&text);
	}
	return list;
}

static json_t *symbol_json(struct process_report *r, const struct hit_row *hit)
{
	char scratch[KEY_TEXT_SIZE];
	json_t *row = json_object();

	json_object_set_new(row, "symbol",
			    json_text(process_report_symbol(r, hit->function, scratch)));
	set_weight(r, row, &hit->all);
	for (int c = 0; c < N_CONTEXTS; c++)
		if (hit->by[c].samples)
			json_object_set_new(row, sample_context_names[c],
					    json_number(hit->by[c].samples));
	if (r->options.with_instructions)
		json_object_set_new(row, "instructions", instructions_json(r, hit));
	return row;
}

static json_t *region_json(struct process_report *r, const struct hit_region *region)
{
	json_t *object = json_object(), *symbols = json_array(), *other;

	json_object_set_new(object, "image", json_text(process_report_image(r, region->image)));
	json_object_set_new(object, "path",
			    json_text(r->head.profile->images.data[region->image].image->path));
	set_weight(r, object, &region->weight);
	for (uint32_t i = 0; i < region->n; i++)
		json_array_append_new(symbols, symbol_json(r, &r->hits.data[region->first + i]));
	json_object_set_new(object, "symbols", symbols);
	if (region->hidden.n) {
		other = weight_json(r, &region->hidden.weight);
		json_object_set_new(other, "n", json_number(region->hidden.n));
		json_object_set_new(object, "other", other);
	}
	return object;
}

static json_t *part_json(struct process_report *r, const struct hit_part *part)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < part->n; i++)
		json_array_append_new(list, region_json(r, &r->regions.data[part->first + i]));
	return list;
}

static json_t *process_json(struct process_report *r, uint32_t i, const struct process_detail *d)
{
	const struct process_row *row = &r->processes.rows.data[i];
	json_t *object = json_object();

	json_object_set_new(object, "pid", json_integer(process_pid(&r->processes, row)));
	json_object_set_new(object, "name", json_text(process_name(&r->processes, row)));
	set_contexts(r, object, row);
	for (int part = 0; part < N_PROCESS_PARTS && d; part++)
		json_object_set_new(object, process_parts[part].key, part_json(r, &d->parts[part]));
	return object;
}

/* Details stand in the order of their rows. */
static void print_processes(struct process_report *r, FILE *out)
{
	const char *before = "\n";
	size_t next = 0;

	for (uint32_t i = 0; i < r->processes.rows.n; i++) {
		const struct process_detail *d = NULL;

		if (!r->is_shown[i])
			continue;
		if (next < r->details.n && r->details.data[next].row == i)
			d = &r->details.data[next++];
		fputs(before, out);
		print_value(process_json(r, i, d), out);
		before = ",\n";
	}
}

static json_t *sum_json(const struct process_report *r, const struct process_row *row, uint32_t n)
{
	json_t *object = json_object();

	json_object_set_new(object, "n", json_number(n));
	set_contexts(r, object, row);
	return object;
}

void process_report_print_json(struct process_report *r, FILE *out)
{
	fputs("{\"header\": ", out);
	print_value(header_json(&r->head), out);
	fputs(",\n\"statistics\": ", out);
	print_value(statistics_json(r), out);
	fputs(",\n\"processes\": [", out);
	print_processes(r, out);
	fputs("\n],\n\"other\": ", out);
	print_value(sum_json(r, &r->hidden, r->n_hidden), out);
	if (r->options.with_kernel) {
		fputs(",\n\"kernel\": ", out);
		print_value(part_json(r, &r->kernel), out);
	}
	fputs("}\n", out);
}
