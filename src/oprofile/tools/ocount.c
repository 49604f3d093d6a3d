/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ocount: OProfile's counting, done by `assay stat`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "oprofile/tools/compat.h"
#include "record/stat.h"
#include "record/stat_print.h"
#include "record/targets.h"

struct ocount_args {
	struct compat_args compat;
	struct option_list events, pids, tids;
	const char *cpus, *interval, *output;
	bool system_wide, by_cpu, by_thread, is_brief;
};

#define FIELD(f) offsetof(struct ocount_args, f)
static const struct option_spec ocount_options[] = {
	{ 's', "system-wide", NULL, OPT_FLAG, FIELD(system_wide), NULL,
	  "count on all processors, until Ctrl-C" },
	{ 'C', "cpu-list", "CPUS", OPT_STRING, FIELD(cpus), NULL,
	  "count on these processors: 2,3,4-11" },
	{ 'p', "process-list", "PIDS", OPT_LIST, FIELD(pids), NULL,
	  "count running processes, with their threads and children" },
	{ 'r', "thread-list", "TIDS", OPT_LIST, FIELD(tids), NULL, "count single threads" },
	{ 'e', "events", "EVENTS", OPT_LIST, FIELD(events), NULL,
	  "NAME[:UNITMASK[:KERNEL[:USER]]], with commas between them; default: the "
	  "processor's event" },
	{ 'c', "separate-cpu", NULL, OPT_FLAG, FIELD(by_cpu), NULL,
	  "a row for each processor, with -s or -C" },
	{ 't', "separate-thread", NULL, OPT_FLAG, FIELD(by_thread), NULL,
	  "a row for each thread, with -p or -r" },
	{ 'b', "brief-format", NULL, OPT_FLAG, FIELD(is_brief), NULL,
	  "rows with commas: EVENT,COUNT,PERCENT" },
	{ 'i', "time-interval", "MS[:N]", OPT_STRING, FIELD(interval), NULL,
	  "print counts every MS milliseconds (a multiple of 100), N times" },
	{ 'f', "output-file", "FILE", OPT_STRING, FIELD(output), NULL,
	  "write to FILE instead of standard output" },
	COMPAT_OPTIONS(ocount_args, 'u'),
};

static const struct compat_obsolete obsolete[] = {
	COMPAT_VERBOSE(ocount_args),
	{ 0 },
};

struct ocount {
	struct ocount_args args;
	struct option_list operands;
	struct counters counters;
	VEC(char *) names; /* as the rows have them, by counter */
	struct pid_list pids, tids;
	struct cpu_list cpus;
	char **argv;
	double interval_s;
	uint64_t n_intervals;
	FILE *out;
};

/* ---- what to count ---- */

/*
 * A count has to stand before the unit mask where counters sample; here it means nothing, but
 * must not be below the event's minimum.
 */
#define ANY_COUNT "1099511627776"

static int ocount_add_event(struct ocount *o, const char *spec, struct error *err)
{
	static const struct counter_sources sources;
	static const struct counter_rate rate;
	size_t name_len = strcspn(spec, ":"), before = o->counters.n;
	bool is_pmu = strchr(spec, '/') != NULL; /* PMU/…/: perf's way, as it stands */
	cleanup(free_at_exit) char *text =
		is_pmu || !spec[name_len]
			? xstrdup(spec)
			: xasprintf("%.*s:" ANY_COUNT "%s", (int)name_len, spec, spec + name_len);
	struct error first = { 0 };
	int r = counter_parse(&sources, text, &rate, &o->counters, &first);

	/* Not OProfile's words, but ours: "cycles:u", "sched:sched_switch". */
	if (r < 0 && strcmp(text, spec))
		r = counter_parse(&sources, spec, &rate, &o->counters, NULL);
	if (r < 0)
		return error_set(err, r, "%s", first.text);
	/* Unit mask and modes are shown where they were given. */
	for (size_t i = before; i < o->counters.n; i++)
		vec_push(&o->names, xstrdup(spec));
	return 0;
}

static int add_default_event(struct ocount *o, struct error *err)
{
	static const struct counter_sources sources;
	static const struct counter_rate rate;
	char note[256];
	int r = counter_default(&sources, &rate, &o->counters, note, sizeof(note), err);

	if (note[0])
		log_info("%s", note);
	vec_foreach (&o->counters, c)
		vec_push(&o->names, xstrdup(c->name));
	return r;
}

static int ocount_add_events(struct ocount *o, struct error *err)
{
	vec_foreach (&o->args.events, list) {
		struct compat_words words = { 0 };
		int r = 0;

		compat_split(*list, &words);
		for (size_t i = 0; i < words.n && r >= 0; i++)
			r = ocount_add_event(o, words.data[i], err);
		compat_words_fini(&words);
		if (r < 0)
			return r;
	}
	return o->args.events.n ? 0 : add_default_event(o, err);
}

