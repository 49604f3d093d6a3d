/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exact times of samples: reading returns the written times, whole and cut to windows. */
#include "store_world.h"

#include "store/bits.h"
#include "store/history/history.h"
#include "store/ranks.h"
#include "store/times.h"

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % below;
}

static void numbers_come_back_from_bits(void **state)
{
	struct bits_out out = { 0 };
	struct bits_in in;
	uint64_t size = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		uint64_t v = (uint64_t)i * i << i % 40;

		bits_put_golomb(&out, v, i % 30);
		size += bits_golomb_size(v, i % 30);
		bits_put_below(&out, i % (i / 3 + 1), i / 3 + 1);
		bits_put(&out, v, 64);
	}
	bits_flush(&out);
	in = (struct bits_in){ .bytes = out.bytes.data, .end = out.bytes.len * 8 };
	for (uint32_t i = 0; i < 2000; i++) {
		uint64_t v = (uint64_t)i * i << i % 40, at = in.at;

		assert_int_equal(bits_get_golomb(&in, i % 30), v);
		size -= in.at - at;
		assert_int_equal(bits_get_below(&in, i / 3 + 1), i % (i / 3 + 1));
		assert_int_equal(bits_get(&in, 64), v);
	}
	assert_int_equal(size, 0);
	assert_false(in.bad);
	assert_int_equal(bits_get(&in, 8), 0);
	assert_true(in.bad);
	buf_fini(&out.bytes);
}

static void ranks_agree_with_counting(void **state)
{
	bool is_member[300];
	struct ranks r;

	(void)state;
	ranks_init(&r, ARRAY_SIZE(is_member));
	memset(is_member, true, sizeof(is_member));
	while (r.n_members) {
		uint32_t rank = 0, gone = ranks_at(&r, next_random(r.n_members));

		for (uint32_t i = 0; i < ARRAY_SIZE(is_member); i++) {
			if (!is_member[i])
				continue;
			assert_int_equal(ranks_at(&r, rank), i);
			assert_int_equal(ranks_of(&r, i), rank++);
		}
		assert_int_equal(rank, r.n_members);
		ranks_remove(&r, gone);
		is_member[gone] = false;
	}
	ranks_fini(&r);
}

/* ---- sessions ---- */

/* A world whose store keeps times. */
static void timed_world_init(struct world *w)
{
	struct session_info info = test_info;

	world_init(w);
	native_store.close(w->store, NULL, &(uint64_t){ 0 }, NULL);
	file_remove_tree(w->path, NULL);
	info.exact_times = true;
	assert_int_equal(native_store.open(w->path, &info, w->images, &w->strings, &w->store,
					   &w->err),
			 0);
}

/* Every sample is at another place, so a node tells which sample it is. */
static void add_timed(struct world *w, uint64_t time_ns, uint32_t cpu, uint32_t counter,
		      uint64_t offset, uint64_t n, uint64_t period)
{
	struct code_addr frame = { w->bin, offset };
	struct sample sample = {
		.class = { .counter = counter, .app = w->bin, .pid = 7, .tid = 7, .cpu = cpu },
		.time_ns = time_ns,
		.is_timed = true,
		.frames = &frame,
		.n_frames = 1,
		.samples = n,
		.period = period,
	};

	assert_int_equal(native_store.add(w->store, &sample, &w->err), 0);
	w->samples += n;
	w->period += period;
}

static int by_offset(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

/* All timed samples of a session; `row` is the offset of their place. */
static struct sample_times read_all(const struct session *s)
{
	struct sample_times all = { 0 }, times = { 0 };
	struct count_rows rows = { 0 };

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct segment *seg = s->segments[i];
			uint64_t last = seg->blocks[b].timed_ns;

			rows.n = times.n = 0;
			assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
			assert_int_equal(segment_read_times(seg, b, &rows, &times), 0);
			assert_true(!times.n == !seg->blocks[b].timed_ns);
			vec_foreach (&times, t) {
				struct timed_sample named = *t;

				assert_true(t->row < rows.n && t->time_ns >= last);
				last = t->time_ns;
				named.row =
					(uint32_t)seg->nodes[rows.data[t->row].node].code.offset;
				vec_push(&all, named);
			}
		}
	vec_fini(&rows);
	vec_fini(&times);
	if (all.n)
		qsort(all.data, all.n, sizeof(*all.data), by_offset);
	return all;
}

/* Samples of two timers, of waits, and of a time that jumps. Sample i is at 0x1000 + i. */
static void sample_of(uint32_t i, struct timed_sample *out, uint32_t *cpu, uint32_t *counter)
{
	*cpu = i % 2;
	*counter = i % 10 == 9;
	*out = (struct timed_sample){ .time_ns = 100 * SECOND + i * 501500ULL + i % 13 * 1000,
				      .row = 0x1000 + i,
				      .samples = 1,
				      .period = 1003009 };
	if (*counter) {
		out->samples = 1 + i % 50;
		out->period = 1000000ULL * out->samples + i;
		out->time_ns -= i % 1000 * 100000ULL % (i * 400000ULL + 1);
	}
	*cpu = *counter ? i % 7 : *cpu;
}

