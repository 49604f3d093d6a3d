/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rings_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/cpu_watch.h"
#include "perfdata/regs.h"

static void of_an_extended_feature_one_counter_is_opened_with_raw_data(void **state)
{
	int n = 0;

	(void)state;
	fx.counters.data[0].ext = "ibs_op";
	vec_push(&fx.counters, counter_of("derived", PERF_COUNT_SW_CPU_CLOCK));
	fx.counters.data[1].ext = "ibs_op";
	fx.counters.data[1].carrier = 1;
	assert_int_equal(open_rings(0), 0);
	for (int i = 0; i < fx.perf.n; i++) {
		assert_true(fx.perf.events[i].attr.sample_type & PERF_SAMPLE_RAW);
		n += fx.perf.events[i].attr.config != PERF_COUNT_SW_DUMMY;
	}
	assert_int_equal(n, 2); /* CPUs */
}

static void records_of_all_cpus_come_in_the_order_of_time(void **state)
{
	(void)state;
	assert_int_equal(open_rings(0), 0);
	write_sample(0, 100, 0x1000, 0);
	write_sample(0, 300, 0x3000, 0);
	write_sample(1, 200, 0x2000, 0);
	write_sample(1, 400, 0x4000, 0);
	assert_string_equal(drained(300), "0.000000100 cpu0 41/42 sample counter=0 mode=user "
					  "period=1000 ip=0x1000 user=0x1100\n"
					  "0.000000200 cpu1 41/42 sample counter=0 mode=user "
					  "period=1000 ip=0x2000 user=0x2100\n"
					  "0.000000300 cpu0 41/42 sample counter=0 mode=user "
					  "period=1000 ip=0x3000 user=0x3100\n");
	/* Younger records stay in their ring until no older one can come. */
	write_sample(0, 350, 0x3500, 0);
	assert_string_equal(drained(UINT64_MAX), "0.000000350 cpu0 41/42 sample counter=0 "
						 "mode=user period=1000 ip=0x3500 user=0x3600\n"
						 "0.000000400 cpu1 41/42 sample counter=0 "
						 "mode=user period=1000 ip=0x4000 user=0x4100\n");
}

static void many_cpus_are_merged_in_order(void **state)
{
	uint64_t last = 0, n = 0;

	(void)state;
	for (uint32_t cpu = 2; cpu < 13; cpu++)
		vec_push(&fx.cpus, cpu);
	assert_int_equal(open_rings(0), 0);
	srand(3);
	for (int cpu = 0; cpu < 13; cpu++)
		for (uint64_t t = 1 + (uint64_t)rand() % 50, i = 0; i < 40;
		     i++, t += (uint64_t)rand() % 50)
			write_sample(cpu, t, 0x1000, 0);
	for (const char *at = drained(UINT64_MAX); *at; at = strchr(at, '\n') + 1, n++) {
		uint64_t ns;

		assert_int_equal(sscanf(at, "0.%lu", &ns), 1);
		assert_true(ns >= last);
		last = ns;
	}
	assert_int_equal(n, 13 * 40);
}

static void records_that_wrap_around_are_whole(void **state)
{
	unsigned int n_written = 0, n_read = 0;

	(void)state;
	assert_int_equal(open_rings(16384), 0);
	for (uint64_t t = 1; t < 5000; t++) {
		n_written += write_sample(0, t, t << 12, 0);
		if (t % 100)
			continue;
		for (const char *at = drained(UINT64_MAX); (at = strchr(at, '\n')); at++)
			n_read++;
	}
	assert_int_equal(n_written, 4999);
	for (const char *at = drained(UINT64_MAX); (at = strchr(at, '\n')); at++)
		n_read++;
	assert_int_equal(n_read, n_written);
}

struct slow_sink {
	struct event_sink sink; /* first: the sink is also this */
	uint32_t n, n_all;
	bool had_room;
};

