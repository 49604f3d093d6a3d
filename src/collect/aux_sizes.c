/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/aux.h"
#include "counter/sources.h"

enum {
	RING_BYTES = 512 << 10,
	RING_BYTES_UNPRIVILEGED = 256 << 10,
	AREA_BYTES = 4 << 20,
	AREA_BYTES_UNPRIVILEGED = 128 << 10,
};

bool aux_is_privileged(const struct counter_sources *sources)
{
	return sources_paranoid(sources) < 0 || sources_capable(sources, CAP_IPC_LOCK);
}

static uint64_t power_of_two(uint64_t least, uint64_t from)
{
	while (from < least)
		from *= 2;
	return from;
}

/* Checks for all modes. A full trace needs two pages, which are filled and read in turn. */
static int check_area(enum aux_mode mode, uint64_t bytes, uint64_t page, struct error *err)
{
	uint64_t least = mode == AUX_FULL ? 2 * page : page;

	if (bytes >= least && (bytes & (bytes - 1)) == 0)
		return 0;
	return error_set(err, -EINVAL,
			 "Invalid mmap size for Intel Processor Trace: %" PRIu64
			 " bytes; it must be at least %" PRIu64 " KiB and a power of 2",
			 bytes, least >> 10);
}

static int choose_snapshot(uint64_t usual, uint64_t page, struct aux_sizes *s, struct error *err)
{
	if (!s->area_bytes)
		s->area_bytes = s->snapshot_bytes ? power_of_two(s->snapshot_bytes, page) : usual;
	if (!s->snapshot_bytes)
		s->snapshot_bytes = s->area_bytes;
	if (s->snapshot_bytes > s->area_bytes)
		return error_set(err, -EINVAL,
				 "Snapshot size %" PRIu64
				 " must not be greater than AUX area tracing mmap size %" PRIu64,
				 s->snapshot_bytes, s->area_bytes);
	return 0;
}

static int choose_sampled(uint64_t sample_bytes, uint64_t page, struct aux_sizes *s,
			  struct error *err)
{
	if (!s->area_bytes)
		s->area_bytes = power_of_two(sample_bytes, page);
	if (sample_bytes > s->area_bytes)
		return error_set(err, -EINVAL,
				 "Sample size %" PRIu64
				 " must not be greater than AUX area tracing mmap size %" PRIu64,
				 sample_bytes, s->area_bytes);
	return 0;
}

int aux_choose_sizes(enum aux_mode mode, bool is_privileged, uint64_t sample_bytes,
		     struct aux_sizes *sizes, struct error *err)
{
	uint64_t usual = is_privileged ? AREA_BYTES : AREA_BYTES_UNPRIVILEGED;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct aux_sizes s = *sizes;
	int e = 0;

	if (!s.ring_bytes)
		s.ring_bytes = is_privileged ? RING_BYTES : RING_BYTES_UNPRIVILEGED;
	s.ring_bytes = power_of_two(s.ring_bytes, page);
	if (mode == AUX_SNAPSHOTS)
		e = choose_snapshot(usual, page, &s, err);
	else if (mode == AUX_SAMPLES)
		e = choose_sampled(sample_bytes, page, &s, err);
	else if (!s.area_bytes)
		s.area_bytes = usual;
	if (!e)
		e = check_area(mode, s.area_bytes, page, err);
	if (!e)
		*sizes = s;
	return e;
}
