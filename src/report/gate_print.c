/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/gate_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "report/header.h"
#include "report/markup.h"

const char *gate_verdict_name(enum gate_verdict verdict)
{
	static const char *const names[] = { [GATE_KEPT] = "kept",
					     [GATE_NOT_SIGNIFICANT] = "not-significant",
					     [GATE_BROKEN] = "broken",
					     [GATE_UNMATCHED] = "unmatched" };

	return names[verdict];
}

static void put_total_time(struct buf *out, const struct diff_page *page, enum diff_side side)
{
	double time = diff_time(page->diff, NULL, side);

	if (page->counts_time)
		buf_printf(out, "%.3f s", time / (double)NS_PER_SECOND);
	else
		buf_printf(out, "%.0f events", time);
}

static double total_change(const struct diff_page *page)
{
	double old = diff_time(page->diff, NULL, DIFF_OLD);

	return old > 0 ? (diff_time(page->diff, NULL, DIFF_NEW) / old - 1) * 100 : 0;
}

void gate_print_total(struct buf *out, const struct diff_page *page)
{
	double z = fabs(diff_time_z(page->diff, NULL));

	put_total_time(out, page, DIFF_OLD);
	buf_str(out, " to ");
	put_total_time(out, page, DIFF_NEW);
	buf_printf(out, ": %+.1f %%%s", total_change(page),
		   z >= DIFF_CERTAIN  ? " **"
		   : z >= DIFF_LIKELY ? " *"
				      : "");
}

static const char *gate_rule_text(const struct gate_result *r)
{
	return r->rule->text;
}

/* All findings that explain the verdict. */
static void put_findings(struct buf *out, const struct diff_page *page, const struct gate_result *r,
			 const char *between)
{
	const char *before = "";

	if (r->verdict == GATE_UNMATCHED)
		buf_str(out, "no function has such a name");
	vec_foreach (&r->findings, f) {
		if (r->verdict == GATE_BROKEN && !f->is_significant)
			continue;
		buf_str(out, before);
		gate_finding_print(out, r->rule, f, page->counts_time);
		before = between;
	}
}

/* ---- JUnit ---- */

static void print_attribute(const char *name, const char *value, FILE *out)
{
	fprintf(out, " %s=\"", name);
	markup_print_text(value, out);
	fputc('"', out);
}

static void print_case(const struct diff_page *page, const struct gate_result *r, FILE *out)
{
	static const char *const elements[] = { [GATE_KEPT] = NULL,
						[GATE_NOT_SIGNIFICANT] = "system-out",
						[GATE_BROKEN] = "failure",
						[GATE_UNMATCHED] = "error" };
	const char *element = elements[r->verdict];
	struct buf text = { 0 };

	fputs("  <testcase classname=\"assay diff\"", out);
	print_attribute("name", gate_rule_text(r), out);
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n    <%s", element);
	if (r->verdict != GATE_NOT_SIGNIFICANT)
		print_attribute("message", gate_verdict_name(r->verdict), out);
	fputc('>', out);
	put_findings(&text, page, r, "; ");
	markup_print_text(buf_cstr(&text), out);
	fprintf(out, "</%s>\n  </testcase>\n", element);
	buf_fini(&text);
}

