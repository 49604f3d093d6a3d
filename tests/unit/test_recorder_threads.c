/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of a recording of a real process: threads that begin while its counters are opened,
 * and the start of the session.
 */
#include "folder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "collect/cpu_list.h"
#include "counter/sources.h"
#include "record/recorder.h"
#include "store/native.h"
#include "store/session.h"

struct opened {
	int fd, tid, cpu;
};

static struct world {
	pid_t pid;
	int ask[2], answer[2]; /* for another thread */
	int left;              /* threads that shall begin while counters are opened */
	struct cpu_list cpus;
	VEC(struct opened) opened;                 /* counters */
	uint64_t side_band_ns, counting_ns;        /* when the first of each was switched on */
	uint64_t start_ns, length_ns, duration_ns; /* of the session; as reported */
	uint64_t losses;
	size_t n_threads, n_whole; /* at the first turn: of the process; with a counter a CPU */
	bool has_ticked;
} w;

static void *wait_for_ever(void *unused)
{
	pause();
	return unused;
}

/* Begins a thread for each byte, and answers. */
static void be_target(void)
{
	pthread_t thread;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(w.ask[0], &byte, 1) == 1 &&
	       !pthread_create(&thread, NULL, wait_for_ever, NULL) &&
	       write(w.answer[1], &byte, 1) == 1)
		;
	_exit(1);
}

static void begin_thread(void)
{
	char byte = 1;

	assert_int_equal(write(w.ask[1], &byte, 1), 1);
	assert_int_equal(read(w.answer[0], &byte, 1), 1);
}

static int open_and_note(void *context, struct perf_event_attr *attr, int pid, int cpu,
			 int group_fd, unsigned long flags)
{
	bool counts = attr->config != PERF_COUNT_SW_DUMMY;
	int fd;

	(void)context;
	/* a thread that has the events of all other CPUs from its parent */
	if (counts && pid == w.pid && cpu == (int)w.cpus.data[w.cpus.n - 1] && w.left) {
		w.left--;
		begin_thread();
	}
	fd = perf_system.open(perf_system.context, attr, pid, cpu, group_fd, flags);
	if (fd >= 0 && counts)
		vec_push(&w.opened, (struct opened){ fd, pid, cpu });
	return fd;
}

static bool is_counter(int fd)
{
	vec_foreach (&w.opened, o)
		if (o->fd == fd)
			return true;
	return false;
}

static int control_and_note(void *context, int fd, unsigned long request, void *arg)
{
	uint64_t *first = is_counter(fd) ? &w.counting_ns : &w.side_band_ns;

	(void)context;
	if (request == PERF_EVENT_IOC_ENABLE && !*first)
		*first = clock_monotonic_ns();
	return perf_system.control(perf_system.context, fd, request, arg);
}

static void close_and_note(void *context, int fd)
{
	(void)context;
	vec_foreach (&w.opened, o)
		if (o->fd == fd)
			o->fd = -1;
	perf_system.close(perf_system.context, fd);
}

static size_t n_counters(int tid, uint32_t cpu)
{
	size_t n = 0;

	vec_foreach (&w.opened, o)
		n += o->fd >= 0 && o->tid == tid && o->cpu == (int)cpu;
	return n;
}

static void count_threads(void)
{
	struct pid_list tids = { 0 };

	assert_int_equal(proc_list_threads("/proc", w.pid, &tids), 0);
	vec_foreach (&tids, tid) {
		bool is_whole = true;

		vec_foreach (&w.cpus, cpu)
			is_whole &= n_counters(*tid, *cpu) == 1;
		w.n_whole += is_whole;
	}
	w.n_threads = tids.n;
	vec_fini(&tids);
}

static int on_tick(void *context, struct recorder *r, uint64_t now_ns, struct error *err)
{
	struct recorder_stats stats;

	(void)context, (void)now_ns, (void)err;
	if (!w.has_ticked)
		count_threads();
	recorder_stats(r, &stats);
	w.losses = stats.losses[LOSS_THREADS_BEGUN];
	w.has_ticked = true;
	recorder_stop(r);
	return 0;
}

