/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that the other rooms know of this one. A build with -Doprofile=disabled leaves the room out;
 * commands/tables.c puts these rows into the tables of the rooms that use them.
 */
#pragma once

#include "cli/command.h"

struct daemon_file_system;
struct importer;
struct open_config;
struct record_end;
struct report_format;
struct store_ops;

/* Sample files (docs/oprofile.md): counts and arcs, no times. */
extern const struct store_ops oprofile_store;

/*
 * From the sample files of OProfile (operf, oprofiled, or our own --store=oprofile) to a session.
 * They have neither times nor stacks: all samples are of one second, with the one frame that they
 * are in; arcs of the call graph are kept beside them (machine/image.h). A sample file that cannot
 * be read is damage: the others are in the session, and the result's damage names the first.
 */
extern const struct importer oprofile_importer;

/* The XML of opreport -X. */
extern const struct report_format xml_format;

/* oprofilefs, which the daemon mounts. */
extern const struct daemon_file_system oprofile_file_system;

/* The commands that OProfile's programs use, as they come after this room: commands/tables.c. */
struct oprofile_commands {
	const struct command *record;
	int (*record_arguments)(const struct command *self, int argc, char **argv,
				struct record_end *end); /* commands/record.h */
	const struct open_config *open_config;
	void (*on_temporary)(const char *path); /* export/export.h */
};
extern const struct oprofile_commands oprofile_commands;
