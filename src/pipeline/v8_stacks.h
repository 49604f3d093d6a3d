/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JavaScript's frames in copied stacks: code of V8 (lang/v8.h).
 *
 * While a stack is walked (user_stacks.c), the walk asks here about addresses in code that V8 made
 * when it ran, or that was made when V8 was built (builtins). Such frames are left by their frame
 * pointer. The answer names the function of the frame, or leaves the address as it is: the frame is
 * a stub, or its function is not certain, which counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/loss.h"
#include "machine/machine.h"
#include "pipeline/lang_frame.h"
#include "unwind/regs.h"
#include "unwind/rule.h"

struct lang_code;
struct lang_memory;
struct lang_runtime;
struct mapping;
struct unwind_ctx;
struct v8_stacks;

struct v8_stacks_config {
	struct machine *machine;
	const char *proc;                 /* copied */
	const struct lang_memory *memory; /* for tests: in place of that of processes; or NULL */
	const uint32_t *n_reads;          /* for tests: of a walk; NULL: as many as usual */
	/* *runtime: that the file of an image is, or NULL. False: the file is still looked at. */
	bool (*look)(void *context, int32_t pid, image_id image,
		     const struct lang_runtime **runtime);
	/* A function that frames will have; the code is copied. False: there is no room for it. */
	bool (*learn)(void *context, int32_t pid, const struct lang_code *code);
	void (*lose)(void *context, enum loss_reason reason);
	void *context;
};

struct v8_stacks *v8_stacks_new(const struct v8_stacks_config *config);
void v8_stacks_free(struct v8_stacks *s); /* NULL is fine */

/*
 * A walk begins. `time_ns`: of the sample. `registers`: all, by DWARF number. Returns whether the
 * process has a V8 that is followed. Then places of its code belong to another space than before.
 */
bool v8_stacks_begin(struct v8_stacks *s, int32_t pid, const struct thread_view *thread,
		     uint64_t time_ns, const uint64_t *registers);

/* The walk that begins reads no memory of its process: it has the code that is known. NULL is fine.
 */
void v8_stacks_read_nothing(struct v8_stacks *s);

/* Whether an address without a file is followed here. */
bool v8_stacks_has_code(const struct v8_stacks *s);

enum v8_place {
	V8_ELSEWHERE, /* the file has no V8, or the address is outside of its builtins */
	V8_UNSETTLED, /* that is not known yet */
	V8_IN_BUILTINS,
};

/* Of an address in a file. [*start, *end) shrinks to where the answer is the same. */
enum v8_place v8_stacks_place(struct v8_stacks *s, const struct mapping *mapping, uint64_t pc,
			      uint64_t *start, uint64_t *end);

/* The rule of the frame with the registers, the `at`-th of the walk, which is in V8's code. */
struct unwind_rule v8_stacks_rule(struct v8_stacks *s, uint32_t at, const struct unwind_regs *regs,
				  struct unwind_ctx *stack);

struct lang_runs v8_stacks_runs(struct v8_stacks *s);

/* The memory of the process of the walk is not read for a while (pipeline/read_pause.h). */
void v8_stacks_bar(struct v8_stacks *s, int32_t pid);

/* A process ended: its memory is let go. */
void v8_stacks_forget(struct v8_stacks *s, int32_t pid);

/* All functions are to be learned anew. */
void v8_stacks_forget_all(struct v8_stacks *s);
