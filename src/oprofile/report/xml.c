/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intmap.h"
#include "counter/catalog/cpu_type.h"
#include "profile/walk.h"
#include "report/formats.h"
#include "report/markup.h"
#include "report/report.h"
#include "store/session.h"
#include "symbol/addresses.h"
#include "symbol/symbolizer/code_files.h"
#include "symbol/lines/lines.h"

#define SCHEMA_VERSION "3.1"

/* Code as bytes: functions beyond this are cut. */
#define MAX_CODE (1U << 20)

/* The samples of one symbol, or of one of its addresses, in one application. */
struct item {
	uint32_t app, image, function;
	const struct cell *cells;
	uint32_t block; /* of the graph */
};

struct printer {
	const struct xml_source *s;
	const struct profile *p;
	FILE *out;
	VEC(struct item) items;     /* by application, image, symbol, address */
	struct intmap symbols;      /* whole function: number of its symboldata */
	VEC(uint32_t) functions;    /* by that number */
	VEC(uint32_t) block_starts; /* rows of the graph */
	uint32_t n_details;
};

static void xml_put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_print_text(value, out);
	fputc('"', out);
}

/* ---- head ---- */

static void put_setup(const struct printer *x)
{
	const struct session_info *info = &x->p->session->info;

	fputs("<setup>\n", x->out);
	for (uint32_t i = 0; i < info->n_counters; i++) {
		const struct counter_info *c = &info->counters[i];

		fprintf(x->out, "<eventsetup id=\"%" PRIu32 "\"", i);
		xml_put_attribute(x->out, "eventname", c->name);
		fprintf(x->out, " unitmask=\"%" PRIu64 "\" setupcount=\"%" PRIu64 "\"",
			c->unit_mask, c->count);
		if (c->freq_hz)
			fprintf(x->out, " frequency=\"%" PRIu64 "\"", c->freq_hz);
		fputs("/>\n", x->out);
	}
	fputs("</setup>\n", x->out);
}

static void xml_put_id(const struct printer *x, const char *name, int32_t id)
{
	if (id == CLASS_ALL)
		xml_put_attribute(x->out, name, "all");
	else
		fprintf(x->out, " %s=\"%" PRId32 "\"", name, id);
}

static void xml_put_class(const struct printer *x, uint32_t i)
{
	const struct profile_lane *lane = &x->p->lanes[i];

	fprintf(x->out, "<class name=\"c%" PRIu32 "\"", i);
	if (lane->cpu != NO_INDEX)
		xml_put_id(x, "cpu", lane->cpu == PROFILE_CPU_ALL ? CLASS_ALL : (int32_t)lane->cpu);
	if (lane->process != NO_INDEX)
		xml_put_id(x, "tgid", x->p->processes.data[lane->process].pid);
	if (lane->thread != NO_INDEX)
		xml_put_id(x, "tid", x->p->threads.data[lane->thread].tid);
	if (lane->counter != NO_INDEX)
		fprintf(x->out, " event=\"%" PRIu32 "\" mask=\"%" PRIu64 "\"", lane->counter,
			x->p->session->info.counters[lane->counter].unit_mask);
	fputs("/>\n", x->out);
}

/* "x86-64" and "generic" of OProfile's name, where it is one of OProfile's processors. */
static void put_processor(const struct session_info *info, FILE *out)
{
	const struct cpu_type *cpu = cpu_type_find_pretty(info->cpu_model);
	const char *speed = strstr(info->cpu_model, ", speed ");
	const char *slash = cpu ? strchr(cpu->name, '/') : NULL;
	cleanup(free_at_exit) char *type =
		slash ? xstrndup(cpu->name, (size_t)(slash - cpu->name)) : NULL;

	if (!cpu) {
		xml_put_attribute(out, "cputype", *info->arch ? info->arch : "unknown");
		xml_put_attribute(out, "processor", *info->cpu_model ? info->cpu_model : "unknown");
		return;
	}
	xml_put_attribute(out, "cputype", type ? type : cpu->name);
	xml_put_attribute(out, "processor", slash ? slash + 1 : cpu->name);
	if (speed)
		fprintf(out, " mhz=\"%.2f\"", strtod(speed + 8, NULL));
}

