/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steering a recording of a real process, through rings and, where permitted, BPF. */
#include "folder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "counter/sources.h"
#include "record/recorder.h"
#include "store/native.h"
#include "store/session.h"

enum step { STEP_PAUSED, STEP_COUNTING, STEP_SWITCHED, STEP_PAUSED_AGAIN, STEP_DONE };

struct steering {
	char *dir;
	int fds[2];
	enum step step;
	unsigned turns;
	uint64_t samples;    /* at the last step */
	uint64_t first_part; /* samples that a reader saw before the switch */
	bool was_ready, has_started, is_hung_up;
};

static uint64_t samples_in(const char *dir, bool *has_end)
{
	struct session *s;
	uint64_t n = 0;

	assert_int_equal(session_open(dir, &s, NULL), 0);
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t k = 0; k < s->segments[i]->n_blocks; k++)
			n += s->segments[i]->blocks[k].samples;
	*has_end = s->has_end;
	session_close(s);
	return n;
}

static char *part_of(const struct steering *s, int n)
{
	return xasprintf("%s/part%d", s->dir, n);
}

static int on_started(void *context, struct recorder *r, struct error *err)
{
	struct steering *s = context;

	(void)err;
	s->has_started = true;
	assert_false(recorder_is_enabled(r));
	return 0;
}

static int on_ready(void *context, struct recorder *r, struct error *err)
{
	struct steering *s = context;
	char byte;

	(void)r, (void)err;
	assert_int_equal(read(s->fds[0], &byte, 1), 1);
	s->was_ready = true;
	return 0;
}

static int on_hangup(void *context, struct recorder *r, struct error *err)
{
	(void)r, (void)err;
	((struct steering *)context)->is_hung_up = true;
	return 0;
}

static void go_on(struct steering *s, enum step step, uint64_t samples)
{
	s->step = step;
	s->turns = 0;
	s->samples = samples;
}

static void to_second_part(struct steering *s, struct recorder *r, uint64_t counted)
{
	cleanup(free_at_exit) char *first = part_of(s, 1), *second = part_of(s, 2);
	bool has_end;

	/* A reader sees it now, though its second may not be over. */
	assert_int_equal(recorder_flush(r, NULL), 0);
	s->first_part = samples_in(first, &has_end);
	assert_false(has_end);
	assert_true(s->first_part >= counted);
	assert_int_equal(recorder_set_rate(r, 0, 199, NULL), 0);
	assert_int_equal(recorder_set_rate(r, 7, 199, NULL), -EINVAL);
	assert_int_equal(recorder_switch(r, second, NULL), 0);
	assert_string_equal(recorder_dir(r), second);
	assert_true(samples_in(first, &has_end) >= s->first_part);
	assert_true(has_end);
	/* A place that can't be had leaves all as it was. */
	assert_true(recorder_switch(r, "/proc/no/session", NULL) < 0);
	assert_string_equal(recorder_dir(r), second);
}

static int on_tick(void *context, struct recorder *r, uint64_t now_ns, struct error *err)
{
	struct steering *s = context;
	struct recorder_stats stats;
	struct error why = { 0 };

	(void)now_ns;
	recorder_stats(r, &stats);
	assert_null(stats.write_error);
	if (s->step == STEP_PAUSED && ++s->turns > 2) {
		assert_int_equal(stats.counts.samples, 0);
		if (recorder_enable(r, &why) < 0)
			return error_set(err, why.code, "%s", why.text);
		go_on(s, STEP_COUNTING, 0);
	} else if (s->step == STEP_COUNTING && stats.counts.samples > 10) {
		to_second_part(s, r, stats.counts.samples);
		recorder_stats(r, &stats);
		go_on(s, STEP_SWITCHED, stats.counts.samples);
	} else if (s->step == STEP_SWITCHED && stats.counts.samples > s->samples + 10) {
		recorder_disable(r);
		recorder_disable(r);
		assert_int_equal(recorder_flush(r, NULL), 0);
		recorder_stats(r, &stats);
		go_on(s, STEP_PAUSED_AGAIN, stats.counts.samples);
		kill(getpid(), SIGHUP);
	} else if (s->step == STEP_PAUSED_AGAIN && ++s->turns > 2 && s->is_hung_up) {
		/* What an interrupt of each CPU had under way when counting ended. */
		assert_true(stats.counts.samples <= s->samples + MAX(2, stats.n_cpus));
		assert_true(stats.n_cpus > 0);
		assert_true(stats.own_bytes > 0 && stats.own_cpu_ns > 0);
		assert_true(recorder_written_bytes(r) > 0);
		go_on(s, STEP_DONE, stats.counts.samples);
		recorder_stop(r);
	}
	return 0;
}

