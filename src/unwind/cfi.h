/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame programs: the instructions of a CIE and an FDE as rules.
 *
 * For each address, a program gives the places of the CFA, the saved frame pointer, the return
 * address and rbx. Other registers are not followed: a profiler needs the chain, not the variables.
 *
 *	struct cfi_state initial;
 *	struct cfi_run run;
 *
 *	if (cfi_initial(machine, &frames, fde.cie, &initial)) {
 *		cfi_begin(&run, machine, &frames, &fde, &initial);
 *		while (cfi_next_row(&run, &offset, &rule))
 *			...
 *	}
 *
 * Format: DWARF 5 section 6.4; the psABIs for register numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_frames.h"
#include "unwind/rule.h"

/* The differences between processors. */
struct cfi_machine {
	uint32_t sp, fp, ra, pc, bx; /* DWARF numbers; `pc` as named in expressions */
	uint32_t vg;                 /* the length of SVE's vectors; UINT32_MAX: it has none */
	uint32_t word;               /* bytes: the unit of rules */
	enum unwind_ra undefined_ra; /* the place of the return address without a rule */
	bool has_undefined_ra;       /* such a default exists */
	struct unwind_rule signal;   /* of frames with the S augmentation; i386: of one kind */
	bool has_marked_functions;   /* … which functions that switch stacks have, too */
};

/* NULL for a processor whose stacks are not walked; `machine` is an EM_* number. */
const struct cfi_machine *cfi_machine_of(uint16_t machine);

enum cfi_where {
	CFI_SAME,
	CFI_AT_CFA,
	CFI_AT_FP,
	CFI_AT_SP,
	CFI_IN_REGISTER,
	CFI_UNDEFINED,
	CFI_ELSEWHERE
};

struct cfi_saved {
	enum cfi_where where;
	int64_t off; /* IN_REGISTER: its number */
};

struct cfi_state {
	enum unwind_cfa cfa; /* SP means any register plus `off` */
	uint32_t reg;
	int64_t off;           /* kept during an expression: some code returns to it */
	int64_t expr_off, aux; /* PLT: sp + expr_off, the threshold; DEREF: [expr_off] + aux */
	int64_t inner;         /* SP_OTHER2: [[expr_off] + inner] + aux */
	bool is_scalable;      /* UNSUPPORTED: as it depends on the length of SVE's vectors */
	struct cfi_saved fp, ra, bx;
};

/* The rule of a signal frame, which i386 has two kinds of. */
struct unwind_rule cfi_signal_rule(const struct cfi_machine *m, const struct cfi_state *s);

/* The state's rule; UNWIND_CFA_UNSUPPORTED if no rule can express it. */
struct unwind_rule cfi_rule(const struct cfi_machine *m, const struct cfi_state *state);

/* The state behind the CIE's program. False if the program is invalid. */
bool cfi_initial(const struct cfi_machine *m, const struct elf_frames *frames,
		 const struct elf_cie *cie, struct cfi_state *out);

/*
 * One function's rules, row by row: ascending offsets below its size, the first 0. Behind an
 * invalid instruction, the rest is UNWIND_CFA_UNSUPPORTED.
 *
 * A frame with SVE's vectors has a size that no rule can express. But GCC and clang save fp and lr
 * there, and the next instruction makes fp point to them. So from there on, the rule is that of
 * code without a table: UNWIND_CFA_NONE, by fp. (GCC 12 describes the place of this record by sp,
 * and does not correct it where sp moves on.)
 */
enum { CFI_MAX_REMEMBERED = 16 };

struct cfi_run {
	const struct cfi_machine *machine;
	const struct elf_frames *frames;
	const struct elf_cie *cie;
	const struct cfi_state *initial;
	struct cfi_state state;
	struct reader program;
	uint64_t start, size; /* of the function: link address, bytes */
	uint64_t at;          /* offset that the program has reached */
	bool is_over, is_bad;
	uint64_t record_at; /* a row that is still to come: see cfi_next_row() */
	uint32_t n_remembered;
	struct cfi_state remembered[CFI_MAX_REMEMBERED];
};

void cfi_begin(struct cfi_run *run, const struct cfi_machine *m, const struct elf_frames *frames,
	       const struct elf_fde *fde, const struct cfi_state *initial);
bool cfi_next_row(struct cfi_run *run, uint64_t *offset, struct unwind_rule *rule);
