/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay report: who used the time. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/latency.h"
#include "commands/opening.h"
#include "commands/overviews.h"
#include "commands/page_code.h"
#include "commands/perf_options.h"
#include "commands/tables.h"
#include "open/input.h"
#include "picture/picture.h"
#include "processes/processes.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "report/formats.h"
#include "report/report.h"
#include "report/style.h"
#include "report/series.h"
#include "store/session.h"
#include "symbol/symbols.h"

struct report_args {
	const char *input, *output, *format, *csv, *columns, *sort, *weight, *percent, *cache;
	const char *html, *svg, *perfetto, *time, *tid, *baseline, *itrace, *filter, *frames;
	struct option_list by, merge;
	bool no_demangle, no_itrace, latency, accumulated, addresses, details, no_dependents,
		processes, instructions;
	const char *fleet;
	bool symbols, callgraph, tree, inverted, series, overviews, idle, wide, long_names,
		no_pager, lines, inlines, wakers;
	double threshold, step_s, names_s;
	uint64_t limit;
	struct window_args window;
	struct code_args code;
	const char *container_names;
};

#define FIELD(f) offsetof(struct report_args, f)
static const struct option_spec report_options[] = {
	INPUT_OPTION(FIELD(input), "report"),
	FLEET_OPTION(FIELD(fleet)),
	WINDOW_OPTIONS(FIELD(window)),
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	NAMES_LIMIT_OPTION(FIELD(names_s)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	{ 'l', "symbols", NULL, OPT_FLAG, FIELD(symbols), NULL, "list functions" },
	{ 'd', "details", NULL, OPT_FLAG, FIELD(details), NULL,
	  "list functions, and below each the addresses that samples fell on" },
	{ 'c', "callgraph", NULL, OPT_FLAG, FIELD(callgraph), NULL,
	  "every function with its callers and callees" },
	{ 'T', "tree", NULL, OPT_FLAG, FIELD(tree), NULL,
	  "the call tree, from the outermost call down" },
	{ 'I', "inverted", NULL, OPT_FLAG, FIELD(inverted), NULL,
	  "the tree upside down: functions, below each its callers" },
	{ 0, "series", NULL, OPT_FLAG, FIELD(series), NULL,
	  "the samples of each value of a key over time, as JSON",
	  "*--by* has the key (default: comm), *--limit* the number of values. See "
	  "docs/report-json.md." },
	{ 0, "step", "TIME", OPT_SECONDS, FIELD(step_s), NULL,
	  "with --series: the length of a step (default: at most 300 steps)", NULL, 1, 1e9 },
	{ 0, "overviews", NULL, OPT_FLAG, FIELD(overviews), NULL,
	  "with --html and --series: show a long time of a history sooner, by longer steps",
	  "Blocks of minutes and hours stand for their seconds. The page has five steps or more; "
	  "with steps of hours, it has no code. All numbers of samples stay the same." },
	{ 'P', "processes", NULL, OPT_FLAG, FIELD(processes), NULL,
	  "report the whole run: processes by user, system and interrupt time, then each one",
	  "It has statistics of the run, an account of all CPU time, a summary of all "
	  "processes with the kernel's times beside the samples, and the user, kernel and "
	  "interrupt profile of each process. The last part is the profile of "
	  "the whole kernel. The format is text, JSON, CSV, or with *--html* a page. "
	  "*prospect*(1) records and shows it at once." },
	{ 0, "instructions", NULL, OPT_FLAG, FIELD(instructions), NULL,
	  "with --processes: under each function, show the sampled instructions" },
	{ 0, "latency", NULL, OPT_FLAG, FIELD(latency), NULL,
	  "of an Intel PT recording: how long the calls of each function took",
	  "For each function, this shows the number of calls, their total time, minimum, "
	  "median, 99th percentile, maximum, and the begin of the longest call. Calls "
	  "whose begin or end is not in the trace have no duration. They are counted as "
	  "incomplete. *--sort* takes calls, total (the default), min, median, p99, max, "
	  "worst, incomplete and, if cycles are known, ipc: instructions per "
	  "cycle, callees included. *--html* and *--perfetto* write the calls over time "
	  "in place of the list: the last million of them." },
	{ 'g', "lines", NULL, OPT_FLAG, FIELD(lines), NULL,
	  "list functions by source lines (with --symbols)",
	  "The line is the line of the instruction, also if it is inlined from another "
	  "place. The function is the one with the symbol. Without another view, this "
	  "implies *-l*." },
	{ 'w', "addresses", NULL, OPT_FLAG, FIELD(addresses), NULL,
	  "a column with the start address of each function" },
	{ 'a', "accumulated", NULL, OPT_FLAG, FIELD(accumulated), NULL,
	  "columns of running sums (with --symbols)" },
	{ 'm', "merge", "WHAT", OPT_LIST, FIELD(merge), NULL,
	  "columns for all separated properties, except a list of cpu, lib, tid, tgid, "
	  "unitmask, all",
	  "Groups of columns are processors, processes, threads and events, as far as "
	  "the session keeps them apart. WHAT merges some of them. It is a "
	  "comma-separated list, or *none* for nothing. CSV and JSON have a row for each "
	  "group. *tgid* merges threads, too. *lib* counts an image once for all "
	  "applications. Without this option, only events are columns." },
	{ 'x', "exclude-dependent", NULL, OPT_FLAG, FIELD(no_dependents), NULL,
	  "leave out code outside of the program's own image: libraries, the kernel" },
	FRAMES_OPTION(FIELD(frames)),
	{ 0, "wakers", NULL, OPT_FLAG, FIELD(wakers), NULL,
	  "in trees, show below each wait the stack of the thread that ended it",
	  "For *record --off-cpu*. The waker's innermost function comes first, so the time stands "
	  "with its outermost one. *--by waker,symbol*, *waker-symbol* and *waker-stack* show "
	  "wakers in lists." },
	{ 0, "inline", NULL, OPT_FLAG, FIELD(inlines), NULL,
	  "in trees, give inlined functions separate rows",
	  "This is off by default. It needs the debug information of every image in a "
	  "call chain, which takes long the first time. Lists do not separate inlined "
	  "code." },
#define X(id, key, kind, help) " " key
	{ 'b', "by", "KEYS", OPT_LIST, FIELD(by), NULL,
	  "break down by one or several (comma-separated) of" PROFILE_KEYS(X),
	  "Several keys are nested; with *-l* they are columns, with *--tree* and *--inverted* "
	  "each gets a tree." },
#undef X
	{ 't', "threshold", "PCT", OPT_DOUBLE, FIELD(threshold), NULL,
	  "gather rows below this share in one \"other\" row",
	  "The default is 0.1 with *-l*, 0.2 with *--by*, and otherwise 0.5. For lists "
	  "as CSV or JSON, it is 0. The share is a share of the column that sorts the "
	  "list. The three heaviest rows under a heading are always shown.",
	  0, 100 },
	{ 's', "sort", "COLUMNS", OPT_STRING, FIELD(sort), NULL,
	  "sort a list by these; -COLUMN reverses the order" },
	{ 'n', "limit", "N", OPT_U64, FIELD(limit), NULL, "at most N rows under one heading", NULL,
	  1, 1e9 },
	{ 0, "columns", "COLUMNS", OPT_STRING, FIELD(columns), NULL, "show these columns" },
	WEIGHT_OPTION_WITH(
		FIELD(weight), "count samples or events in percentages, order and threshold",
		"auto|samples|events|wall|latency",
		" *wall* divides the events of a sample by the number of threads that ran at "
		"its moment (*--by parallelism*). Code that ran alone then counts most. It is most "
		"of the time that somebody waits for. The session must have the times of "
		"samples." WEIGHT_LATENCY_HELP),
	{ '%', "percent", "OF", OPT_CHOICE, FIELD(percent), NULL,
	  "percentages are of the total or of the row above (parent)",
	  "Default: total; parent with *--details*.", .choices = "total|parent" },
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "count idle processors, too" },
	{ 'f', "long-filenames", NULL, OPT_FLAG, FIELD(long_names), NULL,
	  "paths instead of file names" },
	{ 'W', "wide", NULL, OPT_FLAG, FIELD(wide), NULL, "do not shorten names" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text, csv, json or xml",
	  "*xml* has the elements of *opreport -X*; its schema is installed as "
	  "*share/assay/report.xsd*.",
	  .choices = REPORT_FORMATS },
	CSV_OPTION(FIELD(csv)),
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "html", "FILE", OPT_STRING, FIELD(html), NULL,
	  "write a page with flame graph, timeline and table",
	  "The page is one file that any browser opens. It asks the network for nothing. "
	  "*--by* (default: comm) puts a level of boxes for each key below the call "
	  "chains." },
	{ 0, "svg", "FILE", OPT_STRING, FIELD(svg), NULL, "write a flame graph as an image",
	  "Boxes below a third of a pixel are left out. *--by* works as with *--html*." },
	{ 0, "perfetto", "FILE", OPT_STRING, FIELD(perfetto), NULL,
	  "with --latency: write all calls over time as a trace for ui.perfetto.dev" },
	{ 0, "time", "SPAN", OPT_STRING, FIELD(time), NULL,
	  "with --latency and --html or --perfetto: only START,STOP in seconds, or 10%-30%" },
	{ 0, "tid", "TID[,TID…]", OPT_STRING, FIELD(tid), NULL,
	  "with --latency and --html or --perfetto: only these threads" },
	{ 0, "baseline", "DIR", OPT_STRING, FIELD(baseline), NULL,
	  "with --html and --svg: the session, or perf.data file, to compare with",
	  "Colours then show functions whose share of the session's total grew (red) or "
	  "shrank (blue)." },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
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
	{ FIELD(details), "--details", &details_view },
	{ FIELD(symbols), "--symbols", &list_view },
	{ FIELD(series), "--series", &series_view },
};

