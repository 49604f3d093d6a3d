/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AUX areas: the buffers that a hardware trace is written into, one beside each ring
 * (perf_event_open(2), "MMAP layout", aux_*; kernel/events/ring_buffer.c).
 *
 *   full trace   The mapping is writable: the kernel writes up to aux_tail and then switches the
 *                event off (a PERF_RECORD_AUX with TRUNCATED says so); aux_drain() gives out what
 *                is new, moves aux_tail and switches the event on again.
 *   snapshots    The mapping is for reading alone: the kernel writes over what is old, and
 *                aux_snapshot() stops the event, gives out the newest bytes and goes on.
 *   samples      Likewise, but the kernel itself takes pieces of it, into other events' samples.
 *
 * Used by the thread that owns the rings, or, area by area, by those of aux_readers.h. Nothing is
 * allocated once the areas are open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/rings.h"

struct aux;
struct error;

enum aux_mode { AUX_FULL, AUX_SNAPSHOTS, AUX_SAMPLES };

struct aux_config {
	struct rings *rings; /* stays the caller's, and open for longer */
	uint32_t counter;    /* whose areas they are */
	enum aux_mode mode;
	size_t area_bytes;     /* of each: a power of two, pages */
	size_t snapshot_bytes; /* of each area, that a snapshot gives out at most */
};

/* What one area has to give. Holds until the return. */
struct aux_piece {
	uint32_t index;  /* of the area */
	uint32_t cpu;    /* UINT32_MAX: any */
	int32_t tid;     /* -1: any */
	uint64_t offset; /* since the beginning; of a snapshot, in the area */
	uint64_t size;
	const uint8_t *part[2]; /* where it wraps around, in two */
	size_t part_size[2];
};

struct aux_sink {
	int (*take)(void *context, const struct aux_piece *piece); /* 0 or a negative errno */
	void *context;
};

/* -EPERM: what the user may lock is used up; the message has the limit and what to raise. */
int aux_open(const struct aux_config *config, struct aux **out, struct error *err);
void aux_close(struct aux *a); /* NULL is fine */

/* Areas of rings that were mapped since then, as their CPU came online; the others stay. */
int aux_open_new(struct aux *a, struct error *err);
DEFINE_AT_EXIT(aux_close, struct aux)

/* Full trace: gives out all that is new. 0, or what the sink refused with. */
int aux_drain(struct aux *a, const struct aux_sink *sink);

/* One area: several threads may, each its own. *n: bytes that were new. */
int aux_drain_area(struct aux *a, size_t area, const struct aux_sink *sink, uint64_t *n);

/*
 * Snapshots: the newest bytes of all areas; the trace is off while they are given out. The side
 * band goes on. *n: areas that had any. 0, or what the sink refused with.
 */
int aux_snapshot(struct aux *a, const struct aux_sink *sink, size_t *n);

enum aux_mode aux_mode(const struct aux *a);
struct rings *aux_rings(const struct aux *a);
bool aux_is_open(const struct aux *a, size_t area); /* areas are those of the rings */
uint64_t aux_bytes(const struct aux *a);            /* given out so far, while nobody reads */

/* How large rings and areas are, by the rules of perf-intel-pt(1). All 0: nobody said. */
struct aux_sizes {
	uint64_t ring_bytes; /* of the data of a ring */
	uint64_t area_bytes;
	uint64_t snapshot_bytes; /* AUX_SNAPSHOTS */
};

/*
 * Fills in what was not said: for the privileged (root, or kernel.perf_event_paranoid below 0)
 * 512 KiB and 4 MiB, else 256 KiB and 128 KiB. `sample_bytes`: the largest sample of AUX_SAMPLES.
 * -EINVAL: no power of two, too small, or a snapshot larger than the area.
 */
int aux_choose_sizes(enum aux_mode mode, bool is_privileged, uint64_t sample_bytes,
		     struct aux_sizes *sizes, struct error *err);
bool aux_is_privileged(const struct counter_sources *sources);
