/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that help a daemon, and their cost: keeper, opener, parsers, upkeep. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "guard/parser.h"

struct daemon;

struct helper {
	pid_t pid;              /* 0: there is none */
	uint64_t cpu_ns, bytes; /* CPU time, also of children that it has waited for; resident */
};

struct daemon_helpers {
	struct helper keeper, opener, starter;
	uint32_t n_openers_died;
	struct parser_cost parsers;
	pid_t upkeep; /* not in the sums, because it has a separate budget; 0: none runs */
	/* CPU time of keeper, opener and parsers; memory of these and of the starter,
	 * of parsers without pages of files. */
	uint64_t cpu_ns, bytes;
};

/* Waits for nothing: the CPU time of a parser that answers a question counts as it was before. */
void daemon_helpers_look(const struct daemon *d, struct daemon_helpers *out);
