/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay inject: a recording written again, with samples in place of its processor trace. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "commands/opening.h"
#include "open/input.h"
#include "replay/archive.h"
#include "replay/perfdata_file.h"
#include "replay/replay.h"
#include "trace/branch_filter.h"
#include "trace/itrace.h"

/* Everything but calls and returns alone, as perf inject has it. */
#define ITRACE_DEFAULT_INJECT "ibxwpe"

struct inject_args {
	const char *input, *output, *itrace, *filter;
	bool no_itrace, strips, build_ids, mispred_all, quiet;
	struct code_args code;
};

#define FIELD(f) offsetof(struct inject_args, f)
static const struct option_spec inject_options[] = {
	{ 'i', "input", "FILE", OPT_STRING, FIELD(input), "perf.data", "the recording" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL,
	  "the perf.data file to write; one that exists is kept as FILE.old" },
	{ 0, "itrace", "OPTIONS", OPT_OPTIONAL, FIELD(itrace), NULL,
	  "put samples in the place of the processor trace (Intel PT): letters as for assay script",
	  "Default of OPTIONS: *" ITRACE_DEFAULT_INJECT "*.", .implied = ITRACE_DEFAULT_INJECT },
	BRANCH_FILTER_OPTION(FIELD(filter)),
	{ 0, "no-itrace", NULL, OPT_FLAG, FIELD(no_itrace), NULL,
	  "keep the trace as it is (the default)" },
	{ 0, "strip", NULL, OPT_FLAG, FIELD(strips), NULL,
	  "with --itrace: leave out the samples that were recorded" },
	{ 'b', "build-ids", NULL, OPT_FLAG, FIELD(build_ids), NULL,
	  "add the build ids of mapped files that are here" },
	{ 0, "mispred-all", NULL, OPT_FLAG, FIELD(mispred_all), NULL,
	  "with --itrace=l: mark every branch as mispredicted, as AutoFDO's tools need it",
	  "Default: *mispred-all* in the section *[intel-pt]* of perf's configuration file "
	  "(*$PERF_CONFIG*, else *~/.perfconfig*)." },
	CODE_OPTIONS(FIELD(code)),
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static bool is_on(const char *value)
{
	static const char *const words[] = { "on", "yes", "true", "1" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (!strncasecmp(value, words[i], n) && !isalnum((unsigned char)value[n]))
			return true;
	}
	return false;
}

/* One line of perf's configuration; *is_ours: inside of [intel-pt]. */
static void read_line(const char *line, bool *is_ours, bool *value)
{
	static const char section[] = "[intel-pt]", key[] = "mispred-all";
	const char *at = skip_blanks(line);

	if (*at == '[')
		*is_ours = !strncmp(at, section, sizeof(section) - 1);
	if (!*is_ours || strncmp(at, key, sizeof(key) - 1) != 0)
		return;
	at = skip_blanks(at + sizeof(key) - 1);
	/* A key alone is true. */
	*value = *at != '=' || is_on(skip_blanks(at + 1));
}

static bool configured_mispred_all(void)
{
	const char *given = getenv("PERF_CONFIG"), *home = getenv("HOME");
	cleanup(free_at_exit) char *path =
		given ? xstrdup(given) : xasprintf("%s/.perfconfig", home ? home : "");
	cleanup(free_at_exit) char *text = NULL;
	bool is_ours = false, value = false;
	char *rest, *line;
	size_t size;

	if (file_read_all(path, 1 << 20, &text, &size) < 0)
		return false;
	rest = text;
	while ((line = strsep(&rest, "\n")))
		read_line(line, &is_ours, &value);
	return value;
}

static void inject_report(const struct inject_args *args, const struct perfdata_copied *copied)
{
	log_info("%" PRIu64 " samples, %" PRIu64 " of them of the trace: %s made of %s",
		 copied->samples, copied->made, args->output, args->input);
	if (copied->errors)
		log_warning("%s: %" PRIu64 " errors in decoding the trace are in %s", args->input,
			    copied->errors, args->output);
	if (copied->unverified)
		log_warning("%s: %" PRIu64 " stretches of the trace are not verified, and have a "
			    "record each in %s: some of their samples may be wrong",
			    args->input, copied->unverified, args->output);
	if (copied->unwritten)
		log_warning("%s: %" PRIu64 " samples are too large for a record and left out",
			    args->input, copied->unwritten);
}

static int inject(struct input *in, const struct inject_args *args, const struct itrace *itrace)
{
	struct error err = { 0 }, damage = { 0 };
	struct perfdata_copied copied = { 0 };
	struct symbolizer_config places = { 0 };
	struct archive_places texts;
	const char *path = args->input;
	struct perfdata_copy config = {
		.places = &places,
		.output = args->output,
		.itrace = itrace,
		.strips = args->strips,
		.marks_mispredicted = args->mispred_all || configured_mispred_all(),
		.with_build_ids = args->build_ids,
		.note = opening_note,
		.context = (void *)args->input,
	};
	int r;

	if (input_unpacked(in, args->input, &path, &err) < 0) {
		log_error("inject: %s", err.text);
		return EXIT_FAILED;
	}
	if (strcmp(path, "-") != 0 && !replay_is_perfdata(path)) {
		log_error("inject: %s: there is no perf.data; name the recording with -i",
			  args->input);
		return EXIT_FAILED;
	}
	input_places(in, args->input, &texts, &places);
	config.path = path;
	r = perfdata_file_copy(&config, &copied, &damage, &err);
	archive_places_fini(&texts);
	if (r < 0) {
		log_error("inject: %s", err.text);
		return EXIT_FAILED;
	}
	inject_report(args, &copied);
	if (damage.code)
		log_error("inject: %s: %s; %s ends there", args->input, damage.text, args->output);
	return damage.code ? EXIT_FAILED : EXIT_OK;
}

static int inject_check(const struct inject_args *args, struct itrace *itrace,
			struct branch_filter *filter, struct error *err)
{
	int r;

	if (!args->output)
		return error_set(err, -EINVAL, "no output is named; add -o FILE");
	if (args->itrace && args->no_itrace)
		return error_set(err, -EINVAL, "--itrace and --no-itrace exclude each other");
	if (args->strips && !args->itrace)
		return error_set(
			err, -EINVAL,
			"--strip needs --itrace, because without it nothing is left to write");
	if (args->itrace && !strcmp(args->input, "-"))
		return error_set(
			err, -EINVAL,
			"a trace can't be decoded from a pipe, because it is read twice; write "
			"it to a file first");
	if (!args->itrace && args->filter)
		return error_set(err, -EINVAL,
				 "--filter needs --itrace=b: without it no trace is decoded");
	if (!args->itrace)
		return 0;
	r = itrace_parse(args->itrace, itrace, err);
	return r < 0 ? error_wrap(err, r, "--itrace")
		     : itrace_take_filter(itrace, args->filter, filter, err);
}

static int inject_run(const struct command *self, int argc, char **argv)
{
	struct inject_args args = { 0 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	struct itrace itrace = { 0 };
	cleanup(branch_filter_fini) struct branch_filter filter = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		if (operands.n)
			error_set(&err, -EINVAL,
				  "'%s' is not understood; name the recording with -i",
				  operands.data[0]);
		if (operands.n || inject_check(&args, &itrace, &filter, &err) < 0) {
			log_error("inject: %s", err.text);
			status = EXIT_USAGE;
		} else {
			if (args.quiet)
				log_set_level(LOG_QUIET);
			status = opening_begin("inject", &(struct open_config)CODE_CONFIG(args),
					       &in);
		}
	}
	if (status < 0)
		status = inject(in, &args, args.itrace ? &itrace : NULL);
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section inject_sections[] = {
	{ "WHAT IS WRITTEN",
	  "The file has all records of the recording as they are. With *--itrace*, the "
	  "trace's data and its records are left out. The samples and errors made of the "
	  "trace, and a record for each stretch that is not verified, follow as separate events "
	  "(instructions, branches, transactions, "
	  "ptwrite …), with perf's names and ids. *perf*(1) reads the file. AutoFDO's "
	  "tools read it, too, and take the executed code from the last branches (the "
	  "letter *l*)." },
	{ "EXIT STATUS", "0 if the whole file was read, 1 if not, 2 for wrong usage." },
	{ NULL, NULL },
};

static const struct command_example inject_examples[] = {
	{ "assay inject -i perf.data -o samples.data --itrace=i100usg",
	  "a sample with its call chain each 100 µs, for tools without Intel PT" },
	{ "assay inject -i perf.data -o inj --itrace=i100usle --strip --mispred-all",
	  "for create_gcov or create_llvm_prof of AutoFDO" },
	{ "assay inject -b -i perf.data -o with-ids.data",
	  "with the build ids of files that are here" },
	{ NULL, NULL },
};

const struct command inject_command = {
	.name = "inject",
	.summary = "write a recording again, with samples in place of its processor trace",
	.synopsis = "[OPTIONS] -o FILE",
	.description =
		"Writes a perf.data file again. With *--itrace*, the trace of an Intel PT "
		"recording becomes ordinary samples. The letters set their number and detail.",
	.options = OPTIONS(inject_options),
	.common = "i,o,itrace,b,strip",
	.sections = inject_sections,
	.examples = inject_examples,
	.run = inject_run,
};
