/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs that read files of profiled programs. */
#include "unit.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pipeline/file_jobs.h"

#define LARGE_MARK        '*'
#define URGENT_LARGE_MARK '+'

/* A job reads a byte from a pipe, as from a file system that answers late. */
struct test_job {
	struct file_job job;
	int fd; /* -1: it reads nothing */
	char *log;
	char mark;
};

static void run_job(struct file_job *job)
{
	const struct test_job *t = (struct test_job *)job;
	char byte;

	if (t->fd >= 0)
		assert_int_equal(read(t->fd, &byte, 1), 1);
}

static void log_job(struct file_job *job)
{
	struct test_job *t = (struct test_job *)job;
	size_t len = strlen(t->log);

	t->log[len] = job->is_refused ? '!' : t->mark;
	t->log[len + 1] = '\0';
}

static void free_job(struct file_job *job)
{
	free(job);
}

static enum file_job_rank rank_of_mark(char mark)
{
	if (mark >= '0' && mark <= '9')
		return FILE_JOB_LONG;
	return (mark >= 'A' && mark <= 'Z') || mark == URGENT_LARGE_MARK ? FILE_JOB_URGENT
									 : FILE_JOB_USUAL;
}

static void add_job(struct file_jobs *j, uint32_t user, char mark, int fd, char *log)
{
	struct test_job *t = xcalloc(1, sizeof(*t));

	t->job = (struct file_job){ .user = user,
				    .run = run_job,
				    .done = log_job,
				    .free = free_job,
				    .rank = rank_of_mark(mark),
				    .is_large = mark == LARGE_MARK || mark == URGENT_LARGE_MARK };
	t->mark = mark;
	t->fd = fd;
	t->log = log;
	file_jobs_add(j, &t->job);
}

static void wait_for_jobs(struct file_jobs *j, uint32_t n_left)
{
	while (file_jobs_take(j), file_jobs_count(j) > n_left)
		file_jobs_wait(j, clock_monotonic_ns() + NS_PER_SECOND);
}

static void jobs_of_a_user_are_done_in_order(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";

	(void)state;
	add_job(j, 1, 'a', -1, log);
	add_job(j, 1, 'b', -1, log);
	add_job(j, 1, 'c', -1, log);
	wait_for_jobs(j, 0);
	assert_string_equal(log, "abc");
	file_jobs_free(j);
}

