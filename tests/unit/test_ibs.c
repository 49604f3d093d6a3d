/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction-based sampling. The tests take raw samples with the register layouts of AMD's
 * manuals, check the events that follow from them, and follow a sample from the option to the
 * store.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "fake_machine.h"
#include "pipeline/ext.h"
#include "pipeline/ibs.h"

#define BIT(n)   (1ULL << (n))
#define ZEN      0x19
#define CAPS_OLD 0x1f
#define CAPS_ZEN (0xff | 1U << 9 | 1U << 10)

/* ---- rules ---- */

struct registers {
	uint32_t caps;
	uint64_t reg[9];
	size_t n;
};

static size_t put_raw(const struct registers *r, uint8_t raw[sizeof(*r)])
{
	memcpy(raw, &r->caps, 4);
	memcpy(raw + 4, r->reg, r->n * 8);
	return 4 + r->n * 8;
}

static uint64_t count_fetch(uint64_t ctl, uint32_t code)
{
	struct registers r = { CAPS_ZEN, { ctl, 0x401000, 0x1000 }, 3 };
	struct ibs_sample s;
	uint8_t raw[sizeof(r)];

	assert_true(ibs_parse(IBS_FETCH, raw, put_raw(&r, raw), &s));
	return ibs_count(&s, code, ZEN);
}

static uint64_t count_op(uint32_t family, uint32_t caps, const uint64_t data[3], uint32_t code)
{
	struct registers r = { caps,
			       { 0, 0x401000, data[0], data[1], data[2], 0x7000, 0x8000 },
			       7 };
	struct ibs_sample s;
	uint8_t raw[sizeof(r)];

	assert_true(ibs_parse(IBS_OP, raw, put_raw(&r, raw), &s));
	return ibs_count(&s, code, family);
}

