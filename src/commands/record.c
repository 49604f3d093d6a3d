/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "collect/sampler.h"
#include "collect/sampler_support.h"
#include "commands/event_help.h"
#include "commands/later_probes.h"
#include "commands/perf_options.h"
#include "commands/record.h"
#include "commands/record_collector.h"
#include "commands/record_filter.h"
#include "commands/record_summary.h"
#include "commands/record_target.h"
#include "commands/snapshot_signal.h"
#include "commands/tables.h"
#include "config.h"
#include "counter/branch_stack.h"
#include "counter/reason.h"
#include "counter/sources.h"
#include "guard/parser.h"
#include "guard/parser_starter.h"
#include "record/recorder.h"
#include "record/steering.h"
#include "record/targets.h"
#include "replay/kcore_copy.h"
#include "store/native.h"
#include "store/separation_words.h"

#define CALL_GRAPHS "best|fp|dwarf|none"
#define FIELD(f)    offsetof(struct record_args, f)
static const struct option_spec record_options[] = {
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "events to count: cycles:u, sched:sched_switch, CPU_CLK_UNHALTED:100000:0:1:1 …",
	  "Give the option several times, or give several events with commas between "
	  "them. The default is hardware cycles, or the cpu-clock timer if there are no "
	  "counters." },
	{ 'F', "freq", "HZ", OPT_U64, FIELD(freq_hz), NULL,
	  "samples per second on each CPU (default 997); max: as many as the kernel permits",
	  "For *cycles*, assay computes a period that gives HZ samples a second at the "
	  "processor's highest clock rate. A slower processor gives fewer. For other "
	  "hardware events, the kernel searches the period in each thread, beginning at "
	  "one event.",
	  1, 1e9, .choices = "max" },
	{ 'c', "count", "COUNT", OPT_U64, FIELD(count), NULL,
	  "a sample every COUNT events (nanoseconds for clocks), instead of -F", NULL, 1,
	  9223372036854775807.0 },
	{ 'p', "pid", "PID[,PID…]", OPT_LIST, FIELD(pids), NULL,
	  "profile running processes, with their threads, and children that begin later" },
	CHILDREN_OPTION(FIELD(with_children)),
	{ 't', "tid", "TID[,TID…]", OPT_LIST, FIELD(tids), NULL, "profile single threads" },
	{ 'a', "all-cpus", NULL, OPT_FLAG, FIELD(whole_machine), NULL,
	  "profile the whole machine, until COMMAND or --duration ends, or Ctrl-C" },
	{ 'C', "cpu", "LIST", OPT_STRING, FIELD(cpus), NULL,
	  "only on these CPUs: 0-3,8; without a target, everything on them" },
	{ 'G', "cgroup", "CGROUP", OPT_STRING, FIELD(cgroup), NULL,
	  "profile a control group: its path below /sys/fs/cgroup" },
	TARGET_NAME_OPTIONS(names),
	{ 'd', "duration", "SECONDS", OPT_SECONDS, FIELD(duration_s), NULL,
	  "end after this time; also 500ms, 2m, 1h", NULL, 0.001, 1e9 },
	{ 'D', "delay", "MS", OPT_STRING, FIELD(delay), NULL,
	  "begin to count after this many milliseconds; also 2s, 1m; -1: wait for "
	  "--control",
	  "Processes are followed from the start on." },
	{ 0, "control", "fifo:CTL[,ACK]", OPT_STRING, FIELD(control), NULL,
	  "steer the recording by messages through named pipes, or through descriptors: fd:N[,M]",
	  "Messages are lines. _enable_ and _disable_ turn counting on and off. "
	  "_snapshot_ keeps the contents of a trace in snapshot mode. _stop_ ends the "
	  "recording, and _ping_ does nothing. _enable NAME_ and _disable NAME_ are for "
	  "one event. _evlist_ shows the events on standard error, with their rates "
	  "(_-F_), groups (_-g_) or all fields (_-v_). After each message, assay writes "
	  "_ack_ and a newline to ACK. It reports other lines on standard error and does "
	  "not acknowledge them. *perf record --control* works in the same way." },
	{ 'g', NULL, NULL, OPT_FLAG, FIELD(with_stacks), NULL,
	  "record call chains (this is the default)" },
	{ 0, "call-graph", "HOW", OPT_STRING, FIELD(call_graph), "best",
	  "how to find call chains: best (as the machine allows), fp (frame pointers), "
	  "dwarf (copied stacks) or none",
	  "With *fp*, the kernel follows frame pointers. Most binaries lack them, and "
	  "their chains are short. With *dwarf*, the kernel copies registers and stack "
	  "of each sample. assay walks them by the unwind tables of the binaries while "
	  "it records, and keeps only the chain. *best* is dwarf for counters and "
	  "clocks. It is fp for events that may sample each occurrence, such as "
	  "tracepoints, because copies would not fit into the rings. Page faults and "
	  "migrations have copies of 2 KB. A message names the choice. A size may follow dwarf: "
	  "*dwarf,8192* is *--call-graph=dwarf "
	  "--stack-size=8192*.",
	  0, 0, CALL_GRAPHS },
	{ 0, "stack-size", "BYTES", OPT_SIZE, FIELD(stack_bytes), NULL,
	  "bytes of each stack to copy, at most 65528 (default 16k; 8k for users who may "
	  "lock little memory)",
	  NULL, 1024, 65528 },
	{ 0, "collector", "HOW", OPT_CHOICE, FIELD(collector), "best",
	  "how samples are collected: perf (rings), bpf (counted in the kernel), or the "
	  "best of them that is permitted",
	  "With *bpf*, a program in the kernel walks stacks by unwind tables and counts "
	  "equal stacks of a thread in a map. assay reads the map once a second, so only "
	  "counts and new stacks leave the kernel. This is the best for the whole "
	  "machine, and for what runs Python, PHP, Ruby or Perl: only this program sees their "
	  "functions. assay chooses it if the command or its script names the interpreter; for "
	  "*make*, say, give *bpf*. Without the rights for it, assay uses the rings and says so.",
	  0, 0, "best|perf|bpf" },
	{ 0, "no-exact-time", NULL, OPT_FLAG, FIELD(no_exact_time), NULL,
	  "keep the second of each sample, not its time",
	  "Samples take some 3 bytes less. With *--collector=bpf*, only counts leave the kernel." },
	{ 0, "off-cpu", NULL, OPT_FLAG, FIELD(off_cpu), NULL,
	  "also measure how long threads wait, by stack and by state",
	  "This is the time between leaving a CPU and coming back, under four events. "
	  "*off-cpu:sleep* is sleeping. *off-cpu:disk* is uninterruptible: disks, page "
	  "faults, the kernel's locks. *off-cpu:ready* means that another thread had the "
	  "CPU. *off-cpu:stopped* is stopped. A sample stands for a millisecond. Threads "
	  "that never wake are there as well. *report --by waker,symbol* shows the thread "
	  "that ended each wait, and *report --tree --wakers* its stack. *--by reason* shows "
	  "why threads waited, *--by owner* the threads that had their mutexes, and *--by "
	  "device* the disks of their I/O. A BPF program "
	  "measures this. It needs root, or CAP_BPF and CAP_PERFMON." },
	{ 0, "off-cpu-min", "TIME", OPT_SECONDS, FIELD(off_cpu_min_s), "1ms",
	  "with --off-cpu: the shortest wait that counts (0: all waits)", NULL, 0, 1e6 },
	{ 0, "kernel-locks", NULL, OPT_FLAG, FIELD(kernel_locks), NULL,
	  "also measure how long code waits for the kernel's own locks, by stack",
	  "The event is *kernel-lock*, in nanoseconds: spinlocks, for which the CPU is busy, and "
	  "locks for which a thread sleeps. The latter are also part of *off-cpu:disk*. A "
	  "sample is a wait. All waits count, as most are short. Each costs some microseconds "
	  "more, so a contended "
	  "machine becomes slower. It needs root and Linux 5.19." },
	LABELS_OPTION(FIELD(labels)),
	{ 0, "python-trampoline", NULL, OPT_FLAG, FIELD(python_trampoline), NULL,
	  "without rights for BPF: the command's Python (3.12 and newer) names its own functions",
	  "It sets *PYTHONPERFSUPPORT=1*. Python becomes slower, and leaves /tmp/perf-PID.map. No "
	  "lines are known. With BPF, assay reads Python's own frames, and does nothing." },
	{ 0, "page-faults", "N", OPT_OPTIONAL, FIELD(page_faults), NULL,
	  "also record page faults, beside the usual event or those of -e: each, or one of N",
	  .implied = "1" },
	{ 0, "alloc", NULL, OPT_FLAG, FIELD(alloc), NULL,
	  "record allocations: bytes and blocks, allocated and still held at the end",
	  "A library that is preloaded into the command samples malloc and its family, operator "
	  "new, and anonymous mappings. It takes a stack about every 512 KB that a thread "
	  "allocates, and the numbers "
	  "are "
	  "estimates without bias. *alloc-bytes* and *alloc-blocks* count all allocations. "
	  "*held-bytes* "
	  "and *held-blocks* count those that were not freed before their program ended. "
	  "Without *-e*, assay records allocations alone. Running processes (*-p*), static, "
	  "set-uid and musl commands can't have the library. As root, assay then puts uprobes on "
	  "the "
	  "functions of their allocator: each call traps into the kernel, which takes "
	  "microseconds. Programs that are not seen are counted." },
	{ 0, "alloc-every", "BYTES", OPT_SIZE, FIELD(alloc_every), "512k",
	  "with --alloc: the mean distance of samples", NULL, 1024, 1099511627776 },
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), NULL,
	  "the session's directory; one that exists is kept as DIR.old",
	  "The default is *assay.data*. With *--raw*, this is the file, by default "
	  "*perf.data*. *-* writes the kernel's records to standard output in perf's form for "
	  "pipes, which *perf report -i -* and *assay report -i -* read. Standard output of the "
	  "command then goes to standard error." },
	{ 0, "raw", NULL, OPT_FLAG, FIELD(raw), NULL,
	  "keep the kernel's records as they come, in a perf.data file",
	  "perf, other readers of its files, and every command of assay can read this "
	  "file. Nothing is added up, so it grows with every sample. Chains are found by "
	  "frame pointer, unless you give *--call-graph=dwarf*. The file then has the "
	  "copied stacks. The file of a killed recorder is readable up to its last "
	  "second." },
	{ 'b', "branch-any", NULL, OPT_FLAG, FIELD(branch_any), NULL,
	  "also record the last branches before each sample (LBR), in a perf.data file",
	  "Some processors keep them: Intel's LBR, AMD's LbrExtV2, Arm's BRBE. The event must be "
	  "one of the processor's counters, such as cycles. The recording is that of *--raw*. "
	  "*assay script -F +brstack* prints the branches, and *assay export* makes profiles for "
	  "compilers of them (autofdo, bolt)." },
	{ 'j', "branch-filter", "KIND[,KIND…]", OPT_STRING, FIELD(branch_kinds), NULL,
	  "as -b, but only branches of these kinds: any_call,u", "There are " BRANCH_KINDS "." },
	{ 0, "kcore", NULL, OPT_FLAG, FIELD(kcore), NULL,
	  "also keep the kernel's code as it ran; the output is a folder, as with perf",
	  "_DIR_/data is the recording (as with *--raw*). _DIR_/kcore\\_dir has copies "
	  "of kallsyms, of modules and of /proc/kcore (the text of the kernel and its "
	  "modules). The kernel changes its code while it runs, so vmlinux alone cannot "
	  "follow traces of it exactly. This option needs root." },
	{ 0, "filter", "FILTER", OPT_LIST, FIELD(filters), NULL,
	  "trace only some code: 'filter main @/bin/app'; or a tracepoint's filter: 'prev_pid == "
	  "1'",
	  "Of a hardware trace: *filter* START [*/* SIZE] [*@*FILE] traces a region "
	  "only, *tracestop* stops in it, *start* and *stop* are at one address, if the "
	  "hardware has them. START is an address, a function (_name_, _name_ #2, _name_ "
	  "#g), or _\\*_ for all of the file. SIZE is a number, or the function at whose "
	  "end the region ends. Without a file, the filter is for the kernel. Separate "
	  "several filters by commas or spaces. *-v* shows the filter that the kernel "
	  "gets. *perf record --filter* works in the same way." },
	{ 0, "store", "NAME", OPT_CHOICE, FIELD(store), "native",
	  "format of the session: native, or oprofile (sample files that opreport reads)", NULL, 0,
	  0, STORE_KINDS },
	{ 0, "separate", "LIST", OPT_STRING, FIELD(separate), NULL,
	  "keep samples apart by these: none, or a list of "
	  "lib,kernel,process,thread,cpu,cgroup,all",
	  "The default is all in the native store, and lib,kernel in OProfile's, as in "
	  "operf. kernel implies lib, and thread implies process. A report can merge "
	  "separated samples, but not separate merged ones. With less separation, a "
	  "session of weeks is smaller." },
	{ 'm', "ring-size", "SIZE[,AUXSIZE]", OPT_STRING, FIELD(trace.sizes), NULL,
	  "memory of each CPU's ring, e.g. 512k (default 1M, or as much as you may "
	  "lock); behind a comma, the buffer of a hardware trace",
	  "With a comma, numbers without a unit are pages, as in perf: *-m,16* is 64 KiB "
	  "of trace. By default, a trace has rings of 512 KiB and buffers of 4 MiB. For "
	  "an ordinary user, these are 256 KiB and 128 KiB." },
	{ 'S', "snapshot", "[e]SIZE", OPT_OPTIONAL, FIELD(trace.snapshot), NULL,
	  "keep only the contents of a hardware trace's buffers at SIGUSR2, or when "
	  "--control asks",
	  "SIZE is the part of each buffer to keep (default: all of it). *e* takes a "
	  "last snapshot at the end.",
	  .implied = "" },
	{ 0, "aux-sample", "BYTES", OPT_OPTIONAL, FIELD(trace.aux_sample), NULL,
	  "put the last bytes of a hardware trace into the samples of the events of its group "
	  "(default 4096, at most 61440)",
	  "As in *-e '{intel_pt//u,branch-misses:u}'*. An event can ask for it itself: "
	  "*-e intel_pt//u -e branch-misses/aux-sample-size=8192/u*.",
	  .implied = "" },
	{ 0, "per-thread", NULL, OPT_FLAG, FIELD(trace.per_thread), NULL,
	  "trace each thread into a separate buffer, without the children of the threads" },
	{ 0, "segment-size", "BYTES", OPT_SIZE, FIELD(segment_bytes), NULL,
	  "begin a new file of the session at this size (default 64M)",
	  "You may delete older files of a session while it is recorded. Their samples "
	  "are then gone, and the rest stays as it is.",
	  65536, 1073741824 },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
	{ 'v', "verbose", NULL, OPT_COUNT, FIELD(verbose), NULL, "print more about each step" },
};

