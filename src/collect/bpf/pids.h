/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pid and tid of the current task in the reader's pid namespace. */
#pragma once

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect/bpf/kernel_types.h"
#include "collect/bpf/shared.h"

/* Set before loading: the inode of the reader's pid namespace; 0: the initial one. */
const volatile __u32 own_pid_namespace = 0;

#define MAX_PID_LEVELS 32 /* MAX_PID_NS_LEVEL in include/linux/pid_namespace.h */

/* The task's number in our namespace, from the task's innermost on. PID_OTHER: none. */
static __always_inline __u32 number_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i <= MAX_PID_LEVELS && i <= level; i++) {
		struct upid *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				  (level - i) * bpf_core_type_size(struct upid);

		if (BPF_CORE_READ(at, ns, ns.inum) == own_pid_namespace)
			return BPF_CORE_READ(at, nr);
	}
	return PID_OTHER;
}

/* The number by which the current thread knows itself: that of its own pid namespace. */
static __always_inline __u32 tid_of_itself(void)
{
	struct pid *pid = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
	struct upid *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			  BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid);

	return BPF_CORE_READ(at, nr);
}

/* As bpf_get_current_pid_tgid(): the process above, the thread below. 0: the idle task. */
static __always_inline __u64 own_pid_tgid(void)
{
	struct task_struct *task;

	if (!own_pid_namespace)
		return bpf_get_current_pid_tgid();
	task = bpf_get_current_task_btf();
	if (!BPF_CORE_READ(task, pid))
		return 0;
	return (__u64)number_of(BPF_CORE_READ(task, group_leader)) << 32 | number_of(task);
}
