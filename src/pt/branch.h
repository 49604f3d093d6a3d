/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of branches, and their flags. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(id, flags): how a block ends, and perf's flags for a branch of that kind. */
#define PT_ENDS(X)                                                           \
	X(FALL, 0)         /* goes on: it was cut as too long */             \
	X(COND, PT_F_COND) /* needs a direction */                           \
	X(JUMP, 0)                                                           \
	X(CALL, PT_F_CALL)                                                   \
	X(RETURN, PT_F_RETURN) /* needs a direction (compressed) or a TIP */ \
	X(JUMP_INDIRECT, 0)    /* from here on: needs a TIP */               \
	X(CALL_INDIRECT, PT_F_CALL)                                          \
	X(SYSCALL, PT_F_CALL | PT_F_SYSTEM)                                  \
	X(SYSRET, PT_F_RETURN | PT_F_SYSTEM)                                 \
	X(INTERRUPT, PT_F_CALL | PT_F_INTERRUPT)                             \
	X(IRET, PT_F_RETURN | PT_F_INTERRUPT)                                \
	X(FAR_JUMP, 0) /* far: the return stack stays as it is */            \
	X(FAR_CALL, PT_F_CALL)                                               \
	X(FAR_RETURN, PT_F_RETURN)                                           \
	X(INTO, PT_F_CALL | PT_F_INTERRUPT) /* without a TIP: it goes on */  \
	X(VM_ENTRY, PT_F_CALL | PT_F_VM_ENTRY)                               \
	X(UNREADABLE, 0) /* what comes next can't be read, or is no code */

enum pt_end {
#define X(id, flags) PT_END_##id,
	PT_ENDS(X)
#undef X
		N_PT_ENDS
};

/* Over such an end, execution goes on or follows a direct branch: no packet is for it. */
static inline bool pt_end_is_direct(unsigned int end)
{
	return end == PT_END_FALL || end == PT_END_JUMP || end == PT_END_CALL;
}

/*
 * An INTO without an overflow, and a VMLAUNCH or VMRESUME that fails, have no packet, and execution
 * goes on behind them. Directions are never left before the TIP of one that does not.
 */
static inline bool pt_end_may_go_on(unsigned int end)
{
	return end == PT_END_INTO || end == PT_END_VM_ENTRY;
}

/* The letters of perf's flags ("bcrosyiABExghDt"), a bit each. */
enum pt_flags {
	PT_F_BRANCH = 1 << 0,
	PT_F_CALL = 1 << 1,
	PT_F_RETURN = 1 << 2,
	PT_F_COND = 1 << 3,
	PT_F_SYSTEM = 1 << 4,
	PT_F_ASYNC = 1 << 5,
	PT_F_INTERRUPT = 1 << 6,
	PT_F_TX_ABORT = 1 << 7,
	PT_F_BEGIN = 1 << 8,
	PT_F_END = 1 << 9,
	PT_F_IN_TX = 1 << 10,
	PT_F_VM_ENTRY = 1 << 11,
	PT_F_VM_EXIT = 1 << 12,
	PT_F_INTERRUPTS_OFF = 1 << 13,
	PT_F_INTERRUPTS_CHANGE = 1 << 14,
};

extern const uint16_t pt_end_flags[N_PT_ENDS]; /* with PT_F_BRANCH */
