/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a wait is for: the owner of a lock in user memory, or the device of block I/O.
 *
 * The owner is known for two kinds of locks. The word of a futex with priority inheritance is the
 * owner's thread id (futex(2)). A mutex of glibc has the id beside its futex word; all other fields
 * of pthread_mutex_t must then fit such a mutex, because other locks have other data there.
 */
#pragma once

#include <linux/futex.h>

#include "collect/bpf/shared.h"
#include "collect/bpf/stack.h"

#if defined(__TARGET_ARCH_x86)
#define FUTEX_CALL 202
enum { WORD_OF_ADDRESS = 14, WORD_OF_OPERATION = 13, WORD_OF_VALUE = 12 }; /* rdi, rsi, rdx */

#define WORD_OF_CALL 15 /* orig_rax */

static __always_inline bool calls_futex(struct task_struct *task)
{
	return read_kernel((__u64)bpf_task_pt_regs(task) + WORD_OF_CALL * 8) == FUTEX_CALL;
}
#elif defined(__TARGET_ARCH_arm64)
#define FUTEX_CALL 98
enum { WORD_OF_ADDRESS = 0, WORD_OF_OPERATION = 1, WORD_OF_VALUE = 2 };

static __always_inline bool calls_futex(struct task_struct *task)
{
	struct pt_regs___syscall *regs = (void *)bpf_task_pt_regs(task);

	return BPF_CORE_READ(regs, syscallno) == FUTEX_CALL;
}
#endif

/* pthread_mutex_t of 64-bit glibc (struct __pthread_mutex_s), since 2.26. */
struct glibc_mutex {
	__u32 lock;  /* the futex word */
	__u32 count; /* of a recursive mutex */
	__u32 owner;
	__u32 n_users;
	__u32 kind;
	__u16 spins, elision;
	__u64 previous, next; /* in the list of robust mutexes */
};

#define GLIBC_RECURSIVE  1 /* of the kind's lowest two bits */
#define GLIBC_ROBUST     0x10
#define GLIBC_PROTECT    0x40  /* its word has the ceiling as well */
#define GLIBC_KINDS      0x3b3 /* all bits that a mutex without a ceiling may have */
#define GLIBC_CONTENDED  2
#define GLIBC_USERS_MOST 0x10000

static __always_inline __u32 owner_in_mutex(const struct glibc_mutex *m, __u32 value)
{
	bool is_recursive = (m->kind & 3) == GLIBC_RECURSIVE, is_owned;

	if (m->kind & ~GLIBC_KINDS || !m->n_users || m->n_users > GLIBC_USERS_MOST)
		return 0;
	if (m->kind & GLIBC_ROBUST)
		is_owned = (m->lock & FUTEX_WAITERS) && (m->lock & FUTEX_TID_MASK) == m->owner;
	else
		is_owned = m->lock == GLIBC_CONTENDED && value == GLIBC_CONTENDED &&
			   is_recursive == (m->count > 0) && !m->previous && !m->next;
	return is_owned ? m->owner : 0;
}

#define THREADS_SEARCHED       64
#define FUTEX_LOCK_PI2_OF_5_14 13 /* older headers lack it */

/* In user memory, a thread has its number of its own pid namespace. 0: no such thread. */
static __noinline __u32 thread_by_own_number(struct task_struct *task, __u32 number)
{
	__u32 level = BPF_CORE_READ(task, thread_pid, level);
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct list_head *head = &signal->thread_head, *at = BPF_CORE_READ(head, next);

	for (int i = 0; i < THREADS_SEARCHED && at != head; i++) {
		struct task_struct *thread =
			(void *)at - bpf_core_field_offset(struct task_struct, thread_node);
		struct pid *pid = BPF_CORE_READ(thread, thread_pid);
		struct upid *own = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				   level * bpf_core_type_size(struct upid);

		if (BPF_CORE_READ(own, nr) == (int)number)
			return BPF_CORE_READ(thread, pid);
		at = BPF_CORE_READ(at, next);
	}
	return 0;
}

/* The owner's number, as the process's memory has it. 0: not known. */
static __always_inline __u32 owner_in_memory(const struct work *w)
{
	const void *address = (const void *)w->registers[WORD_OF_ADDRESS];
	__u32 operation = w->registers[WORD_OF_OPERATION] & FUTEX_CMD_MASK, word;
	struct glibc_mutex mutex;

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2_OF_5_14)
		return bpf_probe_read_user(&word, sizeof(word), address) ? 0
									 : word & FUTEX_TID_MASK;
	if ((operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) ||
	    bpf_probe_read_user(&mutex, sizeof(mutex), address))
		return 0;
	return owner_in_mutex(&mutex, w->registers[WORD_OF_VALUE]);
}

/* The reader checks that the thread belongs to the process (machine_has_thread()). */
static __always_inline __u64 owner_of_futex(struct task_struct *task, __u32 slot)
{
	struct work *w = calls_futex(task) ? own_work(slot) : NULL;
	__u32 owner = 0;

	if (w && take_user_registers(task, NULL, w) && is_64_bit(w->registers))
		owner = owner_in_memory(w);
	if (owner && BPF_CORE_READ(task, thread_pid, level))
		owner = thread_by_own_number(task, owner);
	return owner ? WAIT_DETAIL(DETAIL_OWNER, owner) : 0;
}

/*
 * Block I/O: the thread has queued I/O itself, and has not slept for another reason since. A thread
 * that waits for the I/O of another one has no device.
 */
static __always_inline __u64 device_of_io(struct task_struct *task, const struct wait *wait)
{
	return wait->device && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)
		       ? WAIT_DETAIL(DETAIL_DEVICE, wait->device)
		       : 0;
}
