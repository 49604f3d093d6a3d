/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a fleet: each sample once, whenever a process is killed. */
#include "histories.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "fleet/ship.h"
#include "store/format.h"
#include "store/history/blocks.h"

#define FLEET "fleet"
#define HOST  "web1"

static void fleet_init(void)
{
	struct error err = { 0 };

	file_remove_tree(FLEET, NULL);
	if (fleet_make(FLEET, &err) < 0)
		fail_msg("%s", err.text);
}

static struct ship_result ship_history(const struct history *h)
{
	const struct ship_config config = { .history = h->dir, .fleet = FLEET, .host = HOST };
	struct ship *ship = ship_new(&config);
	struct ship_result result;
	struct error err = { 0 };

	if (ship_round(ship, &result, &err) < 0)
		fail_msg("%s", err.text);
	ship_free(ship);
	return result;
}

static struct sums fleet_sums(void)
{
	const struct history_request request = { TIME_WINDOW_ALL, UINT64_MAX };
	struct error err = { 0 };
	struct session *s;
	struct sums sums;

	if (history_open(FLEET "/" HOST, &request, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s->warnings.n, 0);
	sums = sums_of(s);
	session_close(s);
	return sums;
}

static void assert_whole(uint64_t from, uint64_t to)
{
	struct sums want = expected_sums(from, to), got = fleet_sums();

	assert_same(&got, &want);
}

/* Opens the host and drops it, which removes the folder. False: it was removed by another. */
static bool drop_host(void)
{
	struct error err = { 0 };
	struct fleet_host *h;
	int r = fleet_host_open(FLEET, HOST, &h, &err);
	bool is_there;

	if (r < 0)
		return r == -EBUSY;
	is_there = access(FLEET "/" HOST "/.keys", F_OK) == 0;
	fleet_host_drop(h);
	return is_there;
}

/* A lock of a folder that another process removed meanwhile locks nothing. */
static void a_host_that_is_open_is_removed_by_nobody_else(void **state)
{
	pid_t pids[4];
	bool is_whole = true;
	int status;

	(void)state;
	fleet_init();
	for (size_t k = 0; k < ARRAY_SIZE(pids); k++) {
		pids[k] = fork();
		if (pids[k])
			continue;
		for (int i = 0; i < 3000 && is_whole; i++)
			is_whole = drop_host();
		_exit(is_whole ? 0 : 1);
	}
	for (size_t k = 0; k < ARRAY_SIZE(pids); k++) {
		assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
		is_whole = is_whole && status == 0;
	}
	assert_true(is_whole);
}

static void each_block_is_sent_once(void **state)
{
	struct ship_result result;
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1500, true);
	history_part(&h, MIDNIGHT + 1500, 900, true);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 5); /* the bucket in which the parts meet has two */
	assert_whole(MIDNIGHT, MIDNIGHT + 2400);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 0);
	assert_whole(MIDNIGHT, MIDNIGHT + 2400);
	history_fini(&h);
}

/* As after a downgrade: the newest part is no part that has only just begun. */
static void a_part_of_a_newer_assay_is_left_out_with_a_warning(void **state)
{
	const char *segment = "20261120T002500.000Z/samples/current/0000.segment";
	struct segment_header newer = { .version = SEGMENT_VERSION_MAX + 1 };
	cleanup(free_at_exit) char *path = NULL;
	struct buf header = { 0 };
	struct ship_result result;
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1500, true);
	history_part(&h, MIDNIGHT + 1500, 900, true);
	path = xasprintf("%s/%s", h.dir, segment);
	assert_int_equal(access(path, F_OK), 0);
	segment_header_write(&header, &newer);
	assert_int_equal(file_replace(path, header.data, header.len, NULL), 0);
	result = ship_history(&h);
	assert_int_equal(result.n_damaged, 1);
	assert_int_equal(result.n_sent, 3);
	assert_whole(MIDNIGHT, MIDNIGHT + 1500);
	buf_fini(&header);
	history_fini(&h);
}

/* ---- killed at each step ---- */

static unsigned int steps_left;

static void die_at_step(enum fleet_step step)
{
	(void)step;
	if (!steps_left--)
		_exit(9);
}

/* True: it was killed after so many steps. */
static bool ship_until(const struct history *h, unsigned int steps)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		const struct ship_config config = { .history = h->dir,
						    .fleet = FLEET,
						    .host = HOST };
		struct ship *ship = ship_new(&config);
		struct ship_result result;

		fleet_at_step = die_at_step;
		steps_left = steps;
		_exit(ship_round(ship, &result, NULL) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status) == 9;
}

