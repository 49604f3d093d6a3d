/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flow of Intel PT traces: packets as text over a few instructions. Errors are reported. */
#include "pt_world.h"

#include "pt/piece.h"

static void branches_of_every_kind(void **state)
{
	(void)state;
	expect(PSB "TNT TT\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1009 br\n1009-1000 b\n1002-1010 b\n"
	       "1010-0 bcsE\n");
}

static void a_return_with_an_address_is_not_compressed(void **state)
{
	(void)state;
	expect(PSB "TNT T\nTIP 0x1010\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1010 br\n1010-0 bcsE\n");
}

#define UP_TO_1009 "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1009 br\n"

/* With other code at an address. */
static void expect_with(uint64_t at, const char *code, size_t size, const char *text,
			const char *want)
{
	struct world w;

	setup(&w);
	memcpy(w.code + (at - 0x1000), code, size);
	assert_string_equal(decode(&w, text), want);
	buf_fini(&w.said);
}

static void far_branches_leave_the_return_stack_alone(void **state)
{
	(void)state;
	/* retf */
	expect_with(
		0x1020, "\xcb", 1, PSB "TNT T\nTIP 0x1021\nTNT T\nTIP.PGD no ip\n",
		"0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1020-1021 br\n1021-1009 br\n1009-0 bE\n");
	/* jmp far *(%rax) */
	expect_with(0x1009, "\xff\x28", 2, PSB "TNT TT\nTIP 0x1010\nTIP.PGD no ip\n",
		    UP_TO_1009 "1009-1010 b\n1010-0 bcsE\n");
	/* call far *(%rax): no return behind it is compressed. */
	expect_with(0x1009, "\xff\x18", 2, PSB "TNT TT\nTIP 0x1021\nTNT T\n",
		    UP_TO_1009 "1009-1021 bc\nerror at 1021+36: the trace does not fit the code\n");
}

/* 1009 vmresume, je 1010, jmp *%rax */
#define VM_ENTRY 0x1009, "\x0f\x01\xc3\x74\x02\xff\xe0", 7

static void a_machine_is_entered_or_is_not(void **state)
{
	(void)state;
	expect_with(VM_ENTRY, PSB "TNT TT\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
		    UP_TO_1009 "1009-1000 bcg\n1002-1010 b\n1010-0 bcsE\n");
	expect_with(VM_ENTRY, PSB "TNT TT\nTIP.PGD no ip\n", UP_TO_1009 "1009-0 bcEg\n");
	/* It fails: */
	expect_with(VM_ENTRY, PSB "TNT TTT\nTIP.PGD no ip\n",
		    UP_TO_1009 "100c-1010 bo\n1010-0 bcsE\n");
	expect_with(VM_ENTRY, PSB "TNT TTN\nTIP 0x1010\nTIP.PGD no ip\n",
		    UP_TO_1009 "100e-1010 b\n1010-0 bcsE\n");
	expect_with(VM_ENTRY, PSB "TNT TT\nFUP 0x100c\nTIP 0x1010\nTIP.PGD no ip\n",
		    UP_TO_1009 "100c-1010 bcyi\n1010-0 bcsE\n");
	/* With a time before the next direction: */
	expect_with(VM_ENTRY, PSB "TSC 0x3e8\nTNT TT\nTSC 0x7d0\nTNT T\nTIP.PGD no ip\n",
		    "0-1000 bB\n1000-1004 bo @1000\n1004-1020 bc @1000\n1021-1009 br @1000\n"
		    "100c-1010 bo @2000\n1010-0 bcsE @2000\n");
}

static void directions_go_on_behind_a_deferred_address(void **state)
{
	(void)state;
	expect(PSB "TNT TTTT\nTIP 0x1000\nTIP 0x1010\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1009 br\n1009-1000 b\n"
	       "1000-1004 bo\n1004-1020 bc\n1021-1009 br\n1009-1010 b\n1010-0 bcsE\n");
}

static void an_interrupt_says_where_and_where_to(void **state)
{
	(void)state;
	expect(PSB
	       "TNT T\nFUP 0x1021\nTIP 0x1000\nTNT N\nFUP 0x1010\nTIP.PGD no ip\nTIP.PGE 0x1010\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1000 bcyi\n1002-1010 b\n"
	       "1010-0 byE\n0-1010 bB\n");
}

