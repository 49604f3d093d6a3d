/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prospect: runs one command and reports the machine's activity meanwhile. Options and parts of the
 * report follow Prospect (HP, 2002), as far as its paper describes them. The recorder and the
 * process report do the work.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "collect/sampler.h"
#include "commands/opening.h"
#include "config.h"
#include "counter/probe.h"
#include "open/input.h"
#include "processes/processes.h"
#include "guard/parser.h"
#include "record/recorder.h"
#include "record/targets.h"
#include "store/native.h"
#include "store/session.h"

struct prospect_args {
	const char *file, *format, *event, *system_map, *vmlinux, *session;
	uint64_t level, freq_hz, flush, open_images;
	double user_s, system_s;
	bool instructions, long_names, no_demangle;
};

/* The levels of -V. Each includes the levels before it. */
enum level { LEVEL_COMMAND = 1, LEVEL_FAMILY, LEVEL_MACHINE, LEVEL_KERNEL };

#define FIELD(f) offsetof(struct prospect_args, f)
static const struct option_spec prospect_options[] = {
	{ 'f', "file", "FILE", OPT_STRING, FIELD(file), NULL,
	  "write the report to FILE instead of standard output" },
	{ 'V', "level", "N", OPT_U64, FIELD(level), "2",
	  "profile 1: the command, 2: its children, too, 3: every process, 4: the "
	  "kernel, too",
	  "Levels 3 and 4 sample the whole machine while the command runs. This needs "
	  "root, or CAP_PERFMON. Other users get a message, and level 2.",
	  1, 4 },
	{ 'H', "hertz", "HZ", OPT_U64, FIELD(freq_hz), "200", "samples a second on each CPU", NULL,
	  1, 1e6 },
	{ 'M', "flush", "N", OPT_U64, FIELD(flush), "200",
	  "read the kernel's samples at least every N hundredths of a second",
	  "They are read earlier if there are many, and at the end of each second. A short "
	  "interval keeps buffers empty, and costs more.",
	  1, 1e6 },
	{ 'e', "instructions", NULL, OPT_FLAG, FIELD(instructions), NULL,
	  "under each function, show the sampled instructions" },
	{ 'k', "system-time", "SECONDS", OPT_SECONDS, FIELD(system_s), "1ms",
	  "leave out processes with less system time than this, and less user time than -m", NULL,
	  0, 1e9 },
	{ 'm', "user-time", "SECONDS", OPT_SECONDS, FIELD(user_s), "1ms",
	  "leave out processes with less user time than this, and less system time than -k", NULL,
	  0, 1e9 },
	{ 'K', "system-map", "FILE", OPT_STRING, FIELD(system_map), NULL,
	  "the kernel's symbols (System.map)",
	  "Refused if it does not belong to the running kernel. Without it, the kernel's own "
	  "symbols are read (_/proc/kallsyms_)." },
	{ 'L', "vmlinux", "FILE", OPT_STRING, FIELD(vmlinux), NULL,
	  "the kernel's uncompressed image, to disassemble",
	  "Refused if it does not belong to the running kernel. Without it, the usual places of "
	  "distributions are searched." },
	{ 'g', "open-images", "N", OPT_U64, FIELD(open_images), "8",
	  "with -e: keep so many files open at a time", NULL, 1, 4096 },
	{ 0, "event", "EVENT", OPT_STRING, FIELD(event), NULL,
	  "clock by this event; assay events lists them",
	  "Default: the cycles of a processor that is not halted, or the cpu-clock timer where "
	  "there are no counters." },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text, json, csv or html",
	  .choices = PROCESSES_FORMATS },
	{ 0, "session", "DIR", OPT_STRING, FIELD(session), NULL,
	  "keep the session in DIR, for assay report and other commands" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "long-filenames", NULL, OPT_FLAG, FIELD(long_names), NULL,
	  "paths instead of file names" },
};

