/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/xml.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intmap.h"
#include "oprofile/report/arc_graph.h"
#include "oprofile/report/opreport_rows.h"
#include "oprofile/report/xml_classes.h"
#include "profile/merge.h"
#include "report/formats.h"
#include "report/markup.h"
#include "report/report.h"
#include "store/session.h"
#include "symbol/symbolizer/code_files.h"

/* Code as bytes: functions beyond this are cut. */
#define MAX_CODE (1U << 20)

/* A symbol of the symbol table, with the addresses that elements above referred to. */
struct xml_symbol {
	uint32_t row;
	struct buf details;
	uint32_t n_details;
};

struct printer {
	const struct xml_source *s;
	const struct profile *p;
	struct opreport_options o;
	struct op_rows r;
	struct arc_graph graph;
	struct xml_classes c;
	FILE *out;
	struct intmap symbol_ids; /* by function, or image of code without a name */
	VEC(struct xml_symbol) symbols;
};

/* A range of places in the classes' order. */
struct places {
	uint32_t from, end;
};

/* ---- counts ---- */

/* Whether a place has the thread and the class of the one before it, and so its element. */
static bool is_more(const struct xml_classes *c, uint32_t place)
{
	return place && c->class_of[place] == c->class_of[place - 1] &&
	       c->tgids[place] == c->tgids[place - 1] && c->tids[place] == c->tids[place - 1];
}

static uint64_t count_at(const struct printer *x, const uint64_t *counts, uint32_t place)
{
	uint64_t sum = counts[x->c.lanes[place]];

	if (is_more(&x->c, place))
		return 0;
	while (++place < x->p->n_lanes && is_more(&x->c, place))
		sum += counts[x->c.lanes[place]];
	return sum;
}

static bool has_counts(const struct printer *x, const uint64_t *counts, struct places in)
{
	for (uint32_t i = in.from; i < in.end; i++)
		if (count_at(x, counts, i))
			return true;
	return false;
}

static void xml_append_count(const struct printer *x, uint32_t place, uint64_t count,
			     struct buf *out)
{
	if (!count)
		return;
	buf_str(out, "<count");
	if (x->c.are_named)
		buf_printf(out, " class=\"c%" PRIu32 "\"", x->c.class_of[place]);
	buf_printf(out, ">%" PRIu64 "</count>\n", count);
}

static void put_counts(const struct printer *x, const uint64_t *counts, struct places in)
{
	struct buf text = { 0 };

	for (uint32_t i = in.from; i < in.end; i++)
		xml_append_count(x, i, count_at(x, counts, i), &text);
	fwrite(text.data, 1, text.len, x->out);
	buf_fini(&text);
}

/* The sums of the rows order[from, end). The caller frees them. */
static uint64_t *xml_sums(const struct printer *x, size_t from, size_t end)
{
	uint64_t *sums = xcalloc(x->p->n_lanes, sizeof(*sums));

	for (size_t i = from; i < end; i++)
		for (uint32_t lane = 0; lane < x->p->n_lanes; lane++)
			sums[lane] += op_row_counts(&x->r, x->r.order[i])[lane];
	return sums;
}

/* ---- symbols ---- */

static const struct op_row *xml_row(const struct printer *x, size_t place)
{
	return &x->r.list.data[x->r.order[place]];
}

static uint32_t symbol_id(struct printer *x, uint32_t row)
{
	const struct op_row *of = &x->r.list.data[row];
	uint64_t key = of->function != NO_INDEX ? of->function : 1ull << 32 | of->image;
	bool is_new;
	uint32_t *id = intmap_put(&x->symbol_ids, key, &is_new);

	if (is_new) {
		*id = (uint32_t)x->symbols.n;
		vec_push(&x->symbols, (struct xml_symbol){ .row = row });
	}
	return *id;
}

/* "sort.c:12" as attributes; the file is left out if it is that of `known`. */
static void append_line(const char *line, const char *known, struct buf *out)
{
	const char *colon = line ? strrchr(line, ':') : NULL;
	size_t n = colon ? (size_t)(colon - line) : 0;

	if (!colon)
		return;
	if (!known || strncmp(known, line, n + 1) != 0) {
		cleanup(free_at_exit) char *file = xstrndup(line, n);

		buf_str(out, " file=\"");
		xml_append_text(file, out);
		buf_str(out, "\"");
	}
	buf_printf(out, " line=\"%s\"", colon + 1);
}

static void append_address(const struct printer *x, const char *name, uint64_t address,
			   struct buf *out)
{
	buf_printf(out, " %s=\"%0*" PRIx64 "\"", name, x->r.address_digits, address);
}

