/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of a recording that always runs. */
#include "record/record_ring.h"

#include <linux/perf_event.h>
#include <string.h>

#include "unit.h"

#define MS 1000000ULL

struct probe {
	struct perf_event_header header;
	uint64_t number;
	uint8_t rest[1008];
};

struct seen {
	uint64_t first, last, n;
};

static void see(void *context, const void *record, size_t size)
{
	struct seen *s = context;
	const struct probe *p = record;

	assert_int_equal(size, p->header.size);
	if (!s->n++)
		s->first = p->number;
	else
		assert_int_equal(p->number, s->last + 1);
	s->last = p->number;
}

static void fail_at_a_record(void *context, const void *record, size_t size)
{
	(void)context;
	(void)record;
	fail_msg("a record of %zu bytes is still held", size);
}

/* A record each millisecond. */
static struct seen fill(struct record_ring *r, uint64_t n)
{
	struct seen seen = { 0 };

	for (uint64_t i = 0; i < n; i++) {
		struct probe p = { .number = i };

		p.header.size = (uint16_t)(16 + 8 * (i % 100));
		record_ring_push(r, &p, p.header.size, i * MS);
	}
	record_ring_take(r, see, &seen);
	record_ring_take(r, fail_at_a_record, NULL);
	return seen;
}

static void the_newest_are_kept_whole_and_in_order(void **state)
{
	struct record_ring *r = record_ring_new(2000 * MS, 64 << 20);
	struct seen seen = fill(r, 20000);

	(void)state;
	assert_int_equal(seen.last, 19999);
	/* At least what was asked for, and a piece more at the most. */
	assert_true(seen.n >= 2000 && seen.n < 4000);
	/* It begins anew. */
	seen = fill(r, 100);
	assert_int_equal(seen.n, 100);
	record_ring_free(r);
}

static void memory_is_bounded(void **state)
{
	struct record_ring *r = record_ring_new(UINT64_MAX, 1 << 20);
	struct seen seen = fill(r, 20000);

	(void)state;
	assert_int_equal(seen.last, 19999);
	assert_true(seen.n > 1000 && seen.n < 4000);
	record_ring_free(r);
	record_ring_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_are_kept_whole_and_in_order),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