struct prospect {
	struct prospect_args args;
	struct option_list operands;
	struct input *in;
	struct counters counters;
	struct symbolizer *symbols;
	char *dir;
	char **argv;
	char note[512];
	bool whole_machine, in_kernel;
	struct recorder_result result;
};

static void prospect_fini(struct prospect *p)
{
	option_list_fini(&p->operands);
	counters_fini(&p->counters);
	symbolizer_free(p->symbols);
	input_free(p->in);
	free(p->dir);
	free(p->argv);
}

/* ---- recording ---- */

static int choose_counter(struct prospect *p, struct error *err)
{
	static const struct counter_sources sources;
	const struct counter_rate rate = { .freq_hz = p->args.freq_hz };

	if (p->args.event)
		return counter_parse(&sources, p->args.event, &rate, &p->counters, err);
	return counter_default(&sources, &rate, &p->counters, p->note, sizeof(p->note), err);
}

static void add_note(struct prospect *p, const char *text)
{
	size_t n = strlen(p->note);

	snprintf(p->note + n, sizeof(p->note) - n, "%s%s", n ? "; " : "", text);
}

/* Chooses the widest target that this user may profile. A message and the report name the rest. */
static void choose_target(struct prospect *p)
{
	static const char unseen_processes[] =
		"not permitted to sample other processes: the report has the command and its "
		"children alone, without the rest of the machine and idle time";
	static const char unseen_kernel[] =
		"not permitted to sample the kernel: neither system time nor interrupts are seen";
	struct probe_machine machine;
	struct finding permission;
	enum probe_reach reach;

	probe_machine_init(&machine, NULL);
	reach = probe_scope(&machine).reach;
	p->whole_machine = p->args.level >= LEVEL_MACHINE && reach == REACH_MACHINE;
	if (p->args.level >= LEVEL_MACHINE && !p->whole_machine)
		add_note(p, unseen_processes);
	if (reach >= REACH_OWN)
		add_note(p, unseen_kernel);
	if (reach == REACH_MACHINE || (p->args.level < LEVEL_MACHINE && reach < REACH_OWN))
		return;
	probe_permission(&machine, &permission);
	log_warning("%s (%s)", p->note, permission.text);
	if (permission.command[0])
		log_warning("to permit it: %s", permission.command);
}

static bool is_sampled_in_kernel(const struct prospect *p)
{
	static const struct counter_sources sources;
	char why[256];

	return p->whole_machine && p->counters.data[0].attr.type != PERF_TYPE_TRACEPOINT &&
	       sampler_is_available(&sources, why, sizeof(why));
}

/*
 * Uses frame pointers for call chains. The kernel's chains are complete, which is enough to
 * recognise interrupts, and a flat profile needs no user chains.
 */
static int record_once(struct prospect *p, struct error *err)
{
	static const struct counter_sources sources;
	const struct pid_list none = { 0 };
	const struct cpu_list all = { 0 };
	const struct recorder_config config = {
		.ops = &native_store,
		.dir = p->dir,
		.version = ASSAY_VERSION,
		.counters = &p->counters,
		.sources = &sources,
		.note = p->note,
		.stacks = STACKS_FRAME_POINTERS,
		.in_kernel = p->in_kernel,
		.argv = p->argv,
		.pids = &none,
		.tids = &none,
		.whole_machine = p->whole_machine,
		.cpus = &all,
		.with_cpu_times = true,
		.drain_s = (double)p->args.flush / 100,
	};

	parser_be_modest();
	return recorder_run(&config, &p->result, err);
}

static int record(struct prospect *p, struct error *err)
{
	int r;

	p->in_kernel = is_sampled_in_kernel(p);
	r = record_once(p, err);
	if (r < 0 && p->in_kernel && p->result.has_sampler_failed) {
		log_warning("%s: collecting through rings instead", err->text);
		*err = (struct error){ 0 };
		p->in_kernel = false;
		r = record_once(p, err);
	}
	return r;
}

/* ---- reporting ---- */

