/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler_limits.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/bpf/shared.h"

#define CHUNK_BYTES sizeof(struct chunk)

static uint32_t clamp_limit(uint64_t low, uint64_t value, uint64_t high)
{
	return (uint32_t)MIN(MAX(value, low), high);
}

static uint32_t power_of_two_at_least(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static void set_limit(struct sampler_limits *limits, const char *name, size_t len, uint32_t value)
{
	const struct {
		const char *name;
		uint32_t *value;
	} known[] = {
		{ "counts", &limits->counts },       { "seen", &limits->seen },
		{ "messages", &limits->messages },   { "chunks", &limits->chunks },
		{ "loop", &limits->loop },           { "stacks", &limits->stacks },
		{ "refuse", &limits->refuse },       { "load_ms", &limits->load_ms },
		{ "files", &limits->files },         { "times", &limits->times },
		{ "blocks", &limits->blocks },       { "allocations", &limits->allocations },
		{ "waits", &limits->waits },         { "locks", &limits->locks },
		{ "languages", &limits->languages }, { "compare", &limits->compare },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == len && !strncmp(known[i].name, name, len))
			*known[i].value = value;
}

static void apply_setting(struct sampler_limits *limits, const char *setting)
{
	while (setting && *setting) {
		size_t len = strcspn(setting, "=,");

		if (setting[len] == '=')
			set_limit(limits, setting, len,
				  (uint32_t)strtoul(setting + len + 1, NULL, 10));
		setting += strcspn(setting, ",");
		setting += *setting == ',';
	}
}

/*
 * A raw stack has up to 30 KB, and each CPU may send some before the reader has the table. A
 * remembered stack costs about 80 bytes. The tables of a whole desktop have 50 MB.
 */
struct sampler_limits sampler_limits_for(uint64_t memory_bytes, size_t n_cpus, const char *setting)
{
	struct sampler_limits limits = {
		.seen = clamp_limit(16384, memory_bytes >> 18, 1 << 18),
		.messages = power_of_two_at_least(
			clamp_limit(8u << 20, MIN((uint64_t)n_cpus << 23, memory_bytes / 64),
				    64u << 20)),
		.chunks = clamp_limit(16, memory_bytes / 64 / CHUNK_BYTES, 8192),
		.loop = 1,
		.languages = 1,
		.waits = 65536,
		.locks = 16384,
	};

	apply_setting(&limits, setting);
	return limits;
}

struct sampler_limits sampler_limits(size_t n_cpus)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);

	return sampler_limits_for(pages * (uint64_t)sysconf(_SC_PAGESIZE), n_cpus,
				  getenv("ASSAY_SAMPLER_LIMITS"));
}
