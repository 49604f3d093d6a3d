/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping of an address in a process, from the kernel's own tree, which is never late and needs
 * no copy.
 *
 * bpf_find_vma() does the same under the mapping lock. But in an interrupt it can only unlock after
 * the program has ended, so it answers once a sample (kernel/bpf/mmap_unlock_work.h). A call chain
 * needs three to ten answers. This code locks nothing. Every read is checked
 * (bpf_probe_read_kernel), and RCU keeps the nodes. A writer's change can make a search fail, or
 * find a mapping without the address; the caller checks this.
 */
#pragma once

#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect/bpf/kernel_types.h"

#define MAPLE_PIVOTS     15 /* of the largest node */
#define MAPLE_LEVELS_MAX 8  /* 10^7 mappings and more */
#define RB_LEVELS_MAX    40

static __always_inline __u64 read_kernel(__u64 addr)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (const void *)addr);
	return value;
}

/* The first pivot at or above the address; the last child has none. Unused pivots are 0. */
static __always_inline __u32 maple_child(const __u64 *pivots, __u32 n, __u64 addr)
{
	__u32 child = n;

	for (int i = MAPLE_PIVOTS - 1; i >= 0; i--)
		child = (__u32)i < n && pivots[i] >= addr ? (__u32)i : child;
	return child;
}

/* A pointer to a node has its type in bits 3 to 6, and is 256-byte aligned. */
static __always_inline __u64 maple_find(struct mm_struct *mm, __u64 addr, __u64 *pivots)
{
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if ((entry & 3) != 2) /* not a node, but the only mapping */
		return entry;
	for (int level = 0; level < MAPLE_LEVELS_MAX; level++) {
		__u64 node = entry & ~0xffULL, slots;
		__u32 type = entry >> 3 & 15, n;

		if (type == bpf_core_enum_value(enum maple_type, maple_arange_64)) {
			n = bpf_core_field_size(struct maple_arange_64, pivot) / 8;
			slots = node + bpf_core_field_offset(struct maple_arange_64, slot);
			node += bpf_core_field_offset(struct maple_arange_64, pivot);
		} else {
			n = bpf_core_field_size(struct maple_range_64, pivot) / 8;
			slots = node + bpf_core_field_offset(struct maple_range_64, slot);
			node += bpf_core_field_offset(struct maple_range_64, pivot);
		}
		/* all nodes have one size, so a read of more is safe; n limits the search */
		if (bpf_probe_read_kernel(pivots, MAPLE_PIVOTS * 8, (const void *)node))
			return 0;
		entry = read_kernel(slots + 8ULL * maple_child(pivots, n, addr));
		if (type < bpf_core_enum_value(enum maple_type, maple_range_64))
			return entry;
	}
	return 0;
}

static __always_inline __u64 rb_find(struct mm_struct___rb *mm, __u64 addr)
{
	__u64 node = (__u64)BPF_CORE_READ(mm, mm_rb.rb_node), found = 0;

	for (int level = 0; level < RB_LEVELS_MAX && node; level++) {
		__u64 vma = node - bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);

		if (BPF_CORE_READ((struct vm_area_struct *)vma, vm_end) > addr) {
			found = vma;
			node = (__u64)BPF_CORE_READ((struct rb_node *)node, rb_left);
		} else {
			node = (__u64)BPF_CORE_READ((struct rb_node *)node, rb_right);
		}
	}
	return found;
}

/* A candidate for the mapping of an address; its limits show whether it is. `room`: 15 words. */
static __always_inline struct vm_area_struct *find_vma(struct mm_struct *mm, __u64 addr,
						       __u64 *room)
{
	if (bpf_core_field_exists(struct mm_struct, mm_mt))
		return (struct vm_area_struct *)maple_find(mm, addr, room);
	return (struct vm_area_struct *)rb_find((struct mm_struct___rb *)mm, addr);
}
