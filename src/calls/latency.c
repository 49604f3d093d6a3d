/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "calls/latency.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/utf8.h"
#include "report/names.h"

/* Durations below 1 << EXACT_BITS have a bucket each; above, so many for each power of two. */
enum { EXACT_BITS = 7, N_EXACT = 1 << EXACT_BITS };

static uint32_t latency_bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < N_EXACT)
		return (uint32_t)ns;
	shift = 63 - EXACT_BITS - (uint32_t)__builtin_clzll(ns);
	return (shift + 1) * N_EXACT + (uint32_t)(ns >> shift & (N_EXACT - 1));
}

/* The smallest duration of a bucket. */
static uint64_t bucket_ns(uint32_t bucket)
{
	if (bucket < N_EXACT)
		return bucket;
	return (uint64_t)(N_EXACT + bucket % N_EXACT) << (bucket / N_EXACT - 1);
}

static void latency_add(struct latency_row *row, const struct trace_call *call)
{
	uint64_t ns = call->end_ns - call->start_ns;
	uint32_t bucket = latency_bucket_of(ns);

	while (row->counts.n <= bucket)
		vec_push(&row->counts, 0);
	row->counts.data[bucket]++;
	if (!row->calls || ns < row->min_ns)
		row->min_ns = ns;
	if (!row->calls || ns > row->max_ns) {
		row->max_ns = ns;
		row->worst_ns = call->start_ns;
		row->worst_tid = call->tid;
	}
	row->total_ns += ns;
	row->insns += call->insns;
	row->cycles += call->cycles;
	row->calls++;
}

static void latency_on_call(struct trace_calls_sink *sink, const struct trace_call *call)
{
	struct latency *l = (struct latency *)sink;

	while (l->rows.n <= call->function) {
		struct latency_row *row = vec_add(&l->rows);

		row->function = (uint32_t)l->rows.n - 1;
	}
	if (call->flags & CALL_INCOMPLETE || call->end_ns < call->start_ns)
		l->rows.data[call->function].incomplete++;
	else
		latency_add(&l->rows.data[call->function], call);
	l->has_cycles |= call->cycles > 0;
}

int latency_read(struct latency *l, struct trace_calls *trace, struct error *err)
{
	*l = (struct latency){ .sink.call = latency_on_call, .trace = trace };
	return trace_calls_run(trace, &l->sink, err);
}

void latency_fini(struct latency *l)
{
	vec_foreach (&l->rows, row)
		vec_fini(&row->counts);
	vec_fini(&l->rows);
}

uint64_t latency_percentile(const struct latency_row *row, double q)
{
	uint64_t rank = (uint64_t)(q * (double)row->calls), seen = 0;

	if ((double)rank < q * (double)row->calls || !rank)
		rank++;
	for (uint32_t i = 0; i < row->counts.n; i++) {
		seen += row->counts.data[i];
		if (seen >= rank)
			return MIN(MAX(bucket_ns(i), row->min_ns), row->max_ns);
	}
	return row->max_ns;
}

/* ---- columns ---- */

static uint64_t get_median(const struct latency_row *row)
{
	return latency_percentile(row, 0.5);
}

static uint64_t get_p99(const struct latency_row *row)
{
	return latency_percentile(row, 0.99);
}

#define FIELD(name)                                               \
	static uint64_t get_##name(const struct latency_row *row) \
	{                                                         \
		return row->name;                                 \
	}
FIELD(calls)
FIELD(incomplete)
FIELD(total_ns)
FIELD(min_ns)
FIELD(max_ns)
FIELD(worst_ns)
#undef FIELD

/* Instructions per cycle, in thousandths. */
static uint64_t get_ipc(const struct latency_row *row)
{
	double ipc = row->cycles ? (double)row->insns / (double)row->cycles : 0;

	return (uint64_t)(1000 * ipc + 0.5);
}

static const struct column {
	const char *key, *field, *title;
	uint64_t (*get)(const struct latency_row *row);
	enum { COUNT, DURATION, TIME, RATIO } kind; /* RATIO: in thousandths */
	int width;
} columns[] = {
	{ "calls", "calls", "calls", get_calls, COUNT, 10 },
	{ "total", "total_ns", "total", get_total_ns, DURATION, 10 },
	{ "min", "min_ns", "min", get_min_ns, DURATION, 10 },
	{ "median", "median_ns", "median", get_median, DURATION, 10 },
	{ "p99", "p99_ns", "p99", get_p99, DURATION, 10 },
	{ "max", "max_ns", "max", get_max_ns, DURATION, 10 },
	{ "worst", "worst_time_ns", "worst at", get_worst_ns, TIME, 16 },
	{ "incomplete", "incomplete", "incomplete", get_incomplete, COUNT, 10 },
	{ "ipc", "ipc", "IPC", get_ipc, RATIO, 6 },
};

/* By a column, the greatest first; then as they were found. */
static int by_column(const void *a, const void *b, void *context)
{
	const struct column *c = context;
	const struct latency_row *x = a, *y = b;
	uint64_t p = c->get(x), q = c->get(y);

	if (p != q)
		return p < q ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

int latency_sort(struct latency *l, const char *key, struct error *err)
{
	cleanup(free_at_exit) char *all = xstrdup("");

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		char *more;

		if (!strcmp(columns[i].key, key)) {
			if (l->rows.n)
				qsort_r(l->rows.data, l->rows.n, sizeof(*l->rows.data), by_column,
					(void *)&columns[i]);
			return 0;
		}
		more = xasprintf("%s%s%s", all, i ? ", " : "", columns[i].key);
		free(all);
		all = more;
	}
	return error_set(err, -EINVAL, "--sort: '%s' is no column of --latency; there are %s", key,
			 all);
}

