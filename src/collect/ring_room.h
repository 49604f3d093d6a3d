/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large rings have to be for what their counters may write, and how long they can be left
 * alone. */
#pragma once

#include "collect/rings.h"

/* The size of a CPU's ring: a power of two, at least a page. */
size_t ring_room_bytes(const struct rings_config *config);

/* The same for an ordinary user who may lock so much for each ring. */
size_t ring_room_of_user(const struct rings_config *config, uint64_t lockable_bytes);

/*
 * How much of a stack is copied where nobody said: 16 KiB; half of it for an ordinary user whose
 * rings can't be large, as it leaves them twice the time.
 */
uint32_t ring_room_stack_bytes(const struct rings_config *config);

/* What wakes the reader: a ring filled so far. */
size_t ring_room_watermark(const struct rings_config *config, size_t ring_bytes);

/*
 * So long rings of this size have room whatever runs, in ms, by a good margin. 0: nobody
 * knows, as a counter has no rate.
 */
int ring_room_nap_ms(const struct rings_config *config, size_t ring_bytes);

/*
 * How to wait for the rings: by naps of nap_ms while much happens, else by polling them.
 *
 * A rate is not what a storm of short processes keeps to: in each, a counter with a frequency
 * begins with a period of 1 and takes some ten samples before the kernel has found its period. So
 * what is written is watched, and as long as a nap would fill more than half of a ring the rings
 * are polled: they wake their reader when they are a part full.
 */
struct ring_pace {
	int nap_ms; /* 0: never */
	size_t ring_bytes, busy_bytes;
	uint32_t n_ended;  /* processes, since the last look */
	uint64_t since_ns; /* begin of the time that is watched */
	bool is_busy, is_storm;
};

/*
 * At each reading: `waiting` bytes are in the fullest ring, and `written` were, at most, into one
 * since since_ns. True: a new time begins now.
 */
bool ring_pace_judge(struct ring_pace *pace, uint64_t now_ns, uint64_t waiting, uint64_t written);

bool ring_pace_naps(const struct ring_pace *pace);
