/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of java_stacks.c, which its parts share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "pipeline/java_process.h"
#include "pipeline/java_stacks.h"

/* A process is not looked at more often, whatever it maps: each time half as often, to 6.4 s. */
#define JAVA_LOOK_EVERY_NS (50 * NS_PER_MS)

/* A frame of the walk. Its methods are `n` of the walk's frames from `first` on. */
struct java_step {
	uint32_t at, first, n;
};

/* A frame for the in-kernel sampler: of the step `step`, whose methods are its own. */
struct java_noted {
	struct java_key key;
	struct java_frame frame;
	uint32_t step;
};

struct java_stacks {
	struct java_stacks_config config;
	char *proc;
	struct intmap by_pid;
	VEC(struct java_process *) processes;
	uint64_t opened_ns; /* the last virtual machine */
	/* The walk. */
	int32_t pid;
	const struct thread_view *thread;
	uint64_t time_ns;
	const uint64_t *registers;
	struct java_process *process; /* NULL: not looked for yet */
	bool reads_nothing;
	bool is_noting;          /* its frames are noted for the in-kernel sampler */
	bool is_try, has_failed; /* java_stacks_try() */
	uint32_t n_reads;        /* left after the look at known code */
	bool has_counted;        /* a loss of this stack */
	int cut;
	bool is_after_java; /* the last frame was one that Java code calls */
	uint32_t last_at;
	VEC(struct java_step) steps;
	VEC(struct lang_frame) frames;
	VEC(struct lang_run) runs;
	VEC(struct java_noted) noted;
	enum java_copy copy; /* of the first frame that is not noted */
};

/* Of java_stacks_process.c: a process, or NULL. */
struct java_process *java_stacks_process_of(const struct java_stacks *j, int32_t pid);

/* Its pause begins, or that of the walk's process ends if it is over (pipeline/read_pause.h). */
void java_stacks_begin_pause(const struct java_stacks *j, int32_t pid);
void java_stacks_end_pause(const struct java_stacks *j);

/* The process of the walk as it is now. */
struct java_process *java_stacks_find_process(struct java_stacks *j);
