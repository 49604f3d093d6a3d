/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities of assay's own threads. */
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

#include "base/thread.h"

static bool is_real_time(void)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static void a_busy_thread_is_ordinary_until_it_sleeps_again(void **state)
{
	struct real_time_guard guard;

	(void)state;
	real_time_guard_begin(&guard);
	if (!guard.is_on)
		skip_because("this user may not have real-time priority");
	assert_true(is_real_time());
	while (is_real_time())
		real_time_guard_look(&guard);
	for (; !is_real_time(); real_time_guard_look(&guard))
		usleep(10000);
	real_time_guard_end(&guard);
	assert_false(is_real_time());
}

static void a_thread_that_hurries_has_a_low_nice_value(void **state)
{
	(void)state;
	thread_hurry(true);
	if (getpriority(PRIO_PROCESS, 0) >= 0)
		skip_because("this user may not have a negative nice value");
	assert_int_equal(getpriority(PRIO_PROCESS, 0), -20);
	thread_hurry(false);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), 0);
}

static void other_priorities_stay_as_they_are(void **state)
{
	struct real_time_guard guard;
	int own;

	(void)state;
	if (nice(1) < 0)
		skip_because("nice(2) fails");
	own = getpriority(PRIO_PROCESS, 0); /* 1, or more under nice(1) */
	real_time_guard_begin(&guard);
	real_time_guard_look(&guard);
	assert_false(is_real_time());
	real_time_guard_end(&guard);
	thread_hurry(true);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_thread_is_ordinary_until_it_sleeps_again),
		cmocka_unit_test(a_thread_that_hurries_has_a_low_nice_value),
		cmocka_unit_test(other_priorities_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