static void each_sample_keeps_its_time(void **state)
{
	enum { N = 20000 };
	struct sample_times all;
	struct session *s;
	struct totals t;
	struct world w;

	(void)state;
	timed_world_init(&w);
	for (uint32_t i = 0; i < N; i++) {
		struct timed_sample sample;
		uint32_t cpu, counter;

		sample_of(i, &sample, &cpu, &counter);
		add_timed(&w, sample.time_ns, cpu, counter, sample.row, sample.samples,
			  sample.period);
	}
	close_world(&w);
	assert_int_equal(session_format(w.path), SEGMENT_VERSION_TIMES);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 0);
	t = read_totals(s);
	assert_int_equal(t.samples, w.samples);
	assert_int_equal(t.period, w.period);
	all = read_all(s);
	assert_int_equal(all.n, N);
	for (uint32_t i = 0; i < N; i++) {
		struct timed_sample sample;
		uint32_t cpu, counter;

		sample_of(i, &sample, &cpu, &counter);
		assert_int_equal(all.data[i].row, sample.row);
		assert_int_equal(all.data[i].time_ns, sample.time_ns / 1000 * 1000);
		assert_int_equal(all.data[i].samples, sample.samples);
		assert_int_equal(all.data[i].period, sample.period);
	}
	vec_fini(&all);
	session_close(s);
	world_fini(&w);
}

/* Samples of one place share a row. Waits there keep their own lengths, and all keep their times.
 */
static void samples_of_one_row_keep_their_times(void **state)
{
	struct sample_times all;
	struct session *s;
	struct world w;

	(void)state;
	timed_world_init(&w);
	for (uint32_t i = 0; i < 200; i++) {
		add_timed(&w, 100 * SECOND + i * 1003000, 0, 0, 0x10, 1, 1003009);
		add_timed(&w, 100 * SECOND + i * 1003000 + 500000, 0, 1, 0x20, 1 + i % 3,
			  7000 + i * i);
	}
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	all = read_all(s);
	assert_int_equal(all.n, 400);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(all.data[200 + i].samples, 1 + i % 3);
		assert_int_equal(all.data[200 + i].period, 7000 + i * i);
	}
	vec_fini(&all);
	session_close(s);
	world_fini(&w);
}

/* A late sample counts for the open block, but it has the time that it was taken at. */
static void a_late_sample_keeps_its_time_for_two_seconds(void **state)
{
	struct sample_times all;
	struct session *s;
	struct world w;

	(void)state;
	timed_world_init(&w);
	add_timed(&w, 105 * SECOND + 400000000, 0, 0, 0x10, 1, 1);
	add_timed(&w, 104 * SECOND + 900000000, 0, 0, 0x20, 1, 1); /* late */
	add_timed(&w, 102 * SECOND, 0, 0, 0x30, 1, 1);             /* too late */
	add_timed(&w, 105 * SECOND + 300000000, 0, 0, 0x40, 1, 1);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(read_totals(s).samples, 4);
	assert_int_equal(s->segments[0]->blocks[0].first_ns, 105 * SECOND);
	assert_int_equal(s->segments[0]->blocks[0].timed_ns, 104 * SECOND + 900000000);
	all = read_all(s);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.data[1].row, 0x20);
	assert_int_equal(all.data[1].time_ns, 104 * SECOND + 900000000);
	vec_fini(&all);
	session_close(s);
	world_fini(&w);
}

/* ---- windows ---- */

/* Opens what is between two times after the start, in ms. */
static struct session *open_window(const struct world *w, uint64_t from_ms, uint64_t to_ms)
{
	uint64_t start = test_info.start_wall_ns;
	const struct history_request request = { .window = { start + from_ms * 1000000,
							     start + to_ms * 1000000 } };
	struct session *s;
	struct error err = { 0 };

