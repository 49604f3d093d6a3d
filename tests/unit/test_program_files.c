/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a recording reads before it begins. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "record/interpreter_files.h"
#include "record/program_files.h"

static bool has_file(const struct program_files *f, const char *part)
{
	vec_foreach (f, path)
		if (strstr(*path, part))
			return true;
	return false;
}

static void a_programs_files_are_found_once_each(void **state)
{
	struct program_files files = { 0 };

	(void)state;
#if !defined(__x86_64__)
	skip_because("the emulator has the libraries elsewhere");
#endif
	program_files_find("/proc/self/exe", &files);
	assert_true(has_file(&files, "test_program_files"));
	/* glibc before 2.34 has a version in these names: /libc-2.31.so */
	assert_true(has_file(&files, "/libc.so.6") || has_file(&files, "/libc-2."));
	assert_true(has_file(&files, "/ld-linux") || has_file(&files, "/ld-2."));
	for (size_t i = 0; i < files.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(files.data[i], files.data[k]);
	program_files_fini(&files);
}

static void put_file(const char *folder, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

/* The headers of an interpreter are read without the parser, so only root may have made them. */
static void interpreters_of_other_users_are_left_out(void **state)
{
	static const struct {
		const char *exe;
		bool is_read;
	} rows[] = {
		{ "/usr/bin/perl", true },
		{ "/usr/bin/env", false }, /* by its name */
		{ "%s/python3", false },
		{ "/usr/../%s/python3", false },
	};
	struct program_files files = { 0 };
	char dir[] = "/tmp/assay-interpreters-XXXXXX";
	cleanup(free_at_exit) char *link = NULL, *process = NULL, *python = NULL;

	(void)state;
	if (access("/usr/bin/perl", R_OK))
		skip_because("no /usr/bin/perl here");
	assert_non_null(mkdtemp(dir));
	put_file(dir, "python3");
	python = xasprintf("%s/python3", dir);
	process = xasprintf("%s/17", dir);
	link = xasprintf("%s/17/exe", dir);
	assert_return_code(mkdir(process, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(free_at_exit) char *exe =
			strchr(rows[i].exe, '%')
				? xasprintf("%.*s%s/python3", (int)strcspn(rows[i].exe, "%"),
					    rows[i].exe, dir)
				: xstrdup(rows[i].exe);

		assert_return_code(symlink(exe, link), 0);
		interpreter_files_of_process(dir, 17, &files);
		assert_int_equal(files.n > 0, rows[i].is_read);
		assert_return_code(unlink(link), 0);
		program_files_fini(&files);
	}
	assert_return_code(rmdir(process), 0);
	assert_return_code(unlink(python), 0);
	assert_return_code(rmdir(dir), 0);
}

static void modules_of_python_are_found_beside_it(void **state)
{
	static const char *const folders[] = { "bin", "lib", "lib/python3.11",
					       "lib/python3.11/lib-dynload" };
	struct program_files files = { 0 };
	char prefix[] = "/tmp/assay-modules-XXXXXX";
	cleanup(free_at_exit) char *python = NULL, *library = NULL, *other = NULL;

	(void)state;
	assert_non_null(mkdtemp(prefix));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", prefix, folders[i]);

		assert_return_code(mkdir(path, 0700), 0);
	}
	put_file(prefix, "bin/python3.11");
	put_file(prefix, "bin/python3-config");
	put_file(prefix, "lib/libpython3.11.so.1.0");
	put_file(prefix, "lib/python3.11/lib-dynload/_bz2.cpython-311.so");
	put_file(prefix, "lib/python3.11/lib-dynload/notes.txt");
	python = xasprintf("%s/bin/python3.11", prefix);
	library = xasprintf("%s/lib/libpython3.11.so.1.0", prefix);
	other = xasprintf("%s/bin/python3-config", prefix);
	program_files_find(other, &files);
	program_files_add_modules(&files);
	assert_int_equal(files.n, 1);
	program_files_find(python, &files);
	program_files_find(library, &files);
	program_files_add_modules(&files);
	assert_int_equal(files.n, 4);
	assert_true(has_file(&files, "/lib/python3.11/lib-dynload/_bz2.cpython-311.so"));
	program_files_fini(&files);
	assert_int_equal(file_remove_tree(prefix, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_programs_files_are_found_once_each),
		cmocka_unit_test(interpreters_of_other_users_are_left_out),
		cmocka_unit_test(modules_of_python_are_found_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
