/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Annotated source and assembly for people: weights in the margin. */
#include <inttypes.h>
#include <string.h>

#include "annotate/annotate_code.h"
#include "annotate/python_source.h"
#include "base/error.h"
#include "base/utf8.h"
#include "lang/language.h"
#include "report/names.h"
#include "store/session.h"

#define CONTEXT_LINES 3 /* before a function's first line: its head, mostly */

struct page {
	struct annotation *a;
	const struct text_style *style;
	FILE *out;
	struct buf line, clean;
	bool has_totals; /* the function has callees with samples: the margin has totals, too */
};

static void page_fini(struct page *p)
{
	buf_fini(&p->line);
	buf_fini(&p->clean);
}

/* Ends the line: no wider than the page. */
static void annotate_text_put_line(struct page *p)
{
	const char *text = buf_cstr(&p->line);
	size_t width = p->style->width, n = 0;

	if (width && name_width(text) > width) {
		/* Its end goes: code is read from the left. */
		for (size_t left = width - 1; text[n] && left + ((text[n] & 0xc0) == 0x80); n++)
			left -= (text[n] & 0xc0) != 0x80;
		fprintf(p->out, "%.*s%s\n", (int)n, text, p->style->is_ascii ? ">" : "\u2026");
	} else {
		fprintf(p->out, "%s\n", text);
	}
	p->line.len = 0;
}

static void put_weight(struct page *p, uint32_t lane, const struct weight *w)
{
	uint64_t all = weight_value(&p->a->profile->lanes[lane].total, p->a->by_period);

	if (w && w[lane].samples)
		buf_printf(&p->line, "%7" PRIu64 " %6.2f ", w[lane].samples,
			   all ? 100.0 * (double)weight_value(&w[lane], p->a->by_period) /
					   (double)all
			       : 0.0);
	else
		buf_printf(&p->line, "%15s", "");
}

/* The weights of all events, and their totals, or room for them. */
static void put_margin(struct page *p, const struct weight *own, const struct weight *total)
{
	for (uint32_t lane = 0; lane < p->a->profile->n_lanes; lane++) {
		put_weight(p, lane, own);
		if (p->has_totals)
			put_weight(p, lane, total);
	}
	buf_str(&p->line, p->style->is_ascii ? "| " : "\u2502 ");
}

/* Text that may hold anything; a tab goes to the next multiple of eight columns. */
static void annotate_text_put_text(struct page *p, const char *text, size_t size)
{
	cleanup(free_at_exit) char *copy = xstrndup(text, size);
	size_t column = 0;

	p->clean.len = 0;
	for (const char *at = copy; *at; at++) {
		size_t n = *at == '\t' ? 8 - column % 8 : 1;

		if (*at == '\t')
			buf_printf(&p->clean, "%*s", (int)n, "");
		else
			buf_u8(&p->clean, (uint8_t)*at);
		column += ((unsigned char)*at & 0xc0) != 0x80 ? n : 0;
	}
	utf8_append_visible(&p->line, buf_cstr(&p->clean));
}

static void annotate_text_put_source_line(struct page *p, const struct source_file *file,
					  uint32_t n, const struct weight *own,
					  const struct weight *total)
{
	const char *text;
	size_t size;

	put_margin(p, own, total);
	buf_printf(&p->line, "%5" PRIu32 "  ", n);
	if (source_line(file, n, &text, &size))
		annotate_text_put_text(p, text, size);
	annotate_text_put_line(p);
}

static void annotate_text_put_sentence(struct page *p, const char *title, const char *text)
{
	buf_printf(&p->line, "%-8s", title);
	utf8_append_visible(&p->line, text);
	fprintf(p->out, "%s\n", buf_cstr(&p->line)); /* sentences are not cut */
	p->line.len = 0;
}

