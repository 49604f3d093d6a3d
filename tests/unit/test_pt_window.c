/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "pt/packet.h"
#include "trace/pt_queue.h"
#include "trace/pt_trace_state.h"
#include "trace/pt_window.h"

/* A trace of PSBs with nothing but PADs between them; a tick is a nanosecond. */
struct made {
	struct pt_trace trace;
	struct queue queue;
	uint8_t *bytes;
	size_t n_psbs;
	struct made_psb {
		uint64_t offset, tsc;
	} psbs[4096];
};

enum { PERIOD = 5000 };

static uint64_t made_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static void put_psb(uint8_t *to, uint64_t tsc)
{
	for (int i = 0; i < PT_PSB_SIZE; i += 2)
		memcpy(to + i, "\x02\x82", 2);
	to[PT_PSB_SIZE] = 0x19;
	memcpy(to + PT_PSB_SIZE + 1, &tsc, 7);
	memcpy(to + PT_PSB_SIZE + 8, "\x02\x23", 2);
}

/* Time goes back `n_back` times. The bytes are divided into pieces of `piece` bytes. */
static struct made *make_trace(uint64_t seed, size_t n_psbs, size_t n_back, size_t piece)
{
	struct made *m = xcalloc(1, sizeof(*m));
	uint64_t tsc = 10000000, size = n_psbs * PERIOD;

	m->trace.info.clock = (struct pt_clock){ .time_mult = 1 };
	m->queue.trace = &m->trace;
	m->bytes = xcalloc(1, size);
	m->n_psbs = n_psbs;
	for (size_t i = 0; i < n_psbs; i++) {
		tsc += 100 + made_random(&seed) % 1000;
		if (n_back && i % (n_psbs / n_back + 1) == n_psbs / n_back / 2)
			tsc -= 400000;
		m->psbs[i] = (struct made_psb){ i * PERIOD + made_random(&seed) % 1000, tsc };
		put_psb(m->bytes + m->psbs[i].offset, tsc);
	}
	for (uint64_t at = 0; at < size; at += piece)
		vec_push(&m->queue.pieces, ((struct piece){ .bytes = m->bytes + at,
							    .size = MIN(piece, size - at),
							    .pid = -1,
							    .tid = -1,
							    .offset = at }));
	return m;
}

static void free_trace(struct made *m)
{
	vec_fini(&m->queue.pieces);
	free(m->bytes);
	free(m);
}

static bool is_kept(const struct made *m, uint64_t offset)
{
	vec_foreach (&m->queue.pieces, p)
		if (offset >= p->offset && offset < p->offset + p->size)
			return true;
	return false;
}

/* Each piece is what it says, and begins at a PSB where the bytes before are left out. */
static void check_pieces(const struct made *m)
{
	uint64_t end = 0;

	vec_foreach (&m->queue.pieces, p) {
		assert_ptr_equal(p->bytes, m->bytes + p->offset);
		assert_true(p->size);
		assert_int_equal(p->is_apart, p->offset != end);
		assert_true(p->offset >= end);
		if (p->is_apart)
			assert_ptr_equal(pt_find_psb(p->bytes, p->bytes + p->size), p->bytes);
		end = p->offset + p->size;
	}
}

static uint64_t bytes_kept(const struct made *m)
{
	uint64_t n = 0;

	vec_foreach (&m->queue.pieces, p)
		n += p->size;
	return n;
}

/* Returns how many PSB periods were kept in vain. */
static size_t check_spans(struct made *m, const struct time_span *spans, size_t n_spans)
{
	size_t n_asked = 0;

	pt_window_cut(&m->queue, spans, n_spans);
	check_pieces(m);
	for (size_t i = 0; i < m->n_psbs; i++) {
		uint64_t from = m->psbs[i].tsc;
		uint64_t to = i + 1 < m->n_psbs ? m->psbs[i + 1].tsc : UINT64_MAX;
		bool is_asked = false;

		for (size_t s = 0; s < n_spans; s++)
			is_asked |= MIN(from, to) <= spans[s].last_ns &&
				    MAX(from, to) >= spans[s].first_ns;
		n_asked += is_asked;
		if (is_asked)
			assert_true(is_kept(m, m->psbs[i].offset));
	}
	return bytes_kept(m) / PERIOD - MIN(bytes_kept(m) / PERIOD, n_asked);
}

static void a_span_keeps_its_periods_and_one_on_either_side(void **state)
{
	static const size_t pieces[] = { 30 << 20, 4 << 20, 1 << 20, 10007 };

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct made *m = make_trace(seed, 4000, 0, pieces[seed % ARRAY_SIZE(pieces)]);
		uint64_t first = m->psbs[0].tsc, last = m->psbs[m->n_psbs - 1].tsc;
		uint64_t from = first + (last - first) * seed / 13, random = seed;
		struct time_span span = { from, from + made_random(&random) % 100000 };

		assert_true(check_spans(m, &span, 1) <= 4);
		free_trace(m);
	}
}

