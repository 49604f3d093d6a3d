/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line programs: which line of which file each instruction comes from (DWARF 5, section 6.2).
 *
 *	struct dwarf_lines it = { 0 };
 *	struct dwarf_row row;
 *
 *	if (dwarf_lines_open(&it, unit))
 *		while (dwarf_lines_next(&it, &row))
 *			...
 *	dwarf_lines_fini(&it);
 */
#pragma once

#include "elf/dwarf.h"

struct dwarf_line_file {
	const char *name;
	uint64_t dir; /* index of dirs */
};

struct dwarf_row {
	uint64_t addr;
	uint32_t file, line;    /* file: for dwarf_lines_file(); line 0: none */
	uint16_t column;        /* 0: not known; 65535: at least that */
	uint32_t discriminator; /* of the pieces of code of one line; 0: the only one, or the first
				 */
	bool ends_sequence;     /* addr is the first behind the code; nothing else counts */
};

struct dwarf_lines {
	uint16_t version;
	uint8_t addr_size, min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *n_operands; /* of standard opcode i at [i - 1] */
	VEC(const char *) dirs;
	VEC(struct dwarf_line_file) files;
	struct reader program;
	struct dwarf_row row; /* the state machine's registers */
	uint32_t op_index;
	const char *comp_dir;
};

/* The program that unit->stmt_list names; false if there is none that can be read. */
bool dwarf_lines_open(struct dwarf_lines *it, const struct dwarf_unit *unit);
void dwarf_lines_fini(struct dwarf_lines *it);
bool dwarf_lines_next(struct dwarf_lines *it, struct dwarf_row *row);

/* The parts of a file's path, outermost first; parts that are not needed are "". */
struct dwarf_path {
	const char *part[3];
};
bool dwarf_lines_file(const struct dwarf_lines *it, uint64_t file, struct dwarf_path *out);
