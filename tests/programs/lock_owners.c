/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that wait for locks of the main thread. Most are mutexes of the C library, of several
 * kinds. Two are no mutexes: other_data() waits for a lock of two states, which has a thread's id
 * in the place of a mutex's owner. The "owner" of no_thread()'s lock does not exist.
 *
 * Prints "main TID".
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

#define WAIT_MS 60

static pthread_mutex_t mutexes[4];
static uint32_t other[10], fake[10];

static void lock_and_unlock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static NOINLINE void normal(void)
{
	lock_and_unlock(&mutexes[0]);
	__asm__ volatile("");
}

static NOINLINE void recursive(void)
{
	lock_and_unlock(&mutexes[1]);
	__asm__ volatile("");
}

static NOINLINE void robust(void)
{
	lock_and_unlock(&mutexes[2]);
	__asm__ volatile("");
}

static NOINLINE void inheriting(void)
{
	lock_and_unlock(&mutexes[3]);
	__asm__ volatile("");
}

static void wait_for_word(uint32_t *word)
{
	const struct timespec wait = { .tv_nsec = WAIT_MS * 1000000L };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, &wait, NULL, 0);
}

static NOINLINE void other_data(void)
{
	wait_for_word(other);
	__asm__ volatile("");
}

static NOINLINE void no_thread(void)
{
	wait_for_word(fake);
	__asm__ volatile("");
}

static void *start(void *run)
{
	((void (*)(void))run)();
	return NULL;
}

static void make_mutexes(void)
{
	pthread_mutexattr_t kinds[4];

	for (int i = 0; i < 4; i++)
		pthread_mutexattr_init(&kinds[i]);
	pthread_mutexattr_settype(&kinds[1], PTHREAD_MUTEX_RECURSIVE);
	pthread_mutexattr_setrobust(&kinds[2], PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&kinds[3], PTHREAD_PRIO_INHERIT);
	for (int i = 0; i < 4; i++) {
		pthread_mutex_init(&mutexes[i], &kinds[i]);
		pthread_mutex_lock(&mutexes[i]);
	}
}

int main(void)
{
	void (*const runs[])(
		void) = { normal, recursive, robust, inheriting, other_data, no_thread };
	pthread_t threads[6];

	/* the word, the count, the owner, the users; a mutex has zeros behind its kind */
	other[0] = fake[0] = 2;
	other[2] = (uint32_t)gettid();
	other[3] = fake[3] = 1;
	other[8] = 77;
	fake[2] = 4194303; /* the largest id */
	make_mutexes();
	printf("main %d\n", gettid());
	for (int i = 0; i < 6; i++)
		if (pthread_create(&threads[i], NULL, start, (void *)runs[i]))
			return 1;
	usleep(WAIT_MS * 1000);
	for (int i = 0; i < 4; i++)
		pthread_mutex_unlock(&mutexes[i]);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
