/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/stream.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/unpack_memory.h"
#include "perfdata/bytes.h"
#include "perfdata/format.h"

#define CHUNK_BYTES     ((size_t)256 << 10)
#define MAX_QUEUED      ((size_t)4 << 20)
#define MAX_CHUNK_BYTES ((uint64_t)256 << 20)
/*
 * Records compress to a tenth or a fiftieth. Data that grows more is an attack: 64 KiB
 * could give 2 GB of the smallest records, which take seconds to step over.
 */
#define MAX_GROWTH   ((uint64_t)1000)
#define GROWTH_SLACK ((uint64_t)1 << 20)
#define HEADER_BYTES sizeof(struct perf_event_header)

void stream_init(struct stream *s, const uint8_t *base, uint64_t at, uint64_t end, bool is_foreign)
{
	*s = (struct stream){ .base = base, .at = at, .end = end, .is_foreign = is_foreign };
}

void stream_fini(struct stream *s)
{
	ZSTD_freeDStream(s->zstd);
	for (size_t i = s->n_freed; i < s->chunks.n; i++)
		free(s->chunks.data[i].bytes);
	vec_fini(&s->chunks);
	vec_fini(&s->queue);
	vec_fini(&s->spare);
	free(s->straddling);
}

/* Damage. */

static bool stream_fail(struct stream *s, uint64_t file_off, const char *what, uint64_t number)
{
	char text[200];

	snprintf(text, sizeof(text), what, number);
	error_set(&s->error, -EBADMSG, "%s%sat offset %" PRIu64 ": %s", s->name ? s->name : "",
		  s->name ? ": " : "", file_off, text);
	s->is_done = true;
	return false;
}

/* Not the file's fault. */
static bool stream_starve(struct stream *s)
{
	reserve_count_failure();
	reserve_error(&s->error);
	s->is_done = true;
	return false;
}

/* Headers. */

static inline struct raw_record parse_header(const struct stream *s, const uint8_t *bytes,
					     uint64_t file_off)
{
	struct perf_event_header h = order_header(bytes, s->is_foreign);

	return (struct raw_record){
		.bytes = bytes, .type = h.type, .misc = h.misc, .size = h.size, .file_off = file_off
	};
}

/* The bytes that follow some records in the file; the records' sizes leave them out. */
static uint64_t payload_size(const struct stream *s, const struct raw_record *r)
{
	struct order_reader o = order_reader_over(r->bytes, r->size, s->is_foreign);
	uint64_t size;

	reader_bytes(&o.r, HEADER_BYTES);
	if (r->type == USER_AUXTRACE)
		return order_u64(&o);
	if (r->type != USER_TRACING_DATA)
		return 0;
	size = order_u32(&o);
	return (size + 7) & ~(uint64_t)7;
}

/* Compression. */

/* Frees the oldest chunks, as far as all their records were delivered. */
static void free_chunks(struct stream *s)
{
	while (s->n_freed < s->chunks.n) {
		struct chunk *c = &s->chunks.data[s->n_freed];

		if (c->n_queued || c->at < c->len)
			break;
		s->chunk_bytes -= c->len;
		free(c->bytes);
		c->bytes = NULL;
		s->n_freed++;
	}
}

/* Begins a COMPRESSED record; its content is unpacked piece by piece as it is read. */
static bool begin_packed(struct stream *s, const struct raw_record *r)
{
	struct order_reader o = order_reader_over(r->bytes, r->size, s->is_foreign);
	uint64_t size = r->size - HEADER_BYTES;

	reader_bytes(&o.r, HEADER_BYTES);
	if (r->type == USER_COMPRESSED2)
		size = order_u64(&o);
	if (o.r.bad || size > reader_left(&o.r))
		return stream_fail(s, r->file_off,
				   "a compressed record claims %" PRIu64
				   " bytes, which do not fit into it",
				   size);
	if (!s->zstd)
		s->zstd = mem_or_spend(ZSTD_createDStream());
	if (!s->zstd)
		return stream_starve(s);
	s->packed = o.r.at;
	s->packed_size = size;
	s->unpacked = 0;
	s->unpacked_max = size * MAX_GROWTH + GROWTH_SLACK;
	s->packed_off = r->file_off;
	s->is_unpacking = s->has_packed = true;
	return true;
}

