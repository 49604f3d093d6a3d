/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets by name: globs as masks, processes in /proc, control groups. */
#include "scratch.h"

#include <errno.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "record/target_names.h"

/* ---- names ---- */

static void a_glob_takes_what_fnmatch_takes(void **state)
{
	static const char *const globs[] = { "",      "a",     "*",    "?",      "a*",    "*a",
					     "a*b*c", "**",    "a?c",  "[ab]*",  "[!a]b", "[^a]*c",
					     "[a-b]", "[]a]*", "a[bc", "\\*a",   "a\\?",  "*?*?*",
					     "*ab",   "*a*a*", "[a",   "a**b?*", "[[]",   "\\" };
	static const char letters[] = "abc*?[]\\";

	(void)state;
	for (size_t g = 0; g < ARRAY_SIZE(globs); g++) {
		struct comm_masks masks;

		assert_int_equal(comm_masks_make(globs[g], &masks, NULL), 0);
		/* all texts of up to four letters */
		for (uint32_t n = 0; n < 9 * 9 * 9 * 9; n++) {
			char text[5] = "";
			size_t length = 0;

			for (uint32_t rest = n; rest; rest /= 9)
				if (rest % 9)
					text[length++] = letters[rest % 9 - 1];
			if (comm_masks_fit(&masks, text) != !fnmatch(globs[g], text, 0))
				fail_msg("'%s' and '%s' differ from fnmatch", globs[g], text);
		}
	}
}

static void a_name_of_fifteen_bytes_fits_and_a_longer_glob_is_refused(void **state)
{
	struct error err = { 0 };
	struct comm_masks masks;

	(void)state;
	assert_int_equal(comm_masks_make("*0123456789*abcde", &masks, NULL), 0);
	assert_true(comm_masks_fit(&masks, "0123456789abcde"));
	assert_false(comm_masks_fit(&masks, "0123456789abcd"));
	assert_int_equal(comm_masks_make("0123456789abcdef0123456789abcdef", &masks, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "keeps 15 bytes"));
}

/* ---- processes ---- */

static void make_process(int pid, const char *comm, const char *uids)
{
	cleanup(free_at_exit) char *dir = xasprintf("proc/%d", pid);
	cleanup(free_at_exit) char *comm_file = xasprintf("%s/comm", dir);
	cleanup(free_at_exit) char *status_file = xasprintf("%s/status", dir);
	cleanup(free_at_exit) char *task = xasprintf("%s/task", dir);
	cleanup(free_at_exit) char *thread = xasprintf("%s/task/%d", dir, pid);
	cleanup(free_at_exit) char *thread_comm = xasprintf("%s/comm", thread);
	cleanup(free_at_exit) char *name = xasprintf("%s\n", comm);
	cleanup(free_at_exit) char *status = xasprintf("Name:\t%s\nUid:\t%s\n", comm, uids);

	mkdir("proc", 0700);
	mkdir(dir, 0700);
	mkdir(task, 0700);
	mkdir(thread, 0700);
	write_file(comm_file, name);
	write_file(thread_comm, name);
	write_file(status_file, status);
}

static size_t n_found(const struct target_names *names, int32_t *first)
{
	struct process_filter filter;
	struct pid_list found = { 0 };
	size_t n;

	assert_int_equal(target_filter(names, &filter, NULL), 0);
	target_processes("proc", &filter, &found);
	n = found.n;
	*first = n ? found.data[0] : 0;
	vec_fini(&found);
	return n;
}

static void processes_are_found_by_effective_user_and_name(void **state)
{
	int32_t first;

	(void)state;
	make_process(4000010, "postgres", "70\t70\t70\t70");
	make_process(4000011, "postgres", "0\t0\t0\t0");
	make_process(4000012, "postmaster", "0\t70\t0\t0"); /* the second is the effective one */
	assert_int_equal(n_found(&(struct target_names){ .user = "70" }, &first), 2);
	assert_int_equal(n_found(&(struct target_names){ .comm = "post*" }, &first), 3);
	assert_int_equal(n_found(&(struct target_names){ .comm = "postgre" }, &first), 0);
	assert_int_equal(n_found(&(struct target_names){ .user = "root", .comm = "*gres" }, &first),
			 1);
	assert_int_equal(first, 4000011);
}

