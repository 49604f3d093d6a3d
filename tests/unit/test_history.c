/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a directory of parts: windows, overviews, and damaged parts. */
#include "histories.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/format.h"

#define WINDOW(from, to)                                             \
	(&(struct time_window){ (MIDNIGHT + (from)) * NS_PER_SECOND, \
				(MIDNIGHT + (to)) * NS_PER_SECOND })

static struct retention_policy overviews_only(void)
{
	struct retention_policy p = RETENTION_DEFAULT;

	for (size_t l = 0; l < N_HISTORY_LEVELS; l++)
		p.tiers[l].after_s = 0;
	p.overviews = (struct overview_rule){ 0, 2 }; /* also those that do not pay */
	p.now_ns = (MIDNIGHT + 400 * DAY) * NS_PER_SECOND;
	p.active = "";
	return p;
}

static void retain(struct history *h, const struct retention_policy *policy)
{
	struct retention_result result;
	struct error err = { 0 };

	if (history_retain(h->dir, policy, &result, &err) < 0)
		fail_msg("%s", err.text);
}

static void names_of_parts(void **state)
{
	static const char *const bad[] = { "",
					   "current",
					   "20261120T000000.000",
					   "20261120T000000.000z",
					   "20261320T000000.000Z",
					   "20261100T000000.000Z",
					   "20261120T240000.000Z",
					   "20261120T000000.000Z-",
					   "20261120T000000.000Z-x",
					   "20261120T000000.000Z-2x",
					   "20261120T000000.000Z-99999999999",
					   "20261120T000000.000Z/..",
					   ".20261120T000000.000Z",
					   "19691120T000000.000Z" };
	char name[HISTORY_NAME_SIZE];
	uint64_t ns;

	(void)state;
	history_part_name(MIDNIGHT * NS_PER_SECOND + 123456789, 1, name);
	assert_string_equal(name, "20261120T000000.123Z");
	assert_true(history_part_time(name, &ns));
	assert_int_equal(ns, MIDNIGHT * NS_PER_SECOND + 123000000);
	history_part_name(MIDNIGHT * NS_PER_SECOND, 12, name);
	assert_string_equal(name, "20261120T000000.000Z-12");
	assert_true(history_part_time(name, &ns));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (history_part_time(bad[i], &ns))
			fail_msg("'%s' was taken", bad[i]);
}

static void a_window_is_its_seconds(void **state)
{
	static const struct {
		uint64_t from, to;
	} windows[] = { { 0, 300 }, { 10, 20 }, { 95, 205 }, { 100, 101 }, { 299, 1000 } };
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 100, true);
	history_part(&h, MIDNIGHT + 100, 100, false); /* of a daemon that was killed */
	history_part(&h, MIDNIGHT + 200, 100, true);
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		uint64_t to = MIN(windows[i].to, 300);
		struct sums got = history_sums(&h, WINDOW(windows[i].from, windows[i].to), false);
		struct sums want = expected_sums(MIDNIGHT + windows[i].from, MIDNIGHT + to);

		assert_same(&got, &want);
	}
	history_fini(&h);
}

static void an_empty_window_names_the_times_with_samples(void **state)
{
	const struct history_request request = { *WINDOW(1000, 2000), UINT64_MAX };
	struct session *s = NULL;
	struct error err = { 0 };
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 100, true);
	assert_int_equal(history_open(h.dir, &request, &s, &err), -ENODATA);
	assert_non_null(strstr(err.text, "from 2026-11-20 00:00:00 to 2026-11-20 00:01:40"));
	assert_null(s);
	history_fini(&h);
}

static uint32_t n_blocks(const struct history *h)
{
	const struct history_request request = { TIME_WINDOW_ALL, UINT64_MAX };
	struct session *s;
	uint32_t n = 0;

	assert_int_equal(history_open(h->dir, &request, &s, NULL), 0);
	for (uint32_t i = 0; i < s->n_segments; i++)
		n += s->segments[i]->n_blocks;
	session_close(s);
	return n;
}

/* With overviews or without: the same samples, of the same processes and stacks. */
static void overviews_say_the_same(void **state)
{
	struct retention_policy policy = overviews_only();
	struct history h;
	struct sums before[12], after;
	struct time_window windows[12];

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT + 17, 3 * HOUR, true);
	history_part(&h, MIDNIGHT + 17 + 3 * HOUR, HOUR, true);
	for (uint64_t i = 0; i < ARRAY_SIZE(windows); i++) {
		uint64_t from = hash_u64(i) % (3 * HOUR), length = 1 + hash_u64(i + 99) % HOUR;

		windows[i] = i ? *WINDOW(from, from + length) : TIME_WINDOW_ALL;
		before[i] = history_sums(&h, &windows[i], false);
	}
	retain(&h, &policy);
	assert_true(n_blocks(&h) < 8); /* hours: of the seconds there are thousands */
	for (uint64_t i = 0; i < ARRAY_SIZE(windows); i++) {
		after = history_sums(&h, &windows[i], false);
		assert_same(&after, &before[i]);
		assert_int_equal(after.hash, before[i].hash);
		after = history_sums(&h, &windows[i], true);
		assert_int_equal(after.hash, before[i].hash);
	}
	history_fini(&h);
}

