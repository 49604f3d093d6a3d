/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One way to capture a stack in the kernel, for every program that wants one:
 *
 *	struct work *w = capture_stack(ctx, SLOT, interrupted);
 *
 *	if (w && tell_stack(&w->s))
 *		… count w->s.hash …
 *
 * The stack is that of the current task: its kernel part, then its user part, each
 * frame as (file, offset) (shared.h). A program that may interrupt another one
 * of the same object has a slot of its own. The including file defines, before it
 * includes this one, CAPTURE_SLOTS: how many there are.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "collect/bpf/kernel_types.h"
#include "collect/bpf/shared.h"

/* Set before loading. */
const volatile bool with_stacks = true;

/* Set by the reader while we run: another generation makes all stacks new again. */
__u32 generation;

/* Sizes of 1 are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1);
} messages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_SAMPLER_LOSSES);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

__u32 next_file = 1;

static __always_inline void lose(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &reason);

	if (n)
		*n += 1;
}

/* Files. */

static __always_inline __u32 file_number(const struct file_key *key)
{
	struct file_entry *known = bpf_map_lookup_elem(&files, key), entry;
	struct file_message *m;

	if (known)
		return known->number;
	entry.number = __sync_fetch_and_add(&next_file, 1);
	if (entry.number >= FILE_TOO_MANY) {
		next_file = FILE_TOO_MANY;
		lose(SAMPLER_FILES_FULL);
		return FILE_TOO_MANY;
	}
	if (bpf_map_update_elem(&files, key, &entry, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&files, key); /* another CPU was first */
		return known ? known->number : FILE_TOO_MANY;
	}
	m = bpf_ringbuf_reserve(&messages, sizeof(*m), 0);
	if (!m) {
		bpf_map_delete_elem(&files, key);
		lose(SAMPLER_FILES_FULL);
		return FILE_TOO_MANY;
	}
	m->type = MESSAGE_FILE;
	m->number = entry.number;
	m->key = *key;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return entry.number;
}

static __always_inline void key_of_file(struct file *file, struct file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->pad = 0;
}

/* Mappings: a call chain stays in a few of them, so the last few are kept for the sample. */

struct found_vma {
	__u64 start, end, file_off;
	__u32 file;
};

static long keep_vma(struct task_struct *task, struct vm_area_struct *vma, struct found_vma *out)
{
	struct file *file = vma->vm_file;
	struct file_key key;

	out->start = vma->vm_start;
	out->end = vma->vm_end;
	out->file = FILE_NONE;
	out->file_off = vma->vm_start;
	if (!file)
		return 0;
	key_of_file(file, &key);
	out->file = file_number(&key);
	if (out->file != FILE_TOO_MANY)
		out->file_off = vma->vm_pgoff << 12;
	return 0;
}

#define KEPT_VMAS 4

/*
 * What one sample works on. It is far larger than BPF's stack of 512 bytes, so
 * every CPU has one; programs of this type don't interrupt each other on a CPU.
 */
struct work {
	struct stack_message s;
	__u64 raw_kernel[MAX_KERNEL_FRAMES], raw_user[MAX_KERNEL_FRAMES];
	struct found_vma vmas[KEPT_VMAS];
	__u32 next_vma, n_failed;
	__u32 has_own_memory; /* addresses that mean something in one process alone */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SLOTS);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

static __always_inline struct work *own_work(__u32 slot)
{
	return bpf_map_lookup_elem(&works, &slot);
}

static __always_inline __u64 frame_in(const struct found_vma *v, __u64 addr)
{
	return (__u64)v->file << FRAME_OFF_BITS |
	       ((addr - v->start + v->file_off) & FRAME_OFF_MASK);
}

static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h ^= v;
	h *= 0xff51afd7ed558ccdULL;
	return h ^ (h >> 32);
}

/* The hash is kept in memory: the verifier then has one state for all turns of a loop. */
static __always_inline void push_frame(struct work *w, __u32 at, __u64 frame)
{
	w->s.frames[at & (FRAME_SLOTS - 1)] = frame;
	w->s.hash = mix(w->s.hash, frame);
	w->has_own_memory |= frame >> FRAME_OFF_BITS == FILE_NONE;
}

/*
 * The i-th user frame. A function that is not static is verified once, by
 * itself; inlined in a loop it would be verified once for each frame and path.
 */
