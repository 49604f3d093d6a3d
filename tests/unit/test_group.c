/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seconds in groups: reading returns the written samples. */
#include "store_world.h"

#include "base/intmap.h"
#include "store/group.h"
#include "store/native.h"
#include "store/recent.h"
#include "store/row_reader.h"

static void places_lead_back_to_values(void **state)
{
	struct recent writer = { 0 }, reader = { 0 };
	uint32_t random = 1, n_far = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t value, place, got;

		random = random * 1664525 + 1013904223;
		/* Mostly of a few, now and then of more than the list is deep. */
		value = random >> 8 & 1 ? random >> 20 & 7 : (random >> 12) % (3 * RECENT_DEPTH);
		place = recent_place(&writer, value);
		n_far += place == RECENT_NONE;
		if (place == RECENT_NONE) {
			recent_put(&reader, value);
		} else {
			assert_true(recent_at(&reader, place, &got));
			assert_int_equal(got, value);
		}
	}
	assert_true(n_far > RECENT_DEPTH);
	assert_false(recent_at(&reader, RECENT_DEPTH, &n_far));
	recent_fini(&reader);
	assert_false(recent_at(&reader, 0, &n_far));
	recent_fini(&writer);
}

/*
 * Process, thread, name, CPU, cgroup and counter of sample i. Each changes in a different rhythm.
 */
static struct sample sample_of(const struct world *w, uint32_t i, struct code_addr *frame)
{
	static const int32_t pids[] = { 1, -1, 4194304, 77, 78, 79 };
	const string_id names[] = { w->comm, { 0 } };

	*frame = (struct code_addr){ i % 3 ? w->bin : w->lib, 0x1000 + i % 977 * 8 };
	return (struct sample){
		.class = { .counter = i % 5 == 0,
			   .app = i % 7 ? w->bin : w->kernel,
			   .pid = i % 11 ? (int32_t)(1000 + i / 3) : pids[i % ARRAY_SIZE(pids)],
			   .tid = i % 4 ? CLASS_ALL : (int32_t)(2000 - i % 300),
			   .comm = names[i % 13 == 0],
			   .cpu = i % 2 ? (uint32_t)CLASS_ALL : i % 64,
			   .cgroup = names[i % 17 != 0] },
		.time_ns = 100 * SECOND + i * 1000000ULL * 20,
		.frames = frame,
		.n_frames = 1,
		.samples = 1 + i % 3,
		.period = 1003009 * (1 + i % 3) + (i % 19 == 0),
	};
}

static void write_samples(struct world *w, uint32_t n, bool in_groups)
{
	world_init(w);
	if (in_groups)
		assert_int_equal(native_store_group(w->store, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct code_addr frame;
		struct sample sample = sample_of(w, i, &frame);

		assert_int_equal(native_store.add(w->store, &sample, NULL), 0);
	}
	close_world(w);
}

/* Of all that the rows say but events at a rate, in words: the same in any order. */
static uint64_t fingerprint(const struct session *s, uint32_t *n_blocks)
{
	struct count_rows rows = { 0 };
	uint64_t sum = 0;

	*n_blocks = 0;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++, ++*n_blocks) {
			const struct segment *seg = s->segments[i];

			rows.n = 0;
			assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
			vec_foreach (&rows, row) {
				const struct profile_class *c = &seg->classes[row->class];
				const struct tree_node *node = &seg->nodes[row->node];
				cleanup(free_at_exit) char *text =
					xasprintf("%llu %u %s %d %d %s %u %s %s %llx %llu %llu",
						  (unsigned long long)seg->blocks[b].first_ns,
						  c->counter, seg->images[c->app.n].path, c->pid,
						  c->tid, seg->strings[c->comm.n], c->cpu,
						  seg->strings[c->cgroup.n],
						  seg->images[node->code.image.n].path,
						  (unsigned long long)node->code.offset,
						  (unsigned long long)row->samples,
						  (unsigned long long)(c->counter ? row->period
										  : 0));
				uint64_t hash = 1;

				for (const char *at = text; *at; at++)
					hash = hash_u64(hash + (uint8_t)*at);
				sum += hash;
			}
		}
	vec_fini(&rows);
	return sum;
}

/* Of the counter with a rate, and how far a sample of it is from its period at most. */
static uint64_t events_of(const struct segment *seg, uint32_t block, uint64_t *farthest)
{
	struct count_rows rows = { 0 };
	uint64_t sum = 0;

	assert_int_equal(segment_read_rows(seg, block, &rows, NULL), 0);
	vec_foreach (&rows, row) {
		uint64_t period = 1003009 * row->samples;

		if (seg->classes[row->class].counter)
			continue;
		sum += row->period;
		*farthest = MAX(*farthest,
				row->period > period ? row->period - period : period - row->period);
	}
	vec_fini(&rows);
	return sum;
}

static void events_at_a_rate_are_exact_in_a_second(void **state)
{
	struct world plain, grouped;
	struct session *a, *b;
	uint64_t far = 0, farthest = 0;

	(void)state;
	write_samples(&plain, 5000, false);
	write_samples(&grouped, 5000, true);
	assert_int_equal(session_open(plain.path, &a, NULL), 0);
	assert_int_equal(session_open(grouped.path, &b, NULL), 0);
	assert_int_equal(a->n_segments, 1);
	assert_int_equal(a->segments[0]->n_blocks, b->segments[0]->n_blocks);
	for (uint32_t i = 0; i < a->segments[0]->n_blocks; i++)
		assert_int_equal(events_of(a->segments[0], i, &far),
				 events_of(b->segments[0], i, &farthest));
	assert_true(farthest > far);
	assert_true(farthest <= 1003009 / EVENTS_UNITS + far);
	session_close(a);
	session_close(b);
	world_fini(&plain);
	world_fini(&grouped);
}

/* More rows than one group holds, in segments of few, or all in one. */
static void every_class_comes_back(void **state)
{
	const uint32_t n = GROUP_ROWS + 5000;
	struct world plain, grouped;
	struct session *a, *b;
	uint32_t n_a, n_b;

	(void)state;
	write_samples(&plain, n, false);
	write_samples(&grouped, n, true);
	assert_int_equal(session_open(plain.path, &a, NULL), 0);
	assert_int_equal(session_open(grouped.path, &b, NULL), 0);
	assert_int_equal(a->warnings.n + b->warnings.n, 0);
	assert_true(fingerprint(a, &n_a) == fingerprint(b, &n_b));
	assert_int_equal(n_a, n_b);
	assert_true(n_a > GROUP_SECONDS);
	assert_true(b->size_bytes < a->size_bytes);
	session_close(a);
	session_close(b);
	world_fini(&plain);
	world_fini(&grouped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_lead_back_to_values),
		cmocka_unit_test(every_class_comes_back),
		cmocka_unit_test(events_at_a_rate_are_exact_in_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
