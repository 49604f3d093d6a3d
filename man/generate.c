/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes all texts that follow from the command tables: man pages in scdoc's markup, and completion
 * for bash, zsh and fish. It also writes a bare list of options, with which the tests compare
 * these. It runs at build time only.
 *
 *   generate man            assay(1)
 *   generate man COMMAND    assay-COMMAND(1)
 *   generate bash|zsh|fish|options
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "commands/tables.h"
#include "config.h"
#include "generate.h"

/* Plain text in scdoc's markup: nothing in it is markup. */
static void put_plain(const char *text)
{
	for (; *text; text++) {
		if (strchr("\\*_#[]|<~`", *text))
			putchar('\\');
		putchar(*text);
	}
}

/* An indented paragraph of an option or an example: a line break keeps the indent. */
static void put_indented(const char *text)
{
	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n' && text[1] != '\n')
			putchar('\t');
	}
}

static void put_bold(const char *text)
{
	putchar('*');
	put_plain(text);
	putchar('*');
}

static void put_option(const struct option_spec *row)
{
	char letter[3] = { '-', row->letter, '\0' };

	if (row->letter)
		put_bold(letter);
	if (row->name) {
		printf("%s*--", row->letter ? ", " : "");
		put_plain(row->name);
		putchar('*');
	}
	if (row->arg) {
		fputs(row->kind == OPT_OPTIONAL ? "\\[=_" : row->name ? "=_" : " _", stdout);
		put_plain(row->arg);
		fputs(row->kind == OPT_OPTIONAL ? "_\\]" : "_", stdout);
	}
	printf("\n\t%c", toupper((unsigned char)row->help[0]));
	put_plain(row->help + 1);
	putchar('.');
	if (row->kind == OPT_CHOICE) {
		fputs(" One of ", stdout);
		put_plain(row->choices);
		putchar('.');
	}
	if (row->initial) {
		fputs(" The default is ", stdout);
		put_bold(row->initial);
		putchar('.');
	}
	if (row->more) {
		putchar(' ');
		put_indented(row->more);
	}
	fputs("\n\n", stdout);
}

static void put_words(const struct command *c)
{
	for (const struct command_word *w = c->words; w && w->name; w++) {
		put_bold(w->name);
		if (*w->arguments) {
			putchar(' ');
			put_plain(w->arguments);
		}
		printf("\n\t%c", toupper((unsigned char)w->help[0]));
		put_plain(w->help + 1);
		fputs(".\n\n", stdout);
	}
}

static void put_examples(const struct command_example *examples)
{
	if (!examples || !examples->command)
		return;
	fputs("# EXAMPLES\n\n", stdout);
	for (const struct command_example *e = examples; e->command; e++) {
		put_bold(e->command);
		fputs("\n\t", stdout);
		put_plain(e->text);
		fputs("\n\n", stdout);
	}
}

static bool has_section(const struct command *c, const char *title)
{
	for (const struct command_section *s = c->sections; s && s->title; s++)
		if (!strcasecmp(s->title, title))
			return true;
	return false;
}

static void put_title(const char *title)
{
	fputs("# ", stdout);
	for (; *title; title++)
		putchar(toupper((unsigned char)*title));
	fputs("\n\n", stdout);
}

static const char *page_prefix(const struct command *c)
{
	return c->is_program ? "" : "assay-";
}

/* Whether a text has "assay NAME" or "assay-NAME(1)"; of a front end, "NAME*(1)". */
static bool text_names_page(const char *text, const struct command *page)
{
	size_t size = strlen(page->name);

	for (const char *at = text; at && (at = strstr(at, page->name)); at += size) {
		const char *after = at + size;

		if (page->is_program) {
			if (!strncmp(after, "*(1)", 4))
				return true;
		} else if (at - text >= 6 && !strncmp(at - 6, "assay", 5) && strchr(" -", at[-1]) &&
			   !isalnum((unsigned char)*after) && *after != '-' && *after != '.') {
			return true;
		}
	}
	return false;
}

static bool command_names_page(const struct command *c, const struct command *page)
{
	if (text_names_page(c->description, page))
		return true;
	for (size_t i = 0; i < c->options.n; i++)
		if (text_names_page(c->options.rows[i].help, page) ||
		    text_names_page(c->options.rows[i].more, page))
			return true;
	for (const struct command_word *w = c->words; w && w->name; w++)
		if (text_names_page(w->help, page))
			return true;
	for (const struct command_section *s = c->sections; s && s->title; s++)
		if (text_names_page(s->text, page))
			return true;
	for (const struct command_example *e = c->examples; e && e->command; e++)
		if (text_names_page(e->command, page))
			return true;
	return false;
}

