/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/ring_room.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define RING_MAX_BYTES        ((uint64_t)1 << 20)
#define STACKS_RING_MAX_BYTES ((uint64_t)16 << 20)
#define RING_MIN_BYTES        ((uint64_t)16 << 10)

#define NS_PER_SECOND 1000000000ULL
#define MAX_RATE_HZ   1000000ULL
#define GUESSED_HZ    4000 /* of a counter of so many events */

/* Records: registers and what else is not stack; a chain of kernel.perf_event_max_stack. */
#define RECORD_BYTES 512
#define CHAIN_BYTES  1024

/* Side band has no rate: a storm of execs writes some megabytes a second. */
#define NAP_MAX_MS 100

static bool has_rate(const struct counter *c)
{
	return c->attr.freq || !strcmp(c->unit, "ns");
}

static uint64_t rate_of(const struct counter *c)
{
	if (c->attr.freq)
		return c->attr.sample_freq;
	return has_rate(c) ? NS_PER_SECOND / MAX(c->attr.sample_period, 1) : GUESSED_HZ;
}

static uint64_t sum_of_rates(const struct rings_config *c)
{
	uint64_t rate = 0;

	for (size_t i = 0; i < c->counters->n; i++)
		rate += MIN(rate_of(&c->counters->data[i]), MAX_RATE_HZ);
	return MIN(rate, MAX_RATE_HZ);
}

/*
 * Copied stacks take all of their size in the ring, however deep they are: a quarter of a
 * second of them. Less would wake the reader more often than it costs the kernel to clear a new
 * ring's pages; more would be in no cache any more when it is read.
 */
static uint64_t stacks_ring_bytes(const struct rings_config *c)
{
	return MIN(MAX(sum_of_rates(c) * c->stack_bytes / 4, RING_MAX_BYTES),
		   STACKS_RING_MAX_BYTES);
}

size_t ring_room_bytes(const struct rings_config *c)
{
	uint64_t usual = geteuid() == 0 ? RING_MAX_BYTES : RING_MAX_BYTES / 2;
	uint64_t want, size = RING_MIN_BYTES;

	if (c->stack_bytes && geteuid() == 0)
		usual = stacks_ring_bytes(c);
	want = c->ring_bytes ? c->ring_bytes : usual;
	while (size < want && size < (uint64_t)1 << 30)
		size *= 2;
	return MAX(size, (size_t)sysconf(_SC_PAGESIZE));
}

size_t ring_room_watermark(const struct rings_config *c, size_t ring_bytes)
{
	return ring_bytes / (c->stack_bytes ? 4 : 2);
}

int ring_room_nap_ms(const struct rings_config *c, size_t ring_bytes)
{
	uint64_t bytes = RECORD_BYTES + c->stack_bytes + (c->with_callchain ? CHAIN_BYTES : 0);
	uint64_t a_second = sum_of_rates(c) * bytes;

	for (size_t i = 0; i < c->counters->n; i++)
		if (!has_rate(&c->counters->data[i]))
			return 0;
	return (int)MIN((uint64_t)ring_bytes / 4 * 1000 / MAX(a_second, 1), NAP_MAX_MS);
}

bool ring_pace_judge(struct ring_pace *p, uint64_t now_ns, uint64_t waiting, uint64_t written)
{
	uint64_t passed_ns = now_ns - MIN(now_ns, p->since_ns);
	uint64_t nap_ns = (uint64_t)p->nap_ms * 1000000;
	uint64_t a_nap = written * nap_ns / MAX(MAX(passed_ns, nap_ns), 1);
	bool is_storm = a_nap > p->ring_bytes / 2 || !p->since_ns;

	p->is_busy = p->n_ended > 1 || waiting >= p->busy_bytes;
	p->n_ended = 0;
	if (!is_storm && passed_ns < nap_ns)
		return false;
	p->is_storm = is_storm;
	p->since_ns = now_ns;
	return true;
}

bool ring_pace_naps(const struct ring_pace *p)
{
	return p->nap_ms && p->is_busy && !p->is_storm;
}