/* Adds the addresses below a symbol's row to its details; each class has an element. */
static void add_details(struct printer *x, uint32_t row, uint32_t id, struct places in)
{
	const struct op_row *of = &x->r.list.data[row];
	struct xml_symbol *symbol = &x->symbols.data[id];

	for (uint32_t d = 0; d < of->n_details; d++) {
		uint32_t detail = x->r.details[of->first_detail + d];
		const uint64_t *counts = op_row_counts(&x->r, detail);

		for (uint32_t i = in.from; i < in.end; i++) {
			if (!count_at(x, counts, i))
				continue;
			buf_printf(&symbol->details, "<detaildata id=\"%" PRIu32 "\"",
				   symbol->n_details++);
			append_address(x, "vmaoffset", x->r.list.data[detail].address,
				       &symbol->details);
			append_line(x->r.list.data[detail].line, of->line, &symbol->details);
			buf_str(&symbol->details, ">\n");
			xml_append_count(x, i, count_at(x, counts, i), &symbol->details);
			buf_str(&symbol->details, "</detaildata>\n");
		}
	}
}

/* Callers or callees of a node. In a module, each is below its module. */
static void put_side(struct printer *x, uint32_t node, bool of_callers, bool in_module,
		     struct places in)
{
	size_t n;
	struct graph_line *lines = arc_graph_side(&x->graph, node, of_callers, &n);
	uint64_t whole = 0;

	for (size_t i = 0; i < n; i++)
		whole += lines[i].counts[0];
	fprintf(x->out, of_callers ? "<callers>\n" : "<callees>\n");
	for (size_t i = 0; i < n; i++) {
		const struct graph_line *l = &lines[i];

		if (op_share(l->counts[0], whole) < x->s->threshold)
			continue;
		if (in_module) {
			fputs("<module", x->out);
			xml_put_attribute(x->out, "name",
					  op_sample_path(x->p, x->r.list.data[l->node].image));
			fputs(">\n", x->out);
		}
		fprintf(x->out, "<symbol idref=\"%" PRIu32 "\"%s>\n", symbol_id(x, l->node),
			l->arc == NO_INDEX ? " self=\"true\"" : "");
		put_counts(x, l->counts, in);
		fprintf(x->out, "</symbol>\n%s", in_module ? "</module>\n" : "");
	}
	fprintf(x->out, of_callers ? "</callers>\n" : "</callees>\n");
	free(lines);
}

static void xml_put_symbol(struct printer *x, uint32_t row, bool in_module, struct places in)
{
	uint32_t id, first;

	if (!x->s->with_graph && !has_counts(x, op_row_counts(&x->r, row), in))
		return;
	id = symbol_id(x, row);
	fprintf(x->out, "<symbol idref=\"%" PRIu32 "\"", id);
	if (x->s->with_details) {
		first = x->symbols.data[id].n_details;
		add_details(x, row, id, in);
		fprintf(x->out, " detaillo=\"%" PRIu32 "\" detailhi=\"%" PRIu32 "\"", first,
			x->symbols.data[id].n_details - 1);
	}
	fputs(">\n", x->out);
	if (x->s->with_graph) {
		put_side(x, row, true, in_module, in);
		put_side(x, row, false, in_module, in);
	}
	put_counts(x, op_row_counts(&x->r, row), in);
	fputs("</symbol>\n", x->out);
}

static void xml_put_symbols(struct printer *x, size_t from, size_t end, bool in_module,
			    struct places in)
{
	for (; from < end; from++)
		xml_put_symbol(x, x->r.order[from], in_module, in);
}

/* ---- binaries, and processes ---- */

static size_t end_of_image(const struct printer *x, size_t from)
{
	size_t i = from;

	while (i < x->r.n_order && xml_row(x, i)->image == xml_row(x, from)->image)
		i++;
	return i;
}

static void put_module(struct printer *x, size_t from, size_t end, struct places in)
{
	cleanup(free_at_exit) uint64_t *sums = xml_sums(x, from, end);

	fputs("<module", x->out);
	xml_put_attribute(x->out, "name", op_sample_path(x->p, xml_row(x, from)->image));
	fputs(">\n", x->out);
	put_counts(x, sums, in);
	xml_put_symbols(x, from, end, true, in);
	fputs("</module>\n", x->out);
}

/* The end of a run of one image in [from, end). */
static size_t end_of_run(const struct printer *x, size_t from, size_t end)
{
	return MIN(end_of_image(x, from), end);
}