static void put_named_pages(const struct command *c, const struct command *const *list)
{
	for (const struct command *const *page = list; *page; page++)
		if (*page != c && command_names_page(c, *page))
			printf(", *%s%s*(1)", page_prefix(*page), (*page)->name);
}

/* All pages that the page itself names, in the order of assay(1). */
static void put_see_also(const struct command *c)
{
	fputs("# SEE ALSO\n\n*assay*(1)", stdout);
	put_named_pages(c, commands);
	put_named_pages(c, front_ends);
	puts(has_section(c, "events") ? ", *perf_event_open*(2)" : "");
}

/* The examples and the options that people use come first. */
static void put_common_uses(const struct command *c)
{
	const struct option_spec *row;

	put_examples(c->examples);
	if (c->common)
		fputs("# MOST USED OPTIONS\n\n", stdout);
	for (size_t i = 0; (row = command_common_option(c, i)); i++)
		put_option(row);
}

static void put_options(const struct command *c)
{
	fputs(c->common ? "# MORE OPTIONS\n\n" : "# OPTIONS\n\n", stdout);
	for (size_t i = 0; i < c->options.n; i++)
		if (!command_is_common(c, &c->options.rows[i]))
			put_option(&c->options.rows[i]);
	printf("%s*--help*\n\tExplain the command and its options, and do nothing else.\n\n",
	       option_find(&c->options, "-h") ? "" : "*-h*, ");
}

static void put_aliases(const struct command *c)
{
	if (!c->options.aliases)
		return;
	printf("# OPTIONS OF PERF\n\nOptions of *perf %s* that are other options here:\n\n",
	       c->name);
	for (const struct option_alias *a = c->options.aliases; a->name; a++) {
		put_bold(a->name);
		fputs("\n\t", stdout);
		if (a->kind == ALIAS_SAME)
			printf("The same as *--%s*", a->text);
		else if (a->kind == ALIAS_DEFAULT)
			fputs("Accepted, with nothing to do: ", stdout);
		else
			fputs("Instead: ", stdout);
		if (a->kind != ALIAS_SAME)
			put_plain(a->text);
		fputs(".\n\n", stdout);
	}
}

/* A row that is named where there is none is a mistake in the tables: the build ends. */
static bool are_names_right(const struct command *c)
{
	size_t n_common = c->common ? 1 : 0, n_found = 0;
	bool is_right = true;

	for (const char *at = c->common; at && *at; at++)
		n_common += *at == ',';
	while (command_common_option(c, n_found))
		n_found++;
	if (n_found != n_common) {
		fprintf(stderr, "generate: %s: of '%s' only %zu are options\n", c->name, c->common,
			n_found);
		is_right = false;
	}
	for (const struct option_alias *a = c->options.aliases; a && a->name; a++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", a->text);
		if (a->kind == ALIAS_SAME && !option_find(&c->options, name)) {
			fprintf(stderr, "generate: %s: perf's %s is no %s\n", c->name, a->name,
				name);
			is_right = false;
		}
	}
	return is_right;
}

static void man_command(const struct command *c)
{
	const char *prefix = page_prefix(c);

	printf("%s%s(1) \"assay %s\" \"assay manual\"\n\n# NAME\n\n%s%s - ", prefix, c->name,
	       ASSAY_VERSION, prefix, c->name);
	put_plain(c->summary);
	printf("\n\n# SYNOPSIS\n\n*%s%s* ", c->is_program ? "" : "assay ", c->name);
	put_plain(c->synopsis);
	fputs("\n\n", stdout);
	put_common_uses(c);
	printf("# DESCRIPTION\n\n%s\n\n", c->description);
	put_words(c);
	put_options(c);
	put_aliases(c);
	for (const struct command_section *s = c->sections; s && s->title; s++) {
		put_title(s->title);
		printf("%s\n\n", s->text);
	}
	if (!has_section(c, "exit status"))
		fputs("# EXIT STATUS\n\n*0*\n\tAll went well.\n\n*1*\n\tIt failed; the message "
		      "says why.\n\n*2*\n\tThe command line was wrong.\n\n",
		      stdout);
	put_see_also(c);
}

