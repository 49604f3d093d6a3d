/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and returns of a trace, as branches in short notation. */
#include "trace/call_stack.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "pt/code.h"
#include "unit.h"

/* A finished call: "[from-to] entry flags", in the order of their ends. */
static void over(void *context, const struct call_thread *t, const struct open_call *call,
		 const struct open_call *parent)
{
	buf_printf(context, "%d:%x %d-%d in %x%s%s%s%s%s%s\n", t->tid, (unsigned int)call->entry,
		   (int)call->start_ns, (int)t->last_ns, parent ? (unsigned int)parent->entry : 0,
		   call->flags & CALL_NO_CALL ? " no-call" : "",
		   call->flags & CALL_UNRETURNED ? " unreturned" : "",
		   call->flags & CALL_CUT ? " cut" : "", call->flags & CALL_OPEN ? " open" : "",
		   call->flags & CALL_TAIL ? " tail" : "",
		   call->flags & CALL_BY_KERNEL ? " kernel" : "");
}

/* Functions begin at multiples of 0x100. */
static void called(void *context, const struct call_thread *t, struct open_call *call,
		   const struct open_call *parent)
{
	(void)context;
	(void)t;
	(void)parent;
	call->function = (uint32_t)(call->entry >> 8);
}

static bool is_entry(void *context, const struct call_thread *t, uint64_t addr, uint32_t inside)
{
	(void)context;
	(void)t;
	return !(addr & 0xff) && addr >> 8 != inside;
}

struct step {
	uint64_t from, to;
	uint32_t flags;
	int32_t tid; /* 0: 1; -1: a gap */
};

enum {
	CALL = PT_F_BRANCH | PT_F_CALL,
	RET = PT_F_BRANCH | PT_F_RETURN,
	JUMP = PT_F_BRANCH,
	BEGIN = PT_F_BRANCH | PT_F_BEGIN,
	SYSCALL = PT_F_BRANCH | PT_F_CALL | PT_F_SYSTEM | PT_F_END,
	ASYNC_END = PT_F_BRANCH | PT_F_ASYNC | PT_F_END,
	GAP = 1 << 30,
};

/* One step a nanosecond; all instructions have 4 bytes. */
static void expect(const struct step *steps, size_t n, const char *want)
{
	struct buf said = { 0 };
	struct call_stacks s = {
		.find_entry = is_entry, .called = called, .over = over, .context = &said
	};

	for (size_t i = 0; i < n; i++) {
		struct call_branch b = {
			.pid = 1,
			.tid = steps[i].tid ? steps[i].tid : 1,
			.time_ns = i,
			.from = steps[i].from,
			.to = steps[i].to,
			.flags = steps[i].flags,
			.insn_size = steps[i].flags & (PT_F_BEGIN | PT_F_ASYNC) ? 0 : 4,
		};

		if (steps[i].flags == GAP)
			call_stacks_cut(&s, steps[i].tid ? steps[i].tid : 1, i);
		else
			call_stacks_branch(&s, &b);
	}
	call_stacks_end(&s);
	assert_string_equal(buf_cstr(&said), want);
	call_stacks_fini(&s);
	buf_fini(&said);
}
#define EXPECT(want, ...)                                                   \
	do {                                                                \
		const struct step steps_[] = { __VA_ARGS__ };               \
		expect(steps_, sizeof(steps_) / sizeof(steps_[0]), (want)); \
	} while (0)

static void calls_that_return_have_a_duration(void **state)
{
	(void)state;
	EXPECT("1:300 2-3 in 200\n1:200 1-4 in 100\n1:200 5-6 in 100\n1:100 0-6 in 0 no-call "
	       "open\n",
	       { 0, 0x100, BEGIN }, { 0x110, 0x200, CALL }, { 0x210, 0x300, CALL },
	       { 0x320, 0x214, RET }, { 0x220, 0x114, RET }, { 0x130, 0x200, CALL },
	       { 0x220, 0x134, RET });
}

