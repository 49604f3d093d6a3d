/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/command.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

const struct command *const commands[] = {
#define COMMAND(name) &name##_command,
#include "commands/commands.def"
#undef COMMAND
	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static void print_option(const struct option_spec *row)
{
	char left[80];
	const char *open = row->kind == OPT_OPTIONAL ? "[=" : row->name ? "=" : " ";
	int n = 0;

	if (row->letter && row->name)
		n = snprintf(left, sizeof(left), "-%c, --%s", row->letter, row->name);
	else if (row->name)
		n = snprintf(left, sizeof(left), "    --%s", row->name);
	else
		n = snprintf(left, sizeof(left), "-%c", row->letter);
	if (row->arg)
		snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s", open, row->arg,
			 row->kind == OPT_OPTIONAL ? "]" : "");
	printf(strlen(left) > 28 ? "  %s\n%31s" : "  %-28s %s", left, "");
	printf("%s", row->help);
	if (row->initial)
		printf(" (default %s)", row->initial);
	putchar('\n');
}

void command_print_help(const struct command *self)
{
	printf("Usage: assay %s %s\n%c%s.\n", self->name, self->synopsis,
	       self->summary[0] >= 'a' ? self->summary[0] - 32 : self->summary[0],
	       self->summary + 1);
	if (self->options.n)
		printf("\nOptions:\n");
	for (size_t i = 0; i < self->options.n; i++)
		print_option(&self->options.rows[i]);
	for (const struct command_example *e = self->examples; e && e->command; e++)
		printf("%s  %s\n      %s\n", e == self->examples ? "\nExamples:\n" : "", e->command,
		       e->text);
	printf("\nMore in assay-%s(1).\n", self->name);
}

int command_begin(const struct command *self, bool stop_at_operand, int argc, char **argv,
		  void *args, struct option_list *operands)
{
	struct error err = { 0 };
	int r = options_parse(&self->options, stop_at_operand, argc, argv, args, operands, &err);

	if (r > 0) {
		command_print_help(self);
		return EXIT_OK;
	}
	if (r < 0) {
		log_error("%s: %s", self->name, err.text);
		fprintf(stderr, "Try 'assay %s --help'.\n", self->name);
		return EXIT_USAGE;
	}
	return -1;
}
