/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of Go's functions that change stacks, and the step to the running goroutine, which only
 * the kernel's walk can read: over a small memory.
 */
#include "unwind_tables.h"

#include "base/mem.h"
#include "unwind/stop.h"

#define THREAD 0x1000 /* where the thread pointer points */
#define WORDS  512

struct unwind_ctx {
	uint64_t memory[WORDS]; /* by address / 8 */
};

static inline enum unwind_stop unwind_read_stack(struct unwind_ctx *c, uint64_t addr,
						 uint64_t *value)
{
	if (addr % 8 || addr / 8 >= WORDS)
		return UNWIND_UNREADABLE;
	*value = c->memory[addr / 8];
	return UNWIND_GOES_ON;
}

static inline bool unwind_sampled_register(struct unwind_ctx *c, uint32_t number, uint64_t *value)
{
	(void)c;
	(void)number;
	(void)value;
	return false;
}

static inline bool unwind_thread_word(struct unwind_ctx *c, int64_t offset, uint64_t *value)
{
	return unwind_read_stack(c, (uint64_t)(THREAD - 8 + offset), value) == UNWIND_GOES_ON;
}

static inline uint32_t unwind_row_at(struct unwind_ctx *c, uint32_t i)
{
	(void)c;
	return i;
}

#include "unwind/step.h"

enum { SYSTEM = 0x100, THREADS = 0x200, RUNNING = 0x400, STACK = 0x800, END = 0x900 };
#define M_RUNNING 0xc0
#define SAVED_FP  0x68

static const struct unwind_rule to_saved = {
	.cfa = UNWIND_CFA_ELSEWHERE,
	.saved = UNWIND_RA_REGISTER << 4,
	.off = M_RUNNING / 8,
	.fp = SAVED_FP / 8,
	.aux = -1,
};

/* A thread whose system stack works for a goroutine. */
static struct unwind_ctx thread_with_goroutine(void)
{
	struct unwind_ctx c = { 0 };

	c.memory[(THREAD - 16) / 8] = SYSTEM;
	c.memory[(SYSTEM + UNWIND_GO_M) / 8] = THREADS;
	c.memory[(THREADS + M_RUNNING) / 8] = RUNNING;
	c.memory[RUNNING / 8] = STACK;
	c.memory[RUNNING / 8 + 1] = END;
	c.memory[(RUNNING + UNWIND_GO_SAVED) / 8] = STACK + 0x20;
	c.memory[(RUNNING + UNWIND_GO_SAVED) / 8 + 1] = 0x401000;
	c.memory[(RUNNING + SAVED_FP) / 8] = STACK + 0x40;
	c.memory[(STACK + 0x20) / 8] = 0x402000;
	return c;
}

static void the_goroutine_goes_on_where_its_registers_were_saved(void **state)
{
	struct unwind_regs r = unwind_regs_sampled(0x500000, 0x7000, 1, 0, false);
	struct unwind_ctx c = thread_with_goroutine();
	struct unwind_rule to_call = to_saved;

	(void)state;
	assert_int_equal(unwind_step(to_saved, &r, &c), UNWIND_GOES_ON);
	assert_int_equal(r.pc, 0x401000);
	assert_int_equal(r.sp, STACK + 0x20);
	assert_int_equal(r.fp, STACK + 0x40);
	assert_int_equal(unwind_lookup_pc(&r), 0x400fff);
	to_call.saved = UNWIND_RA_BELOW_CFA << 4;
	assert_int_equal(unwind_step(to_call, &r, &c), UNWIND_GOES_ON);
	assert_int_equal(r.pc, 0x402000);
	assert_int_equal(r.sp, STACK + 0x28);
}

static void a_thread_without_a_goroutine_is_at_its_end(void **state)
{
	struct unwind_regs r = unwind_regs_sampled(0x500000, 0x7000, 1, 0, false);
	struct unwind_ctx c = thread_with_goroutine();

	(void)state;
	c.memory[(THREADS + M_RUNNING) / 8] = 0;
	assert_int_equal(unwind_step(to_saved, &r, &c), UNWIND_END);
}

