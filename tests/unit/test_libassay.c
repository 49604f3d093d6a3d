/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libassay: what it refuses, and that no file makes it print, exit or abort. */
#include <assay/assay.h>

#include <dirent.h>
#include <signal.h>

#include "scratch.h"

#define CORPORA ASSAY_SRC "/../fuzz/corpus"

static bool is_inside; /* a function of the library is at work */

static void must_not_exit(void)
{
	if (is_inside)
		_exit(99);
}

/* ---- wrong use ---- */

static void nothing_is_an_error_and_no_crash(void **state)
{
	struct assay_error error = { 0 };
	struct assay_session *session = (struct assay_session *)&error;
	struct assay_rows *rows = NULL;
	struct assay_query *query = assay_query_new();

	(void)state;
	assert_int_equal(assay_open(NULL, NULL, &session, &error), -EINVAL);
	assert_null(session);
	assert_int_equal(error.code, -EINVAL);
	assert_int_equal(assay_open("x", NULL, NULL, NULL), -EINVAL);
	assert_int_equal(assay_rows(NULL, query, &rows, &error), -EINVAL);
	assert_int_equal(assay_tree(NULL, NULL, NULL, &error), -EINVAL);
	assert_int_equal(assay_samples(NULL, NULL, NULL, &error), -EINVAL);
	assert_int_equal(assay_export(NULL, NULL, "csv", "x", &error), -EINVAL);
	assert_int_equal(assay_query_filter(NULL, "comm:x", &error), -EINVAL);
	assert_int_equal(assay_query_by(query, NULL, &error), -EINVAL);
	assert_int_equal(assay_query_frames(query, NULL, &error), -EINVAL);
	assert_int_equal(assay_query_frames(NULL, "native", &error), -EINVAL);
	assert_int_equal(assay_config_set(NULL, "itrace", "i", &error), -EINVAL);
	assert_null(assay_symbolise(NULL, "/bin/true", NULL, 0, NULL));
	assert_int_equal(assay_rows_count(NULL), 0);
	assert_null(assay_row_text(NULL, 0, "symbol"));
	assert_int_equal(assay_row_samples(NULL, 0, 0), 0);
	assert_int_equal(assay_session_samples(NULL), 0);
	assert_null(assay_session_text(NULL, "command"));
	assert_null(assay_loss_name(SIZE_MAX));
	assay_rows_free(NULL);
	assay_close(NULL);
	assay_config_free(NULL);
	assay_query_free(query);
	assay_query_free(NULL);
}

static void what_is_not_there_is_listed(void **state)
{
	struct assay_config *config = assay_config_new();
	struct assay_query *query = assay_query_new();
	struct assay_error error = { 0 };

	(void)state;
	assert_int_equal(assay_config_set(config, "colour", "1", &error), -EINVAL);
	for (size_t i = 0; assay_config_name(i); i++)
		assert_non_null(strstr(error.text, assay_config_name(i)));
	assert_int_equal(assay_query_by(query, "colour", &error), -EINVAL);
	for (size_t i = 0; assay_key_name(i); i++)
		assert_non_null(strstr(error.text, assay_key_name(i)));
	assert_int_equal(assay_query_filter(query, "colour:red", &error), -EINVAL);
	assert_int_equal(assay_query_frames(query, "red", &error), -EINVAL);
	assert_int_equal(assay_query_frames(query, "language", &error), 0);
	assay_config_free(config);
	assay_query_free(query);
}

/* ---- rows ---- */

static void rows_add_up_and_outlive_the_session(void **state)
{
	struct assay_session *session = NULL;
	struct assay_rows *rows = NULL;
	struct assay_query *query = assay_query_new();
	struct assay_error error = { 0 };
	uint64_t sum = 0;

	(void)state;
	write_file("app.folded", "main;work;deep 5\nmain;work 3\nmain 2\n");
	assert_int_equal(assay_open("app.folded", NULL, &session, &error), 0);
	assert_int_equal(assay_session_samples(session), 10);
	assert_int_equal(assay_query_by(query, "symbol", &error), 0);
	assert_int_equal(assay_rows(session, query, &rows, &error), 0);
	assay_close(session);
	assay_query_free(query);
	assert_int_equal(assay_rows_count(rows), 3);
	assert_int_equal(assay_rows_columns(rows), 1);
	assert_int_equal(assay_rows_total_samples(rows, 0), 10);
	assert_int_equal(assay_rows_total_samples(rows, 1), 0);
	for (size_t i = 0; i < 3; i++)
		sum += assay_row_samples(rows, i, 0);
	assert_int_equal(sum, 10);
	assert_string_equal(assay_row_text(rows, 0, "symbol"), "deep");
	assert_string_equal(assay_row_text(rows, 0, "comm"), "");
	assert_null(assay_row_text(rows, 0, "colour"));
	assert_null(assay_row_text(rows, 3, "symbol"));
	assert_string_equal(assay_row_text(rows, 2, "symbol"), "main");
	assert_int_equal(assay_row_total_samples(rows, 2, 0), 10);
	assay_rows_free(rows);
}

static void a_tree_has_parents_before_children(void **state)
{
	struct assay_session *session = NULL;
	struct assay_rows *rows = NULL;

	(void)state;
	write_file("app.folded", "main;work;deep 5\nmain;work 3\nmain 2\n");
	assert_int_equal(assay_open("app.folded", NULL, &session, NULL), 0);
	assert_int_equal(assay_tree(session, NULL, &rows, NULL), 0);
	assert_int_equal(assay_rows_count(rows), 3);
	assert_int_equal(assay_row_parent(rows, 0), SIZE_MAX);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(assay_row_parent(rows, i), i - 1);
		assert_int_equal(assay_row_depth(rows, i), i);
	}
	assert_int_equal(assay_row_total_samples(rows, 0, 0), 10);
	assert_int_equal(assay_row_samples(rows, 1, 0), 3);
	assay_rows_free(rows);
	assay_close(session);
}

