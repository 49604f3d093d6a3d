/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process report for people. Numbers never give way: on a narrow terminal columns go, the
 * least telling first, and names are cut.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "processes/process_report.h"
#include "report/header.h"
#include "report/names.h"
#include "report/style.h"
#include "store/session.h"

#define MIN_NAME_WIDTH 8

struct page {
	struct process_report *r;
	const struct text_style *style;
	FILE *out;
	struct buf line, clean, name;
};

static void process_text_end_line(struct page *p)
{
	while (p->line.len && p->line.data[p->line.len - 1] == ' ')
		p->line.len--;
	buf_u8(&p->line, '\n');
	fwrite(p->line.data, 1, p->line.len, p->out);
	p->line.len = 0;
}

static void put_styled(struct page *p, enum text_style_id style, const char *text)
{
	buf_str(&p->line, style_code(p->style, style));
	buf_str(&p->line, text);
	buf_str(&p->line, style_code(p->style, STYLE_NONE));
}

static void process_text_print_heading(struct page *p, const char *text)
{
	process_text_end_line(p);
	put_styled(p, STYLE_HEADING, text);
	process_text_end_line(p);
}

/* A name in the rest of the line, behind `used` columns. */
static void process_text_put_name(struct page *p, const char *name, size_t used,
				  enum text_style_id style)
{
	size_t width = p->style->width;

	if (width)
		width = width > used + MIN_NAME_WIDTH ? width - used : MIN_NAME_WIDTH;
	p->clean.len = 0;
	utf8_append_visible(&p->clean, name);
	p->name.len = 0;
	name_append_short(&p->name, buf_cstr(&p->clean), width, text_ellipsis(p->style));
	put_styled(p, style, buf_cstr(&p->name));
}

static double percent(const struct weight *w, uint64_t whole)
{
	return whole ? 100.0 * (double)w->samples / (double)whole : 0;
}

/*
 * A number of thousands of lines: "%*.*f" takes a third of the time of a large report. Digits are
 * the same for all that a double holds exactly enough.
 */
static void put_fixed(struct buf *out, int width, double value, int decimals)
{
	static const double scales[] = { 1, 10, 100, 1000, 10000 };
	char text[32], *at = text + sizeof(text);
	uint64_t n;

	if (!(value >= 0 && value < 1e11)) {
		buf_printf(out, "%*.*f", width, decimals, value);
		return;
	}
	n = (uint64_t)(value * scales[decimals] + 0.5);
	for (int i = 0; i <= decimals || n; i++, n /= 10) {
		if (i == decimals && decimals)
			*--at = '.';
		*--at = (char)('0' + n % 10);
	}
	for (int i = (int)(text + sizeof(text) - at); i < width; i++)
		buf_u8(out, ' ');
	buf_bytes(out, at, (size_t)(text + sizeof(text) - at));
}

/* ---- statistics ---- */

static void print_fact(struct page *p, const char *label, const char *text)
{
	if (!*text)
		return;
	buf_printf(&p->line, "  %s%-11s%s ", style_code(p->style, STYLE_DIM), label,
		   style_code(p->style, STYLE_NONE));
	utf8_append_visible(&p->line, text);
	process_text_end_line(p);
}

static void process_text_print_count(struct page *p, const char *label, uint64_t n,
				     const struct weight *w)
{
	const struct process_report *r = p->r;
	uint64_t delivered = r->statistics.delivered;

	buf_printf(&p->line, "  %s%-11s%s %10" PRIu64 "  %6.2f", style_code(p->style, STYLE_DIM),
		   label, style_code(p->style, STYLE_NONE), n,
		   delivered ? 100.0 * (double)n / (double)delivered : 0);
	if (w && r->processes.basis != TIME_NONE)
		buf_printf(&p->line, "  %10.4f", processes_seconds(&r->processes, w));
	process_text_end_line(p);
}