/* The memory is the program's: no word of it leads astray. */
static void a_damaged_goroutine_ends_the_stack(void **state)
{
	static const struct {
		uint64_t place, value;
		enum unwind_stop stop;
	} damages[] = {
		{ THREAD - 16, 1, UNWIND_OTHER_STACK },
		{ SYSTEM + UNWIND_GO_M, UINT64_MAX, UNWIND_OTHER_STACK },
		{ THREADS + M_RUNNING, 1ull << 40, UNWIND_OTHER_STACK },
		{ RUNNING, STACK + 0x28, UNWIND_BAD_CFA },
		{ RUNNING + 8, STACK, UNWIND_BAD_CFA },
		{ RUNNING + UNWIND_GO_SAVED, 0, UNWIND_BAD_CFA },
		{ RUNNING + UNWIND_GO_SAVED + 8, 0, UNWIND_END },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct unwind_regs r = unwind_regs_sampled(0x500000, 0x7000, 1, 0, false);
		struct unwind_ctx c = thread_with_goroutine();

		c.memory[damages[i].place / 8] = damages[i].value;
		assert_int_equal(unwind_step(to_saved, &r, &c), damages[i].stop);
	}
}

/* The way to Go's running goroutine, which a thread has at -8, by places in bytes. */
static void assert_goroutine(struct unwind_rule rule, uint16_t running, int16_t fp,
			     enum unwind_ra ra)
{
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_ELSEWHERE);
	assert_int_equal(rule.aux, -1);
	assert_int_equal(rule.off, running / 8);
	assert_int_equal(rule.fp, fp / 8);
	assert_int_equal(unwind_rule_ra(rule), ra);
}

/* Go's own call frame information, and the rules that we make of it. */
static void functions_of_go_that_change_stacks_are_known(void **state)
{
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("go.s", ".section .gopclntab,\"a\"\n.quad 1\n.text\n.cfi_sections .debug_frame\n"
			   "nop\n.p2align 6\n"
			   "runtime.systemstack.abi0: .cfi_startproc\npush %rbp\n"
			   ".cfi_def_cfa_offset 16\nmov %rsp, %rbp\ncmp 0xb8(%rbx), %rax\n"
			   "mov 0x38(%rdx), %rsp\nbehind_load: call *%rdi\n"
			   "pop %rbp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
			   "runtime.morestack: .cfi_startproc\nmov %fs:-8, %rdi\n"
			   "mov %rbp, 0x60(%rdi)\nmov 0x38(%rbx), %rsp\n"
			   "new_stack: call runtime.morestack_noctxt\n.cfi_endproc\n"
			   "runtime.morestack_noctxt: .cfi_startproc\nret\n.cfi_endproc\n"
			   "runtime.clone.abi0: .cfi_startproc\nsyscall\nret\ncall *%r12\nnop\n"
			   ".cfi_endproc\n"
			   "runtime.goschedImpl: .cfi_startproc\npush %rbp\n"
			   ".cfi_def_cfa_offset 16\ncall runtime.schedule\n"
			   "runtime.schedule: ret\n.cfi_endproc\n"
			   "runtime.preemptPark: .cfi_startproc\nret\n.cfi_endproc\n"
			   "main.f: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\nret\n"
			   ".cfi_endproc\n.p2align 6\nbare: nop\nnop\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o go.so go.s");
	build_of(&b, "go.so");
	rule = rule_at(&b, address_of(&b, "runtime.systemstack.abi0"));
	assert_sp_plus(rule, 8);
	assert_sp_plus(rule_at(&b, address_of(&b, "runtime.systemstack.abi0") + 1), 16);
	assert_sp_plus(rule_at(&b, address_of(&b, "behind_load") - 1), 16);
	rule = rule_at(&b, address_of(&b, "behind_load"));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_FP_OTHER);
	assert_true(rule.off == 2 && rule.fp == -2 && unwind_rule_fp(rule) == UNWIND_FP_AT_CFA);
	assert_sp_plus(rule_at(&b, address_of(&b, "behind_load") + 3), 8);
	assert_sp_plus(rule_at(&b, address_of(&b, "runtime.morestack")), 8);
	assert_goroutine(rule_at(&b, address_of(&b, "new_stack")), 0xb8, 0x60, UNWIND_RA_REGISTER);
	assert_sp_plus(rule_at(&b, address_of(&b, "runtime.morestack_noctxt")), 8);
	assert_sp_plus(rule_at(&b, address_of(&b, "runtime.clone.abi0") + 2), 8);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "runtime.clone.abi0") + 5)),
			 UNWIND_CFA_END);
	/* The thread may have another goroutine already. */
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "runtime.schedule") - 1)),
			 UNWIND_CFA_END);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "runtime.preemptPark"))),
			 UNWIND_CFA_END);
	rule = rule_at(&b, address_of(&b, "main.f") + 1);
	assert_sp_plus(rule, 16);
	assert_true(rule.fp == -2 && unwind_rule_fp(rule) == UNWIND_FP_AT_CFA);
	rule = rule_at(&b, address_of(&b, "bare"));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_NONE);
	assert_int_equal(rule.aux, UNWIND_FP_ANYWHERE);
	built_fini(&b);
}

