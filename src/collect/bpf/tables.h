/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables in maps (shared.h has their form), and the walk's step as in user space. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "collect/bpf/bounded.h"
#include "collect/bpf/shared.h"
#include "collect/bpf/user_regs.h"
#include "unwind/stop.h"

struct one_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct chunk));
};

/* Sizes of 1 are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct one_chunk);
} chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} table_places SEC(".maps");

static __always_inline const struct chunk *chunk_of(__u32 at)
{
	__u32 number = at >> CHUNK_BITS, zero = 0;
	void *map = bpf_map_lookup_elem(&chunks, &number);

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

/* Two words; the first has an even number. */
static __always_inline __u64 heap_pair(__u32 at)
{
	const struct chunk *chunk = chunk_of(at);

	return chunk ? chunk->pairs[bounded(at, CHUNK_WORDS - 1) / 2] : 0;
}

/* The context of the step's four functions. */
struct unwind_ctx {
	const __u64 *registers; /* words of bpf_user_pt_regs_t */
	const struct chunk *rows;
	__u32 row_at;
};

static __always_inline enum unwind_stop unwind_read_stack(struct unwind_ctx *c, uint64_t addr,
							  uint64_t *value)
{
	(void)c;
	return bpf_probe_read_user(value, sizeof(*value), (const void *)addr) ? UNWIND_UNREADABLE
									      : UNWIND_GOES_ON;
}

static __always_inline bool unwind_sampled_register(struct unwind_ctx *c, uint32_t number,
						    uint64_t *value)
{
	if (number >= N_USER_REGS)
		return false;
	*value = c->registers[bounded(word_of_register[bounded(number, REGISTER_SLOTS - 1)],
				      REGISTER_SLOTS - 1)];
	return true;
}

static __always_inline bool unwind_thread_word(struct unwind_ctx *c, int64_t offset,
					       uint64_t *value)
{
	__u64 thread = thread_pointer();

	(void)c;
	return thread &&
	       !bpf_probe_read_user(value, sizeof(*value), (const void *)(thread + offset));
}

static __always_inline __u32 unwind_row_at(struct unwind_ctx *c, __u32 i)
{
	return c->rows->words[bounded(c->row_at + i, CHUNK_WORDS - 1)];
}

#include "unwind/step.h"
#include "unwind/vdso_i386.h"

/* All zero if there is none. */
static __always_inline struct unwind_rule heap_rule(__u32 table, __u64 file_off)
{
	union {
		__u64 bits;
		struct unwind_rule rule;
	} found = { 0 };
	__u64 pages = heap_pair(table), rules = heap_pair(table + 2), rows;
	__u64 page = (file_off >> UNWIND_PAGE_BITS) - (__u32)pages;
	struct unwind_ctx c = { 0 };
	__u32 rule;

	if (page >= pages >> 32)
		return found.rule;
	rows = heap_pair(table + 4 + (__u32)page * 2);
	c.row_at = (__u32)rows;
	c.rows = chunk_of(c.row_at);
	if (!c.rows)
		return found.rule;
	rule = unwind_search(&c, 0, rows >> 32, file_off & (UNWIND_PAGE_SIZE - 1));
	if (rule < rules >> 32)
		found.bits = heap_pair((__u32)rules + rule * 2);
	return found.rule;
}
