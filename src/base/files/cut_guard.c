/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/cut_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
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

void cut_guard_drop(struct cut_guard *g)
{
	if (g)
		atomic_store(&g->base, 0);
}

bool cut_guard_is_cut(const struct cut_guard *g)
{
	return g && atomic_load(&g->is_cut);
}
