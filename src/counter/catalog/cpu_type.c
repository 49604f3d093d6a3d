/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog/cpu_type.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/files/file.h"
#include "counter/catalog/event_file.h"
#include "counter/sources.h"

static const struct {
	const char *name, *pretty;
	uint32_t n_counters;
	const char *default_event;
} rows[] = {
#define CPU_TYPE(name, pretty, n_counters, default_event) \
	{ name, pretty, n_counters, default_event },
#include "counter/catalog/cpu_types.def"
#undef CPU_TYPE
};

const struct cpu_type *cpu_type_by_number(uint32_t number)
{
	static struct cpu_type types[ARRAY_SIZE(rows)];

	if (number >= ARRAY_SIZE(rows))
		return NULL;
	types[number] = (struct cpu_type){ number, rows[number].name, rows[number].pretty,
					   rows[number].n_counters, rows[number].default_event };
	return &types[number];
}

const struct cpu_type *cpu_type_find(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return cpu_type_by_number(i);
	return NULL;
}

const struct cpu_type *cpu_type_find_pretty(const char *text)
{
	size_t len = strcspn(text, ",");

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].pretty) == len && !strncmp(rows[i].pretty, text, len))
			return cpu_type_by_number(i);
	return NULL;
}

/* ---- which one this is ---- */

/* A field of the first processor in /proc/cpuinfo, without blanks around. */
static bool cpuinfo(const char *text, const char *field, char *out, size_t size)
{
	size_t len = strlen(field);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *value;
		size_t n;

		line += *line == '\n';
		if (strncmp(line, field, len))
			continue;
		value = line + len + strspn(line + len, " \t");
		if (*value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t");
		n = strcspn(value, "\n");
		snprintf(out, size, "%.*s", (int)n, value);
		return true;
	}
	return false;
}

static uint32_t cpuinfo_number(const char *text, const char *field)
{
	char value[64];

	return cpuinfo(text, field, value, sizeof(value)) ? (uint32_t)strtoul(value, NULL, 0) : 0;
}

/* Processors by family and model as the makers number them; models end with 0. */
struct x86_row {
	const char *cpu, *vendor;
	uint32_t family;
	uint8_t models[12]; /* none: all that no other row has */
};
static const struct x86_row x86_rows[] = {
	{ "i386/ppro", "GenuineIntel", 6, { 0x01 } },
	{ "i386/pii", "GenuineIntel", 6, { 0x03, 0x05, 0x06 } },
	{ "i386/piii", "GenuineIntel", 6, { 0x07, 0x08, 0x0a, 0x0b } },
	{ "i386/p6_mobile", "GenuineIntel", 6, { 0x09, 0x0d } },
	{ "i386/core", "GenuineIntel", 6, { 0x0e } },
	{ "i386/core_2", "GenuineIntel", 6, { 0x0f, 0x16, 0x17, 0x1d } },
	{ "i386/nehalem", "GenuineIntel", 6, { 0x1a, 0x1e, 0x1f, 0x2e } },
	{ "i386/atom", "GenuineIntel", 6, { 0x1c, 0x26, 0x27, 0x35, 0x36 } },
	{ "i386/westmere", "GenuineIntel", 6, { 0x25, 0x2c, 0x2f } },
	{ "i386/sandybridge", "GenuineIntel", 6, { 0x2a, 0x2d } },
	{ "i386/ivybridge", "GenuineIntel", 6, { 0x3a, 0x3e } },
	{ "i386/haswell", "GenuineIntel", 6, { 0x3c, 0x3f, 0x45, 0x46 } },
	{ "i386/broadwell", "GenuineIntel", 6, { 0x3d, 0x47, 0x4f, 0x56 } },
	{ "i386/silvermont", "GenuineIntel", 6, { 0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d } },
	{ "i386/skylake", "GenuineIntel", 6, { 0x4e, 0x55, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6 } },
	{ "i386/knightslanding", "GenuineIntel", 6, { 0x57, 0x85 } },
	{ "i386/goldmont", "GenuineIntel", 6, { 0x5c, 0x5f } },
	{ "i386/goldmontplus", "GenuineIntel", 6, { 0x7a } },
	{ "i386/p4", "GenuineIntel", 15, { 0 } },
	{ "i386/arch_perfmon", "GenuineIntel", 6, { 0 } },
	{ "i386/athlon", "AuthenticAMD", 6, { 0 } },
	{ "x86-64/hammer", "AuthenticAMD", 15, { 0 } },
	{ "x86-64/family10", "AuthenticAMD", 16, { 0 } },
	{ "x86-64/family11h", "AuthenticAMD", 17, { 0 } },
	{ "x86-64/family12h", "AuthenticAMD", 18, { 0 } },
	{ "x86-64/family14h", "AuthenticAMD", 20, { 0 } },
	{ "x86-64/family15h", "AuthenticAMD", 21, { 0 } },
};