/* One of `n` is a sample. */
static int add_page_faults(const char *n, struct counters *counters, struct error *err)
{
	static const struct counter_sources sources;
	static const struct option_spec row = { 0,  "page-faults", "N", OPT_U64, 0, NULL,
						"", NULL,          1,   1e9 };
	struct counter_rate rate = { 0 };
	int r = option_set(&row, n, &rate.count, err);

	return r < 0 ? r : counter_parse(&sources, "page-faults", &rate, counters, err);
}

static int choose_counters(const struct record_args *args, struct counters *counters, char *note,
			   size_t note_size, struct error *err)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = args->freq_hz, .count = args->count };
	uint64_t kinds = 0;
	int r = 0;

	if (args->branch_any || args->branch_kinds)
		r = branch_kinds_parse(args->branch_kinds ? args->branch_kinds : "any", &kinds,
				       err);
	if (r < 0)
		return r;
	if (args->freq_hz && args->count)
		return error_set(err, -EINVAL, "-F and -c exclude each other: a rate or a count");
	if (rate.freq_hz == UINT64_MAX) /* -F max */
		rate.freq_hz = sources_max_rate(&sources);
	note[0] = '\0';
	if (!args->events.n && !args->alloc)
		r = counter_default(&sources, &rate, counters, note, note_size, err);
	for (size_t i = 0; i < args->events.n && r >= 0; i++)
		r = counter_parse(&sources, args->events.data[i], &rate, counters, err);
	if (r >= 0 && args->page_faults)
		r = add_page_faults(args->page_faults, counters, err);
	return r < 0 || !kinds ? r : branch_stack_request(counters, kinds, err);
}

