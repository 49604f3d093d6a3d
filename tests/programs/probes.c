/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes to hit: sell() is called 100 times, and refund() 7 times. The static probe shop:sold is in
 * both, with a semaphore. Prints how often it was passed while its semaphore was raised.
 */
#include <stdio.h>
#include <unistd.h>

unsigned short shop_sold_semaphore __attribute__((section(".probes")));

/* As SystemTap's sys/sdt.h has it, without arguments. */
#define PROBE(provider, name, semaphore)                                                         \
	__asm__ volatile("990:\tnop\n\t"                                                         \
			 ".pushsection .note.stapsdt,\"\",%%note\n\t"                            \
			 ".balign 4\n\t"                                                         \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                      \
			 "991:\t.asciz \"stapsdt\"\n"                                            \
			 "992:\t.balign 4\n"                                                     \
			 "993:\t.8byte 990b\n\t"                                                 \
			 ".8byte _.stapsdt.base\n\t"                                             \
			 ".8byte " semaphore "\n\t"                                              \
			 ".asciz \"" provider "\"\n\t"                                           \
			 ".asciz \"" name "\"\n\t"                                               \
			 ".asciz \"\"\n"                                                         \
			 "994:\t.balign 4\n\t"                                                   \
			 ".popsection\n\t"                                                       \
			 ".ifndef _.stapsdt.base\n\t"                                            \
			 ".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n\t" \
			 ".weak _.stapsdt.base\n\t"                                              \
			 ".hidden _.stapsdt.base\n"                                              \
			 "_.stapsdt.base:\t.space 1\n\t"                                         \
			 ".size _.stapsdt.base, 1\n\t"                                           \
			 ".popsection\n\t"                                                       \
			 ".endif" ::                                                             \
				 : "memory")

static unsigned int n_enabled, n_calls;

static void count(void)
{
	n_enabled += *(volatile unsigned short *)&shop_sold_semaphore > 0;
	n_calls++;
}

__attribute__((noinline)) void sell(void);
void sell(void)
{
	PROBE("shop", "sold", "shop_sold_semaphore");
	count();
}

__attribute__((noinline)) void refund(void);
void refund(void)
{
	PROBE("shop", "sold", "shop_sold_semaphore");
	PROBE("shop", "paid_back", "0");
	count();
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 100; i++)
		sell();
	for (int i = 0; i < 7; i++)
		refund();
	printf("%u of %u\n", n_enabled, n_calls);
	if (argc > 1) /* the recorder needs a moment to see the last one */
		sleep(3);
	return 0;
}
