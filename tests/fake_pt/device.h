/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake processor: its recording, and the rings and AUX areas that it plays into. */
#pragma once

#include <pthread.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "shared.h"

struct piece {
	size_t at, size; /* in its stream's bytes */
	uint64_t tsc;
};

/* One thread's trace. */
struct stream {
	int32_t pid, tid;
	const uint8_t *bytes;
	VEC(struct piece) pieces;
};

struct side_record {
	const uint8_t *bytes; /* without its trailer */
	size_t size;
	uint64_t time;
	int32_t pid, tid;
};

/* What plays into a ring: a processor. */
struct player {
	struct device *d;
	int32_t ring; /* the event that owns it */
	struct stream *stream;
	size_t next; /* piece of it */
	pthread_t thread;
	int64_t credit; /* bytes that it may play */
	uint64_t asked_ns;
	uint64_t produced, stored, dropped, n_pieces;
};

struct device {
	struct fake_shared *s;
	uint8_t *areas;
	int alive;
	uint64_t rate, seconds, steps, fire, sample_each;
	struct file_mapping file;
	struct perfdata *data;
	VEC(struct stream) streams;
	VEC(struct side_record) side;
	size_t n_side;
	uint64_t end;               /* of the recording's time */
	VEC(struct player) players; /* of the rings that have an area */
	uint64_t start_ns, played_ns;
};

/* Reads the recording (device_recording.c). */
void load(struct device *d);

/* ---- the kernel (device_rings.c) ---- */

void wake(struct device *d, int32_t ring);
int32_t as_asked(const struct device *d, int32_t ring, int32_t id);
void enter(const struct device *d, int32_t ring);
void leave(const struct device *d, int32_t ring);
struct player *player_of(struct device *d, size_t stream);
void put_sides(struct device *d, uint64_t until);
void put_switch(struct device *d, int32_t ring, const struct stream *s, bool is_out, uint64_t time);
bool is_traced(const struct device *d, int32_t ring);
uint64_t room_of(const struct device *d, int32_t ring);
bool put_trace(struct player *p, const struct piece *piece);
void put_sample(struct device *d, int32_t event, const struct stream *s, uint64_t time);
bool put_samples(struct player *p, uint64_t time);
