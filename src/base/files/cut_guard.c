/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/cut_guard.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"

/* base 0: free. The size is set before the base, and read after it. */
struct cut_guard {
	atomic_uintptr_t base;
	atomic_size_t size;
	atomic_bool is_cut;
};

/* Chunks are added at the front and never go, so that the handler needs no lock. */
#define CHUNK 128

struct chunk {
	struct cut_guard guards[CHUNK];
	struct chunk *next;
};

static _Atomic(struct chunk *) chunks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects changes of the guards */
static struct sigaction before_us;
static uintptr_t page_bytes;
static atomic_bool is_enabled;
static atomic_flag is_resting = ATOMIC_FLAG_INIT; /* cut_guard_rest() runs in some thread */

void cut_guard_enable(void)
{
	atomic_store(&is_enabled, true);
}

bool cut_guard_is_enabled(void)
{
	return atomic_load(&is_enabled);
}

static struct cut_guard *find_guard(uintptr_t addr)
{
	for (struct chunk *c = atomic_load(&chunks); c; c = c->next)
		for (size_t i = 0; i < CHUNK; i++) {
			uintptr_t base = atomic_load(&c->guards[i].base);

			if (base && addr - base < atomic_load(&c->guards[i].size))
				return &c->guards[i];
		}
	return NULL;
}

/* Runs in the thread that read, at the instruction that did: mmap(2) alone is called. */
static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	struct cut_guard *g = find_guard(addr);
	int saved = errno;

	if (g) {
		uintptr_t from = addr & ~(page_bytes - 1);
		uintptr_t end = atomic_load(&g->base) + atomic_load(&g->size);

		atomic_store(&g->is_cut, true);
		if (mmap((void *)from, end - from, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
			errno = saved;
			return;
		}
	}
	if (before_us.sa_flags & SA_SIGINFO)
		before_us.sa_sigaction(signal, info, context);
	else
		sigaction(signal, &before_us, NULL); /* the same read then ends us */
}

/* Again with each guard, as somebody may have taken the signal meanwhile. */
static void install(void)
{
	struct sigaction ours = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO }, now;

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
	    now.sa_sigaction == on_sigbus)
		return;
	before_us = now;
	sigemptyset(&ours.sa_mask);
	sigaction(SIGBUS, &ours, NULL);
}

static struct cut_guard *free_guard(void)
{
	struct chunk *fresh;

	for (struct chunk *c = atomic_load(&chunks); c; c = c->next)
		for (size_t i = 0; i < CHUNK; i++)
			if (!atomic_load(&c->guards[i].base))
				return &c->guards[i];
	fresh = xcalloc(1, sizeof(*fresh));
	fresh->next = atomic_load(&chunks);
	atomic_store(&chunks, fresh);
	return &fresh->guards[0];
}

struct cut_guard *cut_guard_put(void *base, size_t size)
{
	struct cut_guard *g;

	pthread_mutex_lock(&lock);
	install();
	g = free_guard();
	atomic_store(&g->is_cut, false);
	atomic_store(&g->size, size);
	atomic_store(&g->base, (uintptr_t)base);
	pthread_mutex_unlock(&lock);
	return g;
}

/* The range may be memory of another use soon, so no handler may still give it back. */
void cut_guard_drop(struct cut_guard *g)
{
	if (!g)
		return;
	atomic_store(&g->base, 0);
	while (atomic_flag_test_and_set(&is_resting))
		sched_yield();
	atomic_flag_clear(&is_resting);
}

void cut_guard_rest(size_t size)
{
	int saved = errno;

	if (atomic_flag_test_and_set(&is_resting))
		return;
	for (struct chunk *c = atomic_load(&chunks); c; c = c->next)
		for (size_t i = 0; i < CHUNK; i++) {
			uintptr_t base = atomic_load(&c->guards[i].base);
			size_t bytes = atomic_load(&c->guards[i].size);

			if (base && bytes >= size)
				madvise((void *)base, bytes, MADV_DONTNEED);
		}
	atomic_flag_clear(&is_resting);
	errno = saved;
}

static size_t often_bytes;

static void on_sigprof(int signal)
{
	(void)signal;
	cut_guard_rest(often_bytes);
}

void cut_guard_rest_often(size_t size, long cpu_us)
{
	const struct sigaction action = { .sa_handler = on_sigprof, .sa_flags = SA_RESTART };
	const struct timeval each = { .tv_usec = cpu_us };
	const struct itimerval timer = { .it_interval = each, .it_value = each };

	often_bytes = size;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

bool cut_guard_is_cut(const struct cut_guard *g)
{
	return g && atomic_load(&g->is_cut);
}
