/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay import: a session from a file that another tool has made. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time_window.h"
#include "cli/command.h"
#include "commands/import_into.h"
#include "commands/opening.h"
#include "config.h"
#include "foreign/sniff.h"
#include "import/import.h"
#include "open/input.h"
#include "pipeline/session_dir.h"
#include "replay/archive.h"
#include "replay/perfdata_file.h"
#include "replay/replay.h"
#include "store/history/pushed_names.h"
#include "store/native.h"

struct import_args {
	const char *output, *into, *to, *itrace, *filter, *body, *name, *start, *pusher;
	struct option_list labels;
	bool quiet, no_itrace;
	struct code_args code;
};

#define FIELD(f) offsetof(struct import_args, f)
static const struct option_spec import_options[] = {
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), NULL,
	  "the session's directory; one that exists is kept as DIR.old",
	  "Default: *assay.data*. With *--to perfdata* the file, which has to be named." },
	{ 0, "to", "WHAT", OPT_CHOICE, FIELD(to), "session",
	  "make a session, or write a perf.data file again as perf.data",
	  "*perfdata* makes one plain file in this machine's byte order. The input may "
	  "be a pipe's output, compressed, a directory, or of another byte order. Debian "
	  "12's perf reads the result.",
	  .choices = "session|perfdata" },
	{ 0, "into", "DIR", OPT_STRING, FIELD(into), NULL,
	  "add the session to the history at DIR, instead of -o",
	  "The history is made if there is none. *assay report -i DIR* reads it." },
	{ 0, "name", "NAME", OPT_STRING, FIELD(name), NULL,
	  "the name of threads, where a profile tells none" },
	{ 0, "label", "NAME=VALUE", OPT_LIST, FIELD(labels), NULL,
	  "a label of samples that have none of this name",
	  "*report --by label:NAME* and *label:NAME=VALUE* use it." },
	{ 0, "start", "TIME", OPT_STRING, FIELD(start), NULL,
	  "the time of the first sample, where a profile tells none",
	  "Default: the last change of the file." },
	{ 0, "body", "KIND", OPT_CHOICE, FIELD(body), "none",
	  "FILE is the body of a request: ingest, push or otlp",
	  "*assay serve --push* reads such requests (docs/api.md). *otlp* is also a file of "
	  "*assay export --format otlp*.",
	  .choices = "none|ingest|push|otlp" },
	{ 0, "pusher", "ID", OPT_STRING, FIELD(pusher), NULL,
	  "the program or host that sent the request, with --body",
	  "Each pusher has a share of the services and events that a history takes. *assay serve* "
	  "gives each token and each certificate an ID. Words behind a space are for messages." },
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
};

static void print_summary(const char *dir, const char *path, const struct import_result *r)
{
	log_info("%" PRIu64 " samples, %" PRIu64 " lost, %.2f s: %s made of %s", r->counts.samples,
		 r->counts.lost, (double)r->duration_ns / 1e9, dir, path);
	vec_foreach (&r->notes, note)
		log_info("%s: %s", path, *note);
}

static const struct {
	const char *name;
	enum foreign_format format;
} bodies[] = {
	{ "ingest", FOREIGN_INGEST },
	{ "push", FOREIGN_PUSH },
	{ "otlp", FOREIGN_OTLP },
};

static enum foreign_format body_of(const struct import_args *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		if (!strcmp(args->body, bodies[i].name))
			return bodies[i].format;
	return FOREIGN_NONE;
}

/* Where the session is made, which the caller frees. 1: a session that was there is renamed. */
static int make_room(const struct import_args *args, char **dir, struct error *err)
{
	int r;

	if (args->into) {
		r = import_into_begin(args->into, dir, err);
		opening_remove_at_end(*dir); /* it has another name when it is whole */
		return r;
	}
	*dir = xstrdup(args->output ? args->output : "assay.data");
	r = file_check_parent(*dir, err);
	return r < 0 ? r : session_dir_make_room(*dir, err);
}

static int finish_into(const struct import_args *args, const char *dir,
		       const struct import_result *result, struct error *err)
{
	const struct pushed_names names = {
		.services = (const char *const *)result->services.data,
		.n_services = result->services.n,
		.events = (const char *const *)result->events.data,
		.n_events = result->events.n,
		.pusher = args->pusher,
	};

	return import_into_finish(args->into, dir, body_of(args) ? &names : NULL, err);
}

static int import(struct input *in, const struct import_args *args, const char *path)
{
	cleanup(free_at_exit) char *dir = NULL;
	struct import_config config = {
		.path = path,
		.name = args->name,
		.labels = args->labels.data,
		.n_labels = args->labels.n,
		.body = body_of(args),
		.version = ASSAY_VERSION,
		.ops = &native_store,
		.itrace = input_itrace(in),
	};
	struct import_result result = { 0 };
	struct symbolizer_config places = { 0 };
	struct archive_places texts;
	struct error err = { 0 };
	int was_renamed = 0, status = EXIT_FAILED;

	vec_foreach (&args->labels, label) {
		if (strchr(*label, '='))
			continue;
		log_error("import: --label %s: give it as NAME=VALUE", *label);
		return EXIT_USAGE;
	}
	if (args->start)
		was_renamed =
			time_point_parse(args->start, clock_wall_ns(), &config.start_wall_ns, &err);
	was_renamed = was_renamed < 0 ? was_renamed : make_room(args, &dir, &err);
	config.dir = dir;
	input_places(in, path, &texts, &places);
	config.places = &places;
	if (was_renamed < 0) {
		log_error("import: %s", err.text);
	} else if (import_file(&config, &result, &err) < 0) {
		session_dir_put_back(dir, was_renamed);
		/* A program that did nothing pushes a profile without samples. */
		if (config.body && err.code == -ENODATA && !result.damage.code)
			status = EXIT_OK;
		else
			log_error("import: %s", err.text);
	} else if (config.body && result.damage.code) {
		/* Who sent it is told, and may send it again: so none of it is kept. */
		file_remove_tree(dir, NULL);
		log_error("import: %s: %s", path, result.damage.text);
	} else if (args->into && finish_into(args, dir, &result, &err) < 0) {
		log_error("import: %s", err.text);
	} else {
		print_summary(args->into ? args->into : dir, path, &result);
		status = result.damage.code ? EXIT_FAILED : EXIT_OK;
		if (result.damage.code)
			log_error("import: %s: %s; the session ends there", path,
				  result.damage.text);
	}
	archive_places_fini(&texts);
	import_result_fini(&result);
	return status;
}

