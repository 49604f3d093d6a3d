/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory between `assay record --alloc` and the library in the profiled programs (heap/agent).
 *
 * assay makes it, and the library maps it by the path in the environment. A sampled allocation
 * takes a slot, with registers and stack. The end of a sampled block, and the start of a program,
 * take a note. Whoever takes a place sets it to CLAIMED, fills it, and sets it to READY. assay
 * copies it and sets it to FREE. A writer waits half a second at most for a free slot. Then the
 * record is lost and counted, and no writer waits for the next ten seconds.
 *
 * The profiled programs can write anything here at any time. assay reads copies alone, and checks
 * them (heap/heap_ring.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define HEAP_VARIABLE    "ASSAY_HEAP" /* in the environment: "/proc/PID/fd/N" */
#define HEAP_MAGIC       UINT64_C(0x33706165682d7961)
#define HEAP_STACK_BYTES 16384
#define HEAP_REGISTERS   33 /* by DWARF number, as in struct user_copy */
#if defined(__x86_64__)
#define HEAP_SP_AT 7 /* of them */
#else
#define HEAP_SP_AT 31
#endif
#define HEAP_SLOTS 512 /* powers of two */
#define HEAP_NOTES 16384

enum heap_state { HEAP_FREE, HEAP_CLAIMED, HEAP_READY };

/* The state of a slot that this process fills, so that assay knows when the process has ended. */
static inline uint32_t heap_claimed_by(int32_t pid)
{
	return HEAP_CLAIMED | (uint32_t)pid << 2;
}

struct heap_slot {
	_Atomic uint32_t state;
	int32_t pid, tid;
	uint32_t cpu;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t id;      /* of the block, for the note of its end */
	uint64_t bytes;   /* as the program asked for */
	uint32_t stack_bytes;
	uint32_t is_untracked; /* the end of the block will not be seen */
	uint64_t mapping;      /* the address of a mapping; 0: a block */
	uint64_t regs[HEAP_REGISTERS];
	uint8_t stack[HEAP_STACK_BYTES]; /* from the stack pointer on */
};

enum heap_note_kind { HEAP_NOTE_RELEASED = 1, HEAP_NOTE_STARTED, HEAP_NOTE_UNMAPPED };

struct heap_note {
	_Atomic uint32_t state;
	uint32_t kind;
	int32_t pid;
	uint32_t unused;
	uint64_t time_ns;
	uint64_t id; /* UNMAPPED: the address, of so many bytes */
	uint64_t bytes;
	uint64_t last_id; /* UNMAPPED: of samples before: a later mapping may have the address */
};

struct heap_shared {
	uint64_t magic;
	uint64_t mean_bytes; /* between two samples of a thread */
	int32_t reader;      /* assay's process */
	uint32_t is_closed;  /* nobody reads any more */
	_Atomic uint64_t next_id;
	_Atomic uint32_t slot_at, note_at; /* where to look for a free place first */
	_Atomic uint64_t lost_samples, lost_notes;
	_Atomic uint64_t gave_up_ns; /* when a writer waited in vain */
	struct heap_note notes[HEAP_NOTES];
	struct heap_slot slots[HEAP_SLOTS];
};

_Static_assert(sizeof(struct heap_note) == 48, "programs of another build share it");
_Static_assert(sizeof(struct heap_slot) == 16704, "programs of another build share it");
