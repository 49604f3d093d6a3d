/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "generate.h"

#include <stdio.h>
#include <string.h>

#include "commands/tables.h"
#include "profile/key.h"

/* The kinds of words that complete a value or an operand. */
enum what { ANY, FILES, CHOICES, PROGRAMS, COMMANDS, WORDS, KEYS, EVENTS, FILTERS };

static enum what what_of(const struct option_spec *row)
{
	static const char *const paths[] = { "FILE", "DIR", "PATH", "SESSION", "ROOT" };

	static const struct {
		const char *arg;
		enum what what;
	} others[] = { { "KEYS", KEYS }, { "EVENT", EVENTS }, { "FILTER", FILTERS } };

	if (row->choices)
		return CHOICES;
	for (size_t i = 0; row->arg && i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(row->arg, others[i].arg))
			return others[i].what;
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
	if (strstr(c->synopsis, "FILTER") && !c->is_program)
		return FILTERS;
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

static void put_keys(void)
{
	for (int key = 0; key < N_PROFILE_KEYS; key++)
		printf("%s%s", key ? " " : "", profile_keys[key].key);
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
	static const char *const kinds[] = {
		[ANY] = "kind=none ;;",
		[FILES] = "kind=-f ;;",
		[EVENTS] = "kind=events ;;",
		[FILTERS] = "kind=filters ;;",
	};

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
		} else if (what_of(row) == KEYS) {
			fputs("words='", stdout);
			put_keys();
			fputs("' is_list=1 ;;\n", stdout);
		} else {
			puts(kinds[what_of(row)]);
		}
	}
}