static void process_text_print_counts(struct page *p)
{
	const struct process_report *r = p->r;
	const struct run_statistics *s = &r->statistics;

	buf_printf(&p->line, "  %-11s %10s  %6s%s", "", "hits", "%",
		   r->processes.basis == TIME_NONE ? "" : "     seconds");
	process_text_end_line(p);
	for (int c = 0; c < N_CONTEXTS; c++)
		process_text_print_count(p, sample_context_names[c],
					 r->processes.total.by[c].samples,
					 &r->processes.total.by[c]);
	if (s->other_events)
		process_text_print_count(p, "other event", s->other_events, NULL);
	if (s->filtered)
		process_text_print_count(p, "filtered", s->filtered, NULL);
	process_text_print_count(p, "lost", s->lost, NULL);
	process_text_print_count(p, "delivered", s->delivered, NULL);
	if (r->processes.total.unknown.samples)
		process_text_print_count(p, "unresolved", r->processes.total.unknown.samples,
					 &r->processes.total.unknown);
}

static void print_cost(struct page *p)
{
	const struct process_report *r = p->r;
	const struct session *session = r->head.profile->session;
	const struct run_statistics *s = &r->statistics;
	struct buf text = { 0 };

	if (process_report_has_cost(r)) {
		double own = (double)session->end.own_cpu_ns / 1e9;

		buf_printf(&text, "assay itself used %.4f s of CPU time", own);
		if (s->seconds > 0)
			buf_printf(&text, ", %.2f %% of one CPU", 100 * own / s->seconds);
		buf_printf(&text, ", and %.1f MB", (double)session->end.own_peak_bytes / 1e6);
		print_fact(p, "own cost", buf_cstr(&text));
	}
	text.len = 0;
	if (s->capacity_seconds > 0 && r->processes.basis != TIME_NONE) {
		buf_printf(&text, "%.4f s are in the samples; %" PRIu32 " CPUs had %.4f s",
			   processes_seconds(&r->processes, &s->total), session->info.n_cpus,
			   s->capacity_seconds);
		print_fact(p, "CPU time", buf_cstr(&text));
	}
	buf_fini(&text);
}

static void process_text_print_statistics(struct page *p)
{
	struct buf text = { 0 };

	process_text_print_heading(p, "Statistics of the run");
	process_report_put_clock(p->r, &text);
	print_fact(p, "clock", buf_cstr(&text));
	text.len = 0;
	process_report_put_blind_spot(p->r, &text);
	print_fact(p, "blind spot", buf_cstr(&text));
	print_fact(p, "contexts", process_report_contexts_note(p->r));
	print_cost(p);
	process_text_print_counts(p);
	buf_fini(&text);
}

/* ---- the account ---- */

/* Tenths of milliseconds: the printed rows add up to the printed sum. */
static int64_t rounded(int64_t ns)
{
	return (ns + (ns < 0 ? -50000 : 50000)) / 100000;
}

static void print_account_row(struct page *p, const char *title, int64_t tenths, int64_t sum)
{
	buf_printf(&p->line, "  %12.4f  %6.2f  ", (double)tenths / 1e4,
		   sum ? 100.0 * (double)tenths / (double)sum : 0);
	process_text_put_name(p, title, 24, STYLE_NONE);
	process_text_end_line(p);
}

static void print_account_rows(struct page *p)
{
	const struct account *a = &p->r->account;
	int64_t sum = rounded((int64_t)a->capacity_ns), rest = sum;

	buf_printf(&p->line, "  %12s  %6s", "seconds", "%");
	process_text_end_line(p);
	for (int i = 0; i < N_ACCOUNT_ROWS; i++) {
		int64_t tenths = i == ACCOUNT_UNSEEN ? rest : rounded(a->ns[i]);

		if (a->ns[i] == INT64_MIN)
			continue;
		rest -= tenths;
		if (tenths || i == ACCOUNT_UNSEEN)
			print_account_row(p, account_rows[i].title, tenths, sum);
	}
	print_account_row(p,
			  a->times.is_machine ? "all: the time of the CPUs"
					      : "all: the time of the processes",
			  sum, sum);
}

