/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of the perf.data format.
 *
 * Sources: linux/perf_event.h for records below 64; for the rest
 * tools/perf/Documentation/perf.data-file-format.txt in the kernel's tree.
 *
 *   file   "PERFILE2", header size 104, attr size, sections (attrs, data, event types),
 *          256 feature bits; the attrs; the data; at its end a section (offset, size) for
 *          each feature bit that is set
 *   pipe   "PERFILE2", 16; then only records, which replace the sections of a file
 *
 * All numbers are in the byte order of the recording machine, which the magic shows.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

#define PERFDATA_MAGIC       0x32454c4946524550ULL /* "PERFILE2", read as little-endian */
#define PERFDATA_MAGIC_V1    0x454c494646524550ULL /* "PERFFILE", before Linux 3.3 */
#define PERFDATA_HEADER_SIZE 104
#define PERFDATA_PIPE_HEADER 16
#define PERFDATA_FIRST_ATTR  64 /* bytes of the oldest perf_event_attr (PERF_ATTR_SIZE_VER0) */

/* X(id, number, name): records that perf itself writes. */
#define USER_RECORDS(X)                         \
	X(HEADER_ATTR, 64, "HEADER_ATTR")       \
	X(HEADER_EVENT_TYPE, 65, "EVENT_TYPE")  \
	X(TRACING_DATA, 66, "TRACING_DATA")     \
	X(BUILD_ID, 67, "BUILD_ID")             \
	X(FINISHED_ROUND, 68, "FINISHED_ROUND") \
	X(ID_INDEX, 69, "ID_INDEX")             \
	X(AUXTRACE_INFO, 70, "AUXTRACE_INFO")   \
	X(AUXTRACE, 71, "AUXTRACE")             \
	X(AUXTRACE_ERROR, 72, "AUXTRACE_ERROR") \
	X(THREAD_MAP, 73, "THREAD_MAP")         \
	X(CPU_MAP, 74, "CPU_MAP")               \
	X(STAT_CONFIG, 75, "STAT_CONFIG")       \
	X(STAT, 76, "STAT")                     \
	X(STAT_ROUND, 77, "STAT_ROUND")         \
	X(EVENT_UPDATE, 78, "EVENT_UPDATE")     \
	X(TIME_CONV, 79, "TIME_CONV")           \
	X(FEATURE, 80, "FEATURE")               \
	X(COMPRESSED, 81, "COMPRESSED")         \
	X(FINISHED_INIT, 82, "FINISHED_INIT")   \
	X(COMPRESSED2, 83, "COMPRESSED2")       \
	X(BPF_METADATA, 84, "BPF_METADATA")     \
	X(SCHEDSTAT_CPU, 85, "SCHEDSTAT_CPU")   \
	X(SCHEDSTAT_DOMAIN, 86, "SCHEDSTAT_DOMAIN")

enum user_record {
	USER_RECORD_FIRST = 64,
#define X(id, number, name) USER_##id = number,
	USER_RECORDS(X)
#undef X
};

/* X(id, bit, name): the feature sections, by their bit. */
#define FEATURES(X)                               \
	X(TRACING_DATA, 1, "TRACING_DATA")        \
	X(BUILD_ID, 2, "BUILD_ID")                \
	X(HOSTNAME, 3, "HOSTNAME")                \
	X(OSRELEASE, 4, "OSRELEASE")              \
	X(VERSION, 5, "VERSION")                  \
	X(ARCH, 6, "ARCH")                        \
	X(NRCPUS, 7, "NRCPUS")                    \
	X(CPUDESC, 8, "CPUDESC")                  \
	X(CPUID, 9, "CPUID")                      \
	X(TOTAL_MEM, 10, "TOTAL_MEM")             \
	X(CMDLINE, 11, "CMDLINE")                 \
	X(EVENT_DESC, 12, "EVENT_DESC")           \
	X(CPU_TOPOLOGY, 13, "CPU_TOPOLOGY")       \
	X(NUMA_TOPOLOGY, 14, "NUMA_TOPOLOGY")     \
	X(BRANCH_STACK, 15, "BRANCH_STACK")       \
	X(PMU_MAPPINGS, 16, "PMU_MAPPINGS")       \
	X(GROUP_DESC, 17, "GROUP_DESC")           \
	X(AUXTRACE, 18, "AUXTRACE")               \
	X(STAT, 19, "STAT")                       \
	X(CACHE, 20, "CACHE")                     \
	X(SAMPLE_TIME, 21, "SAMPLE_TIME")         \
	X(MEM_TOPOLOGY, 22, "MEM_TOPOLOGY")       \
	X(CLOCKID, 23, "CLOCKID")                 \
	X(DIR_FORMAT, 24, "DIR_FORMAT")           \
	X(BPF_PROG_INFO, 25, "BPF_PROG_INFO")     \
	X(BPF_BTF, 26, "BPF_BTF")                 \
	X(COMPRESSED, 27, "COMPRESSED")           \
	X(CPU_PMU_CAPS, 28, "CPU_PMU_CAPS")       \
	X(CLOCK_DATA, 29, "CLOCK_DATA")           \
	X(HYBRID_TOPOLOGY, 30, "HYBRID_TOPOLOGY") \
	X(PMU_CAPS, 31, "PMU_CAPS")               \
	X(CPU_DOMAIN_INFO, 32, "CPU_DOMAIN_INFO") \
	X(E_MACHINE, 33, "E_MACHINE")             \
	X(CLN_SIZE, 34, "CLN_SIZE")

enum feature {
#define X(id, bit, name) FEATURE_##id = bit,
	FEATURES(X)
#undef X
		N_FEATURE_BITS = 256,
};
