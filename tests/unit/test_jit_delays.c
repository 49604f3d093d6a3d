/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of walks that follow code of Java or JavaScript, where threads wait for a CPU. */
#include "unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "frozen_stacks.h"
#include "guard/limits.h"

static uint64_t delay_ns, delay_step_ns; /* of the thread, as it is told; grows at each question */

uint64_t __wrap_thread_delay_ns(int fd);

uint64_t __wrap_thread_delay_ns(int fd)
{
	(void)fd;
	return delay_ns += delay_step_ns;
}

#define HOUR_NS (3600 * NS_PER_SECOND)

/* The time that a walk counted. */
static uint64_t time_of_walk(struct walker *w, uint64_t step_ns)
{
	uint64_t before_ns = user_stacks_followed_ns(w->stacks);
	struct buf got = { 0 };

	delay_step_ns = step_ns;
	walk_copy(w, 1, &got);
	buf_fini(&got);
	return user_stacks_followed_ns(w->stacks) - before_ns;
}

static void check_delays(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);

	(void)path, (void)expected;
	user_stacks_charge(w.stacks, 0, FOLLOWS_NS / 2);
	assert_int_equal(time_of_walk(&w, HOUR_NS), 0);
	delay_ns += HOUR_NS; /* outside of walks */
	assert_in_range(time_of_walk(&w, 0), 1, UINT64_MAX / 2);
	assert_in_range(time_of_walk(&w, -HOUR_NS), 1, UINT64_MAX / 2); /* another thread reads */
	walker_free(&w);
}

static void a_wait_for_a_cpu_is_no_time_of_a_walk(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_delays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_for_a_cpu_is_no_time_of_a_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
