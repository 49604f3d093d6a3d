/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why stacks of Java are copied for the reader (java_stacks.h). `record -v` prints the numbers. */
#pragma once

/* X(id, text): the stack has … */
#define JAVA_COPIES(X)                                           \
	X(KNOWN, "known frames alone by now")                    \
	X(NEW, "a frame for the first time")                     \
	X(FULL, "a frame above the quota")                       \
	X(INTERPRETED, "an innermost frame that is interpreted") \
	X(DEOPTIMISED, "a deoptimised frame")                    \
	X(HEAP, "frames in the heap")                            \
	X(WAY, "a frame whose likeliest way leads to no caller") \
	X(NAMELESS, "a frame without names")                     \
	X(AARCH64, "frames of AArch64")                          \
	X(CUT, "an end that is not the thread's")

enum java_copy {
#define X(id, text) JAVA_COPY_##id,
	JAVA_COPIES(X)
#undef X
		N_JAVA_COPIES
};
