/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Percentiles of calls' durations. */
#include "unit.h"

#include "calls/latency.h"

/* Calls of 1 ns to 10 ns, one each: a share of them does not exceed the call of that rank. */
static void a_percentile_is_the_duration_of_its_rank(void **state)
{
	static const struct {
		double q;
		uint64_t ns;
	} wanted[] = { { 0, 1 },   { 0.1, 1 },   { 0.11, 2 }, { 0.5, 5 },
		       { 0.9, 9 }, { 0.99, 10 }, { 1, 10 } };
	struct latency_row row = { .calls = 10, .min_ns = 1, .max_ns = 10 };

	(void)state;
	for (uint32_t ns = 0; ns <= 10; ns++)
		vec_push(&row.counts, ns > 0);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(latency_percentile(&row, wanted[i].q), wanted[i].ns);
	vec_fini(&row.counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		a_percentile_is_the_duration_of_its_rank) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
