/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the function of `assay trace --on-symbol`: in a file, a command, or a running process. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct error;

struct trace_symbol_target {
	const char *command; /* as typed; looked for in $PATH; NULL */
	pid_t pid;           /* or a process: its program, then all that it has mapped */
};

struct trace_place {
	char *path, *name;
	uint64_t file_off;
};
void trace_place_fini(struct trace_place *p);

/*
 * "FUNCTION[ #N][@FILE]". -ENOENT with the nearest names; -ENOTUNIQ with all of the name; else
 * what is in the way of the file.
 */
int trace_symbol_find(const struct trace_symbol_target *target, const char *text,
		      struct trace_place *out, struct error *err);
