/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay stat: how often events happen, without samples. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/event_help.h"
#include "commands/later_probes.h"
#include "commands/perf_options.h"
#include "pipeline/host.h"
#include "record/ratios.h"
#include "record/stat.h"
#include "record/stat_print.h"
#include "record/target_names.h"
#include "record/targets.h"

struct stat_args {
	struct option_list events, pids, tids;
	struct target_names names;
	const char *cpus, *format, *output;
	double interval_s, duration_s;
	uint64_t times;
	bool whole_machine, per_cpu, per_thread, with_children, topdown;
};

#define FIELD(f) offsetof(struct stat_args, f)
static const struct option_spec stat_options[] = {
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "events to count: cycles:u, page-faults, sched:sched_switch, CPU_CLK_UNHALTED …",
	  "Give the option several times, or give several events with commas between them. "
	  "Default: time, context switches, migrations, page faults, cycles, instructions and "
	  "branches, as far as there are counters for them." },
	{ 0, "topdown", NULL, OPT_FLAG, FIELD(topdown), NULL,
	  "also count how the slots of the processor's pipeline were used",
	  "See *TOP-DOWN* below." },
	{ 'p', "pid", "PID[,PID…]", OPT_LIST, FIELD(pids), NULL,
	  "count running processes, with all their threads and children" },
	CHILDREN_OPTION(FIELD(with_children)),
	{ 't', "tid", "TID[,TID…]", OPT_LIST, FIELD(tids), NULL, "count single threads" },
	{ 'a', "all-cpus", NULL, OPT_FLAG, FIELD(whole_machine), NULL,
	  "count the whole machine, until COMMAND or --duration ends, or Ctrl-C" },
	{ 'C', "cpu", "LIST", OPT_STRING, FIELD(cpus), NULL,
	  "count everything on these CPUs: 0-3,8" },
	TARGET_NAME_OPTIONS(names),
	{ 'A', "per-cpu", NULL, OPT_FLAG, FIELD(per_cpu), NULL,
	  "with -a or -C: a row for each CPU" },
	{ 'T', "per-thread", NULL, OPT_FLAG, FIELD(per_thread), NULL,
	  "with -p, -t or names: a row for each thread",
	  "The row of a thread includes the threads and processes that it starts." },
	{ 'I', "interval", "SECONDS", OPT_SECONDS, FIELD(interval_s), NULL,
	  "print counts at this interval; also 500ms, 1m", NULL, 0.01, 1e6 },
	{ 'n', "times", "N", OPT_U64, FIELD(times), NULL, "end after so many intervals", NULL, 1,
	  1e9 },
	{ 'd', "duration", "SECONDS", OPT_SECONDS, FIELD(duration_s), NULL, "end after this time",
	  NULL, 0.001, 1e9 },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text",
	  "text, csv, or json: a line for each interval", .choices = "text|csv|json" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL,
	  "write to FILE instead of standard error",
	  "Standard output belongs to the command. Without a command, CSV and JSON go to "
	  "standard output." },
};

/* The default events. Unavailable ones are left out. */
static const char *const default_events[] = { "context-switches", "cpu-migrations", "page-faults",
					      "cycles",           "instructions",   "branches",
					      "branch-misses" };

struct stat_setup {
	struct stat_args args;
	struct option_list operands;
	struct counters counters;
	struct pid_list pids, tids;
	struct cpu_list cpus;
	struct topdown topdown;
	bool has_topdown;
	char **argv;
};

static void stat_setup_fini(struct stat_setup *s)
{
	option_list_fini(&s->args.events);
	option_list_fini(&s->args.pids);
	option_list_fini(&s->args.tids);
	option_list_fini(&s->operands);
	counters_fini(&s->counters);
	vec_fini(&s->pids);
	vec_fini(&s->tids);
	vec_fini(&s->cpus);
	topdown_fini(&s->topdown);
	free(s->argv);
}

static int check_setup(struct stat_setup *s, struct error *err)
{
	struct stat_args *a = &s->args;
	bool has_names = target_has_names(&a->names);
	bool has_ids = s->pids.n || s->tids.n || has_names;

	a->whole_machine |= s->cpus.n > 0;
	if ((a->whole_machine && has_ids) || (s->pids.n && s->tids.n))
		return error_set(err, -EINVAL, "-a or -C, -p, -t and names exclude each other");
	if (!s->operands.n && !a->whole_machine && !has_ids)
		return error_set(err, -EINVAL,
				 "nothing to count: give a command, -p PID, or -a for the whole "
				 "machine");
	if (a->per_cpu && !a->whole_machine)
		return error_set(err, -EINVAL, "--per-cpu goes with -a or -C");
	if (a->per_thread && !has_ids)
		return error_set(err, -EINVAL, "--per-thread goes with -p, -t or names");
	if (a->times && a->interval_s <= 0)
		return error_set(err, -EINVAL, "--times goes with --interval");
	return target_check(&a->names, a->with_children, &s->pids, &s->tids, err);
}