/* At the last record, nearly all of the ring has been read. */
static int look_for_room(struct event_sink *sink, const struct event *e)
{
	struct slow_sink *s = (struct slow_sink *)sink;

	if (++s->n < s->n_all)
		return 0;
	assert_false(write_sample(0, e->time_ns + 1, 0x1000, 0));
	s->had_room = rings_have_room(fx.rings);
	assert_true(write_sample(0, e->time_ns + 1, 0x1000, 0));
	return 0;
}

static void room_of_records_that_were_read_comes_back_meanwhile(void **state)
{
	struct slow_sink slow = { .sink.push = look_for_room };

	(void)state;
	assert_int_equal(open_rings(16384), 0);
	assert_true(rings_have_room(fx.rings));
	while (write_sample(0, slow.n_all + 1, 0x1000, 0))
		slow.n_all++;
	assert_false(rings_have_room(fx.rings));
	assert_int_equal(rings_drain(fx.rings, UINT64_MAX, &slow.sink), 0);
	assert_int_equal(slow.n, slow.n_all);
	assert_true(slow.had_room);
	slow.n_all = UINT32_MAX;
	assert_int_equal(rings_drain(fx.rings, UINT64_MAX, &slow.sink), 0);
	assert_true(rings_have_room(fx.rings));
}

#define STACK_BYTES 8192

/* A sample with a copied stack, all words of which are its time. */
static bool write_stack(int cpu, uint64_t time)
{
	struct buf b = { 0 };
	bool is_written;

	buf_u32(&b, PERF_RECORD_SAMPLE);
	buf_u32(&b, PERF_RECORD_MISC_USER);
	buf_u64(&b, 0x1000);
	buf_u32(&b, 41);
	buf_u32(&b, 42);
	buf_u64(&b, time);
	buf_u64(&b, time % 7); /* callers: records of several sizes */
	for (uint64_t i = 0; i < time % 7; i++)
		buf_u64(&b, 0x2000 + i);
	buf_u64(&b, PERF_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < __builtin_popcountll(UNWIND_PERF_REGS); i++)
		buf_u64(&b, time + (uint64_t)i);
	buf_u64(&b, STACK_BYTES);
	for (int i = 0; i < STACK_BYTES / 8; i++)
		buf_u64(&b, time);
	buf_u64(&b, STACK_BYTES);
	((uint16_t *)b.data)[3] = (uint16_t)b.len;
	is_written = fake_write(fake_ring(&fx.perf, cpu), b.data, b.len);
	buf_fini(&b);
	return is_written;
}

struct stack_sink {
	struct event_sink sink; /* first: the sink is also this */
	uint64_t last, n_lost;
	uint32_t n, n_expected, n_came; /* n_came: of those that were expected */
	bool expected[20000];           /* by time */
};

static void check_stack(const struct event *e)
{
	const struct sample_extra *x = e->sample.extra;
	uint64_t word;

	assert_int_equal(e->type, EVENT_SAMPLE);
	assert_int_equal(e->sample.n_callers, e->time_ns % 7);
	assert_int_equal(x->user.values[3], e->time_ns + 3);
	assert_int_equal(x->stack_size, STACK_BYTES);
	for (size_t i = 0; i < STACK_BYTES; i += 512) {
		memcpy(&word, x->stack + i, sizeof(word));
		assert_int_equal(word, e->time_ns);
	}
}

static void expect_stack(struct event_sink *sink, const struct event *e)
{
	struct stack_sink *s = (struct stack_sink *)sink;

	check_stack(e);
	assert_true(e->time_ns > s->last);
	s->n_expected++;
	s->expected[e->time_ns] = true;
}

static int take_stack(struct event_sink *sink, const struct event *e)
{
	struct stack_sink *s = (struct stack_sink *)sink;

	if (e->type != EVENT_SAMPLE)
		return 0;
	check_stack(e);
	assert_true(e->time_ns > s->last);
	s->last = e->time_ns;
	s->n++;
	s->n_came += s->expected[e->time_ns];
	return 0;
}