static int parse_interval(struct ocount *o, struct error *err)
{
	const char *text = o->args.interval;
	char *end;
	unsigned long ms;

	if (!text)
		return 0;
	ms = strtoul(text, &end, 10);
	if (end != text && *end == ':' && end[1]) {
		text = end + 1;
		o->n_intervals = strtoul(text, &end, 10);
		if (!o->n_intervals)
			ms = 0;
	}
	if (*end || end == text || !ms || ms % 100)
		return error_set(err, -EINVAL,
				 "--time-interval: '%s' is not MS[:N] with MS a multiple of 100",
				 o->args.interval);
	o->interval_s = (double)ms / 1000;
	return 0;
}

static int check_mode(const struct ocount *o, struct error *err)
{
	const struct ocount_args *a = &o->args;
	bool by_id = o->pids.n || o->tids.n;
	int n = (o->operands.n > 0) + a->system_wide + (o->cpus.n > 0) + (o->pids.n > 0) +
		(o->tids.n > 0);

	if (n != 1)
		return error_set(err, -EINVAL,
				 "give one of COMMAND, --system-wide, --process-list, "
				 "--thread-list and --cpu-list");
	if (a->by_cpu && !a->system_wide && !o->cpus.n)
		return error_set(err, -EINVAL,
				 "--separate-cpu goes with --system-wide or --cpu-list");
	if (a->by_thread && !by_id)
		return error_set(err, -EINVAL,
				 "--separate-thread goes with --process-list or --thread-list");
	return 0;
}

static int set_up(struct ocount *o, struct error *err)
{
	int r;

	if ((r = parse_ids(&o->args.pids, "process", &o->pids, err)) < 0 ||
	    (r = parse_ids(&o->args.tids, "thread", &o->tids, err)) < 0 ||
	    (o->args.cpus && (r = cpu_list_parse(o->args.cpus, &o->cpus, err)) < 0) ||
	    (r = check_mode(o, err)) < 0 || (r = parse_interval(o, err)) < 0 ||
	    (r = ocount_add_events(o, err)) < 0)
		return r;
	o->argv = xcalloc(o->operands.n + 1, sizeof(*o->argv));
	for (size_t i = 0; i < o->operands.n; i++)
		o->argv[i] = (char *)o->operands.data[i];
	o->out = o->args.output ? fopen(o->args.output, "we") : stdout;
	return o->out ? 0 : error_errno(err, -errno, "cannot write '%s'", o->args.output);
}

/* ---- what was counted ---- */

#define LANE_WIDTH  10
#define COUNT_WIDTH 25
#define NAME_SPACE  8

static const char *target_text(const struct ocount *o)
{
	if (o->operands.n)
		return o->operands.data[0];
	if (o->args.system_wide)
		return "the whole system";
	if (o->cpus.n)
		return "the specified CPU(s)";
	return o->tids.n ? "the specified thread(s)" : "the specified process(es)";
}

static bool is_separate(const struct ocount *o)
{
	return o->args.by_cpu || o->args.by_thread;
}

static const struct count *count_at(const struct stat_reading *r, size_t lane, size_t i)
{
	return &r->values[lane * r->counters->n + i];
}

static bool any_scaled(const struct stat_reading *r)
{
	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++)
		for (size_t i = 0; i < r->counters->n; i++)
			if (count_is_scaled(count_at(r, lane, i)))
				return true;
	return false;
}

static int ocount_name_width(const struct ocount *o)
{
	size_t width = strlen("Event");

	vec_foreach (&o->names, name)
		width = MAX(width, strlen(*name));
	return (int)width + NAME_SPACE;
}

static void ocount_print_row(const struct ocount *o, const struct stat_reading *r, size_t lane,
			     size_t i)
{
	const struct count *c = count_at(r, lane, i);
	bool is_missing = count_is_missing(c);
	char count[40];

	fprintf(o->out, "\t%-*s", ocount_name_width(o), o->names.data[i]);
	if (is_separate(o))
		fprintf(o->out, "%-*" PRId32, LANE_WIDTH, counts_lane(r->counts, lane));
	count_print_grouped(count, sizeof(count), c->value);
	if (is_missing)
		fprintf(o->out, "Event not counted\n");
	else
		fprintf(o->out, "%-*s%.2f\n", COUNT_WIDTH, count, MIN(count_percent(c), 100.0));
}

static void print_duration(const struct ocount *o, const struct stat_reading *r)
{
	if (r->length_s >= 0.1)
		fprintf(o->out, "\nEvents were actively counted for %.1f seconds.\n", r->length_s);
	else
		fprintf(o->out, "\nEvents were actively counted for %.0f nanoseconds.\n",
			r->length_s * 1e9);
}

