/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the tables by which the rooms before this one know those after them, and OProfile's. */
#include "commands/tables.h"

#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/path.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "commands/record.h"
#include "commands/temporary.h"
#include "config.h"
#include "daemon/file_system.h"
#include "oprofile/oprofile.h"
#include "report/csv.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"
#include "store/native.h"
#include "store/store.h"

#define FRONT_END(name) extern const struct command name##_command;
#include "commands/front_ends.def"
#ifdef HAVE_OPROFILE
#include "oprofile/tools/programs.def"
#endif
#undef FRONT_END

const struct command *const commands[] = {
#define COMMAND(name) &name##_command,
#include "commands/commands.def"
#undef COMMAND
	NULL,
};

const struct command *const front_ends[] = {
#define FRONT_END(name) &name##_command,
#include "commands/front_ends.def"
#ifdef HAVE_OPROFILE
#include "oprofile/tools/programs.def"
#endif
#undef FRONT_END
	NULL,
};

const struct report_format *const report_formats[] = {
	&text_format, &csv_format, &json_format,
#ifdef HAVE_OPROFILE
	&xml_format,
#endif
	NULL,
};

const struct store_ops *const store_kinds[] = {
	&native_store,
#ifdef HAVE_OPROFILE
	&oprofile_store,
#endif
	NULL,
};

#ifdef HAVE_OPROFILE
const struct daemon_file_system *const daemon_file_system = &oprofile_file_system;
const struct oprofile_commands oprofile_commands = { &record_command, record_arguments,
						     &opening_config, temporary_follow };
#else
const struct daemon_file_system *const daemon_file_system;
#endif

static const struct command *command_find_in(const struct command *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp((*list)->name, name))
			return *list;
	return NULL;
}

const struct command *command_find(const char *name)
{
	const struct command *c = command_find_in(commands, name);

	return c ? c : command_find_in(front_ends, name);
}

/* The start of a name is as near as the name. */
static void offer_all(struct nearest *nearest, const struct command *const *list, const char *word)
{
	for (; *list; list++) {
		const char *name = (*list)->name;
		bool is_start = strlen(word) > 1 && !strncmp(word, name, strlen(word));

		nearest_offer(nearest, is_start ? word : name, name);
	}
}

void command_refuse(const char *prefix, const char *name)
{
	const char *here = perf_command_here(name);
	struct nearest nearest;
	char names[128];

	nearest_begin(&nearest, name);
	offer_all(&nearest, commands, name);
	offer_all(&nearest, front_ends, name);
	nearest_end(&nearest, names, sizeof(names));
	if (here)
		log_error("%sno command '%s'; 'perf %s' is 'assay %s' here", prefix, name, name,
			  here);
	else if (*names)
		log_error("%sno command '%s'; nearest: %s; 'assay help' lists all", prefix, name,
			  names);
	else
		log_error("%sno command '%s'; 'assay help' lists all", prefix, name);
}

const struct command *front_end_find(const char *path)
{
	return command_find_in(front_ends, path_file_name(path));
}