static void process_text_print_account(struct page *p)
{
	const struct account *a = &p->r->account;
	cleanup(free_at_exit) char *children = account_children_text(a);
	cleanup(free_at_exit) char *rest = account_rest_text(a);
	struct buf text = { 0 };

	process_text_print_heading(p, "Account of CPU time");
	if (!a->is_known) {
		print_fact(p, "not known", a->why);
		return;
	}
	print_account_rows(p);
	for (int i = 0; i < N_ACCOUNT_ROWS; i++)
		if (a->ns[i] == INT64_MIN && (a->times.is_machine || i == ACCOUNT_THROTTLED))
			buf_printf(&text, "%s%s", text.len ? "; " : "", account_rows[i].title);
	print_fact(p, "unmeasured", buf_cstr(&text));
	text.len = 0;
	if (a->times.why)
		print_fact(p, "no times", a->times.why);
	if (a->n_unsampled)
		buf_printf(&text, "%" PRIu64 " processes without a sample had %.4f s",
			   a->n_unsampled, (double)a->unsampled_ns / 1e9);
	print_fact(p, "unsampled", buf_cstr(&text));
	print_fact(p, "children", children);
	print_fact(p, "no process", rest);
	buf_fini(&text);
}

/* ---- the summary ---- */

/* Columns before the name, in their order; the highest rank goes first where there is no room. */
struct summary_column {
	const char *title;
	int context; /* or one of these */
	bool is_time;
	int rank; /* 0: never goes */
};

enum { COLUMN_PID = -1, COLUMN_KERNEL_TIME = -2, COLUMN_DEVIATION = -3 };

static const struct summary_column columns[] = {
	{ "pid", COLUMN_PID, false, 6 },         { "user", CONTEXT_USER, false, 0 },
	{ "time", CONTEXT_USER, true, 5 },       { "system", CONTEXT_SYSTEM, false, 0 },
	{ "time", CONTEXT_SYSTEM, true, 5 },     { "irq", CONTEXT_IRQ, false, 4 },
	{ "time", CONTEXT_IRQ, true, 2 },        { "softirq", CONTEXT_SOFTIRQ, false, 4 },
	{ "time", CONTEXT_SOFTIRQ, true, 2 },    { "idle", CONTEXT_IDLE, false, 3 },
	{ "time", CONTEXT_IDLE, true, 1 },       { "kernel's", COLUMN_KERNEL_TIME, true, 3 },
	{ "dev. %", COLUMN_DEVIATION, true, 2 },
};
#define HIGHEST_RANK 7 /* above all: nothing has gone */

static void process_text_put_cell(const struct process_report *r, const struct summary_column *c,
				  const struct process_row *row, struct buf *out)
{
	uint64_t kernel_ns = process_report_kernel_ns(r, row);
	double percent;

	if (c->context >= 0 && c->is_time)
		put_fixed(out, 0, processes_seconds(&r->processes, &row->by[c->context]), 4);
	else if (c->context >= 0)
		buf_printf(out, "%" PRIu64, row->by[c->context].samples);
	else if (c->context == COLUMN_KERNEL_TIME && kernel_ns != CPU_TIME_UNKNOWN)
		put_fixed(out, 0, (double)kernel_ns / 1e9, 4);
	else if (c->context == COLUMN_DEVIATION &&
		 account_deviation(&r->processes, &row->all, kernel_ns, &percent))
		buf_printf(out, "%+.1f", percent);
	else if (c->context == COLUMN_PID && row->process != NO_INDEX &&
		 process_pid(&r->processes, row) >= 0)
		buf_printf(out, "%" PRId32, process_pid(&r->processes, row));
}

static bool says_something(const struct process_report *r, const struct summary_column *c)
{
	if (c->is_time && r->processes.basis == TIME_NONE)
		return false;
	if (c->context < COLUMN_PID)
		return r->account.is_known;
	return c->context < 0 || c->context == CONTEXT_USER || c->context == CONTEXT_SYSTEM ||
	       r->processes.total.by[c->context].samples;
}

static size_t cell_width(struct page *p, const struct summary_column *c)
{
	const struct process_report *r = p->r;
	size_t width = strlen(c->title);

	for (size_t i = 0; i <= r->processes.rows.n; i++) {
		bool is_total = i == r->processes.rows.n;

		if (!is_total && !r->is_shown[i])
			continue;
		p->clean.len = 0;
		process_text_put_cell(r, c,
				      is_total ? &r->processes.total : &r->processes.rows.data[i],
				      &p->clean);
		width = MAX(width, p->clean.len);
	}
	return width;
}

