/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the traces of some processors have wrong, as packets in text. */
#include "pt_world.h"

/* The events of a trace that has an erratum, and the error that they have without its workaround.
 */
static void expect_erratum(uint32_t erratum, const char *text, const char *wanted,
			   const char *without)
{
	struct world w;

	setup(&w);
	w.errata = erratum;
	assert_string_equal(decode(&w, text), wanted);
	w.errata = ((1u << N_PT_ERRATA) - 1) & ~erratum;
	assert_non_null(strstr(decode(&w, text), without));
	buf_fini(&w.said);
}

static void goldmont_tells_the_address_behind_a_branch(void **state)
{
	(void)state;
	expect_erratum(PT_ERRATUM_FUP_BEHIND_BRANCH,
		       PSB "TNT T\nFUP 0x1022\nTIP 0x1000\nTNT N\nTIP.PGD no ip\n",
		       "0-1000 bB\n1000-1004 bo\n1004-1020 bc\n1021-1000 bcyi\n1002-1010 b\n"
		       "1010-0 bcsE\n",
		       pt_error_texts[PT_ERR_MISMATCH]);
}

static void a_wrong_branch_before_an_abort_is_no_error(void **state)
{
	(void)state;
	expect_erratum(PT_ERRATUM_BRANCH_BEFORE_ABORT,
		       PSB
		       "TNT N\nMODE.TSX TXAbort:1 InTX:0\nFUP 0x1004\nTIP 0x1020\nTIP.PGD 0x1009\n",
		       "0-1000 bB\ntransaction 0x1004 ends\n1004-1020 bA\n1021-1009 brE\n",
		       pt_error_texts[PT_ERR_MISMATCH]);
}

static void an_overflow_reads_as_two_cycs(void **state)
{
	(void)state;
	expect_erratum(
		PT_ERRATUM_OVF_IN_CYC,
		PSB "CYC 0x3e\nCYC 0x1e\nFUP 0x1020\nTIP 0x1010\nTIP.PGD no ip\n",
		"0-1000 bB\nerror at 1000+27: the processor could not write all packets (OVF)\n"
		"0-1020 bB\n1021-1010 br\n1010-0 bcsE\n",
		pt_error_texts[PT_ERR_MISMATCH]);
	/* These are cycles. */
	expect(PSB "CYC 0x3e\nCYC 0x1f\nTNT N\nTIP.PGD no ip\n",
	       "0-1000 bB\n1002-1010 b\n1010-0 bcsE\n");
}

static void an_overflow_has_no_fup(void **state)
{
	(void)state;
	expect_erratum(
		PT_ERRATUM_OVF_WITHOUT_FUP,
		PSB "OVF\nTNT T\nTIP 0x1020\nTIP 0x1010\nTIP.PGD no ip\n",
		"0-1000 bB\nerror at 1000+27: the processor could not write all packets (OVF)\n"
		"0-1020 bB\n1021-1010 br\n1010-0 bcsE\n",
		pt_error_texts[PT_ERR_UNEXPECTED]);
	expect_erratum(
		PT_ERRATUM_OVF_WITHOUT_FUP,
		PSB "OVF\nMODE.TSX TXAbort:0 InTX:1\nFUP 0x1020\nTIP.PGD no ip\n",
		"0-1000 bB\nerror at 1000+27: the processor could not write all packets (OVF)\n"
		"0-1020 bB\ntransaction 0x1020 begins\n1021-0 brEx\n",
		"0-1020 bB\n1021-0 brE");
}

static void a_vm_entry_that_ends_tracing_is_no_interrupt(void **state)
{
	(void)state;
	expect_erratum(PT_ERRATUM_FUP_AT_VM_ENTRY,
		       "PSB\nMODE.Exec IF:0 64\nFUP 0x1014\nPSBEND\nFUP 0x1014\nTIP.PGD no ip\n",
		       "0-1014 bB\n1014-0 bcEg\n", "1014-0 byE\n");
}

static void a_direct_branch_out_of_a_filter_has_no_address(void **state)
{
	(void)state;
	expect_erratum(PT_ERRATUM_PGD_WITHOUT_IP, PSB "TNT T\nTIP.PGD no ip\n",
		       "0-1000 bB\n1000-1004 bo\n1004-0 bcE\n", "1021-0 brE\n");
}

static void a_fup_behind_an_overflow_while_tracing_is_off(void **state)
{
	(void)state;
	expect_erratum(
		PT_ERRATUM_FUP_WHILE_OFF,
		PSB "TNT N\nOVF\nFUP 0x1020\nTIP.PGE 0x1010\nTIP.PGD no ip\n",
		"0-1000 bB\nerror at 1002+28: the processor could not write all packets (OVF)\n"
		"0-1020 bB\n0-1010 bB\n1010-0 bcsE\n",
		pt_error_texts[PT_ERR_UNEXPECTED]);
	expect_erratum(
		PT_ERRATUM_FUP_WHILE_OFF,
		PSB "TNT N\nOVF\nFUP 0x1020\nPSB\nMODE.Exec IF:0 64\nPSBEND\nTIP.PGE 0x1010\n"
		    "TIP.PGD no ip\n",
		"0-1000 bB\nerror at 1002+28: the processor could not write all packets (OVF)\n"
		"0-1020 bB\n0-1010 bB\n1010-0 bcsE\n",
		pt_error_texts[PT_ERR_UNEXPECTED]);
}

static void errata_are_known_by_family_and_model(void **state)
{
	(void)state;
	assert_int_equal(pt_errata_of("GenuineIntel,6,61,4"), PT_ERRATUM_BRANCH_BEFORE_ABORT);
	assert_true(pt_errata_of("GenuineIntel,6,94,3") & PT_ERRATUM_OVF_IN_CYC);
	assert_true(pt_errata_of("GenuineIntel,6,92,9") & PT_ERRATUM_FUP_BEHIND_BRANCH);
	assert_int_equal(pt_errata_of("GenuineIntel,18,1,0"), PT_ERRATUM_FUP_AT_VM_ENTRY);
	assert_int_equal(pt_errata_of("GenuineIntel,6,9,2"), 0);
	assert_int_equal(pt_errata_of("GenuineIntel,18,94,3"), 0);
	assert_int_equal(pt_errata_of("AuthenticAMD,6,94,3"), 0);
	assert_int_equal(pt_errata_of("GenuineIntel"), 0);
	assert_int_equal(pt_errata_of(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldmont_tells_the_address_behind_a_branch),
		cmocka_unit_test(a_wrong_branch_before_an_abort_is_no_error),
		cmocka_unit_test(an_overflow_reads_as_two_cycs),
		cmocka_unit_test(an_overflow_has_no_fup),
		cmocka_unit_test(a_vm_entry_that_ends_tracing_is_no_interrupt),
		cmocka_unit_test(a_direct_branch_out_of_a_filter_has_no_address),
		cmocka_unit_test(a_fup_behind_an_overflow_while_tracing_is_off),
		cmocka_unit_test(errata_are_known_by_family_and_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
