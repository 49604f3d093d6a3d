/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that shells complete: events of this machine, and values of a session. */
#pragma once

struct error;

/*
 * Prints a line for each name. `what` is "event" for the events that can be counted here, or
 * "TAG:" of a filter ("symbol:") for its values in the session at `input`, or "filter" for the
 * tags.
 */
int help_print_names(const char *what, const char *input, struct error *err);
