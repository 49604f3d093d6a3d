/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings on the fake of perf_event_open(2) (fake_perf.h). */
#pragma once

#include "unit.h"

#include "base/buf.h"
#include "base/error.h"
#include "collect/missed.h"
#include "event/text.h"
#include "fake_perf.h"

struct fixture {
	struct fake_perf perf;
	struct perf_backend backend;
	struct counters counters;
	struct cpu_list cpus;
	struct rings *rings;
	struct event_sink sink;
	struct buf text;
	struct error err;
};

static struct fixture fx;

static inline int print_event(struct event_sink *sink, const struct event *event)
{
	(void)sink;
	event_format(&fx.text, event);
	return 0;
}

static inline struct counter counter_of(const char *name, uint64_t config)
{
	struct counter c = { .name = (char *)name, .spec = (char *)name, .unit = "events" };

	c.attr.type = PERF_TYPE_SOFTWARE;
	c.attr.config = config;
	c.attr.sample_period = 1000;
	return c;
}

static inline int setup(void **state)
{
	(void)state;
	fx = (struct fixture){ .sink = { print_event } };
	fx.backend = fake_backend(&fx.perf);
	vec_push(&fx.counters, counter_of("first", PERF_COUNT_SW_CPU_CLOCK));
	vec_push(&fx.cpus, 0);
	vec_push(&fx.cpus, 1);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	rings_close(fx.rings);
	for (int i = 0; i < fx.perf.n; i++)
		assert_false(fx.perf.events[i].is_open);
	vec_fini(&fx.counters);
	vec_fini(&fx.cpus);
	buf_fini(&fx.text);
	return 0;
}

static bool with_cgroup, is_inherited;
static int cgroup_fd = -1;

static inline int open_rings(uint64_t ring_bytes)
{
	static const struct counter_sources sources;
	struct rings_config c = {
		.backend = &fx.backend,
		.counters = &fx.counters,
		.sources = &sources,
		.cpus = &fx.cpus,
		.cgroup_fd = cgroup_fd,
		.with_callchain = true,
		.with_cgroup = with_cgroup,
		.inherit = is_inherited,
		.ring_bytes = ring_bytes,
	};

	return rings_open(&c, &fx.rings, &fx.err);
}

static inline const char *drained(uint64_t until_ns)
{
	fx.text.len = 0;
	assert_int_equal(rings_drain(fx.rings, until_ns, &fx.sink), 0);
	return buf_cstr(&fx.text);
}

/* A PERF_RECORD_SAMPLE of IP, TID, TIME, CALLCHAIN, after the id when there are several counters.
 */
static inline bool write_sample(int cpu, uint64_t time, uint64_t ip, uint64_t id)
{
	struct buf b = { 0 };
	bool is_written;

	buf_u32(&b, PERF_RECORD_SAMPLE);
	buf_u32(&b, PERF_RECORD_MISC_USER); /* misc, and the size, set below */
	if (id)
		buf_u64(&b, id);
	buf_u64(&b, ip);
	buf_u32(&b, 41);
	buf_u32(&b, 42);
	buf_u64(&b, time);
	buf_u64(&b, 3);
	buf_u64(&b, PERF_CONTEXT_USER);
	buf_u64(&b, ip);
	buf_u64(&b, ip + 0x100);
	((uint16_t *)b.data)[3] = (uint16_t)b.len;
	is_written = fake_write(fake_ring(&fx.perf, cpu), b.data, b.len);
	buf_fini(&b);
	return is_written;
}

static inline void write_lost(int cpu, uint64_t time, uint64_t n)
{
	struct {
		struct perf_event_header h;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
	} record = { { PERF_RECORD_LOST, 0, sizeof(record) }, 0, n, 1, 1, time };

	assert_true(fake_write(fake_ring(&fx.perf, cpu), &record, sizeof(record)));
}

static inline void write_task(int cpu, uint32_t type, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		uint32_t own_pid, own_tid;
		uint64_t own_time;
	} record = { { type, 0, sizeof(record) }, 41, 1, 41, 1, time, 41, 41, time };

	fake_write(fake_ring(&fx.perf, cpu), &record, sizeof(record));
}

static uint64_t losses[N_LOSS_REASONS];

static inline void count_loss(void *context, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)context, (void)counter;
	losses[reason] += n;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