/* Unpacks the next piece into a new chunk, behind the rest of the chunk before. */
static bool stream_unpack(struct stream *s)
{
	struct chunk c = { .file_off = s->packed_off, .bytes = xmalloc(CHUNK_BYTES) };
	ZSTD_inBuffer in = { s->packed, s->packed_size, 0 };
	ZSTD_outBuffer out = { c.bytes, CHUNK_BYTES, s->n_straddling };
	size_t r;

	if (s->n_straddling)
		memcpy(c.bytes, s->straddling, s->n_straddling);
	s->n_straddling = 0;
	do {
		r = ZSTD_decompressStream(s->zstd, &out, &in);
	} while (!ZSTD_isError(r) && in.pos < in.size && out.pos < out.size);
	if (ZSTD_isError(r)) {
		free(c.bytes);
		s->packed_size = 0;
		if (zstd_lacks_memory(r))
			return stream_starve(s);
		return stream_fail(s, s->packed_off,
				   "the compressed data is damaged (zstd error %" PRIu64 ")",
				   (uint64_t)ZSTD_getErrorCode(r));
	}
	s->unpacked += out.pos;
	if (s->unpacked > s->unpacked_max) {
		free(c.bytes);
		return stream_fail(s, s->packed_off,
				   "a compressed record gives more than %" PRIu64
				   " times its size; it was made to exhaust its reader",
				   MAX_GROWTH);
	}
	s->packed += in.pos;
	s->packed_size -= in.pos;
	/* zstd may hold back bytes that found no room */
	s->is_unpacking = s->packed_size || out.pos == out.size;
	c.len = out.pos;
	if (c.len < CHUNK_BYTES / 2)
		c.bytes = xrealloc(c.bytes, c.len + 1, 1);
	s->chunk_bytes += c.len;
	vec_push(&s->chunks, c);
	return true;
}

/* Reading. */

/* The next record of the chunk; false if the chunk's rest is kept for the next chunk. */
static bool next_of_chunk(struct stream *s, struct chunk *c, struct raw_record *out)
{
	size_t left = c->len - c->at;

	if (left >= HEADER_BYTES) {
		*out = parse_header(s, c->bytes + c->at, c->file_off);
		if (out->size < HEADER_BYTES) {
			c->at = c->len;
			return stream_fail(
				s, c->file_off,
				"a record in the compressed data claims a size of %" PRIu64,
				out->size);
		}
		if (out->size <= left) {
			c->at += out->size;
			s->is_in_chunk = true;
			return true;
		}
	}
	if (!s->straddling)
		s->straddling = xmalloc(UINT16_MAX);
	memcpy(s->straddling, c->bytes + c->at, left);
	s->n_straddling = left;
	c->at = c->len;
	free_chunks(s);
	return false;
}

/*
 * `perf record -o - 2>&1` puts perf's last messages behind the records: "[ perf record: Woken up
 * …". That is no damage.
 */
static bool is_perfs_message(const struct stream *s)
{
	static const char message[] = "[ perf record: ";

	return s->end - s->at >= sizeof(message) &&
	       !memcmp(s->base + s->at, message, sizeof(message) - 1);
}

/* The next record of the file itself. */
static bool next_of_file(struct stream *s, struct raw_record *out)
{
	uint64_t left = s->end - s->at;

	if (!left && s->missing)
		return stream_fail(s, s->missing_from,
				   "%" PRIu64 " bytes that follow a record are missing",
				   s->missing);
	if (!left && !s->n_straddling) {
		s->is_done = true;
		return false;
	}
	if (!left)
		return stream_fail(s, s->at, "the compressed data ends within a record", 0);
	if (left < HEADER_BYTES)
		return stream_fail(s, s->at,
				   "the data ends within a record: %" PRIu64 " bytes are left",
				   left);
	*out = parse_header(s, s->base + s->at, s->at);
	if (out->type > UINT16_MAX && is_perfs_message(s)) {
		s->n_text = left;
		s->at = s->end;
		return next_of_file(s, out);
	}
	if (out->size < HEADER_BYTES)
		return stream_fail(s, s->at, "a record claims a size of %" PRIu64, out->size);
	if (out->size > left)
		return stream_fail(s, s->at, "the data ends within a record of %" PRIu64 " bytes",
				   out->size);
	if (out->type >= USER_RECORD_FIRST)
		out->payload = payload_size(s, out);
	/* a trace is usable up to its cut */
	if (out->payload > left - out->size && out->type == USER_AUXTRACE) {
		s->missing = out->payload - (left - out->size);
		s->missing_from = s->at;
		out->payload = (left - out->size) & ~(uint64_t)7;
		s->at = s->end;
		s->is_in_chunk = false;
		return true;
	}
	if (out->payload > left - out->size)
		return stream_fail(s, s->at,
				   "%" PRIu64 " bytes that follow a record go beyond the data",
				   out->payload);
	s->at += out->size + out->payload;
	s->is_in_chunk = false;
	return true;
}

/* A record of the kernel in a file without compression: nearly all of them. */
static bool next_plain(struct stream *s, struct raw_record *out)
{
	uint64_t left = s->end - s->at;

	if (s->has_packed || s->is_done || left < HEADER_BYTES)
		return false;
	*out = parse_header(s, s->base + s->at, s->at);
	if (out->type >= USER_RECORD_FIRST || out->size < HEADER_BYTES || out->size > left)
		return false;
	s->at += out->size;
	return true;
}