/* Makers whose newer families share the events of one processor. */
static const struct {
	const char *vendor, *cpu;
} x86_others[] = {
	{ "AuthenticAMD", "x86-64/generic" },
	{ "HygonGenuine", "x86-64/generic" },
	{ "GenuineIntel", "i386/arch_perfmon" },
};

static const char *find_x86(const char *vendor, uint32_t family, uint32_t model)
{
	for (size_t i = 0; i < ARRAY_SIZE(x86_rows); i++) {
		const struct x86_row *row = &x86_rows[i];
		const uint8_t *m = row->models;

		if (row->family != family || strcmp(row->vendor, vendor))
			continue;
		while (*m && *m != model)
			m++;
		if (*m || !row->models[0])
			return row->cpu;
	}
	for (size_t i = 0; i < ARRAY_SIZE(x86_others); i++)
		if (!strcmp(x86_others[i].vendor, vendor))
			return x86_others[i].cpu;
	return NULL;
}

static const struct {
	uint32_t implementer, part;
	const char *cpu;
} arm_rows[] = {
	{ 0x41, 0xb02, "arm/mpcore" },          { 0x41, 0xb36, "arm/armv6" },
	{ 0x41, 0xb56, "arm/armv6" },           { 0x41, 0xb76, "arm/armv6" },
	{ 0x41, 0xc05, "arm/armv7-ca5" },       { 0x41, 0xc07, "arm/armv7-ca7" },
	{ 0x41, 0xc08, "arm/armv7" },           { 0x41, 0xc09, "arm/armv7-ca9" },
	{ 0x41, 0xc0e, "arm/armv7-ca17" },      { 0x41, 0xc0f, "arm/armv7-ca15" },
	{ 0x41, 0xd03, "arm/armv8-ca53" },      { 0x41, 0xd07, "arm/armv8-ca57" },
	{ 0x43, 0x0af, "arm/armv8-thunderx2" }, { 0x50, 0x000, "arm/armv8-xgene" },
};

/* Words that the line "cpu" of POWER and "processor 0" of s390 begin with or have. */
static const struct {
	const char *field, *word, *cpu;
} other_rows[] = {
	{ "cpu", "POWER5+", "ppc64/power5+" },
	{ "cpu", "POWER5", "ppc64/power5" },
	{ "cpu", "POWER6", "ppc64/power6" },
	{ "cpu", "POWER7", "ppc64/power7" },
	{ "cpu", "POWER8", "ppc64/power8" },
	{ "cpu", "POWER9", "ppc64/power9" },
	{ "processor 0", "machine = 2097", "s390/z10" },
	{ "processor 0", "machine = 2817", "s390/z196" },
	{ "processor 0", "machine = 2827", "s390/zEC12" },
	{ "processor 0", "machine = 2964", "s390/z13" },
};

static const char *find_built_in(const char *text)
{
	uint32_t implementer = cpuinfo_number(text, "CPU implementer");
	uint32_t part = cpuinfo_number(text, "CPU part");
	char value[256];

	if (cpuinfo(text, "vendor_id", value, sizeof(value)) && !strstr(value, "IBM"))
		return find_x86(value, cpuinfo_number(text, "cpu family"),
				cpuinfo_number(text, "model"));
	for (size_t i = 0; i < ARRAY_SIZE(arm_rows); i++)
		if (implementer && arm_rows[i].implementer == implementer &&
		    arm_rows[i].part == part)
			return arm_rows[i].cpu;
	for (size_t i = 0; i < ARRAY_SIZE(other_rows); i++)
		if (cpuinfo(text, other_rows[i].field, value, sizeof(value)) &&
		    strstr(value, other_rows[i].word))
			return other_rows[i].cpu;
	return NULL;
}