static int print_report(const struct prospect *p, const struct session *session, struct error *err)
{
	const struct process_report_options options = {
		.min_user_s = p->args.user_s,
		.min_system_s = p->args.system_s,
		.with_details = true,
		.only_pid = p->args.level == LEVEL_COMMAND ? p->result.command_pid : -1,
		.with_kernel = p->args.level == LEVEL_KERNEL,
		.with_instructions = p->args.instructions,
		.long_names = p->args.long_names,
		.max_open_images = (uint32_t)p->args.open_images,
	};
	const struct processes_output output = {
		.format = processes_format_find(p->args.format),
		.path = p->args.file,
		.no_pager = true,
	};
	const struct report_options view = { .long_names = p->args.long_names };
	const struct query query = { .with_idle = true };
	struct profile_request request = { .session = session,
					   .symbols = p->symbols,
					   .query = &query };
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	cleanup(process_report_free_at_exit) struct process_report *report = NULL;

	process_report_request(&options, &request);
	profile = profile_load(&request);
	report = process_report_new(&options, &view, &query, profile);
	return processes_print(report, &output, err);
}

static int report_session(struct prospect *p, struct error *err)
{
	cleanup(session_close_at_exit) struct session *session = NULL;
	int r = session_open(p->dir, &session, err);

	/* The name of a folder that will be gone says nothing. */
	if (r >= 0 && !p->args.session) {
		free(session->path);
		session->path = xstrdup("prospect");
	}
	return r < 0 ? r : print_report(p, session, err);
}

/* ---- the command ---- */

/* Before the command runs: a report that can't be written in the end is of no use. */
static int check_file(const char *path, struct error *err)
{
	FILE *file = path ? fopen(path, "ae") : NULL;

	if (!file)
		return path ? error_errno(err, -errno, "%s", path) : 0;
	fclose(file);
	return 0;
}

static int prepare(struct prospect *p, struct error *err)
{
	const struct symbolizer_config config = { .system_map = p->args.system_map,
						  .vmlinux = p->args.vmlinux,
						  .no_demangle = p->args.no_demangle };
	const char *scratch = NULL;
	int r;

	p->symbols = symbolizer_new(&config);
	r = check_file(p->args.file, err);
	if (r >= 0)
		r = symbolizer_check_kernel(p->symbols, p->args.system_map, p->args.vmlinux, err);
	if (r < 0)
		return r;
	if (!r)
		log_warning("kernel symbols are hidden from this user: -K and -L are not checked");
	r = input_new(&opening_config, &p->in, err);
	r = r < 0 || p->args.session ? r : input_scratch(p->in, &scratch, err);
	if (r < 0)
		return r;
	p->dir = p->args.session ? xstrdup(p->args.session) : xasprintf("%s/session", scratch);
	p->argv = xcalloc(p->operands.n + 1, sizeof(*p->argv));
	for (size_t i = 0; i < p->operands.n; i++)
		p->argv[i] = (char *)p->operands.data[i];
	return 0;
}

/* As shells have it: 127 for a command that is not there, 126 for one that can't be run. */
static int status_of_failure(const struct prospect *p, int r)
{
	if (p->result.has_command_failed_to_start)
		return r == -ENOENT ? 127 : 126;
	return EXIT_FAILED;
}

static int run(struct prospect *p)
{
	struct error err = { 0 };
	int r = prepare(p, &err), status = EXIT_FAILED;

	if (r >= 0) {
		choose_target(p);
		r = record(p, &err);
		status = status_of_failure(p, r);
	}
	if (r >= 0) {
		if (p->result.note[0])
			log_info("%s", p->result.note);
		r = report_session(p, &err);
		status = EXIT_FAILED;
	}
	if (r < 0) {
		log_error("%s", err.text);
		return status;
	}
	input_free(take_ptr(p->in)); /* passing on may be by a signal */
	return pass_on_status(p->result.wait_status);
}