static void xml_put_head(const struct printer *x)
{
	const struct session_info *info = &x->p->session->info;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile schemaversion=\"" SCHEMA_VERSION
	      "\"",
	      x->out);
	put_processor(info, x->out);
	if (key_list_has(&x->p->lane_keys, PROFILE_CPU))
		fprintf(x->out, " separatedcpus=\"%" PRIu32 "\"", info->n_cpus);
	xml_put_attribute(x->out, "title", x->s->title);
	fputs(">\n<options", x->out);
	xml_put_attribute(x->out, "session", x->p->session->path);
	fprintf(x->out, " debuginfo=\"%s\" details=\"%s\"/>\n", x->s->with_lines ? "true" : "false",
		x->s->with_details ? "true" : "false");
	put_setup(x);
	if (x->p->n_lanes < 2)
		return;
	fputs("<classes>\n", x->out);
	for (uint32_t i = 0; i < x->p->n_lanes; i++)
		xml_put_class(x, i);
	fputs("</classes>\n", x->out);
}

/* ---- counts ---- */

static void put_weights(const struct printer *x, const uint64_t *counts)
{
	for (uint32_t lane = 0; lane < x->p->n_lanes; lane++) {
		if (!counts[lane])
			continue;
		fputs("<count", x->out);
		if (x->p->n_lanes > 1)
			fprintf(x->out, " class=\"c%" PRIu32 "\"", lane);
		fprintf(x->out, ">%" PRIu64 "</count>\n", counts[lane]);
	}
}

/* The sums of items [from, end) that are in `image`; NO_INDEX: in any. */
static void xml_put_sums(const struct printer *x, size_t from, size_t end, uint32_t image)
{
	uint64_t *sums = xcalloc(x->p->n_lanes, sizeof(*sums));

	for (size_t i = from; i < end; i++)
		for (uint32_t lane = 0; lane < x->p->n_lanes; lane++)
			if (image == NO_INDEX || x->items.data[i].image == image)
				sums[lane] += weight_value(&x->items.data[i].cells[lane].self,
							   x->s->by_period);
	put_weights(x, sums);
	free(sums);
}

/* ---- symbols ---- */

static uint32_t whole_of(const struct printer *x, uint32_t function)
{
	return x->p->functions.data[function].whole;
}

static uint32_t symbol_id(struct printer *x, uint32_t function)
{
	uint32_t whole = whole_of(x, function);
	bool is_new;
	uint32_t *id = intmap_put(&x->symbols, whole, &is_new);

	if (is_new) {
		*id = (uint32_t)x->functions.n;
		vec_push(&x->functions, whole);
	}
	return *id;
}

/* Callers or callees of a block. A caller without a function is left out. */
static void xml_put_arcs(struct printer *x, uint32_t block, enum row_role role, const char *element)
{
	const struct rows *g = x->s->graph;
	uint64_t *counts = xcalloc(x->p->n_lanes, sizeof(*counts));

	fprintf(x->out, "<%s>\n", element);
	for (uint32_t i = x->block_starts.data[block];
	     i < g->list.n && g->list.data[i].block == block; i++) {
		const struct row *row = &g->list.data[i];
		bool is_self = row->role == ROLE_SELF && role == ROLE_CALLEE;
		const struct cell *cells = rows_cells((struct rows *)g, i);

		if ((row->role != role && !is_self) || row->value[PROFILE_SYMBOL] == NO_INDEX)
			continue;
		for (uint32_t lane = 0; lane < x->p->n_lanes; lane++)
			counts[lane] =
				weight_value(is_self ? &cells[lane].self : &cells[lane].total,
					     x->s->by_period);
		fprintf(x->out, "<symbol idref=\"%" PRIu32 "\"%s>\n",
			symbol_id(x, row->value[PROFILE_SYMBOL]), is_self ? " self=\"true\"" : "");
		put_weights(x, counts);
		fputs("</symbol>\n", x->out);
	}
	fprintf(x->out, "</%s>\n", element);
	free(counts);
}