static void copied_stacks_are_expected_and_come_as_they_are(void **state)
{
	static const struct counter_sources sources;
	static struct stack_sink s = { .sink = { take_stack, expect_stack } };
	struct rings_config c = {
		.backend = &fx.backend,
		.counters = &fx.counters,
		.sources = &sources,
		.cpus = &fx.cpus,
		.cgroup_fd = -1,
		.with_callchain = true,
		.stack_bytes = STACK_BYTES,
		.ring_bytes = 1 << 17,
	};
	uint32_t n_written = 0;

	(void)state;
	assert_int_equal(rings_open(&c, &fx.rings, &fx.err), 0);
	srand(5);
	for (uint64_t t = 1; t < ARRAY_SIZE(s.expected); t++) {
		if (rand() % 8 == 0)
			write_task(t % 2, PERF_RECORD_EXIT, t);
		else
			n_written += write_stack(rand() % 3 == 0, t);
		if (rand() % 9 == 0)
			rings_drain(fx.rings, t - (uint64_t)(rand() % 3), &s.sink);
	}
	rings_drain(fx.rings, UINT64_MAX, &s.sink);
	assert_int_equal(s.n, n_written);
	assert_int_equal(s.n_came, s.n_expected);
	assert_true(s.n_came > n_written / 3);
}

static void ids_tell_counters_apart(void **state)
{
	(void)state;
	vec_push(&fx.counters, counter_of("second", PERF_COUNT_SW_TASK_CLOCK));
	assert_int_equal(open_rings(0), 0);
	/* Descriptors: dummy 100, first 101, second 102; an id is a thousand times that. */
	write_sample(0, 1, 0x1000, 102000);
	write_sample(0, 2, 0x1000, 101000);
	assert_string_equal(drained(UINT64_MAX), "0.000000001 cpu0 41/42 sample counter=1 "
						 "mode=user period=1000 ip=0x1000 user=0x1100\n"
						 "0.000000002 cpu0 41/42 sample counter=0 "
						 "mode=user period=1000 ip=0x1000 user=0x1100\n");
}

static void a_hybrid_counter_is_opened_on_its_own_cores(void **state)
{
	(void)state;
	fx.counters.data[0].cpus = (char *)"1";
	assert_int_equal(open_rings(0), 0);
	/* Dummies on both CPUs, the counter on one. */
	assert_int_equal(fx.perf.n, 3);
	assert_int_equal(fx.perf.events[2].cpu, 1);
	assert_int_equal(fx.perf.events[2].attr.config, PERF_COUNT_SW_CPU_CLOCK);
}

/* Behind "first", which is in none. */
static void add_group(void)
{
	vec_push(&fx.counters, counter_of("leader", PERF_COUNT_SW_PAGE_FAULTS));
	vec_push(&fx.counters, counter_of("member", PERF_COUNT_SW_CONTEXT_SWITCHES));
	fx.counters.data[1].group = fx.counters.data[2].group = 2;
}

static void a_group_is_opened_under_the_leader_of_its_cpu(void **state)
{
	(void)state;
	add_group();
	assert_int_equal(open_rings(0), 0);
	assert_int_equal(fx.perf.n, 8);
	for (int cpu = 0; cpu < 2; cpu++) {
		const struct fake_event *e = &fx.perf.events[4 * cpu];

		for (int i = 0; i < 4; i++) {
			assert_int_equal(e[i].cpu, cpu);
			assert_int_equal(e[i].group_fd, i < 3 ? -1 : 100 + 4 * cpu + 2);
			/* A member begins with its leader; all share the ring. */
			assert_int_equal(e[i].attr.disabled, i < 3);
			assert_int_equal(e[i].output_fd, i ? 100 + 4 * cpu : -1);
			assert_int_equal(e[i].attr.sample_period, i ? 1000 : 0);
		}
	}
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	assert_int_equal(fx.perf.n, 12);
	assert_int_equal(fx.perf.events[11].group_fd, 110);
}

