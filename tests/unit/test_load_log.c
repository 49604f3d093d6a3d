/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reason why the kernel refused a BPF program, from the texts of libbpf and the verifier. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "collect/load_log.h"

#define BEGIN                                                                 \
	"libbpf: prog 'sample': BPF program load failed: Permission denied\n" \
	"libbpf: prog 'sample': -- BEGIN PROG LOAD LOG --\n"
#define END                                                                                      \
	"processed 16 insns (limit 1000000) max_states_per_insn 0 total_states 2 peak_states 2 " \
	"mark_read 1\n"                                                                          \
	"-- END PROG LOAD LOG --\n"                                                              \
	"libbpf: prog 'sample': failed to load: -13\n"                                           \
	"libbpf: failed to load object 'sampler_bpf'\n"

static void assert_reason(const char *messages, const char *expected)
{
	char reason[512];

	load_log_reason(messages, reason, sizeof(reason));
	assert_string_equal(reason, expected);
}

static void the_verifiers_last_words_are_the_reason(void **state)
{
	(void)state;
	assert_reason(
		BEGIN "0: R1=ctx(off=0,imm=0) R10=fp0\n"
		      "; return (long)(walk_frame(*(__u32 *)slot) != 0);\n"
		      "14: (bf) r0 = r6                       ; R0_w=scalar(id=2) R6=scalar(id=2)\n"
		      "15: (95) exit\n"
		      "returning from callee:\n"
		      " frame1: R0_w=scalar(id=2) R10=fp0\n"
		      "to caller at 97:\n"
		      " R0=fp0 R10=fp0\n"
		      "At callback return the register R0 has smin=0 smax=4294967295 should have "
		      "been in [0, 1]\n" END,
		"its verifier says of program 'sample': \"At callback return the register R0 has "
		"smin=0 smax=4294967295 should have been in [0, 1]\", at \"return "
		"(long)(walk_frame(*(__u32 *)slot) != 0);\"");
}

static void a_line_about_a_register_keeps_the_one_before(void **state)
{
	(void)state;
	assert_reason(BEGIN "; w->s.n_user++; @ stack.h:237\n"
			    "31: (79) r1 = *(u64 *)(r2 +8)\n"
			    "invalid access to map value, value_size=1 off=8 size=8\n"
			    "R2 max value is outside of the allowed memory range\n" END,
		      "its verifier says of program 'sample': \"invalid access to map value, "
		      "value_size=1 off=8 size=8; R2 max value is outside of the allowed memory "
		      "range\", at \"w->s.n_user++;\" (stack.h:237)");
}

static void old_logs_without_source_have_a_reason(void **state)
{
	(void)state;
	assert_reason(BEGIN "unknown func bpf_loop#181\n"
			    "verification time 120 usec\nstack depth 0\n" END,
		      "its verifier says of program 'sample': \"unknown func bpf_loop#181\"");
	assert_reason(
		BEGIN "BPF program is too large. Processed 1000001 insn\n" END,
		"its verifier says of program 'sample': \"BPF program is too large. Processed "
		"1000001 insn\"");
}

static void a_field_that_the_kernel_lacks_is_named(void **state)
{
	(void)state;
	assert_reason(BEGIN "12: <invalid CO-RE relocation>\n"
			    "failed to resolve CO-RE relocation <byte_off> [26] struct "
			    "mm_struct.exe_file (0:1 @ offset 24)\n" END,
		      "the kernel's types (BTF) have no 'struct mm_struct.exe_file'");
}

static void without_a_log_libbpf_has_the_word(void **state)
{
	(void)state;
	assert_reason("libbpf: map 'works': failed to create: Invalid argument(-22)\n"
		      "libbpf: failed to load object 'sampler_bpf'\n",
		      "map 'works': failed to create: Invalid argument(-22)");
	assert_reason("", "");
	assert_reason(BEGIN END, "");
	assert_reason(BEGIN, "");
}

/* A million lines, of which each is as long as a kernel makes them. */
static void long_words_are_shortened(void **state)
{
	struct buf log = { 0 };
	char reason[512];

	(void)state;
	buf_str(&log, BEGIN "; ");
	for (int i = 0; i < 1000; i++)
		buf_str(&log, "source ");
	for (int i = 0; i < 100000; i++)
		buf_printf(&log, "\n%d: (07) r1 += 1", i);
	buf_str(&log, "\n");
	for (int i = 0; i < 1000; i++)
		buf_str(&log, "reason ");
	buf_str(&log, "\n" END);
	load_log_reason(buf_cstr(&log), reason, sizeof(reason));
	assert_non_null(strstr(reason, "\"reason reason"));
	assert_non_null(strstr(reason, "at \"source source"));
	assert_true(strlen(reason) < 400);
	buf_fini(&log);
}

static void a_log_that_is_cut_anywhere_does_no_harm(void **state)
{
	static const char whole[] =
		BEGIN "; a @ b.h:1\n1: (95) exit\nR1 type=ctx expected=fp\n" END;

	(void)state;
	for (size_t n = 0; n < sizeof(whole); n++) {
		char *part = strndup(whole, n), reason[512];

		load_log_reason(part, reason, sizeof(reason));
		assert_true(strlen(reason) < sizeof(reason));
		free(part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verifiers_last_words_are_the_reason),
		cmocka_unit_test(a_line_about_a_register_keeps_the_one_before),
		cmocka_unit_test(old_logs_without_source_have_a_reason),
		cmocka_unit_test(a_field_that_the_kernel_lacks_is_named),
		cmocka_unit_test(without_a_log_libbpf_has_the_word),
		cmocka_unit_test(long_words_are_shortened),
		cmocka_unit_test(a_log_that_is_cut_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
