/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of a walk (java_stacks.c) as the in-kernel sampler can leave them (collect/bpf/shared.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/bpf/shared.h"
#include "lang/hotspot.h"
#include "pipeline/java_copy.h"

/* A frame that was left by `leave`. */
struct java_left {
	const struct hotspot *vm;
	const struct hotspot_blob *blob;
	uint64_t pc;
	bool is_leaf;      /* the instruction at pc is the next one; else pc is a return address */
	bool is_exact;     /* the code has a call or a trap at pc */
	bool is_first_way; /* no likelier way was tried */
	bool has_methods;  /* their names are known */
	bool calls_method; /* java_process_calls_method(), or that is not known */
	struct hotspot_leave leave;
};

/* JAVA_COPY_KNOWN, or why the frame is not the same at each sample: the reader has to look at it.
 */
enum java_copy java_known_code(const struct java_left *left, struct java_key *key,
			       struct java_frame *frame);

/* The frame of an interpreted method. The sampler looks for it behind the interpreter's frame. */
void java_known_method(const struct known_word words[HOTSPOT_WORDS_MAX], uint64_t address,
		       uint64_t bcp, struct java_key *key, struct java_frame *frame);
