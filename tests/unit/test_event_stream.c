/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event stream: its two halves against each other, its bytes against what the notes say. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oprofile/fs/event_buffer.h"
#include "oprofile/fs/event_stream.h"

#define MAX_PLACES 6

static uint64_t random_below(uint64_t n)
{
	return ((uint64_t)rand() << 31 ^ (uint64_t)rand()) % n;
}

static struct estream_place random_place(bool is_kernel)
{
	struct estream_place p = { .is_kernel = is_kernel };

	p.cookie = is_kernel ? 0 : random_below(4);
	p.offset = random_below(5) ? random_below(1 << 20) : ESTREAM_ESCAPE - 1 - random_below(9);
	return p;
}

/* Callers of the kernel come before those of user mode. */
static struct estream_sample random_sample(struct estream_place *places)
{
	struct estream_sample s = {
		.cpu = (uint32_t)random_below(3),
		.tid = (int32_t)random_below(4),
		.tgid = (int32_t)random_below(2) + 100,
		.app = random_below(3),
		.counter = random_below(60),
		.places = places,
		.n_places = 1 + (uint32_t)random_below(MAX_PLACES),
		.is_traced = random_below(4) > 0,
	};
	uint32_t n_kernel = (uint32_t)random_below(s.n_places + 1);

	for (uint32_t i = 0; i < s.n_places; i++)
		places[i] = random_place(i < n_kernel);
	return s;
}

static void next_entry(struct estream_reader *r, struct estream_context *c,
		       struct estream_entry *out)
{
	struct estream_item item;

	do
		assert_int_equal(estream_next(r, &item), 1);
	while (!estream_follow(c, &item, out));
}

static void check_place(const struct estream_entry *e, const struct estream_place *p)
{
	assert_int_equal(e->place.is_kernel, p->is_kernel);
	assert_true(e->place.cookie == p->cookie);
	assert_true(e->place.offset == p->offset);
}

static void check_sample(struct estream_reader *r, struct estream_context *c,
			 const struct estream_sample *s)
{
	struct estream_entry e;

	next_entry(r, c, &e);
	assert_false(e.is_caller);
	assert_true(e.counter == s->counter);
	assert_int_equal(c->cpu, s->cpu);
	assert_int_equal(c->tid, s->tid);
	assert_int_equal(c->tgid, s->tgid);
	assert_true(c->app == s->app);
	check_place(&e, &s->places[0]);
	for (uint32_t i = 1; s->is_traced && i < s->n_places; i++) {
		next_entry(r, c, &e);
		assert_true(e.is_caller);
		check_place(&e, &s->places[i]);
	}
}

static void random_samples_come_back(void **state)
{
	(void)state;
	srand(4711);
	for (int round = 0; round < 200; round++) {
		struct estream_place places[100][MAX_PLACES];
		struct estream_sample samples[100];
		struct estream_words words = { 0 };
		struct estream_writer w = { 0 };
		struct estream_context c = { 0 };
		struct estream_reader r;
		struct estream_item item;

		for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
			samples[i] = random_sample(places[i]);
			assert_int_equal(estream_put_sample(&w, &words, &samples[i]), 0);
		}
		r = estream_reader_over(words.data, words.n * sizeof(*words.data), 8);
		for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
			check_sample(&r, &c, &samples[i]);
		assert_int_equal(estream_next(&r, &item), 0);
		assert_true(r.at == r.end);
		assert_true(r.n_unknown == 0 && r.n_cut == 0 && c.n_ignored == 0);
		vec_fini(&words);
	}
}

/* In the width of a word, no value of an item but a cookie is ever an escape. */
static struct estream_item random_item(uint32_t word_bytes, bool has_branch_target)
{
	uint64_t limit = word_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	struct estream_item item = { .kind = (enum estream_kind)random_below(N_ESTREAM_KINDS) };

	item.n = estream_rows[item.kind].n_values;
	if (item.kind == ESTREAM_IBS_OP && has_branch_target)
		item.n += 2;
	for (uint32_t i = 0; i < item.n; i++)
		item.values[i] = random_below(limit);
	if (item.kind == ESTREAM_COOKIE_SWITCH && random_below(3) == 0)
		item.values[0] = COOKIE_NONE;
	return item;
}

static void *narrow(const struct estream_words *words)
{
	uint32_t *out = xcalloc(words->n + 1, sizeof(*out));

	for (size_t i = 0; i < words->n; i++)
		out[i] = (uint32_t)words->data[i];
	return out;
}

