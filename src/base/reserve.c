/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reserve.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/error.h"

/* All but the counts for a fast look are under the lock. */
static struct {
	pthread_mutex_t lock;
	void *space; /* NULL: not there */
	size_t size, wanted;
	atomic_uint n_users, n_failures;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

atomic_bool reserve_is_spent;

static void reserve_unmap(void)
{
	if (held.space)
		munmap(held.space, held.size);
	held.space = NULL;
	held.size = 0;
}

/*
 * A limit of address space (RLIMIT_AS) and strict overcommitment refuse it where they would refuse
 * it to malloc(). With MAP_NORESERVE, the size of the machine's memory does not, as the bounds of
 * reserve_take() are generous.
 */
static bool reserve_map(size_t size)
{
	void *space = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED)
		return false;
	held.space = space;
	held.size = size;
	return true;
}

/* Makes the space as large as is wanted. One that is too large stays: it is less work. */
static bool reserve_fill(void)
{
	size_t size = held.size;

	if (held.space && size >= held.wanted)
		return true;
	reserve_unmap();
	reserve_is_spent = !reserve_map(held.wanted) && !(size && reserve_map(size));
	return held.size >= held.wanted;
}

static int reserve_add(size_t bytes)
{
	bool is_there;

	if (bytes > SIZE_MAX - held.wanted)
		return -ENOMEM;
	held.wanted += bytes;
	is_there = reserve_fill();
	if (!is_there)
		held.wanted -= bytes;
	return is_there ? 0 : -ENOMEM;
}

static int reserve_result(int r)
{
	if (r < 0)
		held.n_failures++;
	return r;
}

int reserve_begin(void)
{
	int r;

	pthread_mutex_lock(&held.lock);
	r = reserve_add(RESERVE_STEP);
	held.n_users += r == 0;
	reserve_is_spent = held.n_users && !held.space;
	pthread_mutex_unlock(&held.lock);
	return reserve_result(r);
}

void reserve_end(void)
{
	pthread_mutex_lock(&held.lock);
	assert(held.n_users > 0 && held.wanted >= RESERVE_STEP);
	held.wanted -= RESERVE_STEP;
	if (!--held.n_users) {
		reserve_unmap();
		reserve_is_spent = false;
	}
	pthread_mutex_unlock(&held.lock);
}

int reserve_take(struct reserve *r, size_t n, size_t size)
{
	size_t bytes;
	int result = -ENOMEM;

	if (!held.n_users)
		return 0;
	if (!__builtin_mul_overflow(n, size, &bytes)) {
		pthread_mutex_lock(&held.lock);
		result = reserve_add(bytes);
		r->bytes += result < 0 ? 0 : bytes;
		pthread_mutex_unlock(&held.lock);
	}
	return reserve_result(result);
}

void reserve_drop(struct reserve *r)
{
	if (!r->bytes)
		return;
	pthread_mutex_lock(&held.lock);
	assert(held.wanted >= r->bytes);
	held.wanted -= r->bytes;
	r->bytes = 0;
	pthread_mutex_unlock(&held.lock);
}

int reserve_refill(void)
{
	bool is_there;

	pthread_mutex_lock(&held.lock);
	is_there = !held.n_users || reserve_fill();
	pthread_mutex_unlock(&held.lock);
	return reserve_result(is_there ? 0 : -ENOMEM);
}

uint32_t reserve_failures(void)
{
	return held.n_failures;
}

void reserve_count_failure(void)
{
	held.n_failures++;
}

int reserve_error(struct error *err)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	getrlimit(RLIMIT_AS, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return error_set(err, -ENOMEM, RESERVE_MESSAGE);
	return error_set(err, -ENOMEM,
			 RESERVE_MESSAGE
			 "; the limit of this process is %llu MB, and 'ulimit -v' changes it",
			 (unsigned long long)limit.rlim_cur >> 20);
}

bool reserve_spend(void)
{
	bool has_users;

	pthread_mutex_lock(&held.lock);
	has_users = held.n_users > 0;
	reserve_unmap();
	reserve_is_spent = has_users;
	if (!has_users)
		pthread_mutex_unlock(&held.lock);
	return has_users;
}

void reserve_spent(void)
{
	pthread_mutex_unlock(&held.lock);
}

void reserve_forget(void)
{
	reserve_unmap();
	held.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread may have had it */
	held.wanted = 0;
	held.n_users = held.n_failures = 0;
	reserve_is_spent = false;
}
