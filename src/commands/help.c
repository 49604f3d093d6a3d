/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "commands/help_names.h"
#include "commands/tables.h"

static void print_overview(void)
{
	printf("Usage: assay COMMAND [OPTIONS]\n"
	       "A system profiler: where a program, or the whole machine, spends its time.\n\n"
	       "First steps:\n"
	       "  assay record -- ./app          profile a program\n"
	       "  assay report                   see where the time went\n"
	       "  assay report --tree            see who calls what\n"
	       "  assay report --html app.html   get a page with a flame graph\n"
	       "  assay doctor                   learn what this machine permits\n\n"
	       "Commands:\n");
	for (const struct command *const *c = commands; *c; c++)
		printf("  %-12s %s\n", (*c)->name, (*c)->summary);
	printf("\nThese options are the same in most commands:\n"
	       "  -i DIR      the session or perf.data file to read (default assay.data)\n"
	       "  -o NAME     the file or directory of the result\n"
	       "  -p PID      a running process\n"
	       "  -a          the whole machine\n"
	       "  -e EVENT    the event to count\n\n"
	       "'assay help COMMAND' or 'assay COMMAND --help' explains a command.\n");
}

struct help_args {
	const char *names, *input;
};

#define FIELD(f) offsetof(struct help_args, f)
static const struct option_spec help_options[] = {
	{ 0, "names", "WHAT", OPT_STRING, FIELD(names), NULL,
	  "print names for completion, one a line: event, filter, or TAG: of a filter",
	  "*event* prints the events that can be counted here. *filter* prints the tags of "
	  "filters. A tag such as *symbol:* prints its values in a session." },
	{ 'i', "input", "DIR", OPT_STRING, FIELD(input), NULL,
	  "with --names: the session (default assay.data)" },
};

static int help_with_command(const char *name)
{
	const struct command *command = command_find(name);

	if (!command) {
		command_refuse("help: ", name);
		return EXIT_USAGE;
	}
	command_print_help(command);
	return EXIT_OK;
}

static int print_names(const struct help_args *args)
{
	struct error err = { 0 };
	int r = help_print_names(args->names, args->input, &err);

	if (r < 0)
		log_error("help: %s", err.text);
	return r == -EINVAL ? EXIT_USAGE : r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int help_run(const struct command *self, int argc, char **argv)
{
	struct help_args args = { 0 };
	struct option_list operands = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0 && args.names) {
		status = print_names(&args);
	} else if (status < 0 && operands.n) {
		status = help_with_command(operands.data[0]);
	} else if (status < 0) {
		print_overview();
		status = EXIT_OK;
	}
	option_list_fini(&operands);
	return status;
}

static const struct command_example help_examples[] = {
	{ "assay help", "list the commands" },
	{ "assay help record", "explain a command" },
	{ "assay help --names symbol: -i assay.data", "list the functions of a session" },
	{ NULL },
};

const struct command help_command = {
	.name = "help",
	.summary = "list the commands, or explain one",
	.synopsis = "[OPTIONS] [COMMAND]",
	.description = "Prints the list of commands, or the options and examples of one command.",
	.options = OPTIONS(help_options),
	.examples = help_examples,
	.run = help_run,
};
