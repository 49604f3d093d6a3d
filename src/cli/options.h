/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options as tables: a row is the parser, --help, the man page and completion.
 *
 * GNU conventions: -x, -xVALUE, -x VALUE, --name, --name=VALUE, --name VALUE,
 * unambiguous prefixes of long names, `--` ends the options. perf's names are aliases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* X(id, field type) */
enum option_kind {
	OPT_FLAG,     /* bool: set true */
	OPT_NEGATE,   /* bool: set false */
	OPT_COUNT,    /* int: incremented, as -v -v */
	OPT_STRING,   /* const char *: the last one wins */
	OPT_LIST,     /* struct option_list: every one is kept, in order */
	OPT_U64,      /* uint64_t, within [min, max]; suffixes k M G are powers of 1000 */
	OPT_DOUBLE,   /* double, within [min, max] */
	OPT_SECONDS,  /* double seconds; suffixes us ms s m h d w */
	OPT_SIZE,     /* uint64_t bytes; suffixes k M G are powers of 1024 */
	OPT_CHOICE,   /* const char *: one of `choices` */
	OPT_OPTIONAL, /* const char *: the value may be left out (--name alone: `implied`) */
};

struct option_list {
	const char **data;
	size_t n, cap;
};

struct option_spec {
	char letter;      /* 0: long only */
	const char *name; /* long name without dashes; NULL: letter only */
	const char *arg;  /* value name in help, NULL for flags */
	enum option_kind kind;
	size_t field;        /* offset in the command's arguments struct */
	const char *initial; /* default as text, parsed like a value; NULL: leave zero */
	const char *help;    /* one line for --help and completion */
	const char *more;    /* further sentences for the man page; NULL */
	double min, max;     /* of numbers; both 0: no limit */
	const char *choices; /* "text|csv|json": OPT_CHOICE, and for completion of others; of
			      * OPT_U64, a word that may stand for UINT64_MAX */
	const char *implied; /* OPT_OPTIONAL */
};

/* What an option of perf, which is no row of the table, means here. */
enum alias_kind {
	ALIAS_SAME,    /* the row whose long name is `text` */
	ALIAS_DEFAULT, /* nothing to do: assay does so anyway; `text` explains it */
	ALIAS_OTHER, /* refused: `text` names the replacement. Help lists the letters that are rows,
		      * too
		      */
};

struct option_alias {
	const char *name; /* with dashes: "--stdio", "-N" */
	enum alias_kind kind;
	const char *text; /* plain, lower case, no full stop */
};

struct option_table {
	const struct option_spec *rows;
	size_t n;
	const struct option_alias *aliases; /* ends with { NULL } ; may be NULL */
};

#define OPTIONS(array) OPTIONS_AND_ALIASES(array, NULL)
#define OPTIONS_AND_ALIASES(array, aliases)                            \
	{                                                              \
		(array), sizeof(array) / sizeof((array)[0]), (aliases) \
	}

/* The row with this name, with dashes ("--freq", "-F"); NULL. */
const struct option_spec *option_find(const struct option_table *table, const char *name);

/*
 * Parses argv[1..argc) into `args`, after setting the defaults. Operands go to *operands. With
 * `stop_at_operand` (as for `record … CMD ARGS`), parsing ends at the first operand. Returns 1 for
 * -h/--help, which the caller prints. Returns -EINVAL with a message that names the option, the
 * value and the allowed values; `args` may have changed then.
 */
int options_parse(const struct option_table *table, bool stop_at_operand, int argc, char **argv,
		  void *args, struct option_list *operands, struct error *err);

/*
 * The same in two steps, with something between them that is weaker than the command line and
 * stronger than the defaults: a file.
 */
int options_set_defaults(const struct option_table *table, void *args, struct error *err);
int options_parse_given(const struct option_table *table, bool stop_at_operand, int argc,
			char **argv, void *args, struct option_list *operands, struct error *err);

/*
 * Parses a line of a settings file: "NAME = value" with the long names of the table, an empty line,
 * or a comment from a # on. Flags take yes or no. Changes `line`; texts in `args` point into it.
 * Errors as for options_parse().
 */
int options_parse_line(const struct option_table *table, char *line, void *args, struct error *err);

/* Parses one value by its row's rules, as for the command line. */
int option_set(const struct option_spec *row, const char *value, void *args, struct error *err);

void option_list_fini(struct option_list *l);