static void a_group_for_which_there_is_no_room_is_named(void **state)
{
	(void)state;
	add_group();
	vec_push(&fx.counters, counter_of("third", PERF_COUNT_SW_CPU_MIGRATIONS));
	fx.counters.data[3].group = 2;
	fx.perf.max_group = 2;
	assert_int_equal(open_rings(0), -EINVAL);
	assert_non_null(
		strstr(fx.err.text, "group '{leader,member,third}' can't be opened (EINVAL)"));
	assert_non_null(strstr(fx.err.text, "'third' is the first without a counter"));
	/* A counter that would be refused alone, too, is reported separately. */
	fx.perf.is_kernel_forbidden = true;
	vec_foreach (&fx.counters, c)
		c->attr.exclude_kernel = 1;
	fx.counters.data[3].attr.exclude_kernel = 0;
	fx.counters.data[3].attr.exclude_user = 1;
	assert_int_equal(open_rings(0), -EACCES);
	assert_non_null(strstr(fx.err.text, "event 'third' can't be opened (EACCES)"));
}

/* ENOENT is not of the event then: the dummy is in every kernel. */
static void a_control_group_without_controller_is_named(void **state)
{
	char *here = realpath(".", NULL);

	(void)state;
	cgroup_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(cgroup_fd >= 0);
	fx.perf.fail_dummy = ENOENT;
	assert_int_equal(open_rings(0), -ENOENT);
	close(cgroup_fd);
	cgroup_fd = -1;
	assert_non_null(strstr(fx.err.text, "has no perf_event controller"));
	assert_non_null(strstr(fx.err.text, here));
	free(here);
}

static void an_old_kernel_gets_known_fields_only(void **state)
{
	(void)state;
	memset(losses, 0, sizeof(losses));
	fx.perf.is_old = true;
	assert_int_equal(open_rings(0), 0);
	assert_false(fx.perf.events[1].attr.read_format & (1 << 4) /* PERF_FORMAT_LOST */);
	write_lost(1, 5, 7);
	drained(UINT64_MAX);
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_int_equal(losses[LOSS_RING_FULL], 7);
}

static bool all_have_cgroups(bool has)
{
	for (int i = 0; i < fx.perf.n; i++)
		if (!(fx.perf.events[i].attr.sample_type & PERF_SAMPLE_CGROUP) == has)
			return false;
	return fx.perf.n > 0;
}

/* The opened attributes define the layout of records. */
static void samples_have_no_cgroup_where_the_kernel_knows_none(void **state)
{
	(void)state;
	with_cgroup = fx.perf.is_old = true;
	assert_int_equal(open_rings(0), 0);
	with_cgroup = false;
	assert_true(all_have_cgroups(false));
	write_sample(0, 100, 0x1000, 0);
	assert_string_equal(drained(UINT64_MAX),
			    "0.000000100 cpu0 41/42 sample counter=0 mode=user "
			    "period=1000 ip=0x1000 user=0x1100\n");
}

static void all_events_of_a_ring_tell_the_cgroup(void **state)
{
	(void)state;
	with_cgroup = true;
	assert_int_equal(open_rings(0), 0);
	with_cgroup = false;
	assert_true(all_have_cgroups(true));
}

static void rings_shrink_to_the_locked_memory_limit(void **state)
{
	(void)state;
	fx.perf.max_ring_bytes = 65536;
	assert_int_equal(open_rings(1 << 20), 0);
	assert_int_equal(fake_ring(&fx.perf, 0)->map_size, 4096 + 65536);
	assert_int_equal(fake_ring(&fx.perf, 1)->map_size, 4096 + 65536);
}