static void an_unknown_user_is_an_error(void **state)
{
	struct process_filter filter;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(target_filter(&(struct target_names){ .user = "no-such-user" }, &filter,
				       &err),
			 -EINVAL);
	assert_string_equal(err.text, "there is no user 'no-such-user' on this machine");
	assert_int_equal(target_filter(&(struct target_names){ .user = "-1" }, &filter, &err),
			 -EINVAL);
}

/* ---- control groups ---- */

#define ID  "3f0c4f1e2d9b8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b"
#define ID2 "3f0caaaaaaaa8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b"

static void make_groups(void)
{
	run_command("mkdir -p top/system.slice/web.service/worker "
		    "top/system.slice/docker-" ID ".scope/inner "
		    "top/system.slice/docker-" ID2 ".scope "
		    "top/user.slice/user-7.slice/user@7.service/app.slice/mail.service "
		    "top/user.slice/user-8.slice/user@8.service/app.slice/mail.service");
}

static int find_group(const char *unit, const char *container, char **path, struct error *err)
{
	*path = NULL;
	return target_cgroup("top", &(struct target_names){ .unit = unit, .container = container },
			     path, err);
}

static void a_unit_is_its_outermost_group(void **state)
{
	static const char *const names[] = { "web", "web.service" };
	char *path;

	(void)state;
	make_groups();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(find_group(names[i], NULL, &path, NULL), 0);
		assert_string_equal(path, "top/system.slice/web.service");
		free(path);
	}
	assert_int_equal(find_group("user.slice", NULL, &path, NULL), 0);
	assert_string_equal(path, "top/user.slice");
	free(path);
}

static void a_container_is_found_by_the_begin_of_its_id(void **state)
{
	struct error err = { 0 };
	char *path;

	(void)state;
	make_groups();
	assert_int_equal(find_group(NULL, "3f0c4", &path, NULL), 0);
	assert_string_equal(path, "top/system.slice/docker-" ID ".scope");
	free(path);
	assert_int_equal(find_group(NULL, "3f0c", &path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "2 control groups are of a container '3f0c' ("));
	assert_non_null(strstr(err.text, "/system.slice/docker-" ID2 ".scope"));
	assert_int_equal(find_group(NULL, "3f0", &path, &err), -ENOENT); /* too short */
}

static void several_units_of_one_name_are_listed(void **state)
{
	struct error err = { 0 };
	char *path;

	(void)state;
	make_groups();
	assert_int_equal(find_group("mail", NULL, &path, &err), -EINVAL);
	assert_null(path);
	assert_non_null(strstr(err.text, "user-7.slice/user@7.service/app.slice/mail.service"));
	assert_non_null(strstr(err.text, "choose one by -G"));
	assert_int_equal(find_group("nail", NULL, &path, &err), -ENOENT);
	assert_non_null(strstr(err.text, "unit 'nail'"));
}

static void the_members_of_a_group_and_of_those_below_it(void **state)
{
	struct pid_list members = { 0 };

	(void)state;
	make_groups();
	write_file("top/system.slice/web.service/cgroup.procs", "11\n0\n");
	write_file("top/system.slice/web.service/worker/cgroup.procs", "12\n13\n");
	target_cgroup_processes("top/system.slice/web.service", &members);
	assert_int_equal(members.n, 3); /* 0 is of another pid namespace */
	vec_fini(&members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_glob_takes_what_fnmatch_takes),
		cmocka_unit_test(a_name_of_fifteen_bytes_fits_and_a_longer_glob_is_refused),
		cmocka_unit_test(processes_are_found_by_effective_user_and_name),
		cmocka_unit_test(an_unknown_user_is_an_error),
		cmocka_unit_test(a_unit_is_its_outermost_group),
		cmocka_unit_test(a_container_is_found_by_the_begin_of_its_id),
		cmocka_unit_test(several_units_of_one_name_are_listed),
		cmocka_unit_test(the_members_of_a_group_and_of_those_below_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
