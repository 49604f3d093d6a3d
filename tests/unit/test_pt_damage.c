/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged traces of Intel PT: each bit of a small trace is turned. */
#include "pt_world.h"

static const char trace[] =
	PSB "TSC 0x3e8\nTNT TTN\nTIP 0x1000\nMTC 0x12\nTNT TT\nTIP 0x1002\nTIP 0x1000\n"
	    "PTWRITE 0x8202820282028202 IP:0\nTNT N\nTIP 0x1004\nTNT T\nTIP 0x1000\n"
	    "PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nTSC 0x7d0\nPSBEND\n"
	    "TNT T\nFUP 0x1020\nTIP 0x1000\nTNT N\nTIP.PGD no ip\nTIP.PGE 0x1000\n"
	    "PSB\nTSC 0xbb8\nMODE.Exec IF:0 64\nFUP 0x1000\nPSBEND\nTNT N\nTIP.PGD no ip\n";

static void expect_pieces_to_equal_the_whole(const uint8_t *bytes, size_t size, size_t piece)
{
	struct world whole, cut;

	setup(&whole);
	setup(&cut);
	whole.says_counts = cut.says_counts = true;
	whole.hides_offsets = cut.hides_offsets = true;
	cut.piece = piece;
	decode_bytes(&whole, bytes, size);
	decode_bytes(&cut, bytes, size);
	assert_string_equal(buf_cstr(&cut.said), buf_cstr(&whole.said));
	assert_memory_equal(cut.stats.errors, whole.stats.errors, sizeof(cut.stats.errors));
	buf_fini(&whole.said);
	buf_fini(&cut.said);
}

static void damaged_bytes_in_pieces_give_the_same_as_the_whole(void **state)
{
	static const size_t pieces[] = { 7, 16, 33 };
	struct buf bytes = { 0 };

	(void)state;
	assert_int_equal(pt_text_write(&bytes, trace, NULL), 0);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
			expect_pieces_to_equal_the_whole(bytes.data, bytes.len, pieces[i]);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_fini(&bytes);
}

/* What seems to begin a PSB at the end of a piece may be the middle of a packet. */
static void bytes_that_begin_no_psb_are_read(void **state)
{
	static const char head[] = PSB "TNT N\n";
	static const uint8_t rest[] = { 0x02, 0x04, 0x19, 0x02, 0x82, 0x02, 0x82,
					0x02, 0x82, 0x02, 0x06, 0x02, 0x82 };
	struct buf bytes = { 0 };

	(void)state;
	assert_int_equal(pt_text_write(&bytes, head, NULL), 0);
	buf_bytes(&bytes, rest, sizeof(rest));
	assert_int_equal(pt_text_write(&bytes, "TIP 0x1000\nTNT N\nTIP.PGD no ip\n", NULL), 0);
	for (size_t piece = 1; piece < bytes.len; piece++)
		expect_pieces_to_equal_the_whole(bytes.data, bytes.len, piece);
	buf_fini(&bytes);
}

static void expect_with_mappings(const char *text, const char *want)
{
	struct world w;

	setup(&w);
	w.knows_mappings = true;
	assert_string_equal(decode(&w, text), want);
	buf_fini(&w.said);
}

static void code_that_no_mapping_covers_puts_a_stretch_in_doubt(void **state)
{
	(void)state;
	/* A file is not there. */
	expect_with_mappings(PSB "TNT N\nTIP 0x5000\nTIP 0x1000\n" PSB "TNT N\nTIP.PGD no ip\n",
			     "0-1000 bB\n1002-1010 b\n1010-5000 bcs\n"
			     "error at 5000+35: code could not be read\n0-1000 bB\n"
			     "1002-1010 b\n1010-0 bcsE\n");
	/* Nothing can be there. */
	expect_with_mappings(PSB "TNT N\nTIP 0x6000\nTIP 0x1000\n" PSB "TNT N\nTIP.PGD no ip\n",
			     "0-1000 bB\n1002-1010 b\n1010-6000 bcs\n"
			     "error at 6000+35: code could not be read\n0-1000 bB\n"
			     "unverified insns 3 offset 0x0 confirmed\n"
			     "1002-1010 b\n1010-0 bcsE\n");
}

static void behind_an_error_the_callers_stay(void **state)
{
	(void)state;
	/* The return has a direction that no return has. */
	expect(PSB "TNT TN\nTIP 0x1020\nTNT T\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n"
	       "error at 1020+28: the trace does not fit the code\n0-1020 bB\n1021-1009 br\n"
	       "1009-1000 b\n1002-1010 b\n1010-0 bcsE\n");
	/* But code that could not be read may have had calls. */
	expect(PSB "TNT T\nFUP 0x1020\nTIP 0x5000\nTNT T\nTIP 0x1020\nTNT T\nTIP 0x1000\nTNT N\n"
		   "TIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1020-5000 bcyi\n"
	       "error at 5000+43: code could not be read\n0-1020 bB\n"
	       "error at 1020+51: the trace does not fit the code\n0-1000 bB\n1002-1010 b\n"
	       "1010-0 bcsE\n");
}

/* No processor writes the same MTC again. So the bytes between are there twice. */
static void a_time_packet_that_comes_twice_puts_a_stretch_in_doubt(void **state)
{
#define TIMED_PSB "PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nTSC 0x3e8\nTMA CTC 0x80 FC 0x0\nPSBEND\n"
#define LOOP      "TNT N\nTIP 0x1000\n"
	struct world w;

	(void)state;
	setup(&w);
	assert_null(strstr(decode(&w, TIMED_PSB "MTC 0x11\n" LOOP "MTC 0x12\n" LOOP PSB),
			   "unverified"));
	assert_non_null(strstr(decode(&w, TIMED_PSB "MTC 0x11\n" LOOP "MTC 0x11\n" LOOP PSB),
			       "unverified insns 6"));
	buf_fini(&w.said);
}

