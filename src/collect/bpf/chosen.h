/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that count: of a user, with a name (collect/process_filter.h), or in a cgroup. */
#pragma once

#include "collect/bpf/shared.h"

/* Set before loading. */
const volatile bool with_uid = false, with_comm = false, waits_of_cgroup = false;
const volatile __u32 wanted_uid = 0;
const volatile struct comm_masks wanted_comm = {};

/* Of waits. The counters of samples are the cgroup's own. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} wanted_cgroup SEC(".maps");

/* Not inline, because of its stack. */
static __noinline bool has_wanted_comm(struct task_struct *task)
{
	char comm[16] = {};
	__u32 state = 1;

	BPF_CORE_READ_INTO(&comm, task, group_leader, comm);
	for (int i = 0; i < 15; i++) {
		__u8 c = comm[i];

		if (!c)
			break;
		state = (state & wanted_comm.takes[c]) << 1 | (state & wanted_comm.stays);
	}
	return state >> (wanted_comm.end & 31) & 1;
}

/* The current process. The idle task belongs to nobody. */
static __always_inline bool is_chosen(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!with_uid && !with_comm)
		return true;
	if (!BPF_CORE_READ(task, pid) ||
	    (with_uid && BPF_CORE_READ(task, cred, euid.val) != wanted_uid))
		return false;
	return !with_comm || has_wanted_comm(task);
}
