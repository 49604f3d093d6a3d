/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that asks nothing of the kernel: what system time it is billed is not its own. */

int main(void)
{
	for (;;)
		__asm__ volatile("");
}