static void check_items(uint32_t word_bytes, bool has_branch_target)
{
	struct estream_words words = { 0 };
	struct estream_item items[500], item;
	struct estream_reader r;
	void *narrowed;

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		items[i] = random_item(word_bytes, has_branch_target);
		estream_put(&words, &items[i]);
	}
	narrowed = narrow(&words);
	r = estream_reader_over(word_bytes == 8 ? (void *)words.data : narrowed,
				words.n * word_bytes, word_bytes);
	r.has_branch_target = has_branch_target;
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		assert_int_equal(estream_next(&r, &item), 1);
		assert_int_equal(item.kind, items[i].kind);
		assert_int_equal(item.n, items[i].n);
		assert_memory_equal(item.values, items[i].values, sizeof(item.values));
	}
	assert_int_equal(estream_next(&r, &item), 0);
	assert_true(r.n_unknown == 0 && r.n_cut == 0);
	free(narrowed);
	vec_fini(&words);
}

static void items_of_every_code_come_back(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 50; round++) {
		check_items(8, round & 1);
		check_items(4, round & 1);
	}
}

/* The order in which OProfile's driver wrote a sync of one CPU. */
static void words_are_those_of_oprofile(void **state)
{
	const struct estream_place places[] = { { true, 0, 0xffffffff81000010 },
						{ false, 7, 0x1234 },
						{ false, 9, 0x99 } };
	const struct estream_sample traced = { .cpu = 1,
					       .tid = 41,
					       .tgid = 40,
					       .app = 5,
					       .counter = 2,
					       .places = places,
					       .n_places = 3,
					       .is_traced = true };
	const uint64_t e = ~0ULL;
	const uint64_t expected[] = {
		e,
		2,
		1, /* CPU 1 */
		e,
		8,
		e,
		4, /* a trace, in the kernel */
		e,
		1,
		41,
		5,
		e,
		7,
		40, /* thread 41 of 40, application 5 */
		0xffffffff81000010,
		2, /* the sample */
		e,
		5,
		e,
		3,
		7,
		0x1234,
		0, /* a caller in file 7 */
		e,
		3,
		9,
		0x99,
		0, /* and one in 9 */
		e,
		8,
		e,
		4,
		0xffffffff81000010,
		2, /* the same again: the task holds */
		e,
		5,
		e,
		3,
		7,
		0x1234,
		0,
		e,
		3,
		9,
		0x99,
		0,
	};
	struct estream_words words = { 0 };
	struct estream_writer w = { 0 };

	(void)state;
	estream_put_sample(&w, &words, &traced);
	estream_put_sample(&w, &words, &traced);
	assert_int_equal(words.n, ARRAY_SIZE(expected));
	assert_memory_equal(words.data, expected, sizeof(expected));
	vec_fini(&words);
}

static void an_offset_that_is_an_escape_is_refused(void **state)
{
	const struct estream_place places[] = { { false, 1, 2 }, { false, 1, ESTREAM_ESCAPE } };
	struct estream_sample s = { .places = places, .n_places = 2, .is_traced = true };
	struct estream_words words = { 0 };
	struct estream_writer w = { 0 };

	(void)state;
	assert_int_equal(estream_put_sample(&w, &words, &s), -EINVAL);
	assert_int_equal(words.n, 0);
	s.is_traced = false; /* then the stream has no record of it */
	assert_int_equal(estream_put_sample(&w, &words, &s), 0);
	vec_fini(&words);
}

static void what_is_unknown_is_left_out_alone(void **state)
{
	const uint64_t e = ~0ULL;
	const uint64_t words[] = { e, 77, e, 12, e, e, e, 2, 3, e, 1, 5, 6, 1, 2, 3, 4, e, 14, 1 };
	struct estream_reader r = estream_reader_over(words, sizeof(words), 8);
	struct estream_item item;

	(void)state;
	assert_int_equal(estream_next(&r, &item), 1);
	assert_int_equal(item.kind, ESTREAM_CPU_SWITCH);
	assert_true(r.n_unknown == 3);
	/* A context switch without its process: the words behind it are a sample. */
	assert_int_equal(estream_next(&r, &item), 1);
	assert_int_equal(item.kind, ESTREAM_CTX_SWITCH);
	assert_true(item.values[2] == 5 && r.n_cut == 1);
	assert_int_equal(estream_next(&r, &item), 1);
	assert_true(item.kind == ESTREAM_SAMPLE && item.values[0] == 1 && item.values[1] == 2);
	assert_int_equal(estream_next(&r, &item), 1);
	/* The last item is not whole: the rest may come. */
	assert_int_equal(estream_next(&r, &item), 0);
	assert_int_equal(r.end - r.at, 3 * 8);
}

