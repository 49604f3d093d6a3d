/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/aux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "counter/sources.h"

/*
 * An area that was not written to its end has this many zero bytes there, at least (perf checks as
 * many). A trace has no such run of zeros.
 */
#define UNWRITTEN 4096

struct area {
	struct perf_event_mmap_page *page;
	const uint8_t *base; /* NULL: not open */
	uint32_t ring, cpu;
	int32_t tid;
	uint64_t head;    /* delivered up to here */
	uint64_t n_bytes; /* delivered */
	bool has_wrapped; /* snapshots: written to its end at least once */
};

struct aux {
	struct aux_config config;
	struct area *areas;
	size_t n_areas;
};

/* Names the limit of locked memory and the need, so that the user sees which one to change. */
static int explain_no_memory(const struct aux *a, int e, struct error *err)
{
	const struct rings *r = a->config.rings;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t need = (rings_data_bytes(r) + page + a->config.area_bytes) >> 10;
	struct rlimit limit = { 0 };
	int64_t free_kib = 516; /* the kernel's own default */

	if (e != -EPERM)
		return error_errno(err, e, "cannot map an AUX area of %zu KiB on each of %zu rings",
				   a->config.area_bytes >> 10, rings_count(r));
	sources_number(NULL, "sys/kernel/perf_event_mlock_kb", &free_kib);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return error_set(err, e,
			 "cannot map the trace's buffers: this user may lock too little memory for "
			 "%zu buffers of %zu KiB (a ring of %zu KiB and an AUX area of %zu KiB "
			 "each). The limit is %lld KiB a CPU (kernel.perf_event_mlock_kb) and %llu "
			 "KiB more (ulimit -l). Make the buffers smaller (-m,16), or run 'sysctl "
			 "kernel.perf_event_mlock_kb=%zu' as root",
			 rings_count(r), need, rings_data_bytes(r) >> 10,
			 a->config.area_bytes >> 10, (long long)free_kib,
			 (unsigned long long)limit.rlim_cur >> 10, need);
}

static int open_area(struct aux *a, size_t ring, struct error *err)
{
	const struct aux_config *c = &a->config;
	const struct perf_backend *backend = rings_backend(c->rings);
	struct ring_place place = rings_place(c->rings, ring);
	int fd = rings_first_fd(c->rings, ring, c->counter);
	struct area *area = &a->areas[ring];
	uint64_t offset = (uint64_t)sysconf(_SC_PAGESIZE) + place.data_bytes;

	if (!place.page || fd < 0 || area->base)
		return 0;
	/* both must be in the page before the mapping, which has to agree with them */
	place.page->aux_offset = offset;
	place.page->aux_size = c->area_bytes;
	area->base =
		backend->map_aux(backend->context, fd, c->area_bytes, offset, c->mode == AUX_FULL);
	if (!area->base)
		return explain_no_memory(a, -errno, err);
	area->page = place.page;
	area->ring = (uint32_t)ring;
	area->cpu = place.cpu;
	area->tid = place.tid;
	return 0;
}

int aux_open_new(struct aux *a, struct error *err)
{
	int e = 0;

	for (size_t i = 0; i < a->n_areas && !e; i++)
		e = open_area(a, i, err);
	return e;
}

int aux_open(const struct aux_config *config, struct aux **out, struct error *err)
{
	cleanup(aux_close_at_exit) struct aux *a = xcalloc(1, sizeof(*a));
	int e;

	a->config = *config;
	a->n_areas = rings_count(config->rings);
	a->areas = xcalloc(a->n_areas, sizeof(*a->areas));
	e = aux_open_new(a, err);
	if (e < 0)
		return e;
	*out = take_ptr(a);
	return 0;
}

void aux_close(struct aux *a)
{
	const struct perf_backend *backend;

	if (!a)
		return;
	backend = rings_backend(a->config.rings);
	for (size_t i = 0; i < a->n_areas; i++)
		if (a->areas[i].base)
			backend->unmap(backend->context, (void *)a->areas[i].base,
				       a->config.area_bytes);
	free(a->areas);
	free(a);
}

enum aux_mode aux_mode(const struct aux *a)
{
	return a->config.mode;
}

struct rings *aux_rings(const struct aux *a)
{
	return a->config.rings;
}

bool aux_is_open(const struct aux *a, size_t area)
{
	return a->areas[area].base;
}

