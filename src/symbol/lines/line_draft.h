/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From debug information to a line index.
 *
 *	units of .debug_info --(threads, a unit at a time)--> scans: code of the units, in runs
 *	runs of all scans    --(sorted by start)-----------> line index (symbol/lines/line_index.h)
 *
 * A run is one unit's description of one piece of code: a sequence of its line program, or a
 * function with the functions inlined into it. Runs of different units interleave; in a run, starts
 * ascend. Runs overlap by damage, or if the linker kept one of several equal functions. Then the
 * run that starts first has the code. At equal starts, the run of the first unit has it.
 */
#pragma once

#include "base/buf.h"
#include "base/intmap.h"
#include "base/strings.h"
#include "elf/dwarf.h"
#include "elf/dwarf_line.h"
#include "symbol/elf_draft.h"
#include "guard/parser.h"
#include "symbol/lines/line_index.h"

/* The input of an index. All of it stays the caller's and is only read. */
struct line_source {
	const struct dwarf_file *dwarf;
	const struct dwarf_file *alt;     /* dwz's common file; NULL: none */
	const struct dwarf_file *package; /* .dwp; NULL: none */
	struct code_segments code; /* executable sections, sorted; no code is outside of them */
	struct parser_job *job;    /* opens .dwo files (WISH_SPLIT of file_lines.h) */
};

/* Missing parts of the debug information. */
struct line_losses {
	uint64_t n_units, n_bad_units; /* all units; units that can't be read */
	uint64_t n_missing_split;      /* .dwo files that are missing, or of another build */
	char *missing_split;           /* its path there; the caller's to free; NULL */
	bool is_cut;                   /* more than debug information can have in its size */
};

/*
 * The index as a block that the caller frees; NULL if it would be empty. The header's build id and
 * checksum are zero. Uses as many threads as there are processors, up to 8.
 */
struct line_header *line_draft_make(const struct line_source *source, size_t *size,
				    struct line_losses *losses);

/* ---- inside: one thread's part (line_scan.c, line_rows.c, line_scopes.c) ---- */

struct line_run {
	uint32_t start, end; /* offset - base */
	uint32_t first, n;   /* of the scan's rows or scopes */
	uint32_t unit;       /* orders runs of one start */
};

/* Rows or scopes, and their runs. Files, names, nodes and places are the scan's numbers. */
struct line_rows {
	VEC(struct line_row) list;
	VEC(struct line_run) runs;
};
struct line_scopes {
	VEC(struct line_scope) list;
	VEC(struct line_run) runs;
};

/* Places, most of them once: of two with one hash, the last is found again. */
#define MAX_RECENT_PLACES 16384
struct line_places {
	VEC(struct line_place) list; /* list[0] is none */
	uint32_t *recent;            /* MAX_RECENT_PLACES, by hash */
};

struct scope_interval {
	uint32_t start, end, node;
};

/*
 * Names of entries that others refer to, so that few are read more than once. Of two with one hash,
 * the last stays. A map of all would be several times the size, and in no cache.
 */
#define MAX_KNOWN_NAMES 32768
struct known_name {
	uint64_t entry; /* its offset << 1 | is_alt; 0: none, because no entry is there */
	uint32_t name, decl_line;
};

struct line_scan {
	const struct line_source *source;
	const struct dwarf_unit *units; /* of source->dwarf, headers only, by offset */
	const struct dwarf_unit *alt_units;
	size_t n_units, n_alt_units;
	uint64_t base; /* offset of the first code */

	struct line_rows rows;
	struct line_scopes scopes;
	struct line_places places;
	VEC(struct line_node) nodes; /* with ids of the two below */
	struct strings names, files;
	struct line_losses losses;

	/* State that is kept between units. */
	struct known_name *known_names; /* MAX_KNOWN_NAMES, by a hash of the entry's offset */
	struct intmap abbrev_index;
	VEC(struct dwarf_abbrevs *) abbrevs;
	uint64_t abbrev_budget, range_budget, line_budget;

	/* State of one unit. */
	struct dwarf_lines lines;
	bool has_files;         /* `lines` is the unit's */
	VEC(uint32_t) file_ids; /* by the unit's number; UINT32_MAX: not made yet */
	VEC(struct scope_interval) intervals, merged; /* merged: room to sort in */
	VEC(struct scope_interval) nest;
	VEC(struct scope_interval) covered; /* the unit's code, by address */
	struct buf path;
	uint32_t unit;
	bool is_split; /* names of a split unit's entries are valid in that unit only */
};

void line_scan_init(struct line_scan *s, const struct line_source *source);
void line_scan_fini(struct line_scan *s);

/* Reads units[i]; with_rows: its line program, too, if no other scan has read it. */
void line_scan_unit(struct line_scan *s, uint32_t i,
		    bool (*take_lines)(void *data, uint64_t stmt_list), void *data);

/*
 * Turns the nested intervals from `from` on, which are one function's, into scopes: pieces of its
 * code, each with its innermost node. Takes the intervals away.
 */
void line_scan_flatten(struct line_scan *s, size_t from);

/* The code that holds the address; NULL for code that the linker dropped. */
const struct code_segment *line_scan_code_of(const struct line_scan *s, uint64_t link_addr);

/* The id, in `files`, of a file of the unit; 0: the unit has no such file. */
uint32_t line_scan_file(struct line_scan *s, uint64_t file);

/* Reads the unit's line program into `rows`. */
void line_scan_rows(struct line_scan *s);

/*
 * The part of a discriminator that numbers a line's pieces of code in the source. (The rest
 * separates copies that optimizers made; llvm-project, IR/DebugInfoMetadata.h.) An odd value has
 * none. Otherwise it is a number of 5 bits behind bit 0, or, if bit 6 is set, of 12 bits without
 * that bit.
 */
uint16_t line_discriminator(uint64_t d);

/* The number of the place in `places`. A place that was added a while ago may get a second number.
 */
uint32_t line_scan_add_place(struct line_places *p, const struct line_place *place);
