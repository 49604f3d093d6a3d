/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/event_stream.h"

#include <errno.h>
#include <string.h>

#define CTX_TGID_WORDS       2 /* the escape and the code in a CTX_SWITCH, before its last value */
#define BRANCH_TARGET_VALUES 2

const struct estream_row estream_rows[N_ESTREAM_KINDS] = {
#define X(id, code_, name_, n) { .code = code_, .n_values = n, .name = name_ },
	ESTREAM_CODES(X)
#undef X
};

/* ---- writing ---- */

void estream_put(struct estream_words *out, const struct estream_item *item)
{
	size_t n = item->n;

	vec_reserve(out, out->n + n + 2 + CTX_TGID_WORDS);
	if (item->kind != ESTREAM_SAMPLE) {
		out->data[out->n++] = ESTREAM_ESCAPE;
		out->data[out->n++] = estream_rows[item->kind].code;
	}
	for (size_t i = 0; i < n; i++) {
		if (item->kind == ESTREAM_CTX_SWITCH && i == n - 1) {
			out->data[out->n++] = ESTREAM_ESCAPE;
			out->data[out->n++] = estream_rows[ESTREAM_CTX_TGID].code;
		}
		out->data[out->n++] = item->values[i];
	}
}

static void event_stream_put_code(struct estream_words *out, enum estream_kind kind, uint64_t value)
{
	struct estream_item item = { kind, estream_rows[kind].n_values, { value } };

	estream_put(out, &item);
}

static void event_stream_put_cpu(struct estream_writer *w, struct estream_words *out, uint32_t cpu)
{
	if (w->has_cpu && w->cpu == cpu)
		return;
	event_stream_put_code(out, ESTREAM_CPU_SWITCH, cpu);
	/* Each CPU has its own task and mode. */
	*w = (struct estream_writer){ .has_cpu = true, .cpu = cpu };
}

static void event_stream_put_mode(struct estream_writer *w, struct estream_words *out,
				  bool is_kernel)
{
	if (w->has_mode && w->is_kernel == is_kernel)
		return;
	event_stream_put_code(out, is_kernel ? ESTREAM_KERNEL_ENTER : ESTREAM_KERNEL_EXIT, 0);
	w->has_mode = true;
	w->is_kernel = is_kernel;
}

/* The reader forgets its file with its task. */
static void put_task(struct estream_writer *w, struct estream_words *out,
		     const struct estream_sample *s)
{
	struct estream_item item = { ESTREAM_CTX_SWITCH,
				     3,
				     { (uint64_t)s->tid, s->app, (uint64_t)s->tgid } };

	if (w->has_task && w->tid == s->tid && w->tgid == s->tgid && w->app == s->app)
		return;
	estream_put(out, &item);
	w->has_task = true;
	w->tid = s->tid;
	w->tgid = s->tgid;
	w->app = s->app;
	w->has_cookie = false;
}

static void put_cookie(struct estream_writer *w, struct estream_words *out,
		       const struct estream_place *place)
{
	if (place->is_kernel || (w->has_cookie && w->cookie == place->cookie))
		return;
	event_stream_put_code(out, ESTREAM_COOKIE_SWITCH, place->cookie);
	w->has_cookie = true;
	w->cookie = place->cookie;
}

static void event_stream_put_pair(struct estream_words *out, uint64_t offset, uint64_t counter)
{
	struct estream_item item = { ESTREAM_SAMPLE, 2, { offset, counter } };

	estream_put(out, &item);
}

int estream_put_sample(struct estream_writer *w, struct estream_words *out,
		       const struct estream_sample *s)
{
	uint32_t n = s->is_traced ? s->n_places : 1;

	for (uint32_t i = 0; i < n; i++)
		if (s->places[i].offset == ESTREAM_ESCAPE)
			return -EINVAL;
	if (w->is_traced && !s->is_traced) /* nothing else ends the callers of the last sample */
		*w = (struct estream_writer){ 0 };
	event_stream_put_cpu(w, out, s->cpu);
	w->is_traced = s->is_traced;
	if (s->is_traced)
		event_stream_put_code(out, ESTREAM_TRACE_BEGIN, 0);
	event_stream_put_mode(w, out, s->places[0].is_kernel);
	put_task(w, out, s);
	put_cookie(w, out, &s->places[0]);
	event_stream_put_pair(out, s->places[0].offset, s->counter);
	for (uint32_t i = 1; i < n; i++) {
		event_stream_put_mode(w, out, s->places[i].is_kernel);
		put_cookie(w, out, &s->places[i]);
		event_stream_put_pair(out, s->places[i].offset, 0);
	}
	return 0;
}

/* ---- reading ---- */

struct estream_reader estream_reader_over(const void *bytes, size_t size, uint32_t word_bytes)
{
	const uint8_t *at = bytes;

	return (struct estream_reader){ .at = at, .end = at + size, .word_bytes = word_bytes };
}

static size_t words_left(const struct estream_reader *r)
{
	return (size_t)(r->end - r->at) / r->word_bytes;
}

