/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU times of ended processes, by the records of their threads, and times of CPUs. */
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>

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
static int kernel_end; /* of the socket of taskstats */

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

static void write_exit(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		struct trailer own;
	} record = { { PERF_RECORD_EXIT, 0, sizeof(record) },
		     pid,
		     pid,
		     tid,
		     tid,
		     time,
		     { pid, tid, time } };

	assert_true(fake_write(fake_ring(&fx.perf, 0), &record, sizeof(record)));
}

/* A message of taskstats: of one thread, or of all threads of a process. */
static void tell_exit_of(uint16_t version, uint32_t id, uint32_t pid, uint64_t ns, bool is_whole)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		struct nlattr outer, id_head;
		uint32_t id;
		struct nlattr stats_head;
		uint8_t stats[TASKSTATS_TGID_OFFSET + sizeof(pid)];
	} __attribute__((packed)) message = {
		.h = { .nlmsg_len = sizeof(message), .nlmsg_type = NLMSG_MIN_TYPE + 9 },
		.outer = { sizeof(message) - NLMSG_LENGTH(GENL_HDRLEN),
			   is_whole ? TASKSTATS_TYPE_AGGR_TGID : TASKSTATS_TYPE_AGGR_PID },
		.id_head = { NLA_HDRLEN + 4, is_whole ? TASKSTATS_TYPE_TGID : TASKSTATS_TYPE_PID },
		.id = id,
		.stats_head = { NLA_HDRLEN + sizeof(message.stats), TASKSTATS_TYPE_STATS },
	};

	memcpy(message.stats, &version, sizeof(version));
	memcpy(message.stats + offsetof(struct taskstats, cpu_run_virtual_total), &ns, sizeof(ns));
	memcpy(message.stats + TASKSTATS_TGID_OFFSET, &pid, sizeof(pid));
	assert_int_equal(send(kernel_end, &message, sizeof(message), 0), sizeof(message));
}

/* Of the first thread, or of all threads of a process. */
static void tell_exit(uint32_t pid, uint64_t ns, bool is_whole)
{
	tell_exit_of(TASKSTATS_TGID_VERSION, pid, pid, ns, is_whole);
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
static void begin_with(int exits_fd)
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
	struct cpu_account_config config = { .has_throttles = true,
					     .cpus = &fx.cpus,
					     .tids = targets,
					     .n_tids = 1,
					     .exits_fd = exits_fd };

	assert_int_equal(rings_open(&rings, &fx.rings, &fx.err), 0);
	assert_int_equal(fx.perf.events[0].attr.config, PERF_COUNT_SW_TASK_CLOCK);
	/* else the kernel writes into the rings of other CPUs */
	assert_false(fx.perf.events[0].attr.inherit_stat);
	/* from before the account: processes were read meanwhile */
	fx.perf.events[0].counted = 7;
	fx.perf.events[2].counted = 3;
	config.rings = fx.rings;
	account = cpu_account_begin(&config);
	fx.perf.events[0].counted += 100;
	fx.perf.events[2].counted += 50;
}

static void begin(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	kernel_end = ends[0];
	begin_with(ends[1]);
}

/* Reads what was written. */
static void end(struct cpu_times *out)
{
	char *text;
	size_t size;

	cpu_account_end(account);
	drained(UINT64_MAX);
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

static void ended_processes_have_the_times_of_their_messages(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_fork(CHILD, CHILD, ROOT, 10);
	write_fork(CHILD, CHILD + 7, CHILD, 20); /* a thread of it */
	write_fork(OTHER, OTHER, CHILD, 25);
	tell_exit(CHILD, 30, false);
	tell_exit(OTHER, 20, false);
	tell_exit(CHILD, 45, true);
	tell_exit_of(TASKSTATS_TGID_VERSION, CHILD + 1, CHILD, 900, false); /* another thread */
	tell_exit_of(TASKSTATS_TGID_VERSION - 1, CHILD, CHILD, 900, false); /* it may be one */
	tell_exit(ROOT, 70, false);
	end(&t);
	assert_int_equal(t.capacity_ns, 150);
	assert_int_equal(time_of(&t, CHILD), 45);
	assert_int_equal(time_of(&t, OTHER), 20);
	assert_int_equal(time_of(&t, ROOT), 70);
	assert_int_equal(t.rest_ns, 15);
	assert_null(t.why);
	assert_false(t.is_machine);
	assert_true(t.idle_ns == CPU_TIME_UNKNOWN);
	cpu_times_fini(&t);
	close(kernel_end);
}

static void processes_that_are_not_recorded_have_no_time(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	tell_exit(OTHER, 1000, false);
	write_fork(CHILD, CHILD, ROOT, 10);
	write_exit(CHILD, CHILD, 20);
	tell_exit(CHILD, 30, false);
	tell_exit(CHILD, 500, false); /* its number is another's now, with threads */
	tell_exit(CHILD, 900, true);
	end(&t);
	assert_int_equal(time_of(&t, OTHER), 0);
	assert_int_equal(time_of(&t, CHILD), 30);
	assert_int_equal(t.capacity_ns, 150);
	assert_int_equal(t.rest_ns, 120);
	cpu_times_fini(&t);
	close(kernel_end);
}

static void two_lives_with_one_number_add_up(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	write_fork(CHILD, CHILD, ROOT, 10);
	write_exit(CHILD, CHILD, 20);
	write_fork(CHILD, CHILD, ROOT, 30);
	tell_exit(CHILD, 30, false);
	tell_exit(CHILD, 25, false);
	end(&t);
	assert_int_equal(time_of(&t, CHILD), 55);
	cpu_times_fini(&t);
	close(kernel_end);
}

/* The message can be there before the record of the process's start is read. */
static void a_message_waits_for_the_events_before_it(void **state)
{
	struct cpu_times t;

	(void)state;
	begin();
	tell_exit(CHILD, 30, false);
	cpu_account_turn(account, 0);
	write_fork(CHILD, CHILD, ROOT, 10);
	end(&t);
	assert_int_equal(time_of(&t, CHILD), 30);
	cpu_times_fini(&t);
	close(kernel_end);
}

static void times_that_the_kernel_does_not_give_are_not_invented(void **state)
{
	struct cpu_times t;

	(void)state;
	begin_with(-EPERM);
	write_fork(CHILD, CHILD, ROOT, 10);
	write_exit(CHILD, CHILD, 20);
	end(&t);
	assert_int_equal(t.capacity_ns, 150);
	assert_int_equal(t.rest_ns, 150);
	assert_true(time_of(&t, CHILD) == CPU_TIME_UNKNOWN);
	assert_true(time_of(&t, ROOT) == CPU_TIME_UNKNOWN);
	assert_non_null(strstr(t.why, "Operation not permitted"));
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
		TEST(ended_processes_have_the_times_of_their_messages),
		TEST(processes_that_are_not_recorded_have_no_time),
		TEST(two_lives_with_one_number_add_up),
		TEST(a_message_waits_for_the_events_before_it),
		TEST(times_that_the_kernel_does_not_give_are_not_invented),
		TEST(throttled_time_is_that_between_two_records),
		TEST(times_of_cpus_are_those_of_the_profiled_ones_that_are_online),
		TEST(clocks_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
