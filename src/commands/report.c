/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay report: who used the time. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "commands/command.h"
#include "commands/input.h"
#include "commands/output.h"
#include "profile/profile.h"
#include "report/report.h"
#include "store/session.h"
#include "symbol/symbols.h"

struct report_args {
	const char *input, *output, *format, *columns, *sort, *weight, *percent, *cache;
	struct option_list by;
	bool symbols, callgraph, tree, inverted, idle, wide, long_names, no_pager;
	double threshold;
	uint64_t limit;
};

#define FIELD(f) offsetof(struct report_args, f)
static const struct option_spec report_options[] = {
	INPUT_OPTION(FIELD(input), "report"),
	{ 'l', "symbols", NULL, OPT_FLAG, FIELD(symbols), NULL, "list functions" },
	{ 'c', "callgraph", NULL, OPT_FLAG, FIELD(callgraph), NULL,
	  "every function with its callers and callees" },
	{ 'T', "tree", NULL, OPT_FLAG, FIELD(tree), NULL,
	  "the call tree, from the outermost call down" },
	{ 'I', "inverted", NULL, OPT_FLAG, FIELD(inverted), NULL,
	  "the tree upside down: functions, below each its callers" },
#define X(id, key, kind, help) " " key
	{ 'b', "by", "KEYS", OPT_LIST, FIELD(by), NULL,
	  "break down by one or several (comma-separated) of" PROFILE_KEYS(X),
	  "Several keys are nested; with *-l* they are columns, with *--tree* and *--inverted* "
	  "each gets a tree." },
#undef X
	{ 't', "threshold", "PCT", OPT_DOUBLE, FIELD(threshold), NULL,
	  "gather rows below this share in one \"other\" row",
	  "Default: 0.1 with *-l*, 0.2 with *--by*, otherwise 0.5; 0 for lists as CSV or JSON. The "
	  "share is that of the column sorted by. Under a heading the three heaviest rows always "
	  "show.",
	  0, 100 },
	{ 's', "sort", "COLUMNS", OPT_STRING, FIELD(sort), NULL,
	  "sort a list by these; -COLUMN is the other way round" },
	{ 'n', "limit", "N", OPT_U64, FIELD(limit), NULL, "at most N rows under one heading", NULL,
	  1, 1e9 },
	{ 0, "columns", "COLUMNS", OPT_STRING, FIELD(columns), NULL, "show these columns" },
	{ 0, "weight", "WHAT", OPT_CHOICE, FIELD(weight), "samples",
	  "percentages, order and threshold are of samples or of events",
	  "A sample stands for as many events as the counter counted since the one before; for "
	  "clocks an event is a nanosecond.",
	  .choices = "samples|events" },
	{ '%', "percent", "OF", OPT_CHOICE, FIELD(percent), "total",
	  "percentages are of the total or of the row above (parent)", .choices = "total|parent" },
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "count idle processors, too" },
	{ 'f', "long-filenames", NULL, OPT_FLAG, FIELD(long_names), NULL,
	  "paths instead of file names" },
	{ 'w', "wide", NULL, OPT_FLAG, FIELD(wide), NULL, "do not shorten names" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text, csv or json",
	  .choices = "text|csv|json" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

/* A view is a flag; the default and --by have none. */
static const struct {
	size_t field;
	const char *option;
	const struct view *view;
} view_flags[] = {
	{ FIELD(callgraph), "--callgraph", &callgraph_view },
	{ FIELD(tree), "--tree", &tree_view },
	{ FIELD(inverted), "--inverted", &inverted_view },
	{ FIELD(symbols), "--symbols", &list_view },
};

static int choose_view(const struct report_args *args, const struct view **view, struct error *err)
{
	const char *chosen = NULL;

	*view = args->by.n ? &nest_view : &summary_view;
	for (size_t i = 0; i < ARRAY_SIZE(view_flags); i++) {
		if (!*(const bool *)((const char *)args + view_flags[i].field))
			continue;
		if (chosen)
			return error_set(err, -EINVAL, "%s and %s are two views; choose one",
					 chosen, view_flags[i].option);
		chosen = view_flags[i].option;
		*view = view_flags[i].view;
	}
	return 0;
}

static int make_options(const struct report_args *args, struct report_options *o, struct error *err)
{
	*o = (struct report_options){
		.min_percent = args->threshold,
		.max_rows = args->limit,
		.by_period = !strcmp(args->weight, "events"),
		.of_parent = !strcmp(args->percent, "parent"),
		.long_names = args->long_names,
		.columns = args->columns,
		.sort = args->sort,
		.for_program = report_format_find(args->format)->is_for_programs,
	};
	for (size_t i = 0; i < args->by.n; i++) {
		int r = key_list_parse(&o->by, args->by.data[i], err);

		if (r < 0)
			return error_wrap(err, r, "--by");
	}
	return 0;
}

static int print_report(const struct report_args *args, const struct report *report,
			struct error *err)
{
	const struct report_format *format = report_format_find(args->format);
	struct output out;
	struct text_style style;
	int r = output_open(&out, args->output, !format->is_for_programs && !args->no_pager, err);

	if (r < 0)
		return r;
	style = (struct text_style){
		.width = args->wide ? 0 : output_width(&out),
		.with_colour = output_has_colour(&out),
		.is_ascii = !output_is_utf8(),
	};
	format->print(report, &style, out.file);
	return output_close(&out, err);
}

/* From the session to the page; the words of the command line are known to be good. */
static int report_session(const struct report_args *args, const struct view *view,
			  const struct report_options *options, struct profile_request *request,
			  bool *is_damaged, struct error *err)
{
	const struct symbolizer_config config = { .cache_dir = args->cache };
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	cleanup(report_free_at_exit) struct report *report = NULL;
	int r = input_open_given(args->input, &session, is_damaged, err);

	if (r < 0)
		return r;
	symbols = request->with_functions ? symbolizer_new(&config) : NULL;
	request->session = session;
	request->symbols = symbols;
	profile = profile_load(request);
	if (!profile->n_selected && *is_damaged)
		return error_set(err, -EBADMSG, "%s: no samples before the damage: %s",
				 session->path, session->warnings.data[0]);
	if (!profile->n_selected)
		return profile_explain_empty(request, err);
	report = report_new(view, options, request->query, profile);
	return print_report(args, report, err);
}

static int report_run(const struct command *self, int argc, char **argv)
{
	struct report_args args = { .threshold = -1 };
	struct option_list operands = { 0 };
	struct report_options options;
	struct query query = { 0 };
	struct profile_request request = { .query = &query };
	struct error err = { 0 };
	const struct view *view;
	bool is_damaged = false;
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (status < 0) {
		r = choose_view(&args, &view, &err);
		r = r < 0 ? r : make_options(&args, &options, &err);
		r = r < 0 ? r : input_query(&operands, args.idle, &query, &err);
		r = r < 0 ? r : report_request(view, &options, &request, &err);
		status = r < 0 ? EXIT_USAGE : EXIT_OK;
		if (r >= 0) {
			r = report_session(&args, view, &options, &request, &is_damaged, &err);
			status = r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
		}
		if (r < 0)
			log_error("report: %s", err.text);
	}
	query_fini(&query);
	option_list_fini(&operands);
	option_list_fini(&args.by);
	return status;
}

static const struct command_section report_sections[] = {
	{ "FILTERS", input_filters_help },
#define X(id, key, kind, help) "*" key "*\n\t" help "\n\n"
	{ "KEYS", "What *--by* breaks down by:\n\n" PROFILE_KEYS(X) },
#undef X
#define COLUMN(key, title, kind, is_per_lane, arg, get, help) "*" key "*\n\t" help "\n\n"
	{ "COLUMNS", "For *--columns* and *--sort*: every key, and\n\n"
#include "report/columns.def"
	},
#undef COLUMN
	{ "TOTALS",
	  "*samples* are those whose innermost frame is the row's; *total* counts those that have "
	  "it "
	  "anywhere in their call chain, once, however often it is in there. Return addresses "
	  "are looked up one byte back, in the call that they return from. In *--callgraph*, "
	  "callers "
	  "are those of the outermost frame of a function, callees those of the innermost one: "
	  "both add up to its total. Code without a symbol is one row for each image, \"(no "
	  "symbols)\". Rows and \"other\" add up to the samples in the header." },
	{ NULL },
};

static const struct command_example report_examples[] = {
	{ "assay report", "programs, and the images their samples fell in" },
	{ "assay report -l image:libc.so.6", "the functions of one library" },
	{ "assay report --by process,symbol time:2s-5s",
	  "functions of each process, in three seconds" },
	{ "assay report --tree 'via:std::*'", "call chains through the C++ library" },
	{ "assay report -l --format json -o out.json", "everything, for a program" },
	{ NULL },
};

const struct command report_command = {
	.name = "report",
	.summary = "who used the time: by image, symbol, process, thread, cpu",
	.synopsis = "[OPTIONS] [FILTER…]",
	.description =
		"Reads a session and says where its samples fell. Without options: the programs, "
		"and "
		"under each the images (itself, its libraries, the kernel) that its samples fell "
		"in.\n\n"
		"The header says what was measured and what is missing from it: samples lost, idle "
		"time left out, images without symbols.",
	.options = OPTIONS(report_options),
	.sections = report_sections,
	.examples = report_examples,
	.run = report_run,
};