	if (history_open(w->path, &request, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void a_window_has_the_samples_of_its_time_alone(void **state)
{
	struct session *s;
	struct sample_times all;
	struct world w;

	(void)state;
	timed_world_init(&w);
	for (uint32_t i = 0; i < 5000; i++) /* a sample a ms, from 100 s on */
		add_timed(&w, 100 * SECOND + i * 1000000ULL, i % 2, 0, 0x1000 + i, 1, 1003009);
	close_world(&w);
	s = open_window(&w, 2400, 2405);
	all = read_all(s);
	assert_int_equal(all.n, 5);
	assert_int_equal(all.data[0].row, 0x1000 + 2400);
	assert_int_equal(read_totals(s).samples, 5);
	assert_int_equal(s->segments[0]->blocks[0].samples, 5);
	vec_fini(&all);
	session_close(s);
	s = open_window(&w, 1900, 4100); /* two whole seconds, and parts of two others */
	assert_int_equal(read_totals(s).samples, 2200);
	session_close(s);
	world_fini(&w);
}

/* The second of such samples is known. They count by its middle, as in sessions without times. */
static void samples_without_times_count_with_their_second(void **state)
{
	struct session *s;
	struct world w;

	(void)state;
	timed_world_init(&w);
	for (uint32_t i = 0; i < 100; i++) {
		add_timed(&w, 100 * SECOND + i * 10000000ULL, 0, 0, 0x1000 + i, 1, 1003009);
		add(&w, 100 * SECOND + i * 10000000ULL, 7, w.lib, 0x77);
	}
	close_world(&w);
	s = open_window(&w, 0, 400);
	assert_int_equal(read_totals(s).samples, 40);
	session_close(s);
	s = open_window(&w, 400, 1000);
	assert_int_equal(read_totals(s).samples, 60 + 100);
	session_close(s);
	world_fini(&w);
}

/* ---- damage ---- */

static void damaged_times_cost_no_sample(void **state)
{
	char path[128];
	struct session *s;
	struct world w;
	char *bytes;
	size_t n;

	(void)state;
	timed_world_init(&w);
	for (uint32_t i = 0; i < 900; i++)
		add_timed(&w, 100 * SECOND + i * 1000000ULL, 0, 0, 0x1000 + i, 1, 1003009);
	native_store.close(w.store, NULL, &(uint64_t){ 0 }, &w.err);
	snprintf(path, sizeof(path), "%s/" SEGMENTS_DIR "/0000.segment", w.path);
	assert_int_equal(file_read_all(path, 1 << 20, &bytes, &n), 0);
	bytes[n - 9] ^= 1; /* the file ends with the times of its last block */
	assert_int_equal(file_replace(path, bytes, n, NULL), 0);
	free(bytes);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 1);
	assert_non_null(strstr(s->warnings.data[0], "the exact times of its samples are damaged"));
	assert_int_equal(read_totals(s).samples, 900);
	assert_int_equal(s->segments[0]->blocks[s->segments[0]->n_blocks - 1].timed_ns, 0);
	session_close(s);
	world_fini(&w);
}

/* Packs two samples of one row. */
static void pack_two(struct block_encoder *e, struct buf *out, uint64_t *early_us)
{
	struct timed_sample pair[] = { { 5000000, 0, 1, 13 }, { 5002000, 0, 1, 8 } };
	const struct sample_times times = { pair, 2, 2 };
	const struct count_row row = { .samples = 2, .period = 21 };
	const struct profile_class class = { .counter = 0 };
	const uint32_t place = 0;
	const bool has_rate = false;

	times_encode(e, out, &times, &(struct times_rows){ &row, 1, &place, &class, &has_rate },
		     6000000, early_us);
}

static void no_row_has_more_times_than_samples(void **state)
{
	const struct count_row few = { .samples = 1, .period = 21 },
			       fits = { .samples = 3, .period = 30 },
			       few_events = { .samples = 2, .period = 9 };
	struct unpacker *u = unpacker_new();
	struct sample_times times = { 0 };
	struct block_encoder e;
	struct buf out = { 0 };
	uint64_t early_us;

	(void)state;
	block_encoder_init(&e);
	pack_two(&e, &out, &early_us);
	assert_int_equal(early_us, 1000);
	assert_int_equal(times_decode(u, out.data, out.len, 5000, &few, 1, &times), -EBADMSG);
	assert_int_equal(times_decode(u, out.data, out.len, 5000, &few_events, 1, &times),
			 -EBADMSG);
	assert_int_equal(times_decode(u, out.data, out.len, 5000, &few, 0, &times), -EBADMSG);
	assert_int_equal(times.n, 0);
	assert_int_equal(times_decode(u, out.data, out.len, 5000, &fits, 1, &times), 0);
	assert_int_equal(times.n, 2);
	assert_int_equal(times.data[1].time_ns, 5002000);
	for (size_t n = 0; n < out.len; n++) /* no prefix of it decodes */
		if (times_decode(u, out.data, n, 5000, &fits, 1, &times) != -EBADMSG)
			fail_msg("%zu of %zu bytes", n, out.len);
	vec_fini(&times);
	buf_fini(&out);
	block_encoder_fini(&e);
	unpacker_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back_from_bits),
		cmocka_unit_test(ranks_agree_with_counting),
		cmocka_unit_test(each_sample_keeps_its_time),
		cmocka_unit_test(samples_of_one_row_keep_their_times),
		cmocka_unit_test(a_late_sample_keeps_its_time_for_two_seconds),
		cmocka_unit_test(a_window_has_the_samples_of_its_time_alone),
		cmocka_unit_test(samples_without_times_count_with_their_second),
		cmocka_unit_test(damaged_times_cost_no_sample),
		cmocka_unit_test(no_row_has_more_times_than_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
