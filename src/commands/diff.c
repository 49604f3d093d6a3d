/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay diff: what changed between two profiles. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "open/input.h"
#include "report/diff_print.h"
#include "symbol/symbols.h"

struct diff_args {
	const char *input, *against, *format, *csv, *output, *weight, *cache, *itrace;
	struct window_args window;
	struct option_list fail_if;
	double threshold;
	uint64_t limit;
	bool no_demangle, no_itrace, tree, significant, idle, no_pager;
	struct code_args code;
	const char *container_names;
};

#define FIELD(f) offsetof(struct diff_args, f)
static const struct option_spec diff_options[] = {
	INPUT_OPTION(FIELD(input), "take both sides from"),
	WINDOW_OPTIONS(FIELD(window)),
	{ 0, "against", "TIME", OPT_STRING, FIELD(against), NULL,
	  "the old side: from TIME on, with the length of the window; or FROM..TO",
	  "With *--at*, the same length around TIME. Without *--against* both sides are of the "
	  "same window." },
	ITRACE_OPTIONS(FIELD(itrace), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	{ 'T', "tree", NULL, OPT_FLAG, FIELD(tree), NULL,
	  "compare call trees, from the outermost call" },
	{ 't', "threshold", "POINTS", OPT_DOUBLE, FIELD(threshold), NULL,
	  "gather rows that changed by less in one \"other\" row",
	  "Default: 0.1 in text, 0 in CSV and JSON.", 0, 100 },
	{ 'n', "limit", "N", OPT_U64, FIELD(limit), NULL, "at most N rows of a list", NULL, 1,
	  1e9 },
	{ 0, "significant", NULL, OPT_FLAG, FIELD(significant), NULL,
	  "only changes that would come by chance less than once in a hundred" },
	{ 0, "fail-if", "RULE", OPT_LIST, FIELD(fail_if), NULL,
	  "exit with 1 if symbol[:GLOB]>POINTS% holds, as 'symbol>+3%'",
	  "*symbol>+3%* holds if the share of some function grew by more than 3 points. "
	  "*symbol:GLOB>+3%* holds for a function whose name matches the glob. *<-3%* is "
	  "for shares that shrank. Only significant changes count. May be given several "
	  "times." },
	WEIGHT_OPTION(FIELD(weight), "shares are of samples or of events"),
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "count idle processors, too" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text, csv or json",
	  .choices = "text|csv|json" },
	CSV_OPTION(FIELD(csv)),
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none" },
};

static const struct {
	const char *name;
	diff_printer *print;
	bool is_for_people;
} formats[] = {
	{ "text", diff_print_text, true },
	{ "csv", diff_print_csv, false },
	{ "json", diff_print_json, false },
};

/* ---- rules ---- */

struct rule {
	const char *text;
	char *glob; /* "*" for any function */
	double points;
	bool is_below;
};

static int bad_rule(const char *text, struct error *err)
{
	return error_set(
		err, -EINVAL,
		"--fail-if '%s': write symbol>+3%% or symbol:GLOB>+3%%, or < and a negative "
		"number for shares that shrank",
		text);
}

/* Globs hold '<' and '>' (std::vector<int>): the sign is the last one. */
static int parse_rule(const char *text, struct rule *out, struct error *err)
{
	const char *above = strrchr(text, '>'), *below = strrchr(text, '<');
	const char *sign = !above || (below && below > above) ? below : above;
	char *end;

	if (!sign || strncmp(text, "symbol", 6) != 0 || (text[6] != ':' && text + 6 != sign))
		return bad_rule(text, err);
	errno = 0;
	out->points = strtod(sign + 1, &end);
	if (end == sign + 1 || errno || strcmp(end, "%") != 0 || !isfinite(out->points))
		return bad_rule(text, err);
	out->text = text;
	out->is_below = *sign == '<';
	out->glob = text[6] == ':' ? xstrndup(text + 7, (size_t)(sign - text - 7)) : xstrdup("*");
	return 0;
}