bool stream_next(struct stream *s, struct raw_record *out)
{
	if (next_plain(s, out))
		return true;
	while (!s->is_done) {
		struct chunk *c =
			s->chunks.n > s->n_freed ? &s->chunks.data[s->chunks.n - 1] : NULL;

		if (c && c->at < c->len) {
			if (next_of_chunk(s, c, out))
				return true;
		} else if (s->is_unpacking) {
			stream_unpack(s);
		} else if (!next_of_file(s, out)) {
			return false;
		} else if (s->is_scan ||
			   (out->type != USER_COMPRESSED && out->type != USER_COMPRESSED2)) {
			return true;
		} else {
			begin_packed(s, out);
		}
	}
	return false;
}

/* The order of time. */

void stream_queue(struct stream *s, struct queued record)
{
	if (s->is_in_chunk) {
		assert(s->n_freed < s->chunks.n);
		record.chunk = (uint32_t)s->chunks.n;
		s->chunks.data[s->chunks.n - 1].n_queued++;
	}
	vec_push(&s->queue, record);
}

/* Merges the sorted [a, b) and [b, c) of `from` into `to`; equal times stay in order. */
static void merge_runs(const struct queued *from, struct queued *to, size_t a, size_t b, size_t c)
{
	size_t left = a, right = b, i = a;

	while (left < b && right < c) {
		bool is_right = from[right].time_ns < from[left].time_ns;

		to[i++] = from[is_right ? right : left];
		right += is_right;
		left += !is_right;
	}
	memcpy(to + i, from + left, (b - left) * sizeof(*to));
	memcpy(to + i + (b - left), from + right, (c - right) * sizeof(*to));
}

/* The end of the run that begins at `at`: the first record earlier than the one before it. */
static size_t run_end(const struct queued *q, size_t at, size_t n)
{
	for (at++; at < n && q[at - 1].time_ns <= q[at].time_ns; at++)
		;
	return MIN(at, n);
}

/* One pass merges pairs of runs; returns the number of runs that are left. */
static size_t merge_pass(const struct queued *from, struct queued *to, size_t n)
{
	size_t n_runs = 0;

	for (size_t at = 0; at < n; n_runs++) {
		size_t b = run_end(from, at, n), c = b < n ? run_end(from, b, n) : n;

		merge_runs(from, to, at, b, c);
		at = c;
	}
	return n_runs;
}

/* Frees the room of delivered records. */
static void queue_compact(struct stream *s)
{
	memmove(s->queue.data, s->queue.data + s->head,
		(s->queue.n - s->head) * sizeof(*s->queue.data));
	s->queue.n -= s->head;
	s->head = s->ready = 0;
}

/*
 * Sorts what was not delivered. A natural merge sort: a round is the rings of all CPUs one after
 * the other. Each ring is in order, so there are few runs.
 */
static void sort_queue(struct stream *s)
{
	const struct queued *from = s->queue.data + s->head;
	size_t n = s->queue.n - s->head, n_runs;

	assert(s->head == s->ready);
	if (run_end(from, 0, n) == n || !vec_try_reserve(&s->spare, s->queue.cap)) {
		if (s->head)
			queue_compact(s);
		return;
	}
	do {
		struct queue sorted = s->spare;

		n_runs = merge_pass(from, sorted.data, n);
		sorted.n = n;
		s->spare = s->queue;
		s->queue = sorted;
		from = sorted.data;
	} while (n_runs > 1);
	s->head = s->ready = 0;
}

/* Sorts the queue, and makes all of it up to `until_ns` ready. */
static void queue_make_ready(struct stream *s, uint64_t until_ns)
{
	size_t low, high;

	sort_queue(s);
	low = s->ready;
	high = s->queue.n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->queue.data[mid].time_ns <= until_ns)
			low = mid + 1;
		else
			high = mid;
	}
	s->ready = low;
}

void stream_end_round(struct stream *s)
{
	queue_make_ready(s, s->round_ns);
	assert(s->round_ns <= s->latest_ns);
	s->round_ns = s->latest_ns;
}

void stream_end(struct stream *s)
{
	queue_make_ready(s, UINT64_MAX);
}

bool stream_is_full(const struct stream *s)
{
	return s->queue.n - s->head >= MAX_QUEUED || s->chunk_bytes >= MAX_CHUNK_BYTES;
}

void stream_relieve(struct stream *s)
{
	queue_make_ready(s, 0);
	s->ready = MAX(s->ready, s->queue.n / 2 + 1);
	s->ready = MIN(s->ready, s->queue.n);
}

void stream_drop(struct stream *s)
{
	uint32_t chunk;

	assert(s->head < s->ready && s->ready <= s->queue.n);
	chunk = s->queue.data[s->head++].chunk;
	assert(chunk <= s->chunks.n && (!chunk || s->chunks.data[chunk - 1].n_queued));
	if (chunk && !--s->chunks.data[chunk - 1].n_queued)
		free_chunks(s);
}