static int parse_setup(struct stat_setup *s, struct error *err)
{
	int r;

	if ((r = parse_ids(&s->args.pids, "process", &s->pids, err)) < 0 ||
	    (r = parse_ids(&s->args.tids, "thread", &s->tids, err)) < 0 ||
	    (s->args.cpus && (r = cpu_list_parse(s->args.cpus, &s->cpus, err)) < 0) ||
	    (r = check_setup(s, err)) < 0)
		return r;
	if (s->operands.n) {
		s->argv = xcalloc(s->operands.n + 1, sizeof(*s->argv));
		for (size_t i = 0; i < s->operands.n; i++)
			s->argv[i] = (char *)s->operands.data[i];
	}
	return 0;
}

static int choose_counters(struct stat_setup *s, struct error *err)
{
	static const struct counter_sources sources;
	static const struct counter_rate rate;
	int r = 0;

	s->has_topdown = topdown_find(&sources, &s->topdown);
	if (s->args.topdown && !s->has_topdown)
		return error_set(err, -ENOTSUP,
				 "--topdown: this processor, or this virtual machine, has no "
				 "events for it that assay knows; 'assay stat --help' lists the "
				 "processors that have them");
	vec_foreach (&s->args.events, spec)
		if ((r = counter_parse(&sources, *spec, &rate, &s->counters, err)) < 0)
			return r;
	if (s->args.topdown)
		r = counter_parse(&sources, s->topdown.events, &rate, &s->counters, err);
	if (s->args.events.n || r < 0)
		return MIN(r, 0);
	r = counter_parse(&sources, s->args.whole_machine ? "cpu-clock" : "task-clock", &rate,
			  &s->counters, err);
	for (size_t i = 0; i < ARRAY_SIZE(default_events) && r >= 0; i++)
		r = counter_parse(&sources, default_events[i], &rate, &s->counters, err);
	if (r >= 0 && s->has_topdown && s->topdown.is_free && !s->args.topdown)
		r = counter_parse(&sources, s->topdown.events, &rate, &s->counters, err);
	return r;
}

/* "./app -x", "process 12", "the whole machine" */
static char *stat_describe_target(const struct stat_setup *s)
{
	const struct option_list *ids = s->pids.n ? &s->args.pids : &s->args.tids;

	if (s->args.cpus)
		return xasprintf("CPU %s", s->args.cpus);
	if (s->args.whole_machine)
		return xstrdup("the whole machine");
	if (target_has_names(&s->args.names))
		return target_words(&s->args.names);
	if (ids->n)
		return xasprintf("%s %s", s->pids.n ? "process" : "thread", ids->data[0]);
	return quote_command(s->argv);
}

struct stat_sink {
	struct stat_printing printing;
	const struct stat_format *format;
};

static void take_reading(void *context, const struct stat_reading *r)
{
	struct stat_sink *sink = context;

	sink->format->print(&sink->printing, r);
	sink->printing.n_readings++;
}

static FILE *open_result(const struct stat_setup *s)
{
	if (s->args.output)
		return fopen(s->args.output, "we");
	/* Beside a command its output must stay its own. */
	return s->argv || !strcmp(s->args.format, "text") ? stderr : stdout;
}

static int stat(struct stat_setup *s, struct stat_result *result, struct error *err)
{
	static const struct counter_sources sources;
	cleanup(free_at_exit) char *what = stat_describe_target(s);
	struct stat_sink sink = {
		.printing = { .what = what,
			      .topdown = s->has_topdown ? &s->topdown : NULL,
			      .lane = s->args.per_cpu      ? "cpu"
				      : s->args.per_thread ? "thread"
							   : NULL },
		.format = stat_format_find(s->args.format),
	};
	struct stat_config config = {
		.counters = &s->counters,
		.sources = &sources,
		.argv = s->argv,
		.pids = &s->pids,
		.tids = &s->tids,
		.whole_machine = s->args.whole_machine,
		.cpus = &s->cpus,
		.is_separate = s->args.per_cpu || s->args.per_thread,
		.skips_missing = !s->args.events.n,
		.interval_s = s->args.interval_s,
		.n_intervals = s->args.times,
		.duration_s = s->args.duration_s,
		.report = take_reading,
		.context = &sink,
	};
	FILE *out = sink.printing.out = open_result(s);
	struct uprobe_events *probes = NULL;
	int r;

	if (!out)
		return error_errno(err, -errno, "cannot write '%s'", s->args.output);
	if (!s->args.whole_machine)
		probes = later_probes_begin(&s->counters, !s->tids.n);
	r = stat_run(&config, result, err);
	uprobe_events_end(probes);
	errno = 0;
	if ((fflush(out) == EOF || ferror(out)) && r >= 0)
		r = error_errno(err, errno ? -errno : -EIO, "cannot write %s",
				s->args.output ? s->args.output : "what was counted");
	if (s->args.output)
		fclose(out);
	return r;
}

