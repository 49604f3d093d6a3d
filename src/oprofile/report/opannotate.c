/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/opannotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/annotate_code.h"
#include "base/error.h"
#include "base/utf8.h"
#include "oprofile/report/opreport.h"
#include "oprofile/report/opreport_rows.h"
#include "symbol/addresses.h"

/* Columns of one class: a count of six, a blank, a percentage of seven. */
#define LANE_COLUMNS 14

static uint64_t total_of(const struct annotation *a, uint32_t lane)
{
	return a->profile->lanes[lane].total.samples;
}

static void opannotate_put_pair(const struct annotation *a, uint32_t lane, uint64_t samples,
				struct buf *line)
{
	char percent[32];

	opreport_percent(percent, sizeof(percent), op_share(samples, total_of(a, lane)));
	buf_printf(line, "%6" PRIu64 " %s", samples, percent);
}

/* Writes the prefix of a line: its counts, or blanks if no class has samples. */
static void opannotate_put_prefix(const struct annotation *a, const struct weight *w,
				  struct buf *line)
{
	uint32_t n = a->profile->n_lanes;
	bool has_samples = false;

	for (uint32_t lane = 0; w && lane < n; lane++)
		has_samples |= w[lane].samples > 0;
	for (uint32_t lane = 0; lane < n; lane++) {
		if (has_samples)
			opannotate_put_pair(a, lane, w[lane].samples, line);
		else
			buf_printf(line, "%*s", LANE_COLUMNS, "");
	}
	buf_printf(line, "%*s :", (int)(2 * (n - 1)), "");
}

static void opannotate_put_sums(const struct annotation *a, const uint64_t *sums, struct buf *line)
{
	for (uint32_t lane = 0; lane < a->profile->n_lanes; lane++)
		opannotate_put_pair(a, lane, sums[lane], line);
}

static void print_buf(struct buf *line, FILE *out)
{
	fprintf(out, "%s\n", buf_cstr(line));
	line->len = 0;
}

/* Text in a comment must not end it. */
static void put_comment_text(const char *text, struct buf *line)
{
	struct buf visible = { 0 };

	utf8_append_visible(&visible, text);
	for (text = buf_cstr(&visible); *text; text++) {
		buf_u8(line, (uint8_t)*text);
		if (text[0] == '*' && text[1] == '/')
			buf_u8(line, ' ');
	}
	buf_fini(&visible);
}

/* ---- starts of functions ---- */

struct start {
	uint32_t function, file, line;
	uint64_t samples; /* of the first lane */
	uint64_t *sums;   /* by lane */
};

struct starts {
	VEC(struct start) list;
};

static int opannotate_by_place(const void *x, const void *y)
{
	const struct start *a = x, *b = y;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static int opannotate_by_samples(const void *x, const void *y)
{
	const struct start *a = x, *b = y;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return (a->function > b->function) - (a->function < b->function);
}

/* All functions with samples, with the line that each begins on. */
static void find_starts(struct annotation *a, struct starts *out)
{
	const struct profile *p = a->profile;
	uint64_t *sums = xcalloc(p->functions.n * p->n_lanes + 1, sizeof(*sums));

	for (uint32_t i = 0; i < p->places.n; i++)
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			sums[(size_t)p->places.data[i].function * p->n_lanes + lane] +=
				annotation_place(a, i)[lane].samples;
	for (uint32_t f = 0; f < p->functions.n; f++) {
		const struct profile_function *function = &p->functions.data[f];
		const struct symbol_table *table = p->images.data[function->image].table;
		struct start s = { .function = f };
		struct line_span span;
		bool has_samples = false;

		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			has_samples |= sums[(size_t)f * p->n_lanes + lane] > 0;
		if (!has_samples || !op_has_symbol(p, f))
			continue;
		if (lines_span(a->symbols, table, symbol_get(table, function->symbol).offset,
			       &span)) {
			annotation_name_source(a, function->image, span.file);
			s.file = strings_add(&a->files, span.file).n;
			s.line = span.line;
		}
		s.sums = xcalloc(p->n_lanes + 1, sizeof(*s.sums));
		memcpy(s.sums, &sums[(size_t)f * p->n_lanes], p->n_lanes * sizeof(*s.sums));
		s.samples = s.sums[0];
		vec_push(&out->list, s);
	}
	free(sums);
}

struct opannotation {
	struct annotation *a;
	const struct opannotate_options *o;
	struct starts starts;   /* by file and line */
	uint64_t *file_samples; /* [file * n_lanes + lane] */
	uint32_t n_files;
};

static void starts_fini(struct starts *s)
{
	vec_foreach (&s->list, start)
		free(start->sums);
	vec_fini(&s->list);
}

/* The comment behind a line, or a label, that a function begins with. */
static void opannotate_put_start(const struct annotation *a, const struct start *s,
				 struct buf *line)
{
	buf_str(line, " /* ");
	put_comment_text(op_symbol_name(a->profile, s->function), line);
	buf_str(line, " total: ");
	opannotate_put_sums(a, s->sums, line);
	buf_str(line, " */");
}

/* ---- comments ---- */

void opannotation_print_interpretation(const struct opannotation *oa, FILE *out)
{
	const struct opannotate_options *o = oa->o;
	struct buf line = { 0 };
	char *text = NULL;
	size_t size;
	FILE *header = open_memstream(&text, &size);

	buf_str(&line, "/*\n * Command line: ");
	put_comment_text(o->command_line, &line);
	buf_printf(&line,
		   "\n *\n * Interpretation of command line:\n * Output annotated %s "
		   "with samples\n",
		   o->with_assembly ? "assembly listing" : "source file");
	if (!o->with_assembly && o->threshold > 0)
		buf_printf(&line, " * Output files where samples count reach %g%%\n", o->threshold);
	else if (!o->with_assembly)
		buf_str(&line, " * Output all files\n");
	buf_str(&line, " *\n");
	opreport_print_header(oa->a->profile, header);
	fclose(header);
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");

		buf_printf(&line, " * %.*s\n", (int)n, at);
		at += n + (at[n] == '\n');
	}
	buf_str(&line, " */");
	print_buf(&line, out);
	free(text);
	buf_fini(&line);
}

