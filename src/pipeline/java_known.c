/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/java_known.h"

#include <assert.h>
#include <string.h>

#include "pipeline/java_ways.h"

static_assert(JAVA_METHOD_AT == HOTSPOT_METHOD_AT, "both are the same word");
static_assert(JAVA_PROOF_MAX == HOTSPOT_WORDS_MAX, "the words of a method have room");

/* Which frames may have this one as their caller, as may_return_to() in java_stacks.c. */
static uint16_t callers_flags(const struct java_left *left)
{
	switch (left->blob->kind) {
	case HOTSPOT_COMPILED:
		return JAVA_TAKES_OTHER | (left->is_exact ? JAVA_TAKES_JAVA : 0);
	case HOTSPOT_INTERPRETER:
		return JAVA_TAKES_OTHER | JAVA_TAKES_JAVA;
	case HOTSPOT_STUBS:
		return left->pc == left->vm->call_stub_return ? JAVA_TAKES_OTHER | JAVA_TAKES_JAVA
							      : 0;
	case HOTSPOT_FRAMELESS:
		return 0;
	default:
		return JAVA_TAKES_OTHER;
	}
}

static uint16_t flags_of(const struct java_left *left)
{
	enum hotspot_kind kind = left->blob->kind;
	bool is_called = java_is_called(left->blob);

	return (uint16_t)(JAVA_IS_FRAME | (is_called ? JAVA_IS_CALLED : 0) |
			  (kind == HOTSPOT_STUBS || (!left->is_leaf && !is_called) ? JAVA_IS_ENTERED
										   : 0) |
			  (kind == HOTSPOT_INTERPRETER ? JAVA_IS_INTERPRETED : 0) |
			  (java_is_called_as_stub(left->blob) ? JAVA_IS_STUB : 0) |
			  (left->calls_method ? JAVA_CALLS_METHOD : 0) | callers_flags(left));
}

static enum java_copy copy_for(const struct java_left *left)
{
	bool is_interpreter = left->blob->kind == HOTSPOT_INTERPRETER;

	if (left->vm->is_aarch64)
		return JAVA_COPY_AARCH64;
	if (is_interpreter && left->is_leaf)
		return JAVA_COPY_INTERPRETED;
	if (java_is_at_heap(left->blob))
		return JAVA_COPY_HEAP;
	if (!left->is_leaf && hotspot_is_deoptimised(left->blob, left->pc))
		return JAVA_COPY_DEOPTIMISED;
	if (!left->is_first_way)
		return JAVA_COPY_WAY;
	return is_interpreter || left->has_methods ? JAVA_COPY_KNOWN : JAVA_COPY_NAMELESS;
}

enum java_copy java_known_code(const struct java_left *left, struct java_key *key,
			       struct java_frame *frame)
{
	const struct hotspot_blob *blob = left->blob;
	bool is_interpreter = blob->kind == HOTSPOT_INTERPRETER;
	enum java_copy copy = copy_for(left);

	if (copy != JAVA_COPY_KNOWN)
		return copy;
	*key = (struct java_key){ .pc = left->pc,
				  .place = left->is_leaf ? JAVA_AT_PC : JAVA_BEHIND_CALL };
	*frame = (struct java_frame){
		.rule = java_rule_of(&left->leave),
		.flags = flags_of(left),
		.bcp_at = (int16_t)(is_interpreter ? hotspot_bcp_at(left->vm) : 0),
		.n_proof = blob->n_words,
	};
	memcpy(frame->proof, blob->words, sizeof(frame->proof));
	return JAVA_COPY_KNOWN;
}

void java_known_method(const struct known_word words[HOTSPOT_WORDS_MAX], uint64_t address,
		       uint64_t bcp, struct java_key *key, struct java_frame *frame)
{
	*key = (struct java_key){ .pc = address, .place = bcp };
	*frame = (struct java_frame){ .flags = JAVA_IS_FRAME, .n_proof = HOTSPOT_WORDS_MAX };
	memcpy(frame->proof, words, sizeof(frame->proof));
}
