/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/event_buffer.h"

#include <errno.h>
#include <string.h>

struct event_buffer {
	struct estream_writer writer;
	struct estream_words words;   /* [read, words.n) is unread */
	struct estream_words scratch; /* of one sample */
	size_t read, size, watershed;
	bool is_flushed, is_ended;
};

struct event_buffer *event_buffer_new(size_t size_words, size_t watershed_words)
{
	struct event_buffer *b = xcalloc(1, sizeof(*b));

	b->size = size_words;
	b->watershed = MIN(watershed_words, size_words);
	return b;
}

void event_buffer_free(struct event_buffer *b)
{
	if (!b)
		return;
	vec_fini(&b->words);
	vec_fini(&b->scratch);
	free(b);
}

static size_t unread(const struct event_buffer *b)
{
	return b->words.n - b->read;
}

/* Moves the unread words to the front. */
static void event_buffer_compact(struct event_buffer *b)
{
	if (!b->read)
		return;
	memmove(b->words.data, b->words.data + b->read, unread(b) * sizeof(*b->words.data));
	b->words.n = unread(b);
	b->read = 0;
}

static bool append_scratch(struct event_buffer *b)
{
	if (unread(b) + b->scratch.n > b->size)
		return false;
	if (b->words.n + b->scratch.n > b->size)
		event_buffer_compact(b);
	vec_reserve(&b->words, b->words.n + b->scratch.n);
	memcpy(b->words.data + b->words.n, b->scratch.data,
	       b->scratch.n * sizeof(*b->scratch.data));
	b->words.n += b->scratch.n;
	return true;
}

bool event_buffer_put(struct event_buffer *b, const struct estream_sample *sample)
{
	struct estream_writer before = b->writer;

	b->scratch.n = 0;
	if (estream_put_sample(&b->writer, &b->scratch, sample) == 0 && append_scratch(b))
		return true;
	b->writer = before; /* the reader has seen nothing of the sample */
	return false;
}

void event_buffer_put_modules(struct event_buffer *b)
{
	struct estream_item item = { .kind = ESTREAM_MODULE_LOADED };

	b->scratch.n = 0;
	estream_put(&b->scratch, &item);
	append_scratch(b);
}

void event_buffer_flush(struct event_buffer *b)
{
	b->is_flushed = unread(b) > 0;
}

void event_buffer_end(struct event_buffer *b)
{
	event_buffer_flush(b);
	b->is_ended = true;
}

bool event_buffer_is_ready(const struct event_buffer *b)
{
	return b->is_ended || (unread(b) && (b->is_flushed || unread(b) + b->watershed >= b->size));
}

long event_buffer_read(struct event_buffer *b, void *bytes, size_t size)
{
	size_t n = MIN(size / sizeof(*b->words.data), unread(b));

	if (!event_buffer_is_ready(b))
		return -EAGAIN;
	if (!unread(b)) {
		b->is_ended = false;
		return 0;
	}
	memcpy(bytes, b->words.data + b->read, n * sizeof(*b->words.data));
	b->read += n;
	/* What stays is the rest of something that was ready. */
	b->is_flushed = unread(b) > 0;
	return (long)(n * sizeof(*b->words.data));
}
