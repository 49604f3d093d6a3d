/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs until it is killed, in spin(), and needs no library: for processors that have none here. */
__attribute__((noinline)) void spin(void)
{
	for (volatile unsigned int i = 0; i < 1000000; i++)
		;
}

void _start(void)
{
	for (;;)
		spin();
}
