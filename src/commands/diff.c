/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay diff: what changed between two profiles. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/diff_events.h"
#include "commands/diff_rules.h"
#include "commands/diff_setup.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "open/input.h"
#include "report/gate_print.h"
#include "symbol/symbols.h"

#define FIELD(f) offsetof(struct diff_args, f)
static const struct option_spec diff_options[] = {
	INPUT_OPTION(FIELD(input), "take both sides from"),
	WINDOW_OPTIONS(FIELD(window)),
	{ 0, "against", "TIME", OPT_STRING, FIELD(against), NULL,
	  "the old side: from TIME on, with the length of the window; or FROM..TO",
	  "With *--at*, the same length around TIME. Without *--against* both sides are of the "
	  "same window." },
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	NAMES_LIMIT_OPTION(FIELD(names_s)),
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
	  "exit with 1 if RULE is broken, as 'total>+5%' or 'symbol:parse>+0.2s'",
	  "See *RULES*. May be given several times." },
	{ 0, "against-history", "DIR", OPT_STRING, FIELD(history), NULL,
	  "the old side: the last sessions in DIR, with their spread",
	  "The operands are the new session and filters. Only sessions that ended count, and not "
	  "the new one. The table shows the newest of them; rules and the test are of all." },
	{ 0, "sessions", "N", OPT_U64, FIELD(n_sessions), "10",
	  "with --against-history: so many sessions at most", NULL, 2, 1000 },
	{ 0, "in-turn", NULL, OPT_FLAG, FIELD(in_turn), NULL,
	  "OLD and NEW are folders of sessions that you recorded in turn",
	  "Rules and the test are of all turns: the n-th session of one folder is compared with "
	  "the "
	  "n-th of the other, so a machine that becomes slower for minutes changes both. The table "
	  "shows the last turn." },
	{ 0, "any-machine", NULL, OPT_FLAG, FIELD(any_machine), NULL,
	  "compare CPU time also of different machines" },
	WEIGHT_OPTION(FIELD(weight), "shares are of samples or of events"),
	FRAMES_OPTION(FIELD(frames)),
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "count idle processors, too" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text",
	  "text, csv, json, markdown or junit", .choices = "text|csv|json|markdown|junit" },
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
	{ "text", diff_print_text, true },    { "csv", diff_print_csv, false },
	{ "json", diff_print_json, false },   { "markdown", diff_print_markdown, false },
	{ "junit", diff_print_junit, false },
};

static int load_side(const struct diff_setup *s, struct diff_source *side, struct error *err)
{
	struct profile_request request = {
		.query = &side->query,
		.with_functions = true,
		.with_chains = true,
		.merges_jit = true,
		.latency_weight = !strcmp(s->args.weight, "latency"),
	};
	int r;

	input_want_of_fleet(s->in, &(struct fleet_wish){ .functions_alone = !s->args.tree,
							 .needs_totals = true });
	r = input_open_query(s->in, side->path, &side->query, &side->session, &side->is_damaged,
			     err);

	if (r < 0)
		return r;
	side->symbols =
		input_symbolizer(s->in, input_place(side->path, &side->query), s->args.cache);
	request.session = side->session;
	request.symbols = side->symbols;
	r = input_profile(&request, false, &side->profile, err);
	if (r < 0)
		return error_wrap(err, r, "%s", diff_source_name(side));
	vec_foreach (&side->session->warnings, warning)
		log_warning("%s: %s", diff_source_name(side), *warning);
	return 0;
}

/* The events of two sides, with a note if their names differ. */
static int match_lanes(const struct diff_source *old, const struct diff_source *new,
		       uint32_t lanes[2], struct error *err)
{
	const struct profile *const profiles[2] = { old->profile, new->profile };
	const char *const names[2] = { diff_source_name(old), diff_source_name(new) };
	bool is_same;
	int r = diff_events_match(profiles, names, lanes, &is_same, err);

	if (r >= 0 && !is_same)
		log_info("diff: %s of %s is compared with %s of %s",
			 diff_event_name(profiles[0], lanes[0]), names[0],
			 diff_event_name(profiles[1], lanes[1]), names[1]);
	return r;
}

