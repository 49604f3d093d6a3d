/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "generate.h"

#include <stdio.h>
#include <string.h>

#include "commands/tables.h"

/* What may stand for a value or an operand. */
enum what { ANY, FILES, CHOICES, PROGRAMS, COMMANDS, WORDS };

static enum what what_of(const struct option_spec *row)
{
	static const char *const paths[] = { "FILE", "DIR", "PATH", "SESSION", "ROOT" };

	if (row->choices)
		return CHOICES;
	for (size_t i = 0; row->arg && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!strcmp(row->arg, paths[i]))
			return FILES;
	return ANY;
}

static enum what operand_of(const struct command *c)
{
	if (c == &help_command)
		return COMMANDS;
	if (c->words)
		return WORDS;
	if (strstr(c->synopsis, "COMMAND"))
		return PROGRAMS;
	return strstr(c->synopsis, "DIR") || strstr(c->synopsis, "FILE") ? FILES : ANY;
}

static bool takes_value(const struct option_spec *row)
{
	return row->arg && row->kind != OPT_OPTIONAL;
}

static void put_choices(const char *choices)
{
	for (; *choices; choices++)
		putchar(*choices == '|' ? ' ' : *choices);
}

/* Inside single quotes of a shell; `also` are characters that want a backslash there. */
static void put_quoted(const char *text, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(also, *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_command_names(void)
{
	for (const struct command *const *c = commands; *c; c++)
		printf("%s%s", c == commands ? "" : " ", (*c)->name);
}

static void put_words(const struct command *c)
{
	for (const struct command_word *w = c->words; w->name; w++)
		printf("%s%s", w == c->words ? "" : " ", w->name);
}

/* "-F|--freq", as a pattern of bash's case. */
static void put_bash_pattern(const struct option_spec *row)
{
	if (row->letter)
		printf("-%c%s", row->letter, row->name ? "|" : "");
	if (row->name)
		printf("--%s", row->name);
}

/* Options that take a value: what it may be. */
static void put_bash_values(const struct command *c)
{
	for (size_t i = 0; i < c->options.n; i++) {
		const struct option_spec *row = &c->options.rows[i];

		if (!takes_value(row))
			continue;
		fputs("\t\t", stdout);
		put_bash_pattern(row);
		fputs(") ", stdout);
		if (what_of(row) == CHOICES) {
			fputs("words='", stdout);
			put_choices(row->choices);
			fputs("' ;;\n", stdout);
		} else {
			puts(what_of(row) == FILES ? "kind=-f ;;" : "kind=none ;;");
		}
	}
}

static void put_bash_command(const struct command *c)
{
	static const char *const kinds[] = { "none", "-f", "none", "-c", "none", "none" };

	printf("\t%s)\n\t\toptions='", c->name);
	for (size_t i = 0; i < c->options.n; i++) {
		if (c->options.rows[i].letter)
			printf("-%c ", c->options.rows[i].letter);
		if (c->options.rows[i].name)
			printf("--%s ", c->options.rows[i].name);
	}
	printf("--help'\n\t\toperand=%s\n", kinds[operand_of(c)]);
	if (operand_of(c) == COMMANDS) {
		fputs("\t\t[[ $cur == -* ]] || words='", stdout);
		put_command_names();
		puts("'");
	} else if (operand_of(c) == WORDS) {
		fputs("\t\t[[ $cur == -* ]] || words='", stdout);
		put_words(c);
		puts("'");
	}
	puts("\t\tcase $prev in");
	put_bash_values(c);
	puts("\t\tesac\n\t\t;;");
}

void complete_bash(void)
{
	fputs("# Completion of assay for bash; generated from its command tables.\n"
	      "_assay()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal options= words= kind= operand=none i\n\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W '",
	      stdout);
	put_command_names();
	fputs(" --help --version' -- \"$cur\")\n\t\treturn\n\tfi\n"
	      "\t# bash splits --name=value at the sign\n"
	      "\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
	      "\telif [ \"$prev\" = = ]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      stdout);
	for (const struct command *const *c = commands; *c; c++)
		put_bash_command(*c);
	for (const struct command *const *c = front_ends; *c; c++)
		put_bash_command(*c);
	fputs("\tesac\n"
	      "\t# behind -- comes a program, then its own arguments\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	      "\t\twords='' kind=-f\n"
	      "\t\t[ $i -lt $((COMP_CWORD - 1)) ] || kind=$operand\n"
	      "\t\tbreak\n\tdone\n"
	      "\tif [ -z \"$kind\" ] && [ -z \"$words\" ]; then\n"
	      "\t\tcase $cur in\n\t\t-*) words=$options ;;\n\t\t*) kind=$operand "
	      ";;\n\t\tesac\n\tfi\n"
	      "\tif [ -n \"$words\" ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\telif [ \"$kind\" != none ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen \"$kind\" -- \"$cur\")\n"
	      "\tfi\n}\n"
	      "complete -o filenames -F _assay assay\n\n"
	      "# a front end, as if it were typed behind our name\n"
	      "_assay_front_end()\n{\n"
	      "\tCOMP_WORDS=(assay \"${1##*/}\" \"${COMP_WORDS[@]:1}\")\n"
	      "\tCOMP_CWORD=$((COMP_CWORD + 1))\n"
	      "\t_assay\n}\n",
	      stdout);
	for (const struct command *const *c = front_ends; *c; c++)
		printf("complete -o filenames -F _assay_front_end %s\n", (*c)->name);
}

static void put_zsh_value(const struct option_spec *row)
{
	if (!row->arg)
		return;
	printf(":%s:", row->arg);
	if (what_of(row) == CHOICES) {
		putchar('(');
		put_choices(row->choices);
		putchar(')');
	} else if (what_of(row) == FILES) {
		fputs("_files", stdout);
	}
}

/* One spec of _arguments a name; `*` as an option may come again. */
static void put_zsh_option(const struct option_spec *row)
{
	char letter[2] = { row->letter, '\0' };
	const char *const names[] = { row->letter ? letter : NULL, row->name };

	for (int i = 0; i < 2; i++) {
		if (!names[i])
			continue;
		printf("\t\t\t'*%s%s", i ? "--" : "-", names[i]);
		if (row->arg && row->kind == OPT_OPTIONAL)
			fputs(i ? "=-" : "-", stdout);
		else if (row->arg)
			fputs(i ? "=" : "+", stdout);
		putchar('[');
		put_quoted(row->help, "[]:");
		putchar(']');
		put_zsh_value(row);
		fputs("' \\\n", stdout);
	}
}

static void put_zsh_command(const struct command *c)
{
	static const char *const operands[] = {
		NULL, "*:file:_files", NULL, "*::command:_normal", "1:command:_assay_commands", NULL
	};
	const char *operand = operands[operand_of(c)];

	printf("\t%s)\n\t\t_arguments -s \\\n", c->name);
	for (size_t i = 0; i < c->options.n; i++)
		put_zsh_option(&c->options.rows[i]);
	fputs("\t\t\t'(- *)'{-h,--help}'[explain the command]'", stdout);
	if (operand)
		printf(" \\\n\t\t\t'%s'", operand);
	if (operand_of(c) == WORDS) {
		fputs(" \\\n\t\t\t'1:word:(", stdout);
		put_words(c);
		fputs(")'", stdout);
	}
	puts("\n\t\t;;");
}

void complete_zsh(void)
{
	fputs("#compdef assay", stdout);
	for (const struct command *const *c = front_ends; *c; c++)
		printf(" %s", (*c)->name);
	fputs("\n# Completion of assay for zsh; generated from its command tables.\n"
	      "_assay_commands()\n{\n\tlocal -a names=(\n",
	      stdout);
	for (const struct command *const *c = commands; *c; c++) {
		printf("\t\t'%s:", (*c)->name);
		put_quoted((*c)->summary, ":");
		puts("'");
	}
	fputs("\t)\n\t_describe command names\n}\n\n"
	      "_assay()\n{\n\tlocal curcontext=$curcontext state=argument line\n\n"
	      "\tif [[ $service == assay ]]; then\n"
	      "\t\tstate=\n"
	      "\t\t_arguments -C '(- *)'{-h,--help}'[list the commands]' \\\n"
	      "\t\t\t'(- *)'{-V,--version}'[say the version]' \\\n"
	      "\t\t\t'1:command:_assay_commands' '*::argument:->argument'\n"
	      "\t\t[[ $state == argument ]] || return\n"
	      "\telse\n\t\twords[1]=$service # a front end\n\tfi\n"
	      "\tcase $words[1] in\n",
	      stdout);
	for (const struct command *const *c = commands; *c; c++)
		put_zsh_command(*c);
	for (const struct command *const *c = front_ends; *c; c++)
		put_zsh_command(*c);
	puts("\tesac\n}\n\n_assay \"$@\"");
}

/* What is shown beside a word; fish quotes with a backslash. */
static void put_fish_text(const char *text)
{
	fputs(" -d '", stdout);
	for (const char *at = text; *at; at++) {
		if (*at == '\'' || *at == '\\')
			putchar('\\');
		putchar(*at);
	}
	puts("'");
}

/* As a word behind our name, or for a front end as a program of its own. */
static void put_fish_option(const struct command *c, bool is_alone, const struct option_spec *row)
{
	if (is_alone)
		printf("complete -c %s", c->name);
	else
		printf("complete -c assay -n '__fish_seen_subcommand_from %s'", c->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (row->name)
		printf(" -l %s", row->name);
	if (takes_value(row))
		fputs(what_of(row) == FILES ? " -r -F" : " -x", stdout);
	if (row->choices) {
		fputs(" -a '", stdout);
		put_choices(row->choices);
		putchar('\'');
	}
	put_fish_text(row->help);
}

static void put_fish_operands(const struct command *c)
{
	static const char *const operands[] = { NULL, "-F", NULL, "-a '(__fish_complete_command)'",
						NULL, NULL };

	if (operands[operand_of(c)])
		printf("complete -c assay -n '__fish_seen_subcommand_from %s' %s\n", c->name,
		       operands[operand_of(c)]);
	for (const struct command_word *w = c->words; w && w->name; w++) {
		printf("complete -c assay -n '__fish_seen_subcommand_from %s' -a %s", c->name,
		       w->name);
		put_fish_text(w->help);
	}
}

void complete_fish(void)
{
	fputs("# Completion of assay for fish; generated from its command tables.\n"
	      "complete -c assay -f\n"
	      "complete -c assay -n __fish_use_subcommand -s h -l help -d 'list the commands'\n"
	      "complete -c assay -n __fish_use_subcommand -s V -l version -d 'say the version'\n",
	      stdout);
	for (const struct command *const *c = commands; *c; c++) {
		printf("complete -c assay -n __fish_use_subcommand -a %s", (*c)->name);
		put_fish_text((*c)->summary);
		for (size_t i = 0; i < (*c)->options.n; i++)
			put_fish_option(*c, false, &(*c)->options.rows[i]);
		put_fish_operands(*c);
	}
	for (const struct command *const *c = front_ends; *c; c++) {
		put_fish_operands(*c);
		for (size_t i = 0; i < 2 * (*c)->options.n; i++)
			put_fish_option(*c, i % 2, &(*c)->options.rows[i / 2]);
	}
	fputs("complete -c assay -n '__fish_seen_subcommand_from help' -a '", stdout);
	put_command_names();
	puts("'");
}
