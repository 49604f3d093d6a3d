/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the in-kernel sampler and its reader have in common.
 *
 * The sampler runs at every overflow. It makes (file, offset) of each frame by
 * the process's own mappings, hashes the stack, and counts (stack, thread, CPU)
 * in a map. A stack that was not seen before is sent whole through a ring buffer, and a
 * file that was not seen before as well; all else that crosses is counts.
 *
 * A frame is one 64-bit number:
 *
 *   1xxx…                  a kernel address, as it is
 *   0 | file:16 | off:47   file 0: no file behind it, the offset is the address;
 *                          FILE_TOO_MANY: the address, in a file that found no number
 */
#pragma once

#include <linux/types.h>

#define FRAME_OFF_BITS    47
#define FRAME_OFF_MASK    ((1ULL << FRAME_OFF_BITS) - 1)
#define FRAME_KERNEL      (1ULL << 63)
#define FILE_NONE         0
#define FILE_TOO_MANY     0xffff
#define MAX_KERNEL_FRAMES 128
#define MAX_USER_FRAMES   512
#define FRAME_SLOTS       1024 /* a power of two above both, for the verifier */

/* A file as the kernel knows it; MMAP2 records of the side band tell its path. */
struct file_key {
	__u64 ino;
	__u32 dev; /* major << 20 | minor */
	__u32 pad;
};

struct file_entry {
	__u32 number; /* from 1 */
};

/* What is counted apart. */
struct count_key {
	__u64 stack; /* hash of its frames */
	__u32 pid, tid;
	__u32 cpu;
	__u16 app; /* file number of the process's executable */
	__u16 counter;
	char comm[16];
};

struct count_value {
	__u64 samples, period;
};

enum message_type { MESSAGE_FILE = 1, MESSAGE_STACK };

struct file_message {
	__u32 type, number;
	struct file_key key;
};

struct stack_message {
	__u32 type;
	__u16 n_kernel, n_user; /* kernel frames come first, each part innermost first */
	__u64 hash;
	__u32 pid;
	__u32 stop;                /* why the user's part ends */
	__u64 frames[FRAME_SLOTS]; /* n_kernel + n_user of them are sent */
};

/* Why a number is missing; one per-CPU counter each. */
enum sampler_loss {
	SAMPLER_COUNTS_FULL,   /* samples for which the map of counts had no room */
	SAMPLER_STACK_DROPPED, /* stacks that the ring had no room for: their samples are not
				  counted */
	SAMPLER_FILES_FULL,
	SAMPLER_NO_VMA, /* frames for which the mappings could not be searched */
	N_SAMPLER_LOSSES
};
