/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands and the front ends, as tables that end with NULL. */
#pragma once

#include "cli/command.h"
#include "config.h"

/* Of --format of the report, and of --store of record. */
#ifdef HAVE_OPROFILE
#define REPORT_FORMATS "text|csv|json|xml"
#define STORE_KINDS    "native|oprofile"
#else
#define REPORT_FORMATS "text|csv|json"
#define STORE_KINDS    "native"
#endif

#define COMMAND(name) extern const struct command name##_command;
#include "commands/commands.def"
#undef COMMAND

extern const struct command *const commands[]; /* in the order of commands.def */

/*
 * Front ends have the names, the options and the output of older tools. The user calls one by a
 * symbolic link to assay, or as `assay NAME`. In the order of front_ends.def, then of
 * oprofile/tools/programs.def.
 */
extern const struct command *const front_ends[];

/* A command, or a front end; NULL. */
const struct command *command_find(const char *name);

/* Says that there is no such command, after `prefix`, and names the nearest one. */
void command_refuse(const char *prefix, const char *name);

/* The front end that a path to the program names ("/usr/bin/prospect"); NULL. */
const struct command *front_end_find(const char *path);
