/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of a sample: its pc and call chain as (image, offset), innermost first.
 *
 *   kernel part of the chain ─┐
 *   user part of the chain   ─┼─► addresses ─► machine ─► (image, offset)
 *   or the copied stack      ─┘
 *
 * A resolver serves one thread: the thread of its machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "machine/machine.h"
#include "perfdata/record.h"

#define MAX_FRAMES (RECORD_MAX_CALLERS + 1)

/*
 * A memory access has so many frames more: its latency (IMAGE_LATENCY_PATH), its data, and its mark
 * (IMAGE_ACCESS_PATH).
 */
#define ACCESS_FRAMES 3
/* A cut stack has one frame more (IMAGE_CUT_PATH). */
#define CUT_FRAMES 1

struct frames {
	uint32_t n, n_kernel;     /* frames [0, n_kernel) are kernel frames */
	uint32_t n_unmapped;      /* callers that no mapping covers */
	int leaf_loss;            /* enum loss_reason why frame 0 is unknown, or -1 */
	int cut;                  /* enum loss_reason why a copied stack ended early, or -1 */
	uint32_t n_unnamed;       /* frames of a language whose names are not known … */
	enum loss_reason no_name; /* … and the reason of that */
	bool is_walked;           /* the user part comes from a copied stack */
	bool is_guessed;          /* callers of a copied stack come from guessed rules */
	bool is_cut;              /* the callers of the last frame are not known */
	struct code_addr code[MAX_FRAMES + ACCESS_FRAMES + CUT_FRAMES];
	uint64_t addr[MAX_FRAMES]; /* runtime address; of a caller: the return address */
};

struct file_jobs;
struct finder;
struct frame_resolver;
struct java_stacks;
struct trampolines;
struct v8_stacks;
struct lang_frame;
struct user_stacks;

struct frame_resolver_config {
	struct machine *machine; /* not owned; outlives the resolver */
	const char *proc;        /* as for user_stacks_new() */
	struct file_jobs *jobs;  /* the same */
	const char *arch;
	struct finder *finder;           /* the same */
	struct java_stacks *java;        /* the same */
	struct trampolines *trampolines; /* the same */
	struct v8_stacks *v8;            /* the same */
	/* The place of a frame of a language; false: its function is not known. */
	bool (*place)(void *context, const struct lang_frame *frame, struct code_addr *out);
	void *context;
	/*
	 * Keep callers that no mapping covers, as [unknown] frames. Otherwise such callers are left
	 * out, and the user part ends at the first one. Code without frame pointers leaves
	 * arbitrary numbers in the place of return addresses, so the frames behind it are not
	 * trustworthy.
	 */
	bool keeps_unmapped;
	/* Return the address of frame 0 alone: no callers, and nothing is resolved. */
	bool addresses_alone;
};

struct frame_resolver *frame_resolver_new(const struct frame_resolver_config *config);
void frame_resolver_free(struct frame_resolver *r); /* NULL is fine */

/*
 * Resolves a sample against the machine's present state. The frames are valid until the next call
 * and may be changed.
 */
struct frames *frames_resolve(struct frame_resolver *r, const struct event *sample,
			      const struct thread_view *thread);

/* A hint: the sample comes soon. Prefetches the unwind data for its copied stack. */
void frames_expect(struct frame_resolver *r, const struct event *sample);

/* As user_stacks_take_look(). */
struct file_look *frame_resolver_take_look(struct frame_resolver *r, image_id image);

/* As user_stacks_know_key(). */
void frame_resolver_know_key(struct frame_resolver *r, image_id image, const struct build_id *key);

/* The number of files that gave no unwind table because of the parser, since the last call. */
uint64_t frame_resolver_take_unparsed(struct frame_resolver *r);

/* The walker of copied stacks. The resolver owns it. */
struct user_stacks *frame_resolver_user_stacks(struct frame_resolver *r);
