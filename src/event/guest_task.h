/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and threads of a guest, beside those of this machine.
 *
 * A guest's side band (perf inject --guest-data) numbers its processes and threads from 1 on, as
 * this machine does. Tables of processes have them under a negative number of their own, which is
 * made of the guest's process here and of the number in the guest. Samples have the number in the
 * guest, and the guest beside it (sample_extra.machine_pid).
 *
 * Two numbers of one guest never meet. Those of two guests may: then both tasks are one. Of two
 * guests with 1,000 tasks each, that happens once in some 1,000 pairs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A file of a guest is none of this machine, even if its path is the same. So mappings and images
 * of it have, in the place of the inode's generation (32 bits in the kernel), this bit and the
 * guest's process here.
 */
#define GUEST_FILE (1ULL << 63)

static inline uint64_t guest_file(uint32_t machine_pid)
{
	return GUEST_FILE | machine_pid;
}

/* 0: the file is of this machine. */
static inline uint32_t guest_of_file(uint64_t generation)
{
	return generation & GUEST_FILE ? (uint32_t)generation : 0;
}

#define GUEST_TASK_MASK  0x3fffffffU
#define GUEST_TASK_FIRST (-16) /* numbers above it have other meanings (event.h) */

static inline uint32_t guest_task_salt(uint32_t machine_pid)
{
	return (uint32_t)((machine_pid * 0x9e3779b97f4a7c15ULL) >> 32) & GUEST_TASK_MASK;
}

/* The number of a guest's process or thread; -1 stays -1. */
static inline int32_t guest_task(uint32_t machine_pid, int32_t id)
{
	uint32_t mixed = (guest_task_salt(machine_pid) ^ (uint32_t)id) & GUEST_TASK_MASK;

	return id < 0 ? id : GUEST_TASK_FIRST - (int32_t)mixed;
}

static inline bool is_guest_task(int32_t number)
{
	return number <= GUEST_TASK_FIRST;
}

/* The number in the guest. */
static inline int32_t guest_task_id(uint32_t machine_pid, int32_t number)
{
	uint32_t mixed = (uint32_t)(GUEST_TASK_FIRST - number);

	return is_guest_task(number) ? (int32_t)(mixed ^ guest_task_salt(machine_pid)) : number;
}
