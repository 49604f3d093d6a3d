/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/cut_guard.h"
#include "base/log.h"
#include "base/reserve.h"
#include "commands/opening.h"
#include "commands/tables.h"
#include "commands/version.h"
#include "guard/parser.h"

/* That a child may use to parse a file: debug files of browsers need most. */

static bool is_one_of(const char *arg, const char *a, const char *b)
{
	return !strcmp(arg, a) || !strcmp(arg, b);
}

static int run(const struct command *command, int argc, char **argv)
{
	if (command->is_program)
		log_set_program(command->name);
	return command->run(command, argc, argv);
}

static int dispatch(int argc, char **argv)
{
	const struct command *command = front_end_find(argc ? argv[0] : "");

	if (command)
		return run(command, argc, argv);
	if (argc < 2 || is_one_of(argv[1], "-h", "--help"))
		return help_command.run(&help_command, 1, argv);
	if (is_one_of(argv[1], "-V", "--version"))
		return version_print();
	command = command_find(argv[1]);
	if (!command) {
		command_refuse("", argv[1]);
		return EXIT_USAGE;
	}
	return run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int status;

	cut_guard_enable();
	if (geteuid() == 0)
		parser_use_children(PARSER_BYTES);
	status = dispatch(argc, argv);
	parser_end_children();
	if (reserve_failures()) {
		struct error err;

		reserve_error(&err);
		log_error("%s: the output is incomplete", err.text);
		status = status == EXIT_LATE ? EXIT_LATE_DAMAGED : status ? status : EXIT_FAILED;
	}
	errno = 0;
	if (fflush(stdout) == EOF || ferror(stdout)) {
		log_error("cannot write to standard output%s%s", errno ? ": " : "",
			  errno ? strerror(errno) : "");
		return status ? status : EXIT_FAILED;
	}
	return status;
}
