/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works only in a signal handler: handler [S], with S seconds of CPU time (default 1). main() calls
 * work(), which raises the signal; on_signal() calls in_handler(). With a second argument the
 * handler has a separate stack (sigaltstack(2)).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void in_handler(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sum += i;
}

__attribute__((noinline)) static void on_signal(int signal)
{
	in_handler();
	sum += (unsigned long)signal; /* no tail call */
}

__attribute__((noinline)) static void work(double seconds)
{
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	enum { STACK_BYTES = 1 << 16 };
	struct sigaction action = { .sa_handler = on_signal };

	if (argc > 2) {
		stack_t own = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };

		action.sa_flags = SA_ONSTACK;
		if (!own.ss_sp || sigaltstack(&own, NULL) < 0)
			return 1;
	}
	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return 1;
	work(argc > 1 ? strtod(argv[1], NULL) : 1);
	printf("%lu\n", sum);
	return 0;
}
