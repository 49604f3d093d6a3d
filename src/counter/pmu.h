/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs as sysfs describes them, below bus/event_source/devices/ (the kernel's
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events}):
 *
 *   PMU/type            attr.type
 *   PMU/format/TERM     where a term's bits go: "config:0-7,32-35"
 *   PMU/events/ALIAS    terms under a name: "event=0x3c,umask=0x00"
 *   PMU/cpus, cpumask   the CPUs it counts on; `cpus` of PMUs of cores, on x86 only of hybrid
 * machines
 */
#pragma once

#include "counter/draft.h"
#include "counter/event_name.h"

struct pmu_names {
	char **data;
	size_t n, cap;
};
void pmu_names_fini(struct pmu_names *names);

/* The PMUs of processor cores that say which: on Arm all, on x86 those of hybrid machines. */
void pmu_list_cores(const struct counter_sources *sources, struct pmu_names *out);

/* The PMUs of processor cores where there is more than one kind (hybrid), else none. */
void pmu_list_hybrid(const struct counter_sources *sources, struct pmu_names *out);

/* The PMUs that have an events/ALIAS of this name. */
void pmu_list_with_alias(const struct counter_sources *sources, const char *alias,
			 struct pmu_names *out);

/* Whether the PMU has an events/ALIAS of this name. */
bool pmu_has_alias(const struct counter_sources *sources, const char *pmu, const char *alias);

/* attr.type of a PMU: true if there is one of that name. */
bool pmu_type(const struct counter_sources *sources, const char *pmu, uint32_t *type);

/* A number in a file below a PMU, such as "caps/mtc_periods" (those of intel_pt are of base 16). */
bool pmu_file_number(const struct counter_sources *sources, const char *pmu, const char *file,
		     int base, uint64_t *out);

/* The bits of attr.config that format/TERM names; 0: none of it. */
uint64_t pmu_format_bits(const struct counter_sources *sources, const char *pmu, const char *term);

/* Its CPUs as a list such as "0-7", to be freed; NULL when it counts on all. */
char *pmu_cpus(const struct counter_sources *sources, const char *pmu);

/*
 * PMU with its terms "event=0x3c,umask=0". 0, or a negative errno with err set.
 * `spec` is for messages.
 */
int pmu_parse(const struct counter_sources *sources, const char *pmu, const char *terms,
	      const char *spec, struct draft *out, struct error *err);

/*
 * A generic event with terms that every event takes: branch-misses/aux-sample-size=8192/. 1 or a
 * negative errno; 0: no generic event of that name.
 */
int generic_parse(const struct counter_sources *sources, const char *name, const char *terms,
		  const char *spec, struct draft *out, struct error *err);

void pmu_each(const struct counter_sources *sources, event_visitor visit, void *ctx);