static void samples_without_a_mode_or_mapping_are_ignored(void **state)
{
	const uint64_t e = ~0ULL;
	const uint64_t words[] = { 1, 2, e, 5, 3, 4, e, 3, 9, 5, 6, e, 3, e, 7, 8 };
	struct estream_reader r = estream_reader_over(words, sizeof(words), 8);
	struct estream_context c = { .cookie = COOKIE_NONE };
	struct estream_entry entry = { 0 };
	struct estream_item item;
	int n = 0;

	(void)state;
	while (estream_next(&r, &item))
		n += estream_follow(&c, &item, &entry);
	assert_int_equal(n, 1);
	assert_true(entry.place.offset == 5 && entry.place.cookie == 9 && entry.counter == 6);
	assert_true(c.n_ignored == 3);
}

/* ---- the buffer ---- */

static const struct estream_place place = { false, 3, 0x40 };
static const struct estream_sample plain = { .places = &place, .n_places = 1 };

static void a_reader_waits_for_the_watershed_or_a_flush(void **state)
{
	struct event_buffer *b = event_buffer_new(40, 22);
	uint64_t words[64];

	(void)state;
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), -EAGAIN);
	event_buffer_flush(b); /* nothing is there */
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), -EAGAIN);
	assert_true(event_buffer_put(b, &plain)); /* 3 + 2 + 7 + 3 + 2 words */
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), -EAGAIN);
	event_buffer_flush(b);
	assert_int_equal(event_buffer_read(b, words, 17), 16);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), 15 * 8);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), -EAGAIN);
	for (int i = 0; i < 9; i++) {
		assert_false(event_buffer_is_ready(b));
		assert_true(event_buffer_put(b, &plain)); /* 2 words now */
	}
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), 18 * 8);
	event_buffer_free(b);
}

static void what_finds_no_room_is_lost_whole(void **state)
{
	struct event_buffer *b = event_buffer_new(20, 0);
	struct estream_sample other = plain;
	uint64_t words[64];

	(void)state;
	other.tid = 7;
	assert_true(event_buffer_put(b, &plain));  /* 17 */
	assert_true(event_buffer_put(b, &plain));  /* 19 */
	assert_false(event_buffer_put(b, &plain)); /* 21 */
	assert_false(event_buffer_put(b, &other));
	event_buffer_flush(b);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), 19 * 8);
	/* The stream gets the task that had no room before. */
	assert_true(event_buffer_put(b, &other));
	event_buffer_flush(b);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), 12 * 8);
	assert_true(words[0] == ~0ULL && words[1] == 1 && words[2] == 7);
	event_buffer_free(b);
}

static void a_stop_ends_the_file_once(void **state)
{
	struct event_buffer *b = event_buffer_new(100, 10);
	uint64_t words[64];

	(void)state;
	assert_true(event_buffer_put(b, &plain));
	event_buffer_end(b);
	assert_true(event_buffer_read(b, words, sizeof(words)) > 0);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), 0);
	assert_int_equal(event_buffer_read(b, words, sizeof(words)), -EAGAIN);
	event_buffer_free(b);
}

static void a_long_stream_goes_through_a_small_buffer(void **state)
{
	struct event_buffer *b = event_buffer_new(64, 32);
	struct estream_context c = { 0 };
	uint64_t words[64];
	int n = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct estream_sample s = plain;
		struct estream_entry entry;
		struct estream_reader r;
		struct estream_item item;
		long size;

		s.tid = i / 3;
		assert_true(event_buffer_put(b, &s));
		size = event_buffer_read(b, words, sizeof(words));
		if (size < 0)
			continue;
		r = estream_reader_over(words, (size_t)size, 8);
		while (estream_next(&r, &item))
			if (estream_follow(&c, &item, &entry))
				assert_int_equal(c.tid, n++ / 3);
		assert_true(r.at == r.end);
	}
	assert_true(n > 9900);
	event_buffer_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_samples_come_back),
		cmocka_unit_test(items_of_every_code_come_back),
		cmocka_unit_test(words_are_those_of_oprofile),
		cmocka_unit_test(an_offset_that_is_an_escape_is_refused),
		cmocka_unit_test(what_is_unknown_is_left_out_alone),
		cmocka_unit_test(samples_without_a_mode_or_mapping_are_ignored),
		cmocka_unit_test(a_reader_waits_for_the_watershed_or_a_flush),
		cmocka_unit_test(what_finds_no_room_is_lost_whole),
		cmocka_unit_test(a_stop_ends_the_file_once),
		cmocka_unit_test(a_long_stream_goes_through_a_small_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
