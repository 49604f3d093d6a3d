/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "counter/counter.h"
#include "counter/sources.h"

#define CPU_MAX 65535

static bool parse_cpu(const char **at, unsigned long *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*out = strtoul(*at, &end, 10);
	*at = end;
	return *out <= CPU_MAX;
}

int cpu_list_parse(const char *text, struct cpu_list *out, struct error *err)
{
	const char *at = text;

	for (;;) {
		unsigned long first, last;

		if (!parse_cpu(&at, &first))
			break;
		last = first;
		if (*at == '-' && (at++, !parse_cpu(&at, &last)))
			break;
		if (last < first)
			break;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			vec_push(out, (uint32_t)cpu);
		if (!*at)
			return 0;
		if (*at++ != ',')
			break;
	}
	return error_set(err, -EINVAL, "'%s' is not a list of CPUs such as 0-3,8", text);
}

static int read_list(const char *sys, const char *name, struct cpu_list *out, struct error *err)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/devices/system/cpu/%s", sys ? sys : sources_sysfs(NULL), name);
	char line[4096];

	if (!file_read_line(path, line, sizeof(line)))
		return error_errno(err, -errno, "cannot read the list of %s CPUs: %s", name, path);
	return cpu_list_parse(line, out, err);
}

/* Without sysfs: the CPUs of this process's affinity. */
static bool list_by_affinity(struct cpu_list *out)
{
	size_t size = CPU_ALLOC_SIZE(CPU_MAX + 1);
	cpu_set_t *set = xcalloc(1, size);
	bool is_known = sched_getaffinity(0, size, set) == 0;

	for (uint32_t cpu = 0; cpu <= CPU_MAX && is_known; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			vec_push(out, cpu);
	free(set);
	return is_known;
}

int cpu_list_online(const char *sys, struct cpu_list *out, struct error *err)
{
	int r = read_list(sys, "online", out, err);

	return r == -ENOENT && !sys && list_by_affinity(out) ? 0 : r;
}

int cpu_list_present(const char *sys, struct cpu_list *out, struct error *err)
{
	return read_list(sys, "present", out, err);
}

bool counter_is_on_cpu(const struct counter *counter, uint32_t cpu)
{
	struct cpu_list cpus = { 0 };
	bool is_on = false;

	if (!counter->cpus || cpu_list_parse(counter->cpus, &cpus, NULL) < 0)
		is_on = true;
	vec_foreach (&cpus, c)
		is_on |= *c == cpu;
	vec_fini(&cpus);
	return is_on;
}