/* The time is far ahead by a counter that went back, which the next PSB tells. */
static void a_time_that_goes_back_puts_the_stretch_before_in_doubt(void **state)
{
	static const char later[] = "PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nTSC 0x%x\nPSBEND\n";
	struct world w;

	(void)state;
	setup(&w);
	for (int i = 0; i < 2; i++) {
		uint32_t tsc = i ? 0x40000 : 0x800;
		cleanup(free_at_exit) char *psb = xasprintf(later, tsc);
		cleanup(free_at_exit) char *text =
			xasprintf(TIMED_PSB "MTC 0x11\n" LOOP "MTC 0x12\n" LOOP "MTC 0x11\n" LOOP
					    "%s",
				  psb);
		bool is_marked =
			strstr(decode(&w, text), "unverified insns 9 offset 0x0 confirmed");

		assert_int_equal(is_marked, !i);
	}
	buf_fini(&w.said);
}

/* What seems to be a direction in the head of a PSB. */
static void a_misplaced_packet_in_a_psb_does_not_end_decoding(void **state)
{
	(void)state;
	expect("PSB\nTNT T\nMODE.Exec IF:0 64\nFUP 0x1000\nPSBEND\nTNT N\nTIP 0x1000\nTNT N\n"
	       "TIP.PGD no ip\n",
	       "error at 0+17: a packet that may not be where it is\n0-1000 bB\n1002-1010 b\n"
	       "1010-1000 bcs\n1002-1010 b\n1010-0 bcsE\n");
}

/* A damaged byte seems to be a change to 16-bit code. */
static void behind_an_error_code_has_the_width_of_the_psb(void **state)
{
	(void)state;
	expect(PSB
	       "TNT N\nMODE.Exec IF:0 16\nTIP 0x1020\nTNT N\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1002-1010 b\n1010-1020 bcs\nwidth 16\n"
	       "error at 1020+38: the trace does not fit the code\nwidth 64\n0-1000 bB\n"
	       "1002-1010 b\n1010-0 bcsE\n");
}

static void behind_missing_code_the_width_stays(void **state)
{
	(void)state;
	expect(PSB "TNT N\nMODE.Exec IF:0 32\nTIP 0x5000\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1002-1010 b\n1010-5000 bcs\nwidth 32\n"
	       "error at 5000+37: code could not be read\n0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
}

struct psbs {
	uint64_t offsets[8], tsc[8];
	size_t n;
	uint64_t stretch;
};

static void note_psbs(void *context, const struct pt_event *events, size_t n)
{
	struct psbs *p = context;

	for (const struct pt_event *e = events; e < events + n; e++) {
		if (e->kind == PT_EV_PSB && p->n < ARRAY_SIZE(p->offsets)) {
			p->offsets[p->n] = e->psb.offset;
			p->tsc[p->n++] = e->tsc;
		} else if (e->kind == PT_EV_UNVERIFIED) {
			p->stretch = e->unverified.offset;
		}
	}
}

/* The stretch behind it begins at its time. The PSB before is earlier. */
static void a_psb_with_a_damaged_head_is_an_event(void **state)
{
	struct psbs psbs = { .n = 0 };
	struct pt_memory memory = { read_code, &(struct world){ .code = { 0 } } };
	struct pt_flow_config config = { .events = note_psbs, .context = &psbs };
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_flow *flow = pt_flow_new(&config, code);
	struct buf bytes = { 0 };
	size_t second;

	(void)state;
	assert_int_equal(pt_text_write(&bytes, "PSB\nTSC 0x3e8\nPSBEND\n", NULL), 0);
	second = bytes.len;
	assert_int_equal(pt_text_write(&bytes, "PSB\nTSC 0x7d0\n", NULL), 0);
	buf_bytes(&bytes, "\x02\x04", 2);
	assert_int_equal(pt_text_write(&bytes, "PSBEND\nPSB\nTSC 0xbb8\nPSBEND\n", NULL), 0);
	pt_flow_feed(flow, bytes.data, bytes.len);
	assert_int_equal(psbs.n, 3);
	assert_int_equal(psbs.offsets[1], second);
	assert_int_equal(psbs.tsc[1], 2000);
	assert_int_equal(psbs.stretch, second);
	pt_flow_free(flow);
	pt_code_free(code);
	buf_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_bytes_in_pieces_give_the_same_as_the_whole),
		cmocka_unit_test(bytes_that_begin_no_psb_are_read),
		cmocka_unit_test(code_that_no_mapping_covers_puts_a_stretch_in_doubt),
		cmocka_unit_test(behind_an_error_the_callers_stay),
		cmocka_unit_test(a_time_packet_that_comes_twice_puts_a_stretch_in_doubt),
		cmocka_unit_test(a_time_that_goes_back_puts_the_stretch_before_in_doubt),
		cmocka_unit_test(a_misplaced_packet_in_a_psb_does_not_end_decoding),
		cmocka_unit_test(behind_an_error_code_has_the_width_of_the_psb),
		cmocka_unit_test(behind_missing_code_the_width_stays),
		cmocka_unit_test(a_psb_with_a_damaged_head_is_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