static int prospect_run(const struct command *self, int argc, char **argv)
{
	struct prospect p = { .result.wait_status = -1 };
	struct error err = { 0 };
	int status = command_begin(self, true, argc, argv, &p.args, &p.operands);

	if (status < 0 && !p.operands.n) {
		log_error("no command: give one, because prospect profiles while it runs; 'sleep "
			  "60' gives a minute");
		status = EXIT_USAGE;
	} else if (status < 0 && choose_counter(&p, &err) < 0) {
		log_error("%s", err.text);
		status = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	} else if (status < 0) {
		status = run(&p);
	}
	prospect_fini(&p);
	return status;
}

static const struct command_section prospect_sections[] = {
	{ "THE REPORT",
	  "*Statistics of the run*: the clock and its blind spot, the cost of assay "
	  "itself, and the samples. User, system, interrupts (_irq_ hard, _softirq_ "
	  "soft), idle and lost add up to the samples that the kernel delivered. "
	  "_unresolved_ are samples at addresses that no known mapping "
	  "covers.\n\n*Account of CPU time*: the samples, and the kernel's own figures "
	  "of idle, stolen, throttled and lost time. The rows add up to the time of the CPUs. "
	  "With levels 1 and 2, this is the time of the command and its children. The rest is "
	  "one row: interrupts off, or between samples.\n\n*Summary of processes*: hits of each "
	  "process and the seconds that "
	  "they stand for, of those that reach one of the thresholds. With a timer these "
	  "are its nanoseconds, with a counter the hits divided by the rate. "
	  "Beside them are the time that the kernel counted, and the deviation from "
	  "it.\n\n*Each "
	  "process*: its user profile and its kernel profile, functions by region "
	  "(program, library, kernel). Of a stripped file, *low..high* is code between "
	  "two known functions. Interrupts that came while the process had the "
	  "CPU are apart from both, because the process did not cause them. The kernel's "
	  "entry functions in the call chain show them.\n\n*The kernel* (-V4): the "
	  "kernel's functions for all processes together, with the context that they ran "
	  "in.\n\nThe same report of a session that is there already is *assay report "
	  "--processes*." },
	{ "CLOCKS", "A timer (_cpu-clock_) is an interrupt like others. Code with interrupts off "
		    "is seen only at the place where they come on again. So most of the cost of "
		    "hard interrupts appears behind them. A counter of the processor (_cycles_) "
		    "interrupts by NMI and sees all of it. But a halted processor counts nothing, "
		    "so idle time is not in the samples." },
	{ "EXIT STATUS",
	  "The command's own status, or the signal that ended it. 127 if the command is "
	  "not found, and 126 if it can't be run. 1 if prospect failed, and 2 for wrong "
	  "usage." },
	{ NULL, NULL },
};

static const struct command_example prospect_examples[] = {
	{ "prospect -f prospect.out -V4 -H1000 sh -c 'make -j4'",
	  "the whole machine while a command runs" },
	{ "prospect -V4 -H1000 sleep 60", "the usual work of this machine, for a minute" },
	{ "prospect -V4 -e -H1000 sleep 5", "down to the instructions" },
	{ "prospect ./app", "one program, as any user" },
	{ NULL, NULL },
};

const struct command prospect_command = {
	.name = "prospect",
	.is_program = true,
	.summary = "profile processes and the kernel while a command runs",
	.synopsis = "[OPTIONS] [--] COMMAND [ARG…]",
	.description =
		"Runs a command, samples the processors meanwhile, and reports the result. The "
		"report has statistics of the run, and a summary of processes by user, system "
		"and interrupt time. Then come the profiles of each process and, with *-V4*, "
		"of the kernel. To profile work that runs already, the command is "
		"*sleep*.\n\nThe options are Prospect's. Numbers may stand behind their letter "
		"(*-V4*).",
	.options = OPTIONS(prospect_options),
	.sections = prospect_sections,
	.examples = prospect_examples,
	.run = prospect_run,
};
