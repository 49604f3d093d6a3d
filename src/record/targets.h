/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared code of the commands that start, or attach to, processes. */
#pragma once

#include <stdbool.h>

#include "cli/options.h"
#include "machine/proc.h"

struct error;

#define CHILDREN_OPTION(field)                                                     \
	{                                                                          \
		0, "children", NULL, OPT_FLAG, field, NULL,                        \
			"with -p: the processes below these that run already, too" \
	}

/* Lists of numbers with commas, one or several; `what` ("process", "thread") is for the message. */
int parse_ids(const struct option_list *args, const char *what, struct pid_list *out,
	      struct error *err);

/* Reports the data that /proc, /sys and the pid namespace hide from a recording or count. */
void print_surroundings(bool whole_machine);

/*
 * The command's status, as wait(2) gives it, becomes ours: its code is returned, the signal that
 * ended it ends us. EXIT_OK for -1: there was no command, or it goes on.
 */
int pass_on_status(int wait_status);
