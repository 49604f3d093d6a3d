/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A munmap(2) whose thread loses its CPU before it comes back: another thread has mapped memory at
 * the address by then, and a recorder has read that.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE (16 << 20)

int munmap(void *start, size_t bytes)
{
	int r = (int)syscall(SYS_munmap, start, bytes);
	unsigned char there;

	if (bytes != LARGE)
		return r;
	while (mincore(start, 1, &there) < 0)
		usleep(100);
	sleep(1);
	return r;
}