/* Feeds packets given as text. */
static void feed(struct pt_flow *flow, const char *text)
{
	struct buf bytes = { 0 };

	assert_int_equal(pt_text_write(&bytes, text, NULL), 0);
	pt_flow_feed(flow, bytes.data, bytes.len);
	buf_fini(&bytes);
}

/* One of them makes the graph forget the code where the other one stands. */
static void flows_of_two_widths_share_a_graph(void **state)
{
	struct world w, other;
	struct pt_memory memory = { read_code, &w };
	struct pt_flow_config config = { .events = note, .context = &w };
	struct pt_flow *wide, *narrow;
	struct pt_code *code;

	(void)state;
	setup(&w);
	setup(&other);
	code = pt_code_new(&memory, 0, 64, true);
	wide = pt_flow_new(&config, code);
	config.context = &other;
	narrow = pt_flow_new(&config, code);
	feed(wide, PSB "TNT T\nFUP 0x1020\nTIP 0x1020\n");
	feed(narrow, "PSB\nMODE.Exec IF:0 32\nFUP 0x1000\nPSBEND\n");
	feed(wide, "TNT T\nTIP 0x1010\nTIP.PGD no ip\n");
	assert_string_equal(buf_cstr(&w.said),
			    "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1020-1020 bcyi\n1021-1009 br\n"
			    "1009-1010 b\n1010-0 bcsE\n");
	assert_string_equal(buf_cstr(&other.said), "width 32\n0-1000 bB\n");
	pt_flow_free(wide);
	pt_flow_free(narrow);
	pt_code_free(code);
	buf_fini(&w.said);
	buf_fini(&other.said);
}

static void a_psb_tells_an_address_beyond_the_last_packet(void **state)
{
	(void)state;
	expect(PSB "TNT T\nPSB\nFUP 0x1021\nPSBEND\nTIP 0x1010\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1010 br\n1010-0 bcsE\n");
}

static void a_transaction_begins_and_is_aborted(void **state)
{
	(void)state;
	expect(PSB "MODE.TSX TXAbort:0 InTX:1\nFUP 0x1000\nTNT T\n"
		   "MODE.TSX TXAbort:1 InTX:0\nFUP 0x1020\nTIP 0x1000\n",
	       "0-1000 bB\ntransaction 0x1000 begins\n1000-1004 box\n1004-1020 bcx\n"
	       "transaction 0x1020 ends\n1020-1000 bA\n");
}

static void what_software_wrote_has_its_address(void **state)
{
	(void)state;
	expect(PSB "PTWRITE 0x12 IP:0\nTNT T\nPTWRITE 0x34 IP:1\nFUP 0x1020\nTNT T\n",
	       "0-1000 bB\nptwrite 0x1000 value 0x12\n1000-1004 bo\n1004-1020 bc\nptwrite 0x1020 "
	       "value 0x34\n"
	       "1021-1009 br\n");
}

/* Each packet keeps its own content. */
static void packets_of_two_kinds_share_the_address_behind_them(void **state)
{
	(void)state;
	expect(PSB "TNT T\nPTWRITE 0x34 IP:1\nEXSTOP IP:1\nFUP 0x1020\nTNT T\n",
	       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\nptwrite 0x1020 value 0x34\n"
	       "power 0x1020 EXSTOP 0x0\n1021-1009 br\n");
}

static void expect_quick(enum pt_quick quick, const char *text, const char *want)
{
	struct world w;

	setup(&w);
	w.quick = quick;
	assert_string_equal(decode(&w, text), want);
	buf_fini(&w.said);
}