/* perf.data to perf.data. */
static int rewrite(const struct import_args *args, const char *path)
{
	struct error err = { 0 }, damage = { 0 };
	struct perfdata_copy config = { .path = path, .output = args->output };
	struct perfdata_copied copied = { 0 };

	if (!args->output) {
		log_error("import: --to perfdata needs a file to write: -o FILE");
		return EXIT_USAGE;
	}
	if (!replay_is_perfdata(path)) {
		log_error("import: %s: only perf.data can be written as perf.data", path);
		return EXIT_FAILED;
	}
	if (perfdata_file_copy(&config, &copied, &damage, &err) < 0) {
		log_error("import: %s", err.text);
		return EXIT_FAILED;
	}
	log_info("%" PRIu64 " samples: %s made of %s", copied.samples, args->output, path);
	if (damage.code)
		log_error("import: %s: %s; %s ends there", path, damage.text, args->output);
	return damage.code ? EXIT_FAILED : EXIT_OK;
}

static int import_run(const struct command *self, int argc, char **argv)
{
	struct import_args args = { 0 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	struct error err = { 0 };
	const char *path = NULL;
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0 && operands.n != 1) {
		log_error(operands.n ? "import: one file at a time, please"
				     : "import: no file is named; use 'assay import perf.data -o "
				       "DIR'");
		status = EXIT_USAGE;
	}
	if (status < 0 && args.into && (args.output || strcmp(args.to, "session") != 0)) {
		log_error("import: --into adds a session to a history: without -o and --to");
		status = EXIT_USAGE;
	}
	if (status < 0 && args.quiet)
		log_set_level(LOG_QUIET);
	if (status < 0)
		status = opening_begin("import",
				       &(struct open_config){ .itrace = args.itrace,
							      .filter = args.filter,
							      .no_itrace = args.no_itrace,
							      CODE_MEMBERS(args) },
				       &in);
	if (status < 0 && input_unpacked(in, operands.data[0], &path, &err) < 0) {
		log_error("import: %s", err.text);
		status = EXIT_FAILED;
	}
	if (status < 0)
		status = !strcmp(args.to, "perfdata") ? rewrite(&args, path)
						      : import(in, &args, path);
	option_list_fini(&operands);
	option_list_fini(&args.labels);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section import_sections[] = {
	{ "WHAT IS READ",
	  "Files and pipe output (*-* is standard input) of perf record, of any machine "
	  "and of either byte order, compressed or not, and the directories of *perf "
	  "record --threads*. Every sample is counted, for every event; a group's leader "
	  "sampled with *:S* counts for each member. Only the file tells of processes "
	  "and of the kernel: nothing is looked up in this machine's /proc.\n\nThe "
	  "output of *perf script* (with any of its usual fields), folded stacks and "
	  "pprof profiles, all of them gzipped or not: the bytes decide which it is. "
	  "Their functions have names and no addresses, so nothing is looked up for "
	  "them, and there are no lines or instructions to show. Unreadable lines are "
	  "counted, and the first is reported with its number. A jitdump that a "
	  "recording refers to is read with it.\n\nDamage ends the reading at that "
	  "place. The session then has the samples before it, and the exit status is 1." },
	{ "EXIT STATUS", "0 if the whole file was read, 1 if not, 2 for wrong usage." },
	{ NULL, NULL },
};

static const struct command_example import_examples[] = {
	{ "assay import perf.data -o web.assay", "a session of perf's recording" },
	{ "perf record -o - ./app | assay import - -o app.assay", "without a file between" },
	{ "perf script | assay import - -o app.assay", "from the text of perf script" },
	{ "assay import cpu.pb.gz -o go.assay", "a pprof profile, of Go for one" },
	{ "assay import --to perfdata sleep.zst.data -o plain.data",
	  "for tools that do not read compressed recordings" },
	{ "assay report -i perf.data", "a report without a session that stays" },
	{ NULL, NULL },
};

const struct command import_command = {
	.name = "import",
	.summary = "make a session of another tool's recording",
	.synopsis = "[OPTIONS] FILE",
	.description =
		"Reads what *perf record*, *perf script* or another profiler has written and "
		"keeps it as a session, to be read with *assay report*. All commands that read "
		"a session also take such a file. If you read it often, importing it once is "
		"faster, and a session is much smaller.",
	.options = OPTIONS(import_options),
	.sections = import_sections,
	.examples = import_examples,
	.run = import_run,
};
