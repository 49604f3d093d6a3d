/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows. Each entry of the profile is a record. The records are sorted by (process, part, image,
 * function, offset), and one pass makes the details. Sorted again without processes, they make the
 * profile of the kernel.
 */
#include "processes/process_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/session.h"

const struct process_part_info process_parts[N_PROCESS_PARTS] = {
#define X(id, key, title, contexts) [PART_##id] = { key, title, contexts },
	PROCESS_PARTS(X)
#undef X
};

static void process_report_no_rows(const struct report *r, const struct row_limits *limits,
				   struct rows *out)
{
	(void)limits;
	out->n_lanes = r->profile->n_lanes;
}

const struct view process_view = {
	.name = "processes",
	.layout = LAYOUT_NEST,
	.with_functions = true,
	.text_columns = "samples",
	.data_columns = "samples",
	.make = process_report_no_rows,
};

void process_report_request(const struct process_report_options *options,
			    struct profile_request *request)
{
	processes_request(request);
	request->with_places = options->with_instructions;
	request->with_chains = false;
	request->merges_jit = false; /* each process has its own code */
}

/* ---- records ---- */

struct record {
	uint32_t row; /* of the process; 0 for the kernel's profile */
	uint8_t part, context;
	uint32_t image, function;
	uint64_t offset;
	struct weight weight;
};

struct records {
	struct record *data;
	size_t n, cap;
};

static int process_report_by_place(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static uint8_t part_of(uint32_t context)
{
	uint8_t part = 0;

	while (!(process_parts[part].contexts & 1u << context))
		part++;
	return part;
}

static void make_records(const struct process_report *r, struct records *out)
{
	const struct profile *p = r->head.profile;
	uint32_t *row_of = xcalloc(p->processes.n + 1, sizeof(*row_of));

	for (uint32_t i = 0; i < r->processes.rows.n; i++)
		row_of[r->processes.rows.data[i].process] = i;
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct profile_entry *e = &p->entries.data[i];
		const struct weight *w = &profile_weights(p, i)[r->processes.lane];
		uint32_t context = profile_class_value(p, PROFILE_CONTEXT, e->group);
		uint32_t function = p->nodes.data[e->node].function;

		if (!w->samples)
			continue;
		vec_push(out,
			 (struct record){
				 .row = row_of[profile_class_value(p, PROFILE_PROCESS, e->group)],
				 .part = part_of(context),
				 .context = (uint8_t)context,
				 .image = p->functions.data[function].image,
				 .function = function,
				 .offset = p->places.n
						   ? p->places.data[p->node_places.data[e->node]]
							     .offset
						   : 0,
				 .weight = *w,
			 });
	}
	free(row_of);
}

/* ---- rows of one part ---- */