/* The items [from, end) are of one symbol. */
static void xml_put_symbol(struct printer *x, size_t from, size_t end)
{
	const struct item *item = &x->items.data[from];

	fprintf(x->out, "<symbol idref=\"%" PRIu32 "\"", symbol_id(x, item->function));
	if (x->s->with_details)
		fprintf(x->out, " detaillo=\"%" PRIu32 "\" detailhi=\"%zu\"", x->n_details,
			x->n_details + (end - from) - 1);
	x->n_details += (uint32_t)(end - from);
	fputs(">\n", x->out);
	if (x->s->graph) {
		xml_put_arcs(x, item->block, ROLE_CALLER, "callers");
		xml_put_arcs(x, item->block, ROLE_CALLEE, "callees");
	}
	xml_put_sums(x, from, end, NO_INDEX);
	fputs("</symbol>\n", x->out);
}

static size_t end_of_symbol(const struct printer *x, size_t from, size_t end)
{
	size_t i = from;

	while (i < end && x->items.data[i].image == x->items.data[from].image &&
	       whole_of(x, x->items.data[i].function) == whole_of(x, x->items.data[from].function))
		i++;
	return i;
}

static void xml_put_symbols(struct printer *x, size_t from, size_t end)
{
	for (size_t next; x->s->with_symbols && from < end; from = next) {
		next = end_of_symbol(x, from, end);
		xml_put_symbol(x, from, next);
	}
}

/* ---- applications and images ---- */

static const char *xml_path_of(const struct printer *x, uint32_t image)
{
	return x->p->images.data[image].image->path;
}

static size_t end_of_image(const struct printer *x, size_t from, size_t end)
{
	size_t i = from;

	while (i < end && x->items.data[i].image == x->items.data[from].image)
		i++;
	return i;
}

/* The application's own image comes first, as the items' order has it. */
static void xml_put_binary(struct printer *x, size_t from, size_t end)
{
	uint32_t app = x->items.data[from].app;

	fputs("<binary", x->out);
	xml_put_attribute(x->out, "name", xml_path_of(x, app));
	fputs(">\n", x->out);
	xml_put_sums(x, from, end, app);
	for (size_t next; from < end; from = next) {
		uint32_t image = x->items.data[from].image;

		next = end_of_image(x, from, end);
		if (image == app) {
			xml_put_symbols(x, from, next);
			continue;
		}
		fputs("<module", x->out);
		xml_put_attribute(x->out, "name", xml_path_of(x, image));
		fputs(">\n", x->out);
		xml_put_sums(x, from, next, NO_INDEX);
		xml_put_symbols(x, from, next);
		fputs("</module>\n", x->out);
	}
	fputs("</binary>\n", x->out);
}

static void put_body(struct printer *x)
{
	for (size_t from = 0, end; from < x->items.n; from = end) {
		for (end = from;
		     end < x->items.n && x->items.data[end].app == x->items.data[from].app;)
			end++;
		xml_put_binary(x, from, end);
	}
}

/* ---- tables ---- */

static const struct symbol_table *xml_table_of(const struct printer *x, uint32_t function)
{
	return x->p->images.data[x->p->functions.data[function].image].table;
}

static void xml_put_line(const struct printer *x, uint32_t function, uint64_t offset)
{
	const struct symbol_table *table = xml_table_of(x, function);
	struct line_frame frame;

	if (!x->s->with_lines || !table || !lines_find(x->p->symbols, table, offset, &frame, 1) ||
	    !*frame.file)
		return;
	xml_put_attribute(x->out, "file", frame.file);
	fprintf(x->out, " line=\"%" PRIu32 "\"", frame.line);
}

