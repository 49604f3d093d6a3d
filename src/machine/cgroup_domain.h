/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hierarchy of a cgroup's number: each hierarchy has its own numbers. The hierarchy is the
 * upper byte of the number. 0 is the hierarchy of perf events, which the kernel's records use. The
 * BPF program includes this file.
 */
#pragma once

/*
 * The hierarchies of cgroup v1 in which assay looks for containers: the kernel's name of the
 * controller, and the name of its mount point. The kernel's records have paths of the first one
 * only.
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