static void fetches_count_by_the_bits_of_their_register(void **state)
{
	static const struct {
		uint32_t code;
		uint64_t ctl, count;
	} rows[] = {
		{ 0xf000, 0, 1 },
		{ 0xf001, BIT(49), 1 },
		{ 0xf001, BIT(55), 0 },
		{ 0xf001, BIT(50), 0 },
		{ 0xf002, 0, 0 },
		{ 0xf002, BIT(51), 1 },
		{ 0xf003, BIT(50), 1 },
		{ 0xf003, BIT(51), 0 },
		{ 0xf004, BIT(50), 0 },
		{ 0xf004, 0, 1 },
		{ 0xf005, BIT(52), 1 },
		{ 0xf005, BIT(52) | BIT(55), 0 },
		{ 0xf005, 0, 0 },
		{ 0xf006, BIT(55), 1 },
		{ 0xf006, BIT(55) | BIT(56), 0 },
		{ 0xf007, BIT(55) | BIT(56), 1 },
		{ 0xf007, BIT(56), 0 },
		{ 0xf008, BIT(51), 1 },
		{ 0xf009, BIT(50), 1 },
		{ 0xf009, BIT(50) | BIT(51), 0 },
		{ 0xf00a, BIT(52), 1 },
		{ 0xf00a, 0, 0 },
		{ 0xf00a, BIT(52) | BIT(53), 0 },
		{ 0xf00b, BIT(52) | BIT(53), 1 },
		{ 0xf00b, BIT(52) | BIT(54), 0 },
		{ 0xf00c, BIT(52) | BIT(54), 1 },
		{ 0xf00e, 0x1234ULL << 32, 0x1234 },
		{ 0xf00e, 0xffffffffULL, 0 },
		{ 0xf100, BIT(50), 0 }, /* of an operation */
		{ 0xf00d, ~0ULL, 0 },   /* nobody's */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (count_fetch(rows[i].ctl, rows[i].code) != rows[i].count)
			fail_msg("row %zu: %x", i, rows[i].code);
}

#define LOAD    BIT(0)
#define STORE   BIT(1)
#define MISSED  (LOAD | BIT(7))
#define LATENCY (0x123ULL << 32)
#define RETURN  (BIT(37) | BIT(34))

static void operations_count_by_the_bits_of_their_registers(void **state)
{
	static const struct {
		uint32_t code;
		uint64_t data[3], count;
	} rows[] = {
		{ 0xf100, { 0 }, 1 },
		{ 0xf101, { 0x00200010 }, 0x20 },
		{ 0xf102, { 0x00200010 }, 0x10 },
		{ 0xf102, { 0x00200000 }, 0 },
		{ 0xf103, { BIT(37) }, 1 },
		{ 0xf103, { BIT(36) }, 0 },
		{ 0xf104, { BIT(37) | BIT(36) }, 1 },
		{ 0xf104, { BIT(36) }, 0 },
		{ 0xf105, { BIT(37) | BIT(35) }, 1 },
		{ 0xf106, { BIT(37) | BIT(35) | BIT(36) }, 1 },
		{ 0xf106, { BIT(37) | BIT(35) }, 0 },
		{ 0xf107, { RETURN }, 1 },
		{ 0xf108, { RETURN | BIT(36) }, 1 },
		{ 0xf108, { RETURN }, 0 },
		{ 0xf200, { 0, 0, LOAD }, 1 },
		{ 0xf200, { 0, 0, STORE }, 1 },
		{ 0xf200, { 0, 0, BIT(7) }, 0 },
		{ 0xf201, { 0, 0, LOAD }, 1 },
		{ 0xf201, { 0, 0, STORE }, 0 },
		{ 0xf202, { 0, 0, STORE }, 1 },
		{ 0xf203, { 0, 0, LOAD | BIT(17) }, 1 },
		{ 0xf203, { 0, 0, LOAD | BIT(17) | BIT(2) }, 0 },
		{ 0xf203, { 0, 0, BIT(17) }, 0 }, /* neither load nor store */
		{ 0xf204, { 0, 0, LOAD | BIT(17) | BIT(2) }, 1 },
		{ 0xf205, { 0, 0, LOAD | BIT(17) | BIT(2) | BIT(3) }, 1 },
		{ 0xf205, { 0, 0, LOAD | BIT(17) | BIT(2) }, 0 },
		{ 0xf206, { 0, 0, STORE | BIT(7) }, 1 },
		{ 0xf207, { 0, 0, STORE }, 1 },
		{ 0xf207, { 0, 0, STORE | BIT(7) }, 0 },
		{ 0xf208, { 0, 0, LOAD | BIT(8) }, 1 },
		{ 0xf20d, { 0, 0, LOAD | BIT(14) }, 1 },
		{ 0xf20e, { 0, 0, LOAD | BIT(13) }, 1 },
		{ 0xf20f, { 0, 0, LOAD | BIT(15) }, 1 },
		{ 0xf211, { 0, 0, LOAD | BIT(17) }, 1 },
		{ 0xf211, { 0, 0, LOAD | BIT(17) | BIT(4) }, 0 },
		{ 0xf212, { 0, 0, LOAD | BIT(17) | BIT(4) }, 1 },
		{ 0xf213, { 0, 0, LOAD | BIT(17) | BIT(5) }, 1 },
		{ 0xf213, { 0, 0, LOAD | BIT(17) | BIT(4) | BIT(5) }, 0 },
		{ 0xf215, { 0, 0, LOAD | BIT(17) | BIT(2) }, 1 },
		{ 0xf216, { 0, 0, LOAD | BIT(17) | BIT(2) | BIT(6) }, 1 },
		{ 0xf217, { 0, 0, LOAD | BIT(17) | BIT(2) | BIT(19) }, 1 },
		{ 0xf217, { 0, 0, LOAD | BIT(17) | BIT(2) | BIT(6) | BIT(19) }, 0 },
		{ 0xf219, { 0, 0, MISSED | LATENCY }, 0x123 },
		{ 0xf219, { 0, 0, LOAD | LATENCY }, 0 },
		{ 0xf219, { 0, 0, STORE | BIT(7) | LATENCY }, 0 },
		{ 0xf240, { 0, 3, MISSED }, 1 },
		{ 0xf240, { 0, 0, MISSED }, 0 }, /* no source */
		{ 0xf240, { 0, 3, LOAD }, 0 },   /* no miss */
		{ 0xf241, { 0, 3 | BIT(4), MISSED }, 1 },
		{ 0xf242, { 0, 1, MISSED }, 1 },
		{ 0xf242, { 0, 1 | BIT(4), MISSED }, 0 },
		{ 0xf243, { 0, 2, MISSED }, 1 },
		{ 0xf244, { 0, 2 | BIT(4), MISSED }, 1 },
		{ 0xf245, { 0, 3, MISSED }, 1 },
		{ 0xf246, { 0, 3 | BIT(4), MISSED }, 1 },
		{ 0xf247, { 0, 7, MISSED }, 1 },
		{ 0xf248, { 0, 7 | BIT(4), MISSED }, 1 },
		{ 0xf249, { 0, 2, MISSED }, 1 },
		{ 0xf249, { 0, 3, MISSED }, 0 },
		{ 0xf24a, { 0, 2 | BIT(5), MISSED }, 1 },
		{ 0xf24b, { 0, 2, MISSED | LATENCY }, 0x123 },
		{ 0xf24c, { 0, 2 | BIT(4), MISSED | LATENCY }, 0x123 },
		{ 0xf000, { 0 }, 0 }, /* of a fetch */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (count_op(ZEN, CAPS_ZEN, rows[i].data, rows[i].code) != rows[i].count)
			fail_msg("row %zu: %x", i, rows[i].code);
}

static void families_differ_in_their_bits(void **state)
{
	static const struct {
		uint32_t family, caps, code;
		uint64_t data[3], count;
		bool exists;
	} rows[] = {
		/* Resyncs, bank conflicts and buffer hits exist before family 17h only. */
		{ 0x10, CAPS_OLD, 0xf109, { BIT(32) }, 1, true },
		{ ZEN, CAPS_ZEN, 0xf109, { BIT(32) }, 0, false },
		{ 0x15, CAPS_OLD, 0xf209, { 0, 0, LOAD | BIT(9) }, 1, true },
		{ 0x15, CAPS_OLD, 0xf20a, { 0, 0, STORE | BIT(10) }, 1, true },
		{ 0x14, CAPS_OLD, 0xf209, { 0, 0, LOAD | BIT(9) }, 0, false },
		{ ZEN, CAPS_ZEN, 0xf20a, { 0, 0, LOAD | BIT(10) }, 0, false },
		{ 0x14, CAPS_OLD, 0xf20b, { 0, 0, LOAD | BIT(11) }, 1, true },
		{ ZEN, CAPS_ZEN, 0xf20b, { 0, 0, LOAD | BIT(11) }, 0, false },
		{ 0x10, CAPS_OLD, 0xf20c, { 0, 0, LOAD | BIT(12) }, 1, true },
		{ 0x10, CAPS_OLD, 0xf210, { 0, 0, LOAD | BIT(16) }, 1, true },
		{ ZEN, CAPS_ZEN, 0xf210, { 0, 0, LOAD | BIT(16) }, 0, false },
		/* Pages of 1 GiB. */
		{ 0x14, CAPS_OLD, 0xf213, { 0, 0, LOAD | BIT(17) | BIT(5) }, 0, false },
		{ 0x14, CAPS_OLD, 0xf211, { 0, 0, LOAD | BIT(17) | BIT(5) }, 1, true },
		/* Without nodes nothing is remote. */
		{ 0x12, CAPS_OLD, 0xf241, { 0, 3 | BIT(4), MISSED }, 0, false },
		{ 0x12, CAPS_OLD, 0xf240, { 0, 3 | BIT(4), MISSED }, 1, true },
		/* Zen 4 has two bits more for the source: 5 is a cache far away, 8 (0 before)
		   memory beyond the sockets. */
		{ ZEN, CAPS_ZEN | IBS_CAPS_ZEN4, 0xf243, { 0, 5, MISSED }, 1, true },
		{ ZEN, CAPS_ZEN, 0xf243, { 0, 5, MISSED }, 0, true },
		{ ZEN, CAPS_ZEN | IBS_CAPS_ZEN4, 0xf247, { 0, BIT(6), MISSED }, 1, true },
		{ ZEN, CAPS_ZEN, 0xf247, { 0, BIT(6), MISSED }, 0, true },
		{ ZEN, CAPS_ZEN | IBS_CAPS_ZEN4, 0xf245, { 0, 3 | BIT(7), MISSED }, 0, true },
		{ 0, CAPS_OLD, 0xf109, { BIT(32) }, 1, true }, /* not known: all that there is */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (count_op(rows[i].family, rows[i].caps, rows[i].data, rows[i].code) !=
		    rows[i].count)
			fail_msg("row %zu: %x", i, rows[i].code);
		assert_int_equal(ibs_event_exists(rows[i].code, rows[i].family), rows[i].exists);
	}
	assert_false(ibs_event_exists(0xf300, ZEN));
}

static void an_invalid_address_is_one_where_that_bit_is_there(void **state)
{
	struct registers r = { CAPS_ZEN, { 0, 0x401000, BIT(38), 0, 0, 0, 0 }, 7 };
	struct ibs_sample s;
	uint8_t raw[sizeof(r)];

	(void)state;
	ibs_parse(IBS_OP, raw, put_raw(&r, raw), &s);
	assert_false(ibs_has_address(&s, ZEN));
	assert_true(ibs_has_address(&s, 0x10)); /* there it is reserved */
	r.caps &= ~IBS_CAPS_RIP_INVALID_CHECK;
	ibs_parse(IBS_OP, raw, put_raw(&r, raw), &s);
	assert_true(ibs_has_address(&s, ZEN));
}

static void raw_data_may_be_longer_and_not_shorter(void **state)
{
	struct registers r = { CAPS_ZEN, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 9 };
	struct ibs_sample s;
	uint8_t raw[sizeof(r)];
	size_t size = put_raw(&r, raw);

	(void)state;
	assert_true(ibs_parse(IBS_OP, raw, size, &s));
	assert_true(s.has_target && s.target == 8 && s.physical == 7);
	r.caps &= ~IBS_CAPS_BRANCH_TARGET; /* then the eighth is another register */
	put_raw(&r, raw);
	assert_true(ibs_parse(IBS_OP, raw, size, &s) && !s.has_target);
	for (size_t n = 0; n <= size; n++) {
		assert_int_equal(ibs_parse(IBS_OP, raw, n, &s), n >= 4 + 7 * 8);
		assert_int_equal(ibs_parse(IBS_FETCH, raw, n, &s), n >= 4 + 3 * 8);
		assert_false(ibs_parse(IBS_NONE, raw, n, &s));
	}
}

/* ---- counters ---- */

static int setup(void **state)
{
	struct machine *m;

	if (machine_setup(state) < 0)
		return -1;
	m = *state;
	put(m, "proc/cpuinfo",
	    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n");
	put(m, "sys/bus/event_source/devices/ibs_op/type", "11\n");
	put(m, "sys/bus/event_source/devices/ibs_op/format/cnt_ctl", "config:19\n");
	put(m, "sys/bus/event_source/devices/ibs_fetch/type", "10\n");
	put(m, "sys/bus/event_source/devices/ibs_fetch/format/rand_en", "config:57\n");
	m->sources.events = ASSAY_SRC "/../events";
	return 0;
}

static int parse(struct machine *m, const char *spec)
{
	const struct counter_rate rate = { .freq_hz = 0 };

	return counter_parse(&m->sources, spec, &rate, &m->counters, &m->err);
}

static void events_of_a_kind_share_open_counters(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	assert_int_equal(parse(m, "IBS_OP_ALL:100000,cpu-clock:1000000"), 0);
	assert_int_equal(parse(m, "IBS_OP_LOAD:100000,IBS_FETCH_ALL:60000"), 0);
	c = m->counters.data;
	assert_int_equal(m->counters.n, 4);
	assert_true(c[0].attr.type == 11 && c[0].attr.config == BIT(19));
	assert_true(c[0].attr.sample_period == 100000 && !c[0].attr.freq);
	assert_int_equal(c[0].event_code, 0xf100);
	assert_string_equal(c[0].ext, "ibs_op");
	assert_int_equal(c[0].carrier, 0);
	assert_null(c[1].ext);
	assert_int_equal(c[2].carrier, 1);
	assert_true(c[3].attr.type == 10 && c[3].attr.config == BIT(57));
	assert_int_equal(c[3].carrier, 0);
}

static void modes_are_the_kernels_to_look_at_where_it_can(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put(m, "sys/bus/event_source/devices/ibs_op/format/swfilt", "config2:0\n");
	assert_int_equal(parse(m, "IBS_OP_ALL:100000:1:0:1,ibs_op/cnt_ctl=1,period=160/k"), 0);
	c = m->counters.data;
	assert_true(c[0].attr.exclude_kernel && c[0].attr.config2 == 1);
	assert_true(c[1].attr.exclude_user && c[1].attr.config2 == 1);
	assert_int_equal(parse(m, "IBS_FETCH_ALL:100000"), 0);
	assert_int_equal(m->counters.data[2].attr.config2, 0);
}

static void impossible_requests_are_errors(void **state)
{
	struct machine *m = *state;

	assert_int_equal(parse(m, "IBS_OP_ALL:100000:0x3"), 0);
	assert_true(parse(m, "IBS_OP_LOAD:200000:0x3") < 0);
	assert_non_null(strstr(m->err.text, "are made of the same samples, of ibs_op"));
	assert_true(parse(m, "IBS_OP_LOAD:100000") < 0);
	assert_true(parse(m, "IBS_OP_LOAD:112") < 0);
	assert_non_null(strstr(m->err.text, "minimum of 50000"));
	/* What the kernel would call an invalid argument. */
	assert_true(parse(m, "IBS_OP_LOAD:100001") < 0);
	assert_non_null(strstr(m->err.text, "IBS counts in steps of 16: 100000 would do"));
	assert_true(parse(m, "IBS_FETCH_ALL:100000:0:0:1") == -ENOTSUP);
	assert_non_null(strstr(m->err.text, "counts user and kernel mode together"));
	assert_true(parse(m, "{IBS_FETCH_ALL:100000,cycles}") < 0);
	assert_non_null(strstr(m->err.text, "can't be in a group"));
	file_remove_tree(m->sysfs, NULL);
	counters_fini(&m->counters);
	assert_true(parse(m, "IBS_OP_LOAD:100000") == -ENODEV);
	assert_non_null(strstr(m->err.text, "there is no ibs_op here"));
}

/* ---- the feature ---- */

static struct sample_extra extra;
static uint8_t raw_bytes[sizeof(struct registers)];

static struct event sample_of(uint32_t counter, const struct registers *r)
{
	extra = (struct sample_extra){ .raw = raw_bytes,
				       .raw_size = (uint32_t)put_raw(r, raw_bytes) };
	return (struct event){
		.type = EVENT_SAMPLE,
		.pid = 41,
		.tid = 42,
		.cpu = 3,
		.sample = { .counter = counter, .ip = 0x401000, .period = 100000, .extra = &extra }
	};
}

static void put_statistic(void *context, const char *feature, const char *key, uint64_t value)
{
	buf_printf(context, "%s %s %lu\n", feature, key, value);
}

static void a_raw_sample_counts_in_each_event_that_fits(void **state)
{
	const struct registers r = {
		CAPS_ZEN, { 0, 0x401000, 0x00200010, 0, MISSED | LATENCY, 0x7000, 0x8000, 0 }, 8
	};
	struct machine *m = *state;
	struct ext_count counts[EXT_MAX_COUNTS];
	struct registers bad = r;
	struct ext_session *s;
	struct buf text = { 0 };
	struct event e;

	assert_int_equal(parse(m, "cpu-clock:1000000,IBS_OP_LOAD:100000,IBS_OP_STORE:100000,"
				  "IBS_OP_DC_LOAD_LAT:100000,IBS_FETCH_ALL:60000"),
			 0);
	assert_int_equal(ext_open(&m->counters, &m->sources, &s, &m->err), 0);
	assert_non_null(s);
	assert_false(ext_has(s, 0));
	assert_true(ext_has(s, 1) && ext_has(s, 4));
	assert_false(ext_has(s, 5));
	e = sample_of(1, &r);
	assert_int_equal(ext_derive(s, &e, counts), 2);
	assert_true(counts[0].counter == 1 && counts[0].samples == 1 && counts[0].period == 100000);
	assert_true(counts[1].counter == 3 && counts[1].samples == 0x123 &&
		    counts[1].period == 0x123);
	bad.reg[2] |= BIT(38);
	e = sample_of(1, &bad);
	assert_int_equal(ext_derive(s, &e, counts), EXT_LOST);
	bad.n = 5;
	e = sample_of(1, &bad);
	assert_int_equal(ext_derive(s, &e, counts), EXT_BAD);
	e.sample.extra = NULL;
	assert_int_equal(ext_derive(s, &e, counts), EXT_BAD);
	bad.n = 3;
	e = sample_of(4, &bad);
	assert_int_equal(ext_derive(s, &e, counts), 1);
	ext_print(s, put_statistic, &text);
	assert_string_equal(buf_cstr(&text), "ibs fetch-samples 1\nibs op-samples 2\n"
					     "ibs without-address 1\nibs incomplete 2\n"
					     "ibs counts 3\n");
	buf_fini(&text);
	ext_close(s);
}

static void logs_are_written_where_the_unit_mask_wants_them(void **state)
{
	const struct registers r = {
		CAPS_ZEN, { 0, 0x401000, BIT(37), 0, MISSED | LATENCY, 0x7000, 0x8000, 0x402000 }, 8
	};
	struct machine *m = *state;
	struct ext_count counts[EXT_MAX_COUNTS];
	struct ext_session *s;
	char path[128], *text;
	struct event e;
	size_t size;

	assert_int_equal(parse(m, "IBS_OP_ALL:100000:0x7"), 0);
	assert_int_equal(ext_open(&m->counters, &m->sources, &s, &m->err), 0);
	assert_int_equal(ext_open_files(s, m->root, NULL), 0);
	e = sample_of(0, &r);
	assert_int_equal(ext_derive(s, &e, counts), 1);
	ext_sync_files(s);
	snprintf(path, sizeof(path), "%s/ibs_memaccess.log", m->root);
	assert_int_equal(file_read_all(path, 1 << 20, &text, &size), 0);
	assert_string_equal(strchr(text, '\n'), "\n41 42 3 0x401000 load 0x7000 0x8000 1 291\n");
	free(text);
	snprintf(path, sizeof(path), "%s/ibs_bta.log", m->root);
	assert_int_equal(file_read_all(path, 1 << 20, &text, &size), 0);
	assert_string_equal(strchr(text, '\n'), "\n41 42 3 0x401000 0x402000\n");
	free(text);
	/* The next session has its own. */
	assert_int_equal(ext_open_files(s, m->proc, NULL), 0);
	snprintf(path, sizeof(path), "%s/ibs_bta.log", m->proc);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(ext_open_files(s, "/proc/none", &m->err), -ENOENT);
	ext_close(s);
}

static int add_event(void *context, const char *event)
{
	buf_printf(context, "%s ", event);
	return 0;
}

static void arguments_become_events(void **state)
{
	static const char *const bad[] = { "ibs",
					   "ibs:",
					   "ibs:op",
					   "ibs:op:",
					   "ibs:op::5:1",
					   "ibs:read:A:1:0",
					   "ibs:op:A:1:0:7",
					   "ibs:op:A:1:0|",
					   "ibt:op:A:1:0",
					   "" };
	struct buf events = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ext_init("ibs:fetch:IBS_FETCH_ALL:100000:0|op:IBS_OP_ALL,IBS_OP_LOAD:"
				  "200000:1",
				  add_event, &events, &err),
			 0);
	assert_string_equal(buf_cstr(&events),
			    "IBS_FETCH_ALL:100000:0 IBS_OP_ALL:200000:1 IBS_OP_LOAD:200000:1 ");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ext_init(bad[i], add_event, &events, &err), -EINVAL);
	assert_non_null(strstr(err.text, "there is ibs:fetch:EVENT"));
	buf_fini(&events);
}

static void what_a_family_does_not_tell_is_refused(void **state)
{
	struct machine *m = *state;
	struct ext_session *s;

	assert_int_equal(parse(m, "IBS_OP_ALL:100000,IBS_OP_RESYNC:100000"), 0);
	assert_int_equal(ext_open(&m->counters, &m->sources, &s, &m->err), -ENOTSUP);
	assert_string_equal(m->err.text, "event 'IBS_OP_RESYNC': processors of family 19h "
					 "cannot count it");
	put(m, "proc/cpuinfo", "cpu family\t: 16\n");
	assert_int_equal(ext_open(&m->counters, &m->sources, &s, &m->err), 0);
	ext_close(s);
}

static void without_such_counters_there_is_no_feature(void **state)
{
	struct machine *m = *state;
	struct ext_session *s;

	assert_int_equal(parse(m, "cpu-clock:1000000"), 0);
	assert_int_equal(ext_open(&m->counters, &m->sources, &s, &m->err), 0);
	assert_null(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetches_count_by_the_bits_of_their_register),
		cmocka_unit_test(operations_count_by_the_bits_of_their_registers),
		cmocka_unit_test(families_differ_in_their_bits),
		cmocka_unit_test(an_invalid_address_is_one_where_that_bit_is_there),
		cmocka_unit_test(raw_data_may_be_longer_and_not_shorter),
		TEST(events_of_a_kind_share_open_counters),
		TEST(modes_are_the_kernels_to_look_at_where_it_can),
		TEST(impossible_requests_are_errors),
		TEST(a_raw_sample_counts_in_each_event_that_fits),
		TEST(logs_are_written_where_the_unit_mask_wants_them),
		TEST(arguments_become_events),
		TEST(what_a_family_does_not_tell_is_refused),
		TEST(without_such_counters_there_is_no_feature),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