static void quick_decoding_equals_decoding_of_addresses(void **state)
{
	const char *text =
		PSB "TNT TT\nTIP 0x1234\nTNT N\nFUP 0x1021\nTIP 0x1000\nTIP.PGD no ip\n"
		    "TIP.PGE 0x1010\nPTWRITE 0x34 IP:1\nFUP 0x1020\nTIP.PGD 0x1030\n" PSB;

	(void)state;
	/* Kind 8: execution was there. None of the code's addresses is asked for. */
	expect_quick(PT_QUICK, text,
		     "ip 0x1000\nip 0x1234\nip 0x1021\n1021-1000 bcyi\n"
		     "ip 0x1000\n0-1010 bB\nip 0x1010\nip 0x1020\n"
		     "ptwrite 0x1020 value 0x34\n0-1030 bE\nip 0x1000\n");
	expect_quick(PT_QUICKEST, text, "ip 0x1000\nip 0x1000\n");
}

static void changes_of_address_spaces_and_machines_are_reported(void **state)
{
	(void)state;
	expect("PSB\nPIP 0x1000 (NR=0)\nVMCS 0x12\nPSBEND\nPIP 0x1000 (NR=0)\nPIP 0x1000 (NR=1)\n",
	       "cr3 0x20000\nvmcs 0x12000\ncr3 0x20000 guest\n");
}

static void events_of_the_processor_have_their_addresses(void **state)
{
	(void)state;
	expect(PSB "CFE IP:1 Type 1 Vector 14\nFUP 0x1000\nEVD Type 2 Payload 0x77\n",
	       "0-1000 bB\ncfe 0x1000 type 1 vector 0xe\nevd type 2 payload 0x77\n");
}

/* An EVD is of the CFE behind it: the call on the way there has the time before. */
static void data_of_an_event_come_at_the_time_of_the_event(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	decode(&w, PSB "TSC 0x3e8\nTNT T\nTSC 0x7d0\nEVD Type 2 Payload 0x77\n"
		       "CFE IP:1 Type 1 Vector 14\nFUP 0x1021\n");
	assert_string_equal(buf_cstr(&w.said), "0-1000 bB\n1000-1004 bo @1000\n"
					       "evd type 2 payload 0x77 @1000\n1004-1020 bc @1000\n"
					       "cfe 0x1021 type 1 vector 0xe @2000\n");
	buf_fini(&w.said);
}

static void a_record_of_pebs_is_its_items_and_an_end(void **state)
{
	(void)state;
	expect(PSB "BBP SZ 8-byte Type 0x4\nBIP ID 0x00 Value 0x1000\nBIP ID 0x02 Value 0x77\n"
		   "BBP SZ 8-byte Type 0x1\nBIP ID 0x03 Value 0x5\nBEP IP:1\nFUP 0x1000\n"
		   "BEP IP:0\nBBP SZ 4-byte Type 0x5\nBIP ID 0x00 Value 0x6\nBEP IP:0\nTNT T\n",
	       "0-1000 bB\nitem group 4 number 0 value 0x1000\nitem group 4 number 2 value "
	       "0x77\nitem group 1 number 3 value 0x5\n"
	       "pebs 0x1000\nitem group 5 number 0 value 0x6 of 32 bits\npebs 0x0\n1000-1004 bo\n");
}

