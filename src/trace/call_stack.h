/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of each thread with their exact times, from the branches of a processor trace.
 *
 *   branches, in the order of time ─► stacks of open calls, one a thread ─► ended calls
 *
 * A call ends with the return to the instruction behind it. Other calls have flags, and their
 * duration is not exact:
 *
 *   - UNRETURNED: a return left several calls at once (longjmp, an exception). The inner ones never
 *     returned. They end with that return.
 *   - NO_CALL: a return to a place in no open call. The function had been called before the trace,
 * or while tracing was off. If the stack has known calls, such a return is a jump (retpolines,
 *     switching of stacks) and ends no call.
 *   - CUT: the trace could not be followed while the call was open. It is not known whether the
 * call returned.
 *   - OPEN: the call is open at the end of the trace.
 *
 * A jump to the first instruction of another function is a call in its caller's place (TAIL). Both
 * return at once. If tracing goes on at another place than it ended (a signal's handler, with an
 * untraced kernel), the kernel made a call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"

enum open_call_flags {
	CALL_NO_CALL = 1,    /* not seen: it began before */
	CALL_UNRETURNED = 2, /* its return was not seen: left by longjmp or the like */
	CALL_CUT = 4,        /* the trace could not be followed */
	CALL_OPEN = 8,       /* the trace ended */
	CALL_TAIL = 16,      /* a jump */
	CALL_BY_KERNEL = 32, /* an interrupt, a system call's entry, a signal's handler */
};

/* These have no duration. */
#define CALL_INCOMPLETE (CALL_NO_CALL | CALL_UNRETURNED | CALL_CUT | CALL_OPEN)

struct open_call {
	uint64_t id;                /* 1 and on, in the order of the calls */
	uint64_t from, entry, back; /* the call, where it went, where it returns to */
	uint64_t start_ns;
	uint64_t insns, cycles, branches; /* of the thread when it began */
	uint32_t function, path;          /* the owner's, from called() */
	uint32_t flags;
};

struct call_thread {
	int32_t pid, tid;
	bool is_guest;
	VEC(struct open_call) calls; /* the innermost last */
	uint64_t insns, cycles, branches, last_ns;
	uint64_t resume; /* where tracing goes on if nothing happens meanwhile; 0: not known */
};

/* A taken branch. */
struct call_branch {
	int32_t pid, tid;
	bool is_guest; /* in a guest that the thread runs: its calls are apart */
	uint64_t time_ns, from, to;
	uint32_t flags;         /* enum pt_flags */
	uint8_t insn_size;      /* of the branch; 0: no instruction made it */
	uint64_t insns, cycles; /* run since the branch before */
};

struct call_stacks {
	VEC(struct call_thread) threads;
	struct intmap by_tid;
	uint32_t last; /* of threads: who branched last */
	uint64_t n_calls;
	/*
	 * Whether a function other than `inside` (that owns the innermost call) begins at the
	 * address; NULL: no jump is a call.
	 */
	bool (*find_entry)(void *context, const struct call_thread *t, uint64_t addr,
			   uint32_t inside);
	/* A call begins; may set its function and path. The one it is made from: NULL, or *parent.
	 */
	void (*called)(void *context, const struct call_thread *t, struct open_call *call,
		       const struct open_call *parent);
	/* … and is over; `call` is as it began, with its flags. */
	void (*over)(void *context, const struct call_thread *t, const struct open_call *call,
		     const struct open_call *parent);
	void *context;
};

void call_stacks_fini(struct call_stacks *s);

void call_stacks_branch(struct call_stacks *s, const struct call_branch *b);

/* The trace of a thread (-1: of all) could not be followed. */
void call_stacks_cut(struct call_stacks *s, int32_t tid, uint64_t time_ns);

/* All that is open is over. */
void call_stacks_end(struct call_stacks *s);
