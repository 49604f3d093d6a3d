/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files that are cut while they are read. */
#include "base/file.h"
#include "base/temporary.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "scratch.h"

#define PAGE ((size_t)65536) /* of any machine, or several */

static void write_pages(const char *name, size_t n)
{
	char *text = xmalloc(n * PAGE + 1);

	memset(text, 'x', n * PAGE);
	text[n * PAGE] = '\0';
	write_file(name, text);
	free(text);
}

static void what_a_file_has_lost_reads_as_zeros(void **state)
{
	struct file_mapping cut = { 0 }, whole = { 0 };

	(void)state;
	write_pages("cut", 4);
	write_pages("whole", 2);
	assert_int_equal(file_map("cut", &cut, NULL), 0);
	assert_int_equal(file_map("whole", &whole, NULL), 0);
	assert_int_equal(cut.base[3 * PAGE], 'x');
	assert_int_equal(truncate("cut", PAGE), 0);
	assert_false(file_is_cut(&cut));
	assert_int_equal(cut.base[0], 'x');
	assert_false(file_is_cut(&cut));
	assert_int_equal(cut.base[2 * PAGE], 0);
	assert_true(file_is_cut(&cut));
	assert_int_equal(cut.base[4 * PAGE - 1], 0);
	assert_int_equal(cut.base[PAGE], 0); /* before the page that was read first */
	assert_int_equal(cut.base[0], 'x');
	assert_int_equal(whole.base[PAGE], 'x');
	assert_false(file_is_cut(&whole));
	file_unmap(&cut);
	file_unmap(&whole);
	assert_false(file_is_cut(&cut));
}

static void many_files_are_guarded_at_once(void **state)
{
	struct file_mapping maps[300] = { 0 };

	(void)state;
	write_pages("many", 2);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_int_equal(file_map("many", &maps[i], NULL), 0);
	assert_int_equal(truncate("many", 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		assert_int_equal(maps[i].base[PAGE], 0);
		assert_true(file_is_cut(&maps[i]));
		file_unmap(&maps[i]);
	}
}

/* A bus error that is no guarded file's ends the process, as it does without us. */
static void other_bus_errors_are_not_hidden(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	write_pages("foreign", 2);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct file_mapping guarded = { 0 };
		FILE *f = fopen("foreign", "r+");
		volatile char *base;

		signal(SIGBUS, SIG_DFL); /* cmocka's, which goes on */
		file_map("foreign", &guarded, NULL);
		base = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
		if (truncate("foreign", 0) < 0 || base[PAGE])
			_exit(0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int end_by(int number, bool has_name)
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		for (int i = SIGHUP; i <= SIGTERM; i++)
			signal(i, SIG_DFL);
		temporary_begin("out.tmp");
		write_file("out.tmp", "half of it");
		if (has_name)
			temporary_end();
		raise(number);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_file_without_a_name_goes_with_its_process(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int status = end_by(signals[i], false);

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
		assert_int_not_equal(access("out.tmp", F_OK), 0);
	}
	end_by(SIGINT, true);
	assert_int_equal(access("out.tmp", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_file_has_lost_reads_as_zeros),
		cmocka_unit_test(many_files_are_guarded_at_once),
		cmocka_unit_test(other_bus_errors_are_not_hidden),
		cmocka_unit_test(a_file_without_a_name_goes_with_its_process),
	};

	return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
