/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process report for programs. docs/processes.md defines the keys. Processes are
 * written one by one: a large session needs no more memory than its largest process.
 */
#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "processes/process_report.h"
#include "report/header.h"
#include "store/session.h"

/* A weight's members, into an object that is begun. */
static void process_json_put_weight(const struct process_report *r, struct buf *out,
				    const struct weight *w)
{
	double seconds = processes_seconds(&r->processes, w);

	json_put_number(out, "samples", w->samples);
	if (r->processes.basis == TIME_NONE)
		return;
	json_put_key(out, "seconds");
	if (r->processes.basis == TIME_PERIOD && !(w->period % 1000000))
		buf_printf(out, "%" PRIu64 ".%03" PRIu64, w->period / NS_PER_SECOND,
			   w->period / 1000000 % 1000);
	else
		buf_printf(out, "%.9g", seconds);
}

static void put_weight_of(const struct process_report *r, struct buf *out, const char *key,
			  const struct weight *w)
{
	json_put_key(out, key);
	buf_u8(out, '{');
	process_json_put_weight(r, out, w);
	buf_u8(out, '}');
}

static void put_contexts(const struct process_report *r, struct buf *out,
			 const struct process_row *row)
{
	for (int c = 0; c < N_CONTEXTS; c++)
		put_weight_of(r, out, sample_context_names[c], &row->by[c]);
	put_weight_of(r, out, "all", &row->all);
	put_weight_of(r, out, "unresolved", &row->unknown);
}

/* What put() appends, as a text. */
static void process_json_put_sentence(const struct process_report *r, struct buf *out,
				      const char *key,
				      void (*put)(const struct process_report *r, struct buf *out))
{
	struct buf text = { 0 };

	put(r, &text);
	json_put_text(out, key, buf_cstr(&text));
	buf_fini(&text);
}

static void put_statistics(const struct process_report *r, struct buf *out)
{
	const struct run_statistics *s = &r->statistics;

	buf_u8(out, '{');
	process_json_put_sentence(r, out, "clock", process_report_put_clock);
	process_json_put_sentence(r, out, "blind_spot", process_report_put_blind_spot);
	json_put_text(out, "note", process_report_contexts_note(r));
	put_contexts(r, out, &r->processes.total);
	json_put_number(out, "other_events", s->other_events);
	json_put_number(out, "filtered", s->filtered);
	json_put_number(out, "lost", s->lost);
	json_put_number(out, "delivered", s->delivered);
	json_put_key(out, "run_seconds");
	buf_printf(out, "%.9g", s->seconds);
	if (s->capacity_seconds > 0) {
		json_put_key(out, "capacity_seconds");
		buf_printf(out, "%.9g", s->capacity_seconds);
	}
	buf_u8(out, '}');
}

static void put_ns(struct buf *out, const char *key, int64_t ns)
{
	json_put_key(out, key);
	buf_printf(out, "%" PRId64, ns);
}

static void put_account(const struct process_report *r, struct buf *out)
{
	const struct account *a = &r->account;

	buf_u8(out, '{');
	if (!a->is_known) {
		json_put_text(out, "why", a->why);
		buf_u8(out, '}');
		return;
	}
	json_put_text(out, "of", a->times.is_machine ? "machine" : "processes");
	put_ns(out, "wall_ns", (int64_t)a->times.wall_ns);
	if (a->times.is_machine)
		json_put_number(out, "cpus", a->times.n_cpus);
	put_ns(out, "capacity_ns", (int64_t)a->capacity_ns);
	json_put_key(out, "rows_ns");
	buf_u8(out, '{');
	for (int i = 0; i < N_ACCOUNT_ROWS; i++) {
		if (a->ns[i] != INT64_MIN) {
			put_ns(out, account_rows[i].key, a->ns[i]);
			continue;
		}
		json_put_key(out, account_rows[i].key);
		buf_str(out, "null");
	}
	buf_u8(out, '}');
	json_put_number(out, "unsampled_processes", a->n_unsampled);
	put_ns(out, "unsampled_processes_ns", (int64_t)a->unsampled_ns);
	put_ns(out, "of_ended_children_ns", (int64_t)a->times.children_ns);
	put_ns(out, "of_no_process_ns", (int64_t)a->times.rest_ns);
	if (a->times.why)
		json_put_text(out, "missing_times", a->times.why);
	buf_u8(out, '}');
}

/* The kernel's own time of a process, into an object that is begun. */
static void put_kernel_time(const struct process_report *r, struct buf *out,
			    const struct process_row *row)
{
	uint64_t ns = process_report_kernel_ns(r, row);
	double percent;

	if (ns == CPU_TIME_UNKNOWN)
		return;
	put_ns(out, "kernel_ns", (int64_t)ns);
	if (!account_deviation(&r->processes, &row->all, ns, &percent))
		return;
	json_put_key(out, "deviation_percent");
	buf_printf(out, "%.2f", percent);
}

