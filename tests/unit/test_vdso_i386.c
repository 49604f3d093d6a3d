/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the vdso of i386 programs, and walks through it, whose rules are the stack's. 33xxx is
 * the vdso; 22xxx is code with frame pointers. The stack begins at 7000, in words of four bytes.
 */
#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "machine/vdso32.h"
#include "symbol/symbols.h"
#include "unwind/walk.h"

#define STACK 0x7000

struct i386_stack {
	uint32_t words[128];
	bool is_in_kernel;
};

static enum unwind_where find_in_program(void *ctx, uint64_t pc, struct unwind_place *place)
{
	(void)ctx;
	(void)place;
	return pc >> 12 == 0x33   ? UNWIND_AT_RUNTIME
	       : pc >> 12 == 0x22 ? UNWIND_AT_CODE
				  : UNWIND_AT_NOTHING;
}

static struct unwind_rule rule_of_vdso(void *ctx, uint32_t at, const struct unwind_regs *regs,
				       struct unwind_ctx *stack)
{
	const struct i386_stack *s = ctx;

	(void)at;
	return unwind_rule_in_vdso_i386(regs, stack, s->is_in_kernel);
}

static void put_words(struct i386_stack *s, uint32_t addr, size_t n, const uint32_t *words)
{
	memcpy(s->words + (addr - STACK) / 4, words, n * sizeof(*words));
}

#define PUT(s, addr, ...)                                                                    \
	put_words((s), (addr), sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
		  (const uint32_t[]){ __VA_ARGS__ })

/* From esp 7000. */
static void expect_walk(struct i386_stack *s, uint64_t pc, uint64_t fp, const char *frames)
{
	uint64_t pcs[16];
	struct unwind_chain chain = { .pcs = pcs, .max = ARRAY_SIZE(pcs) };
	struct unwind_input in = {
		.regs = unwind_regs_sampled_i386(pc, STACK, fp),
		.stack = s->words,
		.stack_size = sizeof(s->words),
		.find = find_in_program,
		.runtime = rule_of_vdso,
		.ctx = s,
	};
	struct unwinder *u = unwinder_new();
	struct buf out = { 0 };

	unwind_walk(u, &in, &chain);
	for (size_t i = 0; i < chain.n; i++)
		buf_printf(&out, "%llx ", (unsigned long long)pcs[i]);
	buf_printf(&out, "%s", unwind_stop_keys[chain.stop]);
	assert_string_equal(buf_cstr(&out), frames);
	buf_fini(&out);
	unwinder_free(u);
}

static void a_system_call_returns_behind_three_pushes(void **state)
{
	struct i386_stack s = { .is_in_kernel = true };

	(void)state;
	PUT(&s, 0x7000, 0x7010, 2, 3, 0x22004); /* ebp, edx, ecx */
	PUT(&s, 0x7010, 0, 0x22008);
	expect_walk(&s, 0x33010, 0x7010, "33010 22004 22008 end");
}

static void a_page_fault_is_no_system_call(void **state)
{
	struct i386_stack s = { .is_in_kernel = true };

	(void)state;
	PUT(&s, 0x7000, 1, 2, 3, 0x22004);
	PUT(&s, 0x7010, 0x7020, 0x22008);
	PUT(&s, 0x7020, 0, 0x2200c);
	expect_walk(&s, 0x33010, 0x7010, "33010 22008 2200c end");
}

static void a_thread_that_waits_is_in_a_system_call(void **state)
{
	struct i386_stack s = { .is_in_kernel = true };

	(void)state;
	PUT(&s, 0x7000, 0x7010, 2, 3, 0x22004);
	PUT(&s, 0x7010, 0, 0x22008);
	expect_walk(&s, 0x33010, 0, "33010 22004 22008 end"); /* ebp is not known */
}

static void a_function_of_the_vdso_has_a_frame_pointer(void **state)
{
	struct i386_stack s = { .is_in_kernel = false };

	(void)state;
	PUT(&s, 0x7000, 0x7010, 2, 3, 0x22004); /* the value on top is not its caller's ebp */
	PUT(&s, 0x7010, 0, 0x22008);
	expect_walk(&s, 0x33010, 0x7010, "33010 22008 end");
}

/* The frames of handlers, of which the first has siginfo, interrupt 22400 in the frame at 7180. */
static void a_handler_returns_to_the_interrupted_code(void **state)
{
	struct i386_stack with_info = { 0 }, plain = { 0 };

	(void)state;
	PUT(&with_info, 0x7000, 0, 0x33100, 10, 0x7014, 0x7094);
	PUT(&with_info, 0x70c0, 0x7180, 0x7170); /* ebp, esp */
	PUT(&with_info, 0x70e0, 0x22400);
	PUT(&with_info, 0x7180, 0, 0x22404);
	expect_walk(&with_info, 0x22010, 0x7000, "22010 33100 22400 22404 end");
	PUT(&plain, 0x7000, 0, 0x33100, 10);
	PUT(&plain, 0x7024, 0x7180, 0x7170);
	PUT(&plain, 0x7044, 0x22400, 0x23, 0, 0, 0x2b);
	PUT(&plain, 0x7180, 0, 0x22404);
	expect_walk(&plain, 0x22010, 0x7000, "22010 33100 22400 22404 end");
}

static void a_signal_may_interrupt_a_system_call(void **state)
{
	struct i386_stack s = { 0 };

	(void)state;
	PUT(&s, 0x7000, 0, 0x33100, 10);
	PUT(&s, 0x7024, 0x7180, 0x7100);
	PUT(&s, 0x7044, 0x33010, 0x23, 0, 0, 0x2b);
	PUT(&s, 0x7100, 0x7180, 2, 3, 0x22404);
	PUT(&s, 0x7180, 0, 0x22408);
	expect_walk(&s, 0x22010, 0x7000, "22010 33100 33010 22404 22408 end");
}

static void the_vdso_of_i386_has_names(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image vdso = { .kind = IMAGE_VDSO,
			      .path = IMAGE_PATH_VDSO32,
			      .build_id = vdso32_build_id() };
	struct image other = vdso;
	const struct symbol_table *t = symbolizer_table(s, &vdso, NULL, 0);
	bool found = false;

	(void)state;
	if (symbol_table_status(t) == SYMBOL_MISSING) {
		symbolizer_free(s);
		skip_because("the kernel has no such vdso");
	}
	for (uint32_t i = 0; i < symbol_count(t); i++)
		found |= !strcmp(symbol_name(s, t, i), "__kernel_vsyscall");
	assert_true(found);
	assert_int_not_equal(vdso.build_id.len, 0);
	other.build_id.bytes[0] ^= 1;
	assert_int_equal(symbol_table_status(symbolizer_table(s, &other, NULL, 0)), SYMBOL_MISSING);
	symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_call_returns_behind_three_pushes),
		cmocka_unit_test(a_page_fault_is_no_system_call),
		cmocka_unit_test(a_thread_that_waits_is_in_a_system_call),
		cmocka_unit_test(a_function_of_the_vdso_has_a_frame_pointer),
		cmocka_unit_test(a_handler_returns_to_the_interrupted_code),
		cmocka_unit_test(a_signal_may_interrupt_a_system_call),
		cmocka_unit_test(the_vdso_of_i386_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
