/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of containers, from the files of their engines. */
#include "cgroup_paths.h"

#include "base/files/file.h"
#include "machine/cgroup_name.h"
#include "machine/engine_files.h"
#include "machine/machine.h"
#include "machine/storage_places.h"
#include "profile/profile.h"

#include <stdlib.h>

/* A file below `root`, with the folders above it. */
static void put_file(const char *root, const char *name, const char *text)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", root, name);
	cleanup(free_at_exit) char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static void check_name(const char *found, const char *wanted)
{
	if (wanted)
		assert_string_equal(found, wanted);
	else
		assert_null(found);
}

static void engines_tell_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(engine_cases); i++) {
		char root[] = "/tmp/assay-test-XXXXXX";
		struct engine_files *files;
		struct cgroup_names names;

		assert_non_null(mkdtemp(root));
		print_message("%s\n", engine_cases[i].file);
		put_file(root, engine_cases[i].file, engine_cases[i].text);
		files = engine_files_new(root);
		cgroup_names_of(engine_cases[i].path, &names);
		check_name(engine_files_container(files, &names), engine_cases[i].container);
		check_name(engine_files_pod(files, &names), engine_cases[i].pod);
		engine_files_free(files);
		assert_int_equal(file_remove_tree(root, NULL), 0);
	}
}

/* Podman's databases: the seeds of the fuzz target, without their first byte, the kind. */
static void put_database(const char *root, const char *name, const char *seed)
{
	cleanup(free_at_exit) char *from =
		xasprintf(ASSAY_SRC "/../fuzz/corpus/container_names/%s", seed);
	cleanup(free_at_exit) char *to = xasprintf("%s/%s", root, name), *bytes = NULL;
	cleanup(free_at_exit) char *dir = xstrndup(to, (size_t)(strrchr(to, '/') - to));
	size_t size;

	assert_int_equal(file_read_all(from, 1 << 20, &bytes, &size), 0);
	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	assert_int_equal(file_replace(to, bytes + 1, size - 1, NULL), 0);
}
#define WEB "[{\"id\":\"" ID "\",\"names\":[\"web\"]}]"

#define STORAGE_USER 4711

/* False: only root can. */
static bool give_to_user(const char *root, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", root, name);

	return chown(path, STORAGE_USER, STORAGE_USER) == 0;
}

static void storages_elsewhere_and_pods_have_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(storage_cases); i++) {
		char root[] = "/tmp/assay-test-XXXXXX";
		struct engine_files *files;
		struct cgroup_names names;

		assert_non_null(mkdtemp(root));
		print_message("%s\n", storage_cases[i].file);
		put_file(root, "etc/passwd", "somebody:x:4711:4711::/home/s:/bin/sh\n");
		if (storage_cases[i].conf)
			put_file(root, storage_cases[i].conf, storage_cases[i].conf_text);
		if (storage_cases[i].seed)
			put_database(root, storage_cases[i].file, storage_cases[i].seed);
		else
			put_file(root, storage_cases[i].file, WEB);
		if (strstr(storage_cases[i].path, "user-4711") &&
		    !give_to_user(root, storage_cases[i].file)) {
			assert_int_equal(file_remove_tree(root, NULL), 0);
			continue;
		}
		files = engine_files_new(root);
		cgroup_names_of(storage_cases[i].path, &names);
		check_name(storage_cases[i].is_pod ? engine_files_pod(files, &names)
						   : engine_files_container(files, &names),
			   "web");
		engine_files_free(files);
		assert_int_equal(file_remove_tree(root, NULL), 0);
	}
}

/* A user could link his storage to another user's storage, or to root's. */
static void a_storage_with_files_of_another_user_has_no_names(void **state)
{
	static const char own[] = "home/s/.local/share/containers/storage/" CONTAINERS;
	char root[] = "/tmp/assay-test-XXXXXX";
	struct engine_files *files;
	struct cgroup_names names;

	(void)state;
	assert_non_null(mkdtemp(root));
	put_file(root, "etc/passwd", "somebody:x:4711:4711::/home/s:/bin/sh\n");
	put_file(root, own, WEB);
	files = engine_files_new(root);
	cgroup_names_of("/user.slice/user-4711.slice/libpod-" ID ".scope", &names);
	assert_null(engine_files_container(files, &names));
	engine_files_free(files);
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

static void storage_conf_is_read_as_far_as_it_is_one(void **state)
{
	static const char *const none[] = {
		"",
		"graphroot = \"/x\"",
		"[storage]\ngraphroot = \"/x\n\"",
		"[storage]\ngraphroot = x",
		"[storage]\ngraphroots = \"/x\"",
		"[storage]\n[storage.options]\ngraphroot = \"/x\"",
	};
	char *found = storage_conf_get("#\n [storage]\n\tgraphroot=\"/a b\" # mine\n", "graphroot");

	(void)state;
	assert_string_equal(found, "/a b");
	free(found);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_null(storage_conf_get(none[i], "graphroot"));
}

/* New content of a file that was read already is found. */
static void an_engine_is_read_again_when_it_changed(void **state)
{
	static const char file[] = "var/lib/containers/storage/vfs-containers/containers.json";
	char root[] = "/tmp/assay-test-XXXXXX";
	struct engine_files *files;
	struct cgroup_names names;

	(void)state;
	assert_non_null(mkdtemp(root));
	cgroup_names_of("/libpod-" ID, &names);
	files = engine_files_new(root);
	assert_null(engine_files_container(files, &names));
	put_file(root, file, "[]");
	assert_null(engine_files_container(files, &names));
	put_file(root, file, "[{\"id\":\"" ID "\",\"names\":[\"web\"]}]");
	check_name(engine_files_container(files, &names), "web");
	engine_files_free(files);
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_tell_names),
		cmocka_unit_test(storages_elsewhere_and_pods_have_names),
		cmocka_unit_test(a_storage_with_files_of_another_user_has_no_names),
		cmocka_unit_test(storage_conf_is_read_as_far_as_it_is_one),
		cmocka_unit_test(an_engine_is_read_again_when_it_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
