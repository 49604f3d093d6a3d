/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that each wait in one way for the given time. sleeper() calls nanosleep(2) again and
 * again. locker() waits for a mutex that main() holds. reader() waits on a pipe. worker() never
 * waits. The time begins when locker() and reader() wait.
 *
 * Prints a line for each function, in whole milliseconds, with these fields:
 *
 *   the function's name
 *   its time from start to end, rounded up
 *   the part of it that it certainly waited, rounded down
 *   its CPU time
 *   the numbers of voluntary and of involuntary context switches
 *   the sum of its naps of LONG_MS and more
 */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "work.h"

#define MS      1000000
#define NAP_MS  50
#define LONG_MS 250

struct waiter {
	const char *name;
	void (*run)(void);
	pthread_t thread;
	pid_t tid;
	double wall_ms, cpu_ms, waited_ms;
	long switches, preemptions;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];
static struct until until, worker_until;
static double asked_ms, long_naps_ms;

static double now_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / MS;
}

static NOINLINE void sleeper(void)
{
	struct timespec t = { .tv_nsec = NAP_MS * MS };

	while (until_next(&until)) {
		double took_ms = now_ms(CLOCK_MONOTONIC);

		nanosleep(&t, NULL);
		took_ms = now_ms(CLOCK_MONOTONIC) - took_ms;
		asked_ms += NAP_MS;
		if (took_ms >= LONG_MS)
			long_naps_ms += took_ms;
	}
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

	while (until_next(&worker_until))
		x = work_unit(x);
	__asm__ volatile("");
}

static void *start(void *arg)
{
	struct waiter *w = arg;
	struct rusage before, after;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_SEQ_CST);
	w->wall_ms = now_ms(CLOCK_MONOTONIC);
	getrusage(RUSAGE_THREAD, &before);
	w->cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID);
	w->run();
	w->cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID) - w->cpu_ms;
	getrusage(RUSAGE_THREAD, &after);
	w->wall_ms = now_ms(CLOCK_MONOTONIC) - w->wall_ms;
	w->switches = after.ru_nvcsw - before.ru_nvcsw;
	w->preemptions = after.ru_nivcsw - before.ru_nivcsw;
	return NULL;
}

/* All of the worker's thread, also what is beside worker() while its time is taken. */
static NOINLINE void *start_worker(void *arg)
{
	start(arg);
	__asm__ volatile("");
	return NULL;
}

static void create(struct waiter *w)
{
	if (pthread_create(&w->thread, NULL, w->run == worker ? start_worker : start, w))
		exit(1);
}

/* Whether the thread sleeps, and has left the CPU. */
static bool is_waiting(struct waiter *w)
{
	char path[64], line[256];
	long switches = 0;
	bool sleeps = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status",
		 (int)__atomic_load_n(&w->tid, __ATOMIC_SEQ_CST));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sleeps |= !strncmp(line, "State:\tS", 8);
		sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
	}
	if (f)
		fclose(f);
	return sleeps && switches > 0;
}

int main(int argc, char **argv)
{
	struct waiter waiters[] = { { "sleeper", sleeper },
				    { "locker", locker },
				    { "reader", reader },
				    { "worker", worker } };
	struct waiter *sleeps = &waiters[0], *locks = &waiters[1], *reads = &waiters[2],
		      *works = &waiters[3];
	double waited_ms;

	if (pipe(pipe_ends) < 0)
		return 1;
	pthread_mutex_lock(&lock);
	create(locks);
	create(reads);
	while (!is_waiting(locks) || !is_waiting(reads))
		usleep(1000);
	waited_ms = now_ms(CLOCK_MONOTONIC);
	until = worker_until = until_argument(argc, argv);
	create(sleeps);
	create(works);
	pthread_join(works->thread, NULL);
	waited_ms = now_ms(CLOCK_MONOTONIC) - waited_ms;
	pthread_mutex_unlock(&lock);
	if (write(pipe_ends[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(waiters[i].thread, NULL);
	locks->waited_ms = reads->waited_ms = waited_ms;
	sleeps->waited_ms = asked_ms;
	for (int i = 0; i < 4; i++)
		printf("%s %ld %ld %ld %ld %ld %ld\n", waiters[i].name,
		       (long)waiters[i].wall_ms + 1, (long)waiters[i].waited_ms,
		       (long)waiters[i].cpu_ms, waiters[i].switches, waiters[i].preemptions,
		       i == 0 ? (long)long_naps_ms : 0);
	return 0;
}
