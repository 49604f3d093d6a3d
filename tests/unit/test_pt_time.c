/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in an Intel PT trace, by its packets. */
#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "pt/packet_text.h"
#include "pt/time.h"

/* After the packets of `text`, where those of `ahead` follow. */
static uint64_t time_before(const char *text, const char *ahead, struct pt_time *t)
{
	static const struct pt_clock clock = {
		.ctc_numerator = 100, .ctc_denominator = 2, .mtc_shift = 3, .max_ratio = 20
	};
	struct buf bytes = { 0 };
	struct pt_scan scan = { 0 };
	size_t size;

	*t = (struct pt_time){ .clock = &clock, .is_on = true };
	assert_int_equal(pt_text_write(&bytes, text, NULL), 0);
	size = bytes.len;
	assert_int_equal(pt_text_write(&bytes, ahead, NULL), 0);
	pt_time_scan(t, &scan, bytes.data, bytes.data + size, bytes.data + bytes.len);
	buf_fini(&bytes);
	return t->tsc;
}

static uint64_t time_after(const char *text, struct pt_time *t)
{
	return time_before(text, "", t);
}

static void time_is_that_of_the_packets(void **state)
{
	struct pt_time t;

	(void)state;
	assert_int_equal(time_after("TSC 0x10000\n", &t), 0x10000);
	/* CTC 0x103 is 3 ticks of 50 behind a multiple of 8; its MTC is 0x20. */
	assert_int_equal(time_after("TSC 0x10000\nTMA CTC 0x103 FC 0x7\nMTC 0x22\n", &t),
			 0x10000 - 7 - 3 * 50 + 2 * 8 * 50);
	/* MTCs are of eight bits. */
	assert_int_equal(time_after("TSC 0x10000\nTMA CTC 0x7f8 FC 0x0\nMTC 0x1\n", &t),
			 0x10000 + 2 * 8 * 50);
	/* No TMA, no MTC. */
	assert_int_equal(time_after("TSC 0x10000\nMTC 0x22\n", &t), 0x10000);
}

static uint64_t next_psb_is_at(void *context, const uint8_t *at)
{
	(void)at;
	return *(const uint64_t *)context;
}

/* A cycle is a tick here. */
static void a_cyc_that_leads_far_ahead_of_the_next_psb_does_not_count(void **state)
{
	static const struct pt_clock clock = { .max_ratio = 20 };
	static const char text[] = "CBR 0x14\nTSC 0x10000\nCYC 0x10\nCYC 0x40000000\nCYC 0x20\n";
	uint64_t next;

	(void)state;
	for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
		struct pt_scan scan = { .next_tsc = next_psb_is_at, .context = &next };
		struct pt_time t = { .clock = &clock, .is_on = true };
		struct buf bytes = { 0 };

		next = is_damaged ? 0x20000 : 0x50000000;
		assert_int_equal(pt_text_write(&bytes, text, NULL), 0);
		pt_time_scan(&t, &scan, bytes.data, bytes.data + bytes.len, bytes.data + bytes.len);
		assert_int_equal(t.tsc, 0x10030 + (is_damaged ? 0 : 0x40000000));
		assert_int_equal(t.cycles, 0x30 + (is_damaged ? 0 : 0x40000000));
		buf_fini(&bytes);
	}
}