void diff_print_junit(const struct diff_page *page, const struct text_style *style, FILE *out)
{
	size_t n_broken = 0, n_unmatched = 0;

	(void)style;
	for (size_t i = 0; i < page->n_rules; i++) {
		n_broken += page->rules[i].verdict == GATE_BROKEN;
		n_unmatched += page->rules[i].verdict == GATE_UNMATCHED;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"assay diff\" "
		"tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		page->n_rules, n_broken, n_unmatched);
	for (size_t i = 0; i < page->n_rules; i++)
		print_case(page, &page->rules[i], out);
	fputs("</testsuite>\n", out);
}

/* ---- Markdown ---- */

/* A cell of a table: no bars, no line ends, no markup. */
static void markdown_put_cell(struct buf *out, const char *text)
{
	struct buf visible = { 0 };

	utf8_append_visible(&visible, text);
	for (const char *at = buf_cstr(&visible); *at; at++) {
		if (strchr("\\`*_{}[]<>()#+!|~&", *at))
			buf_u8(out, '\\');
		buf_u8(out, (uint8_t)*at);
	}
	buf_fini(&visible);
}

static void put_rule_row(struct buf *out, const struct diff_page *page, const struct gate_result *r)
{
	static const char *const marks[] = { [GATE_KEPT] = "✅ kept",
					     [GATE_NOT_SIGNIFICANT] = "✅ not significant",
					     [GATE_BROKEN] = "❌ broken",
					     [GATE_UNMATCHED] = "⚠️ matches nothing" };
	struct buf text = { 0 };

	buf_str(out, "| ");
	markdown_put_cell(out, gate_rule_text(r));
	buf_printf(out, " | %s | ", marks[r->verdict]);
	put_findings(&text, page, r, "; ");
	markdown_put_cell(out, buf_cstr(&text));
	buf_fini(&text);
	buf_str(out, " |\n");
}

static void put_change_row(struct buf *out, const struct diff_page *page,
			   const struct diff_row *row)
{
	const struct diff *d = page->diff;
	double factor = page->counts_time ? 1 / (double)NS_PER_SECOND : 1;
	const char *symbol = strings_get(&d->names, row->symbol);
	int digits = page->counts_time ? 3 : 0;

	buf_str(out, "| ");
	markdown_put_cell(out, *symbol ? symbol : "(no symbols)");
	buf_str(out, " | ");
	markdown_put_cell(out, strings_get(&d->names, row->image));
	buf_printf(out, " | %.*f | %.*f | %+.2f%s |\n", digits,
		   diff_time(d, row, DIFF_OLD) * factor, digits,
		   diff_time(d, row, DIFF_NEW) * factor, diff_change(d, row) * 100,
		   fabs(diff_z(d, row)) >= DIFF_LIKELY ? " \\*" : "");
}

#define MARKDOWN_ROWS 20

void diff_print_markdown(const struct diff_page *page, const struct text_style *style, FILE *out)
{
	struct buf text = { 0 };
	size_t n;
	cleanup(free_at_exit) uint32_t *order = diff_order(page, &n);

	(void)style;
	buf_printf(&text, "### assay diff\n\n%s: ", page->counts_time ? "CPU time" : "Total");
	gate_print_total(&text, page);
	buf_str(&text, "\n\n");
	if (page->n_rules)
		buf_str(&text, "| rule | | |\n|---|---|---|\n");
	for (size_t i = 0; i < page->n_rules; i++)
		put_rule_row(&text, page, &page->rules[i]);
	buf_printf(&text,
		   "%s| function | image | old%s | new%s | points |\n|---|---|--:|--:|--:|\n",
		   page->n_rules ? "\n" : "", page->counts_time ? ", s" : "",
		   page->counts_time ? ", s" : "");
	for (size_t i = 0; i < MIN(n, page->max_rows ? page->max_rows : MARKDOWN_ROWS); i++)
		put_change_row(&text, page, &page->diff->rows.data[order[i]]);
	fputs(buf_cstr(&text), out);
	buf_fini(&text);
}

/* ---- JSON ---- */

json_t *gate_json_total(const struct diff_page *page)
{
	json_t *o = json_object();

	json_object_set_new(o, "unit", json_text(page->counts_time ? "ns" : "events"));
	json_object_set_new(o, "old", json_real(diff_time(page->diff, NULL, DIFF_OLD)));
	json_object_set_new(o, "new", json_real(diff_time(page->diff, NULL, DIFF_NEW)));
	json_object_set_new(o, "change_percent", json_real(total_change(page)));
	json_object_set_new(o, "z", json_real(diff_time_z(page->diff, NULL)));
	return o;
}

static json_t *finding_json(const struct gate_result *r, const struct gate_finding *f)
{
	json_t *o = json_object();

	if (r->rule->glob) {
		json_object_set_new(o, "symbol", json_text(f->symbol));
		json_object_set_new(o, "image", json_text(f->image));
	}
	json_object_set_new(o, "old", json_real(f->old_time));
	json_object_set_new(o, "new", json_real(f->new_time));
	json_object_set_new(o, "spread", json_real(f->spread));
	json_object_set_new(o, "change", isfinite(f->change) ? json_real(f->change) : json_null());
	json_object_set_new(o, "sureness", json_real(f->sureness));
	json_object_set_new(o, "is_significant", json_boolean(f->is_significant));
	return o;
}

json_t *gate_json_rules(const struct diff_page *page)
{
	json_t *list = json_array();

	for (size_t i = 0; i < page->n_rules; i++) {
		const struct gate_result *r = &page->rules[i];
		json_t *o = json_object(), *findings = json_array();

		json_object_set_new(o, "rule", json_text(gate_rule_text(r)));
		json_object_set_new(o, "verdict", json_text(gate_verdict_name(r->verdict)));
		vec_foreach (&r->findings, f)
			json_array_append_new(findings, finding_json(r, f));
		json_object_set_new(o, "findings", findings);
		json_array_append_new(list, o);
	}
	return list;
}