static int heavier_hit(const void *a, const void *b)
{
	const struct hit_row *x = a, *y = b;

	if (x->all.samples != y->all.samples)
		return x->all.samples > y->all.samples ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int heavier_region(const void *a, const void *b)
{
	const struct hit_region *x = a, *y = b;

	if (x->weight.samples != y->weight.samples)
		return x->weight.samples > y->weight.samples ? -1 : 1;
	return (x->image > y->image) - (x->image < y->image);
}

static void add_hit(struct process_report *r, const struct record *at, bool is_new_function)
{
	struct hit_row *hit;

	if (is_new_function)
		vec_push(&r->hits, (struct hit_row){ .function = at->function,
						     .first = (uint32_t)r->places.n });
	hit = &r->hits.data[r->hits.n - 1];
	weight_add(&hit->by[at->context], &at->weight);
	weight_add(&hit->all, &at->weight);
	if (!r->options.with_instructions)
		return;
	if (!hit->n || r->places.data[r->places.n - 1].offset != at->offset) {
		vec_push(&r->places, (struct hit_place){ .offset = at->offset });
		hit->n++;
	}
	weight_add(&r->places.data[r->places.n - 1].weight, &at->weight);
}

static bool is_too_light(const struct weight *w, double min_percent, const struct weight *whole)
{
	return (double)w->samples * 100 < min_percent * (double)whole->samples;
}

/* Sorts a region's functions and gathers the light ones, but never all of them. */
static void limit_region(struct process_report *r, struct hit_region *region,
			 const struct weight *whole)
{
	struct hit_row *hits = &r->hits.data[region->first];
	uint32_t n = region->n, keep = 0;

	qsort(hits, n, sizeof(*hits), heavier_hit);
	while (keep < n && (!r->options.max_rows || keep < r->options.max_rows) &&
	       (!keep || !is_too_light(&hits[keep].all, r->options.min_percent, whole)))
		keep++;
	for (uint32_t i = keep; i < n; i++)
		weight_add(&region->hidden.weight, &hits[i].all);
	region->hidden.n = n - keep;
	region->n = keep;
}

/* The records [from, to) are of one part: a region an image, a hit a function. */
static void make_part(struct process_report *r, const struct record *from, const struct record *to,
		      const struct weight *whole, struct hit_part *out)
{
	uint32_t first = (uint32_t)r->regions.n;

	*out = (struct hit_part){ .first = first };
	for (const struct record *at = from; at < to; at++) {
		bool is_new_image = at == from || at[-1].image != at->image;
		struct hit_region *region;

		if (is_new_image)
			vec_push(&r->regions, (struct hit_region){ .image = at->image,
								   .first = (uint32_t)r->hits.n });
		add_hit(r, at, is_new_image || at[-1].function != at->function);
		region = &r->regions.data[r->regions.n - 1];
		region->n = (uint32_t)r->hits.n - region->first;
		weight_add(&region->weight, &at->weight);
		weight_add(&out->weight, &at->weight);
	}
	out->n = (uint32_t)r->regions.n - first;
	for (uint32_t i = first; i < r->regions.n; i++)
		limit_region(r, &r->regions.data[i], whole);
	if (out->n)
		qsort(&r->regions.data[first], out->n, sizeof(struct hit_region), heavier_region);
}

static const struct record *end_of_part(const struct record *at, const struct record *end)
{
	const struct record *first = at;

	while (at < end && at->row == first->row && at->part == first->part)
		at++;
	return at;
}

static bool has_detail(const struct process_report *r, uint32_t row)
{
	const struct process_row *p = &r->processes.rows.data[row];

	return r->is_shown[row] &&
	       (r->options.only_pid < 0 || process_pid(&r->processes, p) == r->options.only_pid);
}

static void make_details(struct process_report *r, const struct records *records)
{
	const struct record *end = records->data + records->n, *next;

	for (const struct record *at = records->data; at < end; at = next) {
		struct process_detail *d;

		next = end_of_part(at, end);
		if (!has_detail(r, at->row))
			continue;
		if (!r->details.n || r->details.data[r->details.n - 1].row != at->row)
			vec_push(&r->details, (struct process_detail){ .row = at->row });
		d = &r->details.data[r->details.n - 1];
		make_part(r, at, next, &r->processes.rows.data[at->row].all, &d->parts[at->part]);
	}
}

static void make_kernel(struct process_report *r, struct records *records)
{
	struct weight whole = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < records->n; i++) {
		struct record *at = &records->data[i];

		if (at->part == PART_USER)
			continue;
		weight_add(&whole, &at->weight);
		records->data[n] = *at;
		records->data[n].row = 0;
		records->data[n++].part = PART_KERNEL;
	}
	if (n)
		qsort(records->data, n, sizeof(*records->data), process_report_by_place);
	make_part(r, records->data, records->data + n, &whole, &r->kernel);
}

/* ---- which processes ---- */

static bool process_report_is_wanted(const struct process_report *r, const struct process_row *row)
{
	const struct process_report_options *o = &r->options;
	double user = processes_seconds(&r->processes, &row->by[CONTEXT_USER]);
	double system = processes_seconds(&r->processes, &row->by[CONTEXT_SYSTEM]);

	if (row->is_idle_task)
		return true;
	if (r->processes.basis != TIME_NONE && user < o->min_user_s && system < o->min_system_s)
		return false;
	return !is_too_light(&row->all, o->min_percent, &r->processes.total.all);
}

static void row_sum(struct process_row *to, const struct process_row *row)
{
	for (int c = 0; c < N_CONTEXTS; c++)
		weight_add(&to->by[c], &row->by[c]);
	weight_add(&to->all, &row->all);
	weight_add(&to->unknown, &row->unknown);
}

uint64_t process_report_kernel_ns(const struct process_report *r, const struct process_row *row)
{
	if (!r->account.is_known)
		return CPU_TIME_UNKNOWN;
	if (row == &r->hidden)
		return r->hidden_kernel_ns;
	if (row == &r->processes.total)
		return r->account.total_ns;
	return r->account.kernel_ns[row - r->processes.rows.data];
}

static void process_report_choose_processes(struct process_report *r)
{
	r->is_shown = xcalloc(r->processes.rows.n + 1, sizeof(bool));
	for (uint32_t i = 0; i < r->processes.rows.n; i++) {
		const struct process_row *row = &r->processes.rows.data[i];

		if (process_report_is_wanted(r, row) &&
		    (!r->options.max_rows || row->is_idle_task ||
		     r->n_shown < r->options.max_rows)) {
			r->is_shown[i] = true;
			r->n_shown++;
			continue;
		}
		row_sum(&r->hidden, row);
		if (process_report_kernel_ns(r, row) != CPU_TIME_UNKNOWN)
			r->hidden_kernel_ns += process_report_kernel_ns(r, row);
		r->n_hidden++;
	}
}

/* ---- statistics ---- */

