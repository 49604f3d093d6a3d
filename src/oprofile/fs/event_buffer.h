/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event buffer: samples on their way to the one who reads oprofilefs' `buffer`, as the stream
 * of oprofile/fs/event_stream.h. It has OProfile's two sizes: it never holds more than
 * `size_words`, and a reader is woken when only `watershed_words` are left, or by a flush.
 *
 * One thread uses it. It exists only while somebody has `buffer` open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oprofile/fs/event_stream.h"

#define EVENT_BUFFER_WORDS     131072
#define EVENT_BUFFER_WATERSHED 32768

struct event_buffer;

struct event_buffer *event_buffer_new(size_t size_words, size_t watershed_words);
void event_buffer_free(struct event_buffer *b); /* NULL is fine */

/*
 * Adds a sample. False: it is lost as a whole, because there is no room or its offset is -1, which
 * the stream can't express.
 */
bool event_buffer_put(struct event_buffer *b, const struct estream_sample *sample);

/* The list of kernel modules is to be read again. */
void event_buffer_put_modules(struct event_buffer *b);

/* All that is there is to be read now, however little. */
void event_buffer_flush(struct event_buffer *b);

/*
 * Ends the stream: it is flushed, and when everything is read, the reader gets the end of the file
 * once.
 */
void event_buffer_end(struct event_buffer *b);

/*
 * Takes at most `size` bytes, whole words: their number; 0 at the end; -EAGAIN when a reader is to
 * wait.
 */
long event_buffer_read(struct event_buffer *b, void *bytes, size_t size);

/* Is there something for event_buffer_read()? */
bool event_buffer_is_ready(const struct event_buffer *b);