/* The word `i` from here; a short one is widened, the escape stays one. */
static uint64_t event_stream_peek(const struct estream_reader *r, size_t i)
{
	uint64_t wide;
	uint32_t narrow;

	if (r->word_bytes == 8) {
		memcpy(&wide, r->at + i * 8, 8);
		return wide;
	}
	memcpy(&narrow, r->at + i * 4, 4);
	return narrow == UINT32_MAX ? ESTREAM_ESCAPE : narrow;
}

static void event_stream_skip(struct estream_reader *r, size_t n)
{
	r->at += n * r->word_bytes;
}

static const struct estream_row *event_stream_find_code(uint64_t code)
{
	for (size_t i = ESTREAM_SAMPLE + 1; i < N_ESTREAM_KINDS; i++)
		if (estream_rows[i].code == code)
			return &estream_rows[i];
	return NULL;
}

static void take_values(struct estream_reader *r, struct estream_item *out, size_t first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out->values[first + i] = event_stream_peek(r, i);
	event_stream_skip(r, n);
	out->n = (uint32_t)(first + n);
}

/* After the thread and the cookie: an escape, a code, the process. */
static void event_stream_take_process(struct estream_reader *r, struct estream_item *out)
{
	if (event_stream_peek(r, 0) != ESTREAM_ESCAPE ||
	    event_stream_peek(r, 1) != estream_rows[ESTREAM_CTX_TGID].code) {
		r->n_cut++;
		out->values[2] = out->values[0];
		out->n = 3;
		return;
	}
	event_stream_skip(r, CTX_TGID_WORDS);
	take_values(r, out, 2, 1);
}

static int take_code(struct estream_reader *r, const struct estream_row *row,
		     struct estream_item *out)
{
	enum estream_kind kind = (enum estream_kind)(row - estream_rows);
	size_t n = row->n_values, more = 0;

	if (kind == ESTREAM_IBS_OP && r->has_branch_target)
		n += BRANCH_TARGET_VALUES;
	if (kind == ESTREAM_CTX_SWITCH)
		more = CTX_TGID_WORDS;
	if (words_left(r) < 2 + n + more)
		return 0;
	*out = (struct estream_item){ .kind = kind };
	event_stream_skip(r, 2);
	take_values(r, out, 0, kind == ESTREAM_CTX_SWITCH ? 2 : n);
	if (kind == ESTREAM_CTX_SWITCH)
		event_stream_take_process(r, out);
	return 1;
}

int estream_next(struct estream_reader *r, struct estream_item *out)
{
	while (words_left(r) >= 2) {
		const struct estream_row *row;

		if (event_stream_peek(r, 0) != ESTREAM_ESCAPE) {
			*out = (struct estream_item){ .kind = ESTREAM_SAMPLE };
			take_values(r, out, 0, 2);
			return 1;
		}
		row = event_stream_find_code(event_stream_peek(r, 1));
		if (row)
			return take_code(r, row, out);
		r->n_unknown++;
		event_stream_skip(r, 2);
	}
	return 0;
}

/* ---- following ---- */

static bool follow_pair(struct estream_context *c, const struct estream_item *item,
			struct estream_entry *out)
{
	bool is_kernel = c->mode == ESTREAM_KERNEL;

	if (c->mode == ESTREAM_NO_MODE || (!is_kernel && c->cookie == COOKIE_NONE)) {
		c->n_ignored++;
		return false;
	}
	*out = (struct estream_entry){
		.place = { is_kernel, is_kernel ? 0 : c->cookie, item->values[0] },
		.counter = item->kind == ESTREAM_SAMPLE ? item->values[1] : 0,
		.is_caller = c->is_traced && c->has_sample,
	};
	c->has_sample = true;
	return true;
}

bool estream_follow(struct estream_context *c, const struct estream_item *item,
		    struct estream_entry *out)
{
	switch (item->kind) {
	case ESTREAM_SAMPLE:
		return follow_pair(c, item, out);
	case ESTREAM_IBS_FETCH:
	case ESTREAM_IBS_OP:
		c->is_traced = false;
		return follow_pair(c, item, out);
	case ESTREAM_CTX_SWITCH:
		c->tid = (int32_t)item->values[0];
		c->app = item->values[1];
		c->tgid = (int32_t)item->values[2];
		c->cookie = COOKIE_NONE;
		break;
	case ESTREAM_CPU_SWITCH:
		c->cpu = (uint32_t)item->values[0];
		c->mode = ESTREAM_NO_MODE;
		c->cookie = COOKIE_NONE;
		c->is_traced = false;
		break;
	case ESTREAM_COOKIE_SWITCH:
		c->cookie = item->values[0];
		break;
	case ESTREAM_KERNEL_ENTER:
	case ESTREAM_XEN_ENTER:
		c->mode = ESTREAM_KERNEL;
		break;
	case ESTREAM_KERNEL_EXIT:
		c->mode = ESTREAM_USER;
		break;
	case ESTREAM_TRACE_BEGIN:
		c->is_traced = true;
		c->has_sample = false;
		break;
	case ESTREAM_TRACE_END:
		c->is_traced = false;
		break;
	case ESTREAM_CTX_TGID:
		c->tgid = (int32_t)item->values[0];
		break;
	case ESTREAM_MODULE_LOADED:
	case ESTREAM_DOMAIN_SWITCH:
	case N_ESTREAM_KINDS:
		break;
	}
	return false;
}