struct opannotation *opannotation_new(struct annotation *a, const struct opannotate_options *o)
{
	struct opannotation *oa = xcalloc(1, sizeof(*oa));
	uint32_t n = a->profile->n_lanes;

	oa->a = a;
	oa->o = o;
	find_starts(a, &oa->starts); /* may add files */
	if (oa->starts.list.n)
		qsort(oa->starts.list.data, oa->starts.list.n, sizeof(*oa->starts.list.data),
		      opannotate_by_place);
	oa->n_files = a->files.n;
	oa->file_samples = xcalloc((size_t)oa->n_files * n + 1, sizeof(*oa->file_samples));
	for (size_t i = 0; i < a->lines.lines.n; i++)
		for (uint32_t lane = 0; lane < n; lane++)
			oa->file_samples[(size_t)a->lines.lines.data[i].file * n + lane] +=
				a->lines.weights.data[i * n + lane].samples;
	return oa;
}

void opannotation_free(struct opannotation *oa)
{
	if (!oa)
		return;
	starts_fini(&oa->starts);
	free(oa->file_samples);
	free(oa);
}

uint64_t opannotation_file_samples(const struct opannotation *oa, uint32_t file)
{
	return oa->file_samples[(size_t)file * oa->a->profile->n_lanes];
}

bool opannotation_has_file(const struct opannotation *oa, uint32_t file)
{
	uint32_t n = oa->a->profile->n_lanes;

	for (uint32_t lane = 0; lane < n; lane++)
		if (oa->file_samples[(size_t)file * n + lane])
			return true;
	return false;
}

static void print_file_comment(const struct opannotation *oa, uint32_t file, FILE *out)
{
	const struct annotation *a = oa->a;
	uint32_t n = a->profile->n_lanes;
	const struct weight *zero = line_sums_find(a, &a->lines, file, 0);
	uint64_t *sums = xcalloc(n + 1, sizeof(*sums));
	struct buf line = { 0 };

	buf_str(&line, "/*\n * Total samples for file : \"");
	put_comment_text(strings_get(&a->files, (string_id){ file }), &line);
	buf_str(&line, "\"\n *\n * ");
	opannotate_put_sums(a, &oa->file_samples[(size_t)file * n], &line);
	for (uint32_t lane = 0; zero && lane < n; lane++)
		sums[lane] = zero[lane].samples;
	if (zero) {
		buf_str(&line, "\n * <credited to line zero> ");
		opannotate_put_sums(a, sums, &line);
	}
	buf_str(&line, "\n */\n\n");
	print_buf(&line, out);
	free(sums);
	buf_fini(&line);
}

/* ---- source ---- */

/* A line of a source file, without the end of a line of Windows. Its TABs stay. */
static void opannotate_put_text(const char *text, size_t size, struct buf *line)
{
	cleanup(free_at_exit) char *copy = xstrndup(text, size);
	char *rest = copy, *part;

	copy[strcspn(copy, "\r")] = '\0';
	while ((part = strsep(&rest, "\t"))) {
		utf8_append_visible(line, part);
		if (rest)
			buf_u8(line, '\t');
	}
}

static void opannotate_print_source(struct annotation *a, uint32_t file,
				    const struct source_file *source, const struct starts *starts,
				    FILE *out)
{
	struct buf line = { 0 };
	size_t s = 0;

	while (s < starts->list.n && starts->list.data[s].file != file)
		s++;
	for (uint32_t n = 1; n <= source->n_lines; n++) {
		const char *text;
		size_t size;

		opannotate_put_prefix(a, line_sums_find(a, &a->lines, file, n), &line);
		if (source_line(source, n, &text, &size))
			opannotate_put_text(text, size, &line);
		for (; s < starts->list.n && starts->list.data[s].file == file &&
		       starts->list.data[s].line <= n;
		     s++)
			if (starts->list.data[s].line == n)
				opannotate_put_start(a, &starts->list.data[s], &line);
		print_buf(&line, out);
	}
	buf_fini(&line);
}

