/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the probes of `record --alloc` (heap/bpf/heap.bpf.c) to their reader (heap/heap_probes.c).
 */
#pragma once

#include <linux/types.h>

#define HEAP_PROBE_REGISTERS 33 /* by DWARF number */
#define HEAP_PROBE_PAGE      4096
#define HEAP_PROBE_PAGES     5 /* 16 KB at least */
#define HEAP_PROBE_LOG_PARTS 256
#define HEAP_PROBE_LOG_SHIFT 24
#define HEAP_PROBE_GAP_SHIFT 8 /* of a logarithm, before it is multiplied */

/* The functions of an allocator, by their arguments and results. */
enum heap_function {
	HEAP_FUNCTION_NONE,
	HEAP_FUNCTION_SIZE,    /* (bytes): malloc, operator new */
	HEAP_FUNCTION_CALLOC,  /* (n, bytes) */
	HEAP_FUNCTION_REALLOC, /* (block, bytes) */
	HEAP_FUNCTION_ALIGNED, /* (alignment, bytes) */
	HEAP_FUNCTION_POSIX,   /* (&block, alignment, bytes), the result is an error */
	HEAP_FUNCTION_MMAP,    /* (at, bytes, rights, flags, …) */
	HEAP_FUNCTION_MREMAP,  /* (at, bytes, new bytes, …) */
	HEAP_FUNCTION_MUNMAP,  /* (at, bytes), the result is an error */
	/* Without a probe on the return: */
	HEAP_FUNCTION_FREE,     /* (block) */
	HEAP_FUNCTION_THROWING, /* (bytes): an operator new that can throw an exception */
};

enum heap_message_kind {
	HEAP_MESSAGE_ALLOCATED = 1,
	HEAP_MESSAGE_RELEASED,
	HEAP_MESSAGE_UNMAPPED,
};

struct heap_message_head {
	__u32 kind;
	__u32 pid, tid, cpu;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 id;      /* UNMAPPED: the address */
	__u64 bytes;
	__u64 mapping; /* ALLOCATED: the address of a mapping; 0: a block */
	__u64 last_id; /* UNMAPPED: of samples before: a later mapping may have the address */
	__u32 is_untracked;
	__u32 n_pages; /* of the stack, from the page of the stack pointer on */
};

struct heap_message {
	struct heap_message_head head;
	__u64 regs[HEAP_PROBE_REGISTERS];
	__u8 stack[HEAP_PROBE_PAGES][HEAP_PROBE_PAGE];
};

enum heap_probe_count {
	HEAP_COUNT_CALLS,        /* each was a trap, or two */
	HEAP_COUNT_LOST_SAMPLES, /* the ring was full, or a call could not be followed */
	HEAP_COUNT_LOST_NOTES,
	N_HEAP_COUNTS
};
