/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways out of frames of V8's code (lang/v8.h). Frames that called have a frame pointer. The
 * innermost one may not be made yet, or may be taken down already.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/v8.h"
#include "unwind/regs.h"
#include "unwind/rule.h"

struct unwind_ctx;

enum v8_way {
	V8_BY_FP,
	V8_AT_TOP,    /* the frame is not made yet, or taken down: the return address is on top */
	V8_BEHIND_FP, /* the caller's frame pointer is on top, behind it the return address */
	/* AArch64: */
	V8_BY_LINK,     /* as V8_AT_TOP, and the return address is in the link register */
	V8_BY_ENTRY,    /* code that native code called to run JavaScript: it has all registers */
	V8_BY_REGEXP,   /* code of a regular expression: likewise */
	V8_BY_TOP_WORD, /* the return address is on top, and stays there */
	V8_NO_WAY,      /* it is not certain */
};

/* The way out of the innermost frame. `code`: the compiled code of its address; NULL: a builtin. */
enum v8_way v8_way_of_leaf(const struct v8 *v8, const struct v8_code *code, uint64_t pc);

struct unwind_rule v8_rule_of(const struct v8 *v8, enum v8_way way);

/*
 * AArch64: the words that the innermost frame at `pc`, which has no frame pointer, has on the
 * stack. False: it is not known.
 */
bool v8_pushed_words(const struct v8 *v8, uint64_t pc, uint16_t *out);

/* AArch64: whether code is that of a regular expression. NULL: it is not. */
bool v8_is_regexp(const struct v8 *v8, const struct v8_code *code);

/* AArch64: whether a return address is in the builtin that calls C for other code. */
bool v8_is_call_of_c(const struct v8 *v8, uint64_t pc);

/* Of the word at a frame pointer that is no object: whether native code called that frame. */
bool v8_is_entry(uint64_t marker);