/* Pictures; each has a separate file. */
static const struct {
	size_t field;
	const char *option;
	void (*print)(const struct picture *pic, FILE *out);
	bool keeps_light;
} pictures[] = {
	{ FIELD(html), "--html", picture_print_html, true },
	{ FIELD(svg), "--svg", picture_print_svg, false },
};

static const char *picture_file(const struct report_args *args, size_t i)
{
	return *(const char *const *)((const char *)args + pictures[i].field);
}

/* Options that say how rows are shown, which a picture has none of. */
static const struct {
	size_t field;
	const char *option;
} row_options[] = {
	{ FIELD(columns), "--columns" },
	{ FIELD(sort), "--sort" },
	{ FIELD(output), "--output" },
};

static int check_picture(const struct report_args *args, const char *picture, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(row_options); i++)
		if (*(const char *const *)((const char *)args + row_options[i].field))
			return error_set(err, -EINVAL, "%s does not go with %s",
					 row_options[i].option, picture);
	if (strcmp(args->format, "text") != 0)
		return error_set(err, -EINVAL, "--format %s does not go with %s", args->format,
				 picture);
	return 0;
}

/* Its rows are of one shape, but it can be a page as well. */
static int choose_processes(const struct report_args *args, struct error *err)
{
	const char *other = args->by.n      ? "--by"
			    : args->merge.n ? "--merge"
			    : args->svg     ? "--svg"
					    : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(view_flags); i++)
		if (*(const bool *)((const char *)args + view_flags[i].field))
			return error_set(err, -EINVAL,
					 "%s and --processes are two views; choose one",
					 view_flags[i].option);
	for (size_t i = 0; i < 2; i++) /* the output file is fine */
		if (*(const char *const *)((const char *)args + row_options[i].field))
			other = row_options[i].option;
	other = args->baseline  ? "--baseline"
		: args->lines   ? "--lines"
		: args->inlines ? "--inline"
				: other;
	if (!strcmp(args->format, "xml"))
		return error_set(err, -EINVAL, "--format %s does not go with --processes",
				 args->format);
	if (args->html)
		return check_picture(args, "--html", err);
	return other ? error_set(err, -EINVAL, "%s does not go with --processes", other) : 0;
}