static void tell_of_cpus(const struct stat_result *r)
{
	if (r->n_cpus_back)
		log_info("CPUs came online (times: %u); the counts of their first moments are "
			 "missing",
			 r->n_cpus_back);
	if (r->n_cpus_missed)
		log_warning("CPUs came online that are not counted (times: %u)", r->n_cpus_missed);
}

static int count(struct stat_setup *s)
{
	struct stat_result result;
	struct error err = { 0 };
	int r = target_complete(&s->args.names, s->args.with_children, &s->pids, &err);

	result = (struct stat_result){ .wait_status = -1 };
	if (!r)
		r = stat(s, &result, &err);

	if (r < 0)
		log_error("stat: %s", err.text);
	else
		print_surroundings(false);
	tell_of_cpus(&result);
	if (r < 0 && result.has_command_failed_to_start)
		return r == -ENOENT ? 127 : 126;
	return r < 0 ? EXIT_FAILED : pass_on_status(result.wait_status);
}

static int stat_command_run(const struct command *self, int argc, char **argv)
{
	struct stat_setup s = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, true, argc, argv, &s.args, &s.operands);

	if (status < 0 && parse_setup(&s, &err) < 0) {
		log_error("stat: %s", err.text);
		status = EXIT_USAGE;
	} else if (status < 0 && choose_counters(&s, &err) < 0) {
		log_error("stat: %s", err.text);
		status = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	} else if (status < 0) {
		status = count(&s);
	}
	stat_setup_fini(&s);
	return status;
}

static const struct command_section stat_sections[] = {
	EVENTS_SECTION,
	{ "MULTIPLEXING",
	  "If there are more events than hardware counters, the kernel lets them take turns. "
	  "Their counts are scaled by the time that they did not run, and each line says so. CSV "
	  "and JSON have both times. *assay events --check* shows beforehand whether events fit." },
	{ "EXIT STATUS",
	  "The command's own status, or the signal that ended it. 127 if the command is "
	  "not found, and 126 if it can't be run. 1 if counting failed, and 2 for wrong "
	  "usage." },
	{ "TOP-DOWN",
	  "A processor can begin some operations in each cycle: its slots. Some processors "
	  "count how slots were used. Useful work is *retiring*. *bad speculation* was thrown "
	  "away. *frontend bound* slots waited for instructions, and *backend bound* ones for "
	  "data or for units. On Intel's processors from Ice Lake on, these shares are printed "
	  "without any option, and from Sapphire Rapids on, those of level 2, too. Elsewhere, "
	  "*--topdown* counts them, as their events take counters from others: on older "
	  "processors of Intel (with *-a*), on AMD's from Zen 4 on, and on Arm's that count "
	  "slots, such as Neoverse V1 and N2. AMD's and Neoverse V3 and N3 have level 2, too: "
	  "its events are more than these processors can count at once, so they take turns. CSV "
	  "has the counts alone. *assay stat --help* shows all formulas." },
	{ NULL },
};

static const struct command_example stat_examples[] = {
	{ "assay stat -- ./app", "what a program costs" },
	{ "assay stat -e instructions:u,branch-misses:u -- ./app", "two events, in user mode" },
	{ "assay stat -a --per-cpu -I 1s", "the whole machine, each second, by CPU" },
	{ "assay stat --topdown -- ./app", "what the processor's pipeline waits for" },
	{ "assay stat -p 1234 -d 10 --format json", "ten seconds of a process, for a program" },
	{ NULL },
};

static void print_formulas(void)
{
	cleanup(free_at_exit) char *formulas = ratio_formulas();

	printf("\nRatios of counts:\n%s", formulas);
}

const struct command stat_command = {
	.name = "stat",
	.summary = "count events of a command, a process or the machine",
	.synopsis = "[OPTIONS] [--] [COMMAND [ARG…]]",
	.description =
		"Counts events without taking samples. Counts are exact if each event has its "
		"own counter. The cost is too small to measure. Some counts are shown as "
		"ratios, too: instructions per cycle, misses per load.",
	.options = OPTIONS_AND_ALIASES(stat_options, perf_stat_options),
	.common = "e,p,a,I,format",
	.sections = stat_sections,
	.print_more_help = print_formulas,
	.examples = stat_examples,
	.run = stat_command_run,
};
