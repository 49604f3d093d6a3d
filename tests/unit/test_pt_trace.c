/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "pt/packet_text.h"
#include "pt/time.h"
#include "trace/pt_overlap.h"

static struct buf packets(const char *text)
{
	struct buf out = { 0 };

	assert_int_equal(pt_text_write(&out, text, NULL), 0);
	return out;
}

#define FIRST  "PSB\nTSC 0x10\nPSBEND\nTNT TTN\nTIP 0x1000\n"
#define SECOND "PSB\nTSC 0x20\nPSBEND\nTNT NN\nTIP 0x2000\n"
#define THIRD  "PSB\nTSC 0x30\nPSBEND\nTNT T\nTIP 0x3000\n"

static size_t overlap(const char *before, const char *now, bool *is_consecutive)
{
	struct buf a = packets(before), b = packets(now);
	size_t at = pt_overlap(a.data, a.len, b.data, b.len, is_consecutive);

	buf_fini(&a);
	buf_fini(&b);
	return at;
}

static size_t size_of(const char *text)
{
	struct buf b = packets(text);
	size_t n = b.len;

	buf_fini(&b);
	return n;
}

static void a_snapshot_goes_on_where_the_one_before_ends(void **state)
{
	bool is_consecutive = false;

	(void)state;
	assert_int_equal(overlap(FIRST SECOND, SECOND THIRD, &is_consecutive), size_of(SECOND));
	assert_true(is_consecutive);
}

static void snapshots_that_have_nothing_in_common_begin_at_a_psb(void **state)
{
	bool is_consecutive = true;

	(void)state;
	assert_int_equal(overlap(FIRST, "TIP 0x9\n" THIRD, &is_consecutive), size_of("TIP 0x9\n"));
	assert_false(is_consecutive);
}

static void what_an_older_snapshot_has_is_left_out_by_its_time(void **state)
{
	bool is_consecutive = true;

	(void)state;
	assert_int_equal(overlap(FIRST SECOND "TNT T\n", FIRST SECOND "TNT N\n" THIRD,
				 &is_consecutive),
			 size_of(FIRST SECOND "TNT N\n"));
	assert_false(is_consecutive);
}

static void nothing_overlaps_with_nothing(void **state)
{
	bool is_consecutive;

	(void)state;
	assert_int_equal(pt_overlap(NULL, 0, NULL, 0, &is_consecutive), 0);
	assert_int_equal(overlap(FIRST, "TNT T\n", &is_consecutive), size_of("TNT T\n"));
}

static void a_time_is_that_of_its_first_tick(void **state)
{
	static const struct pt_clock clocks[] = {
		{ .time_mult = 1, .time_shift = 0 },
		{ .time_mult = 699045377, .time_shift = 31, .time_zero = 12345678901234 },
		{ .time_mult = 3, .time_shift = 0, .time_zero = 7 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		const struct pt_clock *c = &clocks[i];

		for (uint64_t ns = c->time_zero + 1; ns < c->time_zero + 100000; ns += 77) {
			uint64_t tsc = pt_time_tsc(c, ns);

			assert_true(pt_time_ns(c, tsc) >= ns);
			assert_true(pt_time_ns(c, tsc - 1) < ns);
		}
	}
	assert_int_equal(pt_time_tsc(&clocks[1], 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_goes_on_where_the_one_before_ends),
		cmocka_unit_test(snapshots_that_have_nothing_in_common_begin_at_a_psb),
		cmocka_unit_test(what_an_older_snapshot_has_is_left_out_by_its_time),
		cmocka_unit_test(nothing_overlaps_with_nothing),
		cmocka_unit_test(a_time_is_that_of_its_first_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