static void put_skids(struct page *p)
{
	const struct profile *profile = p->a->profile;

	for (uint32_t lane = 0; lane < profile->n_lanes; lane++) {
		struct buf skid = { 0 };

		annotation_put_skid(p->a, lane, &skid);
		annotate_text_put_sentence(p, profile->n_lanes > 1 ? "event" : "skid",
					   buf_cstr(&skid));
		buf_fini(&skid);
	}
}

static void annotate_text_put_events(struct page *p)
{
	const struct profile *profile = p->a->profile;

	for (uint32_t lane = 0; lane < profile->n_lanes; lane++) {
		uint32_t counter = profile->lanes[lane].counter;

		buf_printf(&p->line, "%14.14s ",
			   counter != NO_INDEX ? profile->session->info.counters[counter].name
					       : "samples");
		if (p->has_totals)
			buf_printf(&p->line, "%14s ", "total");
	}
	annotate_text_put_line(p);
}

/* The source was changed after the code was made: lines may be off. */
static void warn_of_newer(struct page *p, const struct source_file *file, uint64_t code_ns)
{
	cleanup(free_at_exit) char *text = NULL;

	if (!file->path || !code_ns || file->mtime_ns <= code_ns)
		return;
	text = xasprintf(
		"%s has been changed since the binary was built; its lines may differ from the "
		"code that ran",
		file->path);
	annotate_text_put_sentence(p, "warning", text);
}

static void say_no_source(struct page *p, const struct source_file *file, const char *path)
{
	cleanup(free_at_exit) char *text =
		file->is_refused
			? xasprintf("%s is not shown, because the owner of the binary cannot "
				    "read it; permit its folder with --search-dir",
				    path)
		: *path ? xasprintf(
				  "no source at %s; name its place with --search-dir or --rewrite",
				  path)
			: xstrdup("no source: the code has no debug information ('assay why' lists "
				  "the places "
				  "that were searched)");

	annotate_text_put_sentence(p, "note", text);
}

/* ---- one function's source ---- */

/* The lines of one file that a function's code is from. */
struct extent {
	const char *path;
	uint32_t file; /* of a->files */
	uint32_t first, last;
	bool is_by_name; /* of the function: its code has no lines */
};

static void annotate_text_widen(struct extent *x, const struct line_span *span)
{
	if (!span->line)
		return;
	x->first = x->first ? MIN(x->first, span->line) : span->line;
	x->last = MAX(x->last, span->line);
}

/* The function's own file is the file of its first instruction. Inlined code has other files. */
static struct extent find_extent(struct annotation *a, uint32_t image,
				 const struct symbol_table *table, const struct symbol *symbol)
{
	struct extent x = { .path = "" };
	uint64_t at = symbol->offset, end = symbol->offset + symbol->size;
	struct line_span span;
	uint32_t own = 0;

	while (at < end) {
		bool is_known = lines_span(a->symbols, table, at, &span);

		if (is_known && !*x.path && *span.file) {
			x.path = span.file;
			own = span.file_id;
		}
		if (is_known && *x.path && span.file_id == own)
			annotate_text_widen(&x, &span);
		at = MAX(span.end, at + 1);
	}
	annotation_name_source(a, image, x.path);
	x.file = strings_add(&a->files, x.path).n;
	return x;
}

/* Of a function of a language: its lines with samples, which are all in one file. */
static struct extent find_extent_of_language(const struct annotation *a,
					     const struct line_sums *sums)
{
	struct extent x = { .path = "" };

	vec_foreach (&sums->lines, line) {
		const char *path = strings_get(&a->files, (string_id){ line->file });
		const struct line_span span = { .line = line->line };

		if (!*path || (*x.path && line->file != x.file))
			continue;
		x.path = path;
		x.file = line->file;
		annotate_text_widen(&x, &span);
	}
	return x;
}

/* Python names some functions without lines: their source is found by the name. */
static struct extent find_extent_by_name(struct annotation *a, uint32_t function)
{
	const struct profile_function *f = &a->profile->functions.data[function];
	const struct profile_image *image = &a->profile->images.data[f->image];
	const char *path = image->image->path;
	struct extent x = { .path = "" };