static int check_series(const struct report_args *args, struct error *err)
{
	if (strcmp(args->format, "json") != 0)
		return error_set(err, -EINVAL, "--series needs --format json");
	if (args->by.n > 1 || (args->by.n && strchr(args->by.data[0], ',')))
		return error_set(err, -EINVAL, "--series takes one key of --by");
	return 0;
}

static int choose_view(const struct report_args *args, const struct view **view, struct error *err)
{
	const char *chosen = NULL;

	if (args->processes) {
		*view = &process_view;
		return choose_processes(args, err);
	}
	if (args->instructions)
		return error_set(err, -EINVAL,
				 "--instructions goes with --processes; 'assay annotate -a' shows "
				 "the whole code of a function");
	*view = args->by.n ? &nest_view : &summary_view;
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++)
		if (picture_file(args, i)) {
			chosen = pictures[i].option;
			*view = &picture_view;
		}
	if (chosen && check_picture(args, chosen, err) < 0)
		return -EINVAL;
	if (args->perfetto || args->time || args->tid)
		return error_set(err, -EINVAL, "%s goes with --latency; samples have %s",
				 args->perfetto ? "--perfetto"
				 : args->time   ? "--time"
						: "--tid",
				 args->perfetto ? "'assay export'"
						: "a filter: time:2s-5s, tid:12");
	if (args->baseline && !chosen)
		return error_set(err, -EINVAL, "--baseline goes with --html or --svg");
	for (size_t i = 0; i < ARRAY_SIZE(view_flags); i++) {
		if (!*(const bool *)((const char *)args + view_flags[i].field))
			continue;
		if (chosen)
			return error_set(err, -EINVAL, "%s and %s are two views; choose one",
					 chosen, view_flags[i].option);
		chosen = view_flags[i].option;
		*view = view_flags[i].view;
	}
	if ((args->lines || args->accumulated || args->addresses) && !chosen && !args->by.n)
		*view = &list_view;
	if (args->series)
		return check_series(args, err);
	return 0;
}

