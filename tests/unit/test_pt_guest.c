/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests: the NR bit of PIP packets tells the machine of the next address. */
#include "pt_world.h"

/*
 * The host's code is that of pt_world.h, but 1010 is "vmresume" and 1013 "jmp 1010". The guest's:
 *
 * 1000 jmp 1008        1008 call *%rax        1020 jmp *%rax
 */
static const uint8_t guest_code[sizeof(code_bytes)] = {
	[0x00] = 0xeb, 0x06, [0x08] = 0xff, 0xd0, [0x0a] = 0xeb, 0xf4, [0x20] = 0xff, 0xe0,
};

static void set_up_guest(struct world *w)
{
	static const uint8_t entry[] = { 0x0f, 0x01, 0xc3, 0xeb, 0xfb };

	setup(w);
	w->guest_code = guest_code;
	memcpy(w->code + 0x10, entry, sizeof(entry));
}

static void expect_guest(const char *text, const char *want)
{
	struct world w;

	for (size_t piece = 0; piece < 24; piece += 1 + piece / 4) {
		set_up_guest(&w);
		w.piece = piece;
		w.hides_offsets = true;
		assert_string_equal(decode(&w, text), want);
		buf_fini(&w.said);
	}
}

#define HOST_PSB  "PSB\nPIP 0x1000 (NR=0)\nMODE.Exec IF:0 64\nFUP 0x1013\nPSBEND\n"
#define GUEST_PSB "PSB\nPIP 0x1000 (NR=1)\nMODE.Exec IF:0 64\nFUP 0x1008\nPSBEND\n"
#define ENTERS    "PIP 0x1000 (NR=1)\nTIP 0x1000\n"
#define LEAVES    "FUP 0x1020\nPIP 0x1000 (NR=0)\nTIP 0x1013\n"

static void a_guest_is_entered_and_left_and_has_its_own_code(void **state)
{
	(void)state;
	expect_guest(HOST_PSB ENTERS "TIP 0x1020\n" LEAVES ENTERS,
		     "cr3 0x20000\n0-1013 bB\n"
		     /* The instruction and the address behind it are in two machines. */
		     "cr3 0x20000 guest\n1013-1010 b\n1010-0 bcg\nguest\n0-1000 bcg\n"
		     "1000-1008 b\n1008-1020 bc\n"
		     "cr3 0x20000\n1020-0 bcyh\nhost\n0-1013 bcyh\n"
		     "cr3 0x20000 guest\n1013-1010 b\n1010-0 bcg\nguest\n0-1000 bcg\n");
}

static void a_trace_may_begin_in_a_guest(void **state)
{
	(void)state;
	expect_guest(GUEST_PSB "TIP 0x1020\n" LEAVES,
		     "guest\ncr3 0x20000 guest\n0-1008 bB\n1008-1020 bc\n"
		     "cr3 0x20000\n1020-0 bcyh\nhost\n0-1013 bcyh\n");
}

static void tracing_may_be_off_in_between(void **state)
{
	(void)state;
	expect_guest(HOST_PSB
		     "PIP 0x1000 (NR=1)\nTIP.PGD no ip\nPIP 0x1000 (NR=0)\nTIP.PGE 0x1013\n"
		     "PIP 0x1000 (NR=1)\nTIP.PGD no ip\nTIP.PGE 0x1000\n",
		     "cr3 0x20000\n0-1013 bB\ncr3 0x20000 guest\n1013-1010 b\n1010-0 bcEg\nguest\n"
		     "host\ncr3 0x20000\n0-1013 bB\n"
		     "cr3 0x20000 guest\n1013-1010 b\n1010-0 bcEg\nguest\n0-1000 bB\n");
}

static void another_instruction_enters_no_guest(void **state)
{
	(void)state;
	expect_guest("PSB\nPIP 0x1000 (NR=0)\nMODE.Exec IF:0 64\nFUP 0x1009\nPSBEND\n" ENTERS,
		     "cr3 0x20000\n0-1009 bB\ncr3 0x20000 guest\n"
		     "error at 1009+0: the trace does not fit the code\nguest\n0-1000 bB\n");
	/* Nor does an interrupt. */
	expect_guest(HOST_PSB "FUP 0x1010\n" ENTERS,
		     "cr3 0x20000\n0-1013 bB\n1013-1010 b\ncr3 0x20000 guest\n"
		     "error at 1010+0: the trace does not fit the code\nguest\n0-1000 bB\n");
	/* And no instruction leaves it. */
	expect_guest(GUEST_PSB "PIP 0x1000 (NR=0)\nTIP 0x1013\n",
		     "guest\ncr3 0x20000 guest\n0-1008 bB\ncr3 0x20000\n"
		     "error at 1008+0: the trace does not fit the code\nhost\n0-1013 bB\n");
}

static void a_psb_in_another_machine_is_no_place_to_walk_to(void **state)
{
	(void)state;
	/* 1013 leads to 1010 in this machine: the PSB's 1008 is the guest's. */
	expect_guest(HOST_PSB GUEST_PSB "TIP 0x1020\n",
		     "cr3 0x20000\n0-1013 bB\ncr3 0x20000 guest\n"
		     "error at 1013+0: the trace does not fit the code\nguest\n"
		     "unverified insns 0 offset 0x0\n0-1008 bB\n1008-1020 bc\n");
}

static void a_lost_guest_is_left_by_the_next_address(void **state)
{
	(void)state;
	/* 1022 has no code. */
	expect_guest(GUEST_PSB "TIP 0x1022\nTIP 0x1000\nPIP 0x1000 (NR=0)\nTIP 0x1013\n" ENTERS,
		     "guest\ncr3 0x20000 guest\n0-1008 bB\n1008-1022 bc\n"
		     "error at 1022+0: code could not be read\n0-1000 bB\n"
		     "cr3 0x20000\n1000-1008 b\n"
		     "error at 1008+0: the trace does not fit the code\nhost\n0-1013 bB\n"
		     "cr3 0x20000 guest\n1013-1010 b\n1010-0 bcg\nguest\n0-1000 bcg\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_is_entered_and_left_and_has_its_own_code),
		cmocka_unit_test(a_trace_may_begin_in_a_guest),
		cmocka_unit_test(tracing_may_be_off_in_between),
		cmocka_unit_test(another_instruction_enters_no_guest),
		cmocka_unit_test(a_psb_in_another_machine_is_no_place_to_walk_to),
		cmocka_unit_test(a_lost_guest_is_left_by_the_next_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