uint64_t aux_bytes(const struct aux *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->n_areas; i++)
		sum += a->areas[i].n_bytes;
	return sum;
}

/* Delivers bytes from `from` on, a position that grows beyond the area's size. */
static int deliver_bytes(struct aux *a, struct area *area, uint64_t from, uint64_t size,
			 const struct aux_sink *sink)
{
	uint64_t mask = a->config.area_bytes - 1, at = from & mask;
	size_t first = MIN(size, a->config.area_bytes - at);
	struct aux_piece piece = {
		.index = area->ring,
		.cpu = area->cpu,
		.tid = area->tid,
		.offset = from,
		.size = size,
		.part = { area->base + at, area->base },
		.part_size = { first, size - first },
	};
	int e = sink->take(sink->context, &piece);

	if (!e)
		area->n_bytes += size;
	return e;
}

/*
 * The tracing CPU writes aux_head. The acquire keeps our reads of the trace behind it; the release
 * keeps them before the kernel may write there again.
 */
int aux_drain_area(struct aux *a, size_t index, const struct aux_sink *sink, uint64_t *n)
{
	struct area *area = &a->areas[index];
	uint64_t head = __atomic_load_n(&area->page->aux_head, __ATOMIC_ACQUIRE);
	int e;

	*n = head - area->head;
	if (!*n)
		return 0;
	/* more than the area's size is impossible */
	if (*n > a->config.area_bytes) {
		*n = a->config.area_bytes;
		area->head = head - *n;
	}
	e = deliver_bytes(a, area, area->head, *n, sink);
	area->head = head;
	__atomic_store_n(&area->page->aux_tail, head, __ATOMIC_RELEASE);
	/* a full area made the kernel switch the event off; its record comes only later */
	rings_switch_on(a->config.rings, area->ring, a->config.counter);
	return e;
}

int aux_drain(struct aux *a, const struct aux_sink *sink)
{
	uint64_t n;
	int e = 0;

	for (size_t i = 0; i < a->n_areas && a->config.mode == AUX_FULL && !e; i++)
		if (a->areas[i].base)
			e = aux_drain_area(a, i, sink, &n);
	return e;
}

static bool has_data_at_end(const struct aux *a, const struct area *area)
{
	size_t n = MIN(a->config.area_bytes, (size_t)UNWRITTEN);
	const uint8_t *at = area->base + a->config.area_bytes - n;

	for (size_t i = 0; i < n; i++)
		if (at[i])
			return true;
	return false;
}

/*
 * Here aux_head is a place in the area, and starts at 0 again after the end. Before the area is
 * full, the new bytes are those since the last time. After that, the whole area is delivered, and
 * overlaps with earlier pieces.
 */
static int snapshot_area(struct aux *a, struct area *area, const struct aux_sink *sink)
{
	uint64_t size = a->config.area_bytes, head, n;

	head = __atomic_load_n(&area->page->aux_head, __ATOMIC_ACQUIRE) & (size - 1);
	area->has_wrapped = area->has_wrapped || has_data_at_end(a, area);
	if (area->has_wrapped)
		n = size;
	else
		n = head >= area->head ? head - area->head : size - area->head + head;
	area->head = head;
	n = MIN(n, a->config.snapshot_bytes);
	/* grown by the size, so that no place is negative */
	return n ? deliver_bytes(a, area, (head + size - n) & (size - 1), n, sink) : 0;
}

static void switch_all(struct aux *a, bool is_on)
{
	const struct aux_config *c = &a->config;

	for (size_t i = 0; i < a->n_areas; i++)
		if (a->areas[i].base && is_on)
			rings_switch_on(c->rings, a->areas[i].ring, c->counter);
		else if (a->areas[i].base)
			rings_switch_off(c->rings, a->areas[i].ring, c->counter);
}

int aux_snapshot(struct aux *a, const struct aux_sink *sink, size_t *n)
{
	int e = 0;

	*n = 0;
	if (a->config.mode != AUX_SNAPSHOTS)
		return 0;
	switch_all(a, false);
	for (size_t i = 0; i < a->n_areas && !e; i++) {
		uint64_t before = a->areas[i].n_bytes;

		if (a->areas[i].base)
			e = snapshot_area(a, &a->areas[i], sink);
		*n += a->areas[i].n_bytes > before;
	}
	switch_all(a, true);
	return e;
}
