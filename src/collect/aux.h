/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AUX areas: the buffers that a hardware trace is written into, one beside each ring
 * (perf_event_open(2), "MMAP layout", aux_*; kernel/events/ring_buffer.c).
 *
 *   full trace   The mapping is writable: the kernel writes up to aux_tail and then switches the
 *                event off (with a PERF_RECORD_AUX with TRUNCATED); aux_drain() delivers the new
 *                bytes, moves aux_tail and switches the event on again.
 *   snapshots    The mapping is read-only: the kernel overwrites the oldest bytes, and
 *                aux_snapshot() stops the event, delivers the newest bytes and starts it again.
 *   samples      Likewise, but the kernel itself copies pieces into other events' samples.
 *
 * For the thread that owns the rings or, area by area, the threads of aux_readers.h. Nothing is
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
	uint32_t counter;    /* the areas' counter */
	enum aux_mode mode;
	size_t area_bytes;     /* of each: a power of two, pages */
	size_t snapshot_bytes; /* of each area: the limit of a snapshot */
};

/* New bytes of one area. Valid until the return. */
struct aux_piece {
	uint32_t index;  /* of the area */
	uint32_t cpu;    /* UINT32_MAX: any */
	int32_t tid;     /* -1: any */
	uint64_t offset; /* since the beginning; of a snapshot, in the area */
	uint64_t size;
	const uint8_t *part[2]; /* in two parts where the area wraps around */
	size_t part_size[2];
};

struct aux_sink {
	int (*take)(void *context, const struct aux_piece *piece); /* 0 or a negative errno */
	void *context;
};

/* -EPERM: the user has no locked memory left; the message has the limit and its remedy. */
int aux_open(const struct aux_config *config, struct aux **out, struct error *err);
void aux_close(struct aux *a); /* NULL is fine */

/*
 * Opens areas of rings that were mapped since then, because their CPU came online; the others stay.
 */
int aux_open_new(struct aux *a, struct error *err);
DEFINE_AT_EXIT(aux_close, struct aux)

/* Full trace: delivers all new bytes. 0, or the sink's error. */
int aux_drain(struct aux *a, const struct aux_sink *sink);

/* One area; several threads may call this, each for its own areas. *n: new bytes. */
int aux_drain_area(struct aux *a, size_t area, const struct aux_sink *sink, uint64_t *n);

/*
 * Snapshots: delivers the newest bytes of all areas, with the trace off meanwhile. The side band
 * goes on. *n: areas with any bytes. 0, or the sink's error.
 */
int aux_snapshot(struct aux *a, const struct aux_sink *sink, size_t *n);

enum aux_mode aux_mode(const struct aux *a);
struct rings *aux_rings(const struct aux *a);
bool aux_is_open(const struct aux *a, size_t area); /* areas have the numbers of the rings */
uint64_t aux_bytes(const struct aux *a); /* delivered so far; for times without a reader */

/* The sizes of rings and areas, by the rules of perf-intel-pt(1). 0: the default. */
struct aux_sizes {
	uint64_t ring_bytes; /* of a ring's data */
	uint64_t area_bytes;
	uint64_t snapshot_bytes; /* AUX_SNAPSHOTS */
};

/*
 * Fills in the zeros: with privilege (root, or kernel.perf_event_paranoid below 0) 512 KiB and 4
 * MiB, else 256 KiB and 128 KiB. `sample_bytes`: the largest sample of AUX_SAMPLES. -EINVAL: no
 * power of two, too small, or a snapshot larger than the area.
 */
int aux_choose_sizes(enum aux_mode mode, bool is_privileged, uint64_t sample_bytes,
		     struct aux_sizes *sizes, struct error *err);
bool aux_is_privileged(const struct counter_sources *sources);