static bool is_this(const struct table_cpu *c, const char *text)
{
	uint32_t model = cpuinfo_number(text, "model");
	bool has_model = !c->models.n;
	char vendor[64];

	if (!c->vendor)
		return cpuinfo_number(text, "CPU implementer") == c->implementer &&
		       cpuinfo_number(text, "CPU part") == c->part;
	vec_foreach (&c->models, m)
		has_model |= *m == model;
	return has_model && cpuinfo(text, "vendor_id", vendor, sizeof(vendor)) &&
	       !strcmp(vendor, c->vendor) && cpuinfo_number(text, "cpu family") == c->family;
}

/* /proc/cpuinfo up to a limit that no first processor needs; NULL. */
static char *read_cpuinfo(const struct counter_sources *sources)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/cpuinfo", sources_proc(sources));
	char *text = NULL;
	size_t size;

	return file_read_all(path, 64 << 20, &text, &size) < 0 ? NULL : text;
}

const struct cpu_type *cpu_type_detect(const struct counter_sources *sources,
				       const struct event_table *table)
{
	cleanup(free_at_exit) char *text = read_cpuinfo(sources);
	const char *name;

	if (!text)
		return NULL;
	for (size_t i = 0; table && i < table->cpus.n; i++)
		if (is_this(&table->cpus.data[i], text))
			return &table->cpus.data[i].type;
	name = find_built_in(text);
	return name ? cpu_type_find(name) : NULL;
}

bool cpu_type_x86(const struct counter_sources *sources, struct cpu_x86 *out)
{
	cleanup(free_at_exit) char *text = read_cpuinfo(sources);

	*out = (struct cpu_x86){ 0 };
	if (!text || !cpuinfo(text, "vendor_id", out->vendor, sizeof(out->vendor)))
		return false;
	out->family = cpuinfo_number(text, "cpu family");
	out->model = cpuinfo_number(text, "model");
	return out->family != 0;
}

bool cpu_type_arm(const struct counter_sources *sources, struct cpu_arm *out)
{
	cleanup(free_at_exit) char *text = read_cpuinfo(sources);

	*out = (struct cpu_arm){ 0 };
	if (!text)
		return false;
	out->implementer = cpuinfo_number(text, "CPU implementer");
	out->part = cpuinfo_number(text, "CPU part");
	out->release = cpuinfo_number(text, "CPU variant") << 4 |
		       (cpuinfo_number(text, "CPU revision") & 15);
	return out->implementer != 0;
}

bool cpu_type_perfmon(const struct counter_sources *sources, uint32_t *n_counters,
		      uint32_t *missing)
{
#if defined(__x86_64__) || defined(__i386__)
	uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;

	/* Intel SDM volume 3, "Architectural performance monitoring" */
	if ((sources && sources->proc) || !__get_cpuid_count(0xa, 0, &eax, &ebx, &ecx, &edx) ||
	    !(eax & 0xff))
		return false;
	*n_counters = eax >> 8 & 0xff;
	*missing = ebx;
	return true;
#else
	(void)sources, (void)n_counters, (void)missing;
	return false;
#endif
}

uint32_t cpu_type_n_counters(const struct cpu_type *cpu, const struct counter_sources *sources)
{
	uint32_t n = cpu->n_counters, missing;

	if (!n && !cpu_type_perfmon(sources, &n, &missing))
		n = 4; /* what most processors with architectural counters have */
	return n;
}

double cpu_type_mhz(const struct counter_sources *sources)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
			  sources_sysfs(sources));
	cleanup(free_at_exit) char *text = NULL;
	char line[64];

	if (file_read_line(path, line, sizeof(line)))
		return strtod(line, NULL) / 1000;
	text = read_cpuinfo(sources);
	return text && cpuinfo(text, "cpu MHz", line, sizeof(line)) ? strtod(line, NULL) : 0;
}
