/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ship` and servers that are away, or fail: what waits, what expires, what goes on. */
#include "histories.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "fleet/ship.h"
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

/* A history with a part of so many seconds, and a fleet without hosts. */
static void history_and_fleet_init(struct history *h, uint64_t seconds)
{
	history_init(h);
	fleet_init();
	history_part(h, MIDNIGHT, seconds, true);
}

static uint64_t ship_clock_ns = NS_PER_SECOND;

static uint64_t test_now(void)
{
	return ship_clock_ns;
}

static struct ship *ship_to_a_server(const struct history *h,
				     int (*send)(void *, const struct fleet_key *, const char *,
						 struct error *),
				     void *context)
{
	const struct ship_config config = { .history = h->dir,
					    .fleet = FLEET,
					    .host = HOST,
					    .now = test_now,
					    .send = send,
					    .send_context = context };

	return ship_new(&config);
}

/* How a server answers, and what it got. */
struct server {
	uint64_t fails_from_ns, fails_to_ns; /* blocks of this time: status 500 */
	uint32_t n_failed, n_taken;
	uint64_t samples;
};

static int server_takes(void *context, const struct fleet_key *key, const char *block,
			struct error *err)
{
	struct server *server = context;

	(void)block;
	if (key->bucket >= server->fails_from_ns && key->bucket < server->fails_to_ns) {
		server->n_failed++;
		error_set(err, 0, "it answers 500");
		return SHIP_FAILS_AT_IT;
	}
	server->n_taken++;
	server->samples += key->samples;
	return 0;
}

static int server_is_away(void *context, const struct fleet_key *key, const char *block,
			  struct error *err)
{
	(void)context, (void)key, (void)block;
	return error_set(err, -ECONNREFUSED, "it is away");
}

static uint64_t expired_in_a_look(struct ship *ship)
{
	struct ship_result result;
	struct error err = { 0 };

	if (ship_look(ship, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result.expired;
}

static void assert_round(struct ship *ship, int expected, struct ship_result *result)
{
	struct error err = { 0 };

	assert_int_equal(ship_round(ship, result, &err), expected);
}

/* The place is away while retention removes a part. */
static void samples_that_retention_removed_are_counted_once(void **state)
{
	uint64_t first = expected_sums(MIDNIGHT, MIDNIGHT + 900).samples;
	cleanup(free_at_exit) char *part = NULL;
	char name[HISTORY_NAME_SIZE];
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 900);
	history_part(&h, MIDNIGHT + HOUR, 900, true);
	history_part_name(MIDNIGHT * NS_PER_SECOND, 0, name);
	part = xasprintf("%s/%s", h.dir, name);
	ship = ship_to_a_server(&h, server_is_away, NULL);
	assert_round(ship, -ECONNREFUSED, &result);
	assert_int_equal(result.n_left, 4 - 1);
	assert_int_equal(file_remove_tree(part, NULL), 0);
	assert_int_equal(expired_in_a_look(ship), 0); /* it may be being merged */
	assert_int_equal(expired_in_a_look(ship), first);
	assert_int_equal(expired_in_a_look(ship), 0);
	ship_free(ship);
	history_fini(&h);
}

/* Whether it was merged once or twice between two looks. */
static void samples_of_merged_parts_that_wait_do_not_expire(void **state)
{
	uint64_t first = expected_sums(MIDNIGHT, MIDNIGHT + 1200).samples,
		 second = expected_sums(MIDNIGHT + 2 * HOUR, MIDNIGHT + 2 * HOUR + 1200).samples;
	struct server server = { 0 };
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 1200);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	ship = ship_to_a_server(&h, server_is_away, NULL);
	assert_round(ship, -ECONNREFUSED, &result);
	merge_to(h.dir, LEVEL_HOURS);
	merge_to(h.dir, LEVEL_DAYS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(expired_in_a_look(ship), 0);
	ship_free(ship);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	assert_int_equal(result.expired, 0);
	assert_int_equal(server.samples, first + second);
	ship_free(ship);
	history_fini(&h);
}

/* Makes .keys larger than a block is: no key has room behind it. */
static void fill_keys(struct rlimit *limit)
{
	FILE *keys = fopen(FLEET "/" HOST "/.keys", "a");

	assert_non_null(keys);
	for (int i = 0; i < 4000; i++)
		fprintf(keys, "20200101T000000.000Z %d 0000000000000001 0 0\n", i);
	*limit = (struct rlimit){ .rlim_cur = (rlim_t)ftell(keys), .rlim_max = RLIM_INFINITY };
	assert_int_equal(fclose(keys), 0);
}

static void samples_that_expire_are_counted_once_if_the_disk_is_full(void **state)
{
	struct sums second = expected_sums(MIDNIGHT + 300, MIDNIGHT + 600);
	const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };
	struct ship_result result;
	struct host_facts facts;
	struct rlimit full;
	struct history h;
	struct ship *ship;

	(void)state;
	history_and_fleet_init(&h, 300);
	ship = ship_to_a_server(&h, NULL, NULL);
	assert_round(ship, 0, &result);
	history_part(&h, MIDNIGHT + 300, 300, true);
	merge_to(h.dir, LEVEL_HOURS);
	fill_keys(&full);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_round(ship, -EFBIG, &result);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
	assert_int_equal(result.expired, 0);
	assert_round(ship, 0, &result);
	assert_int_equal(result.expired, second.samples);
	assert_int_equal(host_facts_read(FLEET, HOST, &facts, NULL), 0);
	assert_int_equal(facts.expired, second.samples);
	ship_free(ship);
	history_fini(&h);
}

/* A round may see a merged part beside a part that it replaces, which goes a moment later. */
static void a_part_beside_the_one_that_replaces_it_does_not_expire(void **state)
{
	uint64_t first = expected_sums(MIDNIGHT, MIDNIGHT + 1200).samples,
		 second = expected_sums(MIDNIGHT + 2 * HOUR, MIDNIGHT + 2 * HOUR + 1200).samples;
	cleanup(free_at_exit) char *part = NULL;
	char name[HISTORY_NAME_SIZE];
	struct server server = { 0 };
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 1200);
	history_part(&h, MIDNIGHT + 2 * HOUR, 1200, true);
	history_part_name(MIDNIGHT * NS_PER_SECOND, 0, name);
	part = xasprintf("%s/%s", h.dir, name);
	assert_int_equal(rename(part, "kept"), 0);
	history_part(&h, MIDNIGHT, 1200, true);
	merge_to(h.dir, LEVEL_HOURS);
	assert_int_equal(rename("kept", part), 0);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	assert_int_equal(result.n_left, 0);
	assert_int_equal(server.samples, first + second);
	assert_int_equal(file_remove_tree(part, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_round(ship, 0, &result);
		assert_int_equal(result.expired, 0);
	}
	assert_int_equal(server.samples, first + second);
	ship_free(ship);
	history_fini(&h);
}

static void a_block_that_a_server_fails_at_does_not_hold_up_the_others(void **state)
{
	uint64_t newest_ns = (MIDNIGHT + 5400) * NS_PER_SECOND;
	struct server server = { newest_ns, UINT64_MAX, 0, 0, 0 };
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 6000);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_taken, 9);
	assert_int_equal(result.n_refused, 1);
	/* It waits, and is not asked for again at once. */
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_failed, 1);
	assert_int_equal(result.n_left, 1);
	assert_int_equal(result.n_refused, 0);
	ship_free(ship);
	/* Another process sends it. */
	server.fails_to_ns = 0;
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_taken, 10);
	ship_free(ship);
	history_fini(&h);
}

/* Parts that were sent are not opened again: this one is damaged since. */
static void parts_beside_a_block_that_waits_are_not_read_again(void **state)
{
	struct server server = { (MIDNIGHT + HOUR) * NS_PER_SECOND, UINT64_MAX, 0, 0, 0 };
	cleanup(free_at_exit) char *part = NULL, *segment = NULL;
	char name[HISTORY_NAME_SIZE];
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 1200);
	history_part(&h, MIDNIGHT + HOUR, 600, true);
	history_part_name(MIDNIGHT * NS_PER_SECOND, 0, name);
	part = xasprintf("%s/%s", h.dir, name);
	segment = block_segment(part);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_taken, 2);
	assert_int_equal(result.n_refused, 1);
	assert_int_equal(file_replace(segment, "damaged", 7, NULL), 0);
	assert_round(ship, 0, &result);
	assert_int_equal(result.n_left, 1);
	assert_int_equal(result.n_damaged, 0);
	server.fails_to_ns = 0;
	ship_clock_ns += DAY * NS_PER_SECOND;
	assert_round(ship, 0, &result);
	assert_int_equal(result.n_sent, 1);
	ship_free(ship);
	history_fini(&h);
}

/* Ten minutes, and then twice the time at each further failure, up to a day. */
static void a_block_waits_longer_after_each_failure(void **state)
{
	struct server server = { (MIDNIGHT + 5400) * NS_PER_SECOND, UINT64_MAX, 0, 0, 0 };
	uint64_t wait_s = 600;
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 6000);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, 0, &result);
	for (uint32_t failed = 1; failed <= 10; failed++) {
		assert_int_equal(server.n_failed, failed);
		ship_clock_ns += wait_s * NS_PER_SECOND - 1;
		assert_round(ship, 0, &result);
		assert_int_equal(server.n_failed, failed);
		ship_clock_ns++;
		assert_round(ship, 0, &result);
		wait_s = MIN(2 * wait_s, DAY);
	}
	assert_int_equal(wait_s, DAY);
	server.fails_to_ns = 0;
	ship_clock_ns += DAY * NS_PER_SECOND;
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_taken, 10);
	ship_free(ship);
	history_fini(&h);
}

/* A server fails at all blocks since some hour: the others go in the same round. */
static void many_newest_blocks_that_fail_do_not_hold_up_older_ones(void **state)
{
	struct server server = { (MIDNIGHT + 12000) * NS_PER_SECOND, UINT64_MAX, 0, 0, 0 };
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 36000);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, -EIO, &result);
	assert_int_equal(server.n_taken, 20);
	assert_int_equal(result.n_left + result.n_refused, 40);
	/* The next rounds try others of the 40. */
	for (uint32_t failed = server.n_failed; failed + 3 <= 40; failed += 3) {
		assert_int_equal(server.n_failed, failed);
		assert_round(ship, -EIO, &result);
	}
	assert_round(ship, 0, &result);
	assert_int_equal(server.n_failed, 40);
	ship_free(ship);
	history_fini(&h);
}

static void a_server_that_fails_at_all_blocks_ends_the_round(void **state)
{
	struct server server = { 0, UINT64_MAX, 0, 0, 0 };
	struct ship_result result;
	struct ship *ship;
	struct history h;

	(void)state;
	history_and_fleet_init(&h, 6000);
	ship = ship_to_a_server(&h, server_takes, &server);
	assert_round(ship, -EIO, &result);
	assert_int_equal(server.n_failed, 3);
	assert_int_equal(result.n_left + result.n_refused, 10);
	assert_round(ship, -EIO, &result);
	assert_int_equal(server.n_failed, 6);
	assert_int_equal(result.n_left + result.n_refused, 10);
	ship_free(ship);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_that_retention_removed_are_counted_once),
		cmocka_unit_test(samples_of_merged_parts_that_wait_do_not_expire),
		cmocka_unit_test(samples_that_expire_are_counted_once_if_the_disk_is_full),
		cmocka_unit_test(a_part_beside_the_one_that_replaces_it_does_not_expire),
		cmocka_unit_test(many_newest_blocks_that_fail_do_not_hold_up_older_ones),
		cmocka_unit_test(a_block_that_a_server_fails_at_does_not_hold_up_the_others),
		cmocka_unit_test(parts_beside_a_block_that_waits_are_not_read_again),
		cmocka_unit_test(a_server_that_fails_at_all_blocks_ends_the_round),
		cmocka_unit_test(a_block_waits_longer_after_each_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
