/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's decisions by clocks, with fake clocks; its lock, and its messages to systemd. */
#include "scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/budget.h"
#include "daemon/memory_limit.h"
#include "daemon/notify.h"
#include "daemon/parts.h"
#include "open/lock.h"

#define SECOND 1000000000ULL
#define WALL   (1795295100ULL * SECOND + 123456789) /* 2026-11-21 21:05:00.123 UTC */

static void names_parts(void **state)
{
	cleanup(free_at_exit) char *first = part_path(".", WALL);
	cleanup(free_at_exit) char *second = NULL;

	(void)state;
	assert_string_equal(first, "./20261121T210500.123Z");
	assert_int_equal(mkdir(first, 0700), 0);
	second = part_path(".", WALL);
	assert_string_equal(second, "./20261121T210500.123Z-2");
	assert_int_equal(rmdir(first), 0);
}

/* An unreadable part may come from a newer assay: it loses the room for its end, and stays. */
static void tidies_known_parts(void **state)
{
	const char *part = "20261121T210500.123Z";
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/samples/current", part);
	assert_int_equal(file_mkdirs(path, 0700, NULL), 0);
	assert_int_equal(parts_tidy(".", NULL), 0);
	snprintf(path, sizeof(path), "%s/samples/current/reserve", part);
	write_file(path, "room");
	assert_int_equal(parts_tidy(".", NULL), 1);
	assert_int_equal(parts_tidy(".", NULL), 0);
	assert_int_equal(access(part, F_OK), 0);
}

static void begins_parts_when_clocks_say_so(void **state)
{
	const struct part_clock start = { WALL, 1000 * SECOND };
	uint64_t hour = PART_NS;

	(void)state;
	assert_int_equal(part_due(&start, hour, WALL + SECOND, 1001 * SECOND), PART_GOES_ON);
	assert_int_equal(part_due(&start, hour, WALL + hour - 1, 1000 * SECOND + hour - 1),
			 PART_GOES_ON);
	assert_int_equal(part_due(&start, hour, WALL + hour, 1000 * SECOND + hour), PART_IS_OVER);
	/* Set back an hour, set forward, and slept, which CLOCK_MONOTONIC does not see. */
	assert_int_equal(part_due(&start, hour, WALL + SECOND - hour, 1001 * SECOND),
			 PART_CLOCK_SET);
	assert_int_equal(part_due(&start, hour, WALL + 8 * hour, 1001 * SECOND), PART_CLOCK_SET);
	assert_int_equal(part_due(&start, hour, WALL + 2 * SECOND, 1001 * SECOND), PART_CLOCK_SET);
	/* Slewed by NTP. */
	assert_int_equal(part_due(&start, hour, WALL + SECOND + SECOND / 10, 1001 * SECOND),
			 PART_GOES_ON);
	assert_int_equal(part_due(&start, hour, WALL + SECOND - SECOND / 10, 1001 * SECOND),
			 PART_GOES_ON);
}

/* Seconds of a daemon whose samples cost so much each; the rate that it comes to. */
static uint64_t live(struct budget *b, uint64_t *now_ns, uint64_t *cpu_ns, unsigned seconds,
		     uint64_t ns_a_sample, uint64_t rate, uint64_t wanted, double *most_percent)
{
	for (; seconds--;) {
		*now_ns += SECOND;
		*cpu_ns += rate * ns_a_sample;
		*most_percent = MAX(*most_percent, 100.0 * (double)(rate * ns_a_sample) / 1e9);
		rate = budget_rate(b, *now_ns, *cpu_ns, rate, wanted);
	}
	return rate;
}

