/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay script: one line a sample. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "collect/rings.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "commands/script_help.h"
#include "open/input.h"
#include "pt/flow.h"
#include "replay/replay.h"
#include "script/script.h"
#include "store/session.h"
#include "symbol/symbols.h"
#include "trace/branch_filter.h"
#include "trace/itrace.h"

struct script_args {
	const char *input, *output, *format, *cache, *time, *around, *cpus, *interleave;
	const char *kallsyms, *frames;
	struct option_list fields, comms, pids, tids, dsos, symbols, stop_at;
	uint64_t max_stack;
	bool hides_chains, with_ns, is_relative, is_delta, is_dump, no_pager, with_brackets;
	const char *itrace, *insn_trace, *filter;
	bool verbose, header, header_only, inlined;
	bool no_demangle, no_itrace, xed, call_trace, call_ret_trace, exact_depth;
	bool tasks, mappings, switches, losses, namespaces, cgroups, bpf, text_poke;
	struct window_args window;
	struct code_args code;
};

#define FIELD(f) offsetof(struct script_args, f)
static const struct option_spec script_options[] = {
	INPUT_OPTION(FIELD(input), "print"),
	WINDOW_OPTIONS(FIELD(window)),
	CODE_OPTIONS(FIELD(code)),
	{ 'F', "fields", "FIELDS", OPT_LIST, FIELD(fields), NULL,
	  "what a line shows, comma-separated; +FIELD adds one, -FIELD takes one off",
	  "*hw:*, *sw:*, *trace:* or *raw:* in front chooses the type of events. See FIELDS." },
	{ 0, "time", "SPAN", OPT_STRING, FIELD(time), NULL,
	  "samples of START,STOP (seconds), or of a share of the time: 10%/2, 10%-30%",
	  "Either end may be left out. With *--reltime* seconds count from the beginning. Several "
	  "spans have blanks between them, several shares "
	  "commas." },
	{ 0, "around", "TIME[,SPAN]", OPT_STRING, FIELD(around), NULL,
	  "samples from SPAN before TIME (seconds) to SPAN behind it: 12.5,50us",
	  "The default of SPAN is 10us. Of a processor trace, only this part is decoded." },
	{ 'c', "comms", "COMMS", OPT_LIST, FIELD(comms), NULL, "only samples of these commands" },
	{ 0, "pid", "PIDS", OPT_LIST, FIELD(pids), NULL, "only samples of these processes" },
	{ 0, "tid", "TIDS", OPT_LIST, FIELD(tids), NULL, "only samples of these threads" },
	{ 'C', "cpu", "CPUS", OPT_STRING, FIELD(cpus), NULL, "only samples of these CPUs: 0-3,8" },
	{ 'd', "dsos", "IMAGES", OPT_LIST, FIELD(dsos), NULL,
	  "only samples in these images (paths or names; * and ? match)" },
	{ 'S', "symbols", "NAMES", OPT_LIST, FIELD(symbols), NULL,
	  "only samples in these functions" },
	{ 'G', "hide-call-graph", NULL, OPT_FLAG, FIELD(hides_chains), NULL,
	  "only the sampled place, without callers" },
	{ 0, "max-stack", "N", OPT_U64, FIELD(max_stack), "127", "at most N frames of a call chain",
	  NULL, 1, 1e6 },
	FRAMES_OPTION(FIELD(frames)),
	{ 0, "stop-bt", "NAMES", OPT_LIST, FIELD(stop_at), NULL,
	  "end a call chain behind a frame of one of these functions" },
	{ 0, "inline", NULL, OPT_FLAG, FIELD(inlined), NULL,
	  "show the inlined functions of each frame, too",
	  "Off by default, unlike in perf, because it needs the debug information of every image "
	  "in "
	  "a chain." },
	{ 0, "ns", NULL, OPT_FLAG, FIELD(with_ns), NULL, "times with nine digits" },
	{ 0, "reltime", NULL, OPT_FLAG, FIELD(is_relative), NULL,
	  "times since the first sample that is shown" },
	{ 0, "deltatime", NULL, OPT_FLAG, FIELD(is_delta), NULL, "times since the previous line" },
	{ 0, "brackets", NULL, OPT_FLAG, FIELD(with_brackets), NULL,
	  "name code of stripped images by the symbols around it, where perf has [unknown]" },
	{ 0, "show-task-events", NULL, OPT_FLAG, FIELD(tasks), NULL, "FORK, COMM and EXIT, too" },
	{ 0, "show-mmap-events", NULL, OPT_FLAG, FIELD(mappings), NULL, "mappings, too" },
	{ 0, "show-switch-events", NULL, OPT_FLAG, FIELD(switches), NULL, "context switches, too" },
	{ 0, "all-switch-events", NULL, OPT_FLAG, FIELD(switches), NULL,
	  "the same as --show-switch-events, as in perf's intel-pt-events.py" },
	{ 0, "interleave", "N", OPT_OPTIONAL, FIELD(interleave), NULL,
	  "of several CPUs at the same time, show N lines of each in turn (default 4)", NULL,
	  .implied = "4" },
	{ 0, "show-lost-events", NULL, OPT_FLAG, FIELD(losses), NULL, "lost records, too" },
	{ 0, "show-namespace-events", NULL, OPT_FLAG, FIELD(namespaces), NULL, "namespaces, too" },
	{ 0, "show-cgroup-events", NULL, OPT_FLAG, FIELD(cgroups), NULL, "cgroups, too" },
	{ 0, "show-bpf-events", NULL, OPT_FLAG, FIELD(bpf), NULL,
	  "BPF programs and kernel symbols that came or went, too" },
	{ 0, "show-text-poke-events", NULL, OPT_FLAG, FIELD(text_poke), NULL,
	  "changes of the kernel's code, too" },
	{ 0, "itrace", "OPTIONS", OPT_OPTIONAL, FIELD(itrace), NULL,
	  "make samples of a processor trace (Intel PT): letters, see ITRACE",
	  "Default: *" ITRACE_DEFAULT_SCRIPT "*.", .implied = ITRACE_DEFAULT_SCRIPT },
	BRANCH_FILTER_OPTION(FIELD(filter)),
	{ 0, "insn-trace", "HOW", OPT_OPTIONAL, FIELD(insn_trace), NULL,
	  "every instruction of a trace: disasm (as assembly), or raw (its bytes)", NULL,
	  .choices = "disasm|raw", .implied = "disasm" },
	{ 0, "xed", NULL, OPT_FLAG, FIELD(xed), NULL,
	  "the same as --insn-trace=disasm, which needs no xed; for command lines that are written "
	  "for "
	  "perf" },
	{ 0, "call-trace", NULL, OPT_FLAG, FIELD(call_trace), NULL,
	  "the calls of a trace, indented by depth" },
	{ 0, "call-ret-trace", NULL, OPT_FLAG, FIELD(call_ret_trace), NULL,
	  "the calls and returns of a trace, indented by depth" },
	{ 0, "exact-depth", NULL, OPT_FLAG, FIELD(exact_depth), NULL,
	  "with --time: the depth of calls counts from the begin of the trace",
	  "assay then also decodes the trace before the window. Else the depth counts from the "
	  "window's begin, as in perf." },
	{ 0, "no-itrace", NULL, OPT_FLAG, FIELD(no_itrace), NULL, "do not decode the trace" },
	{ 0, "header", NULL, OPT_FLAG, FIELD(header), NULL,
	  "the facts of a perf.data file first, in lines that begin with #" },
	{ 'I', "show-info", NULL, OPT_FLAG, FIELD(header), NULL, "the same as --header" },
	{ 0, "header-only", NULL, OPT_FLAG, FIELD(header_only), NULL, "these facts alone" },
	{ 0, "kallsyms", "FILE", OPT_STRING, FIELD(kallsyms), NULL,
	  "the symbols of the kernel that was recorded: a copy of its /proc/kallsyms" },
	{ 'v', "verbose", NULL, OPT_FLAG, FIELD(verbose), NULL, "more messages" },
	{ 'D', "dump-raw-trace", NULL, OPT_FLAG, FIELD(is_dump), NULL,
	  "every record of the file, with offset, size, type, content and bytes" },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text",
	  "text, or json: an object a line", .choices = "text|json" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

/* Which events each flag shows. */
static const struct {
	size_t field;
	uint32_t events;
} shows[] = {
	{ FIELD(tasks), SCRIPT_SHOW(COMM) | SCRIPT_SHOW(FORK) | SCRIPT_SHOW(EXIT) },
	{ FIELD(mappings), SCRIPT_SHOW(MAPPING) },
	{ FIELD(switches), SCRIPT_SHOW(SWITCH) },
	{ FIELD(losses), SCRIPT_SHOW(LOST) | SCRIPT_SHOW(LOST_SAMPLES) },
	{ FIELD(namespaces), SCRIPT_SHOW(NAMESPACES) },
	{ FIELD(cgroups), SCRIPT_SHOW(CGROUP) },
	{ FIELD(bpf), SCRIPT_SHOW(BPF_PROGRAM) | SCRIPT_SHOW(KSYMBOL) },
	{ FIELD(text_poke), SCRIPT_SHOW(TEXT_POKE) },
};

/* One run: its options and its input. */
struct run {
	struct script_args args;
	struct script_options options;
	struct option_list words; /* the lists' items, one by one */
	struct script_input input;
	struct input *in;
	struct session *session;
	struct replay *replay;
	bool is_damaged; /* the session is of a damaged file */
	struct itrace itrace;
	struct branch_filter branches;  /* --filter */
	const char *itrace_text;        /* NULL: not asked for */
	const char *trace_view;         /* the option that asks for a view of a trace, or NULL */
	struct time_span up_to_windows; /* --exact-depth: all before the end of the windows */
	struct query window;            /* nothing else of it */
};

static void run_fini(struct run *r)
{
	option_list_fini(&r->args.fields);
	option_list_fini(&r->args.code.image_path);
	option_list_fini(&r->args.comms);
	option_list_fini(&r->args.pids);
	option_list_fini(&r->args.tids);
	option_list_fini(&r->args.dsos);
	option_list_fini(&r->args.symbols);
	option_list_fini(&r->args.stop_at);
	vec_fini(&r->options.stop_at);
	script_filter_fini(&r->options.filter);
	branch_filter_fini(&r->branches);
	vec_foreach (&r->words, word)
		free((char *)*word);
	option_list_fini(&r->words);
	replay_close(r->replay);
	session_close(r->session);
	input_free(r->in);
}

/* What is typed. */

/* The items of comma-separated lists; they stay until the run is over. */
static void script_split_fields(struct run *r, const struct option_list *lists,
				struct option_list *out)
{
	vec_foreach (lists, list) {
		for (const char *at = *list; *at;) {
			size_t len = strcspn(at, ",");

			vec_push(&r->words, xstrndup(at, len));
			vec_push(out, r->words.data[r->words.n - 1]);
			at += len + (at[len] == ',');
		}
	}
}

static int parse_ids(struct run *r, const struct option_list *lists, const char *what,
		     int32_t **ids, size_t *n, struct error *err)
{
	cleanup(option_list_fini) struct option_list words = { 0 };

	script_split_fields(r, lists, &words);
	*ids = xcalloc(words.n + 1, sizeof(**ids));
	for (*n = 0; *n < words.n; ++*n) {
		char *end;
		long id = strtol(words.data[*n], &end, 10);

		if (end == words.data[*n] || *end || id < -1 || id > INT32_MAX)
			return error_set(err, -EINVAL, "'%s' is not a %s id", words.data[*n], what);
		(*ids)[*n] = (int32_t)id;
	}
	return 0;
}

static void take_words(struct run *r, const struct option_list *lists, const char ***out, size_t *n)
{
	struct option_list words = { 0 };

	script_split_fields(r, lists, &words);
	*out = words.data;
	*n = words.n;
}

static int parse_filter(struct run *r, struct error *err)
{
	struct script_filter *f = &r->options.filter;
	struct cpu_list cpus = { 0 };
	int e;

	take_words(r, &r->args.comms, &f->comms.data, &f->comms.n);
	take_words(r, &r->args.dsos, &f->dsos.data, &f->dsos.n);
	take_words(r, &r->args.symbols, &f->symbols.data, &f->symbols.n);
	take_words(r, &r->args.stop_at, &r->options.stop_at.data, &r->options.stop_at.n);
	if ((e = parse_ids(r, &r->args.pids, "process", &f->pids.data, &f->pids.n, err)) < 0 ||
	    (e = parse_ids(r, &r->args.tids, "thread", &f->tids.data, &f->tids.n, err)) < 0)
		return e;
	if (!r->args.cpus)
		return 0;
	e = cpu_list_parse(r->args.cpus, &cpus, err);
	f->cpus.data = cpus.data;
	f->cpus.n = cpus.n;
	return e;
}

/* The views of a trace: their fields, and the decoding (unless --itrace is given). */
static const struct {
	size_t field;
	const char *option, *itrace;
	uint64_t add, remove;
	uint32_t dso_width;
} trace_views[] = {
	{ FIELD(insn_trace), "--insn-trace", "i0ns", 0, FIELD_BIT(EVENT) | FIELD_BIT(PERIOD), 0 },
	{ FIELD(call_trace), "--call-trace", "cewp", FIELD_BIT(CALLINDENT),
	  FIELD_BIT(IP) | FIELD_BIT(ADDR) | FIELD_BIT(EVENT) | FIELD_BIT(PERIOD), 50 },
	{ FIELD(call_ret_trace), "--call-ret-trace", "crewp",
	  FIELD_BIT(CALLINDENT) | FIELD_BIT(FLAGS),
	  FIELD_BIT(IP) | FIELD_BIT(ADDR) | FIELD_BIT(EVENT) | FIELD_BIT(PERIOD), 0 },
};

static bool is_view_asked(const struct script_args *a, size_t field)
{
	return field == FIELD(insn_trace) ? a->insn_trace != NULL
					  : *(const bool *)((const char *)a + field);
}

static int parse_trace(struct run *r, struct error *err)
{
	const struct script_args *a = &r->args;
	struct script_options *o = &r->options;
	int e;

	for (size_t i = 0; i < ARRAY_SIZE(trace_views); i++) {
		if (!is_view_asked(a, trace_views[i].field))
			continue;
		if (r->itrace_text)
			return error_set(err, -EINVAL,
					 "--insn-trace, --call-trace and --call-ret-trace are "
					 "separate views: choose "
					 "one of them");
		r->itrace_text = trace_views[i].itrace;
		r->trace_view = trace_views[i].option;
		script_fields_preset(&o->fields, trace_views[i].add, trace_views[i].remove);
		o->with_ns = true;
		o->dso_width = trace_views[i].dso_width;
	}
	if (a->xed)
		script_fields_preset(&o->fields, FIELD_BIT(DISASM), 0);
	else if (a->insn_trace)
		script_fields_preset(&o->fields,
				     strcmp(a->insn_trace, "raw") ? FIELD_BIT(DISASM)
								  : FIELD_BIT(INSN),
				     0);
	if (a->itrace)
		r->itrace_text = a->itrace;
	if (a->filter && !r->trace_view)
		r->trace_view = "--filter";
	if (a->filter && a->no_itrace)
		return error_set(err, -EINVAL, "--filter: --no-itrace leaves no branches for it");
	e = itrace_parse(r->itrace_text ? r->itrace_text : ITRACE_DEFAULT_SCRIPT, &r->itrace, err);
	return e < 0 ? error_wrap(err, e, "--itrace")
		     : itrace_take_filter(&r->itrace, a->filter, &r->branches, err);
}

/* What fields need of the decoding. */
static void fit_trace(struct run *r)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < SCRIPT_TYPES; i++)
		all |= r->options.fields.of_type[i];
	r->itrace.with_bytes = all & (FIELD_BIT(INSN) | FIELD_BIT(DISASM));
	r->itrace.with_depth = all & FIELD_BIT(CALLINDENT);
}

