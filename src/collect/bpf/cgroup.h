/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup of the current task. */
#pragma once

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collect/bpf/kernel_types.h"
#include "machine/cgroup_domain.h"

/* Set before loading: cgroup v1 is mounted, and may have groups that v2 lacks. */
const volatile bool with_cgroup_v1 = false;

/* The numbers of controllers depend on the kernel's build: CO-RE fills them in. */
enum cgroup_subsys_id___own {
#define X(name, mount) name##_cgrp_id___own,
	CGROUP_V1_HIERARCHIES(X)
#undef X
};

/* The task's number in one hierarchy; 0: its root. */
static __always_inline __u64 cgroup_below_root(struct css_set *set, __u32 subsystem)
{
	struct cgroup_subsys_state *css = NULL;
	struct cgroup *group;

	bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[subsystem]);
	group = BPF_CORE_READ(css, cgroup);
	return BPF_CORE_READ(group, level) ? BPF_CORE_READ(group, kn, id) : 0;
}

/* A hierarchy's number with its domain; 0: no such hierarchy, or the task is in its root. */
#define CGROUP_BELOW(set, name)                                                                    \
	({                                                                                         \
		__u64 number = 0;                                                                  \
		if (bpf_core_enum_value_exists(enum cgroup_subsys_id___own, name##_cgrp_id___own)) \
			number =                                                                   \
				cgroup_below_root(set,                                             \
						  bpf_core_enum_value(enum cgroup_subsys_id___own, \
								      name##_cgrp_id___own));      \
		number ? CGROUP_NUMBER(CGROUP_V1_##name, number) : 0;                              \
	})

/* With its domain (machine/cgroup_domain.h). A group of v2 counts before those of v1. */
static __always_inline __u64 current_cgroup(void)
{
	__u64 id = bpf_get_current_cgroup_id(), of_v1;
	struct css_set *set;

	if (!with_cgroup_v1)
		return CGROUP_NUMBER(CGROUP_V2, id);
	set = BPF_CORE_READ(bpf_get_current_task_btf(), cgroups);
	if (BPF_CORE_READ(set, dfl_cgrp, level))
		return CGROUP_NUMBER(CGROUP_V2, id);
		/* no loop: Linux 6.1 permits none if a callback calls this */
#define X(name, mount)                   \
	of_v1 = CGROUP_BELOW(set, name); \
	if (of_v1)                       \
		return of_v1;
	CGROUP_V1_HIERARCHIES(X)
#undef X
	return CGROUP_NUMBER(CGROUP_V2, id);
}
