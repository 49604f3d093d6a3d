/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that an older system lacks: kernel headers before Linux 5.13, glibc before 2.34, libcap-ng
 * before 0.8. Debian 11 has all three. On such a system, Meson includes this header in every file;
 * no file names it.
 */
#pragma once

#ifndef __ASSEMBLER__

#ifdef OLDER_KERNEL_HEADERS

#include <asm/unistd.h>
#include <linux/types.h>

/*
 * In old headers, one field has all reserved bits of struct perf_event_attr; its lowest one is
 * build_id. (Structs that have no build_id get a field of that name, which nobody uses.)
 */
#define __reserved_1 build_id
#include <linux/perf_event.h>
#undef __reserved_1

#define PERF_SAMPLE_DATA_PAGE_SIZE    (1U << 22)
#define PERF_SAMPLE_CODE_PAGE_SIZE    (1U << 23)
#define PERF_SAMPLE_WEIGHT_STRUCT     (1U << 24)
#define PERF_SAMPLE_WEIGHT_TYPE       (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)
#define PERF_RECORD_AUX_OUTPUT_HW_ID  21
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#define PERF_PMU_TYPE_SHIFT           32
#define PERF_HW_EVENT_MASK            0xffffffff

#ifndef __NR_epoll_pwait2
#define __NR_epoll_pwait2 441 /* of each architecture */
#endif

#endif

#ifdef OLDER_GLIBC

#include <sys/syscall.h>

#ifndef SYS_openat2
#define SYS_openat2 __NR_openat2
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd __NR_pidfd_getfd
#endif

const char *strerrorname_np(int code); /* NULL for a code that it does not know */
const char *sigabbrev_np(int number);  /* "HUP"; NULL for a number that is no signal */
int close_range(unsigned int first, unsigned int last, int flags); /* flags: 0 */
#endif

#ifdef OLDER_CAPNG
/* Ambient capabilities go with the inheritable ones. */
#define CAPNG_AMBIENT    0
#define CAPNG_SELECT_ALL CAPNG_SELECT_BOTH
#endif

#endif
