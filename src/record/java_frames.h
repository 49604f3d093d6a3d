/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Java that the in-kernel sampler knows (collect/bpf/shared.h), by their numbers.
 *
 * A walk here of a copied stack finds the frames, and the sampler gets them with their numbers. Its
 * stacks have the numbers, and the names are here. So a name is read before the sampler knows its
 * frame. It stays valid when the process has ended: at each sample, the sampler compares words that
 * show that the frame is the same.
 *
 * A number is never given twice. A process has a quota of frames and of bytes. At its quota, or if
 * all processes together have too many, frames without a sample for a while make room. If there
 * are none, a process gets no more, and its other stacks are copied. The sampler forgets a frame
 * first. Samples that it took before can have the number for some rounds more.
 *
 * One thread uses it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/bpf/shared.h"
#include "machine/image.h"
#include "pipeline/java_stacks.h"

#define JAVA_FRAMES_OF_PROCESS (JAVA_FRAMES_MAX / 8)
#define JAVA_NAMES_BYTES       ((size_t)16 << 20) /* of all frames; of a process an eighth */
#define JAVA_OWNERS_MAX        64                 /* lives of processes */
#define JAVA_OWNERS_OF_PID     4                  /* likewise, of one pid */

/* In rounds, which are as long as an epoch of the sampler: a second. */
#define JAVA_IDLE_ROUNDS 10 /* no sample for so long */
#define JAVA_KEPT_ROUNDS 4  /* samples can have a number that the sampler has forgotten */

struct java_frames;

struct java_frames_config {
	/* The sampler gets a frame with its number (false: it did not), or forgets it. */
	bool (*set)(void *context, const struct java_key *key, const struct java_frame *frame);
	void (*drop)(void *context, const struct java_key *key);
	/* The code of a method's frame in the session at hand. False: its name is not known. */
	bool (*place)(void *context, const struct lang_frame *frame, struct code_addr *code);
	void *context;
};

struct java_frames *java_frames_new(const struct java_frames_config *config); /* copied */
void java_frames_free(struct java_frames *j);                                 /* NULL is fine */

/* The process of a copied stack. Numbers of processes are given anew: their lives do not overlap.
 */
struct java_life {
	int32_t pid;
	uint64_t process; /* as in struct java_key */
	uint64_t time_ns; /* of the copy */
};

/*
 * A frame of a copy that was walked just now, in a session.
 * Returns JAVA_COPY_KNOWN, if the sampler has it already, JAVA_COPY_NEW, or JAVA_COPY_FULL, if the
 * sampler does not get it.
 */
enum java_copy java_frames_learn(struct java_frames *j, const struct java_life *life,
				 const struct java_known *known, uint32_t session);

/* Valid until the next call of a function here. n is 0 for the interpreter's code. */
struct java_codes {
	const struct code_addr *data;
	uint32_t n;
};

/*
 * The frames with a number, at an address of the process, in a session. False: their names are not
 * known any more.
 */
bool java_frames_find(struct java_frames *j, int32_t pid, uint64_t address, uint64_t number,
		      uint32_t session, struct java_codes *codes);

/* The names were forgotten, so the sampler forgets all frames. Codes that have a place stay. */
void java_frames_forget_names(struct java_frames *j);

/* The samples of an epoch were read. */
void java_frames_next_round(struct java_frames *j);