/* The source file that tells a name from its namesakes may be left out: "init [sort.c]". */
static bool names_symbol(const char *glob, const char *symbol)
{
	const char *source = strstr(symbol, " [");
	cleanup(free_at_exit) char *bare =
		source ? xstrndup(symbol, (size_t)(source - symbol)) : xstrdup(symbol);

	return !strcmp(glob, symbol) || fnmatch(glob, symbol, 0) == 0 ||
	       fnmatch(glob, bare, 0) == 0;
}

static bool rule_holds(const struct rule *rule, const struct diff *d, const struct diff_row *row)
{
	const char *symbol = strings_get(&d->names, row->symbol);
	double points = diff_change(d, row) * 100;

	return (rule->is_below ? points < rule->points : points > rule->points) &&
	       fabs(diff_z(d, row)) >= DIFF_LIKELY && names_symbol(rule->glob, symbol);
}

/* Tells each row that breaks the rule. */
static bool check_rule(const struct rule *rule, const struct diff *d)
{
	bool holds = false;

	vec_foreach (&d->rows, row) {
		if (!rule_holds(rule, d, row))
			continue;
		log_error("diff: --fail-if '%s': %s in %s: %+.2f points", rule->text,
			  strings_get(&d->names, row->symbol), strings_get(&d->names, row->image),
			  diff_change(d, row) * 100);
		holds = true;
	}
	return holds;
}

/* ---- the two sides ---- */

struct side {
	const char *path;
	struct query query;
	struct session *session;
	struct symbolizer *symbols;
	struct profile *profile;
	bool is_damaged;
	char *label; /* with the window, where there is one; NULL until it is asked for */
};

struct setup {
	struct diff_args args;
	struct input *in;
	struct side sides[2];
	struct rule *rules;
	size_t n_rules;
};

/* An operand that is there as a file or directory is the session; all else is a filter. */
static int take_operand(struct side *side, const char *operand, struct error *err)
{
	if (!strchr(operand, ':') && access(operand, F_OK) == 0) {
		if (side->path)
			return error_set(err, -EINVAL, "%s and %s: give one session for each side",
					 side->path, operand);
		side->path = operand;
		return 0;
	}
	return query_add(&side->query, operand, err);
}

/* -i DIR FILTER…: both sides are of one session, and differ in their windows. */
static int take_one(struct setup *s, const struct option_list *operands, struct error *err)
{
	int r = 0;

	if (!s->args.against)
		return error_set(
			err, -EINVAL,
			"-i %s is one session: give --against TIME, to compare with the time of "
			"--since, --until or --at",
			s->args.input);
	for (int side = 0; side < 2; side++) {
		s->sides[side].path = s->args.input;
		for (size_t i = 0; i < operands->n && r >= 0; i++)
			r = query_add(&s->sides[side].query, operands->data[i], err);
	}
	return r;
}

/* A B FILTER…: the first two are sessions, the filters are for both. */
static int take_plain(struct setup *s, const struct option_list *operands, struct error *err)
{
	int r = 0;

	if (s->args.input)
		return take_one(s, operands, err);
	if (operands->n < 2)
		return error_set(
			err, -EINVAL,
			"name two sessions: 'assay diff OLD NEW', or { OLD FILTER… } { NEW "
			"FILTER… }");
	for (int side = 0; side < 2; side++)
		s->sides[side].path = operands->data[side];
	for (size_t i = 2; i < operands->n && r >= 0; i++)
		for (int side = 0; side < 2 && r >= 0; side++)
			r = query_add(&s->sides[side].query, operands->data[i], err);
	return r;
}

/* Without a path, a saved session is one of the default store. */
static bool side_has_source(const struct side *side)
{
	return side->path || query_has(&side->query, FILTER_SESSION) ||
	       query_has(&side->query, FILTER_SESSION_EXCLUDE) ||
	       query_has(&side->query, FILTER_ARCHIVE);
}