static void what_longjmp_leaves_has_none(void **state)
{
	(void)state;
	/* From 400 back to 100 by a jump, and out of it. */
	EXPECT("1:400 3-5 in 300 unreturned\n1:300 2-5 in 200 unreturned\n1:200 1-5 in 100\n"
	       "1:100 0-5 in 0 no-call open\n",
	       { 0, 0x100, BEGIN }, { 0x110, 0x200, CALL }, { 0x210, 0x300, CALL },
	       { 0x310, 0x400, CALL }, { 0x420, 0x214, JUMP }, { 0x220, 0x114, RET });
}

static void a_function_that_called_before_the_trace_is_not_timed(void **state)
{
	(void)state;
	EXPECT("1:200 1-2 in 100\n1:100 0-3 in 0 no-call\n1:50 3-3 in 0 no-call open\n",
	       { 0, 0x100, BEGIN }, { 0x110, 0x200, CALL }, { 0x220, 0x114, RET },
	       { 0x120, 0x50, RET });
}

static void a_jump_to_another_function_returns_with_it(void **state)
{
	(void)state;
	/* As in procedure linkage tables. */
	EXPECT("1:300 2-4 in 200 tail\n1:200 1-4 in 100\n1:100 0-4 in 0 no-call open\n",
	       { 0, 0x100, BEGIN }, { 0x110, 0x200, CALL }, { 0x204, 0x300, JUMP },
	       { 0x310, 0x304, JUMP }, { 0x320, 0x114, RET });
}

static void a_handler_of_a_signal_is_called_by_the_kernel(void **state)
{
	(void)state;
	EXPECT("1:700 2-4 in 100 kernel\n1:100 0-7 in 0 no-call open\n", { 0, 0x100, BEGIN },
	       { 0x120, 0, ASYNC_END }, { 0, 0x700, BEGIN }, { 0x720, 0, SYSCALL },
	       { 0, 0x120, BEGIN }, { 0x130, 0, SYSCALL }, { 0, 0x134, BEGIN },
	       { 0x140, 0x120, JUMP });
}

static void a_gap_cuts_the_calls_of_its_thread(void **state)
{
	(void)state;
	EXPECT("1:200 2-4 in 100 cut\n1:100 0-4 in 0 no-call cut\n2:300 3-6 in 100\n"
	       "1:900 5-5 in 0 no-call open\n2:100 1-6 in 0 no-call open\n",
	       { 0, 0x100, BEGIN }, { 0, 0x100, BEGIN, 2 }, { 0x110, 0x200, CALL },
	       { 0x110, 0x300, CALL, 2 }, { 0, 0, GAP }, { 0, 0x900, BEGIN },
	       { 0x320, 0x114, RET, 2 });
}

static void a_return_to_no_call_ends_nothing(void **state)
{
	(void)state;
	/* A retpoline: call 404, there the return address is overwritten, and "returned" to 500. */
	EXPECT("1:404 2-4 in 200 unreturned\n1:200 1-4 in 100\n1:100 0-4 in 0 no-call open\n",
	       { 0, 0x100, BEGIN }, { 0x110, 0x200, CALL }, { 0x3fc, 0x404, CALL },
	       { 0x408, 0x500, RET }, { 0x510, 0x114, RET });
}

static void endless_recursion_is_bounded(void **state)
{
	struct call_stacks s = { 0 };
	struct call_branch b = {
		.tid = 1, .from = 0x10, .to = 0x100, .flags = CALL, .insn_size = 4
	};

	(void)state;
	for (int i = 0; i < 200000; i++)
		call_stacks_branch(&s, &b);
	assert_true(s.threads.data[0].calls.n <= 1 << 16);
	call_stacks_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_return_have_a_duration),
		cmocka_unit_test(what_longjmp_leaves_has_none),
		cmocka_unit_test(a_function_that_called_before_the_trace_is_not_timed),
		cmocka_unit_test(a_jump_to_another_function_returns_with_it),
		cmocka_unit_test(a_handler_of_a_signal_is_called_by_the_kernel),
		cmocka_unit_test(a_gap_cuts_the_calls_of_its_thread),
		cmocka_unit_test(a_return_to_no_call_ends_nothing),
		cmocka_unit_test(endless_recursion_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