static void put_bash_command(const struct command *c)
{
	static const char *const kinds[] = {
		[ANY] = "none",    [FILES] = "-f",      [CHOICES] = "none",
		[PROGRAMS] = "-c", [COMMANDS] = "none", [WORDS] = "none",
		[KEYS] = "none",   [EVENTS] = "none",   [FILTERS] = "filters"
	};

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

/* Words of bash for what the machine and the session have; the shell itself splits at "=" and ":".
 */
static const char bash_functions[] =
	"# The session that the words before name: -i DIR, -iDIR, --input DIR, --input=DIR.\n"
	"_assay_session()\n{\n"
	"\tlocal i\n\n"
	"\tfor ((i = 2; i < ${#COMP_WORDS[@]} - 1; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-i | --input) [ \"${COMP_WORDS[i+1]}\" = = ] && i=$((i + 1))\n"
	"\t\t\tprintf '%s\\n' \"${COMP_WORDS[i+1]}\" ;;\n"
	"\t\t-i?*) printf '%s\\n' \"${COMP_WORDS[i]#-i}\" ;;\n"
	"\t\tesac\n\tdone\n}\n\n"
	"# Offers the lines of standard input that begin with $1, behind $2, as the shell reads "
	"words.\n"
	"_assay_lines()\n{\n"
	"\tlocal line word\n\n"
	"\twhile IFS= read -r line; do\n"
	"\t\t[[ $line == \"$1\"* ]] || continue\n"
	"\t\tprintf -v word '%q' \"$line\"\n"
	"\t\tCOMPREPLY+=(\"$2$word\")\n"
	"\tdone\n}\n\n"
	"# The part of $1 that readline replaces: a colon may begin a separate word.\n"
	"_assay_cut_colon()\n{\n"
	"\tlocal i\n\n"
	"\t[[ $COMP_WORDBREAKS == *:* ]] || return\n"
	"\tfor i in \"${!COMPREPLY[@]}\"; do\n"
	"\t\tCOMPREPLY[i]=${COMPREPLY[i]#\"${1%\"${1##*:}\"}\"}\n"
	"\tdone\n}\n\n"
	"# A filter: tags first, then the values that the session has, then files (sessions).\n"
	"_assay_filters()\n{\n"
	"\tlocal word=$1 session=$2 tag value\n\n"
	"\tif [[ $word == *:* ]]; then\n"
	"\t\ttag=${word%%:*} value=${word#*:}\n"
	"\t\t_assay_lines \"${value##*,}\" \"${word%\"${value##*,}\"}\" < <(\n"
	"\t\t\tassay help --names \"$tag:\" ${session:+-i \"$session\"} 2>/dev/null)\n"
	"\t\t_assay_cut_colon \"$word\"\n"
	"\t\treturn\n\tfi\n"
	"\t_assay_lines \"$word\" '' < <(assay help --names filter)\n"
	"\tcompopt -o nospace 2>/dev/null\n"
	"\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n}\n\n"
	"# Events behind a comma, too.\n"
	"_assay_events()\n{\n"
	"\t_assay_lines \"${1##*,}\" \"${1%\"${1##*,}\"}\" < <(assay help --names event "
	"2>/dev/null)\n"
	"\t_assay_cut_colon \"$1\"\n}\n\n"
	"# The word at the cursor, put together again where the shell split it at a colon.\n"
	"_assay_whole_word()\n{\n"
	"\tlocal i=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]}\n\n"
	"\t[[ $COMP_WORDBREAKS == *:* ]] || { printf '%s\\n' \"$word\"; return; }\n"
	"\t[[ $word != : ]] || word=\n"
	"\t[[ ${COMP_WORDS[i]} != : ]] && [[ ${COMP_WORDS[i-1]} != : ]] && { printf '%s\\n' "
	"\"$word\"; return; }\n"
	"\t[[ ${COMP_WORDS[i]} == : ]] || i=$((i - 1))\n"
	"\tprintf '%s\\n' \"${COMP_WORDS[i-1]}:$word\"\n}\n\n";

void complete_bash(void)
{
	fputs("# Completion of assay for bash; generated from its command tables.\n", stdout);
	fputs(bash_functions, stdout);
	fputs("_assay()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal options= words= kind= operand=none is_list= whole back=1 i\n\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W '",
	      stdout);
	put_command_names();
	fputs(" --help --version' -- \"$cur\")\n\t\treturn\n\tfi\n"
	      "\t# bash splits --name=value and tag:value\n"
	      "\twhole=$(_assay_whole_word)\n"
	      "\t[ \"$whole\" = \"$cur\" ] || { [ \"$cur\" = : ] && back=2 || back=3; }\n"
	      "\tprev=${COMP_WORDS[COMP_CWORD-back]}\n"
	      "\tif [ \"$cur\" = = ]; then\n\t\tcur= whole= prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\telif [ \"$prev\" = = ]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-back-1]}\n\tfi\n"
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
	      "\tif [ -n \"$is_list\" ]; then\n"
	      "\t\t_assay_lines \"${cur##*,}\" \"${cur%\"${cur##*,}\"}\" < <(printf '%s\\n' "
	      "$words)\n"
	      "\telif [ -n \"$words\" ]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\telif [ \"$kind\" = events ]; then\n\t\t_assay_events \"$whole\"\n"
	      "\telif [ \"$kind\" = filters ]; then\n"
	      "\t\t_assay_filters \"$whole\" \"$(_assay_session)\"\n"
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
	} else if (what_of(row) == KEYS) {
		fputs("_values -s , key ", stdout);
		put_keys();
	} else if (what_of(row) == EVENTS) {
		fputs("_assay_events", stdout);
	} else if (what_of(row) == FILTERS) {
		fputs("_assay_filters", stdout);
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
		[FILES] = "*:file:_files",
		[PROGRAMS] = "*::command:_normal",
		[COMMANDS] = "1:command:_assay_commands",
		[FILTERS] = "*:filter:_assay_filters",
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
	      "_assay_events()\n{\n"
	      "\tlocal -a names=(${(f)\"$(assay help --names event 2>/dev/null)\"})\n\n"
	      "\t_sequence compadd - -a names\n}\n\n"
	      "# Tags of filters; behind one, its values in the session; or a file\n"
	      "_assay_filters()\n{\n"
	      "\tlocal session=${opt_args[-i]:-${opt_args[--input]}}\n"
	      "\tlocal -a names\n\n"
	      "\tif compset -P '*:'; then\n"
	      "\t\tnames=(${(f)\"$(assay help --names ${IPREFIX##*[[:space:]]} "
	      "${session:+-i} ${session:+$session} 2>/dev/null)\"})\n"
	      "\t\t_sequence compadd - -a names\n"
	      "\telse\n"
	      "\t\tnames=(${(f)\"$(assay help --names filter)\"})\n"
	      "\t\tcompadd -S '' -a names\n"
	      "\t\t_files\n\tfi\n}\n\n"
	      "_assay()\n{\n\tlocal curcontext=$curcontext state=argument line\n\n"
	      "\tif [[ $service == assay ]]; then\n"
	      "\t\tstate=\n"
	      "\t\t_arguments -C '(- *)'{-h,--help}'[list the commands]' \\\n"
	      "\t\t\t'(- *)'{-V,--version}'[print the version]' \\\n"
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

/* The description that fish shows beside a word. fish quotes with a backslash. */
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

/* The option belongs to a command of assay, or to a front end, which is a separate program. */
static void put_fish_option(const struct command *c, bool is_alone, const struct option_spec *row)
{
	if (is_alone)
		printf("complete -c %s", c->name);
	else
		printf("complete -c assay -n '__fish_seen_subcommand_from %s'", c->name);
	if (row->letter)
		printf(" -s '%c'", row->letter); /* it may be a question mark */
	if (row->name)
		printf(" -l %s", row->name);
	if (takes_value(row))
		fputs(what_of(row) == FILES ? " -r -F" : " -x", stdout);
	if (row->choices) {
		fputs(" -a '", stdout);
		put_choices(row->choices);
		putchar('\'');
	} else if (what_of(row) == KEYS) {
		fputs(" -a '(__fish_append , ", stdout);
		put_keys();
		fputs(")'", stdout);
	} else if (what_of(row) == EVENTS) {
		fputs(" -a '(__fish_append , (assay help --names event 2>/dev/null))'", stdout);
	} else if (what_of(row) == FILTERS) {
		fputs(" -a '(__assay_filters)'", stdout);
	}
	put_fish_text(row->help);
}

static void put_fish_operands(const struct command *c)
{
	static const char *const operands[] = {
		[FILES] = "-F",
		[PROGRAMS] = "-a '(__fish_complete_command)'",
		[FILTERS] = "-F -a '(__assay_filters)'",
	};

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
	      "# Tags of filters; behind one, its values in the session\n"
	      "function __assay_filters\n"
	      "\tset -l word (commandline -ct)\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -l session\n"
	      "\tif set -l at (contains -i -- -i $words; or contains -i -- --input $words)\n"
	      "\t\tset session -i $words[(math $at + 1)]\n"
	      "\tend\n"
	      "\tif not string match -q '*:*' -- $word\n"
	      "\t\tassay help --names filter\n"
	      "\t\treturn\n"
	      "\tend\n"
	      "\tset -l tag (string replace -r ':.*' ':' -- $word)\n"
	      "\tset -l before (string replace -r '[^:,]*$' '' -- $word)\n"
	      "\tfor name in (assay help --names $tag $session 2>/dev/null)\n"
	      "\t\techo $before$name\n"
	      "\tend\n"
	      "end\n"
	      "complete -c assay -f\n"
	      "complete -c assay -n __fish_use_subcommand -s h -l help -d 'list the commands'\n"
	      "complete -c assay -n __fish_use_subcommand -s V -l version -d 'print the version'\n",
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