static bool needs_stacks(const struct itrace *o)
{
	return o->with_depth || o->chains || o->adds_chains;
}

/* Decodes only the spans of --time, or with --exact-depth all before their end, too. */
static void fit_windows(struct run *r)
{
	r->itrace.spans = r->options.filter.spans.data;
	r->itrace.n_spans = r->options.filter.spans.n;
	if (!r->itrace.n_spans || !needs_stacks(&r->itrace))
		return;
	if (!r->args.exact_depth) {
		log_warning("the depth of calls counts from the begin of the window; with "
			    "--exact-depth, from that of the trace");
		return;
	}
	vec_foreach (&r->options.filter.spans, span)
		r->up_to_windows.last_ns = MAX(r->up_to_windows.last_ns, span->last_ns);
	r->itrace.spans = &r->up_to_windows;
	r->itrace.n_spans = 1;
}

static int parse_interleave(const char *text, struct script_options *o, struct error *err)
{
	char *end;
	unsigned long n;

	if (!text)
		return 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || !n || n > UINT16_MAX)
		return error_set(err, -EINVAL, "--interleave: '%s' is no number of lines", text);
	o->interleave = (uint32_t)n;
	return 0;
}

static int parse(struct run *r, struct error *err)
{
	const struct script_args *a = &r->args;
	struct script_options *o = &r->options;
	int e;

	*o = (struct script_options){
		.max_stack = (uint32_t)a->max_stack,
		.frames = shown_frames_find(a->frames),
		.hides_chains = a->hides_chains,
		.with_inlined = a->inlined,
		.with_ns = a->with_ns,
		.is_relative = a->is_relative,
		.is_delta = a->is_delta,
		.is_json = !strcmp(a->format, "json"),
		.no_packets = a->no_itrace,
	};
	script_fields_init(&o->fields);
	e = parse_trace(r, err);
	e = e < 0 ? e : parse_interleave(a->interleave, o, err);
	if (e < 0)
		return e;
	vec_foreach (&a->fields, text) {
		e = script_fields_parse(&o->fields, *text, err);
		if (e < 0)
			return error_wrap(err, e, "-F");
	}
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++)
		if (*(const bool *)((const char *)a + shows[i].field))
			o->shown |= shows[i].events;
	if (!a->no_itrace)
		o->shown |= SCRIPT_SHOW(TRACE_ERROR) | SCRIPT_SHOW(TRACE_UNVERIFIED);
	return parse_filter(r, err);
}

