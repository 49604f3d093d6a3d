/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay trace: what led to a moment, as calls over time. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "calls/call_timeline.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "commands/timeline_files.h"
#include "commands/trace_symbol.h"
#include "config.h"
#include "counter/intel_pt.h"
#include "counter/pmu.h"
#include "counter/sources.h"
#include "counter/spec/probe_spec.h"
#include "counter/trigger.h"
#include "counter/uprobe.h"
#include "open/input.h"
#include "guard/parser.h"
#include "record/recorder.h"
#include "record/target_names.h"
#include "record/targets.h"
#include "store/native.h"

#define MARGIN_NS  NS_PER_SECOND /* the kernel's records are read once a second at the least */
#define KEEP_BYTES (256ULL << 20)
#define USUAL_HZ   4000
#define STACK_SIZE 8192

struct trace_args {
	struct option_list symbols, signals, pids;
	struct target_names names;
	const char *output, *html, *perfetto, *source;
	double after_s, keep_s;
	uint64_t freq_hz, aux_bytes, lines;
	bool on_exit, kernel, no_demangle, quiet, with_children;
};

#define FIELD(f) offsetof(struct trace_args, f)
static const struct option_spec trace_options[] = {
	{ 's', "on-symbol", "FUNCTION[@FILE]", OPT_LIST, FIELD(symbols), NULL,
	  "keep the time before a call of this function (of the program, or of FILE)",
	  "If you name several functions, the first call of any of them counts. C++ names need "
	  "no parameters. If several functions have one name, choose one as _NAME #2_ or _NAME "
	  "#g_. A probe is possible, too: _usdt:PATH:PROVIDER:NAME_, or "
	  "_uprobe:PATH:FUNCTION+OFFSET_. "
	  "The option needs a uprobe, and so root or CAP_PERFMON." },
	{ 0, "on-signal", "SIGNAL", OPT_LIST, FIELD(signals), NULL,
	  "keep the time before the delivery of this signal: SEGV, USR1, 10 …" },
	{ 0, "on-exit", NULL, OPT_FLAG, FIELD(on_exit), NULL,
	  "keep the time before the end (the default); calls of --on-symbol are only marked" },
	{ 'a', "after", "TIME", OPT_SECONDS, FIELD(after_s), NULL,
	  "continue for this time after the moment: 10ms, 2s", NULL, 0, 3600 },
	{ 'k', "keep", "TIME", OPT_SECONDS, FIELD(keep_s), "1s",
	  "keep at most this time before the moment", NULL, 0.000001, 3600 },
	{ 'p', "pid", "PID[,PID…]", OPT_LIST, FIELD(pids), NULL, "trace running processes" },
	CHILDREN_OPTION(FIELD(with_children)),
	TARGET_NAME_OPTIONS(names),
	{ 0, "html", "FILE", OPT_STRING, FIELD(html), NULL,
	  "write the calls as a page to look around in" },
	{ 0, "perfetto", "FILE", OPT_STRING, FIELD(perfetto), NULL,
	  "write them as a trace for ui.perfetto.dev" },
	{ 'n', "lines", "N", OPT_U64, FIELD(lines), "40",
	  "print so many calls as text, of the thread of the moment; 0: all calls of all threads",
	  NULL, 0, 1e9 },
	{ 0, "source", "WHAT", OPT_CHOICE, FIELD(source), "best",
	  "how to find calls: pt (Intel PT: each call, exactly), samples, or the best that this "
	  "machine has",
	  "Samples with stacks show calls that are longer than the sampling period. Shorter "
	  "calls are missing. The answer names the method.",
	  0, 0, "best|pt|samples" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "kernel", NULL, OPT_FLAG, FIELD(kernel), NULL,
	  "the kernel's functions, too: system calls, page faults, interrupts" },
	{ 'F', "freq", "HZ", OPT_U64, FIELD(freq_hz), NULL,
	  "samples a second, without Intel PT (default 4000)", NULL, 1, 1e6 },
	{ 'm', "buffer", "BYTES", OPT_SIZE, FIELD(aux_bytes), NULL,
	  "with Intel PT: the ring of trace of each CPU (default 4M; 128k for ordinary users)",
	  NULL, 4096, 1073741824 },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), "trace.data",
	  "the recording, a perf.data file; one that exists is kept as FILE.old" },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print the calls and errors only" },
};

static const struct counter_sources sources;