static const struct store_ops *find_store(const char *name)
{
	for (const struct store_ops *const *s = store_kinds; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

static int parse_separation(const struct record_args *args, uint32_t *merged, struct error *err)
{
	bool is_native = find_store(args->store) == &native_store;

	if (args->separate)
		return separation_parse(args->separate, merged, err);
	*merged = is_native ? 0 : SEPARATE_ALL & ~(SEPARATE_LIB | SEPARATE_KERNEL);
	return 0;
}

static void setup_fini(struct record_setup *s)
{
	option_list_fini(&s->args.events);
	option_list_fini(&s->args.pids);
	option_list_fini(&s->args.tids);
	option_list_fini(&s->args.filters);
	option_list_fini(&s->args.labels);
	record_labels_fini(&s->labels);
	free(s->raw_path);
	option_list_fini(&s->operands);
	counters_fini(&s->counters);
	vec_fini(&s->pids);
	free(s->group);
	free(s->target);
	record_children_fini(&s->children);
	vec_fini(&s->tids);
	vec_fini(&s->cpus);
	interpreters_fini(&s->interpreters);
	free(s->argv);
	free(s->command_line);
}

/* As perf's: milliseconds, unless a unit is given. */
static int parse_delay(const struct record_args *args, struct steering_config *out,
		       struct error *err)
{
	static const struct option_spec row = { 'D',  "delay", "MS", OPT_SECONDS, 0,
						NULL, "",      NULL, 0,           1e9 };
	const char *text = args->delay;
	size_t n = text ? strspn(text, "0123456789.") : 0;
	cleanup(free_at_exit) char *with_unit = NULL;

	if (!text)
		return 0;
	if (!strcmp(text, "-1")) {
		out->starts_disabled = true;
		return args->control ? 0
				     : error_set(err, -EINVAL,
						 "-D -1 waits for --control to enable counting: "
						 "give that, too");
	}
	with_unit = n && !text[n] ? xasprintf("%sms", text) : xstrdup(text);
	return option_set(&row, with_unit, &out->delay_s, err);
}

/* "dwarf,8192" is perf's way to say --stack-size, too. */
static int parse_call_graph(struct record_args *args, struct error *err)
{
	static const struct option_spec rows[] = {
		{ 0, "call-graph", "HOW", OPT_CHOICE, FIELD(call_graph), .choices = CALL_GRAPHS },
		{ 0, "call-graph=dwarf", "BYTES", OPT_SIZE, FIELD(stack_bytes), .min = 1024,
		  .max = 65528 },
	};
	const char *how = args->call_graph;

	if (strncmp(how, "dwarf,", 6) != 0)
		return option_set(&rows[0], how, args, err);
	args->call_graph = "dwarf";
	return option_set(&rows[1], how + 6, args, err);
}

/* Wrong arguments are a usage error (2). Refusals by the machine come later (1). */
static int parse_setup(struct record_setup *s, struct error *err)
{
	int r;

	if (s->args.output && !*s->args.output)
		return error_set(err, -EINVAL, "-o '': the session needs a name");
	if (s->args.branch_any && s->args.branch_kinds)
		return error_set(err, -EINVAL,
				 "-b and -j exclude each other: -b is the same as -j any");
	s->args.raw |= s->args.branch_any || s->args.branch_kinds; /* sessions keep no branches */
	if ((r = record_prepare_pipe(&s->args, err)) < 0 ||
	    (r = parse_ids(&s->args.pids, "process", &s->pids, err)) < 0 ||
	    (r = parse_ids(&s->args.tids, "thread", &s->tids, err)) < 0 ||
	    (s->args.cpus && (r = cpu_list_parse(s->args.cpus, &s->cpus, err)) < 0) ||
	    (r = parse_separation(&s->args, &s->merged, err)) < 0 ||
	    (r = parse_call_graph(&s->args, err)) < 0 ||
	    (r = parse_delay(&s->args, &s->steering, err)) < 0 ||
	    (r = record_labels_parse(&s->args.labels, &s->labels, err)) < 0 ||
	    (r = record_check_target(s, err)) < 0)
		return r;
	if (s->operands.n) {
		s->argv = xcalloc(s->operands.n + 1, sizeof(*s->argv));
		for (size_t i = 0; i < s->operands.n; i++)
			s->argv[i] = (char *)s->operands.data[i];
	}
	return 0;
}

/* What the events decide: a trace is kept as the kernel gives it. */
static int plan_trace(struct record_setup *s, struct error *err)
{
	struct record_args *a = &s->args;
	int e = trace_prepare(&a->trace, &s->counters, &s->trace, err);

	if (e < 0)
		return e;
	if (s->trace.has_trace &&
	    (record_has_waits(a) || !strcmp(a->collector, "bpf") || strcmp(a->store, "native")))
		return error_set(
			err, -EINVAL,
			"a hardware trace is kept as the kernel's rings give it: it does not go "
			"with --off-cpu, --kernel-locks, --collector=bpf or --store");
	if (s->trace.has_trace && (a->branch_any || a->branch_kinds))
		return error_set(err, -EINVAL,
				 "a hardware trace has all branches: it does not go with -b or -j");
	if (a->trace.per_thread && a->whole_machine)
		return error_set(err, -EINVAL, "--per-thread is for a command, -p or -t");
	if (s->trace.has_trace)
		trace_tell_sizes(&s->trace, &s->counters, a->verbose > 1);
	a->raw |= s->trace.has_trace || a->kcore;
	if (!a->output)
		a->output = a->raw ? "perf.data" : "assay.data";
	s->raw_path = a->kcore ? xasprintf("%s/data", a->output) : xstrdup(a->output);
	return 0;
}

static int exit_status(const struct recorder_result *result, int r)
{
	/* As shells have it: 127 for a command that is not there, 126 for one that can't be run. */
	if (result->has_command_failed_to_start)
		return r == -ENOENT ? 127 : 126;
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static void print_steering(void *context, bool is_warning, const char *sentence)
{
	(void)context;
	if (is_warning)
		log_warning("%s", sentence);
	else
		log_verbose("%s", sentence);
}

static void show_lines(void *context, const char *text)
{
	(void)context;
	fputs(text, stderr);
}

/* Nothing is opened where nothing steers. */
static int open_steering(struct record_setup *s, struct steering **out, struct error *err)
{
	bool takes_signal = s->args.control || s->trace.mode == AUX_SNAPSHOTS;
	int r;

	s->steering.control = s->args.control;
	s->steering.report = print_steering;
	s->steering.show = show_lines;
	if (!takes_signal && !s->steering.delay_s)
		return 0;
	r = takes_signal ? snapshot_signal_begin(&s->steering.snapshot_fd, err) : 0;
	return r < 0 ? r : steering_open(&s->steering, out, err);
}

/*
 * A recording of the machine may last long and take much memory, which a fork would give to each
 * parser. So a process of its own starts the parsers. Without it, this one does.
 */
static pid_t begin_starter(bool in_kernel)
{
	struct error err;
	pid_t starter = in_kernel && parser_uses_children() ? parser_starter_begin(&err) : 0;

	if (starter < 0)
		log_verbose("%s", err.text);
	return starter;
}

static int run_recorder(struct record_setup *s, bool in_kernel, const struct steering *steering,
			struct recorder_result *result, struct error *err)
{
	static const struct counter_sources sources;
	struct recorder_config config = {
		.ops = find_store(s->args.store),
		.merged = s->merged,
		.dir = s->args.output,
		.version = ASSAY_VERSION,
		.counters = &s->counters,
		.sources = &sources,
		.note = s->note,
		.stacks = record_choose_stacks(s, in_kernel),
		.is_stacks_wish = strcmp(s->args.call_graph, "dwarf") != 0,
		.stack_bytes = s->args.stack_bytes & ~7u,
		.in_kernel = in_kernel,
		.logs_disk = true,
		.backend = s->args.verbose > 1 ? &shown_backend : NULL,
		.ring_bytes = s->trace.ring_bytes,
		.aux_mode = s->trace.mode,
		.aux_bytes = s->trace.aux_bytes,
		.snapshot_bytes = s->trace.snapshot_bytes,
		.snapshot_at_end = s->trace.snapshot_at_end,
		.by_thread = s->trace.has_trace && (s->args.trace.per_thread || s->tids.n),
		.segment_bytes = s->args.segment_bytes,
		.exact_times = !s->args.no_exact_time,
		.with_cpu_times = true,
		.argv = s->argv,
		.interpreters = &s->interpreters,
		.pids = &s->pids,
		.tids = &s->tids,
		.whole_machine = s->args.whole_machine || s->filter,
		.filter = s->filter,
		.cgroup = s->group ? s->group : s->args.cgroup,
		.target = s->target,
		.cpus = &s->cpus,
		.duration_s = s->args.duration_s,
		.raw = s->args.raw ? s->raw_path : NULL,
		.raw_argv = s->command_line,
		.off_cpu = s->args.off_cpu,
		.off_cpu_min_ns = (uint64_t)(s->args.off_cpu_min_s * 1e9),
		.kernel_locks = s->args.kernel_locks,
		.alloc_mean_bytes = s->args.alloc ? s->args.alloc_every : 0,
		.alloc_by_probes = s->alloc_by_probes,
		.labels = s->labels.in_program.n ? &s->labels : NULL,
		.python_trampoline = record_begin_trampoline(s, in_kernel),
	};
	pid_t starter;
	int r;

	if (steering) {
		config.control = steering_control(steering);
		config.starts_disabled = steering_starts_disabled(steering);
	}
	parser_be_modest();
	starter = begin_starter(in_kernel);
	r = recorder_run(&config, result, err);
	if (starter > 0)
		parser_end_children();
	parser_starter_finish(starter);
	return r;
}

/* "record: " before a message, unless a front end's name stands there already. */
static void tell_error(const struct command *self, const struct error *err)
{
	log_error("%s%s", self->is_program ? "" : "record: ", err->text);
}

/* Under the conditions of the recording: before it, as loading programs for it changes code. */
static int copy_kernel(struct record_setup *s, struct error *err)
{
	uint64_t n_bytes;
	int r = s->args.kcore ? kcore_copy(NULL, s->args.output, &n_bytes, err) : 0;

	s->has_kernel_copy = s->args.kcore && r >= 0;
	if (s->has_kernel_copy)
		log_verbose("copied %" PRIu64 " KiB of the kernel", n_bytes / 1024);
	return r;
}

static int record(const struct command *self, struct record_setup *s, struct record_end *end)
{
	bool in_kernel = false;
	struct error err = { 0 };
	struct recorder_result result = { .wait_status = -1 };
	const struct record_summary summary = { .output = s->args.output,
						.counters = &s->counters,
						.has_trace = s->trace.has_trace,
						.is_program = self->is_program };
	cleanup(steering_close_at_exit) struct steering *steering = NULL;
	struct uprobe_events *probes = NULL;
	int r = open_steering(s, &steering, &err);

	if (r < 0) {
		tell_error(self, &err);
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	/* A front end makes its folders itself. */
	r = self->is_program ? 0 : file_check_parent(s->args.output, &err);
	if (!r)
		r = record_check_off_cpu(s, &err);
	if (r == -ENOENT)
		error_wrap(&err, r, "-o %s", s->args.output);
	record_note_alloc(s);
	if (!r && s->note[0])
		log_info("%s", s->note);
	if (!r)
		in_kernel = record_choose_sampler(s);
	r = r ? r : record_check_labels(s, in_kernel, &err);
	if (!r)
		r = record_find_target(s, in_kernel, &err);
	r = r ? r : copy_kernel(s, &err);
	if (!r)
		record_children_begin(&s->children, &s->pids, s->args.with_children);
	/* a plain perf.data file has no description of the list's tracepoints */
	if (!r && !record_is_by_cpu(s))
		probes = later_probes_begin(&s->counters, !s->args.raw && !s->tids.n);
	if (!r)
		r = run_recorder(s, in_kernel, steering, &result, &err);
	if (r < 0 && in_kernel && result.has_sampler_failed &&
	    !(record_has_waits(&s->args) && record_is_by_cpu(s)) && !s->labels.in_program.n) {
		log_warning("%s: collecting through rings instead", err.text);
		record_note_fallback(s);
		err = (struct error){ 0 };
		r = record_find_target(s, false, &err);
		if (!r)
			r = run_recorder(s, false, steering, &result, &err);
	}
	uprobe_events_end(probes);
	if (s->has_kernel_copy && !result.duration_ns)
		kcore_copy_undo(s->args.output);
	if (r < 0)
		tell_error(self, &err);
	if (result.note[0])
		log_info("%s", result.note);
	if (result.features[0])
		log_info("%s", result.features);
	if (result.duration_ns)
		print_surroundings(s->args.whole_machine || s->filter);
	*end = (struct record_end){ r, result.duration_ns > 0, result };
	if (result.duration_ns && result.stacks != STACKS_NONE)
		log_info("stacks: %s", stack_source_texts[result.stacks]);
	record_summary_print(&summary, &result);
	if (result.duration_ns)
		record_children_tell(&s->children);
	return exit_status(&result, r);
}

int record_arguments(const struct command *self, int argc, char **argv, struct record_end *end)
{
	struct record_setup s = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, true, argc, argv, &s.args, &s.operands);

	s.command_line = xcalloc((size_t)argc + 2, sizeof(*s.command_line));
	*end = (struct record_end){ .result.wait_status = -1 };
	s.command_line[0] = "assay";
	for (int i = 0; i < argc; i++)
		s.command_line[i + 1] = argv[i];
	if (status < 0 && s.args.quiet)
		log_set_level(LOG_QUIET);
	else if (status < 0 && s.args.verbose)
		log_set_level(LOG_VERBOSE);
	if (status < 0 && parse_setup(&s, &err) < 0) {
		tell_error(self, &err);
		status = EXIT_USAGE;
	} else if (status < 0 &&
		   choose_counters(&s.args, &s.counters, s.note, sizeof(s.note), &err) < 0) {
		tell_error(self, &err);
		status = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	} else if (status < 0 && plan_trace(&s, &err) < 0) {
		tell_error(self, &err);
		status = EXIT_USAGE;
	} else if (status < 0 && record_set_filters(NULL, &s.args.filters, &s.counters, &err) < 0) {
		tell_error(self, &err);
		status = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	} else if (status < 0) {
		status = record(self, &s, end);
		snapshot_signal_end();
	}
	setup_fini(&s);
	return status;
}

static int record_run(const struct command *self, int argc, char **argv)
{
	struct record_end end;
	int status = record_arguments(self, argc, argv, &end);

	return end.has_run && end.code >= 0 && !end.result.has_command_failed_to_start
		       ? pass_on_status(end.result.wait_status)
		       : status;
}

static const struct command_example record_examples[] = {
	{ "assay record -- ./app --its-options", "profile a program and its children" },
	{ "assay record -p 1234 --duration 10", "profile a running process for ten seconds" },
	{ "assay record -a -o night.assay", "profile the whole machine until Ctrl-C" },
	{ "assay record --off-cpu -o waits.assay -- ./app",
	  "see also where threads wait (as root)" },
	{ "assay record -e cycles:u -e cache-misses -c 10000 -- ./app",
	  "count two events at once" },
	{ NULL, NULL },
};

static const struct command_section record_sections[] = {
	EVENTS_SECTION,
	{ "CONTAINERS",
	  "While assay records, it reads the names of containers and pods from the files "
	  "of podman, CRI-O, docker, containerd and Kubernetes, as far as you may read "
	  "them. It keeps the names with the session, and asks no engine. *assay report "
	  "--by container,pod* shows the names, or the ids of containers without one. "
	  "*report --container-names* gives other names." },
	{ "EXIT STATUS",
	  "The profiled command's own status, or the signal that ended it. 127 if the "
	  "command is not found, and 126 if it can't be run. 1 if recording failed, and "
	  "2 for wrong usage." },
	{ "SIGNALS", "Ctrl-C goes to the command, as it would without assay. The recording ends "
		     "when the command ends, or at the second Ctrl-C. Without a command, Ctrl-C, "
		     "SIGTERM and SIGHUP end the recording. The session is whole in each case. "
		     "After SIGKILL, all but the last second is there." },
	{ NULL, NULL },
};

const struct command record_command = {
	.name = "record",
	.summary = "profile a command, a process, a cgroup or the whole machine",
	.synopsis = "[OPTIONS] [--] [COMMAND [ARG…]]",
	.description =
		"Takes samples of running code and keeps the profile in a session directory. "
		"*assay report* reads it. Every sample has its process, thread, command name, "
		"CPU and call chain. Lost samples are counted and stored beside them.",
	.options = OPTIONS_AND_ALIASES(record_options, perf_record_options),
	.common = "p,a,e,o,d",
	.sections = record_sections,
	.examples = record_examples,
	.run = record_run,
};
