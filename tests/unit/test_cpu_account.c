/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU times of ended processes, by the records of their threads, and times of CPUs. */
#include "folder.h"

#include "rings_world.h"

#include "collect/process_clock.h"
#include "record/cpu_account.h"
#include "store/cpu_times.h"

/* Numbers that no process here has: above the kernel's limit of 2^22. */
#define ROOT  5000000
#define CHILD 5000001
#define OTHER 5000002

static const int32_t targets[] = { ROOT };
static struct cpu_account *account;

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

static void write_fork(uint32_t pid, uint32_t tid, uint32_t parent, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		struct trailer own;
	} record = { { PERF_RECORD_FORK, 0, sizeof(record) },
		     pid,
		     parent,
		     tid,
		     parent,
		     time,
		     { parent, parent, time } };

	assert_true(fake_write(fake_ring(&fx.perf, 0), &record, sizeof(record)));
}

/* The kernel's side band event on the CPU has this id. */
static void write_read(int cpu, uint32_t pid, uint32_t tid, uint64_t ns, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t value, id, lost;
		struct trailer own;
	} record = { { PERF_RECORD_READ, 0, sizeof(record) },
		     pid,
		     tid,
		     ns,
		     cpu ? 102000 : 100000,
		     0,
		     { pid, tid, time } };

	assert_true(fake_write(fake_ring(&fx.perf, cpu), &record, sizeof(record)));
}

static void write_throttle(int cpu, bool is_end, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint64_t time, id, stream;
		struct trailer own;
	} record = { { is_end ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE, 0, sizeof(record) },
		     time,
		     101000,
		     101000,
		     { ROOT, ROOT, time } };

	assert_true(fake_write(fake_ring(&fx.perf, cpu), &record, sizeof(record)));
}

/* 150 ns of the command and all that it started. */
static void begin(void)
{
	static const struct counter_sources sources;
	const struct rings_config rings = { .backend = &fx.backend,
					    .counters = &fx.counters,
					    .sources = &sources,
					    .cpus = &fx.cpus,
					    .tids = targets,
					    .n_tids = 1,
					    .cgroup_fd = -1,
					    .inherit = true,
					    .with_task_times = true };
	struct cpu_account_config config = {
		.has_throttles = true, .cpus = &fx.cpus, .tids = targets, .n_tids = 1
	};

	assert_int_equal(rings_open(&rings, &fx.rings, &fx.err), 0);
	assert_int_equal(fx.perf.events[0].attr.config, PERF_COUNT_SW_TASK_CLOCK);
	assert_true(fx.perf.events[0].attr.inherit_stat);
	fx.perf.events[0].counted = 100;
	fx.perf.events[2].counted = 50;
	config.rings = fx.rings;
	account = cpu_account_begin(&config);
}

/* Reads what was written. */
static void end(struct cpu_times *out)
{
	char *text;
	size_t size;

	drained(UINT64_MAX);
	cpu_account_end(account);
	assert_int_equal(cpu_account_write(account, ".", &fx.err), 0);
	cpu_account_free(account);
	assert_int_equal(file_read_all("cpu-times", 1 << 20, &text, &size), 0);
	cpu_times_init(out);
	assert_true(cpu_times_parse(out, text));
	free(text);
}

static uint64_t time_of(const struct cpu_times *t, int32_t pid)
{
	vec_foreach (&t->processes, p)
		if (p->pid == pid)
			return p->ns;
	return 0;
}

static void a_thread_that_hands_no_time_over_has_the_rest(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_fork(CHILD, CHILD, ROOT, 10);
	write_fork(CHILD, CHILD + 7, CHILD, 20); /* a thread of it */
	write_read(0, CHILD, CHILD, 30, 30);
	write_read(1, CHILD, CHILD, 10, 31);
	write_read(0, CHILD, CHILD + 7, 5, 32);
	write_read(1, CHILD, CHILD + 7, 0, 33);
	end(&t);
	assert_int_equal(t.capacity_ns, 150);
	assert_int_equal(time_of(&t, CHILD), 45);
	assert_int_equal(time_of(&t, ROOT), 105);
	assert_null(t.why);
	assert_false(t.is_machine);
	assert_true(t.idle_ns == CPU_TIME_UNKNOWN);
	cpu_times_fini(&t);
}

/* The kernel may exchange the counters of two threads: then it is the child that has none. */
static void any_thread_may_be_that_one(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_fork(CHILD, CHILD, ROOT, 10);
	write_read(0, ROOT, ROOT, 60, 30);
	write_read(1, ROOT, ROOT, 0, 31);
	end(&t);
	assert_int_equal(time_of(&t, ROOT), 60);
	assert_int_equal(time_of(&t, CHILD), 90);
	cpu_times_fini(&t);
}

static void times_whose_records_are_lost_are_not_invented(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_fork(CHILD, CHILD, ROOT, 10);
	write_fork(OTHER, OTHER, ROOT, 11);
	write_read(0, OTHER, OTHER, 20, 30);
	write_read(1, OTHER, OTHER, 20, 31);
	end(&t);
	assert_int_equal(t.capacity_ns, 150);
	assert_int_equal(time_of(&t, OTHER), 40);
	assert_true(time_of(&t, ROOT) == CPU_TIME_UNKNOWN);
	assert_true(time_of(&t, CHILD) == CPU_TIME_UNKNOWN);
	assert_non_null(strstr(t.why, "lost"));
	cpu_times_fini(&t);
}

static void throttled_time_is_that_between_two_records(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_throttle(0, false, 1000);
	write_throttle(1, false, 1100);
	write_throttle(0, true, 1500);
	write_throttle(1, true, 1150);
	write_throttle(0, true, 1600); /* without a beginning */
	end(&t);
	assert_int_equal(t.throttled_ns, 550);
	cpu_times_fini(&t);
}

static void times_of_cpus_are_those_of_the_profiled_ones_that_are_online(void **state)
{
	const uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct cpu_stat stat;
	const char *text = "cpu  9 9 9 9 9 9 9 9 0 0\n"
			   "cpu0 1 2 3 40 5 6 7 8 0 0\n"
			   "cpu2 1 2 3 400 50 60 70 80 0 0\n"
			   "cpu10 1 2 3 4000 5 6 7 8 0 0\n"
			   "intr 1\n";

	(void)state;
	assert_int_equal(file_replace("stat", text, strlen(text), NULL), 0);
	assert_true(cpu_stat_read(".", &fx.cpus, &stat)); /* 0, and 1, which is offline */
	assert_int_equal(stat.n_cpus, 1);
	assert_int_equal(stat.idle_ns, 45 * tick);
	assert_int_equal(stat.interrupts_ns, 13 * tick);
	assert_int_equal(stat.steal_ns, 8 * tick);
	assert_false(cpu_stat_read("missing", &fx.cpus, &stat));
}

static void clocks_of_processes(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_true(process_clock(getpid(), &ns));
	assert_true(ns > 0);
	assert_false(process_clock(ROOT, &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thread_that_hands_no_time_over_has_the_rest),
		TEST(any_thread_may_be_that_one),
		TEST(times_whose_records_are_lost_are_not_invented),
		TEST(throttled_time_is_that_between_two_records),
		TEST(times_of_cpus_are_those_of_the_profiled_ones_that_are_online),
		TEST(clocks_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
