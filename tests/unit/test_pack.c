/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A packed part has the same samples in every second, in fewer bytes. */
#include "histories.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "store/history/merge.h"
#include "store/history/pack.h"

#define SECONDS 600

static char *only_part(const struct history *h)
{
	struct history_names names = { 0 };
	char *path;

	assert_int_equal(history_list(h->dir, &names), 0);
	assert_int_equal(names.n, 1);
	path = xasprintf("%s/%s", h->dir, names.data[0]);
	history_names_fini(&names);
	return path;
}

static struct sums second_of(const struct history *h, uint64_t second)
{
	struct time_window w = { (MIDNIGHT + second) * NS_PER_SECOND,
				 (MIDNIGHT + second + 1) * NS_PER_SECOND };

	return history_sums(h, &w, true);
}

static void seconds_stay_as_they_are(void **state)
{
	struct sums before[SECONDS], all, packed;
	uint64_t size;
	struct history h;
	char *path;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, SECONDS, true);
	path = only_part(&h);
	all = history_sums(&h, NULL, true);
	for (uint64_t i = 0; i < SECONDS; i += 37)
		before[i] = second_of(&h, i);
	size = file_tree_bytes(path);
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 1);
	assert_true(file_tree_bytes(path) < size);
	packed = history_sums(&h, NULL, true);
	assert_same(&packed, &all);
	assert_int_equal(packed.hash, all.hash);
	for (uint64_t i = 0; i < SECONDS; i += 37) {
		struct sums now = second_of(&h, i);

		assert_same(&now, &before[i]);
		assert_int_equal(now.hash, before[i].hash);
	}
	/* Once is enough, and nothing is left beside it. */
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 0);
	free(path);
	path = only_part(&h);
	free(path);
	history_fini(&h);
}

static struct sums tenths_of(const struct history *h, uint64_t second, uint64_t from, uint64_t to)
{
	uint64_t start = (MIDNIGHT + second) * NS_PER_SECOND, tenth = NS_PER_SECOND / 10;
	struct time_window w = { start + from * tenth, start + to * tenth };

	return history_sums(h, &w, true);
}

/* Events of a part of a second are exact to a unit only (docs/formats.md). */
static void assert_same_times(const struct sums *a, const struct sums *b)
{
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->timed, b->timed);
	assert_int_equal(a->timed_hash, b->timed_hash);
}

static void exact_times_stay_where_they_are_wanted(void **state)
{
	struct sums all, packed, part;
	struct history h;
	char *path;

	(void)state;
	history_init(&h);
	h.has_times = true;
	history_part(&h, MIDNIGHT, SECONDS, true);
	path = only_part(&h);
	all = history_sums(&h, NULL, true);
	assert_int_equal(all.timed, all.samples);
	part = tenths_of(&h, 300, 1, 2);
	assert_true(part.samples > 0 && part.samples < second_of(&h, 300).samples);
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 1);
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 0);
	packed = history_sums(&h, NULL, true);
	assert_same(&packed, &all);
	assert_same_times(&packed, &all);
	packed = tenths_of(&h, 300, 1, 2);
	assert_same_times(&packed, &part);
	/* Without the times, the same samples. */
	assert_int_equal(part_pack(path, false, false, &OVERVIEWS_THAT_PAY, NULL), 1);
	assert_int_equal(part_pack(path, false, false, &OVERVIEWS_THAT_PAY, NULL), 0);
	packed = history_sums(&h, NULL, true);
	assert_same(&packed, &all);
	assert_int_equal(packed.hash, all.hash);
	assert_int_equal(packed.timed, 0);
	/* What is gone does not come back. */
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 0);
	free(path);
	history_fini(&h);
}

/* Each part has a clock of its own (histories.h). */
static void parts_of_two_clocks_keep_their_exact_times(void **state)
{
	struct sums before, both, later;
	struct history h;

	(void)state;
	history_init(&h);
	h.has_times = true;
	history_part(&h, MIDNIGHT, 60, true);
	before = history_sums(&h, NULL, true);
	history_part(&h, MIDNIGHT + 100, 60, true);
	both = history_sums(&h, NULL, true);
	later = tenths_of(&h, 100, 0, 600);
	assert_int_equal(both.timed, before.timed + later.timed);
	assert_int_equal(both.timed_hash, before.timed_hash + later.timed_hash);
	assert_int_equal(tenths_of(&h, 130, 1, 2).samples + tenths_of(&h, 130, 0, 1).samples +
				 tenths_of(&h, 130, 2, 10).samples,
			 second_of(&h, 130).samples);
	assert_int_equal(tenths_of(&h, 130, 1, 2).timed, tenths_of(&h, 130, 1, 2).samples);
	history_fini(&h);
}

/* A stored part of the same 90 seconds, made by an earlier state: it is packed again n_packs times.
 */
static void check_stored_part(const char *stored, int n_packs)
{
	struct sums want = expected_sums(MIDNIGHT, MIDNIGHT + 90), got;
	cleanup(free_at_exit) char *path = NULL, *dir = NULL, *to = NULL;
	struct history h;
	char *bytes;
	size_t size;

	history_init(&h);
	path = xasprintf("%s/20261120T000000.000Z", h.dir);
	dir = xasprintf("%s/samples/current", path);
	to = xasprintf("%s/0000.segment", dir);
	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	assert_int_equal(file_read_all(stored, 1 << 20, &bytes, &size), 0);
	assert_int_equal(file_replace(to, bytes, size, NULL), 0);
	free(bytes);
	for (int i = 0; i < 2; i++) {
		got = history_sums(&h, NULL, false);
		assert_same(&got, &want);
		assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL),
				 i < n_packs);
	}
	history_fini(&h);
}

/* Seconds in groups of version 2, and in those of version 3. */
static void packed_parts_of_before_are_read(void **state)
{
	(void)state;
	check_stored_part(ASSAY_SRC "/../tests/data/packed-format-2/0000.segment", 1);
	check_stored_part(ASSAY_SRC "/../tests/data/packed-format-3/0000.segment", 0);
}

/* It may be one that is being written; who knows that it is not says so. */
static void a_part_without_an_end_is_packed_on_demand(void **state)
{
	struct history h;
	char *path;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 60, false);
	path = only_part(&h);
	assert_int_equal(part_pack(path, false, true, &OVERVIEWS_THAT_PAY, NULL), 0);
	assert_int_equal(part_pack(path, true, true, &OVERVIEWS_THAT_PAY, NULL), 1);
	free(path);
	history_fini(&h);
}

static void what_is_no_part_is_left_alone(void **state)
{
	struct error err = { 0 };
	struct history h;
	char *path;

	(void)state;
	history_init(&h);
	path = xasprintf("%s/20261121T210500.123Z", h.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(part_pack(path, true, true, &OVERVIEWS_THAT_PAY, &err) < 0);
	assert_int_equal(access(path, F_OK), 0);
	free(path);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_stay_as_they_are),
		cmocka_unit_test(exact_times_stay_where_they_are_wanted),
		cmocka_unit_test(parts_of_two_clocks_keep_their_exact_times),
		cmocka_unit_test(packed_parts_of_before_are_read),
		cmocka_unit_test(a_part_without_an_end_is_packed_on_demand),
		cmocka_unit_test(what_is_no_part_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