/* The rows [from, end) are of one application. Its own image is the binary. */
static void xml_put_binary(struct printer *x, size_t from, size_t end)
{
	const struct places all = { 0, x->p->n_lanes };
	uint32_t app = xml_row(x, from)->app;

	fputs("<binary", x->out);
	xml_put_attribute(x->out, "name", op_sample_path(x->p, app));
	fputs(">\n", x->out);
	for (size_t i = from; i < end; i = end_of_run(x, i, end))
		if (xml_row(x, i)->image == app) {
			cleanup(free_at_exit) uint64_t *own = xml_sums(x, i, end_of_run(x, i, end));

			put_counts(x, own, all);
			xml_put_symbols(x, i, end_of_run(x, i, end), false, all);
		}
	for (size_t i = from; i < end; i = end_of_run(x, i, end))
		if (xml_row(x, i)->image != app)
			put_module(x, i, end_of_run(x, i, end), all);
	fputs("</binary>\n", x->out);
}

static void put_binaries(struct printer *x)
{
	for (size_t from = 0, end; from < x->r.n_order; from = end) {
		for (end = from;
		     end < x->r.n_order && xml_row(x, end)->app == xml_row(x, from)->app;)
			end++;
		xml_put_binary(x, from, end);
	}
}

static void put_thread(struct printer *x, struct places in, const uint64_t *all)
{
	if (!has_counts(x, all, in))
		return;
	fprintf(x->out, "<thread tid=\"%" PRId64 "\">\n", x->c.tids[in.from]);
	put_counts(x, all, in);
	for (size_t i = 0, end; i < x->r.n_order; i = end) {
		cleanup(free_at_exit) uint64_t *sums = NULL;

		end = end_of_image(x, i);
		sums = xml_sums(x, i, end);
		if (!has_counts(x, sums, in))
			continue;
		while (!has_counts(x, op_row_counts(&x->r, x->r.order[i]), in))
			i++; /* of a graph: a module begins with samples of its own */
		put_module(x, i, end, in);
	}
	fputs("</thread>\n", x->out);
}

/* The application of the first row that a process has samples of. */
static const char *process_name(const struct printer *x, struct places in)
{
	for (size_t i = 0; i < x->r.n_order; i++)
		if (has_counts(x, op_row_counts(&x->r, x->r.order[i]), in))
			return op_sample_path(x->p, xml_row(x, i)->app);
	return "";
}

static void put_process(struct printer *x, struct places in, const uint64_t *all)
{
	if (!has_counts(x, all, in))
		return;
	fprintf(x->out, "<process pid=\"%" PRId64 "\"", x->c.tgids[in.from]);
	xml_put_attribute(x->out, "name", process_name(x, in));
	fputs(">\n", x->out);
	put_counts(x, all, in);
	for (uint32_t from = in.from, end; from < in.end; from = end) {
		for (end = from; end < in.end && x->c.tids[end] == x->c.tids[from];)
			end++;
		put_thread(x, (struct places){ from, end }, all);
	}
	fputs("</process>\n", x->out);
}

static void put_processes(struct printer *x)
{
	cleanup(free_at_exit) uint64_t *all = xml_sums(x, 0, x->r.n_order);

	for (uint32_t from = 0, end; from < x->p->n_lanes; from = end) {
		for (end = from; end < x->p->n_lanes && x->c.tgids[end] == x->c.tgids[from];)
			end++;
		put_process(x, (struct places){ from, end }, all);
	}
}

/* ---- tables ---- */

static void put_symbol_table(struct printer *x)
{
	struct buf text = { 0 };

	fputs("<symboltable>\n", x->out);
	for (uint32_t id = 0; id < x->symbols.n; id++) {
		const struct op_row *row = &x->r.list.data[x->symbols.data[id].row];

		text.len = 0;
		fprintf(x->out, "<symboldata id=\"%" PRIu32 "\"", id);
		xml_put_attribute(x->out, "name", row->symbol);
		append_line(row->line, NULL, &text);
		append_address(x, "startingaddr", row->address, &text);
		if (row->function != NO_INDEX) {
			const struct profile_function *f = &x->p->functions.data[row->function];

			buf_printf(&text, " codelength=\"%" PRIu64 "\"",
				   symbol_get(x->p->images.data[f->image].table, f->symbol).size);
		}
		fprintf(x->out, "%s/>\n", buf_cstr(&text));
	}
	fputs("</symboltable>\n", x->out);
	buf_fini(&text);
}