static int make_options(const struct report_args *args, const struct view *view,
			struct report_options *o, struct error *err)
{
	*o = (struct report_options){
		.min_percent = args->threshold,
		.max_rows = args->limit,
		.of_parent = args->percent ? !strcmp(args->percent, "parent") : view->of_parent,
		.long_names = args->long_names,
		.with_lines = args->lines,
		.with_inlines = args->inlines,
		.with_wakers = args->wakers,
		.with_addresses = args->addresses,
		.accumulated = args->accumulated,
		.with_classes = args->merge.n > 0,
		.columns = args->columns,
		.sort = args->sort,
		.for_xml = !strcmp(args->format, "xml"),
		.for_program = report_format_find(args->format)->is_for_programs,
	};
	for (size_t i = 0; i < args->by.n; i++) {
		int r = key_list_parse(&o->by, args->by.data[i], err);

		if (r < 0)
			return error_wrap(err, r, "--by");
	}
	for (size_t i = 0; i < args->merge.n; i++) {
		int r = merge_parse(args->merge.data[i], &o->merge, err);

		if (r < 0)
			return error_wrap(err, r, "--merge");
	}
	return 0;
}

static int print_pictures(const struct report_args *args, const struct report *report,
			  const struct profile *baseline, const struct profile_request *request,
			  struct error *err)
{
	cleanup(free_at_exit) char *code =
		args->html && request->slice_s < 3600 ? page_code(request) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		const struct picture_source source = { .report = report,
						       .baseline = baseline,
						       .keeps_light = pictures[i].keeps_light,
						       .code = code };
		int r = picture_write(&source, pictures[i].print, picture_file(args, i), err);

