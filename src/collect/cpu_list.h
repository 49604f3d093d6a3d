/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs, as sysfs and --cpu have them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter;
struct error;

struct cpu_list {
	uint32_t *data;
	size_t n, cap;
};

/* "0-3,8": as in sysfs and --cpu. -EINVAL for anything else. */
int cpu_list_parse(const char *text, struct cpu_list *out, struct error *err);
/* The CPUs that are online; `sys` NULL: "/sys". */
int cpu_list_online(const char *sys, struct cpu_list *out, struct error *err);
/* All CPUs of the machine, online or not. */
int cpu_list_present(const char *sys, struct cpu_list *out, struct error *err);
/* Whether the counter can be opened on this CPU. A hybrid machine's PMU has only some CPUs. */
bool counter_is_on_cpu(const struct counter *counter, uint32_t cpu);