/* The last overview of a segment's bytes and its end, which is the next block. */
static void find_overview(const char *bytes, size_t size, size_t *first, size_t *end)
{
	*first = *end = 0;
	for (size_t at = 0; at + 7 < size; at++) {
		if (memcmp(bytes + at, BLOCK_MAGIC, 4) != 0)
			continue;
		if (*first && !*end)
			*end = at;
		if (bytes[at + 6] == BLOCK_OVERVIEW) {
			*first = at;
			*end = 0;
		}
	}
	assert_true(*first && *end > *first);
}

/* In its header, its names or its counts: the seconds are there, and nothing is lost or twice. */
static void a_damaged_overview_is_not_used(void **state)
{
	struct retention_policy policy = overviews_only();
	struct sums want = expected_sums(MIDNIGHT, MIDNIGHT + 4 * MINUTE), got;
	cleanup(free_at_exit) char *path = NULL;
	size_t size, first, end;
	struct history h;
	char *bytes;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 4 * MINUTE, true);
	retain(&h, &policy);
	assert_true(n_blocks(&h) <= 5);
	path = xasprintf("%s/20261120T000000.000Z/samples/current/0000.segment", h.dir);
	assert_int_equal(file_read_all(path, 1 << 24, &bytes, &size), 0);
	find_overview(bytes, size, &first, &end);
	for (size_t at = first; at < end; at += 7) {
		bytes[at] ^= 0x55;
		assert_int_equal(file_replace(path, bytes, size, NULL), 0);
		bytes[at] ^= 0x55;
		got = history_sums(&h, NULL, false);
		assert_same(&got, &want);
		got = history_sums(&h, WINDOW(0, 2 * MINUTE), false);
		assert_int_equal(got.samples + got.lost,
				 expected_sums(MIDNIGHT, MIDNIGHT + 2 * MINUTE).samples +
					 expected_sums(MIDNIGHT, MIDNIGHT + 2 * MINUTE).lost);
	}
	free(bytes);
	history_fini(&h);
}

/*
 * Small blocks are read directly. An overview that does not sum up rows would be as large as the
 * rows.
 */
static void overviews_that_do_not_pay_are_not_written(void **state)
{
	struct retention_policy policy = overviews_only();
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 4 * MINUTE, true);
	policy.overviews = OVERVIEWS_THAT_PAY;
	retain(&h, &policy);
	assert_int_equal(n_blocks(&h), 4 * MINUTE);
	history_fini(&h);
}

static void put_garbage(const struct history *h, const char *part, const char *bytes)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/%s/samples/current", h->dir, part);
	cleanup(free_at_exit) char *path = xasprintf("%s/0000.segment", dir);

	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	if (bytes)
		assert_int_equal(file_replace(path, bytes, strlen(bytes), NULL), 0);
}

static void a_damaged_part_costs_itself_alone(void **state)
{
	const struct history_request request = { TIME_WINDOW_ALL, UINT64_MAX };
	struct sums want = expected_sums(MIDNIGHT + 100, MIDNIGHT + 200), got;
	struct error err = { 0 };
	struct session *s;
	struct history h;

	(void)state;
	history_init(&h);
	put_garbage(&h, "20261120T000000.000Z", "this is no segment at all");
	put_garbage(&h, "20261120T000050.000Z", NULL); /* made, and no more */
	history_part(&h, MIDNIGHT + 100, 100, true);
	put_garbage(&h, "20261120T000500.000Z", NULL); /* the newest: it was made just now */
	assert_int_equal(history_open(h.dir, &request, &s, &err), 0);
	got = sums_of(s);
	assert_same(&got, &want);
	assert_int_equal(s->warnings.n, 2);
	assert_non_null(strstr(s->warnings.data[0], "20261120T000000.000Z"));
	assert_non_null(strstr(s->warnings.data[1], "20261120T000050.000Z"));
	session_close(s);
	history_fini(&h);
}

/* Both parts say that they are of the same half hour; each sample counts once, at its time. */
static void a_clock_that_was_set_back(void **state)
{
	struct retention_policy policy = overviews_only();
	struct sums one, other, both, merged;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 40 * MINUTE, true);
	history_part(&h, MIDNIGHT + 20 * MINUTE, 40 * MINUTE, true);
	one = expected_sums(MIDNIGHT + 10 * MINUTE, MIDNIGHT + 40 * MINUTE);
	other = expected_sums(MIDNIGHT + 20 * MINUTE, MIDNIGHT + 50 * MINUTE);
	both = history_sums(&h, WINDOW(10 * MINUTE, 50 * MINUTE), false);
	assert_int_equal(both.samples, one.samples + other.samples);
	policy.tiers[LEVEL_MINUTES].after_s = 1;
	retain(&h, &policy);
	merged = history_sums(&h, WINDOW(10 * MINUTE, 50 * MINUTE), false);
	assert_same(&merged, &both);
	assert_int_equal(merged.hash, both.hash);
	history_fini(&h);
}

