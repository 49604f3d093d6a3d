/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of blocks whose insert into ClickHouse was given up. */
#include "scratch.h"

#include "base/clock.h"
#include "base/error.h"
#include "fleet/batch_list.h"
#include "fleet/unfinished.h"

#define DAY_S 86400

static uint64_t day_ns; /* the start of yesterday */

static const char *part_name(int number)
{
	static char name[64];

	snprintf(name, sizeof(name), "20261127T150000.000Z-%d", number);
	return name;
}

/* Adds a block of a host, which begins so many seconds after the day. */
static void add_block(const char *host, int part, int64_t at_s, bool leaves)
{
	struct batch_list list = { .leaves = leaves };
	struct error err = { 0 };

	batch_list_add(&list, host, part_name(part), day_ns + (uint64_t)at_s * NS_PER_SECOND);
	if (unfinished_add("fleet", &list, &err) < 0)
		fail_msg("%s", err.text);
	batch_list_fini(&list);
}

/* The numbers of the parts that are found of a host, in seconds of the day. */
static void assert_found(const char *host, int64_t from_s, int64_t to_s, bool leaves,
			 const char *want)
{
	struct batch_list found = { 0 };
	struct error err = { 0 };
	char text[256] = "";

	if (unfinished_find("fleet", leaves, host, day_ns + (uint64_t)from_s * NS_PER_SECOND,
			    day_ns + (uint64_t)to_s * NS_PER_SECOND, &found, &err) != 0)
		fail_msg("%s", err.text);
	vec_foreach (&found.blocks, block) {
		size_t n = strlen(text);

		assert_string_equal(block->host, host);
		snprintf(text + n, sizeof(text) - n, " %s", strrchr(block->part, '-') + 1);
	}
	assert_string_equal(text, want);
	batch_list_fini(&found);
}

static int begin_fleet(void **state)
{
	(void)state;
	file_remove_tree("fleet", NULL);
	day_ns = (clock_wall_ns() / NS_PER_SECOND / DAY_S - 1) * DAY_S * NS_PER_SECOND;
	return mkdir("fleet", 0755);
}

static void blocks_are_found_by_host_and_time(void **state)
{
	(void)state;
	assert_found("web1", 0, DAY_S, false, "");
	add_block("web1", 2, 600, false);
	add_block("web1", 3, 1200, false);
	add_block("web2", 4, 600, false);
	add_block("web", 5, 600, false);
	assert_found("web1", 0, DAY_S, false, " 2 3");
	assert_found("web2", 0, DAY_S, false, " 4");
	/* The end is not in it. */
	assert_found("web1", 600, 1200, false, " 2");
	assert_found("web1", 601, 1201, false, " 3");
	assert_found("web1", 601, 1200, false, "");
}

static void a_block_is_listed_once(void **state)
{
	struct batch_list list = { 0 };
	struct error err = { 0 };

	(void)state;
	add_block("web1", 2, 600, false);
	for (int i = 0; i < 2; i++) { /* also within one list */
		batch_list_add(&list, "web1", part_name(2), day_ns + 600 * NS_PER_SECOND);
		batch_list_add(&list, "web1", part_name(2), day_ns + 1200 * NS_PER_SECOND);
		batch_list_add(&list, "web1", part_name(3), day_ns + 600 * NS_PER_SECOND);
		batch_list_add(&list, "web2", part_name(2), day_ns + 600 * NS_PER_SECOND);
	}
	assert_true(unfinished_add("fleet", &list, &err) >= 0);
	batch_list_fini(&list);
	assert_found("web1", 0, DAY_S, false, " 2 2 3");
	assert_found("web2", 0, DAY_S, false, " 2");
}

static void addresses_are_apart(void **state)
{
	(void)state;
	add_block("web1", 2, 600, false);
	add_block("web1", 3, 600, true);
	assert_found("web1", 0, DAY_S, false, " 2");
	assert_found("web1", 0, DAY_S, true, " 3");
	assert_int_equal(access("fleet/.unfinished-leaves", F_OK), 0);
}

static void a_day_is_removed_with_its_addresses(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (int leaves = 0; leaves < 2; leaves++) {
		add_block("web1", 2, -1, leaves);
		add_block("web1", 3, 0, leaves);
		add_block("web2", 4, DAY_S - 1, leaves);
		add_block("web1", 5, DAY_S, leaves);
	}
	assert_int_equal(unfinished_remove_day("fleet", day_ns / NS_PER_SECOND, &err), 0);
	for (int leaves = 0; leaves < 2; leaves++) {
		assert_found("web1", -DAY_S, 2 * DAY_S, leaves, " 2 5");
		assert_found("web2", -DAY_S, 2 * DAY_S, leaves, "");
	}
	/* The last blocks of a list take the file with them. */
	assert_int_equal(unfinished_remove_day("fleet", day_ns / NS_PER_SECOND - DAY_S, &err), 0);
	assert_int_equal(unfinished_remove_day("fleet", day_ns / NS_PER_SECOND + DAY_S, &err), 0);
	assert_int_equal(access("fleet/.unfinished", F_OK), -1);
	assert_int_equal(access("fleet/.unfinished-leaves", F_OK), -1);
	assert_int_equal(unfinished_remove_day("fleet", day_ns / NS_PER_SECOND, &err), 0);
}

/* As long as a table of coverage keeps them. */
static void old_blocks_go_when_others_come(void **state)
{
	(void)state;
	add_block("web1", 3, -728 * DAY_S, false);
	add_block("web1", 2, -731 * DAY_S, false);
	assert_found("web1", -800 * DAY_S, 0, false, " 3 2");
	add_block("web1", 4, 0, false);
	assert_found("web1", -800 * DAY_S, DAY_S, false, " 3 4");
}

static void a_damaged_list_is_an_error_and_stays(void **state)
{
	struct batch_list list = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file("fleet/.unfinished", "assay-loading 1 functions\nweb1 ../../etc 12\n");
	assert_int_equal(unfinished_find("fleet", false, "web1", 0, UINT64_MAX, &list, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "assay fleet rebuild"));
	assert_int_equal(list.blocks.n, 0);
	batch_list_add(&list, "web1", part_name(2), day_ns);
	assert_int_equal(unfinished_add("fleet", &list, &err), -EBADMSG);
	assert_int_equal(unfinished_remove_day("fleet", day_ns / NS_PER_SECOND, &err), -EBADMSG);
	assert_true(try_command("grep -q '^web1 ../../etc 12$' fleet/.unfinished"));
	batch_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks_are_found_by_host_and_time, begin_fleet),
		cmocka_unit_test_setup(a_block_is_listed_once, begin_fleet),
		cmocka_unit_test_setup(addresses_are_apart, begin_fleet),
		cmocka_unit_test_setup(a_day_is_removed_with_its_addresses, begin_fleet),
		cmocka_unit_test_setup(old_blocks_go_when_others_come, begin_fleet),
		cmocka_unit_test_setup(a_damaged_list_is_an_error_and_stays, begin_fleet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
