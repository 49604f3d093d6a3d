/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile specifications against slow, obvious references: the samples that they select, and the
 * columns.
 */
#include "sessions.h"

#include "profile/merge.h"
#include "store/native.h"

static bool takes_program(const struct fake_sample *s)
{
	return s->pid && s->app == 0;
}

static bool takes_code(const struct fake_sample *s)
{
	return s->pid && s->frames[0].image == 1;
}

static bool takes_code_of_program(const struct fake_sample *s)
{
	return s->pid && s->app == 1 && s->frames[0].image == 0;
}

static bool takes_nobody(const struct fake_sample *s)
{
	(void)s;
	return false;
}

static bool takes_other_programs(const struct fake_sample *s)
{
	return s->pid && s->app == 1 && s->frames[0].image != 1;
}

static bool takes_other_code(const struct fake_sample *s)
{
	char name[40];

	fake_name(s, 0, name);
	return s->pid && strcmp(name, "alpha:alpha_f1") != 0;
}

static bool takes_count(const struct fake_sample *s)
{
	return s->pid && s->counter == 1;
}

static bool takes_process(const struct fake_sample *s)
{
	return s->pid == 2;
}

static bool takes_all(const struct fake_sample *s)
{
	return s->pid != 0;
}

static uint64_t count(const struct fake *f, bool (*takes)(const struct fake_sample *s))
{
	uint64_t n = 0;

	vec_foreach (&f->samples, s)
		n += takes(s) ? s->samples : 0;
	return n;
}

static void add_operands(struct query *q, const char *const *operands)
{
	for (size_t i = 0; operands[i]; i++)
		assert_int_equal(query_add(q, operands[i], NULL), 0);
	assert_int_equal(query_check(q, NULL), 0);
}

static struct profile *load(const struct fake *f, const struct query *q, uint32_t merge)
{
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = q,
					   .with_functions = true,
					   .columns = merge_columns(merge),
					   .merge_masks = merge & MERGE_UNITMASK };

	return profile_load(&request);
}

static void specifications_mean_the_same_as_in_oprofile(void **state)
{
	static const struct {
		const char *operands[4];
		bool (*takes)(const struct fake_sample *s);
	} cases[] = {
		{ { "image:make" }, takes_program },
		{ { "image:/usr/bin/*" }, takes_program },
		{ { "image:beta" }, takes_code },
		{ { "lib-image:beta" }, takes_code },
		{ { "image:cc1", "lib-image:al*" }, takes_code_of_program },
		{ { "image:beta", "lib-image:alpha" }, takes_nobody },
		{ { "image-exclude:make,beta" }, takes_other_programs },
		{ { "symbol-exclude:alpha_f1" }, takes_other_code },
		{ { "count:100" }, takes_count },
		{ { "count:0x64", "unit-mask:0" }, takes_count },
		{ { "unit-mask:1" }, takes_nobody },
		{ { "tgid:2" }, takes_process },
		{ { "tgid:all", "cpu:0,all" }, takes_all },
		{ { "session:current", "archive:x" }, takes_all }, /* not the profile's */
	};

	(void)state;
	for (uint32_t seed = 0; seed < 4; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct query q = { 0 };
			struct profile *p;

			add_operands(&q, cases[i].operands);
			p = load(&f, &q, MERGE_ALL);
			assert_int_equal(p->n_selected, count(&f, cases[i].takes));
			profile_free(p);
			query_fini(&q);
		}
		fake_fini(&f);
	}
}