static int print_diff(const struct diff_setup *s, const struct gate_input *in, const char *event,
		      struct error *err)
{
	struct diff_page page = {
		.diff = &in->diffs[0],
		.profiles = { s->sides[0].profile, s->sides[1].profile },
		.paths = { diff_source_name(&s->sides[0]), diff_source_name(&s->sides[1]) },
		.event = event,
		.min_points = s->args.threshold,
		.max_rows = s->args.limit,
		.significant_only = s->args.significant,
		.counts_time = in->counts_time,
		.n_old = in->n,
		.in_turn = in->in_turn,
		.rules = s->results,
		.n_rules = s->n_rules,
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

static int load_sides(struct diff_setup *s, struct error *err)
{
	int r = 0;

	for (int i = 0; i < 2 && r >= 0; i++)
		r = load_side(s, &s->sides[i], err);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < s->n_earlier[side] && r >= 0; i++)
			r = load_side(s, &s->earlier[side][i], err);
	r = r < 0 ? r : diff_check_machines(s, &s->sides[DIFF_OLD], err);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < s->n_earlier[side] && r >= 0; i++)
			r = diff_check_machines(s, &s->earlier[side][i], err);
	return r;
}

/* Compares each old session with the new one, or with that of its turn; diffs[0] is of the shown
 * ones. */
static int make_diffs(struct diff_setup *s, struct diff *diffs, size_t *n, struct gate_input *in,
		      const char **event, struct error *err)
{
	for (size_t i = 0; i <= s->n_earlier[DIFF_OLD]; i++) {
		struct diff_source *old = i ? &s->earlier[DIFF_OLD][i - 1] : &s->sides[DIFF_OLD];
		struct diff_source *new =
			i && s->args.in_turn ? &s->earlier[DIFF_NEW][i - 1] : &s->sides[DIFF_NEW];
		const struct profile *profiles[2] = { old->profile, new->profile };
		const char *names[2] = { diff_source_name(old), diff_source_name(new) };
		uint32_t lanes[2];
		bool by_period;
		int r = match_lanes(old, new, lanes, err);

		if (r < 0)
			return r;
		by_period = input_by_period(s->args.weight, profiles[0], profiles[1]);
		(s->args.tree ? diff_tree : diff_functions)(profiles, lanes, by_period, &diffs[i]);
		*n = i + 1;
		if (i)
			continue;
		*event = diff_event_name(profiles[0], lanes[0]);
		in->counts_time = strcmp(s->args.weight, "latency") != 0 &&
				  diff_event_counts_time(profiles[0], lanes[0]) &&
				  diff_event_counts_time(profiles[1], lanes[1]);
		if (s->n_rules)
			diff_events_compare(profiles, names, lanes);
	}
	*in = (struct gate_input){ diffs, *n, in->counts_time, s->args.in_turn };
	return 0;
}

static int run_diff(struct diff_setup *s, int *status, struct error *err)
{
	struct diff *diffs = xcalloc(s->n_earlier[DIFF_OLD] + 1, sizeof(*diffs));
	struct gate_input in = { 0 };
	const char *event = "";
	size_t n = 0;
	int r = load_sides(s, err);

	r = r < 0 ? r : make_diffs(s, diffs, &n, &in, &event, err);
	r = r < 0 ? r : diff_check_units(s, in.counts_time, event, err);
	if (r >= 0) {
		diff_check_rules(s, &in, status);
		r = print_diff(s, &in, event, err);
	}
	for (size_t i = 0; i < n; i++)
		diff_fini(&diffs[i]);
	free(diffs);
	return r;
}

static bool has_late_names(const struct diff_setup *s)
{
	return input_n_late(s->in, s->sides[DIFF_OLD].symbols) ||
	       symbolizer_n_late(s->sides[DIFF_NEW].symbols);
}

/*
 * OLD NEW… FILTER…: leaves the old session, the n-th new one and the filters. Returns how many are
 * new.
 */
static size_t choose_new(const struct diff_setup *s, struct option_list *operands, size_t n)
{
	const char **data = operands->data;
	size_t n_new = 1;

	if (s->args.history || s->args.in_turn || s->args.input || diff_has_braces(operands) ||
	    operands->n < 3)
		return 1;
	while (1 + n_new < operands->n && !strchr(data[1 + n_new], ':') &&
	       access(data[1 + n_new], F_OK) == 0)
		n_new++;
	data[1] = data[1 + n];
	for (size_t i = 1 + n_new; i < operands->n; i++)
		data[i - n_new + 1] = data[i];
	operands->n -= n_new - 1;
	return n_new;
}