/* ---- text ---- */

static void latency_put_duration(struct buf *out, uint64_t ns, int width)
{
	struct buf text = { 0 };

	buf_duration(&text, ns);
	buf_printf(out, "%*s  ", width, buf_cstr(&text));
	buf_fini(&text);
}

static void latency_put_cell(struct buf *out, const struct column *c, const struct latency_row *row)
{
	uint64_t v = c->get(row);

	if (c->kind == COUNT)
		buf_printf(out, "%*" PRIu64 "  ", c->width, v);
	else if (!row->calls)
		buf_printf(out, "%*s  ", c->width, "-");
	else if (c->kind == RATIO)
		buf_printf(out, "%*.2f  ", c->width, (double)v / 1000);
	else if (c->kind == DURATION)
		latency_put_duration(out, v, c->width);
	else
		buf_printf(out, "%*" PRIu64 ".%09" PRIu64 "  ", c->width - 10, v / NS_PER_SECOND,
			   v % NS_PER_SECOND);
}

static bool is_shown(const struct latency *l, const struct column *c)
{
	return c->kind != RATIO || l->has_cycles;
}

static uint64_t n_shown(const struct latency *l, const struct latency_options *o)
{
	return o->limit ? MIN(o->limit, l->rows.n) : l->rows.n;
}

static bool latency_is_called(const struct latency_row *row)
{
	return row->calls || row->incomplete;
}

static void latency_print_header(const struct latency *l, FILE *out)
{
	uint64_t calls = 0, incomplete = 0, functions = 0;

	vec_foreach (&l->rows, row) {
		calls += row->calls;
		incomplete += row->incomplete;
		functions += latency_is_called(row);
	}
	fprintf(out,
		"%" PRIu64 " calls of %" PRIu64 " functions; of %" PRIu64
		" more begin or end was not seen\n\n",
		calls, functions, incomplete);
}

void latency_print_text(const struct latency *l, const struct latency_options *o, FILE *out)
{
	const char *ellipsis = o->is_ascii ? "..." : "…";
	struct buf line = { 0 }, name = { 0 };
	size_t used = 0;

	latency_print_header(l, out);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (is_shown(l, &columns[i]))
			buf_printf(&line, "%*s  ", columns[i].width, columns[i].title);
	used = line.len;
	buf_str(&line, "function\n");
	for (uint64_t i = 0; i < n_shown(l, o); i++) {
		const struct latency_row *row = &l->rows.data[i];

		if (!latency_is_called(row))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(columns); k++)
			if (is_shown(l, &columns[k]))
				latency_put_cell(&line, &columns[k], row);
		name.len = 0;
		utf8_append_visible(&name, trace_function_name(l->trace, row->function));
		name_append_short(&line, buf_cstr(&name),
				  o->width > used + 20 ? o->width - used : 0, ellipsis);
		buf_u8(&line, '\n');
		fwrite(line.data, 1, line.len, out);
		line.len = 0;
	}
	fwrite(line.data, 1, line.len, out);
	buf_fini(&line);
	buf_fini(&name);
}

/* ---- for programs ---- */

static const char *latency_image_of(const struct latency *l, const struct latency_row *row)
{
	return row->function
		       ? trace_image(l->trace, trace_function(l->trace, row->function).image)->path
		       : "";
}

void latency_print_csv(const struct latency *l, const struct latency_options *o, FILE *out)
{
	struct buf line = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (columns[i].kind != RATIO)
			buf_printf(&line, "%s,", columns[i].field);
	buf_str(&line, "worst_tid,function,image,ipc\n"); /* the newest field is the last */
	for (uint64_t i = 0; i < n_shown(l, o); i++) {
		const struct latency_row *row = &l->rows.data[i];

		if (!latency_is_called(row))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(columns); k++)
			if (columns[k].kind != RATIO)
				buf_printf(&line, "%" PRIu64 ",", columns[k].get(row));
		buf_printf(&line, "%d,", row->worst_tid);
		csv_put_text(&line, trace_function_name(l->trace, row->function), o->is_csv_raw);
		buf_u8(&line, ',');
		csv_put_text(&line, latency_image_of(l, row), o->is_csv_raw);
		buf_printf(&line, ",%.3f\n", (double)get_ipc(row) / 1000);
	}
	fwrite(line.data, 1, line.len, out);
	buf_fini(&line);
}

static void latency_set_text(json_t *object, const char *key, const char *text)
{
	json_t *value = json_string(text);

	/* A name that is not UTF-8. */
	json_object_set_new(object, key, value ? value : json_string("?"));
}

static json_t *latency_json_number(const struct column *c, const struct latency_row *row)
{
	uint64_t v = c->get(row);

	return c->kind == RATIO ? json_real((double)v / 1000) : json_integer((json_int_t)v);
}

void latency_print_json(const struct latency *l, const struct latency_options *o, FILE *out)
{
	json_t *rows = json_array();

	for (uint64_t i = 0; i < n_shown(l, o); i++) {
		const struct latency_row *row = &l->rows.data[i];
		json_t *object;

		if (!latency_is_called(row))
			continue;
		object = json_object();
		for (size_t k = 0; k < ARRAY_SIZE(columns); k++)
			json_object_set_new(object, columns[k].field,
					    latency_json_number(&columns[k], row));
		json_object_set_new(object, "worst_tid", json_integer(row->worst_tid));
		latency_set_text(object, "function", trace_function_name(l->trace, row->function));
		latency_set_text(object, "image", latency_image_of(l, row));
		json_array_append_new(rows, object);
	}
	json_dumpf(rows, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(rows);
}
