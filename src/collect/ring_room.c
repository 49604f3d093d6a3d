/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/ring_room.h"

#include <assert.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "counter/sources.h"

#define RING_MAX_BYTES        ((uint64_t)1 << 20)
#define STACKS_RING_MAX_BYTES ((uint64_t)16 << 20)
#define RING_MIN_BYTES        ((uint64_t)16 << 10)
#define USER_RING_BYTES       (RING_MAX_BYTES / 2)

/* Rings of this size hold whole copies while their reader waits for a processor. */
#define WHOLE_STACKS_RING_BYTES ((uint64_t)2 << 20)
#define WHOLE_STACK_BYTES       16384

#define MAX_RATE_HZ 1000000ULL
#define GUESSED_HZ  4000 /* assumed for a counter by count */

/* A record without its stack: registers and other fields, and the longest chain. */
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

	vec_foreach (c->counters, counter)
		if (!counter->in_kernel)
			rate += MIN(rate_of(counter), MAX_RATE_HZ);
	return MIN(rate, MAX_RATE_HZ);
}

/*
 * Copied stacks always use their full size in the ring: a quarter of a second of them fits. With
 * less, waking the reader costs more than the kernel's clearing of a new ring's pages. With more,
 * the data would leave the caches before it is read.
 */
static uint64_t stacks_ring_bytes(const struct rings_config *c)
{
	return MIN(MAX(sum_of_rates(c) * c->stack_bytes / 4, RING_MAX_BYTES),
		   STACKS_RING_MAX_BYTES);
}

/* As root does, and the user of a daemon. */
static bool locks_without_limit(const struct rings_config *c)
{
	return sources_capable(c->sources, CAP_IPC_LOCK);
}

/*
 * perf_mmap(): each online CPU gives a user a share, and the limit of locked memory is added. Half
 * of the sum is left to the user's other programs.
 */
static uint64_t lockable_bytes(const struct rings_config *c)
{
	size_t n = c->by_thread ? c->n_tids : c->cpus->n;
	struct rlimit limit = { 0 };
	int64_t free_kib = 516; /* the kernel's own default */
	uint64_t all;

	sources_number(c->sources, "sys/kernel/perf_event_mlock_kb", &free_kib);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	all = MIN(limit.rlim_cur, UINT64_MAX / 4) / 2 +
	      ((uint64_t)MAX(free_kib, 0) << 10) * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	return all / MAX(n, 1);
}

size_t ring_room_of_user(const struct rings_config *c, uint64_t lockable)
{
	uint64_t size = USER_RING_BYTES;
	uint64_t most = lockable - MIN(lockable, (uint64_t)sysconf(_SC_PAGESIZE));

	while (c->stack_bytes && size * 2 <= most && size < stacks_ring_bytes(c))
		size *= 2;
	return size;
}

uint32_t ring_room_stack_bytes(const struct rings_config *c)
{
	struct rings_config whole = *c;

	whole.stack_bytes = WHOLE_STACK_BYTES;
	if (locks_without_limit(c) ||
	    ring_room_of_user(&whole, lockable_bytes(c)) >= WHOLE_STACKS_RING_BYTES)
		return WHOLE_STACK_BYTES;
	return WHOLE_STACK_BYTES / 2;
}

static uint64_t usual_bytes(const struct rings_config *c)
{
	if (!locks_without_limit(c))
		return c->stack_bytes ? ring_room_of_user(c, lockable_bytes(c)) : USER_RING_BYTES;
	return c->stack_bytes ? stacks_ring_bytes(c) : RING_MAX_BYTES;
}

size_t ring_room_bytes(const struct rings_config *c)
{
	uint64_t want = c->ring_bytes ? c->ring_bytes : usual_bytes(c);
	uint64_t size = RING_MIN_BYTES;

	while (size < want && size < (uint64_t)1 << 30)
		size *= 2;
	size = MAX(size, (uint64_t)sysconf(_SC_PAGESIZE));
	assert(!(size & (size - 1))); /* the kernel maps powers of two alone */
	return size;
}

size_t ring_room_watermark(const struct rings_config *c, size_t ring_bytes)
{
	return ring_bytes / (c->stack_bytes ? 4 : 2);
}

int ring_room_nap_ms(const struct rings_config *c, size_t ring_bytes)
{
	uint64_t bytes = RECORD_BYTES + c->stack_bytes + (c->with_callchain ? CHAIN_BYTES : 0);
	uint64_t a_second = sum_of_rates(c) * bytes;

	vec_foreach (c->counters, counter)
		if (!counter->in_kernel && !has_rate(counter))
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
