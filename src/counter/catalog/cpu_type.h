/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors by OProfile's names ("x86-64/generic"), which name the folders of event files
 * (counter/catalog/event_files.h) and stand as a number in sample files.
 *
 * Which one this is follows from /proc/cpuinfo. A file `cpus` in a folder of event files adds
 * processors, and comes before the built-in ones; a line for each, in the syntax of event files:
 *
 *   cpu:x86-64/zen5 vendor:AuthenticAMD family:26 model:2,0x44 counters:6
 *       default:CPU_CLK_UNHALTED:100000:0:1:1 : AMD Zen 5            (all in one line)
 *   cpu:arm/armv8-n1 implementer:0x41 part:0xd0c : ARM Neoverse N1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/counter.h"

struct event_table;

/* The number of a processor that OProfile has none for: what comes from a `cpus` file. */
#define CPU_TYPE_NEW   UINT32_MAX
#define CPU_TYPE_TIMER 4

struct cpu_type {
	uint32_t number;           /* in sample files, or CPU_TYPE_NEW */
	const char *name;          /* "x86-64/generic" */
	const char *pretty;        /* "AMD64 generic" */
	uint32_t n_counters;       /* 0: CPUID tells (Intel's architectural ones) */
	const char *default_event; /* as ophelp -d has it */
};

/* A built-in one by its number in sample files, or by its name; NULL where there is none. */
const struct cpu_type *cpu_type_by_number(uint32_t number);
const struct cpu_type *cpu_type_find(const char *name);
/* By its pretty name; what stands behind a comma in `text` does not count. */
const struct cpu_type *cpu_type_find_pretty(const char *text);

/*
 * The processor of this machine. `table` owns the processors from `cpus` files; it may be NULL.
 * Returns NULL for an unknown processor; generic events still work there.
 */
const struct cpu_type *cpu_type_detect(const struct counter_sources *sources,
				       const struct event_table *table);

/* An x86 processor as its maker numbers it. */
struct cpu_x86 {
	char vendor[16]; /* "GenuineIntel", "AuthenticAMD" */
	uint32_t family, model;
};

/* The first processor in /proc/cpuinfo. False: it is no x86 one. */
bool cpu_type_x86(const struct counter_sources *sources, struct cpu_x86 *out);

/* An Arm processor by the numbers of its identification register (MIDR_EL1). */
struct cpu_arm {
	uint32_t implementer, part; /* 0x41, 0xd0c: Arm's Neoverse N1 */
	uint32_t release;           /* 0x13: r1p3 */
};

/* The first processor in /proc/cpuinfo. False: it is no Arm one. */
bool cpu_type_arm(const struct counter_sources *sources, struct cpu_arm *out);

/*
 * Intel's architectural counters, by CPUID leaf 0xA: their number, and a bit for each missing
 * architectural event. False: another processor, or `sources` describe another machine.
 */
bool cpu_type_perfmon(const struct counter_sources *sources, uint32_t *n_counters,
		      uint32_t *missing);

/* How many counters it has, by its row or by CPUID; at least 1. */
uint32_t cpu_type_n_counters(const struct cpu_type *cpu, const struct counter_sources *sources);

/*
 * The frequency in MHz for sample files: the highest one, or the one in /proc/cpuinfo. 0: not
 * known.
 */
double cpu_type_mhz(const struct counter_sources *sources);
