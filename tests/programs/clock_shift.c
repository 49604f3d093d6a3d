/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded into a program (LD_PRELOAD), whose clock of the day is shifted as soon as there is the
 * file that CLOCK_SHIFT names: an hour back, or by N seconds if it is a link to "N". The kernel
 * knows nothing of it: TFD_TIMER_CANCEL_ON_SET is not seen.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Not by open(2), which a sandbox may refuse. */
static long shift_of(const char *file)
{
	char text[32] = "";

	if (readlink(file, text, sizeof(text) - 1) > 0)
		return strtol(text, NULL, 10);
	return errno == EINVAL ? -3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *file = getenv("CLOCK_SHIFT");
	long r = syscall(SYS_clock_gettime, clock, t);

	if (r == 0 && clock == CLOCK_REALTIME && file)
		t->tv_sec += shift_of(file);
	return (int)r;
}