/* What is read. */

/* Ordinary samples are no answer to the question for calls or instructions. */
static int refuse_trace_view(const struct run *r, const char *path, struct error *err)
{
	return error_set(err, -ENODATA,
			 "%s has no Intel PT, so %s has nothing to show ('assay record -e "
			 "intel_pt//u' records a trace)",
			 path, r->trace_view);
}

/* Decodes the trace, in the spans of --time. Reports options that have no effect. */
static int decode_trace(struct run *r, struct error *err)
{
	int e;

	if (r->session && r->trace_view)
		return refuse_trace_view(r, r->session->path, err);
	if (!r->replay || r->args.no_itrace || r->args.is_dump)
		return 0;
	if (!replay_find_trace(r->replay)) {
		e = replay_no_trace(r->replay, "", err);
		if (r->itrace_text && e == -EBADMSG)
			return e;
		if (r->trace_view)
			return refuse_trace_view(r, r->args.input, err);
		if (r->itrace_text)
			log_warning("%s: %s: there is nothing to decode", r->args.input, err->text);
		return 0;
	}
	fit_trace(r);
	fit_windows(r);
	if (r->itrace.adds_chains)
		r->options.n_with_chains =
			(uint32_t)perfdata_info(replay_data(r->replay))->counters.n;
	e = input_decode(r->in, r->replay, &r->itrace, r->args.input, err);
	return e < 0 ? error_wrap(err, e, "%s", r->args.input) : 0;
}