static void a_tma_with_reserved_bits_tells_no_time(void **state)
{
	static const uint8_t damaged[][7] = {
		{ 0x02, 0x73, 0xf8, 0x07, 0x01, 0, 0 },
		{ 0x02, 0x73, 0xf8, 0x07, 0, 0, 0x02 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		enum pt_block block = PT_NO_BLOCK;
		struct pt_time before, after;
		struct pt_packet p;

		time_after("TSC 0x10000\nTMA CTC 0x103 FC 0x7\n", &before);
		after = before;
		assert_int_equal(pt_packet_read(damaged[i], damaged[i] + 7, &block, &p), 7);
		assert_int_equal(p.type, PT_TMA);
		assert_false(pt_time_packet(&after, &p, false));
		assert_int_equal(after.ctc_tsc, before.ctc_tsc);
		assert_int_equal(after.last_mtc, before.last_mtc);
	}
}

static void cycles_tell_time_from_a_packet_on_that_has_its_own_count(void **state)
{
#define BEGIN "CBR 0x28\nTSC 0x10000\nTMA CTC 0x100 FC 0x0\n"
	struct pt_time t;

	(void)state;
	assert_int_equal(time_after(BEGIN "CYC 0x64\n", &t), 0x10000 + 50);
	assert_int_equal(time_after(BEGIN "MTC 0x21\nCYC 0x384\n", &t), 0x10000 + 450);
	/* By the core's ratio they are 20 / 40 ticks each, … */
	assert_int_equal(time_after(BEGIN "CYC 0x1\nMTC 0x21\nCYC 0x64\n", &t), 0x10000 + 450);
	assert_int_equal(t.cycles, 101);
	/* … or as measured up to the next such MTC, … */
	assert_int_equal(time_before(BEGIN "CYC 0x1\nMTC 0x21\nCYC 0x64\n",
				     "TNT T (1)\nMTC 0x22\nTNT T (1)\nCYC 0x5dc\nMTC 0x23\n", &t),
			 0x10000 + 400 + 100 * 800 / 1600);
	assert_int_equal(time_before(BEGIN "CYC 0x1\nMTC 0x21\nCYC 0x64\n",
				     "TNT T (1)\nMTC 0x22\nTNT T (1)\nCYC 0x4dc\nPAD\nMTC 0x23\n",
				     &t),
			 0x10000 + 400 + (uint64_t)(100 * 800.0 / (0x4dc + 100)));
	/* … unless that is much more: the core slept; or it may have. */
	assert_int_equal(time_before(BEGIN "CYC 0x1\nMTC 0x21\nCYC 0x64\n", "CYC 0x5\nMTC 0x22\n",
				     &t),
			 0x10000 + 450);
	assert_int_equal(time_before(BEGIN "CYC 0x1\nMTC 0x21\nCYC 0x64\n",
				     "MWAIT 0x0\nCYC 0x258\nMTC 0x22\n", &t),
			 0x10000 + 450);
#undef BEGIN
}

static void time_does_not_go_back_and_that_is_counted(void **state)
{
	struct pt_time t;

	(void)state;
	assert_int_equal(time_after("TSC 0x10000\nTSC 0xff00\nTSC 0x10010\n", &t), 0x10010);
	assert_int_equal(t.backwards, 1);
	/* … unless its 56 bits were full. */
	assert_int_equal(time_after("TSC 0xfffffffffffff0\nTSC 0x10\n", &t), (1ULL << 56) + 0x10);
}

static void perf_time_is_scaled_in_two_parts(void **state)
{
	const struct pt_clock clock = { .time_shift = 31,
					.time_mult = 1789569706,
					.time_zero = 18446744041015200657ULL };
	/* The first AUXTRACE record of perf.data.intel_pt-4.14 has this TSC. */
	const uint64_t tsc = 0xbc4cd519a6;

	(void)state;
	assert_int_equal(pt_time_ns(&clock, tsc),
			 (uint64_t)((unsigned __int128)tsc * 1789569706 >> 31) +
				 18446744041015200657ULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_that_of_the_packets),
		cmocka_unit_test(a_cyc_that_leads_far_ahead_of_the_next_psb_does_not_count),
		cmocka_unit_test(a_tma_with_reserved_bits_tells_no_time),
		cmocka_unit_test(cycles_tell_time_from_a_packet_on_that_has_its_own_count),
		cmocka_unit_test(time_does_not_go_back_and_that_is_counted),
		cmocka_unit_test(perf_time_is_scaled_in_two_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
