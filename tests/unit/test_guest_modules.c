/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules of guests, from copies of their lists. */
#include <sys/stat.h>

#include "scratch.h"

#include "machine/guest_modules.h"

static struct guest_modules *modules_of(const char *text)
{
	write_file("modules", text);
	return guest_modules_read("modules");
}

static void a_module_is_found_by_its_addresses(void **state)
{
	struct guest_modules *t = modules_of("b 4096 0 - Live 0xffffffffc0100000\n"
					     "a 8192 1 b, Live 0xffffffffc0000000 (E)\n");
	size_t n;

	(void)state;
	guest_modules_all(t, &n);
	assert_int_equal(n, 2);
	assert_string_equal(guest_modules_next(t, 0xffffffffc0000000)->name, "a");
	assert_string_equal(guest_modules_next(t, 0xffffffffc0001fff)->name, "a");
	assert_string_equal(guest_modules_next(t, 0xffffffffc0002000)->name, "b");
	assert_int_equal(guest_modules_next(t, 0xffffffffc0100fff)->start, 0xffffffffc0100000);
	assert_null(guest_modules_next(t, 0xffffffffc0101000));
	guest_modules_free(t);
}

static void modules_are_cut_at_the_next_and_left_out_in_user_space(void **state)
{
	struct guest_modules *t = modules_of("first 8192 0 - Live 0xffffffffc0000000\n"
					     "second 4096 0 - Live 0xffffffffc0001000\n"
					     "user 4096 0 - Live 0x400000\n"
					     "hidden 4096 0 - Live 0x0000000000000000\n"
					     "wraps 8192 0 - Live 0xfffffffffffff000\n"
					     "no module\n");
	const struct guest_module *all;
	size_t n;

	(void)state;
	all = guest_modules_all(t, &n);
	assert_int_equal(n, 2);
	assert_string_equal(all[0].name, "first");
	assert_int_equal(all[0].end, 0xffffffffc0001000);
	assert_string_equal(all[1].name, "second");
	assert_int_equal(all[1].end, 0xffffffffc0002000);
	guest_modules_free(t);
}

static void a_missing_list_and_a_fifo_are_empty(void **state)
{
	const char *const paths[] = { NULL, "absent", "fifo" };

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct guest_modules *t = guest_modules_read(paths[i]);

		assert_null(guest_modules_next(t, 0));
		guest_modules_free(t);
	}
}

static void a_guest_without_lists_of_its_own_has_those_for_all(void **state)
{
	const struct guest_files files = { "all.kallsyms", "all.modules", "guests" };
	const struct guest_files own_alone = { .mount = "guests" }, none = { 0 };
	char *path;

	(void)state;
	assert_true(try_command("mkdir -p guests/7/proc && touch guests/7/proc/kallsyms"));
	path = guest_files_list(&files, 7, "modules");
	assert_string_equal(path, "guests/7/proc/modules");
	free(path);
	path = guest_files_list(&files, 8, "modules");
	assert_string_equal(path, "all.modules");
	free(path);
	path = guest_files_list(&files, 8, "kallsyms");
	assert_string_equal(path, "all.kallsyms");
	free(path);
	path = guest_files_list(&own_alone, 8, "kallsyms");
	assert_string_equal(path, "guests/8/proc/kallsyms");
	free(path);
	assert_null(guest_files_list(&none, 8, "modules"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_is_found_by_its_addresses),
		cmocka_unit_test(modules_are_cut_at_the_next_and_left_out_in_user_space),
		cmocka_unit_test(a_missing_list_and_a_fifo_are_empty),
		cmocka_unit_test(a_guest_without_lists_of_its_own_has_those_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
