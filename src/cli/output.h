/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a command's result goes: a file, standard output, or a pager where that
 * is a terminal. A reader that goes away early (head, a pager that was left) is no
 * failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct error;

struct output {
	FILE *file;               /* has no descriptor: fileno(3) fails */
	struct output_sink *sink; /* receives the bytes */
	const char *path;         /* NULL: standard output */
	pid_t pager;              /* 0: none */
	bool is_terminal;
};

/* `path` NULL is standard output. With a pager only where that is a terminal. */
int output_open(struct output *o, const char *path, bool with_pager, struct error *err);

/* Writes what is left and waits for the pager. Fails if something could not be written. */
int output_close(struct output *o, struct error *err);

/*
 * Replaces a file with these bytes at once, or not at all: on a full disk, the old file stays. "-"
 * is standard output. A pipe or device is written directly.
 */
int output_whole(const char *path, const void *bytes, size_t size, struct error *err);

/* Prints a line for people: control characters of names in it are visible (base/utf8.h). */
void output_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The option of commands that write CSV, and its value (base/csv.h). */
#define CSV_OPTION(field)                                                                        \
	{                                                                                        \
		0, "csv", "CELLS", OPT_CHOICE, (field), "guarded",                               \
			"cells of CSV that begin like a formula: guarded or raw",                \
			"A spreadsheet runs a cell that begins with =, +, -, @, TAB or CR as "   \
			"a formula, and a profiled program chooses the names in it. "            \
			"*guarded* puts an apostrophe in front of such a name. *raw* leaves it " \
			"as it "                                                                 \
			"is.",                                                                   \
			.choices = "guarded|raw"                                                 \
	}
static inline bool csv_is_raw(const char *cells)
{
	return cells && !strcmp(cells, "raw");
}

/* Columns of the terminal: $COLUMNS, else the terminal's own number; 100 without a terminal. */
uint32_t output_width(const struct output *o);
/* Whether it is the terminal's, or set by $COLUMNS. Else it is a usual one. */
bool output_has_width(const struct output *o);

/* Whether the output is a terminal with colours and the user permits them (no-color.org). */
bool output_has_colour(const struct output *o);

/* Whether the locale's encoding is UTF-8. */
bool output_is_utf8(void);
