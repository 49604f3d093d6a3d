/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of Python's functions, by their names. */
#include "annotate/python_source.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const source[] = {
	/* 1 */ "import os",
	"def hot(n):",
	"    x = 0",
	"",
	/* 5 */ "# a comment ends nothing",
	"    def inner():",
	"        return x",
	"    return inner",
	"",
	/* 10 */ "class K(object):",
	"\tdef method(self):",
	"\t\treturn 1",
	"    ",
	"\tasync  def later(self): return 2",
	/* 15 */ "\tclass Within:",
	"\t\tdef method(self):",
	"\t\t\tpass",
	"if os:",
	"    def twice(): pass",
	/* 20 */ "else:",
	"    def twice(): pass",
	"define = 1",
	"def hotter(): return hot",
	"hot(1)",
};

/* Writes a file of `n` lines, alone in its folder, and reads it as a source. */
static const struct source_file *write_source(struct source_files *files, const char *const *lines,
					      size_t n)
{
	static char path[] = "/tmp/assay-unit-source-XXXXXX";
	int fd = mkstemp(path);
	const struct source_file *file;

	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++)
		assert_true(dprintf(fd, "%s\n", lines[i]) >= 0);
	close(fd);
	source_files_name(files, path, geteuid());
	file = source_files_get(files, path);
	unlink(path);
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	return file;
}

static struct source_files *no_places(void)
{
	static const struct source_search nowhere = { 0 };

	return source_files_new(&nowhere);
}

static void a_function_is_found_by_its_qualified_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t first, last; /* 0: not found */
	} cases[] = {
		{ "hot", 2, 8 },
		{ "hot.<locals>.inner", 6, 7 },
		{ "K.method", 11, 12 },
		{ "K.later", 14, 14 },
		{ "K.Within.method", 16, 17 },
		{ "hotter", 23, 23 },
		{ "method", 0, 0 },
		{ "inner", 0, 0 },
		{ "twice", 0, 0 },
		{ "e", 0, 0 },
		{ "<module>", 0, 0 },
		{ "hot.<locals>.<lambda>", 0, 0 },
		{ "", 0, 0 },
		{ "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", 0, 0 },
	};
	struct source_files *files = no_places();
	const struct source_file *file = write_source(files, source, ARRAY_SIZE(source));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t first = 0, last = 0;
		bool found = python_source_find(file, cases[i].name, &first, &last);

		assert_int_equal(found, cases[i].first > 0);
		assert_int_equal(first, cases[i].first);
		assert_int_equal(last, cases[i].last);
	}
	source_files_free(files);
}

static void definitions_nest_without_end(void **state)
{
	enum { N = 500 };
	char *lines[N];
	struct source_files *files = no_places();
	const struct source_file *file;
	uint32_t first, last;

	(void)state;
	for (int i = 0; i < N; i++)
		lines[i] = xasprintf("%*sdef f():", i, "");
	file = write_source(files, (const char *const *)lines, N);
	assert_true(python_source_find(file, "f", &first, &last));
	assert_int_equal(first, 1);
	assert_int_equal(last, N);
	for (int i = 0; i < N; i++)
		free(lines[i]);
	source_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_by_its_qualified_name),
		cmocka_unit_test(definitions_nest_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
