/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka with the headers that it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* cmocka 2 has two of it. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

#define DEADLINE_S 120

/* ASSAY_TEST_FILTER, a pattern with * and ?, chooses the tests of a program. */
__attribute__((constructor)) static void choose_tests(void)
{
	const char *filter = getenv("ASSAY_TEST_FILTER");

	if (filter)
		cmocka_set_test_filter(filter);
}

/* A user's settings are no part of a test: neither of the code under test nor of the tools that it
 * runs. */
__attribute__((constructor)) static void forget_settings(void)
{
	static const char *const names[] = {
		"ASSAY_DAEMON_PACE", "ASSAY_IMPORT_PARTS", "ASSAY_PT_PARTS", "ASSAY_SAMPLER_LIMITS",
		"DEBUGINFOD_URLS",   "NO_COLOR",           "NOTIFY_SOCKET",  "PERF_CONFIG",
		"SYSFS_PATH",        "WATCHDOG_PID",       "WATCHDOG_USEC",  "XDG_CACHE_HOME",
		"XDG_CONFIG_HOME",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("HOME", "/nonexistent", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC0", 1);
	tzset();
	umask(022);
}

/* Seconds that any wait of a test may take. Who runs the tests gives a slow machine more. */
__attribute__((unused)) static unsigned test_deadline_s(void)
{
	const char *set = getenv("ASSAY_TEST_DEADLINE");
	unsigned long s = set ? strtoul(set, NULL, 10) : 0;

	return s ? (unsigned)s : DEADLINE_S;
}

__attribute__((unused)) static double test_clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Looks again and again; the condition may be a call that brings itself about. */
#define wait_until(condition)                                                                  \
	do {                                                                                   \
		double wait_end = test_clock_s() + test_deadline_s();                          \
                                                                                               \
		while (!(condition)) {                                                         \
			if (test_clock_s() > wait_end)                                         \
				fail_msg("not after %u s: %s", test_deadline_s(), #condition); \
			usleep(1000);                                                          \
		}                                                                              \
	} while (0)

/*
 * Skips the test at hand; the reason is shown with it. It leaves the function as longjmp(3) does,
 * without what cleanup() would free: what a test needs comes before what it allocates.
 */
/* The path of the test itself. A link of /proc does not do, as guard/open.h refuses it. */
__attribute__((unused)) static const char *own_program(void)
{
	static char path[4096];

	if (!*path)
		assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

#define skip_because(...)                               \
	do {                                            \
		print_message("skipped: " __VA_ARGS__); \
		print_message("\n");                    \
		skip();                                 \
	} while (0)
