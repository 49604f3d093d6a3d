/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information as bytes: DWARF 2 to 5, whole or split, 32- and 64-bit.
 *
 * 	struct dwarf_file      the sections of a file, which may be hostile
 * 	  struct dwarf_unit    a unit: its header, and the attributes of its first entry
 * 	    struct dwarf_abbrevs   the shapes of its entries
 * 	    struct dwarf_die       one entry: the attributes with names and places of code
 * 	  struct dwarf_lines   a line program (elf/dwarf_line.h)
 *
 * Nothing here opens a file or follows a reference, and nothing fails: data outside of its bounds
 * counts as missing. A read costs no more than the bytes read (the attributes of one entry are
 * limited). Callers that follow references limit their number.
 *
 * Format: DWARF Debugging Information Format, Version 5 (the section numbers below), 4, 3 and 2;
 * GNU extensions: gcc.gnu.org/wiki/DebugFission, DwarfExtensions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/reader.h"

/* X(id, name). A split unit's are called NAME.dwo, old compressed ones .zdebug_… */
#define DWARF_SECTIONS(X)             \
	X(INFO, "info")               \
	X(ABBREV, "abbrev")           \
	X(STR, "str")                 \
	X(LINE_STR, "line_str")       \
	X(STR_OFFSETS, "str_offsets") \
	X(ADDR, "addr")               \
	X(RANGES, "ranges")           \
	X(RNGLISTS, "rnglists")       \
	X(LINE, "line")               \
	X(CU_INDEX, "cu_index")

enum dwarf_section {
#define X(id, name) DWARF_##id,
	DWARF_SECTIONS(X)
#undef X
		N_DWARF_SECTIONS
};

extern const char *const dwarf_section_names[N_DWARF_SECTIONS];

struct dwarf_file {
	struct reader section[N_DWARF_SECTIONS]; /* empty: not there */
	bool is_split;                           /* of .dwo sections */
};

/* Tags and attributes by their numbers of chapter 7; those that are read here. */
enum {
	DW_TAG_class_type = 0x02,
	DW_TAG_lexical_block = 0x0b,
	DW_TAG_compile_unit = 0x11,
	DW_TAG_structure_type = 0x13,
	DW_TAG_union_type = 0x17,
	DW_TAG_inlined_subroutine = 0x1d,
	DW_TAG_catch_block = 0x25,
	DW_TAG_subprogram = 0x2e,
	DW_TAG_try_block = 0x32,
	DW_TAG_partial_unit = 0x3c,
	DW_TAG_skeleton_unit = 0x4a,
};

/* X(id, number): what is taken of an entry. */
#define DWARF_ATTRIBUTES(X)       \
	X(SIBLING, 0x01)          \
	X(NAME, 0x03)             \
	X(STMT_LIST, 0x10)        \
	X(LOW_PC, 0x11)           \
	X(HIGH_PC, 0x12)          \
	X(LANGUAGE, 0x13)         \
	X(COMP_DIR, 0x1b)         \
	X(ABSTRACT_ORIGIN, 0x31)  \
	X(DECL_LINE, 0x3b)        \
	X(SPECIFICATION, 0x47)    \
	X(RANGES, 0x55)           \
	X(CALL_COLUMN, 0x57)      \
	X(CALL_FILE, 0x58)        \
	X(CALL_LINE, 0x59)        \
	X(LINKAGE_NAME, 0x6e)     \
	X(STR_OFFSETS_BASE, 0x72) \
	X(ADDR_BASE, 0x73)        \
	X(RNGLISTS_BASE, 0x74)    \
	X(DWO_NAME, 0x76)         \
	X(GNU_DISCRIMINATOR, 0x2136)

enum dwarf_attribute {
#define X(id, number) DWARF_AT_##id,
	DWARF_ATTRIBUTES(X)
#undef X
	/* The same by other numbers: MIPS_linkage_name is LINKAGE_NAME, GNU_dwo_name DWO_NAME,
	   GNU_addr_base ADDR_BASE. */
	DWARF_AT_GNU_DWO_ID,
	DWARF_AT_GNU_RANGES_BASE,
	N_DWARF_ATTRIBUTES
};

/* How the entries of one unit look. Read-only once made. */
struct dwarf_abbrevs;

