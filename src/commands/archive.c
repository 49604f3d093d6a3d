/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay archive: a session with all that its reports are made from. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "commands/opening.h"
#include "open/input.h"
#include "replay/archive.h"
#include "replay/replay.h"

struct archive_args {
	const char *input, *output;
	bool quiet;
	struct code_args code;
};

#define FIELD(f) offsetof(struct archive_args, f)
static const struct option_spec archive_options[] = {
	INPUT_OPTION(FIELD(input), "archive"),
	CODE_OPTIONS(FIELD(code)),
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), NULL,
	  "the archive: a directory, or DIR.tar.zst for one file" },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
};

/* Where the name of an archive in one file ends: ".tar.zst" and the like; NULL: it is a folder. */
static const char *packed_suffix(const char *output)
{
	const char *slash = strrchr(output, '/'), *tar = strstr(slash ? slash : output, ".tar");

	return tar && (!tar[4] || tar[4] == '.') ? tar : NULL;
}

/* tar(1) knows the compression by the name. */
static int run_tar(const char *output, const char *parent, const char *folder, bool has_holes,
		   struct error *err)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execlp("tar", "tar", has_holes ? "-Scaf" : "-caf", output, "-C", parent, folder,
		       (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return error_errno(err, -errno, "cannot run tar");
	if (!status)
		return 0;
	return error_set(err, -EIO, "cannot write %s: %s", output,
			 WIFEXITED(status) && WEXITSTATUS(status) == 127
				 ? "tar is not installed"
				 : "tar failed (zstd must be installed, too)");
}

/* A session, or else the recording that is to be kept as it is. */
struct source {
	struct session *session;
	const char *recording;
	struct symbolizer *symbols;
};

static int write_folder(const struct source *s, const char *dir, struct archive_result *result,
			struct error *err)
{
	return s->recording ? archive_write_trace(s->recording, s->symbols, dir, result, err)
			    : archive_write(s->session, NULL, s->symbols, dir, result, err);
}

/*
 * The archive as a folder beside the file, which then is written beside, too, and renamed: whole
 * or not there.
 */
static int write_packed(const struct source *source, const char *output, const char *suffix,
			struct archive_result *result, struct error *err)
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	cleanup(free_at_exit) char *parent = xasprintf("%s.%d", output, getpid());
	cleanup(free_at_exit) char *folder_name = xstrndup(name, (size_t)(suffix - name));
	cleanup(free_at_exit) char *folder = xasprintf("%s/%s", parent, folder_name);
	cleanup(free_at_exit) char *part = xasprintf("%s/packed%s", parent, suffix);
	int r = write_folder(source, folder, result, err);

	if (r >= 0)
		r = run_tar(part, parent, folder_name, result->has_holes, err);
	if (r >= 0 && rename(part, output) < 0)
		r = error_errno(err, -errno, "cannot write %s", output);
	file_remove_tree(parent, NULL);
	return r;
}

static void print_summary(const struct archive_args *args, const struct archive_result *r)
{
	log_info("%s: %" PRIu32 " binaries, %" PRIu32 " debug files, %.1f MiB", args->output,
		 r->n_binaries, r->n_debug_files, (double)r->bytes / 1048576);
	vec_foreach (&r->missing, text)
		log_warning("not in the archive: %s", *text);
}

static int archive(struct input *in, const struct archive_args *args, bool *is_damaged,
		   struct error *err)
{
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	const char *suffix = packed_suffix(args->output);
	struct archive_result result = { 0 };
	struct source source = { 0 };
	int r;

	if (access(args->output, F_OK) == 0)
		return error_set(err, -EEXIST, "%s is there already: name a new one", args->output);
	r = file_check_parent(args->output, err);
	if (r < 0)
		return r;
	if (opening_find_trace(args->input))
		source.recording = args->input;
	r = source.recording ? 0 : input_open_given(in, args->input, &session, is_damaged, err);
	source.session = session;
	if (r >= 0)
		source.symbols = symbols = input_symbolizer(in, args->input, "");
	r = r < 0 ? r : symbolizer_check_image_dirs(symbols, err);
	if (r >= 0)
		r = suffix ? write_packed(&source, args->output, suffix, &result, err)
			   : write_folder(&source, args->output, &result, err);
	if (r >= 0)
		print_summary(args, &result);
	archive_result_fini(&result);
	return r;
}

static int archive_run(const struct command *self, int argc, char **argv)
{
	struct archive_args args = { 0 };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct option_list operands = { 0 };
	struct error err = { 0 };
	bool is_damaged = false;
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0 && (operands.n || !args.output)) {
		log_error(operands.n ? "archive: '%s' is not understood; name the session with -i"
				     : "archive: no archive is named; use 'assay archive -o DIR'",
			  operands.n ? operands.data[0] : "");
		status = EXIT_USAGE;
	}
	if (status < 0 && args.quiet)
		log_set_level(LOG_QUIET);
	if (status < 0)
		status = opening_begin("archive", &(struct open_config)CODE_CONFIG(args), &in);
	if (status < 0) {
		int r = archive(in, &args, &is_damaged, &err);

		if (r < 0)
			log_error("archive: %s", err.text);
		status = r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	return status;
}

static const struct command_section archive_sections[] = {
	{ "WHAT IS IN IT",
	  "The archive has the session, the binaries of its samples (below *files/*) and "
	  "their separate debug files. It has the kernel's symbols, too (below "
	  "*kernel/*), if the session is of the running kernel. A binary goes in only if "
	  "its build id is the session's. assay finds it as the reports do: see *--symfs* "
	  "and *--image-path*. It names binaries that have changed or gone since. JIT code has its "
	  "names in the session.\n\nFor a recording with a "
	  "processor trace (Intel PT), the archive has the recording itself in place of "
	  "a session, with all mapped code. So each command decodes it anew, as on the "
	  "machine where it was made." },
	{ "EXIT STATUS", "0, also if a binary is missing; 1 on failure; 2 for wrong usage." },
	{ NULL },
};

static const struct command_example archive_examples[] = {
	{ "assay archive -i night.assay -o night.tar.zst", "everything in one file" },
	{ "assay report -i night.tar.zst -l", "on another machine" },
	{ NULL },
};

const struct command archive_command = {
	.name = "archive",
	.summary = "pack a session with binaries and symbols, for another machine",
	.synopsis = "[OPTIONS] -o DIR",
	.description =
		"Copies a session with all that reports are made from, so that they are the same "
		"elsewhere and after the next upgrade. Every command reads an archive as it reads "
		"a "
		"session.",
	.options = OPTIONS(archive_options),
	.sections = archive_sections,
	.examples = archive_examples,
	.run = archive_run,
};
