/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `assay record` for front ends: by an argument vector that they make up. */
#pragma once

#include <stdbool.h>

#include "cli/command.h"
#include "record/record_end.h"

/*
 * As record's run(), but the command's own status is not passed on. `self` is record_command, or a
 * copy of it under a front end's name, which then stands before messages. argv[0] does not count.
 * Returns an exit status.
 */
int record_arguments(const struct command *self, int argc, char **argv, struct record_end *end);
