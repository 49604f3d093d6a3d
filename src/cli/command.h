/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command is one file of commands/ with one `const struct command` and a line in commands.def;
 * dispatch, help, man pages and completion follow.
 */
#pragma once

#include "cli/options.h"

/*
 * EXIT_LATE: complete, but for names that come later (report --names-limit). EXIT_LATE_DAMAGED:
 * likewise, of a damaged source.
 */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LATE = 3,
	EXIT_LATE_DAMAGED = 4
};

/* For the man page: a headed paragraph in scdoc's markup, or an example. */
struct command_section {
	const char *title, *text;
};
struct command_example {
	const char *command, *text;
};

/* What the first operand may be, where a command does one of several things. */
struct command_word {
	const char *name, *arguments, *help; /* "save", "NAME", "keep the current samples …" */
};

struct command {
	const char *name;
	/* A front end: a separate program, which is a link to ours (compat/). */
	bool is_program;
	const char *summary;     /* one line, lower case, no full stop: man NAME and `assay help` */
	const char *synopsis;    /* "[OPTIONS] [--] COMMAND [ARG…]" */
	const char *description; /* paragraphs in scdoc's markup */
	struct option_table options;
	const char *common; /* the five options that people use, which help shows first:
			     * "freq,pid,a". NULL: help has the order of the table */
	const struct command_word *words;       /* ends with { NULL } ; may be NULL */
	const struct command_section *sections; /* ends with { NULL } ; may be NULL */
	const struct command_example *examples; /* ends with { NULL } ; may be NULL */
	void (*print_more_help)(void);          /* behind the options; may be NULL */
	/* argv[0] is the command's name. Returns an exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/*
 * What every run() begins with: parses, prints help for -h/--help. Returns -1
 * to go on, or the exit status to return at once.
 */
int command_begin(const struct command *self, bool stop_at_operand, int argc, char **argv,
		  void *args, struct option_list *operands);

void command_print_help(const struct command *self);

/* Row `i` of the common options; NULL behind the last one, and for a name that is no row. */
const struct option_spec *command_common_option(const struct command *self, size_t i);
bool command_is_common(const struct command *self, const struct option_spec *row);
