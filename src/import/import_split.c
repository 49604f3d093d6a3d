/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/import_split.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* A thread, a store and a few hundred process mappings are made again for each part: 2 ms, 3 MB. */
#define PART_BYTES ((uint64_t)4 << 20)

/*
 * The cost of stepping over a byte, as a share of reading it: a tenth for samples, more with many
 * mappings. Measured on recordings of a C build: 0.12 for call chains, 0.2 flat.
 */
#define STEP_COST 0.15

static uint32_t count_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? 1 : (uint32_t)CPU_COUNT(&cpus);
}

uint32_t import_count_parts(uint64_t bytes)
{
	const char *wanted = getenv("ASSAY_IMPORT_PARTS");
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t n = MIN(bytes / PART_BYTES, (uint64_t)count_cpus());

	if (wanted)
		n = strtoul(wanted, NULL, 10);
	else if (bytes > memory / 2)
		n = 1;
	return (uint32_t)MIN(MAX(n, (uint64_t)1), (uint64_t)IMPORT_PARTS_MAX);
}

/*
 * Of a whole of 1, with s the cost of stepping: a part that begins at x and has the size w takes
 * s x + w. That this is the same c for all, and the sizes add up to 1, makes c = s / (1 - (1 -
 * s)^n).
 */
void import_split(uint64_t start_off, uint64_t end_off, uint32_t n, struct perfdata_part *out)
{
	double left = 1, at = 0, cost;
	uint64_t size = end_off - start_off;

	for (uint32_t i = 0; i < n; i++)
		left *= 1 - STEP_COST;
	cost = STEP_COST / (1 - left);
	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct perfdata_part)PERFDATA_WHOLE;
		if (i) {
			out[i].from_off = start_off + (uint64_t)((double)size * at);
			out[i - 1].until_off = out[i].from_off;
		}
		at += cost - STEP_COST * at;
	}
}