static void keeps_its_budget(void **state)
{
	uint64_t now = 5000 * SECOND, cpu = 7 * SECOND, rate;
	struct budget b;
	double most = 0;

	(void)state;
	budget_begin(&b, 2, now, cpu);
	/* 10 us a sample: 1 % at 1000 Hz, which is fine. */
	rate = live(&b, &now, &cpu, 100, 10000, 1000, 1000, &most);
	assert_int_equal(rate, 1000);
	assert_true(b.cpu_percent > 0.9 && b.cpu_percent < 1.1);
	/* 18 us: below the limit, but near it: the rate goes down before it is passed. */
	rate = live(&b, &now, &cpu, 30, 18000, rate, 1000, &most);
	assert_true(rate < 1000 && rate > 100);
	assert_true(most < 2);
	/* Ten times as much: down at once, and the least is 1. */
	rate = live(&b, &now, &cpu, 60, 180000, rate, 1000, &most);
	assert_true((double)rate * 180000 < 0.02 * 1e9);
	rate = live(&b, &now, &cpu, 100, 900000000, rate, 1000, &most);
	assert_int_equal(rate, 1);
	/* Calm again: up step by step, not at once, and never above what was asked for. */
	assert_int_equal(live(&b, &now, &cpu, 30, 1000, rate, 1000, &most), 1);
	rate = live(&b, &now, &cpu, 3000, 1000, rate, 1000, &most);
	assert_int_equal(rate, 1000);
	/* Less was asked for meanwhile. */
	assert_int_equal(live(&b, &now, &cpu, 3, 1000, 1000, 49, &most), 49);
	/* Asked more often than once a second, it answers what it was. */
	assert_int_equal(budget_rate(&b, now + 1, cpu + SECOND, 49, 49), 49);
}

static void has_no_budget(void **state)
{
	uint64_t now = SECOND, cpu = 0;
	struct budget b;
	double most = 0;

	(void)state;
	budget_begin(&b, 0, now, cpu);
	assert_int_equal(live(&b, &now, &cpu, 100, 900000, 1000, 1000, &most), 1000);
	assert_true(b.cpu_percent > 80);
}

static void locks_its_directory(void **state)
{
	struct error err = { 0 };
	char want[64];
	pid_t pid;
	int fd;

	(void)state;
	assert_int_equal(lock_holder("."), 0);
	fd = lock_take(".", &err);
	assert_true(fd >= 0);
	assert_int_equal(lock_write_pid(fd, getpid(), NULL), 0);
	assert_int_equal(lock_holder("."), getpid());
	assert_int_equal(lock_take(".", &err), -EBUSY);
	snprintf(want, sizeof(want), "already: process %d", (int)getpid());
	assert_non_null(strstr(err.text, want));
	/* A child that inherited it goes on holding it. */
	pid = fork();
	if (!pid) {
		lock_write_pid(fd, getpid(), NULL);
		pause();
	}
	close(fd);
	wait_until(lock_holder(".") == pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* What a killed one left is in nobody's way. */
	assert_int_equal(lock_holder("."), 0);
	fd = lock_take(".", &err);
	assert_true(fd >= 0);
	close(fd);
}

static void speaks_to_systemd(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "notify" };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char got[100] = "";

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_false(notify_service("READY=1"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", "/proc/self/cwd/notify", 1); /* short, wherever TMPDIR is */
	assert_true(notify_service("READY=1\nSTATUS=%d", 42));
	assert_int_equal(recv(fd, got, sizeof(got) - 1, 0), 17);
	assert_string_equal(got, "READY=1\nSTATUS=42");
	assert_true(notify_reloading(5 * SECOND));
	assert_true(recv(fd, got, sizeof(got) - 1, 0) > 0);
	assert_non_null(strstr(got, "RELOADING=1\nMONOTONIC_USEC=5000000"));
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_false(notify_service("READY=1"));
	close(fd);
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(notify_watchdog_ns(), 15 * SECOND);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
}

/* Only memory of the daemon itself may cost its state or its rate. */
static void memory_of_parsers_is_not_of_the_daemon(void **state)
{
	(void)state;
	assert_int_equal(memory_excess(0, 1 << 30, 1 << 30), MEMORY_FITS);
	assert_int_equal(memory_excess(800, 300, 399), MEMORY_FITS);
	assert_int_equal(memory_excess(800, 300, 400), MEMORY_OF_PARSERS);
	assert_int_equal(memory_excess(800, 699, 5000), MEMORY_OF_PARSERS);
	assert_int_equal(memory_excess(800, 700, 0), MEMORY_OF_DAEMON);
	assert_int_equal(memory_excess(800, 700, 5000), MEMORY_OF_DAEMON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_parts, NULL, NULL),
		cmocka_unit_test_setup_teardown(tidies_known_parts, NULL, NULL),
		cmocka_unit_test(begins_parts_when_clocks_say_so),
		cmocka_unit_test(keeps_its_budget),
		cmocka_unit_test(has_no_budget),
		cmocka_unit_test(memory_of_parsers_is_not_of_the_daemon),
		cmocka_unit_test_setup_teardown(locks_its_directory, NULL, NULL),
		cmocka_unit_test_setup_teardown(speaks_to_systemd, NULL, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
