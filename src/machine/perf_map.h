/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf map files: the names of code from JIT compilers.
 *
 * /tmp/perf-PID.map has a line for each function: "START SIZE NAME". Both numbers are hexadecimal
 * without 0x (Linux: tools/perf/Documentation/jit-interface.txt). A later line replaces entries
 * that it overlaps, because code memory is used again. Lines that do not parse are skipped and
 * counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct perf_map_entry {
	uint64_t start, size;
	const char *name; /* into the parsed text */
};

struct perf_map {
	struct perf_map_entry *data; /* by start, not overlapping */
	size_t n, cap;
	size_t n_bad_lines;
};

/* Parses `text` in place (puts NULs behind names); `text` must outlive the map. */
void perf_map_parse(struct perf_map *map, char *text);
void perf_map_fini(struct perf_map *map);
const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t addr);
