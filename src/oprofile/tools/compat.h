/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared code of the front ends for OProfile's tools: help and version in OProfile's way, exit
 * status 1 for wrong usage, and options without a meaning today.
 *
 * A front end is a table of options and a function that translates them to options of an assay
 * command. It computes nothing itself.
 */
#pragma once

#include "cli/command.h"

#define FRONT_END(name) extern const struct command name##_command;
#include "oprofile/tools/programs.def"
#undef FRONT_END

struct error;

/* First in the arguments of every front end. `oprofile`: whose options these are, if not 1.5's. */
struct compat_args {
	const char *oprofile;
	bool version, help, usage;
	const char *verbose;
};

#define COMPAT_FIELD(type, f) offsetof(struct type, compat.f)

/* Rows that all have; `usage_letter` 0 or 'u', and the letter of help with popt. */
#define COMPAT_OPTIONS(type, usage_letter)                                             \
	COMPAT_ABOUT(type, usage_letter),                                              \
	{                                                                              \
		'V', "verbose", "LIST", OPT_STRING, COMPAT_FIELD(type, verbose), NULL, \
			"accepted; there is no such output here"                       \
	}
#define COMPAT_ABOUT(type, usage_letter)                                                \
	{                                                                               \
		'v',  "version",          NULL, OPT_FLAG, COMPAT_FIELD(type, version),  \
		NULL, "print the version"                                               \
	},                                                                              \
	{                                                                               \
		usage_letter, "usage", NULL, OPT_FLAG, COMPAT_FIELD(type, usage), NULL, \
			"print a short usage"                                           \
	}
#define COMPAT_HELP(type)                                                                        \
	{                                                                                        \
		'?', NULL, NULL, OPT_FLAG, COMPAT_FIELD(type, help), NULL, "explain the options" \
	}
#define COMPAT_VERBOSE(type)                                                                    \
	{                                                                                       \
		COMPAT_FIELD(type, verbose), false, "--verbose",                                \
			"there is no such output here; 'assay doctor' and 'assay why' explain " \
			"more"                                                                  \
	}

/* An option that is taken and does nothing: a flag, or a text that is not NULL. */
struct compat_obsolete {
	size_t field;
	bool is_flag;
	const char *option, *why;
};

/*
 * As command_begin(): returns -1 to continue. Help goes to standard output and is success. Wrong
 * usage prints the message and the whole help on standard error, and the status is 1. `args` begins
 * with struct compat_args.
 */
int compat_begin(const struct command *self, bool stop_at_operand, int argc, char **argv,
		 void *args, struct option_list *operands);

/* One line for each that was given. The list ends with a row without an option. */
void compat_tell_obsolete(const struct compat_obsolete *list, const void *args);

/* Words of a list with commas; "\," is a comma in a word. The caller frees each, and the list. */
struct compat_words {
	char **data;
	size_t n, cap;
};
void compat_split(const char *text, struct compat_words *out);
void compat_words_fini(struct compat_words *words);

/* An argument vector that is made up; texts are copied. */
struct compat_argv {
	char **data; /* ends with NULL */
	size_t n, cap;
};
void compat_push(struct compat_argv *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void compat_argv_fini(struct compat_argv *v);

/* Returns the command line, "opreport -l …", for outputs that contain it. The caller frees it. */
char *compat_command_line(const char *name, int argc, char **argv);

/*
 * The session of --session-dir, or OProfile's default: ./oprofile_data if that is a folder; else
 * /var/lib/oprofile, with a message; else ./assay.data if only that exists.
 */
const char *compat_session_dir(const char *given);

/*
 * -EPROTONOSUPPORT, with a message: the current or the previous session of the directory, which
 * compat_keep_samples() would replace, is a newer assay's.
 */
int compat_refuse_newer(const char *dir, struct error *err);

/*
 * Moves what was recorded at `place` (record -o) into the session directory `dir`: as
 * samples/current, which becomes samples/previous, or added to it.
 */
int compat_keep_samples(const char *place, const char *dir, bool append, struct error *err);

/*
 * Where a recording of this process is while it runs, in a session directory. The caller's to
 * free().
 */
char *compat_recording_place(const char *dir);

/*
 * Looks for killed recordings that were never kept. The samples of each become the session
 * directory's current ones, as at a normal end, with a message. If that fails, the message has
 * their place.
 */
void compat_keep_killed(const char *dir);