/* A block of an hour counts whole if its middle is in the window, or if the window is in it. */
static void coarse_blocks_count_once(void **state)
{
	struct retention_policy policy = overviews_only();
	struct sums all, first, second, inside, hour;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 2 * HOUR, true);
	all = history_sums(&h, NULL, false);
	policy.tiers[LEVEL_HOURS].after_s = 1;
	retain(&h, &policy);
	first = history_sums(&h, WINDOW(0, HOUR + 1000), false);
	second = history_sums(&h, WINDOW(HOUR + 1000, 2 * HOUR), false);
	hour = expected_sums(MIDNIGHT, MIDNIGHT + HOUR);
	assert_same(&first, &hour);
	assert_int_equal(first.samples + second.samples, all.samples);
	assert_int_equal(first.lost + second.lost, all.lost);
	inside = history_sums(&h, WINDOW(100, 130), false);
	assert_same(&inside, &hour);
	history_fini(&h);
}

static void a_session_tells_its_window(void **state)
{
	const struct history_request request = { *WINDOW(10, 20), UINT64_MAX };
	cleanup(free_at_exit) char *part = NULL;
	struct sums want = expected_sums(MIDNIGHT + 10, MIDNIGHT + 20), got;
	struct session *s;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 100, true);
	part = xasprintf("%s/20261120T000000.000Z", h.dir);
	assert_int_equal(history_open(part, &request, &s, NULL), 0); /* an ordinary session */
	got = sums_of(s);
	assert_same(&got, &want);
	assert_true(s->has_window && s->has_end);
	assert_int_equal(s->info.start_wall_ns, (MIDNIGHT + 10) * NS_PER_SECOND);
	assert_int_equal(s->end.end_ns - s->info.start_ns, 10 * NS_PER_SECOND);
	session_close(s);
	history_fini(&h);
}

static void what_is_no_history_is_a_session_or_refused(void **state)
{
	const struct history_request request = { TIME_WINDOW_ALL, UINT64_MAX };
	struct error err = { 0 };
	struct session *s = NULL;
	struct history h;

	(void)state;
	history_init(&h);
	put_garbage(&h, "notes", "hello");
	assert_null(history_dir(h.dir));
	assert_int_equal(history_open(h.dir, &request, &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not an assay session"));
	assert_int_equal(history_open("/nonexistent", &request, &s, &err), -ENOENT);
	history_fini(&h);
}

/* Retention beside a reader: whatever it finds, it is everything. */
struct reader {
	const struct history *h;
	uint64_t want;
	atomic_bool is_done;
	unsigned int n_wrong, n_right;
};

static void *read_on(void *arg)
{
	const struct history_request request = { TIME_WINDOW_ALL, UINT64_MAX };
	struct reader *r = arg;

	while (!r->is_done) {
		struct session *s = NULL;
		int e = history_open(r->h->dir, &request, &s, NULL);

		/* -EAGAIN: it changed all the time, which is no wrong answer. */
		r->n_wrong += e < 0 ? e != -EAGAIN : sums_of(s).samples != r->want;
		r->n_right += e >= 0;
		session_close(s);
	}
	return NULL;
}

static void readers_beside_retention(void **state)
{
	struct retention_policy policy = overviews_only();
	struct reader r = { 0 };
	pthread_t thread;
	struct history h;

	(void)state;
	history_init(&h);
	for (uint64_t i = 0; i < 24; i++)
		history_part(&h, MIDNIGHT + i * 40, 40, true);
	r.h = &h;
	r.want = history_sums(&h, NULL, false).samples;
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (uint64_t span = 80; span < 2000; span *= 2) {
		policy.tiers[LEVEL_MINUTES] =
			(struct retention_tier){ .after_s = 1, .span_s = span };
		for (uint64_t i = 0; i < 3; i++)
			retain(&h, &policy);
	}
	policy.tiers[LEVEL_HOURS] = (struct retention_tier){ .after_s = 1, .span_s = DAY };
	retain(&h, &policy);
	assert_int_equal(history_sums(&h, NULL, false).samples, r.want);
	r.is_done = true;
	pthread_join(thread, NULL);
	assert_int_equal(r.n_wrong, 0);
	history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_parts),
		cmocka_unit_test(a_window_is_its_seconds),
		cmocka_unit_test(an_empty_window_names_the_times_with_samples),
		cmocka_unit_test(overviews_say_the_same),
		cmocka_unit_test(a_damaged_overview_is_not_used),
		cmocka_unit_test(overviews_that_do_not_pay_are_not_written),
		cmocka_unit_test(a_damaged_part_costs_itself_alone),
		cmocka_unit_test(a_clock_that_was_set_back),
		cmocka_unit_test(coarse_blocks_count_once),
		cmocka_unit_test(a_session_tells_its_window),
		cmocka_unit_test(what_is_no_history_is_a_session_or_refused),
		cmocka_unit_test(readers_beside_retention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
