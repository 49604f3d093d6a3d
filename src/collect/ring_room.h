/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of rings for the data of their counters, and the time for which they need no reader. */
#pragma once

#include "collect/rings.h"

/* The size of a CPU's ring: a power of two, at least a page. */
size_t ring_room_bytes(const struct rings_config *config);

/* The same for an ordinary user with so much locked memory for each ring. */
size_t ring_room_of_user(const struct rings_config *config, uint64_t lockable_bytes);

/*
 * The default of copied stack bytes: 16 KiB; half of it for an ordinary user whose rings can't be
 * large, which doubles the time that they hold.
 */
uint32_t ring_room_stack_bytes(const struct rings_config *config);

/* A ring filled up to here wakes the reader. */
size_t ring_room_watermark(const struct rings_config *config, size_t ring_bytes);

/*
 * Rings of this size have room for this time in ms, under any load, by a good margin. 0: not known,
 * because a counter has no rate.
 */
int ring_room_nap_ms(const struct rings_config *config, size_t ring_bytes);

/*
 * How to wait for the rings: by naps of nap_ms while much happens, else by polling them.
 *
 * A storm of short processes exceeds the rate. In each process, a counter with a frequency begins
 * with a period of 1, and takes some ten samples before the kernel has found its period. So the
 * written bytes are watched. While a nap would fill more than half of a ring, the rings are polled:
 * they wake their reader when they are partly full.
 */
struct ring_pace {
	int nap_ms; /* 0: never */
	size_t ring_bytes, busy_bytes;
	uint32_t n_ended;  /* processes, since the last check */
	uint64_t since_ns; /* start of the watched time */
	bool is_busy, is_storm;
};

/*
 * At each reading: `waiting` bytes are in the fullest ring, and at most `written` bytes went into
 * one since since_ns. True: a new watched time begins now.
 */
bool ring_pace_judge(struct ring_pace *pace, uint64_t now_ns, uint64_t waiting, uint64_t written);

bool ring_pace_naps(const struct ring_pace *pace);
