/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread.h"

#include <signal.h>
#include <sys/resource.h>

bool thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	bool has_started;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	has_started = pthread_create(out, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return has_started;
}

/* Linux has a nice value for each thread. */
void thread_be_ordinary(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}