static int open_input(struct run *r, struct error *err)
{
	const char *path = r->args.input;
	int e = path ? input_unpacked(r->in, path, &path, err) : 0;

	if (e < 0)
		return e;
	/* The archive itself, where it has a session. */
	if (path && !replay_is_perfdata(path))
		path = r->args.input;
	if (path && replay_is_perfdata(path) && r->window.has_window)
		return error_set(err, -EINVAL,
				 "--since, --until and --at are for sessions; a "
				 "perf.data file has --time");
	if (path && replay_is_perfdata(path)) {
		e = input_replay(r->in, r->args.input, path, &r->replay, err);
		r->input.replay = r->replay;
		return e;
	}
	e = input_open_given_window(r->in, path, &r->window, &r->session, &r->is_damaged, err);
	r->input.session = r->session;
	if (!e && (r->args.header || r->args.header_only))
		return error_set(err, -EINVAL, "%s is a session; 'assay info' shows its facts",
				 r->session->path);
	if (!e && r->args.is_dump)
		return error_set(err, -EINVAL,
				 "%s is a session, which has no records; -D is for perf.data files",
				 r->session->path);
	return e;
}

static struct time_span session_span(const struct session *s)
{
	struct time_span whole = { UINT64_MAX, 0 };

	for (uint32_t i = 0; i < s->n_segments; i++) {
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];