static void put_details(const struct printer *x)
{
	fputs("<detailtable>\n", x->out);
	for (uint32_t id = 0; id < x->symbols.n; id++) {
		const struct xml_symbol *symbol = &x->symbols.data[id];

		if (!symbol->details.len)
			continue;
		fprintf(x->out, "<symboldetails id=\"%" PRIu32 "\">\n", id);
		fwrite(symbol->details.data, 1, symbol->details.len, x->out);
		fputs("</symboldetails>\n", x->out);
	}
	fputs("</detailtable>\n", x->out);
}

static bool put_code(const struct printer *x, struct code_files *files, uint32_t id)
{
	const struct op_row *row = &x->r.list.data[x->symbols.data[id].row];
	const struct symbol_table *table = x->p->images.data[row->image].table;
	struct symbol symbol;
	struct code_bytes code;

	if (!table || row->function == NO_INDEX)
		return false;
	symbol = symbol_get(table, x->p->functions.data[row->function].symbol);
	if (code_files_get(files, table, symbol.offset, MIN(symbol.size, (uint64_t)MAX_CODE), &code,
			   NULL) < 0)
		return false;
	fprintf(x->out, "<bytes id=\"%" PRIu32 "\">", id);
	for (size_t i = 0; i < code.size; i++)
		fprintf(x->out, "%02X", code.bytes[i]);
	fputs("</bytes>\n", x->out);
	return true;
}

/* The machine code of symbols, where it is available. A table without any is left out. */
static void xml_put_bytes(const struct printer *x)
{
	cleanup(code_files_free_at_exit) struct code_files *files =
		code_files_new(x->p->symbols, 0);
	bool has_any = false;

	for (uint32_t id = 0; id < x->symbols.n; id++) {
		struct code_bytes code;
		const struct op_row *row = &x->r.list.data[x->symbols.data[id].row];
		const struct symbol_table *table = x->p->images.data[row->image].table;

		has_any |=
			table && row->function != NO_INDEX &&
			code_files_get(files, table,
				       symbol_get(table, x->p->functions.data[row->function].symbol)
					       .offset,
				       1, &code, NULL) >= 0;
	}
	if (!has_any)
		return;
	fputs("<bytestable>\n", x->out);
	for (uint32_t id = 0; id < x->symbols.n; id++)
		put_code(x, files, id);
	fputs("</bytestable>\n", x->out);
}

/* ---- the whole ---- */

static void make_rows(struct printer *x)
{
	x->o = (struct opreport_options){ .long_names = true,
					  .short_order = !x->s->with_paths,
					  .with_lines = x->s->with_lines,
					  .with_details = x->s->with_details,
					  .with_mangled = x->s->with_mangled,
					  .is_reversed = x->s->is_reversed,
					  .threshold = x->s->threshold,
					  .query = x->s->query,
					  .sort_lane = x->c.lanes[0],
					  .sort = "app-name,image" };
	if (x->s->with_graph) {
		arc_graph_make(&x->graph, x->p);
		op_rows_of_graph(&x->r, &x->graph, &x->o);
	} else {
		op_rows_make(&x->r, x->p, &x->o);
	}
}

void xml_print(const struct xml_source *source, FILE *out)
{
	struct printer x = { .s = source, .p = source->profile, .out = out };

	xml_classes_make(&x.c, x.p, source->merges_masks);
	make_rows(&x);
	xml_put_head(source, &x.c, out);
	if (x.c.has_threads)
		put_processes(&x);
	else
		put_binaries(&x);
	put_symbol_table(&x);
	if (source->with_details) {
		put_details(&x);
		xml_put_bytes(&x);
	}
	fputs("</profile>\n", out);
	vec_foreach (&x.symbols, symbol)
		buf_fini(&symbol->details);
	vec_fini(&x.symbols);
	intmap_fini(&x.symbol_ids);
	xml_classes_fini(&x.c);
	op_rows_fini(&x.r);
	arc_graph_fini(&x.graph);
}

static void xml_print_xml(const struct report *r, const struct text_style *style, FILE *out)
{
	const struct xml_source source = {
		.profile = r->profile,
		.title = "assay report",
		.with_graph = r->view == &callgraph_view,
		.with_details = r->view == &details_view,
		.with_lines = r->options->with_lines,
		.with_frequency = true,
		.merges_masks = r->options->with_classes && (r->options->merge & MERGE_UNITMASK),
		.threshold = r->min_percent,
	};

	(void)style;
	xml_print(&source, out);
}

const struct report_format xml_format = {
	.name = "xml",
	.help = "OProfile's XML (schema 3.1): of the summary, symbols, details, callers and "
		"callees",
	.is_for_programs = true,
	.print = xml_print_xml,
};
