/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merging and removing old parts: sums stay, and so they do when it is stopped at any step. */
#include "histories.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/format.h"

/* Four months later: everything is past every age. */
#define LATER ((MIDNIGHT + 120 * DAY) * NS_PER_SECOND)

static struct retention_policy policy_of(size_t level, double min_share)
{
	struct retention_policy p = RETENTION_DEFAULT;

	p.overviews = (struct overview_rule){ 0, 2 };
	for (size_t l = 0; l < N_HISTORY_LEVELS; l++) {
		p.tiers[l].after_s = l == level;
		p.tiers[l].min_share = min_share;
	}
	p.now_ns = LATER;
	p.active = "";
	return p;
}

static struct retention_result retain(struct history *h, const struct retention_policy *policy)
{
	struct retention_result result;
	struct error err = { 0 };

	if (history_retain(h->dir, policy, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static size_t n_parts(const struct history *h)
{
	struct history_names names = { 0 };
	size_t n;

	assert_int_equal(history_list(h->dir, &names), 0);
	n = names.n;
	history_names_fini(&names);
	return n;
}

static void make_hours(struct history *h, uint32_t n)
{
	history_init(h);
	for (uint32_t i = 0; i < n; i++)
		history_part(h, MIDNIGHT + i * 600, 600, i % 2 == 0);
}

static void sums_stay_exact_tier_by_tier(void **state)
{
	struct history h;
	struct sums first, now;

	(void)state;
	make_hours(&h, 9);
	first = history_sums(&h, NULL, true);
	for (size_t level = 0; level < N_HISTORY_LEVELS; level++) {
		struct retention_policy policy = policy_of(level, 0);
		struct retention_result result;

		policy.tiers[level].merged = 0;
		result = retain(&h, &policy);
		assert_int_equal(result.n_made, 1);
		assert_int_equal(result.n_merged, level ? 1 : 9);
		assert_int_equal(n_parts(&h), 1);
		now = history_sums(&h, NULL, true);
		assert_same(&now, &first);
		assert_int_equal(now.hash, first.hash);
		assert_true(result.bytes_after <= result.bytes_before);
		result = retain(&h, &policy); /* there is nothing left to do */
		assert_int_equal(result.n_made + result.n_merged + result.n_packed, 0);
	}
	history_fini(&h);
}

static void exact_times_go_by_age_and_with_the_seconds(void **state)
{
	struct retention_policy policy = policy_of(N_HISTORY_LEVELS, 0); /* no tier */
	struct sums first, now, young;
	struct history h;

	(void)state;
	history_init(&h);
	h.has_times = true;
	history_part(&h, MIDNIGHT, 300, true);
	history_part(&h, MIDNIGHT + 600, 300, true);
	first = history_sums(&h, NULL, true);
	assert_int_equal(first.timed, first.samples);
	assert_int_equal(retain(&h, &policy).n_packed, 2);
	now = history_sums(&h, NULL, true);
	assert_int_equal(now.timed_hash, first.timed_hash);
	/* The first part is older than 15 minutes, the second one is not. */
	policy.now_ns = (MIDNIGHT + 1300) * NS_PER_SECOND;
	policy.times_s = 900;
	assert_int_equal(retain(&h, &policy).n_packed, 1);
	assert_int_equal(retain(&h, &policy).n_packed, 0);
	young = expected_sums(MIDNIGHT + 600, MIDNIGHT + 900);
	now = history_sums(&h, NULL, true);
	assert_same(&now, &first);
	assert_int_equal(now.timed, young.samples);
	/* Minutes have none. */
	policy = policy_of(LEVEL_MINUTES, 0);
	retain(&h, &policy);
	now = history_sums(&h, NULL, true);
	assert_same(&now, &first);
	assert_int_equal(now.timed, 0);
	history_fini(&h);
}

static void rare_stacks_go_to_other_and_sums_stay(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_HOURS, 0.02);
	struct retention_result result;
	struct sums first, now;
	struct history h;

	(void)state;
	make_hours(&h, 4);
	first = history_sums(&h, NULL, true);
	result = retain(&h, &policy);
	now = history_sums(&h, NULL, true);
	assert_same(&now, &first);
	assert_true(result.samples_cut > 0 && result.samples_cut < first.samples);
	assert_int_equal(now.other, result.samples_cut);
	history_fini(&h);
}

/* A tier that does not keep processes apart merges processes, but not their names. */
static void processes_are_merged_where_the_tier_says_so(void **state)
{
	const struct history_request request = { TIME_WINDOW_ALL, 0 };
	struct retention_policy policy = policy_of(LEVEL_DAYS, 0);
	struct session *s;
	struct sums first, now;
	struct history h;

	(void)state;
	make_hours(&h, 2);
	first = history_sums(&h, NULL, true);
	retain(&h, &policy);
	now = history_sums(&h, NULL, true);
	assert_same(&now, &first);
	assert_int_equal(history_open(h.dir, &request, &s, NULL), 0);
	assert_int_equal(s->segments[0]->n_classes, 2); /* of the two names */
	assert_int_equal(s->segments[0]->classes[0].pid, CLASS_ALL);
	assert_string_not_equal(s->segments[0]->strings[s->segments[0]->classes[0].comm.n], "");
	assert_int_equal(s->block_ns, 86400 * NS_PER_SECOND);
	session_close(s);
	history_fini(&h);
}

static int steps_left;

static void stop_at_step(void *context, enum retention_step step, const char *part)
{
	(void)context;
	(void)step;
	(void)part;
	if (steps_left-- == 0)
		_exit(7);
}

/* True if the child was stopped before it was done. */
static bool is_stopped_after(struct history *h, struct retention_policy policy, int steps)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct retention_result result;

		steps_left = steps;
		policy.at_step = stop_at_step;
		_exit(history_retain(h->dir, &policy, &result, NULL) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 7 || WEXITSTATUS(status) == 0);
	return WEXITSTATUS(status) == 7;
}

static void it_may_be_stopped_between_any_two_steps(void **state)
{
	bool is_stopped = true;

	(void)state;
	for (int steps = 0; is_stopped; steps++) {
		struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
		struct sums first, now;
		struct history h;

		make_hours(&h, 3);
		first = history_sums(&h, NULL, false);
		is_stopped = is_stopped_after(&h, policy, steps);
		now = history_sums(&h, NULL, false);
		assert_same(&now, &first);
		assert_int_equal(now.hash, first.hash);
		retain(&h, &policy); /* goes on */
		now = history_sums(&h, NULL, false);
		assert_int_equal(now.hash, first.hash);
		assert_int_equal(n_parts(&h), 1);
		history_fini(&h);
		assert_true(steps < 50);
	}
}

static void a_full_disk_loses_nothing(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	struct sums first, now;
	struct history h;
	pid_t pid;
	int status;

	(void)state;
	make_hours(&h, 3);
	first = history_sums(&h, NULL, false);
	pid = fork();
	if (!pid) {
		struct retention_result result;
		const struct rlimit limit = { 3000, 3000 };
		struct error err = { 0 };

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(history_retain(h.dir, &policy, &result, &err) < 0 && err.code < 0 &&
				      result.n_merged == 0
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(n_parts(&h), 3);
	now = history_sums(&h, NULL, false);
	assert_same(&now, &first);
	assert_int_equal(now.hash, first.hash);
	history_fini(&h);
}

static void old_parts_are_removed(void **state)
{
	struct retention_policy policy = policy_of(N_HISTORY_LEVELS, 0);
	struct sums want = expected_sums(MIDNIGHT + 10 * DAY, MIDNIGHT + 10 * DAY + 100), now;
	struct retention_result result;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 100, true);
	history_part(&h, MIDNIGHT + 1000, 100, false);
	history_part(&h, MIDNIGHT + 10 * DAY, 100, true);
	policy.max_age_s = 112 * DAY;
	result = retain(&h, &policy);
	assert_int_equal(result.n_removed, 2);
	now = history_sums(&h, NULL, false);
	assert_same(&now, &want);
	history_fini(&h);
}

/* Merged first, from the oldest on; removed when there is nothing left to merge. */
static void a_history_is_kept_below_its_size(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	struct retention_result result;
	struct sums first, now;
	struct history h;

	(void)state;
	make_hours(&h, 6);
	first = history_sums(&h, NULL, false);
	for (size_t l = 0; l < N_HISTORY_LEVELS; l++)
		policy.tiers[l] = (struct retention_tier){ .after_s = 1000 * DAY, .span_s = 1200 };
	result = retain(&h, &policy);
	assert_int_equal(result.n_made, 0);
	policy.max_bytes = result.bytes_after - 1000;
	result = retain(&h, &policy);
	assert_true(result.n_made >= 1 && result.n_removed == 0);
	assert_true(result.bytes_after <= policy.max_bytes);
	now = history_sums(&h, NULL, false);
	assert_same(&now, &first);
	policy.max_bytes = 1;
	policy.active = "20261120T005000.000Z"; /* the last */
	result = retain(&h, &policy);
	assert_int_equal(n_parts(&h), 1);
	now = history_sums(&h, NULL, false);
	first = expected_sums(MIDNIGHT + 3000, MIDNIGHT + 3600);
	assert_same(&now, &first);
	history_fini(&h);
}

/* Without a word of the daemon, a part without an end that is young is being written. */
static void a_part_that_is_written_is_left_alone(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	struct retention_result result;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 100, true);
	history_part(&h, MIDNIGHT + 100, 100, false);
	policy.active = NULL;
	policy.now_ns = 0; /* the files are of today */
	policy.max_age_s = 1;
	result = retain(&h, &policy);
	assert_int_equal(result.n_removed + result.n_merged, 1);
	assert_int_equal(n_parts(&h), 1);
	history_fini(&h);
}

/* Whoever runs beside a recorder knows what is over: what is not in its list has begun since. */
static void what_began_since_is_left_alone(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	struct history_names over = { 0 };
	struct retention_result result;
	struct history h;

	(void)state;
	make_hours(&h, 4);
	assert_int_equal(history_list(h.dir, &over), 0);
	assert_int_equal(over.n, 4);
	free(over.data[--over.n]);
	policy.active = over.data[0]; /* says nothing beside the list */
	policy.over = &over;
	policy.max_age_s = 1;
	result = retain(&h, &policy);
	assert_int_equal(result.n_removed, 3);
	assert_int_equal(result.n_packed + result.n_merged, 0);
	assert_int_equal(n_parts(&h), 1);
	history_names_fini(&over);
	history_fini(&h);
}

static void a_part_that_cannot_be_read_is_left_alone(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	cleanup(free_at_exit) char *dir = NULL, *path = NULL;
	struct retention_result result;
	struct sums first, now;
	struct history h;

	(void)state;
	make_hours(&h, 2);
	first = history_sums(&h, NULL, false);
	dir = xasprintf("%s/20261120T003000.000Z/samples/current", h.dir);
	path = xasprintf("%s/0000.segment", dir);
	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	assert_int_equal(file_replace(path, "garbage", 7, NULL), 0);
	result = retain(&h, &policy);
	assert_int_equal(result.n_damaged, 1);
	assert_int_equal(result.n_merged, 2);
	assert_int_equal(n_parts(&h), 2);
	now = history_sums(&h, NULL, false);
	assert_same(&now, &first);
	history_fini(&h);
}

/* The hour of a part that only a newer assay reads: the other parts of this hour become one. */
static void a_part_of_a_newer_assay_is_left_alone(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	cleanup(free_at_exit) char *path = NULL, *bytes = NULL, *later = NULL;
	struct retention_result result;
	struct buf header = { 0 };
	struct history_names names = { 0 };
	struct history h;
	size_t size, later_size;

	(void)state;
	make_hours(&h, 4);
	assert_int_equal(history_list(h.dir, &names), 0);
	path = xasprintf("%s/%s/samples/current/0000.segment", h.dir, names.data[1]);
	history_names_fini(&names);
	assert_int_equal(file_read_all(path, 1 << 20, &bytes, &size), 0);
	segment_header_write(&header,
			     &(struct segment_header){ .version = SEGMENT_VERSION_MAX + 1 });
	memcpy(bytes, header.data, header.len);
	assert_int_equal(file_replace(path, bytes, size, NULL), 0);
	result = retain(&h, &policy);
	assert_int_equal(result.n_newer, 1);
	assert_int_equal(result.n_damaged, 0);
	assert_int_equal(result.n_merged, 3);
	assert_int_equal(n_parts(&h), 2);
	assert_int_equal(file_read_all(path, 1 << 20, &later, &later_size), 0);
	assert_int_equal(later_size, size);
	assert_memory_equal(later, bytes, size);
	buf_fini(&header);
	history_fini(&h);
}

static void one_at_a_time(void **state)
{
	struct retention_policy policy = policy_of(LEVEL_MINUTES, 0);
	struct retention_result result;
	struct error err = { 0 };
	struct history h;
	int fd;

	(void)state;
	make_hours(&h, 1);
	fd = history_lock(h.dir, true, NULL);
	assert_true(fd >= 0);
	assert_int_equal(history_lock(h.dir, false, &err), -EBUSY);
	assert_int_equal(history_retain(h.dir, &policy, &result, &err), -EBUSY);
	policy.is_locked = true;
	assert_int_equal(history_retain(h.dir, &policy, &result, &err), 0);
	close(fd);
	policy.is_locked = false;
	assert_int_equal(history_retain("/nonexistent", &policy, &result, &err), -ENOENT);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_stay_exact_tier_by_tier),
		cmocka_unit_test(exact_times_go_by_age_and_with_the_seconds),
		cmocka_unit_test(rare_stacks_go_to_other_and_sums_stay),
		cmocka_unit_test(processes_are_merged_where_the_tier_says_so),
		cmocka_unit_test(it_may_be_stopped_between_any_two_steps),
		cmocka_unit_test(a_full_disk_loses_nothing),
		cmocka_unit_test(old_parts_are_removed),
		cmocka_unit_test(a_history_is_kept_below_its_size),
		cmocka_unit_test(a_part_that_is_written_is_left_alone),
		cmocka_unit_test(a_part_that_cannot_be_read_is_left_alone),
		cmocka_unit_test(a_part_of_a_newer_assay_is_left_alone),
		cmocka_unit_test(what_began_since_is_left_alone),
		cmocka_unit_test(one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
