/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf map files: the names of code from JIT compilers.
 *
 * /tmp/perf-PID.map has a line for each function: "START SIZE NAME". Both numbers are hexadecimal
 * without 0x (Linux: tools/perf/Documentation/jit-interface.txt). A later line replaces entries
 * that it overlaps, because code memory is used again. Lines that do not parse are skipped and
 * counted.
 *
 * A row of the parser (guard/parser.h) reads them:
 *
 *	question: none
 *	answer:   struct perf_map_head, entries, and the text of their names
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard/limits.h"
#include "guard/parser.h"

struct perf_map_entry {
	uint64_t start, size;
	uint32_t name; /* into the text */
	uint32_t pad;
};

struct perf_map {
	struct perf_map_entry *data; /* by start, not overlapping */
	size_t n, cap;
	size_t n_bad_lines;
	const char *text;
};

/* Parses `text`, of less than 4 GiB, in place (puts NULs behind names). It must outlive the map. */
void perf_map_parse(struct perf_map *map, char *text);
void perf_map_fini(struct perf_map *map);
const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t addr);

static inline const char *perf_map_name(const struct perf_map *map, const struct perf_map_entry *e)
{
	return map->text + e->name;
}

struct perf_map_head {
	uint64_t n; /* entries */
	uint32_t is_large, pad;
};

extern const struct parser_row perf_map_row;

/*
 * The map of an answer, without a copy; it needs no perf_map_fini(). *is_large: the file has too
 * many lines, and nothing was read. False: it is no answer of the row.
 */
bool perf_map_read(struct perf_map *map, bool *is_large, const void *bytes, size_t size);
