/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that each wait in one way for as long as it is told: sleeper() by nanosleep(2),
 * locker() for a mutex that main() holds, reader() on a pipe; and worker(), which waits for
 * nothing.
 */
#include <pthread.h>
#include <unistd.h>

#include "work.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];
static struct until until;

static NOINLINE void sleeper(void)
{
	struct timespec t = { .tv_nsec = 50000000 };

	while (until_next(&until))
		nanosleep(&t, NULL);
	__asm__ volatile("");
}

static NOINLINE void locker(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

static NOINLINE void reader(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		exit(1);
	__asm__ volatile("");
}

static NOINLINE void worker(void)
{
	volatile uint64_t x = 1;

	while (until_next(&until))
		x = work_unit(x);
	__asm__ volatile("");
}

static void *start(void *function)
{
	void (*run)(void);

	*(void **)&run = function;
	run();
	return NULL;
}

int main(int argc, char **argv)
{
	static void (*const functions[])(void) = { sleeper, locker, reader, worker };
	pthread_t threads[4];

	until = until_argument(argc, argv);
	if (pipe(pipe_ends) < 0)
		return 1;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, start, *(void *const *)&functions[i]))
			return 1;
	pthread_join(threads[3], NULL);
	pthread_mutex_unlock(&lock);
	if (write(pipe_ends[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
