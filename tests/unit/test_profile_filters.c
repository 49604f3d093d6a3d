/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filters and keys of a profile. */
#include "profile_tally.h"

static bool has_symbol(const struct fake_sample *s, const char *name, uint32_t n_frames)
{
	for (uint32_t i = 0; i < n_frames; i++) {
		char have[40];

		fake_name(s, i, have);
		if (!strcmp(strchr(have, ':') + 1, name))
			return true;
	}
	return false;
}

static bool takes_all(const struct fake_sample *s)
{
	return s->pid != 0;
}

static bool takes_comms(const struct fake_sample *s)
{
	return s->pid && (s->comm == 1 || s->comm == 2);
}

static bool takes_ids(const struct fake_sample *s)
{
	return (s->pid == 1 || s->pid == 2) && s->tid % 10 == 1 && s->cpu < 2;
}

static bool takes_times(const struct fake_sample *s)
{
	return s->pid && (s->second == 0 || s->second >= 2);
}

static bool takes_symbols(const struct fake_sample *s)
{
	return s->pid && (has_symbol(s, "alpha_f1", 1) || has_symbol(s, "beta_f1", 1));
}

static bool takes_callers(const struct fake_sample *s)
{
	return s->pid && has_symbol(s, "bpf_prog_f2", s->n_frames);
}

static bool takes_image_of_app(const struct fake_sample *s)
{
	return s->pid && s->app == 1 && s->frames[0].image == 0 && s->counter == 1;
}

static bool takes_binary(const struct fake_sample *s)
{
	return s->pid && (s->app == 0 || s->frames[0].image == 1);
}

static void filters_take_matching_samples(void **state)
{
	static const struct {
		const char *operands[4];
		bool (*takes)(const struct fake_sample *s);
	} cases[] = {
		{ { NULL }, takes_all },
		{ { "comm:cc*,a\\,b" }, takes_comms },
		{ { "pid:1-2", "tid:11,21", "cpu:0,1" }, takes_ids },
		{ { "time:0-1s,2-" }, takes_times },
		{ { "symbol:*a_f1" }, takes_symbols },
		{ { "via:bpf_prog_f2" }, takes_callers },
		{ { "image:alpha", "app:cc1", "event:faults:u" }, takes_image_of_app },
		{ { "make", "beta" }, takes_binary },
		{ { "comm=~\"cc.*|a,b\"" }, takes_comms },
		{ { "pid:1-2", "tid:11,21", "cpu!=\"2\", cpu!=\"3\"" }, takes_ids },
		{ { "symbol=~\".*a_f1\"" }, takes_symbols },
		{ { "via=\"bpf_prog_f2\"" }, takes_callers },
	};

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			uint64_t want = 0, idle = 0, all = 0;
			struct query q = { 0 };
			struct profile *p;

			for (size_t k = 0; cases[i].operands[k]; k++)
				assert_int_equal(query_add(&q, cases[i].operands[k], NULL), 0);
			vec_foreach (&f.samples, s) {
				all += s->samples;
				want += cases[i].takes(s) ? s->samples : 0;
				idle += s->pid ? 0 : s->samples;
			}
			p = load(&f, &q, NULL);
			assert_int_equal(p->n_selected, want);
			assert_int_equal(p->n_stored, all);
			assert_int_equal(p->n_selected + p->n_idle + p->n_filtered, all);
			if (i == 0) {
				assert_int_equal(p->n_idle, idle);
				assert_int_equal(p->losses[LOSS_RING_FULL], f.lost);
			}
			profile_free(p);
			query_fini(&q);
		}
		fake_fini(&f);
	}
}

static void an_empty_result_names_the_filter_and_the_values(void **state)
{
	static const struct {
		const char *operands[3], *says;
	} cases[] = {
		{ { "comm:nobody" }, "no sample matches comm:nobody; there are: " },
		{ { "cpu:7" }, "no sample matches cpu:7; there are: " },
		{ { "symbol:main" }, "_f" },
		{ { "time:1000-" }, "there are: 0 to " },
		{ { "comm:make", "event:branches" },
		  "no sample matches event:branches; there are: " },
		{ { "nothing" }, "no sample matches nothing; there are: " },
		{ { "pid:0" }, "--idle shows them" },
	};
	struct fake f;

	(void)state;
	fake_init(&f, 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query q = { 0 };
		struct profile_request request = { .session = &f.joined,
						   .symbols = f.symbols,
						   .query = &q,
						   .with_functions = true };
		struct error err = { 0 };

		for (size_t k = 0; cases[i].operands[k]; k++)
			assert_int_equal(query_add(&q, cases[i].operands[k], NULL), 0);
		assert_int_equal(profile_explain_empty(&request, &err), -ENOENT);
		assert_non_null(strstr(err.text, cases[i].says));
		query_fini(&q);
	}
	fake_fini(&f);
}

