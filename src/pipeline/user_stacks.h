/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks copied user stacks while recording, for --call-graph dwarf.
 *
 * The kernel copies a sample's user registers and the top of its stack. The walk turns them into a
 * chain of addresses, with the unwind tables (unwind/) of the images that the process has mapped. A
 * background thread builds a table, or finds it in the cache, when the first address in its image
 * appears. The walk of a living process waits for a table for a while (table_waits.h). Then the
 * stack ends there, and counts as stack-no-table. All functions belong to the machine's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/loss.h"
#include "machine/machine.h"
#include "pipeline/java_stacks.h"
#include "pipeline/table_waits.h"
#include "pipeline/v8_stacks.h"

struct file_jobs;
struct finder;
struct trampolines;
struct unwind_table;
struct user_stacks;

/*
 * `proc`: the directory for files of living processes; NULL: images are opened by their path.
 * `jobs` opens the files, so that no file system delays the caller; NULL: the caller opens them. It
 * is freed before the stacks are.
 * `arch`: uname -m of the recorded machine; NULL or "": this machine.
 * `finder`: without `proc`, finds the files; outlives the stacks. NULL: only at their paths.
 */
struct user_stacks_config {
	struct machine *machine;
	const char *proc;
	struct file_jobs *jobs;
	const char *arch;
	struct finder *finder;
	struct java_stacks *java; /* outlives the stacks. NULL: Java's code is not followed */
	struct v8_stacks *v8;     /* the same of JavaScript's code */
	struct trampolines *trampolines; /* likewise of CPython's perf trampolines */
};
struct user_stacks *user_stacks_new(const struct user_stacks_config *config);
void user_stacks_free(struct user_stacks *s); /* NULL is fine */

/* Innermost first. The first address is the user pc; the others are return addresses. */
struct user_chain {
	const uint64_t *pcs;   /* valid until the next walk */
	uint32_t n;            /* 0: the sample has no user registers */
	int cut;               /* enum loss_reason why it ends before the outermost frame, or -1 */
	bool is_guessed;       /* callers were found by guessed rules (unwind/rule.h) */
	bool is_pending;       /* the walk met an unfinished table and was not allowed to wait */
	struct lang_runs runs; /* frames of Java or JavaScript in place of addresses */
};

struct user_chain user_stacks_walk(struct user_stacks *s, const struct event *sample,
				   const struct thread_view *thread);

/* A hint: the sample is walked soon. Prefetches the data that its walk will read. */
void user_stacks_expect(struct user_stacks *s, const struct event *sample);

/*
 * `regs`: this machine's registers by DWARF number (perfdata/regs.h has their number). `stack`: the
 * bytes from sp on.
 */
struct user_copy {
	const uint64_t *regs;
	bool is_i386;      /* `regs` are those of a 32-bit program on x86-64 … */
	bool is_in_kernel; /* … whose thread is in the kernel */
	const void *stack;
	size_t stack_size;
	bool is_whole;    /* the stack has no more bytes */
	bool is_wait;     /* code is followed in half of the time that all walks may take */
	uint64_t time_ns; /* of the stack; 0: code of Java and JavaScript is not followed */
};

/* If the table of an image is not ready: */
enum table_patience {
	TABLE_LATER,   /* the walk ends: is_pending */
	TABLE_AWAITED, /* the walk waits */
	TABLE_GIVEN_UP /* the walk goes on as if the image had no table */
};

/*
 * Code of Java and JavaScript is followed for FOLLOWS_NS and a part of the time (guard/limits.h),
 * without the time that the threads had no CPU.
 * Then a walk reads none of it any more; if it needs to, the reason is java-state or
 * javascript-state.
 */
struct user_chain user_stacks_walk_copy(struct user_stacks *s, int32_t pid,
					const struct thread_view *thread,
					const struct user_copy *copy, enum table_patience patience);

/*
 * Calls `walks`, which walks several copies, with one handover to the thread that reads memory. A
 * handover costs more than most walks do. False: a read took too long, and `walks` was given up in
 * the midst of a walk. That one is to be walked again without this function, as its process is not
 * read any more.
 */
bool user_stacks_run(struct user_stacks *s, void (*walks)(void *arg), void *arg);

/*
 * The unwind table of an image that process `pid` has mapped. Returns false while the table is
 * being built: ask again later. *table stays NULL if the image has no table. A table stays valid
 * until user_stacks_free().
 */
bool user_stacks_table(struct user_stacks *s, int32_t pid, image_id image,
		       const struct unwind_table **table);
bool user_stacks_vdso_table(struct user_stacks *s, const struct unwind_table **table);

/*
 * A look at the file of an image that was opened for its table, once; the caller frees it. The path
 * in it has no meaning. NULL: there was none.
 */
struct file_look *user_stacks_take_look(struct user_stacks *s, image_id image);

/* The key of an image that was looked at (image_cache_key()): its file need not be opened. */
void user_stacks_know_key(struct user_stacks *s, image_id image, const struct build_id *key);

/* The owner sets may_wait, before the first walk. */
struct table_waits *user_stacks_waits(struct user_stacks *s);

/* The number of images whose table the parser could not make, since the last call. */
uint64_t user_stacks_take_unparsed(struct user_stacks *s);

/* Calls unwind_library_rest() for all tables that were walked with since the last call. */
void user_stacks_rest_walked(struct user_stacks *s);

/* Grows when the building of a table, or the opening of its file, has finished. */
uint64_t user_stacks_generation(const struct user_stacks *s);

/*
 * Walks of copies that had to read more of their process than a look at known code. Reads are soon
 * in vain: a virtual machine moves its code, and processes end. Each walk of JavaScript counts.
 */
uint64_t user_stacks_n_learnt(const struct user_stacks *s);

/*
 * The frames of Java of the last walk, for java_stacks_each_known(); NULL: it followed none. Walks
 * of copies alone note them.
 */
const struct java_stacks *user_stacks_java(const struct user_stacks *s);

/* For other reads of the memory of living processes; NULL: without `proc`. */
struct memory_reads *user_stacks_reads(struct user_stacks *s);

/* For tests: counts time, as if walks had waited, and followed code, so long; and the latter. */
void user_stacks_charge(struct user_stacks *s, uint64_t waited_ns, uint64_t followed_ns);
uint64_t user_stacks_followed_ns(const struct user_stacks *s);