static void several_spans_keep_several_parts(void **state)
{
	struct made *m = make_trace(7, 4000, 0, 3 << 20);
	struct time_span spans[] = { { m->psbs[3000].tsc, m->psbs[3010].tsc },
				     { m->psbs[500].tsc, m->psbs[500].tsc },
				     { m->psbs[3008].tsc, m->psbs[3020].tsc } };
	size_t n_apart = 0;

	(void)state;
	assert_true(check_spans(m, spans, ARRAY_SIZE(spans)) <= 8);
	vec_foreach (&m->queue.pieces, p)
		n_apart += p->is_apart;
	assert_int_equal(n_apart, 2);
	free_trace(m);
}

static void a_span_that_comes_twice_is_kept_twice(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct made *m = make_trace(seed, 4000, seed, 2 << 20);
		/* Just before time goes back. */
		uint64_t at = m->psbs[4000 / seed / 2 - 1].tsc;
		struct time_span span = { at - 20000, at - 10000 };

		check_spans(m, &span, 1);
		free_trace(m);
	}
}

static void spans_before_and_behind_keep_no_more_than_the_ends(void **state)
{
	struct made *m = make_trace(3, 2000, 0, 1 << 20);
	struct time_span before = { 0, 5 }, behind = { UINT64_MAX - 5, UINT64_MAX };

	(void)state;
	assert_true(check_spans(m, &before, 1) <= 2);
	free_trace(m);
	m = make_trace(3, 2000, 0, 1 << 20);
	assert_true(check_spans(m, &behind, 1) <= 2);
	assert_true(is_kept(m, m->psbs[1999].offset));
	free_trace(m);
}

static void the_whole_time_keeps_the_whole_trace(void **state)
{
	struct made *m = make_trace(3, 2000, 3, 1 << 20);
	struct time_span all = { 0, UINT64_MAX };

	(void)state;
	check_spans(m, &all, 1);
	assert_int_equal(bytes_kept(m), 2000 * PERIOD);
	free_trace(m);
}

static void a_trace_without_time_and_snapshots_stay_whole(void **state)
{
	struct made *m = make_trace(3, 2000, 0, 1 << 20);
	struct time_span span = { 1, 2 };

	(void)state;
	m->trace.info.is_timeless = true;
	pt_window_cut(&m->queue, &span, 1);
	assert_int_equal(bytes_kept(m), 2000 * PERIOD);
	m->trace.info.is_timeless = false;
	m->trace.info.is_snapshot = true;
	pt_window_cut(&m->queue, &span, 1);
	assert_int_equal(bytes_kept(m), 2000 * PERIOD);
	free_trace(m);
}

static void a_queue_without_bytes_stays_so(void **state)
{
	struct made *m = make_trace(3, 10, 0, 1 << 20);
	struct time_span span = { 0, UINT64_MAX };

	(void)state;
	m->queue.pieces.n = 0;
	pt_window_cut(&m->queue, &span, 1);
	assert_int_equal(m->queue.pieces.n, 0);
	free_trace(m);
}

/* A PSB at most 1 MiB ahead is found, whatever was asked before. */
static void the_time_ahead_does_not_depend_on_earlier_questions(void **state)
{
	enum { FAR = 1 << 20, SIZE = 3 * FAR, HALF = FAR / 2 };
	static const uint64_t places[] = { FAR - 8, FAR, FAR + 100, FAR + HALF, 2 * FAR + HALF };
	static const uint64_t asked[] = { 0,         7,         8,   15,         16,
					  17,        100,       116, 200,        HALF - 1,
					  HALF + 15, HALF + 16, FAR, FAR + HALF, FAR + HALF + 16 };
	struct pt_trace trace = { .queues = { 0 } };
	uint8_t *bytes = xcalloc(1, SIZE);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct piece pieces[] = { { .bytes = bytes, .size = FAR + 50 },
					  { .bytes = bytes + FAR + 50, .size = SIZE - FAR - 50 } };
		struct queue q = { .trace = &trace, .pieces = { .data = pieces, .n = 2 } };
		size_t n_found = 0;

		memset(bytes, 0, SIZE);
		put_psb(bytes + places[i], 1000);
		for (size_t k = 0; k < ARRAY_SIZE(asked); k++) {
			struct queue fresh = { .trace = &trace,
					       .pieces = { .data = pieces, .n = 2 } };
			size_t piece = asked[k] > pieces[0].size;
			uint64_t at = asked[k] - (piece ? pieces[0].size : 0);
			uint64_t tsc = queue_next_tsc(&fresh, piece, at);

			assert_int_equal(queue_next_tsc(&q, piece, at), tsc);
			n_found += tsc == 1000;
		}
		assert_in_range(n_found, 1, ARRAY_SIZE(asked) - 1);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_keeps_its_periods_and_one_on_either_side),
		cmocka_unit_test(several_spans_keep_several_parts),
		cmocka_unit_test(a_span_that_comes_twice_is_kept_twice),
		cmocka_unit_test(spans_before_and_behind_keep_no_more_than_the_ends),
		cmocka_unit_test(the_whole_time_keeps_the_whole_trace),
		cmocka_unit_test(a_trace_without_time_and_snapshots_stay_whole),
		cmocka_unit_test(a_queue_without_bytes_stays_so),
		cmocka_unit_test(the_time_ahead_does_not_depend_on_earlier_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
