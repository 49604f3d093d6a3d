/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that a profiled program wrote for `record --alloc`, the list of held blocks, and that of
 * mappings.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/heap_ring.h"
#include "heap/held.h"
#include "heap/mapped.h"
#include "pipeline/heap_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_slot(const uint8_t *data, size_t size)
{
	struct heap_slot *slot = calloc(1, sizeof(*slot));
	struct heap_record r;
	struct heap_estimate e;

	memcpy(slot, data, MIN(size, sizeof(*slot)));
	if (heap_slot_read(slot, &r)) {
		e = heap_estimate(r.bytes, 512 << 10);
		if (r.stack_bytes > HEAP_STACK_BYTES || r.pid <= 0 || !(e.blocks >= 1) ||
		    !(e.bytes < 0x1p62))
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
	if (heap_note_read(&note, &r) && (r.kind == HEAP_ALLOCATED || r.pid <= 0))
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

/* Mappings as single pages: a page has the id of its mapping, or 0. */
#define PAGES      64
#define PAGE_BYTES UINT64_C(4096)

struct pages {
	uint64_t id[2][PAGES]; /* of two processes */
	uint64_t base, left[256], gone[256];
};

static void page_ended(void *context, uint64_t id, uint64_t bytes)
{
	struct pages *p = context;

	if (!id || id > 255 || bytes % PAGE_BYTES)
		abort();
	p->gone[id] += bytes;
}

/* So many pages of a process change from their mappings up to an id to another one. */
static void set_pages(struct pages *p, uint32_t process, uint32_t from, uint32_t n,
		      uint64_t last_id, uint64_t id)
{
	for (uint32_t i = from; i < from + n && i < PAGES; i++) {
		if (p->id[process][i] > last_id)
			continue;
		p->left[p->id[process][i]] -= PAGE_BYTES;
		p->id[process][i] = id;
		p->left[id] += PAGE_BYTES;
	}
}

static void check_pages(const struct pages *p, const uint64_t *all)
{
	for (uint32_t id = 1; id < 256; id++)
		if (p->left[id] + p->gone[id] != all[id])
			abort();
}

/* Four bytes are an operation: a mapping, the end of a range, or of a process. */
static void keep_mappings(const uint8_t *data, size_t size)
{
	static const uint64_t bases[] = { 0, UINT64_C(0x7f0000000000), UINT64_MAX - 65 * 4096 + 1 };
	struct pages p = { .base = bases[size % 3] };
	uint64_t all[256] = { 0 }, next_id = 0;
	struct mapped m = { 0 };

	for (size_t i = 0; i + 4 <= size && next_id < 255; i += 4) {
		uint32_t process = data[i] & 1, from = data[i + 1] % PAGES;
		uint32_t n = MIN(1u + data[i + 2] % PAGES, PAGES - from);
		uint64_t start = p.base + from * PAGE_BYTES, bytes = n * PAGE_BYTES - data[i + 3];
		uint64_t last_id = data[i] & 8 ? next_id / 2 : next_id; /* half: it is late */

		if (data[i] & 2) { /* what was there is gone, as by MAP_FIXED */
			mapped_remove(&m, (int32_t)process, start, bytes, last_id, page_ended, &p);
			set_pages(&p, process, from, n, last_id, 0);
		}
		if (data[i] & 4 && data[i] & 2 && last_id == next_id) {
			all[++next_id] = n * PAGE_BYTES;
			if (!mapped_add(&m, (int32_t)process, start, bytes, next_id))
				abort();
			set_pages(&p, process, from, n, next_id, next_id);
		}
		check_pages(&p, all);
	}
	mapped_remove(&m, 0, 0, UINT64_MAX, UINT64_MAX, page_ended, &p);
	set_pages(&p, 0, 0, PAGES, UINT64_MAX, 0);
	mapped_forget(&m, 1);
	for (uint32_t i = 0; i < PAGES; i++)
		p.gone[p.id[1][i]] += PAGE_BYTES;
	set_pages(&p, 1, 0, PAGES, UINT64_MAX, 0);
	check_pages(&p, all);
	if (m.n)
		abort();
	mapped_fini(&m);
}

static void any_end(void *context, uint64_t id, uint64_t bytes)
{
	if (context || id != 1 || !bytes)
		abort();
}

/* Any addresses and sizes at all. */
static void keep_wild_mappings(const uint8_t *data, size_t size)
{
	struct mapped m = { 0 };
	uint64_t words[2];

	for (size_t i = 0; i + 1 + sizeof(words) <= size; i += 1 + sizeof(words)) {
		memcpy(words, data + i + 1, sizeof(words));
		if (data[i] & 1)
			mapped_remove(&m, data[i] & 2, words[0] & -PAGE_BYTES, words[1],
				      data[i] & 4 ? 0 : 1, any_end, NULL);
		else
			mapped_add(&m, data[i] & 2, words[0] & -PAGE_BYTES, words[1], 1);
	}
	if (m.n > MAPPED_MAX)
		abort();
	mapped_fini(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data == 's')
		read_slot(data + 1, size - 1);
	else if (*data == 'n')
		read_note(data + 1, size - 1);
	else if (*data == 'm')
		keep_mappings(data + 1, size - 1);
	else if (*data == 'w')
		keep_wild_mappings(data + 1, size - 1);
	else
		keep_blocks(data + 1, size - 1);
	return 0;
}
