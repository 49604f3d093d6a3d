/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of containers that a session or a history keeps. */
#include "folder.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_history_has_one_file_for_all_its_parts),
		cmocka_unit_test(a_file_of_4_mib_loses_its_older_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
