/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "commands/tables.h"

static void print_overview(void)
{
	printf("Usage: assay COMMAND [OPTIONS]\n"
	       "A system profiler: where a program, or the whole machine, spends its time.\n\n"
	       "Commands:\n");
	for (const struct command *const *c = commands; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	printf("\nFirst steps:\n"
	       "  assay record -- ./app    profile a program\n"
	       "  assay report             see where the time went\n"
	       "  assay doctor             what this machine permits\n\n"
	       "'assay help COMMAND' or 'assay COMMAND --help' tells more about one.\n");
}

static int help_run(const struct command *self, int argc, char **argv)
{
	struct option_list operands = { 0 };
	int status = command_begin(self, false, argc, argv, NULL, &operands);
	const struct command *command;

	if (status < 0 && operands.n == 0) {
		print_overview();
		status = EXIT_OK;
	} else if (status < 0 && !(command = command_find(operands.data[0]))) {
		log_error("help: no command '%s'; 'assay help' lists them", operands.data[0]);
		status = EXIT_USAGE;
	} else if (status < 0) {
		command_print_help(command);
		status = EXIT_OK;
	}
	option_list_fini(&operands);
	return status;
}

const struct command help_command = {
	.name = "help",
	.summary = "list the commands, or explain one",
	.synopsis = "[COMMAND]",
	.description = "Prints the list of commands, or the options and examples of one.",
	.run = help_run,
};
