/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chapters of assay-script(1) behind its options. */
#pragma once

#include "cli/command.h"

extern const struct command_section script_sections[];
