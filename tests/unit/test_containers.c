/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of containers that a session or a history keeps. */
#include "folder.h"

#include <errno.h>

#include "base/mem.h"
#include "store/history/containers.h"

#define PART "history/samples/current/20261121T210500.123Z"

/* Lines of names until a file is larger than its limit, and then the end of it. */
#define N_NAMES 60000

static const char *kept(const char *dir, const char *id)
{
	static char name[CONTAINER_NAME_SIZE];
	struct container_names *n = container_names_new();
	cleanup(free_at_exit) char *file = containers_file(dir);
	const char *found;

	containers_read(n, file);
	found = container_names_find(n, id);
	snprintf(name, sizeof(name), "%s", found ? found : "(none)");
	container_names_free(n);
	return name;
}

static const char *id_of(unsigned int i)
{
	static char id[65];

	snprintf(id, sizeof(id), "%064x", i + 1);
	return id;
}

static off_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

/* So that parts may be merged and removed, and names stay. */
static void a_history_has_one_file_for_all_its_parts(void **state)
{
	cleanup(free_at_exit) char *of_part = containers_file(PART);
	cleanup(free_at_exit) char *of_session = containers_file("session");

	(void)state;
	assert_string_equal(of_part, "history/containers");
	assert_string_equal(of_session, "session/containers");
	assert_int_equal(file_mkdirs(PART, 0700, NULL), 0);
	assert_true(containers_append(of_part, id_of(1), "web"));
	assert_string_equal(kept(PART, id_of(1)), "web");
	assert_int_equal(file_remove_tree("history/samples", NULL), 0);
	assert_string_equal(kept("history/samples/current/20270101T000000.000Z", id_of(1)), "web");
}

static void a_file_of_4_mib_loses_its_older_half(void **state)
{
	FILE *f;

	(void)state;
	assert_int_equal(file_mkdirs("long", 0700, NULL), 0);
	assert_true(containers_append("long/containers", id_of(0), "first"));
	containers_trim("long/containers"); /* far from the limit */
	assert_string_equal(kept("long", id_of(0)), "first");
	f = fopen("long/containers", "ae");
	assert_non_null(f);
	for (unsigned int i = 1; i < N_NAMES; i++)
		fprintf(f, "%s name%u\n", id_of(i), i);
	fclose(f);
	assert_true(size_of("long/containers") > 4 << 20);
	containers_trim("long/containers");
	assert_true(size_of("long/containers") < 3 << 20);
	assert_string_equal(kept("long", id_of(0)), "(none)");
	assert_string_equal(kept("long", id_of(N_NAMES - 1)), "name59999");
	assert_true(containers_append("long/containers", id_of(N_NAMES), "last"));
	assert_string_equal(kept("long", id_of(N_NAMES)), "last");
}

static void merge(const char *file, const char *lines)
{
	cleanup(free_at_exit) char *copy = xstrdup(lines);

	assert_int_equal(containers_merge(file, copy, NULL), 0);
}

static void a_file_takes_the_names_that_it_lacks(void **state)
{
	cleanup(free_at_exit) char *one = xasprintf("%s web\n%s db\n", id_of(1), "pod-2");
	cleanup(free_at_exit) char *two = xasprintf("%s web\n%s old\n", id_of(1), "pod-2");
	struct buf lines = { 0 };

	(void)state;
	assert_int_equal(file_mkdirs("here", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("there", 0700, NULL), 0);
	assert_int_equal(containers_missing("here/containers", "there/containers", &lines), 0);
	merge("here/containers", one);
	assert_int_equal(containers_missing("here/containers", "there/containers", &lines), 2);
	assert_string_equal(buf_cstr(&lines), one);
	merge("there/containers", two);
	lines.len = 0;
	assert_int_equal(containers_missing("here/containers", "there/containers", &lines), 1);
	assert_string_equal(buf_cstr(&lines), "pod-2 db\n");
	merge("there/containers", buf_cstr(&lines));
	lines.len = 0;
	assert_int_equal(containers_missing("here/containers", "there/containers", &lines), 0);
	assert_string_equal(kept("there", id_of(1)), "web");
	assert_string_equal(kept("there", "pod-2"), "db");
	buf_fini(&lines);
}

static void a_file_that_cannot_be_read_stays(void **state)
{
	static const char *const file = "stays/containers";
	char line[] = "A new\n";

	(void)state;
	assert_int_equal(file_mkdirs("stays", 0700, NULL), 0);
	merge("stays/others", "A old\nB other\n");
	assert_int_equal(symlink("others", file), 0);
	assert_int_equal(containers_merge(file, line, NULL), -ELOOP);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(containers_merge(file, line, NULL), -EINVAL);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rename("stays/others", file), 0);
	assert_int_equal(truncate(file, CONTAINER_TEXT_MAX + 8192), 0);
	assert_int_equal(containers_merge(file, line, NULL), -EFBIG);
	assert_int_equal(size_of(file), CONTAINER_TEXT_MAX + 8192);
	assert_int_equal(truncate(file, strlen("A old\nB other\n")), 0);
	merge(file, line);
	assert_string_equal(kept("stays", "A"), "new");
	assert_string_equal(kept("stays", "B"), "other");
}

static void lines_of_a_host_that_lies_are_left_out(void **state)
{
	char *long_name = calloc(1, 10000), *lines;

	(void)state;
	assert_int_equal(file_mkdirs("lies", 0700, NULL), 0);
	memset(long_name, 'n', 9999);
	lines = xasprintf("# no\n\n../../etc x\nid\nA a\x1b[2J\nA b\n\x80 c\nB %s", long_name);
	merge("lies/containers", "A first\n");
	merge("lies/containers", lines);
	assert_string_equal(kept("lies", "A"), "b");
	assert_int_equal(strlen(kept("lies", "B")), CONTAINER_NAME_SIZE - 1);
	assert_string_equal(kept("lies", "id"), "(none)");
	assert_string_equal(kept("lies", "../../etc"), "(none)");
	assert_true(size_of("lies/containers") < 300);
	free(lines);
	free(long_name);
}

/* However many names a host sends. */
static void a_merged_file_keeps_the_newest_4_mib(void **state)
{
	struct buf lines = { 0 };

	(void)state;
	assert_int_equal(file_mkdirs("full", 0700, NULL), 0);
	merge("full/containers", "A first\n");
	for (unsigned int i = 1; i < N_NAMES; i++)
		buf_printf(&lines, "%s name%u\n", id_of(i), i);
	merge("full/containers", buf_cstr(&lines));
	assert_in_range(size_of("full/containers"), (4 << 20) - 100, 4 << 20);
	assert_string_equal(kept("full", "A"), "(none)");
	assert_string_equal(kept("full", id_of(N_NAMES - 1)), "name59999");
	buf_fini(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_takes_the_names_that_it_lacks),
		cmocka_unit_test(a_file_that_cannot_be_read_stays),
		cmocka_unit_test(lines_of_a_host_that_lies_are_left_out),
		cmocka_unit_test(a_merged_file_keeps_the_newest_4_mib),
		cmocka_unit_test(a_history_has_one_file_for_all_its_parts),
		cmocka_unit_test(a_file_of_4_mib_loses_its_older_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