static void a_kill_at_any_step_loses_and_doubles_nothing(void **state)
{
	struct history h;
	unsigned int n_steps = 0;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 1500, true);
	for (;; n_steps++) {
		fleet_init();
		if (!ship_until(&h, n_steps))
			break;
		ship_history(&h);
		assert_whole(MIDNIGHT, MIDNIGHT + 1500);
	}
	assert_int_equal(n_steps, 3 * 3); /* three steps of each of three blocks */
	history_fini(&h);
}

static void killed_again_and_again_it_still_ends(void **state)
{
	struct history h;
	unsigned int n_kills = 0;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 3000, true);
	while (ship_until(&h, n_kills % 3))
		assert_true(++n_kills < 100);
	assert_true(n_kills >= 5);
	assert_whole(MIDNIGHT, MIDNIGHT + 3000);
	history_fini(&h);
}

static int die_in_send(void *context, const struct fleet_key *key, const char *block,
		       struct error *err)
{
	(void)context;
	(void)key;
	(void)err;
	_exit(access(block, F_OK) == 0 ? 9 : 8);
}

/* Killed while a block of a known key is compared. */
static void ship_dies_in_send(const struct history *h)
{
	const struct ship_config config = {
		.history = h->dir, .fleet = FLEET, .host = HOST, .send = die_in_send
	};
	struct ship_result result;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(ship_round(ship_new(&config), &result, NULL) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 9);
}

/* A recording that went on has more samples under the name of a part that was sent. */
static void a_kill_beside_a_known_block_leaves_the_host_as_it_was(void **state)
{
	struct history h, longer;
	struct ship_config config = { .fleet = FLEET, .host = HOST };
	struct ship_result result;
	struct ship *ship;

	(void)state;
	history_init(&h);
	history_init(&longer);
	fleet_init();
	config.history = longer.dir;
	history_part(&h, MIDNIGHT, 900, true);
	history_part(&longer, MIDNIGHT, 1200, true);
	ship_history(&h);
	ship_dies_in_send(&longer);
	ship_dies_in_send(&longer);
	assert_int_equal(ship_history(&h).n_sent, 0);
	assert_whole(MIDNIGHT, MIDNIGHT + 900);
	merge_to(FLEET "/" HOST, LEVEL_HOURS);
	ship_dies_in_send(&longer);
	ship = ship_new(&config);
	assert_int_equal(ship_round(ship, &result, NULL), 0); /* nobody reads the error */
	assert_int_equal(result.n_refused, 1);
	ship_free(ship);
	assert_whole(MIDNIGHT, MIDNIGHT + 900);
	history_fini(&longer);
	history_fini(&h);
}

/* As it was left by an assay that wrote known blocks under the hidden names of new ones. */
static void a_second_block_of_a_stored_key_is_removed(void **state)
{
	struct fleet_host *host;
	struct history h;
	char name[HISTORY_NAME_SIZE];
	cleanup(free_at_exit) char *hidden = NULL;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 600, true);
	ship_history(&h);
	assert_int_equal(fleet_host_open(FLEET, HOST, &host, NULL), 0);
	block_name(fleet_host_keys(host)->data[0].bucket, fleet_host_keys(host)->data[0].part,
		   name);
	fleet_host_close(host);
	hidden = xasprintf(FLEET "/" HOST "/.block-%s", name);
	assert_int_equal(file_mkdirs(hidden, 0750, NULL), 0);
	assert_int_equal(ship_history(&h).n_sent, 0);
	assert_int_equal(access(hidden, F_OK), -1);
	assert_whole(MIDNIGHT, MIDNIGHT + 600);
	history_fini(&h);
}

/* ---- keys ---- */

static void a_torn_line_of_keys_is_no_key(void **state)
{
	struct fleet_host *host;
	struct history h;
	int fd;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1500, true);
	ship_history(&h);
	fd = open(FLEET "/" HOST "/.keys", O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "20261120T000000.000Z 17951", 26), 26);
	close(fd);
	assert_int_equal(fleet_host_open(FLEET, HOST, &host, NULL), 0);
	assert_int_equal(fleet_host_keys(host)->n, 3);
	assert_int_equal(fleet_host_cover(host,
					  &(struct fleet_key){ .part = "20261121T000000.000Z",
							       .bucket = 600 },
					  NULL),
			 0);
	fleet_host_close(host);
	assert_int_equal(fleet_host_open(FLEET, HOST, &host, NULL), 0);
	assert_int_equal(fleet_host_keys(host)->n, 4);
	assert_non_null(fleet_host_find(host, "20261121T000000.000Z", 600));
	fleet_host_close(host);
	history_fini(&h);
}