		if (r < 0)
			return r;
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
	if (args->series) {
		series_print_json(report, (uint64_t)args->step_s, out.file);
		return output_close(&out, err);
	}
	style = (struct text_style){
		.width = args->wide || !output_has_width(&out) ? 0 : output_width(&out),
		.with_colour = output_has_colour(&out),
		.is_ascii = !output_is_utf8(),
		.is_csv_raw = csv_is_raw(args->csv),
	};
	format->print(report, &style, out.file);
	if (out.is_terminal && !format->is_for_programs)
		fprintf(out.file, "\n%sassay browse opens lists and trees in this terminal%s\n",
			style_code(&style, STYLE_DIM), style_code(&style, STYLE_NONE));
	return output_close(&out, err);
}

/* A session with its query. */
struct loaded {
	struct session *session;
	struct profile *profile;
};

static void loaded_fini(struct loaded *l)
{
	profile_free(l->profile);
	session_close(l->session);
}

/* `of`: the query that says which sessions; NULL: the one at `input`. */
static int load(struct loaded *l, struct input *in, const char *input, const struct query *of,
		struct profile_request *request, bool *is_damaged, struct error *err)
{
	int r;

	input_want_sums_alone(in, !profile_needs_times(request));
	r = of ? input_open_query(in, input, of, &l->session, is_damaged, err)
	       : input_open(in, input, &l->session, is_damaged, err);
	if (r < 0)
		return r;
	request->session = l->session;
	return input_profile(request, *is_damaged, &l->profile, err);
}

/* Below this share of all samples a process, or of its process a function, is not worth a row. */
#define PROCESSES_TEXT_PERCENT 0.1

static struct process_report_options process_options(const struct report_args *args)
{
	double percent = strcmp(args->format, "text") ? 0 : PROCESSES_TEXT_PERCENT;

	return (struct process_report_options){
		.min_percent = args->threshold < 0 ? percent : args->threshold,
		.max_rows = args->limit,
		.with_details = true,
		.only_pid = -1,
		.with_kernel = true,
		.with_instructions = args->instructions,
		.long_names = args->long_names,
	};
}

static int print_processes(const struct report_args *args, const struct report_options *options,
			   const struct query *query, const struct profile *profile,
			   struct error *err)
{
	const struct process_report_options o = process_options(args);
	const struct processes_output output = {
		.format = args->html ? PROCESSES_HTML : processes_format_find(args->format),
		.is_csv_raw = csv_is_raw(args->csv),
		.path = args->html ? args->html : args->output,
		.wide = args->wide,
		.no_pager = args->no_pager,
	};
	cleanup(process_report_free_at_exit) struct process_report *r =
		process_report_new(&o, options, query, profile);

	return processes_print(r, &output, err);
}

/* An image has no axis of time. */
static bool needs_seconds(const struct report_args *args, const struct view *view)
{
	return view == &series_view || (view == &picture_view && args->html);
}

static void choose_overviews(struct report_args *args, const struct view *view,
			     const struct key_list *by, struct query *query)
{
	const bool by_moments =
		!strcmp(args->weight, "wall") || key_list_has(by, PROFILE_PARALLELISM);
	const struct overview_wish wish = { args->input, needs_seconds(args, view), by_moments,
					    args->series, args->overviews };

	overviews_choose(&wish, query, &args->step_s);
}

/* Of a fleet: whether rows without callers will do. */
static bool needs_functions_alone(const struct view *view, const struct profile_request *request)
{
	return (view == &list_view || view == &summary_view || view == &nest_view ||
		view == &series_view) &&
	       !query_has(request->query, FILTER_VIA);
}

