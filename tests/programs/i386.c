/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program for i386 without libraries, and without frame pointers. `i386 N` counts N times 2^20 in
 * _start → outer → middle → spin, and waits in system calls between.
 *
 *	cc -m32 -O2 -fomit-frame-pointer -nostdlib -static -no-pie -o i386 i386.c
 */
static volatile unsigned int sink;

static int call_kernel(int number, int first)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first) : "memory");
	return result;
}

__attribute__((noinline, noclone)) static unsigned int spin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sink += i;
	return sink;
}

__attribute__((noinline, noclone)) static unsigned int middle(unsigned int n)
{
	unsigned int words[64];

	for (int i = 0; i < 64; i++)
		words[i] = spin(n / 64);
	return words[n % 64];
}

__attribute__((noinline, noclone)) static unsigned int outer(unsigned int n)
{
	return middle(n) + middle(n) + 1;
}

void start(void);

/* Until it is killed. */
void start(void)
{
	for (;;)
		sink = outer(1 << 20) + (unsigned int)call_kernel(20, 0); /* getpid(2) */
}

__asm__(".globl _start\n_start: .cfi_startproc\n.cfi_undefined eip\ncall "
	"start\nhlt\n.cfi_endproc\n");
