/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of one file in the order of time: from the file itself, or from its COMPRESSED
 * records.
 *
 *   bytes ─► records ─┬────────────────► queue ─► in order
 *                     └─► zstd ─► chunks ──┘
 *
 * perf writes the content of its rings in rounds. After a FINISHED_ROUND, no record is older than
 * the latest record of the round before. So all records up to that time can be delivered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/* A record with its header in our byte order; the rest as in the file. */
struct raw_record {
	const uint8_t *bytes; /* with the header, of `size` bytes */
	uint32_t type;
	uint16_t misc, size;
	uint64_t file_off; /* of the record, or of its COMPRESSED record */
	uint64_t payload;  /* bytes that follow it in the file: AUXTRACE, TRACING_DATA */
};

struct queued {
	uint64_t time_ns;
	const uint8_t *bytes;
	uint32_t chunk; /* 1 + index of the chunk that holds it; 0: the file */
	/* for the caller's use */
	uint32_t format : 31;
	bool is_known : 1;
};

/* Decompressed records; freed when none of them is queued any more. */
struct chunk {
	uint8_t *bytes;
	size_t len, at; /* at: the next record to read */
	uint64_t file_off;
	uint32_t n_queued;
};

struct stream {
	const uint8_t *base;
	const char *name; /* of the file, for messages; NULL: no messages */
	uint64_t at, end; /* offsets of the file */
	bool is_foreign, is_done;
	bool is_scan; /* COMPRESSED records are stepped over */

	void *zstd;            /* ZSTD_DStream, or NULL */
	const uint8_t *packed; /* the rest of a COMPRESSED record */
	size_t packed_size;
	uint64_t packed_off;             /* of that record */
	uint64_t unpacked, unpacked_max; /* bytes of that record; its limit */
	bool has_packed;                 /* there was a COMPRESSED record */
	bool is_unpacking;
	bool is_in_chunk;    /* the last record came from a chunk */
	uint8_t *straddling; /* the beginning of a record whose rest is in the next chunk */
	uint64_t missing, missing_from; /* bytes of the last record's trace, which was cut */
	size_t n_straddling;
	struct {
		struct chunk *data;
		size_t n, cap;
	} chunks;
	size_t n_freed; /* chunks before this one are gone */
	uint64_t chunk_bytes;

	struct queue {
		struct queued *data;
		size_t n, cap;
	} queue, spare;               /* spare: room for sorting */
	size_t head, ready;           /* queue.data[head, ready) can be delivered */
	uint64_t latest_ns, round_ns; /* of all, and of all before the last round's end */

	uint64_t n_text;    /* bytes of perf's own messages in the same pipe */
	struct error error; /* the stream ended with it; code 0: at its end */
};

void stream_init(struct stream *s, const uint8_t *base, uint64_t at, uint64_t end, bool is_foreign);
void stream_fini(struct stream *s);

/* The next record as in the file. False at the end, or with s->error set. */
bool stream_next(struct stream *s, struct raw_record *out);

/*
 * Queues the last record of stream_next(), and takes over its memory. The caller keeps s->latest_ns
 * up to date for all records with a time, queued or not. `record` has no chunk.
 */
void stream_queue(struct stream *s, struct queued record);

/* A FINISHED_ROUND; or the end, after which all is ready. */
void stream_end_round(struct stream *s);
void stream_end(struct stream *s);

/* The queue has its largest size: its older half is delivered, in order or not. */
bool stream_is_full(const struct stream *s);
void stream_relieve(struct stream *s);

/* The next ready record in order, or NULL. stream_drop() releases it. */
static inline const struct queued *stream_ready(const struct stream *s)
{
	return s->head < s->ready ? &s->queue.data[s->head] : NULL;
}

void stream_drop(struct stream *s);