/* Before Go 1.21, functions that change stacks had no frame, and went back behind their call. */
static void functions_of_older_go_that_change_stacks_are_known(void **state)
{
	struct unwind_rule rule;
	struct built b;

	(void)state;
	write_file("go19.s", ".section .gopclntab,\"a\"\n.quad 1\n.text\n"
			     ".cfi_sections .debug_frame\n"
			     "runtime.systemstack.abi0: .cfi_startproc\n"
			     "cmp 0xc0(%rbx), %rax\nmov %rbx, %rsp\nthere: call *%rdi\n"
			     "mov 0x38(%rax), %rsp\nback: ret\n.cfi_endproc\n"
			     "runtime.asmcgocall: .cfi_startproc\nmov %fs:-8, %rdi\n"
			     "mov 0x38(%rsi), %rsp\nin_c: call *%rax\n.cfi_endproc\n"
			     "runtime.mcall: .cfi_startproc\nmov 0x38(%r14), %rsp\n"
			     "next: call *%r12\n.cfi_endproc\n"
			     "runtime.morestack.abi0: .cfi_startproc\nmov %fs:-8, %rsi\n"
			     "mov %rbp, 0x68(%rsi)\nmov 0x38(%rbx), %rsp\nnop\n"
			     ".cfi_endproc\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib -o go19.so go19.s");
	build_of(&b, "go19.so");
	assert_sp_plus(rule_at(&b, address_of(&b, "there") - 1), 8);
	assert_goroutine(rule_at(&b, address_of(&b, "there")), 0xc0, 0x68, UNWIND_RA_BELOW_CFA);
	assert_sp_plus(rule_at(&b, address_of(&b, "back")), 8);
	rule = rule_at(&b, address_of(&b, "in_c"));
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_FP_OTHER);
	assert_sp_plus(rule_at(&b, address_of(&b, "runtime.mcall")), 8);
	assert_int_equal(unwind_rule_cfa(rule_at(&b, address_of(&b, "next"))), UNWIND_CFA_END);
	built_fini(&b);
}

/* The stack ends there where the version, or the place of a register, is not known. */
static void only_known_places_lead_to_the_goroutine(void **state)
{
	static const struct {
		const char *version, *fp;
		int16_t aux;
	} rows[] = {
		{ "go1.27.1", "0x60", -1 }, { "go1.28.0", "0x60", 0 }, { "go1.30.0", "0x60", 0 },
		{ "go1.27.1", "0x64", 0 },  { "go1.27.1", "-8", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(free_at_exit) char *text = xasprintf(
			".section .gopclntab,\"a\"\n.quad 1\n.section .go.buildinfo,\"a\"\n"
			".ascii \"\\377 Go buildinf:\"\n.byte 8, 2\n.fill 16\n.byte 8\n"
			".ascii \"%s\"\n.text\n.cfi_sections .debug_frame\n"
			"runtime.systemstack: .cfi_startproc\npush %%rbp\n"
			"cmp 0xb8(%%rbx), %%rax\nmov 0x38(%%rdx), %%rsp\nnop\n.cfi_endproc\n"
			"runtime.morestack: .cfi_startproc\nmov %%fs:-8, %%rdi\n"
			"mov %%rbp, %s(%%rdi)\nmov 0x38(%%rbx), %%rsp\n"
			"new_stack: call main.f\n.cfi_endproc\nmain.f: ret\n",
			rows[i].version, rows[i].fp);
		struct unwind_rule rule;
		struct built b;

		write_file("places.s", text);
		need_command("cc -dumpmachine | grep x86_64 && "
			     "cc -shared -nostdlib -o places.so places.s");
		build_of(&b, "places.so");
		rule = rule_at(&b, address_of(&b, "new_stack"));
		assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_ELSEWHERE);
		assert_int_equal(rule.aux, rows[i].aux);
		built_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_go_that_change_stacks_are_known),
		cmocka_unit_test(functions_of_older_go_that_change_stacks_are_known),
		cmocka_unit_test(only_known_places_lead_to_the_goroutine),
		cmocka_unit_test(the_goroutine_goes_on_where_its_registers_were_saved),
		cmocka_unit_test(a_thread_without_a_goroutine_is_at_its_end),
		cmocka_unit_test(a_damaged_goroutine_ends_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