static void put_symbol_table(const struct printer *x)
{
	fputs("<symboltable>\n", x->out);
	for (uint32_t id = 0; id < x->functions.n; id++) {
		uint32_t function = x->functions.data[id];
		const struct profile_function *f = &x->p->functions.data[function];
		const struct symbol_table *table = xml_table_of(x, function);
		char scratch[KEY_TEXT_SIZE];

		fprintf(x->out, "<symboldata id=\"%" PRIu32 "\"", id);
		xml_put_attribute(x->out, "name",
				  profile_key_text(x->p, PROFILE_SYMBOL, function, scratch));
		if (table && f->symbol != NO_SYMBOL) {
			struct symbol symbol = symbol_get(table, f->symbol);

			xml_put_line(x, function, symbol.offset);
			fprintf(x->out,
				" startingaddr=\"%08" PRIx64 "\" codelength=\"%" PRIu64 "\"",
				symbol_link_addr(x->p->symbols, table, symbol.offset), symbol.size);
		}
		fputs("/>\n", x->out);
	}
	fputs("</symboltable>\n", x->out);
}

static void put_detail(const struct printer *x, const struct item *item, uint32_t id)
{
	uint64_t *counts = xcalloc(x->p->n_lanes, sizeof(*counts));

	fprintf(x->out, "<detaildata id=\"%" PRIu32 "\" vmaoffset=\"%08" PRIx64 "\"", id,
		profile_address(x->p, item->function));
	xml_put_line(x, item->function, x->p->functions.data[item->function].offset);
	fputs(">\n", x->out);
	for (uint32_t lane = 0; lane < x->p->n_lanes; lane++)
		counts[lane] = weight_value(&item->cells[lane].self, x->s->by_period);
	put_weights(x, counts);
	fputs("</detaildata>\n", x->out);
	free(counts);
}

static size_t end_of_app(const struct printer *x, size_t from)
{
	size_t i = from;

	while (i < x->items.n && x->items.data[i].app == x->items.data[from].app)
		i++;
	return i;
}

static void put_details(struct printer *x)
{
	uint32_t id = 0;

	fputs("<detailtable>\n", x->out);
	for (size_t from = 0, end; from < x->items.n; from = end) {
		end = end_of_symbol(x, from, end_of_app(x, from));
		fprintf(x->out, "<symboldetails id=\"%" PRIu32 "\">\n",
			symbol_id(x, x->items.data[from].function));
		for (size_t i = from; i < end; i++)
			put_detail(x, &x->items.data[i], id++);
		fputs("</symboldetails>\n", x->out);
	}
	fputs("</detailtable>\n", x->out);
}

/* Writes the machine code if it is available. */
static void xml_put_bytes(const struct printer *x)
{
	cleanup(code_files_free_at_exit) struct code_files *files =
		code_files_new(x->p->symbols, 0);

	fputs("<bytestable>\n", x->out);
	for (uint32_t id = 0; id < x->functions.n; id++) {
		const struct profile_function *f = &x->p->functions.data[x->functions.data[id]];
		const struct symbol_table *table = xml_table_of(x, x->functions.data[id]);
		struct symbol symbol;
		struct code_bytes code;

		if (!table || f->symbol == NO_SYMBOL)
			continue;
		symbol = symbol_get(table, f->symbol);
		if (code_files_get(files, table, symbol.offset,
				   MIN(symbol.size, (uint64_t)MAX_CODE), &code, NULL) < 0)
			continue;
		fprintf(x->out, "<bytes id=\"%" PRIu32 "\">", id);
		for (size_t i = 0; i < code.size; i++)
			fprintf(x->out, "%02X", code.bytes[i]);
		fputs("</bytes>\n", x->out);
	}
	fputs("</bytestable>\n", x->out);
}

/* ---- items ---- */

static int xml_order_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int xml_by_place(const void *a, const void *b, void *context)
{
	const struct printer *x = context;
	const struct item *i = a, *k = b;
	char s[KEY_TEXT_SIZE], t[KEY_TEXT_SIZE];
	int order = strcmp(xml_path_of(x, i->app), xml_path_of(x, k->app));

	order = order ? order : xml_order_u32(i->app, k->app);
	order = order ? order : (k->image == k->app) - (i->image == i->app);
	order = order ? order : strcmp(xml_path_of(x, i->image), xml_path_of(x, k->image));
	order = order ? order : xml_order_u32(i->image, k->image);
	if (order || !x->s->with_symbols)
		return order;
	if (whole_of(x, i->function) != whole_of(x, k->function)) {
		order = strcmp(profile_key_text(x->p, PROFILE_SYMBOL, i->function, s),
			       profile_key_text(x->p, PROFILE_SYMBOL, k->function, t));
		return order ? order
			     : xml_order_u32(whole_of(x, i->function), whole_of(x, k->function));
	}
	return (x->p->functions.data[i->function].offset >
		x->p->functions.data[k->function].offset) -
	       (x->p->functions.data[i->function].offset <
		x->p->functions.data[k->function].offset);
}

