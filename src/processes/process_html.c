/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process report as a page: one file of plain tables, without a script and without anything
 * from the network. Each process unfolds.
 */
#include <inttypes.h>
#include <string.h>

#include "processes/process_report.h"
#include "report/markup.h"
#include "store/session.h"

static const char head_before_title[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta name=\"generator\" content=\"assay\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
	"<link rel=\"icon\" href=\"data:,\">\n<title>";

static const char head_after_title[] =
	" \302\267 processes \302\267 assay</title>\n<style>\n"
	"body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 70rem; "
	"padding: 0 1rem; color: light-dark(#1c2024, #e4e6e8); "
	"background: light-dark(#fff, #16181b); }\n"
	"h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }\n"
	"dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }\n"
	"dt { color: light-dark(#5b6570, #9aa4ae); } dd { margin: 0; }\n"
	"table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; "
	"}\n"
	"th, td { padding: .1rem .7rem; text-align: right; white-space: nowrap; }\n"
	"th { color: light-dark(#5b6570, #9aa4ae); font-weight: 600; "
	"border-bottom: 1px solid light-dark(#d5dade, #3a4048); }\n"
	"th:last-child, td:last-child { text-align: left; white-space: normal; "
	"overflow-wrap: anywhere; }\n"
	"tr.sum td { border-top: 1px solid light-dark(#d5dade, #3a4048); font-weight: 600; }\n"
	"tr.region td { font-weight: 600; } tr.symbol td:last-child { padding-left: 2rem; }\n"
	"tr.code td { color: light-dark(#5b6570, #9aa4ae); font: 13px ui-monospace, monospace; }\n"
	"tr.code td:last-child { padding-left: 3.5rem; }\n"
	"tr.other td { color: light-dark(#5b6570, #9aa4ae); font-style: italic; }\n"
	"details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; }\n"
	".scroll { overflow-x: auto; }\n"
	"</style>\n</head>\n<body>\n";

struct page {
	struct process_report *r;
	FILE *out;
	bool has_time;
};

static void text(const struct page *p, const char *what)
{
	markup_print_text(what, p->out);
}

static void fact(const struct page *p, const char *label, const char *what)
{
	if (!*what)
		return;
	fprintf(p->out, "<dt>%s</dt><dd>", label);
	text(p, what);
	fputs("</dd>\n", p->out);
}

static void process_html_put_sentence(const struct page *p, const char *label,
				      void (*put)(const struct process_report *r, struct buf *out))
{
	struct buf what = { 0 };

	put(p->r, &what);
	fact(p, label, buf_cstr(&what));
	buf_fini(&what);
}

/* ---- statistics ---- */

static void print_facts(const struct page *p)
{
	const struct session *s = p->r->head.profile->session;
	char own[128] = "", run[96];

	fputs("<dl>\n", p->out);
	fact(p, "target", s->info.target);
	fact(p, "machine", s->info.hostname);
	fact(p, "kernel", s->info.os_release);
	snprintf(run, sizeof(run), "%.3f s on %" PRIu32 " CPUs", p->r->statistics.seconds,
		 s->info.n_cpus);
	fact(p, "run", run);
	process_html_put_sentence(p, "clock", process_report_put_clock);
	process_html_put_sentence(p, "blind spot", process_report_put_blind_spot);
	fact(p, "contexts", process_report_contexts_note(p->r));
	if (process_report_has_cost(p->r))
		snprintf(own, sizeof(own), "assay itself used %.4f s of CPU time and %.1f MB",
			 (double)s->end.own_cpu_ns / 1e9, (double)s->end.own_peak_bytes / 1e6);
	fact(p, "own cost", own);
	fact(p, "note", s->info.note);
	vec_foreach (&s->warnings, w)
		fact(p, "warning", *w);
	fputs("</dl>\n", p->out);
}

static void process_html_print_count(const struct page *p, const char *label, uint64_t n,
				     const struct weight *w)
{
	uint64_t delivered = p->r->statistics.delivered;

	fprintf(p->out, "<tr><td>%" PRIu64 "</td><td>%.2f</td>", n,
		delivered ? 100.0 * (double)n / (double)delivered : 0);
	if (p->has_time && w)
		fprintf(p->out, "<td>%.4f</td>", processes_seconds(&p->r->processes, w));
	else if (p->has_time)
		fputs("<td></td>", p->out);
	fprintf(p->out, "<td>%s</td></tr>\n", label);
}

static void process_html_print_statistics(const struct page *p)
{
	const struct run_statistics *s = &p->r->statistics;
	const struct process_row *total = &p->r->processes.total;

	print_facts(p);
	fprintf(p->out, "<table><tr><th>hits</th><th>%%</th>%s<th></th></tr>\n",
		p->has_time ? "<th>seconds</th>" : "");
	for (int c = 0; c < N_CONTEXTS; c++)
		process_html_print_count(p, sample_context_names[c], total->by[c].samples,
					 &total->by[c]);
	if (s->other_events)
		process_html_print_count(p, "other events", s->other_events, NULL);
	if (s->filtered)
		process_html_print_count(p, "filtered", s->filtered, NULL);
	process_html_print_count(p, "lost", s->lost, NULL);
	process_html_print_count(p, "delivered", s->delivered, NULL);
	if (total->unknown.samples)
		process_html_print_count(p, "unresolved (of these)", total->unknown.samples,
					 &total->unknown);
	fputs("</table>\n", p->out);
}

/* ---- the account ---- */

static void process_html_print_account(const struct page *p)
{
	const struct account *a = &p->r->account;
	cleanup(free_at_exit) char *children = account_children_text(a);
	cleanup(free_at_exit) char *rest = account_rest_text(a);

	fputs("<h2>Account of CPU time</h2>\n", p->out);
	if (!a->is_known) {
		fputs("<dl>\n", p->out);
		fact(p, "not known", a->why);
		fputs("</dl>\n", p->out);
		return;
	}
	fputs("<table><tr><th>seconds</th><th></th></tr>\n", p->out);
	for (int i = 0; i < N_ACCOUNT_ROWS; i++)
		if (a->ns[i] != INT64_MIN)
			fprintf(p->out, "<tr><td>%.9f</td><td>%s</td></tr>\n",
				(double)a->ns[i] / 1e9, account_rows[i].title);
	fprintf(p->out, "<tr class=\"sum\"><td>%.9f</td><td>all</td></tr>\n</table>\n",
		(double)a->capacity_ns / 1e9);
	fputs("<dl>\n", p->out);
	if (a->times.why)
		fact(p, "no times", a->times.why);
	if (*children)
		fact(p, "children", children);
	if (*rest)
		fact(p, "no process", rest);
	fputs("</dl>\n", p->out);
}

static void process_html_print_kernel_time(const struct page *p, const struct process_row *row)
{
	uint64_t ns = process_report_kernel_ns(p->r, row);
	double percent;

	if (!p->r->account.is_known)
		return;
	fputs("<td>", p->out);
	if (ns != CPU_TIME_UNKNOWN)
		fprintf(p->out, "%.4f", (double)ns / 1e9);
	fputs("</td><td>", p->out);
	if (account_deviation(&p->r->processes, &row->all, ns, &percent))
		fprintf(p->out, "%+.1f", percent);
	fputs("</td>", p->out);
}

/* ---- the summary ---- */

static void process_html_print_summary_row(const struct page *p, const struct process_row *row,
					   const char *class, const char *name)
{
	fprintf(p->out, "<tr%s><td>", class);
	if (row->process != NO_INDEX)
		fprintf(p->out, "%" PRId32, process_pid(&p->r->processes, row));
	fputs("</td>", p->out);
	for (int c = 0; c < N_CONTEXTS; c++) {
		fprintf(p->out, "<td>%" PRIu64 "</td>", row->by[c].samples);
		if (p->has_time)
			fprintf(p->out, "<td>%.4f</td>",
				processes_seconds(&p->r->processes, &row->by[c]));
	}
	process_html_print_kernel_time(p, row);
	fputs("<td>", p->out);
	text(p, name);
	fputs("</td></tr>\n", p->out);
}

static void process_html_print_summary(const struct page *p)
{
	const struct process_report *r = p->r;
	char other[64];

	fputs("<h2>Summary of processes</h2>\n<div class=\"scroll\"><table><tr><th>pid</th>",
	      p->out);
	for (int c = 0; c < N_CONTEXTS; c++)
		fprintf(p->out, "<th>%s</th>%s", sample_context_names[c],
			p->has_time ? "<th>seconds</th>" : "");
	if (r->account.is_known)
		fputs("<th>kernel's</th><th>deviation %</th>", p->out);
	fputs("<th>process</th></tr>\n", p->out);
	for (uint32_t i = 0; i < r->processes.rows.n; i++)
		if (r->is_shown[i])
			process_html_print_summary_row(p, &r->processes.rows.data[i], "",
						       process_name(&r->processes,
								    &r->processes.rows.data[i]));
	snprintf(other, sizeof(other), "other (%" PRIu32 ")", r->n_hidden);
	if (r->n_hidden)
		process_html_print_summary_row(p, &r->hidden, " class=\"other\"", other);
	process_html_print_summary_row(p, &r->processes.total, " class=\"sum\"", "all");
	fputs("</table></div>\n", p->out);
}

/* ---- profiles ---- */

/* The contexts with columns. */
struct shape {
	uint32_t contexts;
	uint64_t whole;
};

static void print_numbers(const struct page *p, const struct shape *shape, const char *class,
			  const struct weight *all, const struct weight *by)
{
	fprintf(p->out, "<tr class=\"%s\"><td>%" PRIu64 "</td><td>%.2f</td>", class, all->samples,
		shape->whole ? 100.0 * (double)all->samples / (double)shape->whole : 0);
	if (p->has_time)
		fprintf(p->out, "<td>%.4f</td>", processes_seconds(&p->r->processes, all));
	for (int c = 0; c < N_CONTEXTS; c++) {
		if (!(shape->contexts & 1u << c))
			continue;
		if (by)
			fprintf(p->out, "<td>%" PRIu64 "</td>", by[c].samples);
		else
			fputs("<td></td>", p->out);
	}
	fputs("<td>", p->out);
}

static void process_html_print_instructions(const struct page *p, const struct shape *shape,
					    const struct hit_row *hit)
{
	int n_skipped = 1 + p->has_time + __builtin_popcount(shape->contexts);
	struct process_report *r = p->r;

	for (uint32_t i = 0; i < hit->n; i++) {
		const struct hit_place *place = &r->places.data[hit->first + i];
		struct instruction in;
		struct buf what = { 0 };
		const char *why;
		bool has_code =
			process_report_instruction(r, hit->function, place->offset, &in, &why);

		process_report_put_place(r, hit->function, place->offset, &what);
		if (has_code)
			buf_printf(&what, ": %s", in.text);
		else if (why)
			buf_printf(&what, " (%s)", why);
		fprintf(p->out,
			"<tr class=\"code\"><td>%" PRIu64 "</td><td colspan=\"%d\"></td><td>",
			place->weight.samples, n_skipped);
		text(p, buf_cstr(&what));
		fputs("</td></tr>\n", p->out);
		buf_fini(&what);
	}
}

static void process_html_print_region(const struct page *p, const struct shape *shape,
				      const struct hit_region *region)
{
	struct process_report *r = p->r;
	char scratch[KEY_TEXT_SIZE];

	print_numbers(p, shape, "region", &region->weight, NULL);
	text(p, process_report_image(r, region->image));
	fputs("</td></tr>\n", p->out);
	for (uint32_t i = 0; i < region->n; i++) {
		const struct hit_row *hit = &r->hits.data[region->first + i];

		print_numbers(p, shape, "symbol", &hit->all, hit->by);
		text(p, process_report_symbol(r, hit->function, scratch));
		fputs("</td></tr>\n", p->out);
		process_html_print_instructions(p, shape, hit);
	}
	if (!region->hidden.n)
		return;
	print_numbers(p, shape, "symbol other", &region->hidden.weight, NULL);
	fprintf(p->out, "other (%" PRIu32 ")</td></tr>\n", region->hidden.n);
}

static void process_html_print_part(const struct page *p, const char *title,
				    const struct shape *shape, const struct hit_part *part)
{
	if (!part->n)
		return;
	fprintf(p->out, "<h3>%s</h3>\n<div class=\"scroll\"><table><tr><th>hits</th><th>%%</th>%s",
		title, p->has_time ? "<th>seconds</th>" : "");
	for (int c = 0; c < N_CONTEXTS; c++)
		if (shape->contexts & 1u << c)
			fprintf(p->out, "<th>%s</th>", sample_context_names[c]);
	fputs("<th>region / symbol</th></tr>\n", p->out);
	for (uint32_t i = 0; i < part->n; i++)
		process_html_print_region(p, shape, &p->r->regions.data[part->first + i]);
	fputs("</table></div>\n", p->out);
}

static void process_html_print_detail(const struct page *p, const struct process_detail *d)
{
	const struct process_report *r = p->r;
	const struct process_row *row = &r->processes.rows.data[d->row];

	fputs("<details><summary>", p->out);
	text(p, process_name(&r->processes, row));
	if (!row->is_idle_task)
		fprintf(p->out, " (%" PRId32 ")", process_pid(&r->processes, row));
	fprintf(p->out, ": %" PRIu64 " hits</summary>\n", row->all.samples);
	for (int part = 0; part < N_PROCESS_PARTS; part++) {
		const struct shape shape = {
			process_columns(process_parts[part].contexts, row->by),
			row->all.samples,
		};

		process_html_print_part(p, process_parts[part].title, &shape, &d->parts[part]);
	}
	fputs("</details>\n", p->out);
}

static void process_html_print_title(const struct page *p)
{
	const struct session_info *info = &p->r->head.profile->session->info;

	text(p, *info->command ? info->command : info->target);
}

void process_report_print_html(struct process_report *r, FILE *out)
{
	struct page p = { r, out, r->processes.basis != TIME_NONE };
	const struct shape shape = {
		process_columns(PROCESS_KERNEL_CONTEXTS, r->processes.total.by),
		r->kernel.weight.samples,
	};

	fputs(head_before_title, out);
	process_html_print_title(&p);
	fputs(head_after_title, out);
	fputs("<h1>", out);
	process_html_print_title(&p);
	fputs("</h1>\n", out);
	process_html_print_statistics(&p);
	process_html_print_account(&p);
	process_html_print_summary(&p);
	if (r->details.n)
		fputs("<h2>Profiles of processes</h2>\n", out);
	vec_foreach (&r->details, d)
		process_html_print_detail(&p, d);
	if (r->options.with_kernel) {
		fputs("<h2>The kernel, for all processes</h2>\n", out);
		process_html_print_part(&p, "Kernel profile", &shape, &r->kernel);
	}
	fputs("</body>\n</html>\n", out);
}