static void damaged_keys_are_refused(void **state)
{
	struct fleet_host *host;
	struct error err = { 0 };

	(void)state;
	fleet_init();
	assert_int_equal(fleet_host_open(FLEET, HOST, &host, NULL), 0);
	fleet_host_close(host);
	assert_int_equal(file_replace(FLEET "/" HOST "/.keys", "../../etc 1 2 3 4\n", 18, NULL), 0);
	assert_int_equal(fleet_host_open(FLEET, HOST, &host, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "line 1"));
}

static void names_of_hosts_stay_in_the_fleet(void **state)
{
	static const char *const bad[] = { "",    ".",   "..",  "a/b",      "/etc", ".names",
					   "-rf", "a b", "a\n", "\xc3\xa4", "a:b" };
	struct fleet_host *host;

	(void)state;
	fleet_init();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(fleet_host_open(FLEET, bad[i], &host, NULL), -EINVAL);
	assert_true(fleet_host_is_valid("web-1.example.org"));
	assert_false(fleet_host_is_valid("0123456789012345678901234567890123456789"
					 "0123456789012345678901234567890123456789"));
}

static void other_folders_are_no_fleet(void **state)
{
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 60, true);
	assert_int_equal(fleet_make(h.dir, NULL), -ENOTEMPTY);
	history_fini(&h);
}

static void the_id_of_a_fleet_stays_and_a_torn_one_is_made_anew(void **state)
{
	char first[FLEET_ID_SIZE], again[FLEET_ID_SIZE];

	(void)state;
	fleet_init();
	assert_int_equal(fleet_id_text(FLEET, first, NULL), 0);
	assert_int_equal(strlen(first), FLEET_ID_SIZE - 1);
	assert_int_equal(fleet_id_text(FLEET, again, NULL), 0);
	assert_string_equal(first, again);
	assert_int_equal(file_replace(FLEET "/.id", "12", 2, NULL), 0);
	assert_int_equal(fleet_id_text(FLEET, first, NULL), 0);
	assert_int_equal(strlen(first), FLEET_ID_SIZE - 1);
	assert_int_equal(fleet_id_text(FLEET, again, NULL), 0);
	assert_string_equal(first, again);
}

/* ---- merging, on both sides ---- */

static void merge_all(const char *dir)
{
	merge_to(dir, LEVEL_HOURS);
}

static void a_fleet_that_was_merged_knows_its_blocks(void **state)
{
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1500, true);
	ship_history(&h);
	merge_all(FLEET "/" HOST);
	assert_int_equal(ship_history(&h).n_sent, 0);
	assert_whole(MIDNIGHT, MIDNIGHT + 1500);
	history_fini(&h);
}

static void parts_that_were_merged_before_are_sent_once(void **state)
{
	struct sums first = expected_sums(MIDNIGHT, MIDNIGHT + 1200),
		    second = expected_sums(MIDNIGHT + 2 * HOUR, MIDNIGHT + 2 * HOUR + 1200), got;
	struct ship_result result;
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1200, true);
	ship_history(&h);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	merge_all(h.dir);
	result = ship_history(&h);
	assert_int_equal(result.expired, 0);
	got = fleet_sums();
	assert_int_equal(got.samples, first.samples + second.samples);
	assert_int_equal(got.lost, first.lost + second.lost);
	assert_int_equal(ship_history(&h).n_sent, 0);
	history_fini(&h);
}

/* Two parts met in a bucket, and one of them was sent: the rest is counted. */
static void samples_that_were_merged_with_sent_ones_are_counted(void **state)
{
	struct sums first = expected_sums(MIDNIGHT, MIDNIGHT + 300),
		    second = expected_sums(MIDNIGHT + 300, MIDNIGHT + 600), got;
	struct ship_result result;
	struct host_facts facts;
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 300, true);
	ship_history(&h);
	history_part(&h, MIDNIGHT + 300, 300, true);
	merge_all(h.dir);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 0);
	assert_int_equal(result.expired, second.samples);
	assert_int_equal(host_facts_read(FLEET, HOST, &facts, NULL), 0);
	assert_int_equal(facts.expired, second.samples);
	got = fleet_sums();
	assert_int_equal(got.samples, first.samples);
	assert_int_equal(ship_history(&h).expired, 0); /* once */
	assert_int_equal(host_facts_read(FLEET, HOST, &facts, NULL), 0);
	assert_int_equal(facts.expired, second.samples);
	history_fini(&h);
}

