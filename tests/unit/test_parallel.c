/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parallelism at each sample, and wall time, of threads whose phases are known. */
#include <inttypes.h>

#include "store_world.h"

#include "profile/profile.h"
#include "profile/query.h"
#include "profile/rows.h"
#include "symbol/symbols.h"

#define PERIOD_NS (SECOND / 997)

struct phases {
	struct world w;
	struct code_addr code[3]; /* serial, parallel, of another process */
	uint32_t random;
	VEC(struct sample) samples;
};

static uint32_t phases_random(struct phases *x, uint32_t below)
{
	x->random = x->random * 1664525 + 1013904223;
	return (x->random >> 8) % below;
}

static void phases_init(struct phases *x, bool exact_times, uint32_t seed)
{
	static const char *const names[] = { "serial", "parallel", "other" };
	struct session_info info = test_info;

	*x = (struct phases){ .random = seed };
	world_init(&x->w);
	native_store.close(x->w.store, NULL, &(uint64_t){ 0 }, NULL);
	file_remove_tree(x->w.path, NULL);
	info.exact_times = exact_times;
	assert_int_equal(native_store.open(x->w.path, &info, x->w.images, &x->w.strings,
					   &x->w.store, &x->w.err),
			 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct image image = { .kind = IMAGE_NAMED, .path = "app" };

		x->code[i] = (struct code_addr){ image_intern(x->w.images, &image), 0x1000 * i };
		native_store.name_code(x->w.store,
				       &(struct code_symbol){ x->code[i].image, x->code[i].offset,
							      0x100, names[i], 0 });
	}
}

/* A sample in each period, up to a tenth of it late, from a phase of its own on. */
static void add_thread(struct phases *x, int32_t pid, int32_t tid, uint32_t code, double from_s,
		       double to_s)
{
	uint64_t start = 100 * SECOND + (uint64_t)(from_s * 1e9) + phases_random(x, PERIOD_NS);

	for (uint64_t t = start; t < 100 * SECOND + (uint64_t)(to_s * 1e9); t += PERIOD_NS) {
		struct sample sample = {
			.class = { .counter = 0,
				   .app = x->w.bin,
				   .pid = pid,
				   .tid = tid,
				   .comm = x->w.comm },
			.time_ns = t + phases_random(x, PERIOD_NS / 10),
			.is_timed = true,
			.frames = &x->code[code],
			.n_frames = 1,
			.samples = 1,
			.period = PERIOD_NS,
		};

		vec_push(&x->samples, sample);
	}
}

static int compare_times(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* A recorder adds samples in the order of time. */
static struct session *phases_close(struct phases *x)
{
	const struct session_end end = { .end_ns = 110 * SECOND };
	struct session *s;
	uint64_t n_unwritten;

	if (x->samples.n)
		qsort(x->samples.data, x->samples.n, sizeof(*x->samples.data), compare_times);
	vec_foreach (&x->samples, sample)
		assert_int_equal(native_store.add(x->w.store, sample, &x->w.err), 0);
	vec_fini(&x->samples);
	assert_int_equal(native_store.close(x->w.store, &end, &n_unwritten, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, &s, &x->w.err), 0);
	return s;
}

struct answer {
	double serial_s, parallel_s, other_s;
	uint64_t by_parallelism[8], samples;
	bool lacks_times;
};

static struct answer ask(struct session *s, const char *filter, bool wall)
{
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ 0 });
	struct query q = { 0 };
	struct profile_request request = { .session = s,
					   .symbols = symbols,
					   .query = &q,
					   .with_functions = true,
					   .wall_weight = wall };
	struct answer a = { 0 };
	struct rows rows = { 0 };
	struct profile *p;

	assert_int_equal(key_list_parse(&request.keys, "parallelism,symbol", NULL), 0);
	if (filter)
		assert_int_equal(query_add(&q, filter, NULL), 0);
	p = profile_load(&request);
	a.lacks_times = p->lacks_times;
	profile_collate(p, &request.keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++) {
		const uint32_t *value = rows.list.data[i].value;
		const struct weight *w = &rows_cells(&rows, i)->self;
		char scratch[KEY_TEXT_SIZE];
		const char *name =
			profile_key_text(p, PROFILE_SYMBOL, value[PROFILE_SYMBOL], scratch);
		double *time = !strcmp(name, "serial")     ? &a.serial_s
			       : !strcmp(name, "parallel") ? &a.parallel_s
							   : &a.other_s;

		*time += (double)w->period / 1e9;
		a.by_parallelism[MIN(value[PROFILE_PARALLELISM], 7u)] += w->samples;
		a.samples += w->samples;
	}
	rows_fini(&rows);
	profile_free(p);
	query_fini(&q);
	symbolizer_free(symbols);
	return a;
}

