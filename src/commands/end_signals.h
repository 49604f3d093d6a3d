/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT and SIGTERM as a wish to end: for commands that work in rounds, and wait in between. One
 * thread of the process waits; the others may ask.
 */
#pragma once

#include <stdbool.h>

/* From now on, these signals end no process, but rounds, waits and system calls that can wait. */
void end_signals_catch(void);

/* Whether one came. */
bool end_signals_came(void);

/* Waits so long, or until one comes; 0 or less, or if one came before: not at all. */
void end_signals_wait(double seconds);