__attribute__((noinline)) int resolve_user_frame(__u32 slot, __u32 i)
{
	struct work *w = own_work(slot);
	struct found_vma found = {};
	__u64 addr;

	if (!w)
		return 0;
	addr = w->raw_user[i & (MAX_KERNEL_FRAMES - 1)];
	i += w->s.n_kernel;
	for (int k = 0; k < KEPT_VMAS; k++) {
		if (addr >= w->vmas[k].start && addr < w->vmas[k].end) {
			push_frame(w, i, frame_in(&w->vmas[k], addr));
			return 0;
		}
	}
	if (bpf_find_vma(bpf_get_current_task_btf(), addr, keep_vma, &found, 0) || !found.end) {
		w->n_failed++;
		push_frame(w, i, addr & FRAME_OFF_MASK);
		return 0;
	}
	w->vmas[w->next_vma++ & (KEPT_VMAS - 1)] = found;
	push_frame(w, i, frame_in(&found, addr));
	return 0;
}

/* Stacks. */

static __always_inline void walk_kernel(void *ctx, struct work *w)
{
	long n = bpf_get_stack(ctx, w->raw_kernel, sizeof(w->raw_kernel), 0) >> 3;

	for (__u32 i = 0; i < MAX_KERNEL_FRAMES && (long)i < n; i++)
		push_frame(w, i, w->raw_kernel[i] | FRAME_KERNEL);
	w->s.n_kernel = n > 0 ? n : 0;
}

static __always_inline void walk_user(void *ctx, __u32 slot, struct work *w)
{
	long n = bpf_get_stack(ctx, w->raw_user, sizeof(w->raw_user), BPF_F_USER_STACK) >> 3;

	for (__u32 i = 0; i < MAX_KERNEL_FRAMES && (long)i < n; i++)
		resolve_user_frame(slot, i);
	w->s.n_user = n > 0 ? n : 0;
}

static __always_inline void keep_leaf(__u64 ip, __u32 slot, struct work *w)
{
	if (ip & FRAME_KERNEL) {
		push_frame(w, 0, ip);
		w->s.n_kernel = 1;
		return;
	}
	w->raw_user[0] = ip;
	resolve_user_frame(slot, 0);
	w->s.n_user = 1;
}

/* Sends a stack that the reader has not seen. False: no room, so its sample can't be counted. */
static __always_inline bool tell_stack(struct stack_message *s)
{
	__u64 size = (__u64)(s->n_kernel + s->n_user) * 8;
	__u8 one = 1;

	if (bpf_map_lookup_elem(&seen, &s->hash))
		return true;
	if (size > sizeof(s->frames))
		return false;
	if (bpf_ringbuf_output(&messages, s, offsetof(struct stack_message, frames) + size,
			       BPF_RB_NO_WAKEUP))
		return false;
	bpf_map_update_elem(&seen, &s->hash, &one, BPF_ANY);
	return true;
}

/* The number of the file that the process's main program is; FILE_NONE: a kernel thread. */
static __always_inline __u16 app_of(struct task_struct *task)
{
	struct file *exe = BPF_CORE_READ(task, mm, exe_file);
	struct file_key key;

	if (!exe)
		return FILE_NONE;
	key_of_file(exe, &key);
	return file_number(&key);
}

/*
 * `interrupted`: the registers that the program interrupted; NULL: the task is in
 * the kernel by its own call.
 */
static __always_inline struct work *capture_stack(void *ctx, __u32 slot,
						  bpf_user_pt_regs_t *interrupted)
{
	struct work *w = own_work(slot);

	if (!w)
		return NULL;
	w->s.type = MESSAGE_STACK;
	w->s.pid = bpf_get_current_pid_tgid() >> 32;
	w->s.n_kernel = w->s.n_user = 0;
	w->s.hash = generation;
	w->n_failed = w->has_own_memory = 0;
	__builtin_memset(w->vmas, 0, sizeof(w->vmas));
	if (with_stacks) {
		walk_kernel(ctx, w);
		walk_user(ctx, slot, w);
	} else if (interrupted) {
		keep_leaf(PT_REGS_IP(interrupted), slot, w);
	}
	if (w->n_failed)
		lose(SAMPLER_NO_VMA);
	w->s.hash = mix(w->s.hash, (__u64)w->s.n_kernel << 32 | w->s.n_user);
	if (w->has_own_memory)
		w->s.hash = mix(w->s.hash, w->s.pid);
	return w;
}