static void no_room_for_the_smallest_ring_is_an_error_with_the_remedy(void **state)
{
	(void)state;
	fx.perf.max_ring_bytes = 1;
	assert_int_equal(open_rings(0), -EPERM);
	assert_non_null(strstr(fx.err.text, "perf_event_mlock_kb"));
}

static void a_hidden_kernel_is_left_out_with_a_note(void **state)
{
	(void)state;
	fx.perf.is_kernel_forbidden = true;
	assert_int_equal(open_rings(0), 0);
	assert_non_null(strstr(rings_note(fx.rings), "user code only"));
	assert_int_equal(fx.perf.events[1].attr.exclude_kernel, 1);
}

static void a_counter_that_cannot_be_opened_is_named(void **state)
{
	(void)state;
	fx.perf.fail_open = ENOENT;
	assert_int_equal(open_rings(0), -ENOENT);
	assert_non_null(strstr(fx.err.text, "first"));
}

static void a_size_that_lies_is_a_bad_record_and_no_more(void **state)
{
	struct perf_event_header h = { PERF_RECORD_SAMPLE, 0, 4 };

	(void)state;
	memset(losses, 0, sizeof(losses));
	assert_int_equal(open_rings(0), 0);
	fake_write(fake_ring(&fx.perf, 0), &h, sizeof(h));
	h.size = 4000;
	fake_write(fake_ring(&fx.perf, 1), &h, sizeof(h));
	assert_string_equal(drained(UINT64_MAX), "");
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_int_equal(losses[LOSS_BAD_RECORD], 2);
	write_sample(0, 9, 0x1000, 0);
	assert_non_null(strstr(drained(UINT64_MAX), "ip=0x1000"));
}

static void records_later_than_their_time_are_counted(void **state)
{
	(void)state;
	memset(losses, 0, sizeof(losses));
	assert_int_equal(open_rings(0), 0);
	write_sample(0, 100, 0x1000, 0);
	drained(UINT64_MAX);
	write_sample(1, 50, 0x2000, 0);
	assert_non_null(strstr(drained(UINT64_MAX), "ip=0x2000"));
	rings_collect_losses(fx.rings, true, count_loss, NULL);
	assert_int_equal(losses[LOSS_OUT_OF_ORDER], 1);
}

static void a_cpu_that_comes_back_is_counted_anew_into_its_ring(void **state)
{
	int n;

	(void)state;
	assert_int_equal(open_rings(0), 0);
	assert_int_equal(rings_enable(fx.rings, &fx.err), 0);
	n = fx.perf.n;
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	/* It came twice before anybody looked: nothing is counted twice, also after a pause. */
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	assert_int_equal(rings_pause(fx.rings, true, &fx.err), 0);
	assert_int_equal(rings_pause(fx.rings, false, &fx.err), 0);
	rings_switch_off(fx.rings, 1, 0);
	rings_switch_on(fx.rings, 1, 0);
	assert_int_equal(rings_first_fd(fx.rings, 1, 0), 100 + n + 3);
	assert_int_equal(fx.perf.n, n + 4); /* the dummy, and the counter */
	for (int i = 0; i < n + 2; i++)
		assert_int_equal(fx.perf.events[i].is_enabled, fx.perf.events[i].cpu != 1);
	for (int i = n + 2; i < fx.perf.n; i++) {
		assert_int_equal(fx.perf.events[i].cpu, 1);
		assert_true(fx.perf.events[i].is_enabled);
		assert_ptr_equal(fake_event(&fx.perf, fx.perf.events[i].output_fd),
				 fake_ring(&fx.perf, 1));
	}
	assert_int_equal(rings_cpu_online(fx.rings, 7, &fx.err), -ENOENT);
}

