/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay export: a session in the format of another tool. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "calls/trace_calls.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "commands/temporary.h"
#include "export/branches.h"
#include "export/export.h"
#include "fleet/fleet_store.h"
#include "open/input.h"
#include "profile/profile.h"
#include "replay/archive.h"
#include "replay/replay.h"
#include "replay/replay_script.h"
#include "store/separation_words.h"
#include "store/session.h"
#include "symbol/symbols.h"
#include "trace/itrace.h"

struct export_args {
	const char *input, *output, *format, *csv, *weight, *image, *build_id, *fleet, *schema,
		*cache, *itrace, *filter;
	const char *separate, *frames;
	bool branches, no_demangle, no_itrace, idle, list_formats, no_source, quiet, replace;
	struct window_args window;
	struct code_args code;
	const char *container_names;
	double names_s;
};

#define FIELD(f) offsetof(struct export_args, f)
static const struct option_spec export_options[] = {
	INPUT_OPTION(FIELD(input), "export"),
	WINDOW_OPTIONS(FIELD(window)),
	CODE_OPTIONS(FIELD(code)),
	NAMES_LIMIT_OPTION(FIELD(names_s)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL,
	  "write to FILE; - is standard output",
	  "Default: standard output. assay writes the file under another name, and renames it "
	  "when it is whole. So a file of this name is never half an export." },
	{ 'F', "format", "FORMAT", OPT_CHOICE, FIELD(format), NULL,
	  "the format (default: by the extension of FILE)", .choices = EXPORT_CHOICES },
	CSV_OPTION(FIELD(csv)),
	{ 0, "list-formats", NULL, OPT_FLAG, FIELD(list_formats), NULL,
	  "list the formats with their extensions, and end" },
	WEIGHT_OPTION(FIELD(weight), "for formats with one weight: samples or events"),
	{ 0, "image", "GLOB", OPT_STRING, FIELD(image), NULL,
	  "gmon, autofdo, bolt: the image to export; without it, the one with most samples" },
	{ 0, "build-id", "ID", OPT_STRING, FIELD(build_id), NULL,
	  "autofdo, bolt: the build of the image, in hexadecimal digits",
	  "For samples of a session or a fleet. *assay report --by build* lists builds." },
	{ 0, "fleet", "DIR|URL,…", OPT_STRING, FIELD(fleet), NULL,
	  "autofdo, bolt: read the addresses that the hosts of a fleet sent, instead of -i",
	  "Hosts send them with *assay ship --leaves*. With the URLs of *assay fleet init*, ask "
	  "ClickHouse: it has whole days, and all hosts together." },
	{ 0, "separate", "LIST", OPT_STRING, FIELD(separate), "lib,kernel",
	  "oprofile: keep samples apart by these: none, or a list of lib,kernel,process,thread,cpu,"
	  "all" },
	{ 0, "schema", "NAME", OPT_STRING, FIELD(schema), "assay",
	  "postgresql: the schema to make tables in" },
	{ 0, "replace", NULL, OPT_FLAG, FIELD(replace), NULL,
	  "postgresql: replace the tables of an export that is there" },
	{ 0, "branches", NULL, OPT_FLAG, FIELD(branches), NULL,
	  "sqlite, postgresql: every taken branch of an Intel PT recording, too" },
	{ 0, "no-source", NULL, OPT_FLAG, FIELD(no_source), NULL,
	  "leave out source files, lines and inlined functions",
	  "The first time, looking them up takes long for programs with much debug information." },
	FRAMES_OPTION(FIELD(frames)),
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "export idle processors, too" },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

static void list_formats(void)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		printf("%-12s %-14s %s\n", f->name, f->extension, f->help);
}

static int choose_format(const struct export_args *args, const struct export_format **out,
			 struct error *err)
{
	if (args->format)
		*out = export_find(args->format);
	else if (args->output)
		*out = export_find_extension(args->output);
	if (*out)
		return 0;
	return error_set(err, -EINVAL, "%s%s%s; name one with --format (--list-formats has all)",
			 args->output ? "the name '" : "no format is given",
			 args->output ? args->output : "", args->output ? "' says no format" : "");
}

