/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes over the stack above scribble(), its callers' frames, and goes on in there for good. */
#include <unistd.h>

#include "work.h"

static NOINLINE void scribble(struct until until)
{
	volatile uint64_t here = 0;
	volatile uint64_t *stack = &here;
	uint64_t x = 1;

	__asm__ volatile("" : "+r"(stack)); /* the compiler need not know whose it is */

	for (int i = 0; i < 2000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		stack[i + 64] = i % 3 ? x : (uint64_t)(uintptr_t)&stack[i * 5 % 512];
	}
	while (until_next(&until))
		x = work_unit(x);
	_exit(x == 0);
}

static NOINLINE void outer(struct until until)
{
	char room[32768]; /* what is written over belongs to somebody */

	__asm__ volatile("" : : "r"(room) : "memory");
	scribble(until);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	outer(until_argument(argc, argv));
	return 1;
}