struct dwarf_unit {
	const struct dwarf_file *file;
	uint64_t offset, end; /* in INFO: its header, and the start of the next unit */
	uint64_t dies;        /* in INFO: its first entry */
	uint64_t abbrev_off;  /* in ABBREV */
	uint64_t dwo_id;      /* of a skeleton and its split unit; 0: none */
	uint16_t version;     /* 2 to 5 */
	uint8_t type;         /* DW_UT_*; 1 (compile) before version 5 */
	uint8_t addr_size;    /* 4 or 8 */
	bool is_64;           /* 64-bit DWARF: offsets of 8 bytes */

	/* Known after dwarf_unit_open(). */
	const struct dwarf_abbrevs *abbrevs;
	uint16_t tag;
	bool has_lines, is_c_family;
	uint64_t stmt_list, low_pc;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base; /* GNU split DWARF 4: what its DW_AT_ranges count from */
	const char *name, *comp_dir, *dwo_name; /* NULL: none */
	struct reader addr, ranges;             /* of the file with the skeleton */
};

/*
 * Reads the header at *at and moves *at to the next one. False: the end, or unreadable headers. A
 * unit with an unsupported version or address size has version 0.
 */
bool dwarf_unit_next(const struct dwarf_file *file, uint64_t *at, struct dwarf_unit *out);

/* The entry shapes for a unit, which may be shared by units of equal (abbrev_off, version > 2,
 * addr_size, is_64) of one file. Never NULL; damage gives fewer shapes. */
struct dwarf_abbrevs *dwarf_abbrevs_new(const struct dwarf_unit *unit);
void dwarf_abbrevs_free(struct dwarf_abbrevs *a);
size_t dwarf_abbrevs_bytes(const struct dwarf_abbrevs *a); /* how much of ABBREV was read */

/*
 * Reads the first entry. `skeleton` (NULL: none) is the unit in the executable that a split
 * one belongs to: addresses and old range lists lie there. False if there is no such entry.
 */
bool dwarf_unit_open(struct dwarf_unit *unit, const struct dwarf_abbrevs *abbrevs,
		     const struct dwarf_unit *skeleton);

struct dwarf_die {
	uint16_t tag; /* 0: ends the children of the entry above */
	bool has_children;
	uint32_t set; /* bits of enum dwarf_attribute */
	uint64_t raw[N_DWARF_ATTRIBUTES];
	uint16_t form[N_DWARF_ATTRIBUTES];
};

/* From an offset in INFO (an entry's, in the unit) to the end of the unit. */
struct reader dwarf_unit_dies(const struct dwarf_unit *unit, uint64_t offset);

/* False at the end, and at bytes that are no entry. */
bool dwarf_die_read(struct reader *r, const struct dwarf_unit *unit, struct dwarf_die *out);

/*
 * Passes over entries without children and without attributes that dwarf_die_read() gives: most of
 * all entries, parameters and variables, and those at the ends of most lists.
 */
void dwarf_skip_plain(struct reader *r, const struct dwarf_unit *unit);

static inline bool dwarf_has(const struct dwarf_die *die, enum dwarf_attribute a)
{
	return die->set >> a & 1;
}

/* The string of an attribute, NULL where it is none. Of `alt` if it lies in the dwz file. */
const char *dwarf_string(const struct dwarf_unit *unit, const struct dwarf_file *alt,
			 const struct dwarf_die *die, enum dwarf_attribute a);

/* A number (call_line), 0 if there is none. */
uint64_t dwarf_number(const struct dwarf_die *die, enum dwarf_attribute a);

/* Where a reference leads: an offset in INFO of this file, or of the dwz file (*is_alt). */
bool dwarf_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
		     enum dwarf_attribute a, uint64_t *offset, bool *is_alt);

/* The code of an entry, range by range: low_pc to high_pc, or a list. */
struct dwarf_ranges {
	const struct dwarf_unit *unit;
	struct reader r;
	uint64_t base, low, high;
	uint8_t kind; /* 0: none, 1: one range, 2: .debug_ranges, 3: .debug_rnglists */
};
void dwarf_ranges_begin(struct dwarf_ranges *it, const struct dwarf_unit *unit,
			const struct dwarf_die *die);
bool dwarf_ranges_next(struct dwarf_ranges *it, uint64_t *low, uint64_t *high);

/*
 * Finds the unit of a dwo_id in a package (.dwp): *out is `package` with all sections cut to the
 * unit's parts. False: the package lacks the unit. Section 7.3.5, and GNU's version 2.
 */
bool dwarf_package_find(const struct dwarf_file *package, uint64_t dwo_id, struct dwarf_file *out);
