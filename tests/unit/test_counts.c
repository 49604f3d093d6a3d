/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_machine.h"

#include <fcntl.h>
#include <inttypes.h>

#include "collect/counts.h"

/* What each counter gives when it is read: value, time wanted, time it ran; by call of open. */
static struct {
	uint64_t values[4][3];
	int refuse;    /* errno for hardware events */
	int max_group; /* EINVAL for members beyond it; 0: any */
	int refuse_at; /* `refuse` for all events from this one on; 0: none */
	int n;
	struct {
		int fd, pid, group_fd;
		bool is_disabled;
	} opened[8];
} kernel;

static int open_pipe(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		     unsigned long flags)
{
	int ends[2];

	(void)cpu, (void)flags;
	assert_int_equal(attr->sample_period, 0);
	if (kernel.refuse_at ? kernel.n >= kernel.refuse_at
			     : attr->type == PERF_TYPE_HARDWARE && kernel.refuse) {
		errno = kernel.refuse;
		return -1;
	}
	if (group_fd >= 0 && kernel.max_group && kernel.n / 2 >= kernel.max_group) {
		errno = EINVAL; /* of two threads each */
		return -1;
	}
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], kernel.values[kernel.n % 4], 24), 24);
	close(ends[1]);
	kernel.opened[kernel.n % 8].fd = ends[0];
	kernel.opened[kernel.n % 8].pid = pid;
	kernel.opened[kernel.n % 8].group_fd = group_fd;
	kernel.opened[kernel.n % 8].is_disabled = attr->disabled;
	kernel.n++;
	return ends[0];
}

static int open_counts(struct machine *m, const char *events, struct counts_config *config,
		       struct counts **out)
{
	static const int32_t tids[] = { 7, 8 };

	m->sources.perf_event_open = open_pipe;
	if (counter_parse(&m->sources, events, &(struct counter_rate){ 0 }, &m->counters, &m->err))
		fail_msg("%s", m->err.text);
	config->counters = &m->counters;
	config->sources = &m->sources;
	config->tids = tids;
	config->n_tids = 2;
	return counts_open(config, out, &m->err);
}

static void counts_are_scaled_by_the_time_that_they_did_not_run(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { 0 };
	struct counts *c = NULL;
	struct count sum;

	memset(&kernel, 0, sizeof(kernel));
	memcpy(kernel.values[0], (uint64_t[]){ 100, 1000, 250 }, 24);
	memcpy(kernel.values[1], (uint64_t[]){ 50, 2000, 2000 }, 24);
	assert_int_equal(open_counts(m, "page-faults", &config, &c), 0);
	assert_int_equal(counts_n_lanes(c), 1);
	assert_int_equal(counts_read(c, &sum), 0);
	assert_int_equal(sum.value, 450);
	assert_int_equal(sum.wanted_ns, 3000);
	assert_int_equal(sum.ran_ns, 2250);
	counts_close(c);
}

static void a_lane_for_each_thread(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { .is_separate = true };
	struct counts *c = NULL;
	struct count lanes[4];

	memset(&kernel, 0, sizeof(kernel));
	for (uint64_t i = 0; i < 4; i++)
		memcpy(kernel.values[i], (uint64_t[]){ 10 + i, 1, 1 }, 24);
	assert_int_equal(open_counts(m, "page-faults,cs", &config, &c), 0);
	assert_int_equal(counts_n_lanes(c), 2);
	assert_int_equal(counts_lane(c, 1), 8);
	assert_int_equal(counts_read(c, lanes), 0);
	/* page-faults of both threads were opened first */
	assert_int_equal(lanes[0].value, 10);
	assert_int_equal(lanes[2].value, 11);
	assert_int_equal(lanes[1].value, 12);
	assert_int_equal(lanes[3].value, 13);
	counts_close(c);
}

static void an_event_that_is_missing_is_refused_or_left_out(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { 0 };
	struct counts *c = NULL;

	memset(&kernel, 0, sizeof(kernel));
	kernel.refuse = ENOENT;
	assert_int_equal(open_counts(m, "cycles,page-faults", &config, &c), -ENOENT);
	assert_null(c);
	assert_non_null(strstr(m->err.text, "event 'cycles' can't be opened"));
	config.skips_missing = true;
	counters_fini(&m->counters);
	assert_int_equal(open_counts(m, "cycles,page-faults", &config, &c), 0);
	assert_false(counts_has(c, 0));
	assert_true(counts_has(c, 1));
	counts_close(c);
	c = NULL;
	counters_fini(&m->counters);
	assert_int_equal(open_counts(m, "cycles", &config, &c), -ENOENT);
	assert_null(c);
}