static void print_summary(const struct export_args *args, const struct export_format *format,
			  const struct profile *p, uint64_t n_bytes)
{
	/* leaves_load() has told the number of samples. */
	bool is_told = format->ops->from_session;
	/* What leads to a server may have a password in it. */
	bool is_file = args->output && strcmp(args->output, "-") != 0 &&
		       format->ops->target != EXPORT_PLACE;
	char size[48] = "";

	if (n_bytes)
		snprintf(size, sizeof(size), ", %" PRIu64 " bytes", n_bytes);
	if (!is_told)
		log_info("%" PRIu64 " samples as %s%s%s%s", p->n_selected, format->name,
			 is_file ? " to " : "", is_file ? args->output : "", size);
	if (losses_of_kind(p->losses, LOSS_LOST))
		log_info("%" PRIu64 " samples were lost while recording: see 'assay report'",
			 losses_of_kind(p->losses, LOSS_LOST));
}

/* From the session to the file; the words of the command line are known to be good. */
/* The recording, as often as the calls of its trace are read. */
struct trace_source {
	struct export_trace trace; /* first: the trace is also this */
	struct input *in;
	const char *path;
	struct symbolizer *symbols;
	VEC(struct replay *) replays;
	VEC(struct trace_calls *) readers;
};

static int open_trace(struct export_trace *trace, struct trace_calls **out, struct error *err)
{
	struct trace_source *s = (struct trace_source *)trace;
	struct symbolizer_config places = { 0 };
	struct replay *replay = NULL;
	struct archive_places texts;
	int r = replay_open(s->path, &replay, err);

	if (r < 0)
		return r;
	vec_push(&s->replays, replay);
	input_places(s->in, s->path, &texts, &places);
	r = trace_calls_open(replay, s->symbols, &places, NULL, out, err);
	archive_places_fini(&texts);
	if (r >= 0)
		vec_push(&s->readers, *out);
	return r;
}

static void trace_source_fini(struct trace_source *s)
{
	vec_foreach (&s->readers, reader)
		trace_calls_free(*reader);
	vec_foreach (&s->replays, replay)
		replay_close(*replay);
	vec_fini(&s->readers);
	vec_fini(&s->replays);
}

/* Formats of a profile have no hosts. Of a fleet in ClickHouse, others need addresses. */
static void want_leaves(struct input *in, const struct export_args *args,
			const struct export_format *format, const struct build_id *build,
			char hex[static BUILD_ID_HEX_SIZE])
{
	build_id_hex(build, hex);
	if (!format->ops->from_session)
		input_want_of_fleet(in, &(struct fleet_wish){ 0 });
	if (format->ops->from_session && input_is_clickhouse(args->input ? args->input : ""))
		input_want_of_fleet(in, &(struct fleet_wish){ .leaves = true,
							      .leaves_build = *hex ? hex : NULL });
}

/* 1: names come later. */
static int export_session(struct input *in, const struct export_args *args,
			  const struct export_format *format, const struct query *query,
			  uint32_t merged, bool *is_damaged, struct error *err)
{
	struct export_options options = {
		.no_source = args->no_source,
		.on_temporary = temporary_follow,
		.image = args->image,
		.schema = args->schema,
		.merged = merged,
		.replace = args->replace,
		.is_csv_raw = csv_is_raw(args->csv),
		.by_rate = !strcmp(args->weight, "auto"),
	};
	struct profile_request request = { .query = query,
					   .latency_weight = !strcmp(args->weight, "latency") };
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	cleanup(trace_source_fini) struct trace_source source = { .trace.open = open_trace,
								  .in = in,
								  .path = args->input };
	char build[BUILD_ID_HEX_SIZE];
	uint64_t n_bytes;
	int r;

	if (args->build_id && !build_id_parse(args->build_id, &options.build_id))
		return error_set(err, -EINVAL, "--build-id '%s': write hexadecimal digits",
				 args->build_id);
	want_leaves(in, args, format, &options.build_id, build);
	r = input_open_query(in, args->input, query, &session, is_damaged, err);
	if (r < 0)
		return r;
	if (format->ops->target == EXPORT_FOLDER)
		options.on_temporary = opening_remove_at_end;
	symbols = input_symbolizer(in, input_place(args->input, query), args->cache);
	export_request(format, &request);
	request.session = session;
	request.symbols = symbols;
	r = input_profile(&request, *is_damaged, &profile, err);
	if (r < 0)
		return r;
	vec_foreach (&session->warnings, warning)
		log_warning("%s: %s", session->path, *warning);
	if (!format->ops->of_samples || strcmp(args->weight, "auto") != 0)
		options.by_period = input_by_period(args->weight, profile, NULL);
	source.symbols = symbols;
	source.trace.with_branches = args->branches;
	if (!args->no_itrace && opening_find_trace(args->input))
		options.trace = &source.trace;
	r = export_write(format, &options, profile, args->output, &n_bytes, err);
	if (r >= 0)
		print_summary(args, format, profile, n_bytes);
	return r < 0 ? r : input_n_late(in, symbols) > 0;
}

