/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The starter: a process of a daemon, or of a recording of the machine, that starts its parsers
 * (guard/parser_child.h).
 *
 *	daemon ── start, end, hurry ──► starter ── fork ──► parser, parser …
 *
 * The daemon forks it while it has its rights. So the parsers are of the user "assay-parser" where
 * there is one, and no signal of theirs reaches the daemon. They have nothing of the daemon's
 * memory, and the daemon, which has much of it and many threads, need not fork.
 *
 * The starter gives up all rights at once, and reads nothing but the daemon's requests.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "guard/parser_child.h"

struct error;

/*
 * Starts the starter; parsers come from it from now on. Returns its process id or a negative errno.
 * There must be one thread.
 */
pid_t parser_starter_begin(struct error *err);

/* Ends it and its parsers, and waits for it. `starter` 0 or below is fine. */
void parser_starter_finish(pid_t starter);

/* ---- for parser_child.c; any thread ---- */

/* The process id of a new parser, or a negative errno: there is no starter (any more). */
pid_t parser_starter_start(uint64_t memory_bytes, int questions, int files);
void parser_starter_end(pid_t pid, struct parser_end *out);
void parser_starter_hurry(pid_t pid, int nice_value);