static void put_instructions(struct process_report *r, struct buf *out, const struct hit_row *hit)
{
	struct buf text = { 0 };

	json_put_key(out, "instructions");
	for (uint32_t i = 0; i < hit->n; i++) {
		const struct hit_place *place = &r->places.data[hit->first + i];
		struct instruction in;
		const char *why;

		buf_str(out, i ? ",{" : "[{");
		text.len = 0;
		process_report_put_place(r, hit->function, place->offset, &text);
		json_put_text(out, "place", buf_cstr(&text));
		json_put_number(out, "offset", MIN(place->offset, (uint64_t)INT64_MAX));
		json_put_number(out, "samples", place->weight.samples);
		if (process_report_instruction(r, hit->function, place->offset, &in, &why))
			json_put_text(out, "text", in.text);
		buf_u8(out, '}');
	}
	buf_str(out, hit->n ? "]" : "[]");
	buf_fini(&text);
}

static void process_json_put_symbol(struct process_report *r, struct buf *out,
				    const struct hit_row *hit)
{
	char scratch[KEY_TEXT_SIZE];

	buf_u8(out, '{');
	json_put_text(out, "symbol", process_report_symbol(r, hit->function, scratch));
	process_json_put_weight(r, out, &hit->all);
	for (int c = 0; c < N_CONTEXTS; c++)
		if (hit->by[c].samples)
			json_put_number(out, sample_context_names[c], hit->by[c].samples);
	if (r->options.with_instructions)
		put_instructions(r, out, hit);
	buf_u8(out, '}');
}

static void put_region(struct process_report *r, struct buf *out, const struct hit_region *region)
{
	const struct profile_image *image = &r->head.profile->images.data[region->image];

	buf_u8(out, '{');
	json_put_text(out, "image", process_report_image(r, region->image));
	json_put_text(out, "path", image->image->path);
	process_json_put_weight(r, out, &region->weight);
	json_put_key(out, "symbols");
	buf_u8(out, '[');
	for (uint32_t i = 0; i < region->n; i++) {
		if (i)
			buf_u8(out, ',');
		process_json_put_symbol(r, out, &r->hits.data[region->first + i]);
	}
	buf_u8(out, ']');
	if (region->hidden.n) {
		json_put_key(out, "other");
		buf_u8(out, '{');
		json_put_number(out, "n", region->hidden.n);
		process_json_put_weight(r, out, &region->hidden.weight);
		buf_u8(out, '}');
	}
	buf_u8(out, '}');
}

static void put_part(struct process_report *r, struct buf *out, const struct hit_part *part)
{
	buf_u8(out, '[');
	for (uint32_t i = 0; i < part->n; i++) {
		if (i)
			buf_u8(out, ',');
		put_region(r, out, &r->regions.data[part->first + i]);
	}
	buf_u8(out, ']');
}

static void process_json_put_process(struct process_report *r, struct buf *out, uint32_t i,
				     const struct process_detail *d)
{
	const struct process_row *row = &r->processes.rows.data[i];

	buf_u8(out, '{');
	json_put_key(out, "pid");
	buf_printf(out, "%" PRId32, process_pid(&r->processes, row));
	json_put_text(out, "name", process_name(&r->processes, row));
	put_contexts(r, out, row);
	put_kernel_time(r, out, row);
	for (int part = 0; part < N_PROCESS_PARTS && d; part++) {
		json_put_key(out, process_parts[part].key);
		put_part(r, out, &d->parts[part]);
	}
	buf_u8(out, '}');
}

/* Writes what was gathered, and begins anew. */
static void process_json_flush(struct buf *text, FILE *out)
{
	fwrite(text->data, 1, text->len, out);
	text->len = 0;
}

/* Details stand in the order of their rows. */
static void process_json_print_processes(struct process_report *r, struct buf *text, FILE *out)
{
	const char *before = "\n";
	size_t next = 0;

	for (uint32_t i = 0; i < r->processes.rows.n; i++) {
		const struct process_detail *d = NULL;

		if (!r->is_shown[i])
			continue;
		if (next < r->details.n && r->details.data[next].row == i)
			d = &r->details.data[next++];
		buf_str(text, before);
		process_json_put_process(r, text, i, d);
		process_json_flush(text, out);
		before = ",\n";
	}
}

static void process_json_print_header(const struct process_report *r, FILE *out)
{
	json_t *header = header_json(&r->head);

	json_dumpf(header, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(header);
}

void process_report_print_json(struct process_report *r, FILE *out)
{
	struct buf text = { 0 };

	fputs("{\"header\": ", out);
	process_json_print_header(r, out);
	buf_str(&text, ",\n\"statistics\": ");
	put_statistics(r, &text);
	buf_str(&text, ",\n\"account\": ");
	put_account(r, &text);
	buf_str(&text, ",\n\"processes\": [");
	process_json_print_processes(r, &text, out);
	buf_str(&text, "\n],\n\"other\": {");
	json_put_number(&text, "n", r->n_hidden);
	put_contexts(r, &text, &r->hidden);
	put_kernel_time(r, &text, &r->hidden);
	buf_u8(&text, '}');
	if (r->options.with_kernel) {
		buf_str(&text, ",\n\"kernel\": ");
		put_part(r, &text, &r->kernel);
	}
	buf_str(&text, "}\n");
	process_json_flush(&text, out);
	buf_fini(&text);
}