			if (!block->n_rows)
				continue;
			whole.first_ns = MIN(whole.first_ns, block->first_ns);
			whole.last_ns = MAX(whole.last_ns, block->last_ns);
		}
	}
	return whole;
}

static int parse_time(struct run *r, struct error *err)
{
	struct script_filter *f = &r->options.filter;
	struct time_span whole = { 0 };
	bool is_share;
	int e;

	if (!r->args.time && !r->args.around)
		return 0;
	if (r->args.time && r->args.around)
		return error_set(err, -EINVAL, "--time and --around: choose one");
	is_share = r->args.time && script_time_is_share(r->args.time);
	if (is_share || r->args.is_relative) {
		if (r->replay)
			replay_time_range(r->replay, &whole.first_ns, &whole.last_ns);
		else
			whole = session_span(r->session);
	}
	e = r->args.time ? script_time_parse(f, r->args.time, &whole, err)
			 : script_time_parse_around(f, r->args.around, err);
	/* Relative times, where times are shown so. */
	if (!e && !is_share)
		vec_foreach (&f->spans, span) {
			span->first_ns += whole.first_ns;
			if (span->last_ns != UINT64_MAX)
				span->last_ns += whole.first_ns;
		}
	return e;
}

static int print(struct run *r, struct error *err)
{
	const struct symbolizer_config config = { .cache_dir = r->args.cache,
						  .system_map = r->args.kallsyms };
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols =
		input_symbolizer_with(r->in, r->args.input, &config);
	struct output out;
	struct error closing = { 0 };
	int e = output_open(&out, r->args.output, !r->options.is_json && !r->args.no_pager, err);

	if (e < 0)
		return e;
	r->input.symbolizer = symbols;
	r->input.with_brackets = r->args.with_brackets;
	r->input.file = out.file;
	if (r->args.header || r->args.header_only)
		script_print_header(r->replay, out.file);
	if (!r->args.header_only)
		e = r->args.is_dump ? script_dump(&r->input, &r->options, err)
				    : script_run(&r->input, &r->options, err);
	/* Closing reports earlier write errors, too. */
	if (output_close(&out, &closing) < 0) {
		*err = closing;
		return closing.code;
	}
	return e == -EPIPE ? 0 : e;
}

