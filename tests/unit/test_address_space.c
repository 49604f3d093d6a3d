/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, and the functions of a perf map. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine/address_space.h"
#include "machine/perf_map.h"

/* What a slow, obvious model says of the same mappings: a table of addresses. */
static void mappings_over_mappings_are_cut_as_mmap_does(void **state)
{
	enum { SPACE = 64, ROUNDS = 2000 };
	uint32_t owner[SPACE] = { 0 };
	uint64_t file_off[SPACE];
	struct address_space a = { 0 };

	(void)state;
	srand(7);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint64_t start = (uint64_t)(rand() % (SPACE - 1));
		uint64_t end = start + 1 + (uint64_t)rand() % (SPACE - start);
		struct mapping m = { start, end, 1000, { round }, false };

		if (round % 50 == 0) {
			address_space_clear(&a);
			memset(owner, 0, sizeof(owner));
		}
		address_space_map(&a, &m);
		for (uint64_t i = start; i < end; i++) {
			owner[i] = round;
			file_off[i] = 1000 + i - start;
		}
		for (uint64_t i = 0; i < SPACE; i++) {
			const struct mapping *found = address_space_find(&a, i);

			assert_int_equal(found ? found->image.n : 0, owner[i]);
			if (found)
				assert_int_equal(i - found->start + found->file_off, file_off[i]);
		}
	}
	address_space_fini(&a);
}

static void expect_same(const struct address_space *a, const uint32_t *owner, uint32_t n)
{
	size_t n_mappings = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct mapping *found = address_space_find(a, i);

		if ((found ? found->image.n : 0) != owner[i])
			fail_msg("address %u: %u instead of %u", i, found ? found->image.n : 0,
				 owner[i]);
		n_mappings += found && found->start == i;
	}
	assert_int_equal(a->n, n_mappings);
}

/* Thousands of mappings, which are several runs, that come and go; and copies of them. */
static void many_mappings_are_cut_in_the_same_way(void **state)
{
	enum { SPACE = 20000, ROUNDS = 60000 };
	static uint32_t owner[SPACE];
	struct address_space a = { 0 }, copy = { 0 };
	size_t most = 0, n_runs = 0;

	(void)state;
	srand(11);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint32_t start = (uint32_t)rand() % (SPACE - 1);
		uint32_t len = round % 1000 ? 1 + (uint32_t)rand() % 3 : (uint32_t)rand() % SPACE;
		uint32_t end = MIN(start + 1 + len, (uint32_t)SPACE);
		struct mapping m = { start, end, 0, { round }, false };

		address_space_map(&a, &m);
		for (uint32_t i = start; i < end; i++)
			owner[i] = round;
		most = MAX(most, a.n);
		n_runs = MAX(n_runs, a.n_runs);
		if (round % 997 == 0)
			expect_same(&a, owner, SPACE);
		/* no run of a few mappings remains beside another one */
		assert_true(a.n_runs < 2 || a.n > (a.n_runs - 1) * MAPPINGS_RUN / 8);
	}
	assert_true(most > 20 * MAPPINGS_RUN && n_runs > 20);
	address_space_copy(&copy, &a);
	expect_same(&copy, owner, SPACE);
	address_space_map(&copy, &(struct mapping){ 0, SPACE, 0, { 1 }, false });
	assert_int_equal(copy.n, 1);
	assert_int_equal(copy.n_runs, 1);
	expect_same(&a, owner, SPACE);
	address_space_fini(&copy);
	address_space_fini(&a);
}

static void a_perf_map_skips_garbage_and_later_lines_win(void **state)
{
	char text[] = "1000 100 first\n"
		      "garbage\n"
		      "2000 zz bad\n"
		      "3000 0 empty\n"
		      "ffffffffffffff00 200 wraps\n"
		      "1080 100 second one\n"
		      "4000 10 old\n"
		      "4000 20 new\n";
	struct perf_map map;

	(void)state;
	perf_map_parse(&map, text);
	assert_int_equal(map.n_bad_lines, 4);
	assert_string_equal(perf_map_name(&map, perf_map_find(&map, 0x1000)), "first");
	assert_string_equal(perf_map_name(&map, perf_map_find(&map, 0x107f)), "first");
	assert_string_equal(perf_map_name(&map, perf_map_find(&map, 0x1080)), "second one");
	assert_string_equal(perf_map_name(&map, perf_map_find(&map, 0x400f)), "new");
	assert_null(perf_map_find(&map, 0x1180));
	assert_null(perf_map_find(&map, 0xfff));
	perf_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_over_mappings_are_cut_as_mmap_does),
		cmocka_unit_test(many_mappings_are_cut_in_the_same_way),
		cmocka_unit_test(a_perf_map_skips_garbage_and_later_lines_win),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
