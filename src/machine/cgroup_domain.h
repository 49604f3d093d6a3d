/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose number a cgroup's number is: each hierarchy counts its own. The upper byte tells; 0 is the
 * hierarchy that perf events are of, as the kernel's records have it. The BPF program includes
 * this.
 */
#pragma once

/*
 * Hierarchies of cgroup v1 in which containers are looked for, by the kernel's name of the
 * controller and that of its mount point. The kernel's records tell paths of the first alone.
 */
#define CGROUP_V1_HIERARCHIES(X)    \
	X(perf_event, "perf_event") \
	X(pids, "pids")             \
	X(memory, "memory")         \
	X(cpu, "cpu")               \
	X(freezer, "freezer")       \
	X(devices, "devices")

enum cgroup_domain {
	CGROUP_OF_PERF,
	CGROUP_V2,
#define X(name, mount) CGROUP_V1_##name,
	CGROUP_V1_HIERARCHIES(X)
#undef X
		N_CGROUP_DOMAINS
};

#define N_CGROUP_V1 (N_CGROUP_DOMAINS - CGROUP_V2 - 1)

#define CGROUP_DOMAIN_SHIFT 56
#define CGROUP_NUMBER_MASK  ((1ULL << CGROUP_DOMAIN_SHIFT) - 1)
#define CGROUP_NUMBER(domain, id)                              \
	((unsigned long long)(domain) << CGROUP_DOMAIN_SHIFT | \
	 ((unsigned long long)(id)&CGROUP_NUMBER_MASK))