static void tell_warnings(const struct run *r)
{
	if (r->session)
		vec_foreach (&r->session->warnings, warning)
			log_warning("%s: %s", r->session->path, *warning);
}

/* Which build it is of, the header says, or the kernel's mapping, which is read by then. */
static void tell_refused_kernel(struct run *r)
{
	struct image_table *images = machine_images(replay_machine(r->replay));

	if (replay_find_trace(r->replay))
		return; /* the decoder says so */
	for (uint32_t i = 0; i < image_count(images); i++) {
		const struct image *image = image_get(images, (image_id){ i });
		const char *refused = image->kind == IMAGE_KERNEL
					      ? input_refused_vmlinux(r->in, &image->build_id)
					      : NULL;

		if (refused)
			log_warning("%s: %s" REFUSED_VMLINUX, r->args.input, refused);
	}
}

static void script_report_trace(struct run *r)
{
	const struct pt_flow_stats *stats = replay_trace_stats(r->replay);
	uint64_t n = 0;

	for (int i = 0; stats && i < N_PT_ERRORS; i++)
		n += stats->errors[i];
	replay_trace_notes(r->replay, opening_note, (void *)r->args.input);
	if (n)
		log_warning("%s: %" PRIu64 " errors in decoding the trace (--itrace=e shows them)",
			    r->args.input, n);
}

