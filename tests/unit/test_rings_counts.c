/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of rings: losses, values of counters, room. */
#include "rings_world.h"

#include "collect/ring_room.h"

static void lost_samples_are_distinguished_from_lost_side_band(void **state)
{
	(void)state;
	memset(losses, 0, sizeof(losses));
	assert_int_equal(open_rings(0), 0);
	fx.perf.events[0].lost = 3; /* the dummy of CPU 0 */
	fx.perf.events[1].lost = 40;
	rings_collect_losses(fx.rings, false, count_loss, NULL);
	assert_int_equal(losses[LOSS_RING_FULL], 0); /* nobody said that something was lost */
	write_lost(0, 5, 43);
	drained(UINT64_MAX);
	rings_collect_losses(fx.rings, false, count_loss, NULL);
	assert_int_equal(losses[LOSS_RING_FULL], 40);
	assert_int_equal(losses[LOSS_RING_RECORDS], 3);
	fx.perf.events[1].lost = 45;
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_int_equal(losses[LOSS_RING_FULL], 45);
}

static void a_counters_own_count_is_beside_its_samples(void **state)
{
	const struct rings_tally *t;

	(void)state;
	assert_int_equal(open_rings(0), 0);
	write_sample(0, 1, 0x1000, 0);
	write_sample(0, 2, 0x1000, 0);
	drained(UINT64_MAX);
	fx.perf.events[1].counted = 7000;
	fx.perf.events[1].lost = 3;
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	t = rings_tally(fx.rings, 0);
	assert_non_null(t);
	assert_int_equal(t->counted, 7000);
	assert_int_equal(t->samples, 2);
	assert_int_equal(t->period, 2 * fx.counters.data[0].attr.sample_period);
	assert_int_equal(t->lost, 3);
	assert_false(t->was_throttled);
	assert_true(t->n_fds >= 1);
}

#define MS 1000000ULL

static void assert_gap(uint64_t counted_ns, uint64_t taken, uint64_t n_begun, uint64_t late,
		       uint64_t unfinished)
{
	struct clock_gap gap = clock_gap(counted_ns, MS, taken, n_begun);

	assert_int_equal(gap.late, late);
	assert_int_equal(gap.unfinished, unfinished);
}

/* Whatever the machine does, samples and both gaps add up to the time that the clock counted. */
static void a_clock_tells_the_samples_that_were_never_taken(void **state)
{
	(void)state;
	/* One thread on two CPUs, every tick in time: a period is begun on each. */
	assert_gap(2030 * MS, 2029, 2, 0, 1);
	/* The same thread with late interrupts: 2.03 s of CPU time, samples for 0.90 s. */
	assert_gap(2030 * MS, 900, 2, 1128, 2);
	/* Ten thousand threads of 0.1 ms: none was late. */
	assert_gap(1000 * MS, 0, 20000, 0, 1000);
	/* A whole machine: 2,884 samples and 131 lost, of 4,270. */
	assert_gap(4270 * MS, 2884 + 131, 2, 1253, 2);
	/* A rate that went up, or no time at all. */
	assert_gap(10 * MS, 20, 1, 0, 0);
	assert_gap(0, 0, 1, 0, 0);
	assert_int_equal(clock_gap(1000, 0, 0, 1).late, 0);
}

static void a_clock_that_leaves_modes_out_tells_nothing(void **state)
{
	(void)state;
	assert_true(clock_shows_missed(&(struct perf_event_attr){ .exclude_hv = 1 }));
	assert_false(clock_shows_missed(&(struct perf_event_attr){ .exclude_user = 1 }));
	assert_false(clock_shows_missed(&(struct perf_event_attr){ .exclude_kernel = 1 }));
	assert_false(clock_shows_missed(&(struct perf_event_attr){ .exclude_idle = 1 }));
}

/* Threads that are started begin a period on each CPU that they come to. */
static void started_threads_begin_periods(void **state)
{
	(void)state;
	is_inherited = true;
	assert_int_equal(open_rings(0), 0);
	is_inherited = false;
	write_task(0, PERF_RECORD_FORK, 10);
	write_task(1, PERF_RECORD_FORK, 20);
	drained(UINT64_MAX);
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_int_equal(rings_tally(fx.rings, 0)->n_begun,
			 rings_tally(fx.rings, 0)->n_fds + 2 * rings_count(fx.rings));
}

static void an_old_kernel_has_the_lost_samples_of_a_single_counter(void **state)
{
	uint64_t by_cpu[2] = { 0 };

	(void)state;
	fx.perf.is_old = true;
	assert_int_equal(open_rings(0), 0);
	write_lost(1, 5, 7);
	drained(UINT64_MAX);
	fx.perf.events[1].counted = 7000;
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_non_null(rings_tally(fx.rings, 0));
	assert_int_equal(rings_tally(fx.rings, 0)->lost, 7);
	rings_add_losses(fx.rings, by_cpu, 2);
	assert_int_equal(by_cpu[0], 0);
	assert_int_equal(by_cpu[1], 7);
	assert_int_equal(rings_tally(fx.rings, 0)->counted, 7000);
}