/* Its path, or its saved session. */
static const char *side_place(const struct side *side)
{
	if (query_has(&side->query, FILTER_SESSION))
		return side->query.filters[FILTER_SESSION].data[0].glob;
	return input_place(side->path ? side->path : DEFAULT_SESSION, &side->query);
}

/* What to call a side. */
static void name_side(struct side *side)
{
	struct buf text = { 0 };

	buf_str(&text, side_place(side));
	if (side->query.has_window) {
		buf_str(&text, ", ");
		time_window_print(&text, &side->query.window);
	}
	side->label = xstrdup(buf_cstr(&text));
	buf_fini(&text);
}

static const char *side_name(const struct side *side)
{
	return side->label;
}

/* COMMON… { OLD… } { NEW… }: OProfile's way to write it. */
static int take_braces(struct setup *s, const struct option_list *operands, struct error *err)
{
	int side = -1, n_closed = 0, r = 0;

	for (size_t i = 0; i < operands->n && r >= 0; i++) {
		const char *operand = operands->data[i];

		if (!strcmp(operand, "{") && side < 0 && n_closed < 2) {
			side = n_closed;
		} else if (!strcmp(operand, "}") && side >= 0) {
			side = -1;
			n_closed++;
		} else if (!strcmp(operand, "{") || !strcmp(operand, "}") ||
			   (side < 0 && n_closed)) {
			r = error_set(err, -EINVAL,
				      "'%s': write COMMON… { OLD… } { NEW… }, with braces as "
				      "separate words",
				      operand);
		} else {
			for (int to = 0; to < 2 && r >= 0; to++)
				if (side < 0 || side == to)
					r = take_operand(&s->sides[to], operand, err);
		}
	}
	if (r >= 0 && (n_closed != 2 || side >= 0))
		r = error_set(err, -EINVAL, "two specifications in braces are needed");
	for (int to = 0; to < 2 && r >= 0; to++)
		if (!side_has_source(&s->sides[to]))
			r = error_set(err, -EINVAL, "the %s side names no session",
				      to ? "new" : "old");
	return r;
}

/* Sets the old side's window: the new side's window moved, or a separate one. */
static int take_windows(struct setup *s, struct error *err)
{
	struct query *old = &s->sides[DIFF_OLD].query, *new = &s->sides[DIFF_NEW].query;
	int r = input_window(&s->args.window, new, err);

	old->window = new->window;
	old->has_window = new->has_window;
	old->whole_only = new->whole_only = true;
	return r < 0 || !s->args.against
		       ? r
		       : input_window_against(s->args.against, s->args.window.at, new, old, err);
}

static int parse_setup(struct setup *s, const struct option_list *operands, struct error *err)
{
	bool has_braces = false;
	int r;

	for (size_t i = 0; i < operands->n; i++)
		has_braces = has_braces || !strcmp(operands->data[i], "{");
	if (has_braces && s->args.input)
		return error_set(err, -EINVAL, "-i %s and sessions in braces exclude each other",
				 s->args.input);
	r = has_braces ? take_braces(s, operands, err) : take_plain(s, operands, err);
	r = r < 0 ? r : take_windows(s, err);
	for (int side = 0; side < 2; side++)
		name_side(&s->sides[side]);
	s->rules = xcalloc(s->args.fail_if.n + 1, sizeof(*s->rules));
	for (size_t i = 0; i < s->args.fail_if.n && r >= 0; i++) {
		r = parse_rule(s->args.fail_if.data[i], &s->rules[i], err);
		s->n_rules += r >= 0;
	}
	for (int side = 0; side < 2; side++) {
		s->sides[side].query.with_idle = s->args.idle;
		s->sides[side].query.containers = input_containers(s->in);
		r = r < 0 ? r : query_check(&s->sides[side].query, err);
	}
	if (r >= 0 && s->n_rules && s->args.tree)
		r = error_set(err, -EINVAL,
			      "--fail-if is for functions, and does not go with "
			      "--tree");
	return r;
}

