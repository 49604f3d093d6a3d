/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

#define HELP_COLUMN 31

const struct option_spec *command_common_option(const struct command *self, size_t i)
{
	const char *at = self->common;
	char name[64];

	while (at && i--) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return NULL;
	snprintf(name, sizeof(name), "%s%.*s", strcspn(at, ",") > 1 ? "--" : "-",
		 (int)strcspn(at, ","), at);
	return option_find(&self->options, name);
}

bool command_is_common(const struct command *self, const struct option_spec *row)
{
	const struct option_spec *common;

	for (size_t i = 0; (common = command_common_option(self, i)); i++)
		if (common == row)
			return true;
	return false;
}

/* Prints the left column, padded; if it is too wide, on a separate line. */
static void print_left(const char *left)
{
	int n = 2;

	for (const char *at = left; *at; at++)
		n += (*at & 0xc0) != 0x80; /* the first byte of a character */
	printf("  %s", left);
	if (n >= HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	else
		printf("%*s", HELP_COLUMN - n, "");
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
	print_left(left);
	printf("%s", row->help);
	if (row->initial)
		printf(" (default %s)", row->initial);
	putchar('\n');
}

static void print_options(const struct command *self)
{
	const struct option_spec *row;

	for (size_t i = 0; (row = command_common_option(self, i)); i++) {
		if (i == 0)
			printf("\nMost used options:\n");
		print_option(row);
	}
	if (self->options.n)
		printf(self->common ? "\nMore options:\n" : "\nOptions:\n");
	for (size_t i = 0; i < self->options.n; i++)
		if (!command_is_common(self, &self->options.rows[i]))
			print_option(&self->options.rows[i]);
}

/* Options of perf that mean something else here. */
static void print_other_meanings(const struct command *self)
{
	bool is_first = true;

	for (const struct option_alias *a = self->options.aliases; a && a->name; a++) {
		if (a->kind != ALIAS_OTHER || !option_find(&self->options, a->name))
			continue;
		if (is_first)
			printf("\nOptions that mean something else in perf %s:\n", self->name);
		is_first = false;
		print_left(a->name);
		printf("%s\n", a->text);
	}
}

static void print_word(const struct command_word *w)
{
	char left[80];

	snprintf(left, sizeof(left), "%s%s%s", w->name, *w->arguments ? " " : "", w->arguments);
	print_left(left);
	printf("%s\n", w->help);
}

void command_print_help(const struct command *self)
{
	printf("Usage: %s%s %s\n%c%s.\n", self->is_program ? "" : "assay ", self->name,
	       self->synopsis, self->summary[0] >= 'a' ? self->summary[0] - 32 : self->summary[0],
	       self->summary + 1);
	for (const struct command_example *e = self->examples; e && e->command; e++)
		printf("%s  %s\n      %s\n", e == self->examples ? "\nExamples:\n" : "", e->command,
		       e->text);
	for (const struct command_word *w = self->words; w && w->name; w++) {
		if (w == self->words)
			putchar('\n');
		print_word(w);
	}
	print_options(self);
	print_other_meanings(self);
	if (self->print_more_help)
		self->print_more_help();
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