/* For branch stacks, a processor trace has the branches that these would have had. */
static int decode_trace(struct input *in, const struct export_args *args,
			const struct export_format *format, struct replay *replay,
			struct error *err)
{
	struct itrace wanted;

	if (args->no_itrace || !replay_find_trace(replay))
		return 0;
	itrace_parse(format->ops->itrace, &wanted, NULL);
	wanted.filter = input_itrace(in)->filter;
	if (!args->itrace && itrace_check_filter(&wanted, err) < 0)
		return err->code;
	return input_decode(in, replay, args->itrace ? input_itrace(in) : &wanted, args->input,
			    err);
}

static bool is_recording(const struct export_args *args)
{
	return args->input && (replay_is_script(args->input) || replay_is_perfdata(args->input));
}

/* Single samples and branch stacks are in no session: the recording itself is read. */
static int export_replay(struct input *in, const struct export_args *args,
			 const struct export_format *format, bool *is_damaged, struct error *err)
{
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols =
		input_symbolizer(in, args->input, args->cache);
	const struct export_options options = { .image = args->image,
						.on_temporary = temporary_follow,
						.symbols = symbols };
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	struct error damage = { 0 };
	uint64_t n_bytes;
	int r;

	if (!is_recording(args))
		return error_set(
			err, -EINVAL,
			"%s is made of single samples and branch stacks, which a session "
			"does not keep: give a perf.data file, or perf script's text, with "
			"-i",
			format->name);
	r = input_replay(in, args->input, args->input, &replay, err);
	if (r >= 0)
		r = decode_trace(in, args, format, replay, err);
	if (r >= 0)
		r = export_recording(format, &options, replay, args->output, &n_bytes, &damage,
				     err);
	*is_damaged = damage.code != 0;
	if (damage.code)
		log_error("export: %s: %s; the export ends there", args->input, damage.text);
	/* Streams are made of branch stacks. */
	if (r >= 0 && format->ops->write && branches_call_stack_event(replay))
		log_warning("export: the branch records of '%s' are call stacks, which do not show "
			    "the code between two branches; they are left out",
			    branches_call_stack_event(replay));
	return r;
}

/* What a format does not take. */
static int check_words(const struct export_args *args, const struct export_format *format,
		       bool of_recording, size_t n_filters, struct error *err)
{
	if (of_recording && n_filters)
		return error_set(err, -EINVAL, "%s takes no filters; --image chooses the image",
				 format->name);
	if (format->ops->from_recording && strcmp(args->frames, "both") != 0)
		return error_set(err, -EINVAL, "%s takes no --frames", format->name);
	if (args->build_id && (of_recording || !format->ops->from_session))
		return error_set(err, -EINVAL,
				 "--build-id is for autofdo and bolt of a session or a fleet");
	if (args->fleet && !format->ops->from_session)
		return error_set(err, -EINVAL, "--fleet is for autofdo and bolt");
	return 0;
}