static void setup_fini(struct setup *s)
{
	for (int i = 0; i < 2; i++) {
		profile_free(s->sides[i].profile);
		symbolizer_free(s->sides[i].symbols);
		session_close(s->sides[i].session);
		query_fini(&s->sides[i].query);
		free(s->sides[i].label);
	}
	for (size_t i = 0; i < s->n_rules; i++)
		free(s->rules[i].glob);
	free(s->rules);
	input_free(s->in);
	option_list_fini(&s->args.fail_if);
	option_list_fini(&s->args.code.image_path);
}

static int load_side(const struct setup *s, struct side *side, struct error *err)
{
	struct profile_request request = {
		.query = &side->query,
		.with_functions = true,
		.with_chains = true,
	};
	int r = input_open_query(s->in, side->path, &side->query, &side->session, &side->is_damaged,
				 err);

	if (r < 0)
		return r;
	side->symbols =
		input_symbolizer(s->in, input_place(side->path, &side->query), s->args.cache);
	request.session = side->session;
	request.symbols = side->symbols;
	r = input_profile(&request, false, &side->profile, err);
	vec_foreach (&side->session->warnings, warning)
		log_warning("%s: %s", side_name(side), *warning);
	return r < 0 ? error_wrap(err, r, "%s", side_name(side)) : 0;
}

static const char *lane_event(const struct profile *p, uint32_t lane)
{
	return p->session->info.counters[p->lanes[lane].counter].name;
}

/* The first event that both have. */
static int match_lanes(const struct setup *s, uint32_t lanes[2], struct error *err)
{
	const struct profile *old = s->sides[DIFF_OLD].profile, *new = s->sides[DIFF_NEW].profile;

	for (lanes[0] = 0; lanes[0] < old->n_lanes; lanes[0]++)
		for (lanes[1] = 0; lanes[1] < new->n_lanes; lanes[1]++)
			if (!strcmp(lane_event(old, lanes[0]), lane_event(new, lanes[1])) &&
			    old->lanes[lanes[0]].total.samples &&
			    new->lanes[lanes[1]].total.samples)
				return 0;
	return error_set(err, -EINVAL, "no event is in both: %s has %s, %s has %s",
			 side_name(&s->sides[0]), lane_event(old, 0), side_name(&s->sides[1]),
			 lane_event(new, 0));
}

static int print_diff(const struct setup *s, const struct diff *d, const char *event,
		      struct error *err)
{
	struct diff_page page = {
		.diff = d,
		.profiles = { s->sides[0].profile, s->sides[1].profile },
		.paths = { side_name(&s->sides[0]), side_name(&s->sides[1]) },
		.event = event,
		.min_points = s->args.threshold,
		.max_rows = s->args.limit,
		.significant_only = s->args.significant,
	};
	size_t f = 0;
	struct output out;
	struct text_style style;
	int r;

	while (strcmp(formats[f].name, s->args.format) != 0)
		f++;
	if (page.min_points < 0)
		page.min_points = formats[f].is_for_people ? 0.1 : 0;
	r = output_open(&out, s->args.output, formats[f].is_for_people && !s->args.no_pager, err);
	if (r < 0)
		return r;
	style = (struct text_style){ .width = output_width(&out),
				     .with_colour = output_has_colour(&out),
				     .is_csv_raw = csv_is_raw(s->args.csv) };
	formats[f].print(&page, &style, out.file);
	return output_close(&out, err);
}