static void after_an_overflow_it_goes_on_where_the_trace_says(void **state)
{
	(void)state;
	expect(PSB "TNT T\nOVF\nFUP 0x1000\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1000-1004 bo\n"
	       "error at 1004+28: the processor could not write all packets (OVF)\n"
	       "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
}

static void errors_have_a_place_and_decoding_goes_on_at_the_next_psb(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "TNT N\nTNT N\n", "error at 1010+29: the trace does not fit the code" },
		{ "TNT TTN\nTIP no ip\n",
		  "error at 1009+28: a packet that may not be where it is" },
		{ "TNT TTN\nTNT N\nTIP no ip\n",
		  "error at 1009+29: the trace does not fit the code" },
		{ "TNT TN\n", "error at 1020+28: the trace does not fit the code" },
		{ "TNT TT\nTIP 0x5000\nTNT T\n", "error at 5000+36: code could not be read" },
		{ "TNT T\nFUP 0x1009\n", "error at 1020+28: the trace does not fit the code" },
		{ "TIP 0x1020\n", "error at 1000+27: the trace does not fit the code" },
		{ "TNT N\nTIP.PGE 0x1000\n",
		  "error at 1002+28: a packet that may not be where it is" },
		{ "TNT TT\nTIP 0x1012\nTNT T\n", "error at 1012+36: a loop that no packet leaves" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(free_at_exit) char *text =
			xasprintf(PSB "%s" PSB "TNT N\nTIP.PGD no ip\n", cases[i].text);
		struct world w;
		const char *said, *error, *end = "\n0-1000 bB\n1002-1010 b\n1010-0 bcsE\n";

		setup(&w);
		said = decode(&w, text);
		error = strstr(said, "error");
		if (!error || strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("%s gives %s", cases[i].text, said);
		/*
		 * At the latest there. If a packet before it has an address, decoding continues at
		 * that address.
		 */
		assert_string_equal(error + strlen(error) - strlen(end), end);
		buf_fini(&w.said);
	}
}

static void where_the_way_is_lost_the_next_address_is_gone_on_with(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	/* Code that can't be read is left out as a whole, with one error. */
	assert_string_equal(decode(&w, PSB "TNT TT\nTIP 0x5000\nTNT T\nTIP 0x6000\nTNT TTT\n"
					   "TIP 0x1000\nTNT N\nTIP.PGD no ip\n"),
			    "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1009 br\n"
			    "1009-5000 b\nerror at 5000+36: code could not be read\n"
			    "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
	buf_fini(&w.said);
}

/* Packets as text, and bytes that are none between them. */
static void expect_with_garbage(const char *before, const char *garbage, size_t size,
				const char *behind, const char *want)
{
	struct buf bytes = { 0 };
	struct world w;

	setup(&w);
	pt_text_write(&bytes, before, NULL);
	buf_bytes(&bytes, garbage, size);
	pt_text_write(&bytes, behind, NULL);
	decode_bytes(&w, bytes.data, bytes.len);
	assert_string_equal(buf_cstr(&w.said), want);
	buf_fini(&w.said);
	buf_fini(&bytes);
}

static void behind_bytes_that_are_no_packet_it_goes_on_where_it_stood(void **state)
{
	(void)state;
	expect_with_garbage(PSB "TNT T\n", "\x05\x05\x05", 3,
			    "TNT T\nTIP 0x1000\nTNT N\nTIP.PGD no ip\nPSB\nPSBEND\n",
			    "0-1000 bB\n1000-1004 bo\nerror at 1004+28: bytes that are no packet\n"
			    "1004-1020 bc\n1021-1009 br\n1009-1000 b\n1002-1010 b\n1010-0 bcsE\n"
			    "unverified insns 8 offset 0x0\n");
	/* Where it stood nowhere, at the next address. */
	expect_with_garbage(PSB "TNT N\nTIP.PGD no ip\n", "\x05\x05\x05", 3,
			    "TNT T\nTIP 0x1000\nTNT N\nTIP.PGD no ip\nPSB\nPSBEND\n",
			    "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n"
			    "error at 0+29: bytes that are no packet\n"
			    "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n"
			    "unverified insns 6 offset 0x0\n");
	/* Neither a time in there counts, nor a packet that covers the next PSB. */
	expect_with_garbage(PSB "TSC 0x3e8\nTNT N\n",
			    "\x05\x05\x19\xff\xff\xff\xff\xff\xff\xff\x02\xc3\x88", 13,
			    PSB "TSC 0x7d0\nTNT N\nTIP.PGD no ip\n",
			    "0-1000 bB\nerror at 1002+36: bytes that are no packet @1000\n"
			    "1002-1010 b @1000\n"
			    "error at 1010+49: the trace does not fit the code @1000\n"
			    "unverified insns 2 offset 0x0 @1000\n"
			    "0-1000 bB @1000\n1002-1010 b @2000\n1010-0 bcsE @2000\n");
}

static void a_stretch_with_an_error_is_marked_up_to_a_psb_that_confirms_it(void **state)
{
	static const char until_error[] = PSB "TNT N\nTIP 0x1000\n";

	(void)state;
	expect_with_garbage(until_error, "", 0,
			    "TIP 0x1000\nTIP 0x1020\nPSB\nFUP 0x1021\nPSBEND\nTIP.PGD no ip\n",
			    "0-1000 bB\n1002-1010 b\n1010-1000 bcs\n"
			    "error at 1000+35: the trace does not fit the code\n0-1000 bB\n"
			    "error at 1000+42: the trace does not fit the code\n0-1020 bB\n"
			    "unverified insns 4 offset 0x0 confirmed\n1021-0 brE\n");
	/* The next one refutes it. */
	expect_with_garbage(until_error, "", 0, "TIP 0x1020\n" PSB "TNT N\nTIP.PGD no ip\n",
			    "0-1000 bB\n1002-1010 b\n1010-1000 bcs\n"
			    "error at 1000+35: the trace does not fit the code\n0-1020 bB\n"
			    "error at 1020+60: the trace does not fit the code\n"
			    "unverified insns 3 offset 0x0\n0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
}

static void other_bytes_follow_those_that_are_no_packet(void **state)
{
	struct world w;
	struct pt_memory memory = { read_code, &w };
	struct pt_flow_config config = { .events = note, .context = &w };
	struct pt_code *code;
	struct pt_flow *flow;
	struct buf bytes = { 0 };
	size_t n = 0, used;

	(void)state;
	setup(&w);
	code = pt_code_new(&memory, 0, 64, true);
	flow = pt_flow_new(&config, code);
	pt_text_write(&bytes, PSB, NULL);
	buf_bytes(&bytes, "\x05\x05\x05\x05\x05", 5);
	pt_flow_feed(flow, bytes.data, bytes.len);
	pt_flow_resync(flow);
	bytes.len = 0;
	pt_text_write(&bytes, "TNT T\n" PSB "TNT N\nTIP.PGD no ip\n", NULL);
	while ((used = pt_flow_feed_some(flow, bytes.data + n, bytes.len - n, false)))
		n += used;
	assert_int_equal(n, bytes.len);
	assert_string_equal(buf_cstr(&w.said),
			    "0-1000 bB\nerror at 1000+27: bytes that are no packet\n"
			    "unverified insns 0 offset 0x0\n0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
	pt_flow_free(flow);
	pt_code_free(code);
	buf_fini(&bytes);
	buf_fini(&w.said);
}

static void bytes_end_inside_a_packet(void **state)
{
	struct buf bytes = { 0 };
	struct world w;

	(void)state;
	setup(&w);
	pt_text_write(&bytes, PSB "TNT N\nTIP.PGD no ip\nTSC 0x1234\n", NULL);
	decode_bytes(&w, bytes.data, bytes.len - 3);
	assert_string_equal(buf_cstr(&w.said), "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n"
					       "error at 0+29: the trace ends inside a packet\n");
	assert_int_equal(w.stats.errors[PT_ERR_CUT], 1);
	buf_fini(&w.said);
	buf_fini(&bytes);
}

static void code_is_the_mapping_of_its_time(void **state)
{
	struct world w;

	(void)state;
	setup(&w);
	w.changes_at = 2000;
	assert_string_equal(
		decode(&w, PSB "TSC 0x3e8\nTNT TT\nTIP 0x1000\nTSC 0x7d0\nTNT T\n"
			       "TIP.PGD no ip\n"),
		"0-1000 bB\n1000-1004 bo @1000\n1004-1020 bc @1000\n1021-1009 br @1000\n"
		"1009-1000 b @1000\n1000-1010 bo @2000\n1010-0 bcsE @2000\n");
	buf_fini(&w.said);
}

static void keep(void *context, const struct pt_event *events, size_t n)
{
	VEC(struct pt_event) *all = context;

	for (size_t i = 0; i < n; i++)
		vec_push(all, events[i]);
}

/* The pieces of a trace, each decoded alone, the last one first; and put together. */
static void decode_pieces(struct world *w, const uint8_t *bytes, size_t size, bool has_cyc)
{
	struct pt_memory memory = { read_code, w };
	struct events {
		VEC(struct pt_event) all;
		struct pt_piece_end end;
	} pieces[16] = { 0 };
	const uint8_t *cuts[17], *end = bytes + size;
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_time times[17] = { { .clock = &w->clock, .keeps_ticks = !has_cyc } };
	struct pt_scan scan = { 0 };
	struct pt_joint joint = { .max_ratio = has_cyc ? 0 : w->clock.max_ratio };
	int n = 0;

	for (cuts[0] = bytes; cuts[n] < end; n++) {
		cuts[n + 1] = pt_find_cut(cuts[n] + 1, bytes, end);
		times[n + 1] = times[n];
		if (has_cyc)
			pt_time_scan(&times[n + 1], &scan, cuts[n], cuts[n + 1], end);
	}
	for (int i = n - 1; i >= 0; i--) {
		struct pt_flow_config config = { .clock = w->clock,
						 .events = keep,
						 .context = &pieces[i] };
		struct pt_flow *flow = pt_flow_new(&config, code);

		pt_flow_restart(flow, (uint64_t)(cuts[i] - bytes));
		pt_flow_set_time(flow, &times[i]);
		pt_flow_feed(flow, cuts[i], (size_t)(cuts[i + 1] - cuts[i]));
		pt_flow_end_piece(flow, cuts[i + 1], end);
		pieces[i].end = pt_flow_piece_end(flow);
		pt_flow_free(flow);
	}
	for (int i = 0; i < n; i++) {
		note(w, pieces[i].all.data, pt_join(&joint, pieces[i].all.data, pieces[i].all.n));
		pt_join_end(&joint, &pieces[i].end);
		vec_fini(&pieces[i].all);
	}
	pt_code_free(code);
}

static void expect_pieces_to_be_one(const char *text, const char *expected)
{
	struct buf bytes = { 0 };
	struct world one, many;

	setup(&one);
	setup(&many);
	one.says_counts = many.says_counts = true;
	assert_int_equal(pt_text_write(&bytes, text, NULL), 0);
	decode_bytes(&one, bytes.data, bytes.len);
	decode_pieces(&many, bytes.data, bytes.len, strstr(text, "CYC"));
	assert_string_equal(buf_cstr(&many.said), buf_cstr(&one.said));
	assert_non_null(strstr(buf_cstr(&one.said), expected));
	buf_fini(&bytes);
	buf_fini(&one.said);
	buf_fini(&many.said);
}

static void joined_pieces_equal_one_decoder(void **state)
{
#define LOOP "TNT TT\nTIP 0x1000\nCYC 0x9\n"
#define TIME "TSC 0x%d0000\nTMA CTC 0x103 FC 0x7\nCBR 0x28\nPSBEND\n"
	static const char text[] =
		"PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nPIP 0x1000 (NR=0)\nTSC 0x10000\nPSBEND\n" LOOP
			LOOP
		/* Some blocks on; the stack is empty behind it. */
		"TNT T\nPSB\nMODE.Exec IF:0 64\nFUP 0x1021\nPIP 0x1000 (NR=0)\nTSC "
		"0x20000\nPSBEND\n"
		"TIP 0x1000\n" LOOP
		/* Elsewhere than it was. */
		"PSB\nFUP 0x1010\nTSC 0x30000\nPSBEND\nTIP.PGD no ip\n"
		/* Not traced; time goes back. */
		"PSB\nTSC 0x28000\nPSBEND\nTIP.PGE 0x1000\n" LOOP
		/* No place for a cut: what the FUP behind the PSB says is the overflow's. */
		"OVF\nPSB\nPSBEND\nFUP 0x1000\nTNT N\nTIP.PGD no ip\n";

	(void)state;
	expect_pieces_to_be_one(text, "the trace does not fit the code");
}

static void cycles_count_up_to_the_psb_that_ends_an_error(void **state)
{
	(void)state;
	expect_pieces_to_be_one(
		PSB
		"TSC 0x10000\nCBR 0x28\nCYC 0x9\nTNT N\nTIP.PGD no ip\nTIP 0x1000\nCYC 0x1000\n" PSB
		"TSC 0x10010\nCYC 0x9\nTNT N\nTIP.PGD no ip\n",
		"a packet that may not be where it is");
}

static void cycles_that_time_tells_are_those_of_one_decoder(void **state)
{
	/* A core at 7 to 9 of 20: no count of ticks is a whole number of cycles. */
#define TICKS(tsc, cbr)                                                                   \
	"PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nTSC " tsc "\nTMA CTC 0x103 FC 0x7\nCBR " cbr \
	"\nPSBEND\n"                                                                      \
	"TNT TT\nTIP 0x1000\nMTC 0x21\nTNT TT\nTIP 0x1000\nMTC 0x22\nTNT TT\nTIP 0x1000\n"

	(void)state;
	/* The third one is earlier than the MTCs before it. */
	expect_pieces_to_be_one(TICKS("0x10000", "0x7") TICKS("0x10901", "0x7")
					TICKS("0x10a03", "0x7") TICKS("0x12345", "0x9"),
				"0-1000");
}

static void a_piece_may_end_with_the_first_bytes_of_a_psb(void **state)
{
	(void)state;
	expect_pieces_to_be_one(PSB "TSC 0x10000\nPTWRITE 0x82020000 IP:0\n" PSB
				    "TSC 0x10010\nTNT N\nTIP.PGD no ip\n",
				"ptwrite");
}

/* Each turn comes into an endless loop. 10,000 steps of each were 5 million. */
static void loops_cost_as_much_as_the_trace_is_long(void **state)
{
	struct buf text = { 0 };
	struct world w;

	(void)state;
	setup(&w);
	for (int i = 0; i < 500; i++)
		buf_str(&text, "PSB\nMODE.Exec IF:0 64\nFUP 0x1012\nPSBEND\nTNT T\n");
	decode(&w, buf_cstr(&text));
	assert_int_equal(w.stats.errors[PT_ERR_LOOP], 500);
	assert_in_range(w.stats.branches, 200000, 200000 + 500 * 10000 / 2);
	/* A loop that ends is followed all the same. */
	assert_null(strstr(decode(&w, PSB "TNT TT\nTIP 0x1000\n"), "error"));
	buf_fini(&w.said);
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_of_every_kind),
		cmocka_unit_test(a_return_with_an_address_is_not_compressed),
		cmocka_unit_test(far_branches_leave_the_return_stack_alone),
		cmocka_unit_test(a_machine_is_entered_or_is_not),
		cmocka_unit_test(directions_go_on_behind_a_deferred_address),
		cmocka_unit_test(an_interrupt_says_where_and_where_to),
		cmocka_unit_test(flows_of_two_widths_share_a_graph),
		cmocka_unit_test(a_psb_tells_an_address_beyond_the_last_packet),
		cmocka_unit_test(a_transaction_begins_and_is_aborted),
		cmocka_unit_test(what_software_wrote_has_its_address),
		cmocka_unit_test(packets_of_two_kinds_share_the_address_behind_them),
		cmocka_unit_test(quick_decoding_equals_decoding_of_addresses),
		cmocka_unit_test(changes_of_address_spaces_and_machines_are_reported),
		cmocka_unit_test(events_of_the_processor_have_their_addresses),
		cmocka_unit_test(data_of_an_event_come_at_the_time_of_the_event),
		cmocka_unit_test(a_record_of_pebs_is_its_items_and_an_end),
		cmocka_unit_test(after_an_overflow_it_goes_on_where_the_trace_says),
		cmocka_unit_test(errors_have_a_place_and_decoding_goes_on_at_the_next_psb),
		cmocka_unit_test(where_the_way_is_lost_the_next_address_is_gone_on_with),
		cmocka_unit_test(behind_bytes_that_are_no_packet_it_goes_on_where_it_stood),
		cmocka_unit_test(a_stretch_with_an_error_is_marked_up_to_a_psb_that_confirms_it),
		cmocka_unit_test(other_bytes_follow_those_that_are_no_packet),
		cmocka_unit_test(bytes_end_inside_a_packet),
		cmocka_unit_test(code_is_the_mapping_of_its_time),
		cmocka_unit_test(joined_pieces_equal_one_decoder),
		cmocka_unit_test(cycles_count_up_to_the_psb_that_ends_an_error),
		cmocka_unit_test(cycles_that_time_tells_are_those_of_one_decoder),
		cmocka_unit_test(a_piece_may_end_with_the_first_bytes_of_a_psb),
		cmocka_unit_test(loops_cost_as_much_as_the_trace_is_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
