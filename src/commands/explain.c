/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay explain: the findings that matter, of a session or of a recording that it makes first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/explain_record.h"
#include "commands/opening.h"
#include "explain/explain_print.h"
#include "open/input.h"
#include "pipeline/host.h"
#include "store/session.h"

struct explain_args {
	const char *input, *output, *format, *cache, *pid, *itrace, *filter;
	double duration_s, names_s;
	bool no_demangle, no_itrace, no_pager;
	struct code_args code;
	const char *container_names;
};

#define FIELD(f) offsetof(struct explain_args, f)
static const struct option_spec explain_options[] = {
	INPUT_OPTION(FIELD(input), "explain"),
	{ 'd', "duration", "SECONDS", OPT_SECONDS, FIELD(duration_s), NULL,
	  "record the whole machine for this time first; with -p or a command, end after it", NULL,
	  0.01, 1e9 },
	{ 'p', "pid", "PID[,PID…]", OPT_STRING, FIELD(pid), NULL,
	  "record running processes first (for ten seconds, or --duration)" },
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), NULL,
	  "the directory of the session that is recorded (default: assay.data)",
	  "One that exists is kept as DIR.old." },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text or json",
	  .choices = "text|json" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	NAMES_LIMIT_OPTION(FIELD(names_s)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none" },
};

/* ---- commands that can be typed ---- */

/* " -i DIR", or nothing for the session that commands read by default. */
static char *input_words(const char *session)
{
	char *const words[] = { (char *)session, NULL };
	cleanup(free_at_exit) char *quoted = NULL;

	if (!session || !strcmp(session, DEFAULT_SESSION) || !strcmp(session, "assay.data"))
		return xstrdup("");
	quoted = quote_command(words);
	return xasprintf(" -i %s", quoted);
}

/*
 * Whether a shell takes the text as the words of one command, as quote_command() writes it. A
 * session may come from a stranger.
 */
static bool is_quoted_command(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%^ ";
	bool in_quotes = false;

	for (; *text; text++) {
		if (*text == '\'')
			in_quotes = !in_quotes;
		else if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
		else if (!in_quotes && !strncmp(text, "\\'", 2))
			text++;
		else if (!in_quotes && !strchr(plain, *text))
			return false;
	}
	return !in_quotes;
}

/* The ids of "pid 12,13"; NULL if it is no such target, or a process has ended. */
static const char *living_pids(const char *target)
{
	const char *ids = !strncmp(target, "pid ", 4) ? target + 4 : NULL;
	cleanup(free_at_exit) char *folder = NULL;

	if (!ids || !*ids || ids[strspn(ids, "0123456789,")])
		return NULL;
	folder = xasprintf("/proc/%.*s", (int)strspn(ids, "0123456789"), ids);
	return access(folder, F_OK) == 0 ? ids : NULL;
}

/* The target of another recording of the same. */
static char *target_words_again(const struct session_info *info)
{
	const char *pids = living_pids(info->target);

	if (pids)
		return xasprintf(" -p %s --duration 10", pids);
	if (*info->command && !strcmp(info->target, "command") && is_quoted_command(info->command))
		return xasprintf(" -- %s", info->command);
	return xstrdup(" -a --duration 10");
}

/* ---- the page ---- */

static int print_page(const struct explain_args *args, const struct session *session,
		      const struct explain_facts *facts, struct error *err)
{
	bool is_text = !strcmp(args->format, "text");
	cleanup(free_at_exit) char *input = input_words(args->input);
	cleanup(free_at_exit) char *target = target_words_again(&session->info);
	const struct explain_commands commands = {
		.input = input,
		.record = geteuid() ? "sudo assay record" : "assay record",
		.target = target,
	};
	const struct explain_page page = { session, facts, &commands };
	struct output out;
	int r = output_open(&out, NULL, is_text && !args->no_pager, err);

	if (r < 0)
		return r;
	(is_text ? explain_print_text : explain_print_json)(&page, out.file);
	return output_close(&out, err);
}

/* 1: names come later. */
static int explain_session(struct input *in, const struct explain_args *args,
			   const struct explain_outside *outside, bool *is_damaged,
			   struct error *err)
{
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	struct explain_facts facts;
	int r = input_open_given(in, args->input, &session, is_damaged, err);

	if (r < 0)
		return r;
	vec_foreach (&session->warnings, warning)
		log_warning("%s: %s", session->path, *warning);
	symbols = input_symbolizer(in, args->input, args->cache);
	r = explain_gather(session, symbols, outside, &facts, err);
	if (r >= 0 && !facts.has_samples)
		r = error_set(err, -ENOENT, "%s has no samples, so there is nothing to explain",
			      session->path);
	if (r >= 0)
		r = print_page(args, session, &facts, err);
	explain_facts_fini(&facts);
	return r < 0 ? r : input_n_late(in, symbols) > 0;
}

/* ---- the command ---- */

/* Whether the operands are a command: they stand behind "--". */
static bool is_command_line(int argc, char **argv, const struct option_list *operands)
{
	int before = argc - (int)operands->n - 1;

	return operands->n && before > 0 && !strcmp(argv[before], "--");
}