static int run_diff(struct setup *s, bool *failed, struct error *err)
{
	const struct profile *profiles[2];
	uint32_t lanes[2];
	struct diff d;
	bool by_period;
	int r = 0;

	for (int i = 0; i < 2 && r >= 0; i++)
		r = load_side(s, &s->sides[i], err);
	if (r >= 0)
		r = match_lanes(s, lanes, err);
	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++)
		profiles[i] = s->sides[i].profile;
	by_period = input_by_period(s->args.weight, profiles[0], profiles[1]);
	(s->args.tree ? diff_tree : diff_functions)(profiles, lanes, by_period, &d);
	r = print_diff(s, &d, lane_event(profiles[0], lanes[0]), err);
	for (size_t i = 0; i < s->n_rules && r >= 0; i++)
		*failed = check_rule(&s->rules[i], &d) || *failed;
	diff_fini(&d);
	return r;
}

static int diff_run(const struct command *self, int argc, char **argv)
{
	struct setup s = { .args.threshold = -1 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	bool failed = false;
	int status = command_begin(self, false, argc, argv, &s.args, &operands);

	if (status < 0)
		status = opening_begin("diff", &(struct open_config)OPEN_CONFIG(s.args), &s.in);
	if (status < 0 && parse_setup(&s, &operands, &err) < 0) {
		log_error("diff: %s", err.text);
		status = EXIT_USAGE;
	} else if (status < 0) {
		int r = run_diff(&s, &failed, &err);

		if (r < 0)
			log_error("diff: %s", err.text);
		failed = failed || s.sides[0].is_damaged || s.sides[1].is_damaged;
		status = r < 0 || failed ? EXIT_FAILED : EXIT_OK;
	}
	setup_fini(&s);
	option_list_fini(&operands);
	return status;
}

static const struct command_section diff_sections[] = {
	{ "FILTERS", input_filters_help },
	{ "TIMES", input_times_help },
	{ "WHAT IS COMPARED",
	  "Functions are matched by name and image, not by address, so that you can compare two "
	  "builds. If an image has several functions of one name, the source file counts, too. "
	  "The version behind a library's *.so* does not matter. Their shares of all samples are "
	  "compared, because two runs are never equally long. The change is in points, which are "
	  "percent of the whole. The ratio is a ratio of shares. A change with *\\** would come "
	  "by chance once in a hundred comparisons, one with *\\*\\** once in a thousand "
	  "(two-proportion z-test on the counts). What differs beyond chance need not be the "
	  "code: a busy machine and another input differ, too." },
	{ "EXIT STATUS", "0, also if something changed; 1 if a rule of *--fail-if* holds, or on "
			 "failure; 2 for wrong usage." },
	{ NULL },
};

static const struct command_example diff_examples[] = {
	{ "assay diff before.assay after.assay", "functions that grew or shrank" },
	{ "assay diff a.assay b.assay --fail-if 'symbol>+3%'",
	  "in a build that must not get slower" },
	{ "assay diff lib-image:libc.so.6 { a.assay time:0-10s } { a.assay time:10s- }",
	  "two parts of one session" },
	{ "assay diff --session-dir /var/lib/assay --since -1h --against -25h",
	  "the last hour, and the same one yesterday" },
	{ "assay diff -i history --at 14:05 --window 30s --against 13:00..14:00",
	  "half a minute, beside the usual hour" },
	{ "assay diff { session:monday } { session:tuesday }", "two saved sessions of assay.data" },
	{ NULL },
};

const struct command diff_command = {
	.name = "diff",
	.summary = "show the changes between two profiles",
	.synopsis = "[OPTIONS] OLD NEW [FILTER…] | [FILTER…] { OLD [FILTER…] } { NEW [FILTER…] } | "
		    "-i DIR --against TIME [FILTER…]",
	.description = "Compares two sessions function by function, or with *--tree* call chain "
		       "by call chain, and lists the largest changes first.",
	.options = OPTIONS_AND_ALIASES(diff_options, perf_diff_options),
	.common = "t,n,significant,fail-if,format",
	.sections = diff_sections,
	.examples = diff_examples,
	.run = diff_run,
};
