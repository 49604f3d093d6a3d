/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works on another stack, for SECONDS of CPU time: fibers SECONDS [KIND]. x86-64.
 *
 *   fiber     run_on() changes stacks, and its unwind information leads back, as in
 *             OCaml 5's runtime
 *   nested    such a fiber within a fiber; the unwind information of the inner fiber
 *             leads over the descriptor of the outer one
 *   context   a context of makecontext(3), whose first function has no caller
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define STACK_BYTES (1 << 16)

static volatile unsigned long sum;
static double seconds;
static ucontext_t back, inside;

/* run_on(function, top of its stack); run_below(the same). The CFA is [rsp] + 16, or [[rsp] + 8]
 * + 16. */
void run_on(void (*function)(void), void *top);
void run_below(void (*function)(void), void *top);
__asm__(".text\n.type run_on, @function\n"
	"run_on: .cfi_startproc\n.cfi_signal_frame\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"sub $16, %rsi\nmov %rsp, (%rsi)\nmov %rsi, %rsp\n.cfi_remember_state\n"
	".cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 16\n"
	"call *%rdi\nmov (%rsp), %rsp\n.cfi_restore_state\npop %rbp\nret\n"
	".cfi_endproc\n.size run_on, . - run_on\n"
	".type run_below, @function\n"
	"run_below: .cfi_startproc\n.cfi_signal_frame\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n"
	"sub $32, %rsi\nmov %rsp, 24(%rsi)\nlea 16(%rsi), %rax\nmov %rax, (%rsi)\n"
	"mov %rsi, %rsp\n.cfi_remember_state\n"
	".cfi_escape 0x0f, 8, 0x77, 0, 0x06, 0x23, 8, 0x06, 0x23, 16\n"
	"call *%rdi\nmov 24(%rsp), %rsp\n.cfi_restore_state\npop %rbp\nret\n"
	".cfi_endproc\n.size run_below, . - run_below\n");

__attribute__((noinline)) static void busy(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sum += i;
}

__attribute__((noinline)) static void in_fiber(void)
{
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		busy();
	sum++; /* no tail call */
}

static void *new_stack(void)
{
	char *stack = aligned_alloc(64, STACK_BYTES);

	if (!stack)
		exit(1);
	memset(stack, 0, STACK_BYTES);
	return stack + STACK_BYTES;
}

__attribute__((noinline)) static void outer(void)
{
	run_below(in_fiber, new_stack());
	sum++;
}

static void run_context(void)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = (char *)new_stack() - STACK_BYTES;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &back;
	makecontext(&inside, in_fiber, 0);
	swapcontext(&back, &inside);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "fiber";

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	if (!strcmp(what, "nested"))
		run_on(outer, new_stack());
	else if (!strcmp(what, "context"))
		run_context();
	else
		run_on(in_fiber, new_stack());
	printf("%lu\n", sum);
	return 0;
}
