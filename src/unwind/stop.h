/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reasons for the end of a stack walk. Every walk has one of them. Freestanding. */
#pragma once

/* X(id, key, text). Stored in sessions and counted in maps by number: append only. */
#define UNWIND_STOPS(X)                                                                         \
	X(GOES_ON, "goes-on", "there is a caller")                                              \
	X(END, "end", "reached the outermost frame")                                            \
	X(NO_RULE, "no-rule", "no unwind rule covers the address")                              \
	X(BAD_CFA, "bad-cfa", "frame address did not move up the stack")                        \
	X(SHORT_COPY, "short-copy", "frame lies beyond the copied stack bytes")                 \
	X(UNREADABLE, "unreadable", "the stack could not be read")                              \
	X(UNSUPPORTED, "unsupported", "the unwind rule is an unsupported expression")           \
	X(NO_REGISTER, "no-register", "the unwind rule needs a register not known")             \
	X(FP_FAILED, "fp-failed", "no unwind rule, and no frame pointer")                       \
	X(UNMAPPED, "unmapped", "the return address lies in no mapping")                        \
	X(DEPTH, "depth", "more frames than are kept")                                          \
	X(OTHER_STACK, "other-stack", "the stack goes on in another one, which was not copied") \
	X(NO_CALL, "no-call", "a guessed return address does not follow a call")

enum unwind_stop {
#define X(id, key, text) UNWIND_##id,
	UNWIND_STOPS(X)
#undef X
		N_UNWIND_STOPS
};
