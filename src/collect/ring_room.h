/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large rings have to be for what their counters may write, and how long they can be left
 * alone. */
#pragma once

#include "collect/rings.h"

/* The size of a CPU's ring: a power of two, at least a page. */
size_t ring_room_bytes(const struct rings_config *config);

/* What wakes the reader: a ring filled so far. */
size_t ring_room_watermark(const struct rings_config *config, size_t ring_bytes);

/*
 * So long rings of this size have room whatever runs, in ms, by a good margin. 0: nobody
 * knows, as a counter has no rate.
 */
int ring_room_nap_ms(const struct rings_config *config, size_t ring_bytes);