struct tracing {
	struct trace_args args;
	struct option_list operands;
	struct input *in;
	struct pid_list pids, tids;
	struct cpu_list cpus;
	struct counters counters;
	size_t first_trigger; /* those from here on */
	bool has_trace;       /* Intel PT */
	char **argv, **command_line;
	uint64_t freq_hz;

	/* While it runs. */
	struct recorder_control control;
	int32_t fired; /* index of the counter; -1: not yet */
	struct recorder_result result;
	char source[256];
};

/* Whether this is a moment to keep, rather than one to be marked alone. */
static bool is_stopped_by_triggers(const struct tracing *t)
{
	return !t->args.on_exit;
}

/* Steering. */

static void end_later(struct tracing *t, struct recorder *r)
{
	double seconds = t->args.after_s;
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)seconds } };

	when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
	if (seconds <= 0 || timerfd_settime(t->control.fd, 0, &when, NULL) < 0)
		recorder_stop(r);
}

static int on_tick(void *context, struct recorder *r, uint64_t now_ns, struct error *err)
{
	struct tracing *t = context;

	(void)now_ns, (void)err;
	if (t->fired >= 0 || !is_stopped_by_triggers(t))
		return 0;
	for (size_t i = t->first_trigger; i < t->counters.n && t->fired < 0; i++)
		if (recorder_counted(r, (uint32_t)i))
			t->fired = (int32_t)i;
	if (t->fired < 0)
		return 0;
	/* At once: the hardware goes on to write over what is wanted. */
	if (t->has_trace && recorder_snapshot(r, err) < 0)
		return err->code;
	end_later(t, r);
	return 0;
}

static int on_timer(void *context, struct recorder *r, struct error *err)
{
	struct tracing *t = context;
	uint64_t n;

	(void)err;
	if (read(t->control.fd, &n, sizeof(n)) == sizeof(n))
		recorder_stop(r);
	return 0;
}

/* What to count. */

static int use_trace(struct tracing *t, struct error *err)
{
	struct counter_rate rate = { 0 };
	const char *event = t->args.kernel ? INTEL_PT "//" : INTEL_PT "//u";
	int r = counter_parse(&sources, event, &rate, &t->counters, err);

	t->has_trace = r >= 0;
	snprintf(t->source, sizeof(t->source), "Intel PT, every call");
	return r;
}

static int use_samples(struct tracing *t, struct error *err)
{
	uint64_t most = sources_max_rate(&sources);
	struct counter_rate rate = { .freq_hz = t->args.freq_hz };

	if (!rate.freq_hz)
		rate.freq_hz = most ? MIN(USUAL_HZ, most) : USUAL_HZ;
	t->freq_hz = rate.freq_hz;
	return counter_parse(&sources, t->args.kernel ? "cpu-clock" : "cpu-clock:u", &rate,
			     &t->counters, err);
}

static bool has_intel_pt(void)
{
	uint32_t type;

	return pmu_type(&sources, INTEL_PT, &type);
}

static int choose_source(struct tracing *t, struct error *err)
{
	bool is_best = !strcmp(t->args.source, "best"), has_pt = has_intel_pt();

	if (!strcmp(t->args.source, "pt") || (is_best && has_pt))
		return use_trace(t, err);
	if (is_best)
		log_info(
			"this machine has no Intel PT ('assay doctor' explains why): a ring of "
			"samples with stacks shows calls that are longer than the sampling period");
	return use_samples(t, err);
}