/* Widths by column; 0: no room. Returns their sum, with the blanks between them. */
static size_t fit_columns(struct page *p, size_t widths[ARRAY_SIZE(columns)])
{
	size_t room = p->style->width ? p->style->width : SIZE_MAX, used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		widths[i] = says_something(p->r, &columns[i]) ? cell_width(p, &columns[i]) : 0;
		used += widths[i] ? widths[i] + 2 : 0;
	}
	for (int rank = 1; rank < HIGHEST_RANK; rank++)
		for (size_t i = 0; i < ARRAY_SIZE(columns) && used + MIN_NAME_WIDTH > room; i++)
			if (columns[i].rank == rank && widths[i]) {
				used -= widths[i] + 2;
				widths[i] = 0;
			}
	return used;
}

static void process_text_print_summary_row(struct page *p, const size_t *widths, size_t used,
					   const struct process_row *row, const char *name,
					   enum text_style_id style)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!widths[i])
			continue;
		p->clean.len = 0;
		if (row)
			process_text_put_cell(p->r, &columns[i], row, &p->clean);
		else
			buf_str(&p->clean, columns[i].title);
		buf_printf(&p->line, "%*s  ", (int)widths[i], buf_cstr(&p->clean));
	}
	process_text_put_name(p, name, used, style);
	process_text_end_line(p);
}

static void process_text_print_summary(struct page *p)
{
	const struct process_report *r = p->r;
	size_t widths[ARRAY_SIZE(columns)], used = fit_columns(p, widths);
	struct buf text = { 0 };

	process_text_print_heading(
		p, r->processes.basis == TIME_NONE
			   ? "Summary of processes (hits)"
			   : "Summary of processes (hits, and seconds extrapolated from them)");
	process_text_print_summary_row(p, widths, used, NULL, "process", STYLE_HEADING);
	for (uint32_t i = 0; i < r->processes.rows.n; i++) {
		const struct process_row *row = &r->processes.rows.data[i];

		if (r->is_shown[i])
			process_text_print_summary_row(p, widths, used, row,
						       process_name(&r->processes, row),
						       row->is_idle_task ? STYLE_DIM : STYLE_NONE);
	}
	if (r->n_hidden) {
		buf_printf(&text, "other (%" PRIu32 ")", r->n_hidden);
		process_text_print_summary_row(p, widths, used, &r->hidden, buf_cstr(&text),
					       STYLE_DIM);
	}
	process_text_print_summary_row(p, widths, used, &r->processes.total, "all", STYLE_HEADING);
	buf_fini(&text);
}

/* ---- profiles ---- */

/* The columns of a part: one for each context, if the part has several. */
struct shape {
	uint32_t contexts; /* that have columns; 0: none */
	uint64_t whole;    /* of percentages */
};

#define CONTEXT_WIDTH 8

static size_t process_text_put_numbers(struct page *p, const struct shape *shape,
				       const struct weight *all, const struct weight *by)
{
	const struct process_report *r = p->r;
	bool has_time = r->processes.basis != TIME_NONE;
	size_t used = 19 + (has_time ? 12 : 0);

	buf_printf(&p->line, "%9" PRIu64, all->samples);
	put_fixed(&p->line, 8, percent(all, shape->whole), 2);
	if (has_time)
		put_fixed(&p->line, 12, processes_seconds(&r->processes, all), 4);
	for (int c = 0; c < N_CONTEXTS; c++) {
		if (!(shape->contexts & 1u << c))
			continue;
		if (by)
			buf_printf(&p->line, "%*" PRIu64, CONTEXT_WIDTH, by[c].samples);
		else
			buf_printf(&p->line, "%*s", CONTEXT_WIDTH, "");
		used += CONTEXT_WIDTH;
	}
	buf_str(&p->line, "  ");
	return used;
}

static void process_text_print_titles(struct page *p, const struct shape *shape)
{
	buf_printf(&p->line, "%9s  %6s%s", "hits", "%",
		   p->r->processes.basis == TIME_NONE ? "" : "     seconds");
	for (int c = 0; c < N_CONTEXTS; c++)
		if (shape->contexts & 1u << c)
			buf_printf(&p->line, "%*s", CONTEXT_WIDTH, sample_context_names[c]);
	buf_str(&p->line, "  region / symbol");
	process_text_end_line(p);
}

