/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control flow of every kind, for the decoder of branch traces: `flow recursion`, … Linked
 * statically, so that each takes some ten thousand instructions.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

/* Deeper than the 64 return addresses that a processor keeps. */
static int __attribute__((noinline)) deep(int n)
{
	return n ? deep(n - 1) + 1 : sink;
}

static void recursion(void)
{
	for (int i = 0; i < 4; i++)
		sink = deep(60 + 40 * i);
}

static jmp_buf place;

static void __attribute__((noinline)) jump_out(int n)
{
	if (n > 0)
		jump_out(n - 1);
	else if (sink >= 0) /* always */
		longjmp(place, 1);
	sink++;
}

static void longjmps(void)
{
	for (volatile int i = 0; i < 20; i++)
		if (!setjmp(place))
			jump_out(i % 7);
}

static void on_signal(int signal)
{
	sink += signal;
}

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(place, 1);
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	signal(SIGSEGV, on_fault);
	for (volatile int i = 0; i < 5; i++) {
		raise(SIGUSR1);
		if (!sigsetjmp(place, 1))
			*(volatile int *)(long)i = 1;
	}
}

static void *work(void *argument)
{
	for (int i = 0; i < 50; i++)
		sink += deep(i % 5) + *(int *)argument;
	return NULL;
}

static void threads(void)
{
	int numbers[3] = { 1, 2, 3 };
	pthread_t ids[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, work, &numbers[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

void __switch_to(void);

/* Where the generator's kernel switches threads: who calls it waits until another does. */
void __attribute__((noinline)) __switch_to(void)
{
	sink++;
}

static void *take_turns(void *argument)
{
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 45; k++)
			sink += k % (*(int *)argument + 1);
		__switch_to();
		if (i % 2)
			sink += *(int *)argument;
	}
	return NULL;
}

static void switches(void)
{
	int numbers[3] = { 1, 2, 3 };
	pthread_t ids[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, take_turns, &numbers[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

static void forks(void)
{
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			recursion();
			_exit(0);
		}
		wait(NULL);
	}
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Indirect calls, jump tables, string instructions. */
static void indirect(void)
{
	int numbers[64];
	char text[256];

	for (int i = 0; i < 64; i++)
		numbers[i] = (i * 37) % 64;
	qsort(numbers, 64, sizeof(int), by_value);
	for (int i = 0; i < 8; i++)
		snprintf(text, sizeof(text), "%d %s %g %c %x", numbers[i], "text", 1.5 * i, 'c', i);
	__asm__ volatile("rep stosb" : : "D"(text), "c"(sizeof(text)), "a"(0) : "memory");
}

#ifdef __x86_64__

/*
 * An indirect call; a conditional branch after rewriting. A decoder that follows one of the two
 * can't follow the other.
 */
void rewritten(void (*function)(void));
__asm__(".text\n.globl rewritten\n.type rewritten, @function\n"
	"rewritten:\n\tcall *%rdi\n\tret\n\tnop\n\tnop\n\tret\n.size rewritten, .-rewritten\n");

static void add_one(void)
{
	sink++;
}

static void rewrite(const unsigned char bytes[6])
{
	unsigned char *at = (unsigned char *)rewritten;
	char *page = (char *)((unsigned long)at & ~4095UL);

	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		exit(3);
	memcpy(at, bytes, 6);
	mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

static void __attribute__((noinline)) call_rewritten(int n)
{
	for (int i = 0; i < n; i++)
		rewritten(add_one);
}

/* Runs code that differs from the file for a time: three phases, of which the second is long. */
static void rewrites(void)
{
	static const unsigned char branch[] = { 0x85, 0xff, 0x75, 0x01, 0x90, 0xc3 },
				   call[] = { 0xff, 0xd7, 0xc3, 0x90, 0x90, 0xc3 };

	call_rewritten(50);
	rewrite(branch);
	call_rewritten(2000);
	rewrite(call);
	call_rewritten(500);
}

#else
static void rewrites(void)
{
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} flows[] = {
		{ "recursion", recursion }, { "longjmp", longjmps },  { "signals", signals },
		{ "threads", threads },     { "fork", forks },        { "indirect", indirect },
		{ "switches", switches },   { "rewrites", rewrites },
	};

	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
		if (argc > 1 && strcmp(argv[1], flows[i].name) == 0) {
			flows[i].run();
			return 0;
		}
	return 2;
}
