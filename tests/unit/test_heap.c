/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes can have probes on returns, and which programs the preloaded library. */
#include "scratch.h"

#include "base/error.h"
#include "heap/returns.h"
#include "record/program_files.h"

/* A process with two threads; `modes` are the lines of their status. */
static void fake_process(const char *release, const char *const modes[2])
{
	cleanup(free_at_exit) char *line = xasprintf("%s\n", release);

	run_command("rm -rf proc; mkdir -p proc/sys/kernel proc/7/task/7 proc/7/task/8");
	write_file("proc/sys/kernel/osrelease", line);
	for (int i = 0; i < 2; i++) {
		cleanup(free_at_exit) char *path = xasprintf("proc/7/task/%d/status", 7 + i);
		cleanup(free_at_exit) char *text = xasprintf(
			"Name:\tapp\nNoNewPrivs:\t1\n%sSpeculation_Store_Bypass:\tvulnerable\n",
			modes[i]);

		write_file(path, text);
	}
}

static int check(const char *release, const char *first, const char *second)
{
	struct error err = { 0 };
	int r;

	fake_process(release, (const char *const[]){ first, second });
	r = returns_check("proc", 7, &err);
	assert_true(r == 0 || strstr(err.text, "seccomp") != NULL);
	return r;
}

#define NO_FILTER "Seccomp:\t0\nSeccomp_filters:\t0\n"
#define STRICT    "Seccomp:\t1\nSeccomp_filters:\t0\n"
#define FILTER    "Seccomp:\t2\nSeccomp_filters:\t1\n"

#if defined(__x86_64__)
#define REFUSED (-EPERM)
#else
#define REFUSED 0
#endif

static void a_filter_matters_where_returns_are_system_calls(void **state)
{
	(void)state;
	assert_int_equal(check("6.12.48+deb13-amd64", FILTER, FILTER), REFUSED);
	assert_int_equal(check("6.11.0", NO_FILTER, FILTER), REFUSED);
	assert_int_equal(check("6.13.12-arch1", STRICT, NO_FILTER), REFUSED);
	assert_int_equal(check("6.12.0", NO_FILTER, NO_FILTER), 0);
	assert_int_equal(check("6.10.14", FILTER, FILTER), 0);
	assert_int_equal(check("6.14.0", FILTER, FILTER), 0);
	assert_int_equal(check("5.12.0", FILTER, FILTER), 0);
	assert_int_equal(check("7.12.0", FILTER, FILTER), 0);
}

static void a_kernel_without_filters_has_no_such_line(void **state)
{
	(void)state;
	assert_int_equal(check("6.12.0", "", ""), 0);
	assert_int_equal(returns_check("proc", 9, NULL), 0);
	run_command("rm proc/sys/kernel/osrelease");
	assert_int_equal(returns_check("proc", 7, NULL), 0);
}

static void the_loader_tells_the_kind_of_a_program(void **state)
{
	(void)state;
	need_command("command -v cc");
	write_file("a.c", "void _start(void) { }\n");
	run_command("cc -nostdlib -static -no-pie -o plain a.c");
	assert_int_equal(program_kind("plain"), PROGRAM_STATIC);
	run_command("cc -nostdlib -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -pie -fPIE -o musl "
		    "a.c");
	assert_int_equal(program_kind("musl"), PROGRAM_OF_MUSL);
	run_command("cc -nostdlib -pie -fPIE -o usual a.c");
	assert_int_equal(program_kind("usual"), PROGRAM_LOADED);
	write_file("script", "#!/bin/sh\n");
	assert_int_equal(program_kind("script"), PROGRAM_LOADED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_matters_where_returns_are_system_calls),
		cmocka_unit_test(a_kernel_without_filters_has_no_such_line),
		cmocka_unit_test(the_loader_tells_the_kind_of_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