static void contradictions_and_repetitions_are_refused(void **state)
{
	static const struct {
		const char *operands[3], *says;
	} cases[] = {
		{ { "image:a", "image:b" },
		  "'image:b': image: is given already; write its values with commas: image:a,…" },
		{ { "pid:1", "tgid:1" },
		  "'tgid:1': pid: is given already, which is the same filter" },
		{ { "a", "a" }, "a is given twice" },
		{ { "cpu:0,1,0" }, "cpu:0 is given twice" },
		{ { "archive:a,b" }, "archive: one archive, please: a or b" },
		{ { "image:/usr/bin/git", "image-exclude:git" },
		  "image:/usr/bin/git and image-exclude: contradict each other: nothing is left" },
		{ { "git", "image-exclude:*" }, "git and image-exclude: contradict" },
		{ { "symbol:f*", "symbol-exclude:f*" },
		  "symbol:f* and symbol-exclude: contradict" },
		{ { "session:a,b", "session-exclude:b,a" },
		  "session:a and session-exclude: contradict" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct query q = { 0 };
		int r = 0;

		for (size_t k = 0; cases[i].operands[k] && !r; k++)
			r = query_add(&q, cases[i].operands[k], &err);
		r = r ? r : query_check(&q, &err);
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
		query_fini(&q);
	}
}

static void what_is_not_all_excluded_is_no_contradiction(void **state)
{
	static const char *const cases[][3] = {
		{ "image:a*", "image-exclude:ab" },
		{ "image:a,b", "image-exclude:a" },
		{ "session:a,b", "session-exclude:b" },
		{ "git", "perl" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query q = { 0 };

		add_operands(&q, cases[i]);
		query_fini(&q);
	}
}

static void an_empty_result_tells_counts_and_masks(void **state)
{
	struct fake f;
	struct query q = { 0 };
	struct error err = { 0 };
	struct profile_request request = { .query = &q };

	(void)state;
	fake_init(&f, 2);
	request.session = &f.joined;
	assert_int_equal(query_add(&q, "count:7", NULL), 0);
	assert_int_equal(profile_explain_empty(&request, &err), -ENOENT);
	assert_string_equal(err.text,
			    "no sample matches count:7; there are: 0 (cycles), 100 (faults:u)");
	query_fini(&q);
	fake_fini(&f);
}

/* The samples of a lane, by looking at each. */
static uint64_t lane_reference(const struct fake *f, const struct profile *p,
			       const struct profile_lane *lane)
{
	uint64_t n = 0;

	vec_foreach (&f->samples, s) {
		bool is_it = s->pid && s->counter == lane->counter;

		if (lane->cpu != NO_INDEX)
			is_it = is_it && s->cpu == lane->cpu;
		if (lane->process != NO_INDEX)
			is_it = is_it && s->pid == p->processes.data[lane->process].pid;
		if (lane->thread != NO_INDEX)
			is_it = is_it && s->pid == p->threads.data[lane->thread].pid &&
				s->tid == p->threads.data[lane->thread].tid;
		n += is_it ? s->samples : 0;
	}
	return n;
}

static void classes_are_columns_in_order_and_add_up(void **state)
{
	static const uint32_t merges[] = { 0,         MERGE_CPU,
					   MERGE_TID, MERGE_TGID | MERGE_TID,
					   MERGE_ALL, MERGE_CPU | MERGE_TID };

	(void)state;
	for (uint32_t seed = 0; seed < 4; seed++) {
		const struct query q = { 0 };
		struct fake f;

		fake_init(&f, seed);
		for (size_t i = 0; i < ARRAY_SIZE(merges); i++) {
			struct profile *p = load(&f, &q, merges[i]);
			uint64_t sum = 0;

			for (uint32_t l = 0; l < p->n_lanes; l++) {
				const struct profile_lane *lane = &p->lanes[l];

				sum += lane->total.samples;
				assert_int_equal(lane->total.samples, lane_reference(&f, p, lane));
				if (merges[i] != MERGE_ALL)
					assert_true(lane->total.samples > 0);
				if (l && lane->cpu != NO_INDEX)
					assert_true(lane->cpu >= lane[-1].cpu);
			}
			assert_int_equal(sum, count(&f, takes_all));
			assert_int_equal(sum, p->n_selected);
			profile_free(p);
		}
		fake_fini(&f);
	}
}

static void too_many_classes_are_refused_and_counted(void **state)
{
	enum { N = PROFILE_MAX_LANES + 1 };
	const struct session_end end = { .end_ns = 107 * SECOND, .exit_status = -1 };
	const struct symbolizer_config config = { .cache_dir = "" };
	const struct query q = { 0 };
	struct fake f = { .dir = "profile-XXXXXX" };
	struct error err = { 0 };
	struct profile_request request = { .query = &q, .columns = merge_columns(MERGE_TGID) };
	struct fake_writer w;
	struct profile *p;
	uint64_t n_unwritten;
	char path[96];

	(void)state;
	assert_non_null(mkdtemp(f.dir));
	f.symbols = symbolizer_new(&config);
	fake_tables(&w);
	snprintf(path, sizeof(path), "%s/0", f.dir);
	assert_int_equal(native_store.open(path, &fake_info, w.images, &w.strings, &w.store, NULL),
			 0);
	for (uint32_t i = 0; i < N; i++)
		fake_write_sample(&w, &(struct fake_sample){ .cpu = i,
							     .pid = 1,
							     .samples = 1,
							     .frames = { { 0, FIRST_CODE } },
							     .n_frames = 1 });
	assert_int_equal(native_store.close(w.store, &end, &n_unwritten, NULL), 0);
	assert_int_equal(session_open(path, &f.parts[f.n_parts++], NULL), 0);
	request.session = f.parts[0];
	p = profile_load(&request);
	assert_int_equal(p->n_lanes_refused, N);
	assert_int_equal(p->n_selected, 0);
	assert_int_equal(profile_explain_empty(&request, &err), -E2BIG);
	assert_non_null(strstr(err.text, "513 classes would be as many groups of columns"));
	profile_free(p);
	request.columns = merge_columns(MERGE_ALL);
	p = profile_load(&request);
	assert_int_equal(p->n_selected, N);
	profile_free(p);
	image_table_free(w.images);
	strings_fini(&w.strings);
	fake_fini(&f);
}

static void merge_words(void **state)
{
	struct error err = { 0 };
	uint32_t merge = 0;

	(void)state;
	assert_int_equal(merge_parse("tgid", &merge, NULL), 0);
	assert_int_equal(merge, MERGE_TGID | MERGE_TID);
	assert_int_equal(merge_parse("none,library,cpu", &merge, NULL), 0);
	assert_int_equal(merge, MERGE_TGID | MERGE_TID | MERGE_LIB | MERGE_CPU);
	assert_int_equal(merge_parse("all", &merge, NULL), 0);
	assert_int_equal(merge, MERGE_ALL);
	assert_int_equal(merge_parse("cpu,event", &merge, &err), -EINVAL);
	assert_string_equal(err.text,
			    "'event' is not one of cpu, lib, tid, tgid, unitmask, all, none");
	assert_int_equal(merge_parse("", &merge, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specifications_mean_the_same_as_in_oprofile),
		cmocka_unit_test(contradictions_and_repetitions_are_refused),
		cmocka_unit_test(what_is_not_all_excluded_is_no_contradiction),
		cmocka_unit_test(an_empty_result_tells_counts_and_masks),
		cmocka_unit_test(classes_are_columns_in_order_and_add_up),
		cmocka_unit_test(too_many_classes_are_refused_and_counted),
		cmocka_unit_test(merge_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