static void assert_two_parts(void)
{
	struct sums first = expected_sums(MIDNIGHT, MIDNIGHT + 1200),
		    second = expected_sums(MIDNIGHT + 2 * HOUR, MIDNIGHT + 2 * HOUR + 1200),
		    got = fleet_sums();

	assert_int_equal(got.samples, first.samples + second.samples);
	assert_int_equal(got.lost, first.lost + second.lost);
}

/* The parts between came and went unseen; or they were seen. */
static void merged_twice(bool is_sent_between)
{
	struct ship_result result;
	struct history h;

	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 1200, true);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	ship_history(&h);
	merge_to(h.dir, LEVEL_HOURS);
	if (is_sent_between)
		assert_int_equal(ship_history(&h).n_sent, 0);
	merge_to(h.dir, LEVEL_DAYS);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 0);
	assert_int_equal(result.expired, 0);
	assert_two_parts();
	history_fini(&h);
}

static void a_history_that_was_merged_twice_is_sent_once(void **state)
{
	(void)state;
	merged_twice(false);
	merged_twice(true);
}

/* Of the parts that a merged one stands for, some are in its list, and some came and went before.
 */
static void parts_that_came_and_went_count_beside_those_of_the_list(void **state)
{
	struct ship_result result;
	struct history h, other;

	(void)state;
	history_init(&h);
	history_init(&other);
	fleet_init();
	history_part(&other, MIDNIGHT + 2 * HOUR, 1200, true);
	ship_history(&other);
	history_part(&h, MIDNIGHT, 600, true);
	history_part(&h, MIDNIGHT + 600, 600, true);
	ship_history(&h);
	merge_to(h.dir, LEVEL_HOURS);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	merge_to(h.dir, LEVEL_DAYS);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 0);
	assert_int_equal(result.expired, 0);
	assert_two_parts();
	history_fini(&other);
	history_fini(&h);
}

/* The first merged part was seen, and stands for the parts that it replaced: they count once. */
static void parts_that_a_seen_one_stands_for_count_once(void **state)
{
	struct sums late = expected_sums(MIDNIGHT + 2 * HOUR, MIDNIGHT + 2 * HOUR + 1200);
	struct ship_result result;
	struct history h;

	(void)state;
	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 600, true);
	history_part(&h, MIDNIGHT + 600, 600, true);
	ship_history(&h);
	merge_to(h.dir, LEVEL_HOURS);
	assert_int_equal(ship_history(&h).n_sent, 0);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	merge_to(h.dir, LEVEL_DAYS);
	result = ship_history(&h);
	assert_int_equal(result.n_sent, 0);
	assert_int_equal(result.expired, late.samples);
	history_fini(&h);
}

/* The file system of another fleet is mounted at the path, or it is removed and made again. */
static void another_fleet_at_the_path_gets_all(void **state)
{
	struct history h;
	struct ship_config config = { .fleet = FLEET, .host = HOST };
	struct ship_result result;
	struct ship *ship;

	(void)state;
	fleet_init();
	history_init(&h);
	config.history = h.dir;
	history_part(&h, MIDNIGHT, 1200, true);
	ship = ship_new(&config);
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(result.n_sent, 2);
	assert_int_equal(rename(FLEET, FLEET ".away"), 0);
	fleet_init();
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(result.n_sent, 2);
	/* ext4 gives the mark of the next fleet the same number. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(file_remove_tree(FLEET, NULL), 0);
		fleet_init();
		assert_int_equal(ship_round(ship, &result, NULL), 0);
		assert_int_equal(result.n_sent, 2);
	}
	ship_free(ship);
	file_remove_tree(FLEET ".away", NULL);
	history_fini(&h);
}

/* Nobody wrote to the part for two hours. */
static void abandon(const struct history *h, uint64_t start_s)
{
	static const char *const files[] = { "samples/current/0000.segment", "samples/current",
					     "samples" };
	const struct timespec before = { time(NULL) - 2 * (time_t)HOUR, 0 };
	char name[HISTORY_NAME_SIZE];

	history_part_name(start_s * NS_PER_SECOND, 0, name);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", h->dir, name, files[i]);

		assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ before, before },
					   0),
				 0);
	}
}