/* From the session to the page; the command line is known to be good. 1: names come later. */
static int report_session(struct input *in, const struct report_args *args, const struct view *view,
			  struct report_options *options, struct profile_request *request,
			  bool *is_damaged, struct error *err)
{
	const struct fleet_wish wish = {
		.functions_alone = needs_functions_alone(view, request),
		.needs_totals = args->columns || args->sort,
		.keys = &request->keys,
		.times_apart = needs_seconds(args, view),
	};
	const struct symbolizer_config config = { .cache_dir = args->cache };
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(loaded_fini) struct loaded own = { 0 }, base = { 0 };
	cleanup(report_free_at_exit) struct report *report = NULL;
	int r;

	input_want_of_fleet(in, &wish);
	request->with_slices = wish.times_apart;
	if (wish.times_apart)
		request->slice_s = (uint32_t)(request->query->overview_ns / NS_PER_SECOND);
	request->most_moments = view == &picture_view && args->html ? PICTURE_MAX_MOMENTS : 0;
	request->wall_weight = !strcmp(args->weight, "wall");
	request->latency_weight = !strcmp(args->weight, "latency");
	if (request->with_functions)
		symbols = input_symbolizer_with(in, input_place(args->input, request->query),
						&config);
	request->symbols = symbols;
	r = load(&own, in, args->input, request->query, request, is_damaged, err);
	request->most_moments = 0;
	if (r >= 0 && args->baseline) {
		r = load(&base, in, args->baseline, NULL, request, is_damaged, err);
		r = r < 0 ? error_wrap(err, r, "--baseline") : r;
	}
	if (r < 0)
		return r;
	if (own.profile->lacks_times)
		return error_set(err, -ENODATA,
				 "--weight wall and --by parallelism need exact times: record or "
				 "import it again");
	/* the header of a report has them, but CSV has none */
	if (*is_damaged && !strcmp(args->format, "csv"))
		vec_foreach (&own.session->warnings, warning)
			log_warning("%s: %s", own.session->path, *warning);
	if (view == &process_view)
		return print_processes(args, options, request->query, own.profile, err);
	/* OProfile's XML counts samples. */
	if (!options->for_xml || strcmp(args->weight, "auto") != 0)
		options->by_period = input_by_period(args->weight, own.profile, base.profile);
	options->by_wall = request->wall_weight;
	options->by_latency = request->latency_weight;
	report = report_new(view, options, request->query, own.profile);
	request->session = own.session;
	r = view == &picture_view ? print_pictures(args, report, base.profile, request, err)
				  : print_report(args, report, err);
	return r < 0 ? r : input_n_late(in, symbols) > 0;
}

static int report_latency(struct input *in, const struct report_args *args,
			  const struct option_list *operands)
{
	const struct latency_command c = {
		.in = in,
		.input = args->input,
		.output = args->output,
		.format = args->format,
		.sort = args->sort,
		.cache = args->cache,
		.html = args->html,
		.perfetto = args->perfetto,
		.time = args->time,
		.tids = args->tid,
		.limit = args->limit,
		.wide = args->wide,
		.no_pager = args->no_pager,
		.is_csv_raw = csv_is_raw(args->csv),
	};
	struct error err = { 0 };
	bool is_damaged = false;
	int r = 0;

	if (operands->n)
		r = error_set(&err, -EINVAL, "--latency takes no filters, such as '%s'",
			      operands->data[0]);
	else if (strcmp(args->frames, "both") != 0)
		r = error_set(&err, -EINVAL, "--latency takes no --frames");
	r = r < 0 ? r : latency_report(&c, &is_damaged, &err);
	if (r < 0)
		log_error("report: %s", err.text);
	return r == -EINVAL ? EXIT_USAGE : r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
}

static int report_begin(const struct report_args *args, struct input **in)
{
	struct open_config config = OPEN_CONFIG(*args);

	config.names_s = args->names_s;
	return opening_begin("report", &config, in);
}