/* Large letters are urgent, and digits are long. */
static void urgent_jobs_come_first_and_long_ones_last(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	add_job(j, 1, 'A', fds[0], log);
	add_job(j, 1, '1', -1, log);
	add_job(j, 1, 'b', -1, log);
	add_job(j, 1, '2', -1, log);
	add_job(j, 1, 'C', -1, log);
	add_job(j, 1, 'D', -1, log);
	assert_int_equal(write(fds[1], "", 1), 1);
	wait_for_jobs(j, 0);
	assert_string_equal(log, "ACDb12");
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

static void a_job_that_is_stuck_holds_up_its_user_alone(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	add_job(j, 1, 'a', fds[0], log);
	add_job(j, 1, 'b', -1, log);
	add_job(j, 2, 'c', -1, log);
	wait_for_jobs(j, 2);
	assert_string_equal(log, "c");
	assert_int_equal(write(fds[1], "", 1), 1);
	wait_for_jobs(j, 0);
	assert_string_equal(log, "cab");
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

static void a_large_file_does_not_delay_others_of_its_user(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	add_job(j, 1, '+', fds[0], log);
	add_job(j, 1, '*', -1, log);
	add_job(j, 1, '+', -1, log);
	add_job(j, 1, 'a', -1, log);
	add_job(j, 1, '1', -1, log);
	wait_for_jobs(j, 3);
	assert_string_equal(log, "a1");
	assert_int_equal(write(fds[1], "", 1), 1);
	wait_for_jobs(j, 0);
	assert_string_equal(log, "a1++*");
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

static void large_files_leave_half_of_the_time_to_others(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";

	(void)state;
	file_jobs_charge(j, 1, FILE_JOBS_BURST_NS * 3 / 4);
	add_job(j, 1, '*', -1, log);
	wait_for_jobs(j, 0);
	add_job(j, 1, 'a', -1, log);
	wait_for_jobs(j, 0);
	assert_string_equal(log, "!a");
	file_jobs_free(j);
}

/* The first part of such a job sees that its file is large. */
static void run_in_two_parts(struct file_job *job)
{
	struct test_job *t = (struct test_job *)job;

	if (job->is_large) {
		t->mark = LARGE_MARK;
		return;
	}
	run_job(job);
	job->is_large = true;
	job->is_again = true;
}

static void the_second_part_of_a_job_comes_after_other_jobs(void **state)
{
	struct file_jobs *j = file_jobs_new();
	struct test_job *t = xcalloc(1, sizeof(*t));
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	*t = (struct test_job){
		.job = { .user = 1, .run = run_in_two_parts, .done = log_job, .free = free_job },
		.fd = fds[0],
		.log = log,
		.mark = 'a'
	};
	file_jobs_add(j, &t->job);
	add_job(j, 1, 'b', -1, log);
	add_job(j, 1, 'c', -1, log);
	assert_int_equal(write(fds[1], "", 1), 1);
	wait_for_jobs(j, 0);
	/* If the test stood still for a second, a second thread has taken it beside b and c. */
	assert_int_equal(strlen(log), 3);
	assert_true(strchr(log, 'b') < strchr(log, 'c') && strchr(log, LARGE_MARK));
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

static void burn_time(struct file_job *job)
{
	uint64_t end_ns = clock_thread_cpu_ns() + 20 * NS_PER_MS;

	(void)job;
	while (clock_thread_cpu_ns() < end_ns)
		;
}

static void jobs_go_on_unless_one_is_stuck(void **state)
{
	struct file_jobs *j = file_jobs_new();
	struct test_job *t = xcalloc(1, sizeof(*t));
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_false(file_jobs_go_on(j, 1, 3600 * NS_PER_SECOND));
	assert_int_equal(pipe(fds), 0);
	t->job =
		(struct file_job){ .user = 1, .run = burn_time, .done = log_job, .free = free_job };
	t->log = log;
	file_jobs_add(j, &t->job);
	wait_for_jobs(j, 0);
	assert_true(file_jobs_go_on(j, 1, 3600 * NS_PER_SECOND));
	add_job(j, 1, 'a', fds[0], log);
	while (file_jobs_go_on(j, 1, 10 * NS_PER_MS)) /* it waits for the pipe now */
		usleep(10000);
	assert_int_equal(write(fds[1], "", 1), 1);
	wait_for_jobs(j, 0);
	assert_true(file_jobs_go_on(j, 1, 3600 * NS_PER_SECOND));
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

static void a_user_whose_time_is_used_up_is_refused(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";

	(void)state;
	file_jobs_charge(j, 1, FILE_JOBS_BURST_NS);
	add_job(j, 1, 'a', -1, log);
	wait_for_jobs(j, 0);
	file_jobs_charge(j, 1, 3600 * NS_PER_SECOND);
	add_job(j, 1, 'b', -1, log);
	add_job(j, 2, 'c', -1, log);
	wait_for_jobs(j, 0);
	assert_true(!strcmp(log, "a!c") || !strcmp(log, "ac!"));
	file_jobs_free(j);
}

static int nice_of_job;

static void note_nice(struct file_job *job)
{
	(void)job;
	nice_of_job = getpriority(PRIO_PROCESS, 0);
}

static int nice_of_a_job(struct file_jobs *j, uint32_t user)
{
	struct test_job *t = xcalloc(1, sizeof(*t));
	char log[4] = "";

	t->job = (struct file_job){
		.user = user, .run = note_nice, .done = log_job, .free = free_job
	};
	t->log = log;
	file_jobs_add(j, &t->job);
	wait_for_jobs(j, 0);
	return nice_of_job;
}

static void jobs_hurry_until_their_user_has_used_much_time(void **state)
{
	struct file_jobs *j = file_jobs_new();

	(void)state;
	if (nice_of_a_job(j, 1) >= 0) {
		file_jobs_free(j);
		skip_because("this user may not have a negative nice value");
	}
	assert_int_equal(nice_of_a_job(j, 2), -20);
	file_jobs_charge(j, 1, 2 * FILE_JOBS_HURRY_NS);
	assert_int_equal(nice_of_a_job(j, 1), 0);
	assert_int_equal(nice_of_a_job(j, 2), -20);
	file_jobs_free(j);
}

static void more_jobs_than_may_wait_are_refused(void **state)
{
	struct file_jobs *j = file_jobs_new();
	static char log[FILE_JOBS_MAX + 8];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	add_job(j, 1, 'a', fds[0], log);
	add_job(j, 1, 'b', -1, log); /* waits at the latest when the first is begun */
	for (int i = 0; i < FILE_JOBS_MAX - 1; i++)
		add_job(j, 1, 'b', -1, log);
	file_jobs_take(j);
	log[0] = '\0'; /* whether the first job waited, too, is a matter of time */
	add_job(j, 1, 'c', -1, log);
	add_job(j, 1, 'c', -1, log);
	file_jobs_take(j);
	assert_string_equal(log + strlen(log) - 1, "!");
	assert_int_equal(write(fds[1], "", 1), 1);
	file_jobs_free(j);
	close(fds[0]);
	close(fds[1]);
}

/* It ends by itself later: the owner has gone then. */
static void the_end_does_not_wait_for_a_job_that_is_stuck(void **state)
{
	struct file_jobs *j = file_jobs_new();
	char log[8] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	add_job(j, 1, 'a', fds[0], log);
	add_job(j, 1, 'b', -1, log);
	file_jobs_free(j);
	assert_string_equal(log, "");
	assert_int_equal(write(fds[1], "", 1), 1);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_of_a_user_are_done_in_order),
		cmocka_unit_test(urgent_jobs_come_first_and_long_ones_last),
		cmocka_unit_test(a_job_that_is_stuck_holds_up_its_user_alone),
		cmocka_unit_test(a_large_file_does_not_delay_others_of_its_user),
		cmocka_unit_test(large_files_leave_half_of_the_time_to_others),
		cmocka_unit_test(the_second_part_of_a_job_comes_after_other_jobs),
		cmocka_unit_test(jobs_go_on_unless_one_is_stuck),
		cmocka_unit_test(a_user_whose_time_is_used_up_is_refused),
		cmocka_unit_test(jobs_hurry_until_their_user_has_used_much_time),
		cmocka_unit_test(more_jobs_than_may_wait_are_refused),
		cmocka_unit_test(the_end_does_not_wait_for_a_job_that_is_stuck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