/* Puts the session into args->input, unless there is something to record. -EINVAL: wrong usage. */
static int choose_source(struct explain_args *args, const struct option_list *operands,
			 bool is_command, struct error *err)
{
	bool records = is_command || args->pid || args->duration_s > 0;

	if (records && args->input)
		return error_set(err, -EINVAL,
				 "-i is a session that exists: there is nothing to "
				 "record");
	if (args->pid && is_command)
		return error_set(err, -EINVAL, "-p and a command exclude each other");
	if (operands->n && !is_command && (records || args->input || operands->n > 1))
		return error_set(err, -EINVAL,
				 "'%s': give one session, or a command behind two dashes: assay "
				 "explain -- %s",
				 operands->data[0], operands->data[0]);
	if (args->output && !records)
		return error_set(err, -EINVAL,
				 "-o is for a recording: give a command, -p or "
				 "--duration");
	if (operands->n && !is_command)
		args->input = operands->data[0];
	if (args->input && !strcmp(args->input, "-"))
		return error_set(err, -EINVAL,
				 "standard input can be read once only, and the next "
				 "commands read it again: give a file");
	return records;
}

static int explain_begin(const struct explain_args *args, struct input **in)
{
	struct open_config config = OPEN_CONFIG(*args);

	config.names_s = args->names_s;
	return opening_begin("explain", &config, in);
}

static int explain_once(struct explain_args *args, const struct option_list *operands,
			bool is_command)
{
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct explain_recording recording = {
		.command = is_command ? operands : NULL,
		.pid = args->pid,
		.output = args->output ? args->output : "assay.data",
		.duration_s = args->duration_s,
	};
	struct error err = { 0 };
	bool is_damaged = false;
	int r = choose_source(args, operands, is_command, &err);
	int status = r < 0 ? EXIT_USAGE : -1;

	if (r > 0) {
		status = explain_record(&recording);
		args->input = recording.output;
	}
	if (status < 0)
		status = explain_begin(args, &in);
	if (status < 0) {
		r = explain_session(in, args, &recording.outside, &is_damaged, &err);
		status = opening_status(r, is_damaged);
	}
	if (r < 0)
		log_error("explain: %s", err.text);
	return status;
}

static int explain_run(const struct command *self, int argc, char **argv)
{
	struct explain_args args = { 0 };
	struct option_list operands = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0)
		status = explain_once(&args, &operands, is_command_line(argc, argv, &operands));
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section explain_sections[] = {
	{ "FINDINGS",
	  "A finding has a share with its numbers, the evidence (function, caller, source line, "
	  "program, waker), and the next command to type. Findings are ordered by their share and "
	  "by how surprising they are. A share that fewer than ten samples show is no finding. If "
	  "one sample in a hundred is missing, the output begins with that.\n\n"
	  "Shares of CPU time are of all samples of the event that counts it. Shares of waits are "
	  "of the time of all threads of one name, on a CPU and off it. A thread that waits for "
	  "its children, or for nothing that assay knows, is no finding." },
	{ "RECORDING",
	  "With a command, *-p* or *--duration*, assay records first, as *assay record* does, and "
	  "keeps the session for the next commands. It records page faults (*--page-faults*; of "
	  "the whole "
	  "machine, one in 64), and waits and their wakers "
	  "(*--off-cpu*) if BPF is permitted, else it names the reason. It "
	  "also reads how long the control group's limit of CPU time held the threads back. If the "
	  "whole machine is "
	  "not "
	  "permitted, it records your own processes.\n\nThe command "
	  "writes to the same standard output. For JSON, record first: *assay record -o DIR -- "
	  "COMMAND*, then *assay explain --format json DIR*." },
	{ "JSON",
	  "*--format json* is one object. A member of _findings_ has _rule_, _sentence_, "
	  "_evidence_ "
	  "and _next_. Its numbers are _share_ (0 to 1), and _part_ and _whole_ in _unit_: _ns_, "
	  "_events_ or _samples_. The names in its texts are _symbol_, _image_, _comm_, _caller_, "
	  "_where_, _waker_, _waker\\_symbol_, _text_ and _package_. _missing_ has the facts that "
	  "the session lacks: "
	  "_facts_, _reason_, and the command _next_. _losses_ has _samples_, "
	  "_missing_, _is\\_incomplete_ and _reason_. Beside them are _schema_ (1), _session_, "
	  "_command_, _seconds_, _cpus_, _cpu_ (the event, null without one), _cpu\\_sum_ and its "
	  "_unit_." },
	{ "EXIT STATUS",
	  "0: there is an explanation, also if nothing stands out. The status of the recorded "
	  "command does not matter. 1: a failure, or a damaged session. 2: wrong usage. 126: the "
	  "command can't be run. 127: it is not found." },
	{ NULL },
};

static const struct command_example explain_examples[] = {
	{ "assay explain -- ./app --its-options", "record a program, and explain its time" },
	{ "sudo assay explain --duration 10", "the whole machine, with waits" },
	{ "assay explain night.assay", "a session that exists; without a name, assay.data" },
	{ "assay explain --format json perf.data", "for a script, of a recording of perf" },
	{ NULL },
};

const struct command explain_command = {
	.name = "explain",
	.summary = "name the findings that matter, each with its numbers and the next command",
	.synopsis =
		"[OPTIONS] [SESSION] | [OPTIONS] -- COMMAND [ARG…] | [OPTIONS] --duration SECONDS",
	.description =
		"Looks at CPU time, waits, page faults and interrupts of a session, and prints at "
		"most five findings in plain words. It says what the session cannot show, and the "
		"command that would record it.",
	.options = OPTIONS(explain_options),
	.common = "i,p,duration,o,format",
	.sections = explain_sections,
	.examples = explain_examples,
	.run = explain_run,
};