static int report_run(const struct command *self, int argc, char **argv)
{
	struct report_args args = { .threshold = -1 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	struct report_options options;
	struct query query = { 0 };
	struct profile_request request = { .query = &query };
	struct error err = { 0 };
	const struct view *view = &summary_view;
	cleanup(free_at_exit) char *fleet = NULL;
	bool is_damaged = false;
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (args.fleet)
		args.input = fleet = input_of_fleet(args.fleet);

	if (status < 0)
		status = report_begin(&args, &in);
	if (status < 0 && args.latency) {
		status = report_latency(in, &args, &operands);
	} else if (status < 0) {
		r = choose_view(&args, &view, &err);
		r = r < 0 ? r : make_options(&args, view, &options, &err);
		if (r >= 0 && (view == &picture_view || view == &series_view) && !options.by.n)
			key_list_add(&options.by, input_is_clickhouse(args.input) ? PROFILE_SERVICE
										  : PROFILE_COMM);
		r = r < 0 ? r
			  : input_query(in, &operands, args.idle || args.processes, &query, &err);
		query.without_dependents = args.no_dependents;
		query.frames = shown_frames_find(args.frames);
		r = r < 0 ? r : input_window(&args.window, &query, &err);
		if (r >= 0)
			choose_overviews(&args, view, &options.by, &query);
		r = r < 0 ? r : report_request(view, &options, &request, &err);
		if (r >= 0 && args.processes) {
			const struct process_report_options o = process_options(&args);

			process_report_request(&o, &request);
		}
		status = r < 0 ? EXIT_USAGE : EXIT_OK;
		if (r >= 0) {
			r = report_session(in, &args, view, &options, &request, &is_damaged, &err);
			status = opening_status(r, is_damaged);
		}
		if (r < 0)
			log_error("report: %s", err.text);
	}
	query_fini(&query);
	option_list_fini(&operands);
	option_list_fini(&args.by);
	option_list_fini(&args.merge);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section report_sections[] = {
	{ "FILTERS", input_filters_help },
	{ "TIMES", input_times_help },
#define X(id, key, kind, help) "*" key "*\n\t" help "\n\n"
	{ "KEYS", "The keys of *--by*:\n\n" PROFILE_KEYS(X) },
#undef X
#define COLUMN(key, title, kind, is_per_lane, arg, get, help) "*" key "*\n\t" help "\n\n"
	{ "COLUMNS", "For *--columns* and *--sort*: every key, and\n\n"
#include "report/columns.def"
	},
#undef COLUMN
	{ "CONTAINERS",
	  "*container* and *pod* show the name that the recorder found in the files of the engine, "
	  "and the id; without a name, the id. What *--container-names* says counts first. Filters "
	  "take the name, the id, and the id's first 12 digits." },
	{ "TOTALS",
	  "*samples* counts samples whose innermost frame is the row's. *total* counts samples "
	  "that have the row anywhere in their call chain, each sample once. assay looks a "
	  "return address up one byte earlier, in the call. In *--callgraph*, callers are those "
	  "of the outermost frame of a function, callees those of the innermost one: both add up "
	  "to its total. Code without a symbol is one row for each image, \"(no symbols)\". Rows "
	  "and \"other\" add up to the samples in the header." },
	{ NULL },
};

static const struct command_example report_examples[] = {
	{ "assay report", "programs, and the files (images) that their samples fell in" },
	{ "assay report -l", "functions" },
	{ "assay report --tree", "functions below their callers" },
	{ "assay report --by thread,symbol", "functions of each thread" },
	{ "assay report --html profile.html", "a page with a flame graph, for any browser" },
	{ "assay report -l lib-image:libc.so.6", "the functions of one library" },
	{ "assay report --by process,symbol time:2s-5s",
	  "functions of each process, in three seconds" },
	{ "assay report --tree 'via:std::*'", "call chains through the C++ library" },
	{ "assay report --session-dir /var/lib/assay --since -2h --until -1h",
	  "an hour of the daemon's history" },
	{ "assay report --at '2026-11-20 14:05' --window 30s", "half a minute of it" },
	{ "assay report --processes", "the work of the machine, and for whom" },
	{ "assay report -i new --baseline old --html diff.html", "the difference of two sessions" },
	{ "assay report -l --format json -o out.json", "everything, for a program" },
	{ NULL },
};

const struct command report_command = {
	.name = "report",
	.summary = "show who used the time: by image, symbol, process, thread, cpu",
	.synopsis = "[OPTIONS] [FILTER…]",
	.description =
		"Reads a session of *assay record* and shows the places of its samples. Without "
		"options, it lists the programs. Under each program are the images (the program, "
		"its libraries, the kernel) of its samples.\n\nThe header names the event, and "
		"the gaps: samples lost, idle time left out, images without symbols.",
	.options = OPTIONS_AND_ALIASES(report_options, perf_report_options),
	.common = "i,l,tree,by,html",
	.sections = report_sections,
	.examples = report_examples,
	.run = report_run,
};
