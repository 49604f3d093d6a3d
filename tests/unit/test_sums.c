/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that threads add up: the sums are those of the rows one by one. */
#include "store_world.h"

#include "base/intmap.h"
#include "profile/sums.h"
#include "store/row_reader.h"

#define N_KINDS 5

/* Of a class, which stands for those of the same remainder; one kind is left out. */
static uint32_t kind_of(uint32_t class)
{
	return class % N_KINDS == 3 ? SUMS_NO_CLASS : class % N_KINDS;
}

/* Seconds of `a_second` rows each, alone or in groups, in segments of few nodes. */
static void write_rows(struct world *w, uint32_t n, uint32_t a_second, bool in_groups)
{
	world_init(w);
	if (in_groups)
		assert_int_equal(native_store_group(w->store, NULL), 0);
	native_store_set_limits(w->store, &(struct native_limits){ 300000, 64u << 20 });
	for (uint32_t i = 0; i < n; i++) {
		uint64_t mix = hash_u64(i);

		add(w, 100 * SECOND + i / a_second * SECOND, (uint32_t)(100 + mix % 40), w->lib,
		    0x1000 + (mix >> 32) % 2000);
	}
	close_world(w);
}

/* [node * N_KINDS + kind] */
static uint64_t *rows_one_by_one(const struct segment *s, const uint32_t *classes)
{
	uint64_t *sums = xcalloc((size_t)s->n_nodes * N_KINDS, sizeof(*sums));
	struct count_rows rows = { 0 };

	for (uint32_t b = 0; b < s->n_blocks; b += 2)
		assert_int_equal(segment_read_rows(s, b, &rows, NULL), 0);
	vec_foreach (&rows, row)
		if (classes[row->class] != SUMS_NO_CLASS)
			sums[row->node * N_KINDS + classes[row->class]] +=
				row->samples + row->period;
	vec_fini(&rows);
	return sums;
}

static void check_sums(const struct segment *s, const uint32_t *classes,
		       const struct count_rows *rows)
{
	uint64_t *want = rows_one_by_one(s, classes);

	vec_foreach (rows, row) {
		uint64_t *sum = &want[row->node * N_KINDS + row->class];

		assert_int_equal(*sum, row->samples + row->period);
		*sum = 0; /* there is one row of each */
	}
	for (size_t i = 0; i < (size_t)s->n_nodes * N_KINDS; i++)
		assert_int_equal(want[i], 0);
	free(want);
}

/* Every second block. */
static void check_session(const struct session *s)
{
	struct sums_source *sources = xcalloc(s->n_segments, sizeof(*sources));
	uint32_t **classes = xcalloc(s->n_segments, sizeof(*classes)), *blocks;
	struct count_rows rows = { 0 };
	const uint32_t *damaged;
	struct sums *sums;

	blocks = xcalloc(10000, sizeof(*blocks));
	for (uint32_t i = 0; i < 10000; i++)
		blocks[i] = 2 * i;
	for (uint32_t i = 0; i < s->n_segments; i++) {
		const struct segment *segment = s->segments[i];

		classes[i] = xcalloc(segment->n_classes + 1, sizeof(**classes));
		for (uint32_t c = 0; c < segment->n_classes; c++)
			classes[i][c] = kind_of(c);
		sources[i] = (struct sums_source){ segment, classes[i], blocks,
						   (segment->n_blocks + 1) / 2 };
	}
	sums = sums_start(sources, s->n_segments);
	for (uint32_t i = 0; i < s->n_segments; i++) {
		assert_int_equal(sums_next(sums, &rows, &damaged), 0);
		check_sums(s->segments[i], classes[i], &rows);
	}
	sums_stop(sums);
	vec_fini(&rows);
	for (uint32_t i = 0; i < s->n_segments; i++)
		free(classes[i]);
	free(classes);
	free(blocks);
	free(sources);
}

static void sums_are_those_of_the_rows(void **state)
{
	static const struct {
		uint32_t n, a_second;
		bool in_groups;
	} cases[] = { { 3000, 100, false }, { 300000, 900, false }, { 300000, 100, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct session *s;
		struct world w;

		write_rows(&w, cases[i].n, cases[i].a_second, cases[i].in_groups);
		assert_int_equal(session_open(w.path, &s, NULL), 0);
		check_session(s);
		session_close(s);
		world_fini(&w);
	}
}

/* Threads work ahead of a caller that only wants the first source. */
static void it_may_be_stopped_at_any_source(void **state)
{
	struct session *s;
	struct world w;

	(void)state;
	write_rows(&w, 200000, 900, false);
	assert_int_equal(session_open(w.path, &s, NULL), 0);
	for (uint32_t n = 0; n < 3; n++) {
		uint32_t *classes = xcalloc(1 << 16, sizeof(*classes));
		struct sums_source source = { s->segments[0], classes, &(uint32_t){ 0 }, 1 };
		struct sums_source sources[3] = { source, source, source };
		struct sums *sums = sums_start(sources, 3);
		struct count_rows rows = { 0 };
		const uint32_t *damaged;

		for (uint32_t i = 0; i < n; i++)
			sums_next(sums, &rows, &damaged);
		sums_stop(sums);
		vec_fini(&rows);
		free(classes);
	}
	session_close(s);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_rows),
		cmocka_unit_test(it_may_be_stopped_at_any_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