	if (image->image->language != LANGUAGE_PYTHON)
		return x;
	annotation_name_source(a, f->image, path);
	if (!python_source_find(source_files_get(a->sources, path),
				symbol_name(a->symbols, image->table, f->symbol), &x.first,
				&x.last))
		return x;
	x.path = path;
	x.file = strings_add(&a->files, path).n;
	x.is_by_name = true;
	return x;
}

static struct extent find_extent_of_source(struct page *p, uint32_t function,
					   const struct line_sums *sums)
{
	struct extent x = find_extent_of_language(p->a, sums);

	if (*x.path)
		return x;
	x = find_extent_by_name(p->a, function);
	if (x.is_by_name)
		annotate_text_put_sentence(p, "note",
					   "Python named this function without lines; its source "
					   "is found by its name");
	return x;
}

/* What fell on lines of other files, or on none. */
static void put_elsewhere(struct page *p, const struct line_sums *sums, const struct extent *x)
{
	struct annotation *a = p->a;
	bool has_title = false;

	vec_foreach (&sums->lines, line) {
		const char *path = strings_get(&a->files, (string_id){ line->file });

		if (*x->path && line->file == x->file && line->line >= x->first &&
		    line->line <= x->last)
			continue;
		if (!has_title && *x->path && !x->is_by_name)
			annotate_text_put_sentence(
				p, "", "and in code of other places that is inlined here:");
		has_title = true;
		put_margin(p, line_sums_find(a, sums, line->file, line->line),
			   line_sums_total(a, sums, line->file, line->line));
		if (*path) {
			utf8_append_visible(&p->line, path);
			buf_printf(&p->line, ":%" PRIu32, line->line);
		} else {
			buf_str(&p->line, "(no line)");
		}
		annotate_text_put_line(p);
	}
}

static void put_function_source(struct page *p, const struct extent *x,
				const struct line_sums *sums, uint64_t code_ns)
{
	const struct source_file *file = source_files_get(p->a->sources, x->path);
	uint32_t from = x->first > CONTEXT_LINES ? x->first - CONTEXT_LINES : 1;

	warn_of_newer(p, file, code_ns);
	if (file->path)
		annotate_text_put_sentence(p, "source", file->path);
	else
		say_no_source(p, file, x->path);
	for (uint32_t n = file->path ? from : x->first; n && n <= x->last; n++) {
		const struct weight *w = line_sums_find(p->a, sums, x->file, n);

		if (file->path || w)
			annotate_text_put_source_line(p, file, n, w,
						      line_sums_total(p->a, sums, x->file, n));
	}
	put_elsewhere(p, sums, x);
}

/* ---- assembly ---- */

/* The source of the instructions that follow. */
static void put_source_of(struct page *p, uint32_t image, const struct line_span *span)
{
	const struct source_file *file;
	const char *slash = strrchr(span->file, '/'), *text = "";
	size_t size = 0;

	annotation_name_source(p->a, image, span->file);
	file = source_files_get(p->a->sources, span->file);
	source_line(file, span->line, &text, &size);
	put_margin(p, NULL, NULL);
	utf8_append_visible(&p->line, slash ? slash + 1 : span->file);
	buf_printf(&p->line, ":%" PRIu32 "  ", span->line);
	annotate_text_put_text(p, text, size);
	annotate_text_put_line(p);
}

static void put_instruction(struct page *p, uint32_t image, const struct function_code *code,
			    uint32_t i)
{
	const struct instruction *in = &code->list.data[i];
	uint32_t n_lanes = p->a->profile->n_lanes;
	struct weight *own = xcalloc(2 * (size_t)n_lanes, sizeof(*own)), *total = own + n_lanes;

	annotation_sum(p->a, image, in->offset, in->offset + in->size, own);
	if (p->has_totals)
		annotation_total(p->a, image, in->offset, in->offset + in->size, total);
	put_margin(p, own, total);
	free(own);
	buf_printf(&p->line, "%8" PRIx64 " ", in->offset);
	function_code_put_arrows(code, i, p->style->is_ascii, &p->line);
	buf_printf(&p->line, " %s", in->text);
	function_code_put_target(p->a, image, in, &p->line);
	annotate_text_put_line(p);
}

