/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table while it is built: the builder, its sources of rules, and its rows. Inside unwind/.
 */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "elf/elf_code.h"
#include "elf/elf_file.h"
#include "elf/elf_go.h"
#include "elf/elf_sframe.h"
#include "unwind/cfi.h"
#include "unwind/rule.h"

/* A CIE and the state behind its program. */
struct known_cie {
	struct elf_cie cie;
	struct cfi_state initial;
	const struct elf_frames *frames;
	bool is_usable;
};

#define RETURN_X86_64 0xc3

/* Where in its code a function of Go changes to another stack. */
enum switch_where {
	SWITCH_AT_START,
	SWITCH_BEHIND_RETURN,
	SWITCH_BEHIND_LOAD,   /* of the stack pointer */
	SWITCH_BETWEEN_LOADS, /* the second one leads back */
};

struct stack_switch {
	const char *name;
	enum switch_where where;
	uint16_t from; /* where the CFA is this far from the stack pointer, or further */
	struct unwind_rule rule;
};

struct switch_place {
	uint64_t link_addr;
	const struct stack_switch *changes;
};

#define MAX_SWITCHES 16

/* The source of rules for some addresses: an FDE, or, without a CIE, one rule for all of them. */
struct cover {
	uint64_t file_off, size;
	uint64_t link_addr;
	const uint8_t *program;
	uint32_t program_size;
	uint32_t cie; /* number of the known CIE, or NO_CIE, or OF_SFRAME or OF_GO: program_size is
			 the function's */
	struct unwind_rule rule;            /* … or the one of a function that changes stacks */
	const struct stack_switch *changes; /* or NULL */
	uint32_t changes_from, changes_to;  /* offsets in the function */
};

#define NO_CIE    UINT32_MAX
#define OF_SFRAME (UINT32_MAX - 1)
#define OF_GO     (UINT32_MAX - 2)
#define MAX_LOADS 64

struct sort_key {
	uint64_t file_off;
	uint32_t cover;
};

/* The sections with call frame information. If they overlap, the last one counts. */
enum { FRAMES_OF_DEBUG_FILE, FRAMES_DEBUG, FRAMES_EH, N_FRAMES };

/* Windows begin and end with stretches: 1 MB of a file of 4 GB. */
#define N_STRETCHES 4096

/* Recently used rules in front of the map of all. */
#define FRONT_SIZE 512

/* Where a function of code without a table starts, from symbols. */
struct bare_start {
	uint64_t file_off, size; /* size 0: not known */
};

struct builder {
	const struct elf_file *elf, *debug; /* NULL: no debug file */
	const struct cfi_machine *machine;
	struct elf_frames frames[N_FRAMES];
	bool has_frames[N_FRAMES];
	struct elf_sframe sframe; /* functions by number, if they cover anything */
	struct elf_go go;         /* n_functions 0: the image has no table of Go */
	struct elf_segment loads[MAX_LOADS];
	uint32_t n_loads, last_load; /* last_load: the segment of the last address */
	VEC(struct known_cie) cies;
	/*
	 * The covers of a window of the file: of all of it, or, if they are many, of one stretch
	 * after another. `last`: the last one of the window before, whose end is not known there.
	 */
	VEC(struct cover) covers;
	uint64_t window_at, window_size;
	struct cover last;
	bool has_last, has_window; /* has_window: no longer the whole file */
	/* Of the whole file: how many covers start in each of its equal stretches, and sums. */
	uint32_t starts[N_STRETCHES];
	size_t n_starts;
	uint64_t cover_bytes;
	VEC(struct cover) scanned; /* those that instructions show */
	uint64_t covered;          /* rows are there up to this offset */
	struct elf_code code;
	size_t gap_code; /* the range of code of the next gap */

	VEC(uint64_t) rules;
	struct intmap rule_of;
	struct {
		uint64_t bits;
		uint32_t rule;
	} front[FRONT_SIZE];

	VEC(uint32_t) pages;
	VEC(uint32_t) rows;
	uint64_t first_page;
	uint32_t last_rule;
	uint32_t n_functions, n_unsupported;
	uint32_t n_sigreturns;
	struct unwind_rule bare; /* of code without call frame information */
	VEC(struct bare_start) starts_of_bare;
	bool has_starts, has_few_starts; /* has_few_starts: large tables of symbols were left out */
	uint32_t bare_bytes_read, n_bare_rows;
	struct switch_place switches[MAX_SWITCHES];
	uint32_t n_switches;
	struct unwind_rule goroutine; /* the way to Go's running goroutine; aux 0: not known */
	uint64_t covered_bytes;
	bool is_full;
};

/* The number of a rule in the table; 0 if it has no room. */
uint32_t builder_rule_number(struct builder *b, struct unwind_rule rule);

/* The rule from here on. Offsets ascend; of two rows at one place the second counts. */
void builder_emit_row(struct builder *b, uint64_t file_off, uint32_t rule);

static inline uint64_t builder_code_bytes(const struct builder *b)
{
	uint64_t sum = 0;

	vec_foreach (&b->code, r)
		sum += r->size;
	return sum;
}
