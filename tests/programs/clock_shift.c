/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded into a program (LD_PRELOAD), whose clock of the day is set back an hour as soon as there
 * is the file that CLOCK_SHIFT names. The kernel knows nothing of it: TFD_TIMER_CANCEL_ON_SET is
 * not seen.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *file = getenv("CLOCK_SHIFT");
	long r = syscall(SYS_clock_gettime, clock, t);

	if (r == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
		t->tv_sec -= 3600;
	return (int)r;
}
