/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay buildid-list: which builds of which files a recording is of, in the words of perf's
 * command. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/build_ids.h"
#include "commands/opening.h"
#include "elf/elf_file.h"
#include "open/input.h"
#include "replay/replay.h"

struct buildid_args {
	const char *input;
	bool with_hits, kernel;
};

#define FIELD(f) offsetof(struct buildid_args, f)
static const struct option_spec buildid_options[] = {
	INPUT_OPTION(FIELD(input), "list the files of"),
	{ 'H', "with-hits", NULL, OPT_FLAG, FIELD(with_hits), NULL,
	  "only files that have samples; a session has no others",
	  "A recording of a processor trace has few samples, so the option is ignored "
	  "there." },
	{ 'k', "kernel", NULL, OPT_FLAG, FIELD(kernel), NULL, "the running kernel's build id" },
};

/* The printed lines, because a file may come many times. */
struct listing {
	struct output out;
	struct strings lines;
};

static void listing_print_line(void *context, const char *path, const struct build_id *id)
{
	struct listing *l = context;
	char hex[BUILD_ID_HEX_SIZE];
	string_id known;

	if (!id->len || !path[0])
		return;
	build_id_hex(id, hex);
	cleanup(free_at_exit) char *line = xasprintf("%s %s", hex, path);

	if (strings_find(&l->lines, line, &known))
		return;
	strings_add(&l->lines, line);
	build_ids_print(l->out.file, hex, path);
}

static int list_session(struct listing *l, const char *given, struct error *err)
{
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct session *s = NULL;
	bool is_damaged = false;
	int r = input_new(&opening_config, &in, err);

	r = r < 0 ? r : input_open_given(in, given, &s, &is_damaged, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t k = 1; k < s->segments[i]->n_images; k++)
			listing_print_line(l, s->segments[i]->images[k].path,
					   &s->segments[i]->images[k].build_id);
	session_close(s);
	return is_damaged ? error_set(err, -EBADMSG,
				      "%s: damaged; the list has only the readable part", given)
			  : 0;
}

static bool is_trace(const char *path)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;

	return strcmp(path, "-") != 0 && replay_open(path, &replay, NULL) == 0 &&
	       perfdata_info(replay_data(replay))->aux_type;
}

static bool read_kernel(struct build_id *id)
{
	cleanup(free_at_exit) char *notes = NULL;
	size_t size = 0;

	return file_read_all("/sys/kernel/notes", 1 << 20, &notes, &size) == 0 &&
	       elf_build_id_in_notes(reader_over(notes, size), 4, id);
}

static int list(struct listing *l, const struct buildid_args *args, struct error *err)
{
	const char *given = args->input;

	if (args->kernel) {
		char hex[BUILD_ID_HEX_SIZE];
		struct build_id id = { 0 };

		if (!read_kernel(&id))
			return error_set(err, -ENOENT,
					 "the running kernel has no readable build id");
		build_id_hex(&id, hex);
		fprintf(l->out.file, "%s\n", hex);
		return 0;
	}
	if (given && replay_is_perfdata(given) && (!args->with_hits || is_trace(given)))
		return build_ids_each(given, listing_print_line, l, err);
	return list_session(l, given, err);
}

static int buildid_list_run(const struct command *self, int argc, char **argv)
{
	struct buildid_args args = { 0 };
	struct option_list operands = { 0 };
	struct listing l = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status >= 0)
		goto done;
	if (operands.n > 1 || (operands.n && args.input)) {
		log_error("buildid-list: one recording at a time, please");
		status = EXIT_USAGE;
		goto done;
	}
	if (operands.n)
		args.input = operands.data[0];
	strings_init(&l.lines);
	status = EXIT_OK;
	if (output_open(&l.out, NULL, true, &err) < 0) {
		log_error("buildid-list: %s", err.text);
		status = EXIT_FAILED;
	} else {
		int r = list(&l, &args, &err);

		if (r < 0)
			log_error("buildid-list: %s", err.text);
		if (r < 0 || output_close(&l.out, &err) < 0)
			status = EXIT_FAILED;
	}
	strings_fini(&l.lines);
done:
	option_list_fini(&operands);
	return status;
}

static const struct command_example buildid_examples[] = {
	{ "assay buildid-list -i perf.data", "the files to keep, to read the recording later" },
	{ "assay buildid-list -H -i perf.data", "only the files that have samples" },
	{ "assay buildid-list -k", "the build id of the running kernel" },
	{ NULL, NULL },
};

const struct command buildid_list_command = {
	.name = "buildid-list",
	.summary = "list the files of a recording with their build ids",
	.synopsis = "[OPTIONS] [FILE]",
	.description = "Prints the build id and the path of each file whose build id is known. A "
		       "recording lists all mapped files. A session lists the files that have "
		       "samples.",
	.options = OPTIONS(buildid_options),
	.examples = buildid_examples,
	.run = buildid_list_run,
};