/* Of n samples, a sum has a deviation of sqrt(n) of them. */
static void assert_near(double seconds, double wanted)
{
	double sigma = 0.001 * 31.6 * 2.5 * (wanted > 1 ? wanted : 1);

	if (seconds < wanted - sigma || seconds > wanted + sigma)
		fail_msg("%.3f s, and not %.3f", seconds, wanted);
}

static void phases_have_their_wall_time_whatever_their_offset(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 20; seed++) {
		struct phases x;
		struct session *s;
		struct answer a;

		phases_init(&x, true, seed);
		add_thread(&x, 7, 7, 0, 0.3, 1.3);
		add_thread(&x, 7, 7, 1, 1.3, 2.3);
		add_thread(&x, 7, 8, 1, 1.3, 2.3);
		s = phases_close(&x);
		a = ask(s, NULL, true);
		assert_near(a.serial_s, 1);
		assert_near(a.parallel_s, 1);
		/* far closer than chance allows, as the samples of a timer are no chance */
		assert_true(a.parallel_s > 0.98 && a.parallel_s < 1.03);
		assert_true(a.by_parallelism[1] > 980 && a.by_parallelism[2] > 1950);
		assert_int_equal(a.by_parallelism[0], 0);
		a = ask(s, NULL, false);
		assert_near(a.parallel_s, 2);
		session_close(s);
		world_fini(&x.w);
	}
}

static void threads_that_the_query_leaves_out_do_not_count(void **state)
{
	struct phases x;
	struct session *s;
	struct answer a;

	(void)state;
	phases_init(&x, true, 1);
	add_thread(&x, 7, 7, 0, 0, 1);
	for (int32_t i = 0; i < 3; i++)
		add_thread(&x, 9, 9 + i, 2, 0, 1);
	s = phases_close(&x);
	a = ask(s, NULL, true);
	assert_near(a.serial_s, 0.25);
	assert_near(a.other_s, 0.75);
	a = ask(s, "pid:7", true);
	assert_near(a.serial_s, 1);
	assert_int_equal(a.by_parallelism[1], a.samples);
	session_close(s);
	world_fini(&x.w);
}

static void a_session_of_whole_seconds_has_no_parallelism(void **state)
{
	struct phases x;
	struct session *s;
	struct answer a;

	(void)state;
	phases_init(&x, false, 1);
	add_thread(&x, 7, 7, 0, 0, 1);
	s = phases_close(&x);
	a = ask(s, NULL, true);
	assert_true(a.lacks_times);
	assert_int_equal(a.by_parallelism[0], a.samples);
	assert_near(a.serial_s, 1);
	session_close(s);
	world_fini(&x.w);
}

/* 3,000 samples at one moment: no more than some of them are looked at. */
static void many_samples_of_one_moment_end(void **state)
{
	struct phases x;
	struct session *s;
	struct answer a;

	(void)state;
	phases_init(&x, true, 1);
	for (int32_t i = 0; i < 3000; i++) {
		struct sample sample = {
			.class = { .app = x.w.bin, .pid = 7, .tid = i, .comm = x.w.comm },
			.time_ns = 100 * SECOND + 5,
			.is_timed = true,
			.frames = &x.code[0],
			.n_frames = 1,
			.samples = 1,
			.period = PERIOD_NS,
		};

		assert_int_equal(native_store.add(x.w.store, &sample, &x.w.err), 0);
	}
	s = phases_close(&x);
	a = ask(s, NULL, true);
	assert_int_equal(a.samples, 3000);
	assert_int_equal(a.by_parallelism[7], 3000);
	session_close(s);
	world_fini(&x.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_have_their_wall_time_whatever_their_offset),
		cmocka_unit_test(threads_that_the_query_leaves_out_do_not_count),
		cmocka_unit_test(a_session_of_whole_seconds_has_no_parallelism),
		cmocka_unit_test(many_samples_of_one_moment_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
