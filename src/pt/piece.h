/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A buffer in pieces, each from a PSB to another. Independent decoders decode the pieces, in any
 * order, on any processor. Then their events are joined, as if one decoder had decoded all.
 *
 *     bytes:   PSB ······ PSB ······ PSB ······
 *              └ flow 1 ──┴► to the next PSB's address
 *                         └ flow 2 ──┴►
 *     events:  1 1 1 1 1 1 1 2 2 2 2 2 …          struct pt_joint
 *
 * A piece's decoder begins without knowledge (pt_flow_restart()). It ends with pt_flow_end_piece(),
 * which walks to the address at the next PSB. The joint adds the facts that the decoder could not
 * know: the number of instructions before, and whether tracing went on at the PSB or began.
 */
#pragma once

#include "pt/flow.h"

/* As new, at an offset of the buffer; what was counted in the stats stays. */
void pt_flow_restart(struct pt_flow *flow, uint64_t offset);

/*
 * After the last byte of a piece: decodes the code up to the PSB at `psb`, which begins the next
 * piece and is not decoded. psb == end: the buffer ends there.
 */
void pt_flow_end_piece(struct pt_flow *flow, const uint8_t *psb, const uint8_t *end);

/* The time where it begins, as pt_time_scan() of all before has it; after pt_flow_restart(). */
void pt_flow_set_time(struct pt_flow *flow, const struct pt_time *time);

/* The first PSB at or behind `at` where a piece may end, or `end`. */
const uint8_t *pt_find_cut(const uint8_t *at, const uint8_t *begin, const uint8_t *end);

/* Between the pieces of a buffer: { 0 } before the first. */
struct pt_joint {
	/*
	 * Where there are no CYCs, pieces count ticks × ratio (pt_time.keeps_ticks), and this is
	 * what they are divided by. Set by the caller; 0: pieces count cycles.
	 */
	uint32_t max_ratio;
	uint64_t insns, cycles;         /* of all pieces before; cycles: as the pieces count them */
	uint64_t overlap;               /* so much of the cycles of this piece is of those before */
	uint64_t last_cycles, last_sum; /* of an event: as counted, and of the buffer */
	uint64_t tsc, told_cycles;      /* at the end of the piece before */
	struct pt_event cr3;            /* the last PT_EV_CR3 */
	uint64_t vmcs;                  /* of the last PT_EV_VMCS */
	bool has_cr3, has_vmcs;
	uint8_t width;      /* of the last PT_EV_WIDTH; 0: there was none */
	bool is_traced;     /* at the end of the piece before */
	bool is_guest;      /* there */
	bool has_begun;     /* in this piece */
	uint64_t n_doubled; /* branches that were left out: they go on, and do not begin */
};

/* Makes the next events of the piece at hand those of the buffer, in place; how many they are. */
size_t pt_join(struct pt_joint *joint, struct pt_event *events, size_t n);

/* What a piece's decoder knows at the end of it: counts since pt_flow_restart(). */
struct pt_piece_end {
	uint64_t insns, cycles, tsc;
	uint64_t overlap; /* see struct pt_joint: of the next piece */
	bool is_traced, is_guest;
};

struct pt_piece_end pt_flow_piece_end(const struct pt_flow *flow);

/* The piece's events are all joined. */
void pt_join_end(struct pt_joint *joint, const struct pt_piece_end *end);