static void put_assembly(struct page *p, uint32_t function, const struct function_code *code)
{
	uint32_t image = p->a->profile->functions.data[function].image;
	const struct symbol_table *table = p->a->profile->images.data[image].table;
	struct line_span span, last = { 0 };

	for (uint32_t i = 0; i < code->list.n; i++) {
		if (p->a->with_source &&
		    lines_span(p->a->symbols, table, code->list.data[i].offset, &span) &&
		    (span.line != last.line || span.file_id != last.file_id)) {
			put_source_of(p, image, &span);
			last = span;
		}
		put_instruction(p, image, code, i);
	}
}

/* ---- whole ---- */

static void annotate_text_put_head(struct page *p, uint32_t function)
{
	const struct profile *profile = p->a->profile;
	const struct profile_function *f = &profile->functions.data[function];
	const struct profile_image *image = &profile->images.data[f->image];

	utf8_append_visible(&p->line, symbol_name(p->a->symbols, image->table, f->symbol));
	buf_str(&p->line, "  ");
	utf8_append_visible(&p->line, image->image->path);
	annotate_text_put_line(p);
}

/* Whether a sample of the function is not at the function itself. */
static bool has_callees(const struct annotation *a, uint32_t function)
{
	uint32_t n_lanes = a->profile->n_lanes;
	struct weight *w = xcalloc(2 * (size_t)n_lanes, sizeof(*w));
	bool has = false;

	if (a->has_totals) {
		annotation_function_own(a, function, w);
		annotation_function_total(a, function, w + n_lanes);
	}
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		has |= w[n_lanes + lane].samples > w[lane].samples;
	free(w);
	return has;
}

void annotation_print_function(struct annotation *a, uint32_t function,
			       const struct text_style *style, FILE *out)
{
	const struct profile_function *f = &a->profile->functions.data[function];
	const struct symbol_table *table = a->profile->images.data[f->image].table;
	struct symbol symbol = symbol_get(table, f->symbol);
	struct page p = {
		.a = a, .style = style, .out = out, .has_totals = has_callees(a, function)
	};
	struct function_code code = { 0 };
	struct line_sums sums = { 0 };
	struct error err = { 0 };
	struct extent x;
	bool is_of_language = a->profile->images.data[f->image].image->kind == IMAGE_LANGUAGE;
	int r = function_code_load(a, function, &code, &err);

	annotate_text_put_head(&p, function);
	if (!is_of_language)
		put_skids(&p);
	annotate_text_put_events(&p);
	annotation_function_lines(a, function, &sums);
	x = is_of_language ? find_extent_of_source(&p, function, &sums)
			   : find_extent(a, f->image, table, &symbol);
	if (r < 0 && (a->with_assembly || !is_of_language))
		annotate_text_put_sentence(&p, "note", err.text);
	if (!a->with_assembly || r < 0)
		put_function_source(&p, &x, &sums, code.mtime_ns);
	else
		put_assembly(&p, function, &code);
	line_sums_fini(&sums);
	function_code_fini(&code);
	page_fini(&p);
}

bool annotation_print_file(struct annotation *a, uint32_t file, const struct text_style *style,
			   FILE *out)
{
	const char *path = strings_get(&a->files, (string_id){ file });
	const struct source_file *source = source_files_get(a->sources, path);
	struct page p = { .a = a, .style = style, .out = out };

	if (!source->path)
		return false;
	annotate_text_put_sentence(&p, "file", path);
	put_skids(&p);
	annotate_text_put_events(&p);
	for (uint32_t n = 1; n <= source->n_lines; n++)
		annotate_text_put_source_line(&p, source, n, line_sums_find(a, &a->lines, file, n),
					      NULL);
	page_fini(&p);
	return true;
}
