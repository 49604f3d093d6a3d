/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java's frames in copied stacks: code that HotSpot made (lang/hotspot.h).
 *
 * While a stack is walked (user_stacks.c), the walk asks here about addresses in code without a
 * file. If they are in the code cache of a Java virtual machine, the answer is the rule that leads
 * to the caller, and the methods of the frame. Both come from the memory of the process, and are
 * kept. A piece of code is read at its first sample. It is looked at again once for all samples up
 * to that moment.
 *
 * A name is given only if the code was the same at the sample's time, as far as that can be known:
 *
 *   - Code that was found in another code's place is not taken for samples before that.
 *   - Between Java frames, each return address must be one of the caller's known places of calls.
 *   - A method must be one that its class lists.
 *
 * In doubt, the stack ends at the frame, which stays an address, and a loss of Java counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/bpf/shared.h"
#include "event/loss.h"
#include "machine/machine.h"
#include "pipeline/java_copy.h"
#include "pipeline/lang_frame.h"
#include "unwind/regs.h"
#include "unwind/rule.h"

struct java_stacks;
struct lang_code;
struct lang_memory;
struct lang_runtime;
struct unwind_ctx;

struct java_stacks_config {
	struct machine *machine;
	const char *proc;                 /* copied */
	const struct lang_memory *memory; /* for tests: in place of that of processes; or NULL */
	const uint32_t *n_reads;          /* for tests: of a walk; NULL: as many as usual */
	/* The runtime that the file of an image is; NULL: none, or not known yet. */
	const struct lang_runtime *(*runtime)(void *context, int32_t pid, image_id image);
	/* A function that frames will have; the code is copied. False: there is no room for it. */
	bool (*learn)(void *context, int32_t pid, const struct lang_code *code);
	void (*lose)(void *context, enum loss_reason reason);
	void *context;
};

struct java_stacks *java_stacks_new(const struct java_stacks_config *config);
void java_stacks_free(struct java_stacks *j); /* NULL is fine */

/*
 * A walk begins. `time_ns`: of the sample. `registers`: all, by DWARF number. `is_noting`: its
 * frames are noted for the in-kernel sampler.
 */
void java_stacks_begin(struct java_stacks *j, int32_t pid, const struct thread_view *thread,
		       uint64_t time_ns, const uint64_t *registers, bool is_noting);

/*
 * Whether a walk of the process may read its memory. Then it runs by memory_reads_run()
 * (guard/memory_reads.h).
 */
bool java_stacks_may_read(const struct java_stacks *j, int32_t pid);

/* The memory of the process of the walk is not read for a while (pipeline/read_pause.h). */
void java_stacks_bar(struct java_stacks *j, int32_t pid);

/*
 * The walk that begins is a try without reads, which counts no losses. False: there is nothing to
 * try. Either no code of the process is known, or nobody has looked at it since the sample.
 */
bool java_stacks_try(struct java_stacks *j, int32_t pid);

/* The try is over. False: its stack is not whole, and is walked once more. */
bool java_stacks_end_try(struct java_stacks *j);

/* Whether the last walk read more of its process than a look at the code that was known. */
bool java_stacks_has_learnt(const struct java_stacks *j);

/* The walk that begins reads no memory of its process: it has the code that is known. NULL is fine.
 */
void java_stacks_read_nothing(struct java_stacks *j);

/* Whether an address without a file is HotSpot's code. */
bool java_stacks_has(struct java_stacks *j, uint64_t pc);

/*
 * The rule of the frame with the registers, the `at`-th of the walk, whose address
 * java_stacks_has(). UNWIND_CFA_UNSUPPORTED: the stack ends here.
 */
struct unwind_rule java_stacks_rule(struct java_stacks *j, uint32_t at,
				    const struct unwind_regs *regs, struct unwind_ctx *stack);

struct lang_runs java_stacks_runs(struct java_stacks *j);

/*
 * A frame of the last walk that was certain, for the in-kernel sampler (collect/bpf/shared.h). The
 * caller sets the process of `key` and the number of `frame`. `methods`:
 * its frames, the innermost first. A frame of the interpreter's code has none: another one follows,
 * whose key has the method. That one has no rule.
 */
struct java_known {
	struct java_key key;
	struct java_frame frame;
	const struct lang_frame *methods;
	uint32_t n_methods;
};

/*
 * Why the reader has to walk such stacks: JAVA_COPY_KNOWN, if all frames of the last walk are known
 * frames. False: the process of the walk has no code of Java, the walk noted none, or `j` is NULL.
 */
bool java_stacks_copied(const struct java_stacks *j, enum java_copy *why);

/* Passes each known frame, if the last walk came to the end of the stack. `j` may be NULL. */
void java_stacks_each_known(const struct java_stacks *j, void *context,
			    void (*know)(void *context, const struct java_known *known));

/* A process ended: its memory is let go. */
void java_stacks_forget(struct java_stacks *j, int32_t pid);

/* All functions are to be learned anew. */
void java_stacks_forget_all(struct java_stacks *j);