/* What all commands share; the rest of assay(1) is derived. */
static const char overview[] =
	"# DESCRIPTION\n\n"
	"assay shows where a program, or a whole machine, spends its time. You do not rebuild or "
	"change anything. *assay record* takes samples while the work runs, and keeps them in a "
	"session. A session is a directory. The other commands read it as often as you like, on "
	"another machine, too.\n\n"
	"If there are no hardware counters, assay samples by the cpu-clock timer. If you are not "
	"root, you can profile your own processes, as far as the kernel permits it. *assay doctor* "
	"shows what is possible on this machine, and which command makes more possible.\n\n"
	"Man pages name documents as docs/fleet.md: they are in the source, and in the package "
	"_assay-doc_.\n\n";

static const char environment[] =
	"# ENVIRONMENT\n\n"
	"*XDG_CACHE_HOME*\n\tThe folder of caches, such as symbol tables, below _assay_. The "
	"default is "
	"_~/.cache_.\n\n"
	"*NO_COLOR*\n\tIf it is set, assay prints no colours.\n\n"
	"*PAGER*\n\tThe program that shows long output on a terminal. The default is *less*.\n\n";

static const char common_options[] =
	"# MOST USED OPTIONS\n\nThey are the same in most commands.\n\n"
	"*-i* _DIR_\n\tThe session, or perf.data file, to read. The default is *assay.data*.\n\n"
	"*-o* _NAME_\n\tThe file or directory of the result.\n\n"
	"*-p* _PID_\n\tA running process.\n\n"
	"*-a*\n\tThe whole machine.\n\n"
	"*-e* _EVENT_\n\tThe event to count.\n\n";

static const struct command_example first_steps[] = {
	{ "assay record -- ./app", "Profile a program and all that it starts." },
	{ "assay report", "See which programs and files used the time." },
	{ "assay report --tree", "See who calls what." },
	{ "assay report --html app.html", "Get a page with a flame graph." },
	{ "assay doctor", "Learn what this machine permits." },
	{ NULL },
};

static void put_summaries(const struct command *const *list)
{
	for (const struct command *const *c = list; *c; c++) {
		printf("*%s%s*(1)\n\t%c", page_prefix(*c), (*c)->name,
		       toupper((unsigned char)(*c)->summary[0]));
		put_plain((*c)->summary + 1);
		fputs(".\n\n", stdout);
	}
}

static void man_overview(void)
{
	printf("assay(1) \"assay %s\" \"assay manual\"\n\n# NAME\n\nassay - a system profiler\n\n"
	       "# SYNOPSIS\n\n*assay* _COMMAND_ \\[OPTIONS\\]\n\n",
	       ASSAY_VERSION);
	put_examples(first_steps);
	printf("%s%s# COMMANDS\n\n", common_options, overview);
	put_summaries(commands);
	if (*front_ends)
		fputs("# FRONT ENDS\n\nLinks to *assay* that take the options of older tools:\n\n",
		      stdout);
	put_summaries(front_ends);
	fputs("# OPTIONS\n\n*-h*, *--help*\n\tList the commands.\n\n"
	      "*-V*, *--version*\n\tPrint the version, the optional parts that are built in, and "
	      "those that lack their "
	      "library here.\n\n",
	      stdout);
	fputs(environment, stdout);
	fputs("# SEE ALSO\n\n*perf_event_open*(2)\n", stdout);
}

static void list_options_of(const struct command *const *list)
{
	for (const struct command *const *c = list; *c; c++)
		for (size_t i = 0; i < (*c)->options.n; i++) {
			const struct option_spec *row = &(*c)->options.rows[i];

			if (row->letter)
				printf("%s -%c\n", (*c)->name, row->letter);
			if (row->name)
				printf("%s --%s\n", (*c)->name, row->name);
		}
}

static void list_options(void)
{
	list_options_of(commands);
	list_options_of(front_ends);
}

static const struct {
	const char *name;
	void (*write)(void);
} outputs[] = {
	{ "bash", complete_bash },   { "zsh", complete_zsh }, { "fish", complete_fish },
	{ "options", list_options }, { "man", man_overview },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 3 && !strcmp(what, "man")) {
		const struct command *c = command_find(argv[2]);

		if (!c) {
			fprintf(stderr, "generate: no command '%s'\n", argv[2]);
			return 1;
		}
		if (!are_names_right(c))
			return 1;
		man_command(c);
		return ferror(stdout);
	}
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		if (argc == 2 && !strcmp(what, outputs[i].name)) {
			outputs[i].write();
			return ferror(stdout);
		}
	}
	fprintf(stderr, "Usage: generate man [COMMAND] | bash | zsh | fish | options\n");
	return 2;
}
