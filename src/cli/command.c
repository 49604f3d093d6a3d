/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

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

static void print_word(const struct command_word *w)
{
	char left[80];

	snprintf(left, sizeof(left), "%s%s%s", w->name, *w->arguments ? " " : "", w->arguments);
	printf(strlen(left) > 28 ? "  %s\n%31s%s\n" : "  %-28s %s%s\n", left, "", w->help);
}

void command_print_help(const struct command *self)
{
	printf("Usage: %s%s %s\n%c%s.\n", self->is_program ? "" : "assay ", self->name,
	       self->synopsis, self->summary[0] >= 'a' ? self->summary[0] - 32 : self->summary[0],
	       self->summary + 1);
	for (const struct command_word *w = self->words; w && w->name; w++) {
		if (w == self->words)
			putchar('\n');
		print_word(w);
	}
	if (self->options.n)
		printf("\nOptions:\n");
	for (size_t i = 0; i < self->options.n; i++)
		print_option(&self->options.rows[i]);
	for (const struct command_example *e = self->examples; e && e->command; e++)
		printf("%s  %s\n      %s\n", e == self->examples ? "\nExamples:\n" : "", e->command,
		       e->text);
	printf("\nMore in %s%s(1).\n", self->is_program ? "" : "assay-", self->name);
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
		if (self->is_program)
			log_error("%s", err.text);
		else
			log_error("%s: %s", self->name, err.text);
		fprintf(stderr, "Try '%s%s --help'.\n", self->is_program ? "" : "assay ",
			self->name);
		return EXIT_USAGE;
	}
	return -1;
}
