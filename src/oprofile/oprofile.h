/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that the other rooms know of this one. A build with -Doprofile=disabled leaves the room out;
 * commands/tables.c puts these rows into the tables of the rooms that use them.
 */
#pragma once

#include "cli/command.h"
#include "report/formats.h"

struct daemon_file_system;
struct importer;
struct open_config;
struct record_end;
struct report_format;
struct store_ops;

/* Sample files (docs/oprofile.md): counts and arcs, no times. */
extern const struct store_ops oprofile_store;

/*
 * Imports OProfile's sample files (of operf, oprofiled, or --store=oprofile) to a session. They
 * have no times and no stacks: all samples are in one second and have one frame. Arcs of the call
 * graph are kept beside them (machine/image.h). An unreadable sample file is damage: the session
 * has the others, and the result's damage names the first.
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