static void process_text_print_instructions(struct page *p, const struct hit_row *hit)
{
	struct process_report *r = p->r;
	struct instruction in;

	for (uint32_t i = 0; i < hit->n; i++) {
		const struct hit_place *place = &r->places.data[hit->first + i];
		const char *why;
		bool has_code =
			process_report_instruction(r, hit->function, place->offset, &in, &why);
		struct buf text = { 0 };

		if (why) {
			buf_printf(&p->line, "%21s", "");
			process_text_put_name(p, why, 21, STYLE_DIM);
			process_text_end_line(p);
		}
		process_report_put_place(r, hit->function, place->offset, &text);
		buf_printf(&text, has_code ? ": %s" : "%s", has_code ? in.text : "");
		buf_printf(&p->line, "%19" PRIu64 "  ", place->weight.samples);
		process_text_put_name(p, buf_cstr(&text), 21, STYLE_NONE);
		process_text_end_line(p);
		buf_fini(&text);
	}
}

static void process_text_print_region(struct page *p, const struct shape *shape,
				      const struct hit_region *region)
{
	struct process_report *r = p->r;
	char scratch[KEY_TEXT_SIZE];
	size_t used = process_text_put_numbers(p, shape, &region->weight, NULL);

	process_text_put_name(p, process_report_image(r, region->image), used, STYLE_HEADING);
	process_text_end_line(p);
	for (uint32_t i = 0; i < region->n; i++) {
		const struct hit_row *hit = &r->hits.data[region->first + i];

		used = process_text_put_numbers(p, shape, &hit->all, hit->by);
		buf_str(&p->line, "  ");
		process_text_put_name(p, process_report_symbol(r, hit->function, scratch), used + 2,
				      STYLE_NONE);
		process_text_end_line(p);
		process_text_print_instructions(p, hit);
	}
	if (region->hidden.n) {
		struct buf text = { 0 };

		buf_printf(&text, "  other (%" PRIu32 ")", region->hidden.n);
		used = process_text_put_numbers(p, shape, &region->hidden.weight, NULL);
		process_text_put_name(p, buf_cstr(&text), used, STYLE_DIM);
		process_text_end_line(p);
		buf_fini(&text);
	}
}

static void process_text_print_part(struct page *p, const struct shape *shape,
				    const struct hit_part *part)
{
	process_text_print_titles(p, shape);
	for (uint32_t i = 0; i < part->n; i++)
		process_text_print_region(p, shape, &p->r->regions.data[part->first + i]);
}

static void process_text_print_detail(struct page *p, const struct process_detail *d)
{
	const struct process_report *r = p->r;
	const struct process_row *row = &r->processes.rows.data[d->row];
	struct buf text = { 0 };

	process_text_end_line(p);
	buf_printf(&text, "%s (%" PRId32 ")", process_name(&r->processes, row),
		   process_pid(&r->processes, row));
	process_text_put_name(p,
			      row->is_idle_task ? process_name(&r->processes, row)
						: buf_cstr(&text),
			      0, STYLE_HEADING);
	process_text_end_line(p);
	for (int part = 0; part < N_PROCESS_PARTS; part++) {
		uint32_t contexts = process_columns(process_parts[part].contexts, row->by);
		const struct shape shape = { contexts, row->all.samples };

		if (!d->parts[part].n)
			continue;
		buf_printf(&p->line, "  %s", process_parts[part].title);
		process_text_end_line(p);
		process_text_print_part(p, &shape, &d->parts[part]);
	}
	buf_fini(&text);
}

static void print_kernel(struct page *p)
{
	const struct process_row *total = &p->r->processes.total;
	const struct shape shape = {
		process_columns(PROCESS_KERNEL_CONTEXTS, total->by),
		p->r->kernel.weight.samples,
	};

	process_text_print_heading(p, "The kernel, for all processes");
	if (p->r->kernel.n)
		process_text_print_part(p, &shape, &p->r->kernel);
	else
		print_fact(p, "", "no samples in the kernel");
}

void process_report_print_text(struct process_report *r, const struct text_style *style, FILE *out)
{
	struct page p = { .r = r, .style = style, .out = out };

	header_print(&r->head, style, out);
	/* The header ends with an empty line, as every section begins with one. */
	process_text_print_statistics(&p);
	process_text_print_account(&p);
	process_text_print_summary(&p);
	vec_foreach (&r->details, d)
		process_text_print_detail(&p, d);
	if (r->options.with_kernel)
		print_kernel(&p);
	buf_fini(&p.line);
	buf_fini(&p.clean);
	buf_fini(&p.name);
}