/* Compares the first session with the n-th after it; *n_new: how many there are. */
static int diff_with(const struct command *self, int argc, char **argv, size_t n, size_t *n_new)
{
	struct diff_setup s = { .args.threshold = -1 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	struct open_config config;
	int status = command_begin(self, false, argc, argv, &s.args, &operands);

	if (status < 0)
		*n_new = choose_new(&s, &operands, n);
	if (status < 0 && *n_new > 1 &&
	    (s.args.output ||
	     (strcmp(s.args.format, "text") && strcmp(s.args.format, "markdown")))) {
		log_error("diff: of several new sessions, there is text or markdown on standard "
			  "output only");
		status = EXIT_USAGE;
	}
	s.args.no_pager |= *n_new > 1;
	config = (struct open_config)OPEN_CONFIG(s.args);
	config.names_s = s.args.names_s;
	if (status < 0)
		status = opening_begin("diff", &config, &s.in);
	if (status < 0 && diff_setup_parse(&s, &operands, &err) < 0) {
		log_error("diff: %s", err.text);
		status = EXIT_USAGE;
	} else if (status < 0) {
		int r;

		status = EXIT_OK;
		r = run_diff(&s, &status, &err);
		if (r < 0)
			log_error("diff: %s", err.text);
		if (r == -ENOTSUP) /* the rules do not fit the sessions */
			status = EXIT_USAGE;
		else if (status == EXIT_OK)
			status = opening_status(r < 0 ? r : has_late_names(&s),
						s.sides[0].is_damaged || s.sides[1].is_damaged);
	}
	diff_setup_fini(&s);
	option_list_fini(&operands);
	return status;
}

static int diff_run(const struct command *self, int argc, char **argv)
{
	size_t n_new = 1;
	int status = diff_with(self, argc, argv, 0, &n_new);

	for (size_t n = 1; n < n_new && status != EXIT_USAGE; n++) {
		int r = diff_with(self, argc, argv, n, &n_new);

		status = MAX(status, r);
	}
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
	  "code: a busy machine and another input differ, too.\n\nThe sides may be of different "
	  "tools and machines: sessions, perf.data files, pprof profiles and all else that assay "
	  "reads. The events of both are paired by name, else by name without modifiers (*:u*), "
	  "else any two that count CPU time; a note says so. With several new sessions, each is "
	  "compared with the old one." },
	{ "RULES",
	  "Rules of *--fail-if* are about the first event that both sides have.\n\n"
	  "*total>+5%*, *total>+0.2s*\n\tthe CPU time of all samples grew by more than 5 "
	  "percent, or 0.2 seconds\n\n"
	  "*symbol:GLOB>+5%cpu*, *symbol:GLOB>+0.2s*\n\tthe CPU time of a function of such a "
	  "name grew so much\n\n"
	  "*symbol:GLOB>+3%*\n\tits share grew by more than 3 points\n\n"
	  "*symbol>* is for each function. *<* and a negative number are for less time. Of an "
	  "event that counts no time, percent are of its events.\n\n"
	  "Only significant changes break a rule, and assay reports the others. Chance makes such "
	  "a change once in a "
	  "hundred comparisons. A rule for each function makes many comparisons. With "
	  "*--against-history*, the spread of the old sessions decides, and with *--in-turn* the "
	  "spread of the changes of all turns (Student's t). CPU times "
	  "of different machines do not compare; such a rule is refused there, unless "
	  "*--any-machine* is given. Different rates, and missing samples, are warned of." },
	{ "EXIT STATUS",
	  "0, also if something changed; 1 if a rule of *--fail-if* is broken, or on "
	  "failure; 2 for wrong usage, and if a rule names no function, or does "
	  "not fit the sessions." },
	{ NULL },
};

static const struct command_example diff_examples[] = {
	{ "assay diff before.assay after.assay", "functions that grew or shrank" },
	{ "assay diff a.assay b.assay --fail-if 'total>+5%'",
	  "in a build that must not get slower" },
	{ "assay diff --against-history runs new.assay --fail-if 'total>+2%' --format junit",
	  "the same, beside the spread of the runs before" },
	{ "assay diff --in-turn old-runs new-runs --fail-if 'symbol:parse>+2%cpu'",
	  "many short runs of both builds, recorded in turn" },
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
	.synopsis = "[OPTIONS] OLD NEW… [FILTER…] | --in-turn OLD-DIR NEW-DIR [FILTER…] | "
		    "[FILTER…] { OLD [FILTER…] } { NEW [FILTER…] } | "
		    "-i DIR --against TIME [FILTER…]",
	.description = "Compares two sessions function by function, or with *--tree* call chain "
		       "by call chain, and lists the largest changes first.",
	.options = OPTIONS_AND_ALIASES(diff_options, perf_diff_options),
	.common = "t,n,significant,fail-if,format",
	.sections = diff_sections,
	.examples = diff_examples,
	.run = diff_run,
};