static int count_and_stop(void *context, const struct assay_sample *sample)
{
	size_t *n = context;

	assert_int_equal(sample->size, sizeof(*sample));
	assert_true(sample->n_frames > 0);
	assert_string_equal(sample->frames[sample->n_frames - 1].symbol, "main");
	return ++*n == 2 ? 7 : 0;
}

static void reading_samples_ends_when_the_caller_says_so(void **state)
{
	struct assay_session *session = NULL;
	size_t n = 0;

	(void)state;
	write_file("app.folded", "main;work;deep 5\nmain;work 3\nmain 2\n");
	assert_int_equal(assay_open("app.folded", NULL, &session, NULL), 0);
	assert_int_equal(assay_samples(session, count_and_stop, &n, NULL), 7);
	assert_int_equal(n, 2);
	assay_close(session);
}

static void no_handler_is_installed(void **state)
{
	static const int signals[] = { SIGBUS, SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGUSR1 };
	struct sigaction before[ARRAY_SIZE(signals)], after;
	struct assay_session *session = NULL;

	(void)state;
	write_file("app.folded", "main 2\n");
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], NULL, &before[i]);
	assert_int_equal(assay_open("app.folded", NULL, &session, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &after);
		assert_true(before[i].sa_handler == after.sa_handler);
	}
	assay_close(session);
}

/* ---- hostile files ---- */

static int take_any(void *context, const struct assay_sample *sample)
{
	uint64_t *sum = context;

	for (size_t i = 0; i < sample->n_frames; i++)
		*sum += strlen(sample->frames[i].image) + sample->frames[i].image_offset;
	return 0;
}

static void read_rows(struct assay_rows *rows)
{
	for (size_t i = 0; i < assay_rows_count(rows); i++)
		for (size_t key = 0; assay_key_name(key); key++)
			assert_non_null(assay_row_text(rows, i, assay_key_name(key)));
	assay_rows_free(rows);
}

static void use_session(struct assay_session *session)
{
	static int (*const views[])(struct assay_session *, const struct assay_query *,
				    struct assay_rows **,
				    struct assay_error *) = { assay_rows, assay_tree,
							      assay_inverted_tree };
	struct assay_error error;
	struct assay_rows *rows;
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (views[i](session, NULL, &rows, &error) == 0)
			read_rows(rows);
	assay_samples(session, take_any, &sum, &error);
	for (size_t i = 0; i < assay_session_warnings(session); i++)
		assert_non_null(assay_session_warning(session, i));
	assay_export(session, NULL, "folded", "out.folded", &error);
	assay_export(session, NULL, "json", "out.json", &error);
}

static void use_path(const char *path)
{
	struct assay_session *session = NULL, *names = NULL;
	struct assay_error error = { 0 };

	is_inside = true;
	if (assay_open(path, NULL, &session, &error) == 0)
		use_session(session);
	else
		assert_true(error.code < 0 && *error.text);
	if (assay_open("names.folded", NULL, &names, &error) == 0)
		for (uint64_t offset = 0; offset < 0x2000; offset += 0x400)
			assay_symbolise(names, path, NULL, offset, NULL);
	assay_close(names);
	assay_close(session);
	is_inside = false;
}

/* As a recording, as a file of code, and as the file of a session. */
static void use_file(const char *path)
{
	cleanup(free_at_exit) char *bytes = NULL;
	size_t size;

	assert_int_equal(file_read_all(path, 64 << 20, &bytes, &size), 0);
	file_remove_tree("damaged.assay", NULL);
	assert_int_equal(file_mkdirs("damaged.assay/samples/current", 0700, NULL), 0);
	assert_int_equal(file_replace("input", bytes, size, NULL), 0);
	assert_int_equal(file_replace("damaged.assay/samples/current/0001.segment", bytes, size,
				      NULL),
			 0);
	use_path("input");
	use_path("damaged.assay");
}

static unsigned int use_corpus(const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *entry;
	unsigned int n = 0;

	while (d && (entry = readdir(d))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", folder, entry->d_name);

		if (entry->d_name[0] == '.')
			continue;
		if (entry->d_type == DT_DIR) {
			n += use_corpus(path);
		} else {
			use_file(path);
			n++;
		}
	}
	if (d)
		closedir(d);
	return n;
}

static void no_file_makes_it_print_exit_or_abort(void **state)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), printed;
	struct stat st;
	unsigned int n;

	(void)state;
	write_file("names.folded", "main 1\n");
	atexit(must_not_exit);
	fflush(NULL);
	printed = open("printed", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(printed, STDOUT_FILENO);
	dup2(printed, STDERR_FILENO);
	n = use_corpus(CORPORA);
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	assert_int_equal(fstat(printed, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_true(n > 100);
	close(printed);
	close(out);
	close(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_an_error_and_no_crash),
		cmocka_unit_test(what_is_not_there_is_listed),
		cmocka_unit_test(rows_add_up_and_outlive_the_session),
		cmocka_unit_test(a_tree_has_parents_before_children),
		cmocka_unit_test(reading_samples_ends_when_the_caller_says_so),
		cmocka_unit_test(no_handler_is_installed),
		cmocka_unit_test(no_file_makes_it_print_exit_or_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