/* One ship over several rounds, as in the service. */
static void growing(bool is_abandoned)
{
	const struct ship_config config = { .history = "grows", .fleet = FLEET, .host = HOST };
	struct ship_result result;
	struct ship *ship;
	struct history h, whole;

	fleet_init();
	history_init(&h);
	history_init(&whole);
	/* The part that grows is not the last one by name: the clock was set back. */
	history_part(&h, MIDNIGHT + HOUR, 1200, false);
	history_part(&whole, MIDNIGHT + HOUR, is_abandoned ? 1800 : 1200, true);
	if (is_abandoned)
		abandon(&h, MIDNIGHT + HOUR);
	history_part(&h, MIDNIGHT + 3 * HOUR, 600, true);
	assert_int_equal(symlink(h.dir, "grows"), 0);
	ship = ship_new(&config);
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(result.n_sent, is_abandoned ? 3 : 2);
	unlink("grows");
	assert_int_equal(symlink(whole.dir, "grows"), 0); /* the same part, with its end */
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(result.n_sent, 1);
	ship_free(ship);
	unlink("grows");
	history_fini(&whole);
	history_fini(&h);
}

static void a_part_that_grows_is_sent_when_it_has_its_end(void **state)
{
	(void)state;
	growing(false);
	growing(true); /* its recorder was stopped, and goes on */
}

/* The file system goes away, and comes back. */
static void a_fleet_that_goes_away_gets_nothing(void **state)
{
	struct history h;
	struct ship_config config = { .fleet = FLEET, .host = HOST };
	struct ship_result result;
	struct ship *ship;

	(void)state;
	fleet_init();
	history_init(&h);
	config.history = h.dir;
	history_part(&h, MIDNIGHT, 1200, true);
	ship = ship_new(&config);
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(rename(FLEET, FLEET ".away"), 0);
	assert_int_equal(mkdir(FLEET, 0700), 0);
	history_part(&h, MIDNIGHT + HOUR, 600, true);
	assert_int_equal(ship_round(ship, &result, NULL), -ENODEV);
	assert_int_equal(fleet_make(FLEET, NULL), -ENOTEMPTY);
	assert_int_equal(rmdir(FLEET), 0); /* nothing was written there */
	fleet_init();
	assert_int_equal(ship_round(ship, &result, NULL), 0);
	assert_int_equal(result.n_sent, 3); /* a new fleet gets all */
	ship_free(ship);
	file_remove_tree(FLEET ".away", NULL);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_is_sent_once),
		cmocka_unit_test(a_part_of_a_newer_assay_is_left_out_with_a_warning),
		cmocka_unit_test(a_kill_at_any_step_loses_and_doubles_nothing),
		cmocka_unit_test(killed_again_and_again_it_still_ends),
		cmocka_unit_test(a_kill_beside_a_known_block_leaves_the_host_as_it_was),
		cmocka_unit_test(a_second_block_of_a_stored_key_is_removed),
		cmocka_unit_test(a_torn_line_of_keys_is_no_key),
		cmocka_unit_test(damaged_keys_are_refused),
		cmocka_unit_test(names_of_hosts_stay_in_the_fleet),
		cmocka_unit_test(other_folders_are_no_fleet),
		cmocka_unit_test(a_fleet_that_was_merged_knows_its_blocks),
		cmocka_unit_test(parts_that_were_merged_before_are_sent_once),
		cmocka_unit_test(samples_that_were_merged_with_sent_ones_are_counted),
		cmocka_unit_test(a_history_that_was_merged_twice_is_sent_once),
		cmocka_unit_test(parts_that_came_and_went_count_beside_those_of_the_list),
		cmocka_unit_test(parts_that_a_seen_one_stands_for_count_once),
		cmocka_unit_test(the_id_of_a_fleet_stays_and_a_torn_one_is_made_anew),
		cmocka_unit_test(another_fleet_at_the_path_gets_all),
		cmocka_unit_test(a_part_that_grows_is_sent_when_it_has_its_end),
		cmocka_unit_test(a_host_that_is_open_is_removed_by_nobody_else),
		cmocka_unit_test(a_fleet_that_goes_away_gets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
