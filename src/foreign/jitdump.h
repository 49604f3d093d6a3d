/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: the code that a compiler made at run time, with the time, later moves, and source lines.
 * Version 1 of the format, in either byte order: Linux,
 * tools/perf/Documentation/jitdump-specification.txt.
 *
 * The file grows while the process runs, so the caller feeds it in pieces. A piece can end inside a
 * record; the caller feeds this record again later. The bytes of the code stay in the file. So
 * (file, offset) names an instruction for ever, even if the address is used again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"

/* Code at an address, from a time on: loaded there, or moved. */
struct jitdump_code {
	uint64_t addr, size;
	uint64_t from_ns;  /* in the clock of the file */
	uint64_t file_off; /* of its bytes in the dump */
	uint64_t index;    /* the compiler's number of it */
	string_id name;
	uint32_t first_line, n_lines; /* into lines */
	bool is_move;                 /* leaves_moves: the address is a new one of `index` */
};

/* From `code_off` bytes behind the code's start on: this line. In the order of the file. */
struct jitdump_line {
	uint64_t code_off;
	uint32_t line;
	string_id file;
};

struct jitdump {
	VEC(struct jitdump_code) codes; /* in the order of the file */
	VEC(struct jitdump_line) lines;
	struct strings strings;
	struct intmap by_index; /* the newest code of each number */
	uint32_t pid;
	bool has_header, is_swapped, is_closed;
	bool is_arch_clock;        /* times are of the processor's counter, not CLOCK_MONOTONIC */
	uint64_t n_bad, n_unknown; /* records */
	bool is_broken;            /* a record's size is impossible: nothing behind it is read */
	bool skips_lines;          /* debug records are not kept */
	bool leaves_moves;         /* moves have no bytes and no name: jitdump_take() finds them */

	/* A debug record comes before the code that it is of. */
	uint64_t debug_addr;
	uint32_t debug_first, debug_n;
};

bool jitdump_has_magic(const void *bytes, size_t size);

/* The caller may set skips_lines and leaves_moves then. */
void jitdump_init(struct jitdump *d);
void jitdump_fini(struct jitdump *d);

uint64_t jitdump_memory(const struct jitdump *d); /* in bytes */

/*
 * Takes the whole records at the beginning of `bytes`, which stand at `file_off` of the file.
 * Returns their size in bytes. The caller feeds the bytes behind them again, with more.
 */
size_t jitdump_feed(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t file_off);

/* The size of the record at the beginning of `bytes`; 0: its header is not whole. */
uint32_t jitdump_record_size(const struct jitdump *d, const uint8_t *bytes, size_t size);

/* Adds a code that another jitdump of this file has, with leaves_moves. Call it in their order. */
void jitdump_take(struct jitdump *d, const struct jitdump_code *code, const char *name);
