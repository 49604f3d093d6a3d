/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits whose helpers end at once. owned() waits for a mutex of a thread "holder", which ends after
 * it has given the mutex back. woken() reads from a pipe that a process "waker" writes to before it
 * ends. Each waits WAIT_MS and more in each of ROUNDS rounds.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define ROUNDS  20
#define WAIT_MS 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held;
static bool is_next; /* main() goes to owned() */
static int ends[2];

static bool sleeps(pid_t pid)
{
	char path[64], line[256] = "";
	const char *name_end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	name_end = strrchr(line, ')');
	return name_end && !strncmp(name_end, ") S", 3);
}

/* On a busy machine, main() may come to its wait late. */
static void let_wait(pid_t pid)
{
	while (!__atomic_load_n(&is_next, __ATOMIC_SEQ_CST) || !sleeps(pid))
		usleep(1000);
	usleep(WAIT_MS * 1000);
}

static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&is_held);
	let_wait(getpid());
	pthread_mutex_unlock(&mutex);
	return unused;
}

static NOINLINE void owned(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static NOINLINE void woken(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	__asm__ volatile("");
}

int main(void)
{
	pthread_t holder;

	if (pipe(ends) < 0 || pthread_barrier_init(&is_held, NULL, 2))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		if (pthread_create(&holder, NULL, hold, NULL))
			return 1;
		pthread_barrier_wait(&is_held);
		__atomic_store_n(&is_next, true, __ATOMIC_SEQ_CST);
		owned();
		pthread_join(holder, NULL);
		if (fork() == 0) {
			prctl(PR_SET_NAME, "waker");
			let_wait(getppid());
			_exit(write(ends[1], "x", 1) != 1);
		}
		woken();
		wait(NULL);
		__atomic_store_n(&is_next, false, __ATOMIC_SEQ_CST);
	}
	return 0;
}
