/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time_window.h"

#define SECOND 1000000000ULL
#define NOW    (1795183530ULL * SECOND) /* 2026-11-20 14:05:30 UTC */
#define DAY    (86400 * SECOND)

static uint64_t parsed(const char *text)
{
	uint64_t ns = 1;
	struct error err = { 0 };

	if (time_point_parse(text, NOW, &ns, &err) < 0)
		fail_msg("%s", err.text);
	return ns;
}

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void times_before_now(void **state)
{
	(void)state;
	assert_int_equal(parsed("now"), NOW);
	assert_int_equal(parsed("-10s"), NOW - 10 * SECOND);
	assert_int_equal(parsed("-250ms"), NOW - SECOND / 4);
	assert_int_equal(parsed("-2h"), NOW - 7200 * SECOND);
	assert_int_equal(parsed("-1h30m"), NOW - 5400 * SECOND);
	assert_int_equal(parsed("-1.5h"), NOW - 5400 * SECOND);
	assert_int_equal(parsed("-3d"), NOW - 3 * DAY);
	assert_int_equal(parsed("-1w"), NOW - 7 * DAY);
	assert_int_equal(parsed("-9000d"), NOW - 9000 * DAY);
	assert_int_equal(parsed("-90000d"), 0); /* before 1970: all that there is */
}

static void local_times(void **state)
{
	(void)state;
	set_zone("UTC0");
	assert_int_equal(parsed("2026-11-20 14:05:30"), NOW);
	assert_int_equal(parsed("14:05:30"), NOW);
	assert_int_equal(parsed("14:05"), NOW - 30 * SECOND);
	assert_int_equal(parsed("today"), NOW / DAY * DAY);
	assert_int_equal(parsed("today 14:05"), NOW - 30 * SECOND);
	assert_int_equal(parsed("yesterday 14:05:30.5"), NOW - DAY + SECOND / 2);
	assert_int_equal(parsed("2026-11-20"), NOW / DAY * DAY);
	assert_int_equal(parsed("2026-11-19 24:00"), NOW / DAY * DAY);
	set_zone("XST-3"); /* three hours east */
	assert_int_equal(parsed("2026-11-20 17:05:30"), NOW);
	assert_int_equal(parsed("17:05:30"), NOW);
	assert_int_equal(parsed("2026-11-20T14:05:30Z"), NOW);
	assert_int_equal(parsed("2026-11-20T15:05:30+01:00"), NOW);
	assert_int_equal(parsed("2026-11-20T10:35:30-0330"), NOW);
	assert_int_equal(parsed("2026-11-20 15:05:30 +01"), NOW);
	assert_int_equal(parsed("@1795183530"), NOW);
	assert_int_equal(parsed("@1795183530.25"), NOW + SECOND / 4);
	set_zone("UTC0");
}

/* The day before a day of 25 hours begins where the calendar says. */
static void yesterday_minds_summer_time(void **state)
{
	uint64_t now, yesterday;

	(void)state;
	set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	now = parsed("2026-10-26 12:00");
	assert_int_equal(time_point_parse("yesterday", now, &yesterday, NULL), 0);
	assert_int_equal(yesterday, parsed("2026-10-25T00:00+02:00"));
	assert_int_equal(now - yesterday, 37 * 3600 * SECOND);
	set_zone("UTC0");
}

static void what_is_no_time_is_refused_with_the_forms(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		"-2",
		"-h",
		"-2x",
		"2h",
		"-1e3s",
		"-2h-1h",
		"--2h",
		"noon",
		"yesterdayx",
		"25:00",
		"24:01",
		"14:60",
		"14",
		"14:",
		"2026-02-29",
		"2026-13-01",
		"2026-00-10",
		"2026-11-31",
		"1969-01-01",
		"2026-11",
		"today14:00",
		"@",
		"@x",
		"@-5",
		"14:05Zx",
		"-1 h",
		"14:05+1",
		"2026-11-20T",
		"14:05:30.",
		"2026-11-20x",
		"now 14:00",
		"14:05+15:00",
		"-99999999999999999999s",
		"@99999999999999999999",
		"\xff\xfe",
		"99999-01-01",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		uint64_t ns = 7;

		if (time_point_parse(bad[i], NOW, &ns, &err) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(ns, 7);
		assert_non_null(strstr(err.text, "yesterday 14:00"));
	}
}

static void ranges(void **state)
{
	struct time_window w;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(time_range_parse("-2h..-1h", NOW, &w, &err), 0);
	assert_int_equal(w.from_ns, NOW - 7200 * SECOND);
	assert_int_equal(w.to_ns, NOW - 3600 * SECOND);
	assert_int_equal(time_range_parse("-1.5h..", NOW, &w, &err), 0);
	assert_int_equal(w.to_ns, UINT64_MAX);
	assert_int_equal(time_range_parse("..yesterday", NOW, &w, &err), 0);
	assert_int_equal(w.from_ns, 0);
	assert_int_equal(time_range_parse("-1h..-2h", NOW, &w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ends before it begins"));
	assert_int_equal(time_range_parse("-1h", NOW, &w, &err), -EINVAL);
	assert_int_equal(time_range_parse("..", NOW, &w, &err), -EINVAL);
	assert_int_equal(time_range_parse("-1h..x", NOW, &w, &err), -EINVAL);
}

static void a_time_prints_as_it_parses(void **state)
{
	struct buf text = { 0 };

	(void)state;
	time_point_print(&text, NOW);
	assert_string_equal(buf_cstr(&text), "2026-11-20 14:05:30");
	text.len = 0;
	time_point_print(&text, NOW + SECOND / 4);
	assert_string_equal(buf_cstr(&text), "2026-11-20 14:05:30.250");
	assert_int_equal(parsed(buf_cstr(&text)), NOW + SECOND / 4);
	text.len = 0;
	time_point_print(&text, UINT64_MAX);
	assert_string_equal(buf_cstr(&text), "");
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_before_now),
		cmocka_unit_test(local_times),
		cmocka_unit_test(yesterday_minds_summer_time),
		cmocka_unit_test(what_is_no_time_is_refused_with_the_forms),
		cmocka_unit_test(ranges),
		cmocka_unit_test(a_time_prints_as_it_parses),
	};

	set_zone("UTC0");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