static void read_times(void)
{
	struct session *s;

	assert_int_equal(session_open("session", &s, NULL), 0);
	w.start_ns = s->info.start_ns;
	w.length_ns = s->end.end_ns - s->info.start_ns;
	session_close(s);
}

static void record_target(void)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = 997 };
	struct counters counters = { 0 };
	struct pid_list pids = { 0 }, tids = { 0 };
	struct cpu_list cpus = { 0 };
	struct perf_backend backend = perf_system;
	struct recorder_control control = { .fd = -1, .tick = on_tick };
	struct recorder_config config = {
		.backend = &backend,
		.ops = &native_store,
		.dir = "session",
		.version = "test",
		.counters = &counters,
		.sources = &sources,
		.note = "",
		.stacks = STACKS_FRAME_POINTERS,
		.pids = &pids,
		.tids = &tids,
		.cpus = &cpus,
		.duration_s = test_deadline_s(), /* should all else fail */
		.drain_s = 0.1,
		.control = &control,
	};
	struct recorder_result result;
	struct error err = { 0 };

	backend.open = open_and_note;
	backend.control = control_and_note;
	backend.close = close_and_note;
	vec_push(&pids, (int32_t)w.pid);
	assert_int_equal(counter_parse(&sources, "cpu-clock:u", &rate, &counters, &err), 0);
	if (recorder_run(&config, &result, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(w.has_ticked);
	read_times();
	w.duration_ns = result.duration_ns;
	counters_fini(&counters);
	vec_fini(&pids);
	file_remove_tree("session", NULL);
}

static int setup(void **state)
{
	(void)state;
	w = (struct world){ 0 };
	assert_int_equal(cpu_list_online(NULL, &w.cpus, NULL), 0);
	assert_int_equal(pipe(w.ask), 0);
	assert_int_equal(pipe(w.answer), 0);
	w.pid = fork();
	if (!w.pid)
		be_target();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kill(w.pid, SIGKILL);
	waitpid(w.pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(w.ask[i]);
		close(w.answer[i]);
	}
	vec_fini(&w.cpus);
	vec_fini(&w.opened);
	return 0;
}

static void skip_without_counters(void)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = 997 };
	struct counters counters = { 0 };
	int fd;

	assert_int_equal(counter_parse(&sources, "cpu-clock:u", &rate, &counters, NULL), 0);
	fd = sources_open(&sources, &counters.data[0].attr, 0, -1);
	counters_fini(&counters);
	if (fd < 0)
		skip_because("perf_event_open(2) is refused here");
	close(fd);
}

static void threads_that_begin_while_counters_are_opened_have_all_counters(void **state)
{
	(void)state;
	skip_without_counters();
	w.left = 3;
	record_target();
	assert_int_equal(w.left, 0);
	assert_int_equal(w.n_threads, 4);
	assert_int_equal(w.n_whole, 4);
	assert_int_equal(w.losses, 0);
}

static void threads_that_never_stop_to_begin_are_counted(void **state)
{
	(void)state;
	skip_without_counters();
	w.left = 1000;
	record_target();
	assert_true(w.left > 0);
	assert_int_equal(w.n_whole, w.n_threads - 1);
	assert_int_equal(w.losses, 1); /* the last one */
}

static void a_session_starts_with_its_counters(void **state)
{
	(void)state;
	skip_without_counters();
	record_target();
	assert_true(w.side_band_ns && w.side_band_ns < w.start_ns);
	assert_true(w.start_ns <= w.counting_ns);
	assert_int_equal(w.length_ns, w.duration_ns);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_that_begin_while_counters_are_opened_have_all_counters),
		TEST(threads_that_never_stop_to_begin_are_counted),
		TEST(a_session_starts_with_its_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