static void rings_are_left_alone_only_as_long_as_they_have_room(void **state)
{
	static const uint32_t rates[] = { 99, 999, 4000, 20000 };
	struct rings_config c = { .counters = &fx.counters,
				  .cpus = &fx.cpus,
				  .with_callchain = true };
	struct counter *counter = &fx.counters.data[0];

	(void)state;
	counter->attr.freq = 1;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		for (c.stack_bytes = 0; c.stack_bytes <= 32768; c.stack_bytes += 8192) {
			size_t room;
			uint64_t nap_ms;

			counter->attr.sample_freq = rates[i];
			room = ring_room_bytes(&c);
			nap_ms = (uint64_t)ring_room_nap_ms(&c, room);
			assert_true(nap_ms * rates[i] / 1000 * (c.stack_bytes + 1024) <= room / 2);
		}
	}
	counter->attr.freq = 0;
	counter->attr.sample_period = 1;
	assert_int_equal(ring_room_nap_ms(&c, 1 << 20), 0);
}

static void an_ordinary_users_rings_are_as_large_as_he_may_lock(void **state)
{
	static const struct {
		uint32_t stack_bytes;
		uint64_t lockable, want;
	} rows[] = {
		{ 0, 1 << 30, 512 << 10 },
		{ 16384, 0, 512 << 10 },
		{ 16384, 516 << 10, 512 << 10 },
		{ 16384, 2 << 20, 1 << 20 }, /* its first page is not of the data */
		{ 16384, (2 << 20) + 65536, 2 << 20 },
		{ 16384, 1 << 30, 4 << 20 }, /* a quarter of a second */
		{ 8192, 1 << 30, 2 << 20 },
	};
	struct rings_config c = { .counters = &fx.counters };

	(void)state;
	fx.counters.data[0].attr.freq = 1;
	fx.counters.data[0].attr.sample_freq = 997;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		c.stack_bytes = rows[i].stack_bytes;
		assert_int_equal(ring_room_of_user(&c, rows[i].lockable), rows[i].want);
	}
}

/* So many bytes were written in a ring while the ms passed, all of which wait there. */
static bool naps_after(struct ring_pace *p, uint64_t *now_ns, uint64_t ms, uint64_t written)
{
	*now_ns += ms * 1000000;
	ring_pace_judge(p, *now_ns, written, written);
	return ring_pace_naps(p);
}

static void a_storm_of_samples_is_polled_for_as_long_as_it_lasts(void **state)
{
	struct ring_pace p = { .nap_ms = 40, .ring_bytes = 4 << 20, .busy_bytes = 1 << 19 };
	uint64_t now_ns = 1000000000;

	(void)state;
	/* Nothing is known yet. */
	assert_false(naps_after(&p, &now_ns, 0, 3 << 20));
	assert_true(naps_after(&p, &now_ns, 40, 1 << 20));
	/* A quiet ring wakes whom it will. */
	assert_false(naps_after(&p, &now_ns, 40, 1 << 10));
	/* What a nap would bring is more than half, whether in a nap, a part of one, or longer. */
	assert_false(naps_after(&p, &now_ns, 40, (2 << 20) + 4096));
	assert_false(naps_after(&p, &now_ns, 10, 1 << 20));
	assert_false(naps_after(&p, &now_ns, 10, (2 << 20) + 4096));
	assert_false(naps_after(&p, &now_ns, 60, (3 << 20) + 4096));
	/* It is over when a time as long as a nap had less; not before. */
	assert_false(naps_after(&p, &now_ns, 10, 1 << 20));
	assert_true(naps_after(&p, &now_ns, 30, 1 << 20));
	/* Short processes alone are a reason to nap, except where naps are off. */
	p.n_ended = 2;
	assert_true(naps_after(&p, &now_ns, 40, 0));
	assert_false(naps_after(&p, &now_ns, 40, 0));
	p.nap_ms = 0;
	p.n_ended = 2;
	assert_false(naps_after(&p, &now_ns, 40, 0));
}

/* A thread that began meanwhile could have events of both lists. */
static void threads_that_are_opened_again_have_their_new_events_alone(void **state)
{
	static const struct counter_sources sources;
	const int32_t former[] = { 7 }, now[] = { 7, 8 };
	struct rings_config c = {
		.backend = &fx.backend,
		.counters = &fx.counters,
		.sources = &sources,
		.cpus = &fx.cpus,
		.tids = former,
		.n_tids = 1,
		.cgroup_fd = -1,
		.with_callchain = true,
		.inherit = true,
	};
	int n_enabled = 0;

	(void)state;
	assert_int_equal(rings_open(&c, &fx.rings, &fx.err), 0);
	assert_int_equal(fx.perf.n, 4); /* side band and counter of two CPUs */
	assert_int_equal(rings_open_again(fx.rings, now, 2, &fx.err), 0);
	assert_int_equal(rings_enable(fx.rings, &fx.err), 0);
	for (int i = 0; i < fx.perf.n; i++) {
		const struct fake_event *e = &fx.perf.events[i];

		assert_int_equal(e->is_enabled, i >= 4);
		assert_int_equal(e->is_open, i >= 4 || e->page);
		n_enabled += e->is_enabled;
	}
	assert_int_equal(n_enabled, 8);
	write_sample(1, 100, 0x1000, 0);
	assert_non_null(strstr(drained(UINT64_MAX), "cpu1 41/42 sample"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_that_are_opened_again_have_their_new_events_alone),
		TEST(lost_samples_are_distinguished_from_lost_side_band),
		TEST(a_counters_own_count_is_beside_its_samples),
		TEST(a_clock_tells_the_samples_that_were_never_taken),
		TEST(a_clock_that_leaves_modes_out_tells_nothing),
		TEST(started_threads_begin_periods),
		TEST(an_old_kernel_has_the_lost_samples_of_a_single_counter),
		TEST(rings_are_left_alone_only_as_long_as_they_have_room),
		TEST(an_ordinary_users_rings_are_as_large_as_he_may_lock),
		TEST(a_storm_of_samples_is_polled_for_as_long_as_it_lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
