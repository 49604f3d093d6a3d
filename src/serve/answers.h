/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that were made, by the text of their request. The least recently used ones go. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/http_body.h"

struct kept_answer {
	struct buf key;
	struct http_body *body;
	struct buf policy;  /* Content-Security-Policy of a page; else empty */
	unsigned int lacks; /* of enum reply_lack */
	uint64_t used;      /* the time of the last use, as a number of uses */
	uint64_t end_ns;    /* of its life, of the monotonic clock; UINT64_MAX: none */
};

struct answers {
	VEC(struct kept_answer) list;
	size_t bytes, most_bytes;
	uint64_t n_uses;
};

void answers_init(struct answers *a, size_t most_bytes);
void answers_fini(struct answers *a);

/*
 * An answer with REPLY_FOR_NOW is kept for so long. A page asks every two seconds for names that
 * come later. The answer must live longer than these two seconds.
 */
#define ANSWER_FOR_NOW_NS (10 * NS_PER_SECOND)

/* Valid until the next call. NULL: there is none, or its life is over. */
const struct kept_answer *answers_find(struct answers *a, const struct buf *key);

/*
 * Takes the policy, copies the key and shares the body, in place of an answer that has the key. One
 * that is larger than all room is not kept.
 */
void answers_keep(struct answers *a, const struct buf *key, struct http_body *body,
		  struct buf *policy, unsigned int lacks);
/* Drops the answer with the key, if there is one. */
void answers_drop(struct answers *a, const struct buf *key);