static void bad_filters_are_refused_with_the_allowed_ones(void **state)
{
	static const struct {
		const char *operand, *says;
	} cases[] = {
		{ "sym:main",
		  "no filter 'sym:'; there are image: lib-image: image-exclude: symbol:" },
		{ "pid:abc", "pid: 'abc' is not a number or a range" },
		{ "pid:5-2", "pid: '5-2' is not a number" },
		{ "pid:-1", "pid: '-1' is not a number" },
		{ "cpu:99999999999999999999", "is not a number" },
		{ "time:5-2", "time: '5-2' is not a time range" },
		{ "time:2-2", "is not a time range" },
		{ "time:2x-", "is not a time range" },
		{ "time:-", "is not a time range" },
		{ "comm:", "comm: an empty value" },
		{ "comm:a,,b", "an empty value" },
		{ "", "an empty filter" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct query q = { 0 };

		assert_int_equal(query_add(&q, cases[i].operand, &err), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
		query_fini(&q);
	}
}

static void a_path_or_a_qualified_name_is_no_tag(void **state)
{
	static const char *const operands[] = { "/tmp/a:b", "std::sort", "A:b", "./x:1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(operands); i++) {
		struct query q = { 0 };

		assert_int_equal(query_add(&q, operands[i], NULL), 0);
		assert_true(query_takes_name(&q, FILTER_BINARY, operands[i]));
		assert_false(query_takes_name(&q, FILTER_BINARY, "other"));
		query_fini(&q);
	}
}

static void names_match_without_brackets_folders_and_parameters(void **state)
{
	struct query q = { 0 };

	(void)state;
	assert_int_equal(query_add(&q, "image:kernel,libc.so.6,/opt/*", NULL), 0);
	assert_int_equal(query_add(&q, "symbol:f,operator[]", NULL), 0);
	assert_true(query_takes_path(&q, FILTER_IMAGE, "[kernel]"));
	assert_true(query_takes_path(&q, FILTER_IMAGE, "/usr/lib/libc.so.6"));
	assert_true(query_takes_path(&q, FILTER_IMAGE, "/opt/a/b"));
	assert_false(query_takes_path(&q, FILTER_IMAGE, "/usr/lib/libm.so.6"));
	assert_true(query_takes_function(&q, FILTER_SYMBOL, "f(int, char const*)"));
	assert_true(query_takes_function(&q, FILTER_SYMBOL, "operator[](int)"));
	assert_false(query_takes_function(&q, FILTER_SYMBOL, "ff(int)"));
	query_fini(&q);
}

static void matchers_compare_values_and_all_must_match(void **state)
{
	static const struct {
		const char *operand;
		enum filter_tag tag;
		const char *name;
		bool wanted;
	} rows[] = {
		{ "comm=\"make\"", FILTER_COMM, "make", true },
		{ "comm=\"make\"", FILTER_COMM, "cmake", false },
		{ "comm=\"m*\"", FILTER_COMM, "make", false },
		{ "comm!=\"make\"", FILTER_COMM, "make", false },
		{ "comm!=\"make\"", FILTER_COMM, "cc1", true },
		{ "comm=~\"m.*|cc1\"", FILTER_COMM, "cc1", true },
		{ "comm!~\"m.*|cc1\"", FILTER_COMM, "cc1", false },
		{ "{comm=~\".*a.*\", comm!=\"make\"}", FILTER_COMM, "make", false },
		{ "{comm=~\".*a.*\", comm!=\"make\"}", FILTER_COMM, "cmake", true },
		{ "comm=\"a\\\"b,c\"", FILTER_COMM, "a\"b,c", true },
		{ "image=\"libc.so.6\"", FILTER_LIB_IMAGE, "/usr/lib/libc.so.6", true },
		{ "image!=\"libc.so.6\"", FILTER_LIB_IMAGE, "/usr/lib/libc.so.6", false },
		{ "image!=\"/usr/lib/libc.so.6\"", FILTER_LIB_IMAGE, "/usr/lib/libc.so.6", false },
		{ "data_symbol=\"x\"", FILTER_DATA_SYMBOL, "x", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct query q = { 0 };
		struct error err = { 0 };

		if (query_add(&q, rows[i].operand, &err) < 0)
			fail_msg("%s: %s", rows[i].operand, err.text);
		assert_true(query_has(&q, rows[i].tag));
		if (query_takes_path(&q, rows[i].tag, rows[i].name) != rows[i].wanted)
			fail_msg("%s: %s", rows[i].operand, rows[i].name);
		query_fini(&q);
	}
}

static void matchers_of_numbers_and_filters_go_together(void **state)
{
	struct query q = { 0 };

	(void)state;
	assert_int_equal(query_add(&q, "pid:1-5", NULL), 0);
	assert_int_equal(query_add(&q, "process!=\"3\"", NULL), 0);
	assert_true(query_takes_number(&q, FILTER_PID, 2));
	assert_false(query_takes_number(&q, FILTER_PID, 3));
	assert_false(query_takes_number(&q, FILTER_PID, 6));
	assert_int_equal(query_add(&q, "pid=\"2\"", NULL), 0);
	assert_true(query_takes_number(&q, FILTER_PID, 2));
	assert_false(query_takes_number(&q, FILTER_PID, 4));
	query_fini(&q);
}

static void wrong_matchers_are_refused(void **state)
{
	static const char *const rows[] = {
		"comm=\"x",
		"comm=\"x\" y",
		"nobody=\"x\"",
		"image-exclude=\"x\"",
		"comm=~\"(\"",
		"pid=\"x\"",
		"pid=~\"1\"",
		"time=\"1\"",
		"comm=\"x\",thread:1",
		"via!=\"x\"",
		"session=\"x\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct query q = { 0 };
		struct error err = { 0 };

		if (query_add(&q, rows[i], &err) != -EINVAL || !err.text[0])
			fail_msg("%s", rows[i]);
		query_fini(&q);
	}
}

static void a_check_follows_no_link(void **state)
{
	char dir[] = "/tmp/assay-filters-XXXXXX", link[64], operand[80];
	struct query q = { 0 }, check = { .is_check = true };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(operand, sizeof(operand), "app:%s", link);
	assert_int_equal(symlink("/bin/sh", link), 0);
	assert_int_equal(query_add(&q, operand, NULL), 0);
	assert_int_equal(query_add(&check, operand, NULL), 0);
	assert_int_equal(q.filters[FILTER_APP].n, 2);
	assert_int_equal(check.filters[FILTER_APP].n, 1);
	query_fini(&q);
	query_fini(&check);
	unlink(link);
	rmdir(dir);
}

static void parameters_end_a_function_name(void **state)
{
	static const struct {
		const char *name, *base;
	} cases[] = {
		{ "main", "main" },
		{ "f(int)", "f" },
		{ "a::f(g(int)) const", "a::f" },
		{ "A::operator()(int) const", "A::operator()" },
		{ "A::operator()", "A::operator()" },
		{ "(anonymous namespace)::f", "(anonymous namespace)::f" },
		{ "(anonymous namespace)::f()", "(anonymous namespace)::f" },
		{ "f(int) [clone .cold]", "f" },
		{ "std::function<void (int)>", "std::function<void (int)>" },
		{ ")", ")" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(function_base_len(cases[i].name), strlen(cases[i].base));
}

static void an_unknown_key_is_refused_with_the_known_ones(void **state)
{
	struct key_list keys = { .n = 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(key_list_parse(&keys, "process,user", &err), -EINVAL);
	assert_string_equal(
		err.text,
		"'user' is not one of app, process, thread, comm, cpu, cgroup, unit, "
		"container, pod, waker, waker-symbol, waker-stack, reason, owner, device, "
		"mem, tlb, snoop, data-symbol, data-image, trace, span, label, parallelism, "
		"host, service, event, "
		"context, mode, language, image, build, symbol, file, line, address");
	assert_int_equal(key_list_parse(&keys, "", &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_take_matching_samples),
		cmocka_unit_test(an_empty_result_names_the_filter_and_the_values),
		cmocka_unit_test(bad_filters_are_refused_with_the_allowed_ones),
		cmocka_unit_test(a_path_or_a_qualified_name_is_no_tag),
		cmocka_unit_test(names_match_without_brackets_folders_and_parameters),
		cmocka_unit_test(matchers_compare_values_and_all_must_match),
		cmocka_unit_test(matchers_of_numbers_and_filters_go_together),
		cmocka_unit_test(wrong_matchers_are_refused),
		cmocka_unit_test(a_check_follows_no_link),
		cmocka_unit_test(parameters_end_a_function_name),
		cmocka_unit_test(an_unknown_key_is_refused_with_the_known_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