/* Of a file that is not there: its functions. */
static void print_functions(const struct annotation *a, uint32_t file, const struct starts *starts,
			    FILE *out)
{
	struct buf line = { 0 };

	vec_foreach (&starts->list, s) {
		if (s->file != file)
			continue;
		opannotate_put_start(a, s, &line);
		print_buf(&line, out);
	}
	buf_fini(&line);
}

void opannotation_print_file(struct opannotation *oa, uint32_t file, bool comment_last, FILE *out)
{
	const struct source_file *source =
		source_files_get(oa->a->sources, strings_get(&oa->a->files, (string_id){ file }));

	if (!comment_last)
		print_file_comment(oa, file, out);
	if (source->path)
		opannotate_print_source(oa->a, file, source, &oa->starts, out);
	else
		print_functions(oa->a, file, &oa->starts, out);
	if (comment_last) {
		fputc('\n', out);
		print_file_comment(oa, file, out);
		opannotation_print_interpretation(oa, out);
	}
}

/* ---- assembly ---- */

struct assembly {
	struct annotation *a;
	const struct opannotate_options *o;
	const struct symbol_table *table;
	uint32_t image;
	FILE *out;
	struct buf line;
	const char *file; /* the last source line that was shown */
	uint32_t line_number;
};

/* The source line of an instruction, where it is another than the one before. */
static void print_source_of(struct assembly *as, uint64_t offset)
{
	const struct source_file *source;
	struct line_span span;
	const char *text;
	size_t size;

	if (!lines_span(as->a->symbols, as->table, offset, &span) || !span.line ||
	    (as->line_number == span.line && as->file == span.file))
		return;
	as->file = span.file;
	as->line_number = span.line;
	annotation_name_source(as->a, as->image, span.file);
	source = source_files_get(as->a->sources, span.file);
	if (!source_line(source, span.line, &text, &size))
		return;
	opannotate_put_prefix(as->a, NULL, &as->line);
	opannotate_put_text(text, size, &as->line);
	print_buf(&as->line, as->out);
}

/* "<main+0xa>": where a call or jump leads to, also within the function. */
static void put_target(struct assembly *as, const struct instruction *in)
{
	uint32_t i = in->has_target ? symbol_find(as->table, in->target) : NO_SYMBOL;
	uint64_t start;

	if (i == NO_SYMBOL || !*symbol_get(as->table, i).name)
		return;
	start = symbol_get(as->table, i).offset;
	buf_str(&as->line, " <");
	utf8_append_visible(&as->line, symbol_name(as->a->symbols, as->table, i));
	if (in->target != start)
		buf_printf(&as->line, "+0x%" PRIx64, in->target - start);
	buf_u8(&as->line, '>');
}

static void print_instruction(struct assembly *as, const struct instruction *in)
{
	struct weight *sums = xcalloc(as->a->profile->n_lanes + 1, sizeof(*sums));

	annotation_sum(as->a, as->image, in->offset, in->offset + in->size, sums);
	if (as->o->with_source)
		print_source_of(as, in->offset);
	opannotate_put_prefix(as->a, sums, &as->line);
	buf_printf(&as->line, "%8" PRIx64 ":\t%s",
		   symbol_link_addr(as->a->symbols, as->table, in->offset), in->text);
	put_target(as, in);
	print_buf(&as->line, as->out);
	free(sums);
}

static void print_function(struct assembly *as, const struct start *s)
{
	const struct profile *p = as->a->profile;
	const struct profile_function *f = &p->functions.data[s->function];
	struct function_code code = { 0 };
	struct error err = { 0 };

	as->image = f->image;
	as->table = p->images.data[f->image].table;
	buf_printf(&as->line, "%016" PRIx64 " <", op_symbol_address(p, s->function));
	utf8_append_visible(&as->line, op_symbol_name(p, s->function));
	buf_str(&as->line, ">:");
	opannotate_put_start(as->a, s, &as->line);
	print_buf(&as->line, as->out);
	if (function_code_load(as->a, s->function, &code, &err) < 0) {
		opannotate_put_prefix(as->a, NULL, &as->line);
		buf_u8(&as->line, '(');
		utf8_append_visible(&as->line, err.text);
		buf_u8(&as->line, ')');
		print_buf(&as->line, as->out);
	}
	vec_foreach (&code.list, in)
		print_instruction(as, in);
	function_code_fini(&code);
	fputc('\n', as->out);
}

void opannotation_print_assembly(struct opannotation *oa, FILE *out)
{
	struct assembly as = { .a = oa->a, .o = oa->o, .out = out };
	size_t n = oa->starts.list.n;
	struct start *heaviest = xcalloc(n + 1, sizeof(*heaviest));

	if (n)
		memcpy(heaviest, oa->starts.list.data, n * sizeof(*heaviest));
	qsort(heaviest, n, sizeof(*heaviest), opannotate_by_samples);
	for (size_t i = 0; i < n; i++)
		if (op_share(heaviest[i].samples, total_of(oa->a, 0)) >= oa->o->threshold)
			print_function(&as, &heaviest[i]);
	free(heaviest);
	buf_fini(&as.line);
}