static void the_side_band_begins_before_the_samples(void **state)
{
	int n_side_bands = 0;

	(void)state;
	assert_int_equal(open_rings(0), 0);
	assert_int_equal(rings_enable_side_band(fx.rings, &fx.err), 0);
	for (int i = 0; i < fx.perf.n; i++) {
		bool is_side_band = fx.perf.events[i].attr.config == PERF_COUNT_SW_DUMMY;

		assert_int_equal(fx.perf.events[i].is_enabled, is_side_band);
		n_side_bands += is_side_band;
	}
	assert_int_equal(n_side_bands, 2);
	assert_int_equal(rings_enable(fx.rings, &fx.err), 0);
	for (int i = 0; i < fx.perf.n; i++)
		assert_true(fx.perf.events[i].is_enabled);
}

static void a_cpu_whose_new_counters_are_refused_keeps_the_former_ones(void **state)
{
	static const int codes[][2] = { { EMFILE, -EMFILE }, { EBUSY, 0 } };
	int n;

	(void)state;
	assert_int_equal(open_rings(0), 0);
	assert_int_equal(rings_enable(fx.rings, &fx.err), 0);
	n = fx.perf.n;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		fx.perf.fail_open = codes[i][0];
		assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), codes[i][1]);
		/* The new dummy is closed. */
		assert_int_equal(fx.perf.n, n + 1 + (int)i);
		for (int k = 0; k < fx.perf.n; k++) {
			assert_int_equal(fx.perf.events[k].is_open, k < n);
			assert_int_equal(fx.perf.events[k].is_enabled, k < n);
		}
		assert_int_equal(rings_place(fx.rings, 1).fd, 102);
	}
	write_sample(1, 9, 0x1000, 0);
	assert_non_null(strstr(drained(UINT64_MAX), "ip=0x1000"));
	fx.perf.fail_open = 0;
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	assert_false(fx.perf.events[2].is_enabled);
	assert_true(fx.perf.events[fx.perf.n - 1].is_enabled);
}

static void a_cpu_that_is_refused_when_it_first_comes_can_be_opened_later(void **state)
{
	static const int codes[] = { EMFILE, EBUSY };

	(void)state;
	fx.perf.n_online = 1;
	assert_int_equal(open_rings(0), 0);
	fx.perf.n_online = 0;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		fx.perf.fail_open = codes[i];
		assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), -codes[i]);
		assert_null(rings_place(fx.rings, 1).page);
		assert_int_equal(rings_place(fx.rings, 1).fd, -1);
		assert_null(fake_ring(&fx.perf, 1));
	}
	fx.perf.fail_open = 0;
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	write_sample(1, 9, 0x1000, 0);
	assert_non_null(strstr(drained(UINT64_MAX), "ip=0x1000"));
}

static void what_counts_on_all_threads_of_a_cpu_is_opened_anew(void **state)
{
	(void)state;
	fx.counters.data[0].of_all_threads = true;
	assert_int_equal(open_rings(0), 0);
	assert_int_equal(fx.perf.n, 4);
	assert_int_equal(rings_cpu_online(fx.rings, 1, &fx.err), 0);
	assert_int_equal(fx.perf.n, 6);
	assert_int_equal(rings_first_fd(fx.rings, 1, 0), 105);
}