static int run_with(struct input *in, const struct export_args *args,
		    const struct option_list *operands)
{
	const struct export_format *format = NULL;
	struct query query = { 0 };
	struct error err = { 0 };
	bool is_damaged = false;
	bool of_recording = false;
	uint32_t merged = 0;
	int r = choose_format(args, &format, &err), status = EXIT_USAGE;

	if (r >= 0) {
		of_recording = format->ops->from_recording &&
			       (!format->ops->from_session || is_recording(args));
		r = check_words(args, format, of_recording, operands->n, &err);
	}
	r = r < 0 ? r : input_query(in, operands, args->idle, &query, &err);
	r = r < 0 ? r : input_window(&args->window, &query, &err);
	r = r < 0 ? r : separation_parse(args->separate, &merged, &err);
	if (r >= 0 && of_recording && query.has_window)
		r = error_set(&err, -EINVAL,
			      "%s needs a whole recording: leave out --since, --until and --at",
			      format->name);
	if (r >= 0) {
		query.frames = shown_frames_find(args->frames);
		query.overview_ns = format->ops->with_samples ? 0 : UINT64_MAX;
		signal(SIGPIPE, SIG_IGN);
		r = of_recording
			    ? export_replay(in, args, format, &is_damaged, &err)
			    : export_session(in, args, format, &query, merged, &is_damaged, &err);
		status = opening_status(r, is_damaged);
	}
	if (r < 0)
		log_error("export: %s", err.text);
	query_fini(&query);
	return status;
}

/* Addresses are a fleet of their own in the fleet, or a table of ClickHouse. */
static int find_leaves(struct export_args *args, char **leaves)
{
	bool is_clickhouse = args->fleet && strstr(args->fleet, "://");
	struct error err = { 0 };

	if (!args->fleet)
		return -1;
	*leaves = is_clickhouse ? input_of_fleet(args->fleet) : fleet_leaves(args->fleet);
	if (args->input)
		error_set(&err, -EINVAL, "give -i or --fleet, not both");
	else if (is_clickhouse)
		;
	else if (fleet_require(args->fleet, &err) < 0)
		;
	else if (!fleet_is_at(*leaves))
		error_set(&err, -ENODATA,
			  "no host of %s has sent addresses: 'assay ship --leaves' does",
			  args->fleet);
	args->input = *leaves;
	if (err.text[0])
		log_error("export: %s", err.text);
	return !err.text[0] ? -1 : err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* An archive in one file, of a recording: it is read as the recording. */
static int unpack_input(struct input *in, struct export_args *args)
{
	struct error err = { 0 };
	const char *path;

	if (!args->input)
		return -1;
	if (input_unpacked(in, args->input, &path, &err) < 0) {
		log_error("export: %s", err.text);
		return EXIT_FAILED;
	}
	if (replay_is_perfdata(path))
		args->input = path;
	return -1;
}

static int export_begin(const struct export_args *args, struct input **in)
{
	struct open_config config = OPEN_CONFIG(*args);

	config.names_s = args->names_s;
	return opening_begin("export", &config, in);
}

static int export_run(const struct command *self, int argc, char **argv)
{
	struct export_args args = { 0 };
	cleanup(free_at_exit) char *leaves = NULL;
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (args.quiet)
		log_set_level(LOG_QUIET);
	if (status < 0 && args.list_formats) {
		list_formats();
		status = EXIT_OK;
	}
	if (status < 0)
		status = find_leaves(&args, &leaves);
	if (status < 0)
		status = export_begin(&args, &in);
	if (status < 0)
		status = unpack_input(in, &args);
	if (status < 0)
		status = run_with(in, &args, &operands);
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section export_sections[] = {
	{ "FORMATS", "docs/exporters.md lists the facts that each format keeps and loses.\n\n"
#define FORMAT(id, name, extension, mime, help) "*" name "* " extension "\n\t" help "\n\n"
#include "export/formats.def"
#undef FORMAT
	},
	{ "FILTERS", input_filters_help },
	{ "TIMES", input_times_help },
	{ "TOTALS",
	  "Samples and events in an export add up to those that *assay report* shows for the same "
	  "filters, event by event." },
	{ NULL },
};

static const struct command_example export_examples[] = {
	{ "assay export -i web.assay --format folded | flamegraph.pl >web.svg",
	  "a flame graph by flamegraph.pl" },
	{ "assay export -i perf.data -o web.folded comm:nginx time:10s-20s",
	  "ten seconds of one program out of perf's recording" },
	{ NULL },
};

const struct command export_command = {
	.name = "export",
	.summary = "write a session in the format of another tool",
	.synopsis = "[OPTIONS] [-o FILE] [FILTER…]",
	.description = "Reads a session and writes it, or the samples that filters choose, so that "
		       "other tools can read them.",
	.options = OPTIONS(export_options),
	.common = "i,o,F,list-formats,image",
	.sections = export_sections,
	.examples = export_examples,
	.run = export_run,
};