static pid_t start_spinning(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("");
	}
	return pid;
}

static void steer(bool in_kernel)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = 997 };
	struct counters counters = { 0 };
	struct pid_list pids = { 0 }, tids = { 0 };
	struct cpu_list cpus = { 0 };
	char dir[] = "recorder-XXXXXX";
	struct steering s = { .dir = mkdtemp(dir) };
	cleanup(free_at_exit) char *first = part_of(&s, 1), *second = part_of(&s, 2);
	struct recorder_control control = {
		.started = on_started,
		.ready = on_ready,
		.tick = on_tick,
		.hangup = on_hangup,
		.context = &s,
	};
	struct recorder_config config = {
		.ops = &native_store,
		.dir = first,
		.version = "test",
		.counters = &counters,
		.sources = &sources,
		.note = "",
		.in_kernel = in_kernel,
		.stacks = STACKS_FRAME_POINTERS,
		.pids = &pids,
		.tids = &tids,
		.cpus = &cpus,
		.whole_machine = in_kernel,
		.duration_s = test_deadline_s(), /* should all else fail */
		.drain_s = 0.1,
		.control = &control,
		.starts_disabled = true,
	};
	struct recorder_result result;
	struct error err = { 0 };
	bool has_end;
	pid_t pid = start_spinning();

	if (!in_kernel)
		vec_push(&pids, (int32_t)pid);
	assert_int_equal(counter_parse(&sources, "cpu-clock:u", &rate, &counters, &err), 0);
	assert_int_equal(pipe(s.fds), 0);
	assert_int_equal(write(s.fds[1], "x", 1), 1);
	control.fd = s.fds[0];
	if (recorder_run(&config, &result, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(result.end, END_REQUEST);
	assert_int_equal(s.step, STEP_DONE);
	assert_true(s.was_ready && s.has_started);
	/* Nothing was lost, or counted twice, on the way from one session to the other. */
	assert_int_equal(samples_in(first, &has_end) + samples_in(second, &has_end),
			 result.counts.samples);
	assert_true(has_end);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(s.fds[0]);
	close(s.fds[1]);
	counters_fini(&counters);
	vec_fini(&pids);
	file_remove_tree(s.dir, NULL);
}

static bool can_open_counters(int pid, int cpu)
{
	static const struct counter_sources sources;
	struct counter_rate rate = { .freq_hz = 997 };
	struct counters counters = { 0 };
	int fd = -1;

	if (!counter_parse(&sources, "cpu-clock:u", &rate, &counters, NULL))
		fd = sources_open(&sources, &counters.data[0].attr, pid, cpu);
	counters_fini(&counters);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void steers_rings(void **state)
{
	(void)state;
	if (!can_open_counters(0, -1))
		skip_because("perf_event_open(2) is refused here");
	steer(false);
}

static void steers_the_sampler(void **state)
{
	static const struct counter_sources sources;
	char why[256];

	(void)state;
	if (!can_open_counters(-1, sched_getcpu()))
		skip_because("needs the right to profile the whole machine");
	if (!sampler_is_available(&sources, why, sizeof(why)))
		skip_because("%s", why);
	steer(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steers_rings),
		cmocka_unit_test(steers_the_sampler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