static void print_table(const struct ocount *o, const struct stat_reading *r)
{
	if (!r->is_interval)
		print_duration(o, r);
	else
		fprintf(o->out, "\nCurrent time (seconds since epoch): %.1f\n", r->wall_s);
	fprintf(o->out, "Event counts %s for %s:\n", any_scaled(r) ? "(scaled)" : "(actual)",
		target_text(o));
	fprintf(o->out, "\t%-*s", ocount_name_width(o), "Event");
	if (is_separate(o))
		fprintf(o->out, "%-*s", LANE_WIDTH, o->args.by_cpu ? "CPU" : "Task ID");
	fprintf(o->out, "%-*s%% time counted\n", COUNT_WIDTH, "Count");
	/* An event's rows stand together. */
	for (size_t i = 0; i < r->counters->n; i++)
		for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++)
			ocount_print_row(o, r, lane, i);
}

static void print_brief(const struct ocount *o, const struct stat_reading *r)
{
	if (r->is_interval)
		fprintf(o->out, "\ntimestamp,%.1f\n", r->wall_s);
	for (size_t i = 0; i < r->counters->n; i++) {
		for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++) {
			const struct count *c = count_at(r, lane, i);

			if (is_separate(o))
				fprintf(o->out, "%" PRId32 ",", counts_lane(r->counts, lane));
			fprintf(o->out, "%s,%" PRIu64 ",%.2f\n", o->names.data[i], c->value,
				count_is_missing(c) ? 0 : MIN(count_percent(c), 100.0));
		}
	}
}

static void ocount_take_reading(void *context, const struct stat_reading *r)
{
	const struct ocount *o = context;

	if (o->args.is_brief)
		print_brief(o, r);
	else
		print_table(o, r);
	fflush(o->out);
}

static int ocount_count(struct ocount *o, struct error *err)
{
	static const struct counter_sources sources;
	struct stat_config config = {
		.counters = &o->counters,
		.sources = &sources,
		.argv = o->operands.n ? o->argv : NULL,
		.pids = &o->pids,
		.tids = &o->tids,
		.whole_machine = o->args.system_wide || o->cpus.n,
		.cpus = &o->cpus,
		.is_separate = is_separate(o),
		.kills_command = true,
		.interval_s = o->interval_s,
		.n_intervals = o->n_intervals,
		.report = ocount_take_reading,
		.context = o,
	};
	struct stat_result result;
	int r = stat_run(&config, &result, err);

	if (r >= 0 && result.wait_status > 0 && WIFEXITED(result.wait_status))
		log_info("'%s' ended with status %d", o->operands.data[0],
			 WEXITSTATUS(result.wait_status));
	return r;
}

static void ocount_fini(struct ocount *o)
{
	if (o->out && o->out != stdout)
		fclose(o->out);
	option_list_fini(&o->args.events);
	option_list_fini(&o->args.pids);
	option_list_fini(&o->args.tids);
	option_list_fini(&o->operands);
	counters_fini(&o->counters);
	vec_foreach (&o->names, name)
		free(*name);
	vec_fini(&o->names);
	vec_fini(&o->pids);
	vec_fini(&o->tids);
	vec_fini(&o->cpus);
	free(o->argv);
}

static int ocount_run(const struct command *self, int argc, char **argv)
{
	struct ocount o = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, true, argc, argv, &o.args, &o.operands);

	if (status < 0) {
		int r;

		compat_tell_obsolete(obsolete, &o.args);
		r = set_up(&o, &err);
		r = r < 0 ? r : ocount_count(&o, &err);
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 ? EXIT_FAILED : EXIT_OK;
	}
	ocount_fini(&o);
	return status;
}

static const struct command_section ocount_sections[] = {
	{ "EXIT STATUS",
	  "0; 1 on every failure, wrong usage too. A message has the command's own "
	  "status. As in OProfile, it is not passed on. *assay stat* passes it on." },
	{ "DIFFERENCES",
	  "The header of an interval is the same in all modes. Without counters the default event "
	  "is the timer's clock, in nanoseconds. Every event of *assay events* can be counted, not "
	  "only those of OProfile's tables." },
	{ NULL },
};

static const struct command_example ocount_examples[] = {
	{ "ocount -e CPU_CLK_UNHALTED,RETIRED_INSTRUCTIONS ./app", "two events of a program" },
	{ "ocount -s -c -i 1000:10", "the machine, by processor, ten seconds long" },
	{ NULL },
};

const struct command ocount_command = {
	.name = "ocount",
	.is_program = true,
	.summary = "count events without sampling, in OProfile's way",
	.synopsis = "[OPTIONS] [COMMAND [ARG…]]",
	.description = "OProfile's *ocount*: its options and its output. It uses *assay stat*.",
	.options = OPTIONS(ocount_options),
	.sections = ocount_sections,
	.examples = ocount_examples,
	.run = ocount_run,
};
