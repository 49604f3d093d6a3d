/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that a profiled program wrote for `record --alloc`, and the list of held blocks. */
#include <stdlib.h>
#include <string.h>

#include "heap/heap_ring.h"
#include "heap/held.h"
#include "pipeline/heap_events.h"

#define NOW_NS UINT64_C(1000000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_slot(const uint8_t *data, size_t size)
{
	struct heap_slot *slot = calloc(1, sizeof(*slot));
	struct heap_record r;
	struct heap_estimate e;

	memcpy(slot, data, MIN(size, sizeof(*slot)));
	if (heap_slot_read(slot, NOW_NS, &r)) {
		e = heap_estimate(r.bytes, 512 << 10);
		if (r.stack_bytes > HEAP_STACK_BYTES || r.time_ns > NOW_NS || r.pid <= 0 ||
		    !(e.blocks >= 1) || !(e.bytes < 0x1p62))
			abort();
		free(r.copy);
	}
	free(slot);
}

static void read_note(const uint8_t *data, size_t size)
{
	struct heap_note note = { 0 };
	struct heap_record r;

	memcpy(&note, data, MIN(size, sizeof(note)));
	if (heap_note_read(&note, NOW_NS, &r) &&
	    (r.kind == HEAP_ALLOCATED || r.time_ns > NOW_NS || r.pid <= 0))
		abort();
}

static void count_block(void *context, const struct held_block *block,
			const struct code_addr *frames, uint32_t n_frames)
{
	for (uint32_t i = 0; i < n_frames; i++)
		if (frames[i].offset != block->bytes % 7 || frames[i].image.n != i)
			abort();
	++*(size_t *)context;
}

/* A byte is an operation on one of 64 blocks. The stack follows from the block. */
static void keep_blocks(const uint8_t *data, size_t size)
{
	struct held *h = held_new();
	bool is_held[64] = { 0 };
	size_t n = 0, n_seen = 0;

	for (size_t i = 0; i < size; i++) {
		uint32_t id = data[i] & 63;
		struct held_block block = { .id = id, .bytes = id };
		struct code_addr frames[4];

		for (uint32_t f = 0; f < 4; f++)
			frames[f] = (struct code_addr){ { f }, id % 7 };
		if (data[i] & 64 ? held_remove(h, id) != is_held[id]
				 : held_add(h, &block, frames, id % 5) == is_held[id])
			abort();
		is_held[id] = !(data[i] & 64);
	}
	for (uint32_t id = 0; id < 64; id++)
		n += is_held[id];
	held_each(h, count_block, &n_seen);
	if (n != n_seen)
		abort();
	held_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data == 's')
		read_slot(data + 1, size - 1);
	else if (*data == 'n')
		read_note(data + 1, size - 1);
	else
		keep_blocks(data + 1, size - 1);
	return 0;
}