static double run_seconds(const struct profile *p)
{
	const struct session *s = p->session;
	uint64_t end = s->has_end ? s->end.end_ns : p->last_ns;

	return end > s->info.start_ns ? (double)(end - s->info.start_ns) / 1e9 : 0;
}

static void make_statistics(struct process_report *r)
{
	const struct profile *p = r->head.profile;
	struct run_statistics *s = &r->statistics;

	s->total = r->processes.total.all;
	s->lost += losses_of_kind(p->losses, LOSS_LOST);
	s->other_events = p->n_selected - s->total.samples;
	s->filtered = p->n_stored - p->n_selected;
	s->delivered = p->n_stored + s->lost;
	s->seconds = run_seconds(p);
	if (!strncmp(p->session->info.target, "whole machine", 13))
		s->capacity_seconds = s->seconds * p->session->info.n_cpus;
}

/* ---- the report ---- */

struct process_report *process_report_new(const struct process_report_options *options,
					  const struct report_options *view_options,
					  const struct query *query, const struct profile *profile)
{
	struct process_report *r = xcalloc(1, sizeof(*r));
	struct records records = { 0 };

	r->head = (struct report){ .profile = profile,
				   .query = query,
				   .view = &process_view,
				   .options = view_options,
				   .min_percent = options->min_percent };
	r->options = *options;
	r->hidden.process = NO_INDEX;
	processes_make(&r->processes, profile, processes_first_lane(profile));
	make_statistics(r);
	account_make(&r->account, &r->processes, r->statistics.filtered > 0);
	process_report_choose_processes(r);
	make_records(r, &records);
	if (records.n)
		qsort(records.data, records.n, sizeof(*records.data), process_report_by_place);
	if (options->with_details)
		make_details(r, &records);
	if (options->with_kernel)
		make_kernel(r, &records);
	vec_fini(&records);
	if (options->with_instructions) {
		r->code = code_files_new(profile->symbols, options->max_open_images);
		r->code_errors = xcalloc(profile->images.n + 1, sizeof(*r->code_errors));
	}
	return r;
}

void process_report_free(struct process_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->code_errors && i < r->head.profile->images.n; i++)
		free(r->code_errors[i]);
	free(r->code_errors);
	code_files_free(r->code);
	account_fini(&r->account);
	processes_fini(&r->processes);
	vec_fini(&r->details);
	vec_fini(&r->regions);
	vec_fini(&r->hits);
	vec_fini(&r->places);
	free(r->is_shown);
	free(r);
}

/* ---- names and code ---- */

uint32_t process_columns(uint32_t contexts, const struct weight by[N_CONTEXTS])
{
	uint32_t present = 0;

	if (!(contexts & (contexts - 1)))
		return 0;
	for (int c = 0; c < N_CONTEXTS; c++)
		if (contexts & 1u << c && by[c].samples)
			present |= 1u << c;
	return present;
}

const char *process_report_image(const struct process_report *r, uint32_t image)
{
	const struct profile_image *i = &r->head.profile->images.data[image];

	return r->options.long_names ? i->image->path : i->name;
}

const char *process_report_symbol(const struct process_report *r, uint32_t function,
				  char scratch[static KEY_TEXT_SIZE])
{
	return profile_key_text(r->head.profile, PROFILE_SYMBOL, function, scratch);
}

/* The longest instruction of all processors that we decode. */
#define MAX_INSTRUCTION 16

bool process_report_instruction(struct process_report *r, uint32_t function, uint64_t offset,
				struct instruction *out, const char **why)
{
	uint32_t image = r->head.profile->functions.data[function].image;
	const struct symbol_table *table = r->head.profile->images.data[image].table;
	struct error err = { 0 };
	struct code_bytes code;

	*why = NULL;
	if (r->code_errors[image])
		return false;
	if (!table)
		error_set(&err, -ENOENT, "no image has these addresses");
	else if (code_files_get(r->code, table, offset, MAX_INSTRUCTION, &code, &err) >= 0) {
		disassemble(code.disassembler, code.bytes, code.size, offset, out);
		return true;
	}
	*why = r->code_errors[image] = xstrdup(err.text);
	return false;
}

void process_report_put_place(const struct process_report *r, uint32_t function, uint64_t offset,
			      struct buf *out)
{
	const struct profile_function *f = &r->head.profile->functions.data[function];
	const struct symbol_table *table = r->head.profile->images.data[f->image].table;
	uint64_t start = f->symbol == NO_SYMBOL ? 0 : symbol_get(table, f->symbol).offset;
	char scratch[KEY_TEXT_SIZE];

	if (f->symbol == NO_SYMBOL)
		buf_printf(out, "<0x%llx>", (unsigned long long)offset);
	else
		buf_printf(out, "<%s+0x%llx>", process_report_symbol(r, function, scratch),
			   (unsigned long long)(offset - start));
}