static void a_group_has_a_leader_on_each_thread(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { 0 };
	struct counts *c = NULL;

	memset(&kernel, 0, sizeof(kernel));
	assert_int_equal(open_counts(m, "cs,{page-faults,cpu-clock,migrations}:u", &config, &c), 0);
	assert_int_equal(kernel.n, 8);
	for (int i = 0; i < 8; i++) {
		bool is_member = i >= 4;

		assert_int_equal(kernel.opened[i].pid, 7 + i % 2);
		assert_int_equal(kernel.opened[i].group_fd,
				 is_member ? kernel.opened[2 + i % 2].fd : -1);
		assert_int_equal(kernel.opened[i].is_disabled, !is_member);
	}
	counts_close(c);
}

/* A pipe is no counter, so that enabling it fails; by then it is open, and read with the others. */
static void a_cpu_that_comes_back_is_counted_anew(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { 0 };
	struct cpu_list cpus = { 0 };
	struct counts *c = NULL;
	struct count lanes[4];
	int r;

	memset(&kernel, 0, sizeof(kernel));
	for (uint64_t i = 0; i < 4; i++)
		memcpy(kernel.values[i], (uint64_t[]){ 10 + i, 1, 1 }, 24);
	vec_push(&cpus, 0);
	vec_push(&cpus, 1);
	m->sources.perf_event_open = open_pipe;
	assert_int_equal(counter_parse(&m->sources, "{page-faults,cs}", &(struct counter_rate){ 0 },
				       &m->counters, &m->err),
			 0);
	config = (struct counts_config){
		.counters = &m->counters, .sources = &m->sources, .cpus = &cpus, .is_separate = true
	};
	assert_int_equal(counts_open(&config, &c, &m->err), 0);
	assert_int_equal(kernel.n, 4);
	assert_int_equal(counts_cpu_online(c, 7, &m->err), -ENOENT);
	/* Refused: what was opened is closed, and nothing else is read. An exclusive one lives. */
	kernel.refuse_at = 5;
	kernel.refuse = EMFILE;
	assert_int_equal(counts_cpu_online(c, 1, &m->err), -EMFILE);
	assert_true(fcntl(kernel.opened[4].fd, F_GETFD) < 0);
	kernel.refuse = EBUSY;
	assert_int_equal(counts_cpu_online(c, 1, &m->err), 0);
	kernel.refuse_at = kernel.refuse = 0;
	kernel.n = 4;
	r = counts_cpu_online(c, 1, &m->err);
	assert_true(r == -ENOTTY || r == -ENOSYS); /* a kernel's, and qemu-user's */
	assert_int_equal(kernel.n, 6);
	assert_int_equal(kernel.opened[4].group_fd, -1);
	assert_int_equal(kernel.opened[5].group_fd, kernel.opened[4].fd);
	assert_int_equal(counts_read(c, lanes), 0);
	assert_int_equal(lanes[0].value, 10);
	assert_int_equal(lanes[1].value, 12);
	assert_int_equal(lanes[2].value, 11 + 10); /* what it counted before, and since */
	assert_int_equal(lanes[3].value, 13 + 11);
	counts_close(c);
	vec_fini(&cpus);
}

static void a_group_that_the_kernel_refuses_is_named(void **state)
{
	struct machine *m = *state;
	struct counts_config config = { 0 };
	struct counts *c = NULL;

	memset(&kernel, 0, sizeof(kernel));
	kernel.max_group = 2;
	assert_int_equal(open_counts(m, "{page-faults,cpu-clock,migrations}:u", &config, &c),
			 -EINVAL);
	assert_null(c);
	assert_non_null(strstr(m->err.text,
			       "group '{page-faults:u,cpu-clock:u,migrations:u}' can't "
			       "be opened (EINVAL): "));
	assert_non_null(strstr(m->err.text, "'migrations:u' is the first without a counter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(counts_are_scaled_by_the_time_that_they_did_not_run),
		ON_A_MACHINE(a_lane_for_each_thread),
		ON_A_MACHINE(a_group_has_a_leader_on_each_thread),
		ON_A_MACHINE(a_group_that_the_kernel_refuses_is_named),
		ON_A_MACHINE(a_cpu_that_comes_back_is_counted_anew),
		ON_A_MACHINE(an_event_that_is_missing_is_refused_or_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
