/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reading side of the memory that the library in profiled programs writes to (heap/shared.h).
 *
 * Everything in it is hostile. Records are copied first, and checked then. Its size is sealed, so
 * that no program can take pages away from the reader.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "heap/shared.h"

struct error;
struct heap_ring;

/* More than a program can have. Sums of sizes do not overflow. */
#define HEAP_BYTES_MAX (UINT64_C(1) << 47)

enum heap_record_kind { HEAP_ALLOCATED, HEAP_RELEASED, HEAP_UNMAPPED, HEAP_STARTED };

struct heap_record {
	enum heap_record_kind kind;
	int32_t pid, tid;
	uint32_t cpu;
	uint64_t time_ns;
	uint64_t id; /* HEAP_UNMAPPED: the address */
	uint64_t bytes;
	uint64_t mapping; /* HEAP_ALLOCATED: the address of a mapping; 0: a block */
	uint64_t last_id; /* HEAP_UNMAPPED: a mapping with a higher id was made later, and stays */
	bool is_untracked;
	uint32_t stack_bytes;
	/* HEAP_ALLOCATED: registers, then stack; the owner of the record frees it. */
	uint64_t *copy;
};

struct heap_records {
	struct heap_record *data;
	size_t n, cap;
};
void heap_records_fini(struct heap_records *r);

/*
 * After some were appended behind the first `before`: sorts by (time, kind). A program can write
 * any time, so those outside of from_ns to now become the nearer end. Now is after the reading:
 * else two records that were written meanwhile would have one time, and their order would be lost.
 */
void heap_records_sort(struct heap_records *r, size_t before, uint64_t from_ns);

/* The stack behind the registers. */
static inline const uint8_t *heap_record_stack(const struct heap_record *r)
{
	return (const uint8_t *)(r->copy + HEAP_REGISTERS);
}

int heap_ring_open(uint64_t mean_bytes, struct heap_ring **out, struct error *err);
void heap_ring_free(struct heap_ring *r); /* NULL is fine */

/* "/proc/PID/fd/N", for the library. */
const char *heap_ring_path(const struct heap_ring *r);

/*
 * Appends what is complete. A record is after any other that it may refer to, by (time, kind).
 * Returns the number of records that were not valid.
 */
uint64_t heap_ring_collect(struct heap_ring *r, struct heap_records *out);

/* Since the last call: samples, and notes of ends, for which there was no room. */
struct heap_ring_losses {
	uint64_t samples, notes;
};
struct heap_ring_losses heap_ring_take_losses(struct heap_ring *r);

/* A record of copied bytes, with any time. False: it is not valid. For the ring and the fuzzer. */
bool heap_slot_read(const struct heap_slot *slot, struct heap_record *out);
bool heap_note_read(const struct heap_note *note, struct heap_record *out);