static void what_the_kernel_says_of_cpus_is_understood(void **state)
{
	static const struct {
		const char *text;
		int cpu; /* -1: none; of those that went, 100 more */
	} rows[] = {
		{ "online@/devices/system/cpu/cpu1", 1 },
		{ "offline@/devices/system/cpu/cpu12", 112 },
		{ "online@/devices/system/cpu/cpu", -1 },
		{ "online@/devices/system/cpu/cpu1/cache", -1 },
		{ "online@/devices/system/cpu/cpu-1", -1 },
		{ "online@/devices/system/cpu/cpu99999999999999999999", -1 },
		{ "online@/devices/system/memory/memory1", -1 },
		{ "add@/devices/system/cpu/cpu1", -1 },
		{ "online", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_online = false;
		uint32_t cpu = 0;
		bool ok = cpu_watch_parse(rows[i].text, strlen(rows[i].text) + 1, &cpu, &is_online);

		assert_int_equal(ok ? (int)cpu + (is_online ? 0 : 100) : -1, rows[i].cpu);
		assert_false(cpu_watch_parse(rows[i].text, strlen(rows[i].text), &cpu, &is_online));
	}
}

/* A message that the kernel sends as if CPU 0 had told it: "change" and "offline" change nothing.
 */
static bool send_uevent(const char *action)
{
	int fd = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);
	ssize_t size = (ssize_t)strlen(action);
	bool ok = fd >= 0 && write(fd, action, (size_t)size) == size;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool is_told_of_cpu0(int fd)
{
	bool is_online = true, is_told = false;
	uint32_t cpu;

	while (cpu_watch_next(fd, &cpu, &is_online))
		is_told = is_told || (!is_online && cpu == 0);
	return is_told;
}

static void other_messages_of_the_kernel_do_not_hide_a_cpu(void **state)
{
	int fd = cpu_watch_open();

	(void)state;
	if (fd < 0 || !send_uevent("offline") || !is_told_of_cpu0(fd)) {
		if (fd >= 0)
			close(fd);
		skip_because("the kernel's messages about CPUs take root and the host's network");
	}
	for (int i = 0; i < 1000; i++)
		send_uevent("change");
	assert_true(send_uevent("offline"));
	assert_true(is_told_of_cpu0(fd));
	close(fd);
}

static void cpu_lists_are_as_in_sysfs(void **state)
{
	static const char *const bad[] = { "", "a", "1-", "3-1", "1,", "1;2", "-1", "99999999" };
	struct cpu_list l = { 0 };

	(void)state;
	assert_int_equal(cpu_list_parse("0-2,8", &l, NULL), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.data[2], 2);
	assert_int_equal(l.data[3], 8);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cpu_list_parse(bad[i], &l, &fx.err), -EINVAL);
	vec_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_an_extended_feature_one_counter_is_opened_with_raw_data),
		TEST(records_of_all_cpus_come_in_the_order_of_time),
		TEST(many_cpus_are_merged_in_order),
		TEST(records_that_wrap_around_are_whole),
		TEST(room_of_records_that_were_read_comes_back_meanwhile),
		TEST(copied_stacks_are_expected_and_come_as_they_are),
		TEST(ids_tell_counters_apart),
		TEST(a_hybrid_counter_is_opened_on_its_own_cores),
		TEST(a_group_is_opened_under_the_leader_of_its_cpu),
		TEST(a_group_for_which_there_is_no_room_is_named),
		TEST(an_old_kernel_gets_known_fields_only),
		TEST(a_control_group_without_controller_is_named),
		TEST(samples_have_no_cgroup_where_the_kernel_knows_none),
		TEST(all_events_of_a_ring_tell_the_cgroup),
		TEST(rings_shrink_to_the_locked_memory_limit),
		TEST(no_room_for_the_smallest_ring_is_an_error_with_the_remedy),
		TEST(a_hidden_kernel_is_left_out_with_a_note),
		TEST(a_counter_that_cannot_be_opened_is_named),
		TEST(a_size_that_lies_is_a_bad_record_and_no_more),
		TEST(records_later_than_their_time_are_counted),
		TEST(a_cpu_that_comes_back_is_counted_anew_into_its_ring),
		TEST(the_side_band_begins_before_the_samples),
		TEST(a_cpu_whose_new_counters_are_refused_keeps_the_former_ones),
		TEST(a_cpu_that_is_refused_when_it_first_comes_can_be_opened_later),
		TEST(what_counts_on_all_threads_of_a_cpu_is_opened_anew),
		TEST(what_the_kernel_says_of_cpus_is_understood),
		TEST(other_messages_of_the_kernel_do_not_hide_a_cpu),
		TEST(cpu_lists_are_as_in_sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
