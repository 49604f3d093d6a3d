/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks that wait for unwind tables. */
#include "unit.h"

#include "base/clock.h"
#include "guard/limits.h"
#include "pipeline/table_waits.h"

struct table {
	uint32_t n_waits, n_needed; /* it is there at the last of these */
};

static bool wait_for_it(void *arg, uint64_t until_ns)
{
	struct table *t = arg;

	assert_true(until_ns > 0);
	return ++t->n_waits >= t->n_needed;
}

static bool has_room(void *context)
{
	return (*(uint32_t *)context)--;
}

static void a_table_that_comes_is_awaited(void **state)
{
	struct table_waits w = { .start_ns = clock_monotonic_ns() };
	struct table t = { .n_needed = 1 };
	uint64_t until_ns = 0;

	(void)state;
	assert_true(table_waits_for(&w, &until_ns, wait_for_it, &t));
	assert_true(until_ns > w.start_ns);
}

static void a_walk_goes_on_when_its_rings_get_full(void **state)
{
	uint32_t n_asked = 3;
	struct table_waits w = { .start_ns = clock_monotonic_ns(),
				 .may_wait = has_room,
				 .context = &n_asked };
	struct table t = { .n_needed = UINT32_MAX };
	uint64_t until_ns = 0;

	(void)state;
	assert_false(table_waits_for(&w, &until_ns, wait_for_it, &t));
	assert_int_equal(t.n_waits, 3);
	/* When there is room again, the next walk waits on. */
	n_asked = 1;
	t.n_needed = t.n_waits + 1;
	assert_true(table_waits_for(&w, &until_ns, wait_for_it, &t));
}

static void a_file_and_all_files_have_a_limit(void **state)
{
	struct table_waits w = { .start_ns = clock_monotonic_ns() };
	struct table t = { .n_needed = UINT32_MAX };
	uint64_t until_ns = 1; /* it was awaited before */

	(void)state;
	assert_false(table_waits_for(&w, &until_ns, wait_for_it, &t));
	w.waited_ns = 2 * WALKS_WAIT_NS;
	until_ns = 0;
	assert_false(table_waits_for(&w, &until_ns, wait_for_it, &t));
	assert_int_equal(t.n_waits, 0);
	/* Offline, nothing fills up. */
	w.is_endless = true;
	t.n_needed = 1;
	assert_true(table_waits_for(&w, &until_ns, wait_for_it, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_that_comes_is_awaited),
		cmocka_unit_test(a_walk_goes_on_when_its_rings_get_full),
		cmocka_unit_test(a_file_and_all_files_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
