/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/end_signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"

static volatile sig_atomic_t has_come;

static void keep_signal(int signal)
{
	(void)signal;
	has_come = 1;
}

void end_signals_catch(void)
{
	const struct sigaction on_end = { .sa_handler = keep_signal };

	sigaction(SIGINT, &on_end, NULL);
	sigaction(SIGTERM, &on_end, NULL);
}

bool end_signals_came(void)
{
	return has_come;
}

/* A signal between the look and the wait would not end the wait: it comes in the wait alone. */
void end_signals_wait(double seconds)
{
	const struct timespec t = timespec_of_ns(seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
	sigset_t ends, before, waiting;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	waiting = before;
	sigdelset(&waiting, SIGINT);
	sigdelset(&waiting, SIGTERM);
	if (!has_come)
		ppoll(NULL, 0, &t, &waiting);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