static void add_item(struct printer *x, const struct row *row, const struct cell *cells)
{
	uint32_t code =
		x->s->with_details ? row->value[PROFILE_ADDRESS] : row->value[PROFILE_SYMBOL];
	struct item item = { .app = row->value[PROFILE_APP],
			     .image = row->value[PROFILE_IMAGE],
			     .function = code,
			     .cells = cells,
			     .block = row->block };

	if (item.app == NO_INDEX)
		item.app = item.image;
	vec_push(&x->items, item);
}

static void take_rows(struct printer *x, struct rows *rows)
{
	const struct row_limits limits = { .min_percent = x->s->min_percent,
					   .by_period = x->s->by_period };
	struct threshold threshold;

	threshold_init(&threshold, x->p, &limits);
	for (uint32_t i = 0; i < rows->list.n; i++) {
		const struct cell *cells = rows_cells(rows, i);
		bool has_own = false;

		for (uint32_t lane = 0; lane < x->p->n_lanes; lane++)
			has_own |= cells[lane].self.samples > 0;
		if (has_own && (x->s->with_details || threshold_takes(&threshold, cells, false)))
			add_item(x, &rows->list.data[i], cells);
	}
	threshold_fini(&threshold);
}

/* In a graph each function has a block, also one that only called others. */
static void take_graph(struct printer *x)
{
	const struct rows *g = x->s->graph;

	for (uint32_t i = 0; i < g->list.n; i++) {
		const struct row *row = &g->list.data[i];

		while (row->block != NO_INDEX && x->block_starts.n <= row->block)
			vec_push(&x->block_starts, i);
		if (row->role == ROLE_SELF && row->value[PROFILE_SYMBOL] != NO_INDEX)
			add_item(x, row, rows_cells((struct rows *)g, i));
	}
}

void xml_print(const struct xml_source *source, FILE *out)
{
	struct printer x = { .s = source, .p = source->profile, .out = out };
	struct key_list keys = { 0 };
	struct rows rows = { 0 };

	if (key_list_has(&x.p->class_keys, PROFILE_APP))
		key_list_add(&keys, PROFILE_APP);
	key_list_add(&keys, PROFILE_IMAGE);
	if (source->with_symbols)
		key_list_add(&keys, PROFILE_SYMBOL);
	if (source->with_details)
		key_list_add(&keys, PROFILE_ADDRESS);
	if (source->graph) {
		take_graph(&x);
	} else {
		profile_collate(x.p, &keys, false, &rows);
		take_rows(&x, &rows);
	}
	if (x.items.n)
		qsort_r(x.items.data, x.items.n, sizeof(*x.items.data), xml_by_place, &x);
	xml_put_head(&x);
	put_body(&x);
	if (source->with_symbols)
		put_symbol_table(&x);
	if (source->with_details) {
		put_details(&x);
		xml_put_bytes(&x);
	}
	fputs("</profile>\n", out);
	rows_fini(&rows);
	vec_fini(&x.items);
	vec_fini(&x.functions);
	vec_fini(&x.block_starts);
	intmap_fini(&x.symbols);
}

static void xml_print_xml(const struct report *r, const struct text_style *style, FILE *out)
{
	const struct xml_source source = {
		.profile = r->profile,
		.graph = r->view == &callgraph_view ? &r->rows : NULL,
		.title = "assay report",
		.min_percent = r->min_percent,
		.by_period = r->options->by_period,
		.with_symbols = r->view != &summary_view,
		.with_details = r->view == &details_view,
		.with_lines = r->options->with_lines,
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