static int script_run_command(const struct command *self, int argc, char **argv)
{
	struct run r = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &r.args, &operands), e = 0;

	if (r.args.verbose)
		log_set_level(LOG_VERBOSE);
	if (status < 0 && operands.n) {
		log_error("script: '%s' is not understood; name the recording with -i, and choose "
			  "samples with options: --time, --comms, --pid, --tid, -C …",
			  operands.data[0]);
		status = EXIT_USAGE;
	} else if (status < 0) {
		const struct open_config config = {
			CODE_MEMBERS(r.args),
			.no_demangle = r.args.no_demangle,
		};

		signal(SIGPIPE, SIG_IGN);
		status = EXIT_USAGE;
		e = parse(&r, &err);
		e = e < 0 ? e : input_window(&r.args.window, &r.window, &err);
		if (!e && (status = opening_begin("script", &config, &r.in)) < 0) {
			status = EXIT_FAILED;
			e = open_input(&r, &err);
		} else if (!e) {
			e = 1; /* it is said */
		}
		if (!e && (e = parse_time(&r, &err)) < 0)
			status = EXIT_USAGE;
		e = e ? e : decode_trace(&r, &err);
		if (!e && (e = script_fit(&r.input, &r.options, &err)) < 0)
			status = EXIT_USAGE;
		if (!e) {
			tell_warnings(&r);
			e = print(&r, &err);
			if (r.replay) {
				tell_refused_kernel(&r);
				script_report_trace(&r);
			}
			status = e < 0 || r.is_damaged ? EXIT_FAILED : EXIT_OK;
		}
		if (e < 0 && err.code == -EBADMSG && r.replay)
			log_error("script: %s: %s", r.args.input, err.text);
		else if (e < 0)
			log_error("script: %s", err.text);
	}
	option_list_fini(&operands);
	run_fini(&r);
	return status;
}

static const struct command_example script_examples[] = {
	{ "assay script -i perf.data", "every sample, as perf script prints it" },
	{ "assay script -i perf.data -F comm,tid,time,sym,ip --time 10%/2",
	  "some fields of the second tenth" },
	{ "assay script -i perf.data --format json | jq -r '.frames[0].symbol'",
	  "for programs: an object a line" },
	{ "assay script -i perf.data -D", "the records of the file" },
	{ "assay script -i trace.data --call-ret-trace --time 10%/2",
	  "the calls and returns of the second tenth of an Intel PT recording" },
	{ "assay script -i trace.data --itrace=b -F time,ip,sym,addr,ipc --filter "
	  "'from-symbol:parse to-image:libc.so.6'",
	  "the calls of the C library by one function, with the cycles between them" },
	{ "assay script -i trace.data --insn-trace -C 0 --time 12.5,12.5001",
	  "what CPU 0 ran in a tenth of a millisecond, instruction by instruction" },
	{ NULL, NULL },
};

const struct command script_command = {
	.name = "script",
	.summary = "print every sample, one a line",
	.synopsis = "[OPTIONS]",
	.description =
		"Prints the samples of a perf.data file or of a session in the order of time, "
		"each with its call chain below it. The text equals the text of *perf script*, "
		"field by field. So programs for one read the other, too. docs/script.md lists "
		"the differences.",
	.options = OPTIONS_AND_ALIASES(script_options, perf_script_options),
	.common = "i,F,time,itrace,format",
	.sections = script_sections,
	.examples = script_examples,
	.run = script_run_command,
};
