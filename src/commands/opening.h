/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How commands open inputs: their options, their messages, and temporary files when a signal ends
 * them. */
#pragma once

#include "open/input.h"

#define PARSER_BYTES ((uint64_t)2 << 30) /* that a child of the parser may use */

/*
 * What every command's open_config has: messages on standard error, and temporary directories that
 * go when the process ends, also by a signal.
 */
extern const struct open_config opening_config;

/* The members that options say, of arguments with the rows of CODE_OPTIONS, or of all rows. */
#define CODE_MEMBERS(args)                                                                        \
	.vmlinux = (args).code.vmlinux, .symfs = (args).code.symfs,                               \
	.guest_kallsyms = (args).code.guest_kallsyms, .guest_modules = (args).code.guest_modules, \
	.guest_mount = (args).code.guest_mount, .guest_vmlinux = (args).code.guest_vmlinux,       \
	.guest_code = (args).code.guest_code, .image_dirs = (args).code.image_path.data,          \
	.n_image_dirs = (args).code.image_path.n, .debuginfod_s = (args).code.debuginfod_s
#define CODE_CONFIG(args)          \
	{                          \
		CODE_MEMBERS(args) \
	}
#define OPEN_CONFIG(args)                                                             \
	{                                                                             \
		CODE_MEMBERS(args), .itrace = (args).itrace, .filter = (args).filter, \
				    .no_itrace = (args).no_itrace,                    \
				    .container_names = (args).container_names,        \
				    .no_demangle = (args).no_demangle                 \
	}

/* Makes *out of *options and opening_config. -1 to go on, or an exit status, after a message. */
int opening_begin(const char *command, const struct open_config *options, struct input **out);

/* The exit status after a result below 0, 0, or 1: names come later (names_s of open_config). */
int opening_status(int result, bool is_damaged);

/* The option --names-limit: names_s of open_config. */
#define NAMES_LIMIT_OPTION(field)                                                            \
	{                                                                                    \
		0, "names-limit", "TIME", OPT_SECONDS, (field), NULL,                        \
			"leave names of files out that are not there after TIME, with exit " \
			"status 3 (4: of a damaged source)",                                 \
			"Servers of debuginfod are not asked. A run without it reads all "   \
			"names, and keeps them.",                                            \
			0.001, 1e6                                                           \
	}

/* Removes the directory, if it is there, when the process ends, also by a signal. NULL is fine. */
void opening_remove_at_end(const char *dir);

/*
 * For a process that ends by _exit() while other threads may still write into them: another process
 * removes them when this one has ended.
 */
void opening_remove_after_end(void);

/* Whether `path` (may be NULL) is a perf.data file with a processor trace. "-" is never read. */
bool opening_find_trace(const char *path);

/* Prints a note about the input `path` as a warning: a callback for notes, such as a trace's. */
void opening_note(void *path, const char *sentence);