static int add_triggers(struct tracing *t, struct error *err)
{
	struct trace_symbol_target target = {
		.command = t->argv ? t->argv[0] : NULL,
		.pid = t->pids.n ? t->pids.data[0] : 0,
	};
	int r = 0;

	t->first_trigger = t->counters.n;
	vec_foreach (&t->args.symbols, symbol) {
		struct trace_place place;

		if (probe_is_spec(*symbol)) {
			r = trigger_on_probe(&sources, *symbol, &t->counters, err);
			if (r < 0)
				return r;
			continue;
		}
		r = trigger_check_calls(&sources, *symbol, err);
		if (r >= 0)
			r = trace_symbol_find(&target, *symbol, &place, err);
		if (r < 0)
			return r;
		r = trigger_on_call(&sources, place.name, place.path, place.file_off, &t->counters,
				    err);
		trace_place_fini(&place);
		if (r < 0)
			return r;
	}
	if (uprobe_scope(&t->counters))
		log_info("--on-symbol sees the command's first thread, or the present threads of "
			 "-p: the kernel can't pass it on to later threads and processes");
	vec_foreach (&t->args.signals, text) {
		r = signal_parse(*text, err);
		if (r >= 0)
			r = trigger_on_signal(&sources, r, &t->counters, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Recording. */

static int run(struct tracing *t, struct error *err)
{
	uint64_t window_ns = (uint64_t)((t->args.keep_s + t->args.after_s) * 1e9);
	struct recorder_config config = {
		.ops = &native_store,
		.dir = t->args.output,
		.raw = t->args.output,
		.raw_argv = t->command_line,
		.version = ASSAY_VERSION,
		.counters = &t->counters,
		.sources = &sources,
		.note = "",
		.stacks = t->has_trace ? STACKS_NONE : STACKS_COPIED,
		.is_stacks_wish = true,
		.stack_bytes = STACK_SIZE,
		.keep_ns = t->has_trace ? 0 : window_ns + MARGIN_NS,
		.keep_bytes = KEEP_BYTES,
		.aux_mode = AUX_SNAPSHOTS,
		.aux_bytes = t->args.aux_bytes,
		.snapshot_at_end = true,
		.argv = t->argv,
		.pids = &t->pids,
		.tids = &t->tids,
		.cpus = &t->cpus,
		.control = &t->control,
	};
	int r;

	t->fired = -1;
	t->control = (struct recorder_control){
		.ready = on_timer,
		.tick = on_tick,
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.context = t,
	};
	if (t->control.fd < 0)
		return error_errno(err, -errno, "timerfd_create");
	parser_be_modest();
	r = recorder_run(&config, &t->result, err);
	close(t->control.fd);
	return r;
}

/* The answer. */

static void describe_end(const struct tracing *t, char *text, size_t size)
{
	int status = t->result.wait_status;

	switch (t->result.end) {
	case END_COMMAND:
		if (WIFSIGNALED(status))
			snprintf(text, size, "the command was ended by %s",
				 strsignal(WTERMSIG(status)));
		else
			snprintf(text, size, "the command ended with status %d",
				 WEXITSTATUS(status));
		break;
	case END_TARGET:
		snprintf(text, size, "the process ended");
		break;
	case END_SIGNAL:
		snprintf(text, size, "you asked for it (Ctrl-C)");
		break;
	default:
		snprintf(text, size, "it was asked for");
		break;
	}
}

static const char *comm_of(const struct call_timeline *timeline, int32_t tid)
{
	vec_foreach (&timeline->threads, thread)
		if (thread->tid == tid)
			return thread->comm;
	return "";
}

/*
 * A signal that ends a process without a handler for it is not delivered: the kernel makes it a
 * SIGKILL of each thread (complete_signal()). The wait status of a command has the signal.
 */
static bool has_signal_ended(const struct tracing *t)
{
	int status = t->result.wait_status;

	if (t->result.end != END_COMMAND || !WIFSIGNALED(status))
		return false;
	vec_foreach (&t->args.signals, name)
		if (signal_parse(*name, NULL) == WTERMSIG(status))
			return true;
	return false;
}

static void describe_what_did_not_come(const struct tracing *t, char *text, size_t size)
{
	bool may_be_a_signal = t->args.signals.n && t->result.end == END_TARGET;

	if (!is_stopped_by_triggers(t) || !(t->args.symbols.n || t->args.signals.n) ||
	    has_signal_ended(t))
		return;
	snprintf(text + strlen(text), size - strlen(text), ", and the moment did not come%s",
		 may_be_a_signal ? " (for a signal without a handler, only the end is visible)"
				 : "");
}

/* "trigger:F", of the counter that fired, as a sentence. */
static void describe_cause(const struct tracing *t, const struct call_timeline *timeline,
			   char *text, size_t size)
{
	const char *name = t->fired >= 0 ? strchr(t->counters.data[t->fired].name, ':') + 1 : NULL;
	bool is_signal = name && !t->counters.data[t->fired].probed;

	if (!name) {
		describe_end(t, text, size);
		describe_what_did_not_come(t, text, size);
	} else if (timeline->marks.n) {
		snprintf(text, size,
			 is_signal ? "%s came to thread %d (%s)"
				   : "%s was called by thread %d (%s)",
			 name, timeline->marks.data[0].tid,
			 comm_of(timeline, timeline->marks.data[0].tid));
	} else {
		snprintf(text, size, is_signal ? "%s came" : "%s was called", name);
	}
}

static int print_text(const struct tracing *t, const struct call_timeline *timeline,
		      const struct timeline_words *words, struct error *err)
{
	struct output out;
	int r = output_open(&out, NULL, true, err);

	if (r < 0)
		return r;
	call_timeline_print(timeline, words, t->args.lines, out.file);
	return output_close(&out, err);
}

static int trace_show(const struct tracing *t, const struct call_timeline *timeline,
		      const struct timeline_words *words, struct error *err)
{
	int r = 0;

	if (t->args.html)
		r = timeline_write_page(timeline, words, t->args.html, err);
	if (t->args.perfetto && r >= 0)
		r = timeline_write_perfetto(timeline, t->args.perfetto, err);
	if (!t->args.html && !t->args.perfetto)
		return print_text(t, timeline, words, err);
	if (r >= 0)
		log_info("kept because %s: %zu call%s of %zu thread%s in %s", words->cause,
			 timeline->calls.n, timeline->calls.n == 1 ? "" : "s", timeline->threads.n,
			 timeline->threads.n == 1 ? "" : "s",
			 t->args.html ? t->args.html : t->args.perfetto);
	return r;
}

static char *describe_target(const struct tracing *t)
{
	struct buf text = { 0 };
	char *copy;

	for (char **word = t->argv; word && *word; word++)
		buf_printf(&text, "%s%s", text.len ? " " : "", *word);
	if (!t->argv)
		vec_foreach (&t->pids, pid)
			buf_printf(&text, "%s%d", text.len ? "," : "process ", *pid);
	copy = xstrdup(buf_cstr(&text));
	buf_fini(&text);
	return copy;
}

static int answer(struct tracing *t, struct error *err)
{
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols =
		input_symbolizer(t->in, NULL, NULL);
	cleanup(free_at_exit) char *target = describe_target(t);
	char cause[256];
	struct call_timeline timeline;
	struct call_timeline_config config = {
		.path = t->args.output,
		.symbolizer = symbols,
		.mark = t->counters.n > t->first_trigger ? "trigger:" : NULL,
		.before_ns = (uint64_t)(t->args.keep_s * 1e9),
		.after_ns = (uint64_t)(t->args.after_s * 1e9),
	};
	struct timeline_words words = { .command = target, .cause = cause, .source = t->source };
	int r;

	config.zero_at_end = t->fired < 0;
	r = call_timeline_read(&config, &timeline, err);
	if (!t->has_trace)
		snprintf(t->source, sizeof(t->source),
			 "%" PRIu64 " samples with stacks a second of CPU time (%s)%s", t->freq_hz,
			 stack_source_texts[t->result.stacks],
			 has_intel_pt() ? "" : "; this machine has no Intel PT");
	describe_cause(t, &timeline, cause, sizeof(cause));
	if (r >= 0)
		r = trace_show(t, &timeline, &words, err);
	else if (r == -ENODATA)
		r = error_set(err, r, "kept because %s, but it is empty: %s", cause,
			      t->has_trace ? "no user code ran"
					   : "it used too little CPU time for a sample");
	call_timeline_fini(&timeline);
	return r;
}

/* The command goes on after the moment; it is ours to wait for, as for any shell. */
static int wait_for_command(struct tracing *t)
{
	int status = t->result.wait_status;

	if (status >= 0 || !t->argv || t->result.command_pid <= 0)
		return status;
	log_info("the command goes on; assay waits for its end");
	fflush(NULL);
	signal(SIGINT, SIG_IGN); /* it gets Ctrl-C by the terminal */
	while (waitpid(t->result.command_pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int trace(struct tracing *t)
{
	struct error err = { 0 };
	int r = choose_source(t, &err), status;

	if (r >= 0)
		r = target_complete(&t->args.names, t->args.with_children, &t->pids, &err);
	if (r >= 0)
		r = add_triggers(t, &err);
	status = r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	if (r >= 0)
		r = run(t, &err);
	if (t->result.note[0])
		log_info("%s", t->result.note);
	if (t->result.counts.lost)
		log_warning("%" PRIu64 " samples were lost, so calls may be missing",
			    t->result.counts.lost);
	if (r >= 0)
		r = answer(t, &err);
	if (r < 0)
		log_error("trace: %s", err.text);
	if (t->result.has_command_failed_to_start)
		return r == -ENOENT ? 127 : 126;
	if (r < 0)
		return status;
	t->result.wait_status = wait_for_command(t);
	return pass_on_status(t->result.wait_status);
}

static int trace_check(struct tracing *t, struct error *err)
{
	const struct trace_args *a = &t->args;
	bool has_names = target_has_names(&a->names);
	int r = parse_ids(&a->pids, "process", &t->pids, err);

	if (!r)
		r = target_check(&a->names, a->with_children, &t->pids, &t->tids, err);
	if (r < 0)
		return r;
	if (!t->operands.n == !(t->pids.n || has_names))
		return error_set(err, -EINVAL,
				 t->operands.n
					 ? "a command and running processes exclude each other"
					 : "nothing to trace: give a command, or -p PID");
	vec_foreach (&t->args.signals, text)
		if (signal_parse(*text, err) < 0)
			return -EINVAL;
	t->argv = t->operands.n ? xcalloc(t->operands.n + 1, sizeof(*t->argv)) : NULL;
	for (size_t i = 0; i < t->operands.n; i++)
		t->argv[i] = (char *)t->operands.data[i];
	return 0;
}

static void tracing_fini(struct tracing *t)
{
	option_list_fini(&t->args.symbols);
	option_list_fini(&t->args.signals);
	option_list_fini(&t->args.pids);
	option_list_fini(&t->operands);
	counters_fini(&t->counters);
	vec_fini(&t->pids);
	vec_fini(&t->tids);
	free(t->argv);
	free(t->command_line);
	input_free(t->in);
}

static int trace_run(const struct command *self, int argc, char **argv)
{
	struct tracing t = { .result.wait_status = -1 };
	struct error err = { 0 };
	int status = command_begin(self, true, argc, argv, &t.args, &t.operands);

	t.command_line = xcalloc((size_t)argc + 2, sizeof(*t.command_line));
	t.command_line[0] = "assay";
	for (int i = 0; i < argc; i++)
		t.command_line[i + 1] = argv[i];
	if (t.args.quiet)
		log_set_level(LOG_QUIET);
	if (status < 0)
		status = opening_begin("trace",
				       &(struct open_config){ .no_demangle = t.args.no_demangle },
				       &t.in);
	if (status < 0 && trace_check(&t, &err) < 0) {
		log_error("trace: %s", err.text);
		status = EXIT_USAGE;
	} else if (status < 0) {
		status = trace(&t);
	}
	tracing_fini(&t);
	return status;
}

static const struct command_section trace_sections[] = {
	{ "THE MOMENT",
	  "assay always keeps a ring of the executed code, and overwrites it. The first "
	  "of these moments saves the ring: a call of an *--on-symbol* function, the "
	  "delivery of an *--on-signal* signal, the end of the command or process, or "
	  "Ctrl-C. With *--on-exit*, only the end does, and the others are marked. If "
	  "the moment does not come, assay says so and shows the end instead. A signal "
	  "that ends a program which has no handler for it, and leaves no core, is not "
	  "delivered: the moment is the end." },
	{ "WHAT IS SHOWN",
	  "Calls of functions by thread. Each has its begin, counted from the moment, "
	  "and its duration. The calls that it made are below it, to the right. With "
	  "Intel PT each call is there, exactly; *?* is the duration of a call whose "
	  "begin or end was not seen. Without, samples with stacks tell: a function "
	  "counts as going on from one sample to the next while its callers do.\n\nThe "
	  "recording is a perf.data file: *assay report -i trace.data* and *perf* read "
	  "it, too." },
	{ "EXIT STATUS", "The command's own status. If the command goes on after the moment, assay "
			 "waits for it. 1 if tracing failed, 2 for wrong usage, 126 and 127 as for "
			 "*assay record*." },
	{ NULL, NULL },
};

static const struct command_example trace_examples[] = {
	{ "assay trace -- ./app", "the last second before a program ends, or crashes" },
	{ "assay trace --on-symbol shop::sell --html sale.html -- ./app",
	  "the calls before the first sale" },
	{ "assay trace -p 1234 --on-symbol write@/lib/x86_64-linux-gnu/libc.so.6 --after 10ms",
	  "around the next write of a running process" },
	{ "assay trace -p 1234 --perfetto now.perfetto-trace", "the last second, at Ctrl-C" },
	{ NULL, NULL },
};

const struct command trace_command = {
	.name = "trace",
	.summary = "show the calls that led to a function, a signal or the end",
	.synopsis = "[OPTIONS] [--] COMMAND [ARG…] | -p PID",
	.description = "Follows a program with a ring that is written over all the time, and keeps "
		       "it at the moment that is asked for. Then it shows which functions each "
		       "thread was in, from when to when: as text, as a page, or in Perfetto. By "
		       "Intel PT where the processor has it, else by samples.",
	.options = OPTIONS(trace_options),
	.common = "s,on-signal,p,a,html",
	.sections = trace_sections,
	.examples = trace_examples,
	.run = trace_run,
};
