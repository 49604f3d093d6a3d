/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/memory_reads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define NO_READ  0
#define GIVEN_UP UINT64_MAX

/*
 * A thread. If it is given up, this stays until both its read has ended and its owner does not need
 * it any more.
 */
struct reader {
	pthread_mutex_t lock;
	pthread_cond_t has_come, is_done; /* of work */
	void (*work)(void *);             /* NULL: none */
	void *arg;
	bool is_ending;
	int32_t pid; /* of the work's reads; 0: of none so far */
	/* Since when a read goes on, NO_READ or GIVEN_UP. Who changes it first has the thread. */
	_Atomic uint64_t since_ns;
	_Atomic int32_t tid;
	jmp_buf back;                 /* out of work that was given up */
	atomic_bool is_left;          /* given up: by the thread, or by the owner */
	int schedule_fd;              /* how long the thread has waited for a CPU; -1: not known */
	uint64_t delay_ns;            /* the same, as the work began */
	uint64_t spent_ns, budget_ns; /* of all reads of the work */
	uint8_t bytes[MEMORY_READ_MAX]; /* the kernel may write here when nobody waits any more */
};

/* A read that did not end so far. */
struct stuck_read {
	int32_t pid; /* 0: the process has ended */
	struct reader *reader;
};

struct memory_reads {
	struct reader *reader; /* NULL: none */
	pthread_t thread;
	uint32_t n_stuck;
	struct stuck_read stuck[MEMORY_READS_STUCK_MAX];
	uint64_t limit_ns;
};

static _Thread_local struct reader *own; /* NULL: this thread is none */

struct memory_reads *memory_reads_new(uint64_t limit_ns)
{
	struct memory_reads *r = xcalloc(1, sizeof(*r));

	r->limit_ns = limit_ns;
	return r;
}

static void reader_free(struct reader *reader)
{
	pthread_mutex_destroy(&reader->lock);
	pthread_cond_destroy(&reader->has_come);
	pthread_cond_destroy(&reader->is_done);
	if (reader->schedule_fd >= 0)
		close(reader->schedule_fd);
	free(reader);
}

/* Called by the thread and by its owner: the second one frees it. */
static void reader_leave(struct reader *reader)
{
	if (atomic_exchange(&reader->is_left, true))
		reader_free(reader);
}

void memory_reads_free(struct memory_reads *r)
{
	if (!r)
		return;
	if (r->reader) {
		pthread_mutex_lock(&r->reader->lock);
		r->reader->is_ending = true;
		pthread_cond_signal(&r->reader->has_come);
		pthread_mutex_unlock(&r->reader->lock);
		pthread_join(r->thread, NULL);
		reader_free(r->reader);
	}
	for (uint32_t i = 0; i < r->n_stuck; i++)
		reader_leave(r->stuck[i].reader);
	free(r);
}

/* ---- a busy machine ---- */

/*
 * On a busy machine, the thread may lose its CPU in the middle of a read. Then it is ready to run,
 * and a read that never ends is not: it sleeps.
 */
static bool is_ready(const struct reader *reader)
{
	char path[64], line[256] = "";
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)atomic_load(&reader->tid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	end = n > 0 ? strrchr(line, ')') : NULL; /* behind the name: " R " */
	return end && end[1] == ' ' && end[2] == 'R';
}

/* Whether the reads of the work took all of their time, without the waits for a CPU. */
static bool is_spent(const struct reader *reader)
{
	uint64_t delay_ns;

	if (reader->spent_ns < reader->budget_ns)
		return false;
	delay_ns = thread_delay_ns(reader->schedule_fd);
	delay_ns -= MIN(delay_ns, reader->delay_ns);
	return reader->spent_ns - MIN(reader->spent_ns, delay_ns) >= reader->budget_ns ||
	       reader->spent_ns >= reader->budget_ns + MEMORY_READS_DELAY_NS;
}

/* ---- the thread ---- */

/* With the lock held, the other thread would wake up just to wait for it. */
static void signal_without_lock(struct reader *reader, pthread_cond_t *condition)
{
	pthread_mutex_unlock(&reader->lock);
	pthread_cond_signal(condition);
	pthread_mutex_lock(&reader->lock);
}

static void *run_reader(void *arg)
{
	struct reader *reader = arg;

	own = reader;
	atomic_store(&reader->tid, (int32_t)syscall(SYS_gettid));
	reader->schedule_fd = thread_open_delay();
	thread_hurry(true);
	if (setjmp(reader->back)) {
		reader_leave(reader);
		return NULL;
	}
	pthread_mutex_lock(&reader->lock);
	for (;;) {
		while (!reader->work && !reader->is_ending)
			pthread_cond_wait(&reader->has_come, &reader->lock);
		if (reader->is_ending)
			break;
		pthread_mutex_unlock(&reader->lock);
		reader->delay_ns = thread_delay_ns(reader->schedule_fd);
		reader->work(reader->arg);
		pthread_mutex_lock(&reader->lock);
		reader->work = NULL;
		signal_without_lock(reader, &reader->is_done);
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

bool memory_reads_here(void)
{
	return own;
}

static bool begin_read(size_t size)
{
	if (!own || size > MEMORY_READ_MAX) {
		errno = own ? EFBIG : EPERM;
		return false;
	}
	if (is_spent(own)) {
		errno = ETIME;
		return false;
	}
	atomic_store(&own->since_ns, clock_monotonic_ns());
	return true;
}

static ssize_t end_read(void *out, ssize_t n)
{
	uint64_t since_ns = atomic_load(&own->since_ns), began_ns = since_ns;

	if (since_ns == GIVEN_UP ||
	    !atomic_compare_exchange_strong(&own->since_ns, &since_ns, NO_READ))
		longjmp(own->back, 1); /* the caller goes on without it */
	own->spent_ns += clock_monotonic_ns() - began_ns;
	if (n > 0)
		memcpy(out, own->bytes, (size_t)n);
	return n;
}

static ssize_t read_of(int32_t pid, uint64_t addr, size_t size)
{
	struct iovec there = { (void *)(uintptr_t)addr, size }; /* NOLINT: an address */
	struct iovec here = { own->bytes, size };

	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

ssize_t memory_read(int fd, uint64_t addr, void *out, size_t size)
{
	return begin_read(size) ? end_read(out, pread(fd, own->bytes, size, (off_t)addr)) : -1;
}

ssize_t memory_read_of(int32_t pid, uint64_t addr, void *out, size_t size)
{
	return begin_read(size) ? end_read(out, read_of(pid, addr, size)) : -1;
}

static size_t size_of(const struct lang_range *ranges, uint32_t n)
{
	size_t size = 0;

	for (uint32_t i = 0; i < n; i++)
		size += ranges[i].size;
	return size;
}

/* Returns the bytes up to the first range that is not there. */
static ssize_t read_ranges_of_file(int fd, const struct lang_range *ranges, uint32_t n)
{
	ssize_t got = 0;

	for (uint32_t i = 0; i < n; i++) {
		ssize_t part = pread(fd, own->bytes + got, ranges[i].size, (off_t)ranges[i].addr);

		got += MAX(part, 0);
		if (part != (ssize_t)ranges[i].size)
			break;
	}
	return got;
}

static ssize_t read_ranges(int32_t pid, const struct lang_range *ranges, uint32_t n, size_t size)
{
	struct iovec there[LANG_RANGES_MAX], here = { own->bytes, size };

	for (uint32_t i = 0; i < n; i++)
		there[i] = (struct iovec){ (void *)(uintptr_t)ranges[i].addr, /* NOLINT */
					   ranges[i].size };
	return process_vm_readv(pid, &here, 1, there, n, 0);
}

uint32_t memory_read_many(int32_t pid, int fd, const struct lang_range *ranges, uint32_t n,
			  uint8_t *out)
{
	size_t size = size_of(ranges, n);
	uint32_t n_whole = 0;
	ssize_t left;

	if (n > LANG_RANGES_MAX || !begin_read(size))
		return 0;
	left = read_ranges(pid, ranges, n, size);
	if (left < 0 && fd >= 0 && (errno == EPERM || errno == ENOSYS))
		left = read_ranges_of_file(fd, ranges, n);
	left = end_read(out, left);
	for (; n_whole < n && left >= (ssize_t)ranges[n_whole].size; n_whole++)
		left -= (ssize_t)ranges[n_whole].size;
	return n_whole;
}

/* ---- its caller ---- */

static bool start_reader(struct memory_reads *r)
{
	struct reader *reader = xcalloc(1, sizeof(*reader));

	reader->schedule_fd = -1;
	pthread_mutex_init(&reader->lock, NULL);
	thread_init_condition(&reader->has_come);
	thread_init_condition(&reader->is_done);
	if (!thread_start(&r->thread, run_reader, reader)) {
		reader_free(reader);
		return false;
	}
	r->reader = reader;
	return true;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND) };
}

/* Waits until the work is done, or its read takes too long: false. */
static bool wait_for_work(struct reader *reader, uint64_t limit_ns)
{
	while (reader->work) {
		uint64_t since_ns = atomic_load(&reader->since_ns), now_ns = clock_monotonic_ns();
		struct timespec until;
		bool is_long = since_ns && now_ns >= since_ns + limit_ns;

		if (is_long && is_ready(reader) && now_ns < since_ns + MEMORY_READS_DELAY_NS)
			since_ns = now_ns; /* for the next look */
		else if (is_long &&
			 atomic_compare_exchange_strong(&reader->since_ns, &since_ns, GIVEN_UP))
			return false;
		until = timespec_of((since_ns ? since_ns : now_ns) + limit_ns);
		pthread_cond_timedwait(&reader->is_done, &reader->lock, &until);
	}
	return true;
}

uint64_t memory_reads_delay_ns(const struct memory_reads *r)
{
	uint64_t delay_ns = 0;

	if (!r || !r->reader)
		return 0;
	pthread_mutex_lock(&r->reader->lock);
	delay_ns = thread_delay_ns(r->reader->schedule_fd);
	pthread_mutex_unlock(&r->reader->lock);
	return delay_ns;
}

void memory_reads_forget(struct memory_reads *r, int32_t pid)
{
	for (uint32_t i = 0; r && i < r->n_stuck; i++)
		if (r->stuck[i].pid == pid)
			r->stuck[i].pid = 0;
}

/* Reads that have ended at last: their threads have, too. */
static void forget_ended(struct memory_reads *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_stuck; i++)
		if (atomic_load(&r->stuck[i].reader->is_left))
			reader_free(r->stuck[i].reader);
		else
			r->stuck[n++] = r->stuck[i];
	r->n_stuck = n;
}

static bool is_stuck(const struct memory_reads *r, int32_t pid)
{
	for (uint32_t i = 0; i < r->n_stuck; i++)
		if (pid && r->stuck[i].pid == pid)
			return true;
	return false;
}

/* Work of a work. */
static int run_within(struct memory_reads *r, int32_t pid, void (*work)(void *), void *arg)
{
	if (is_stuck(r, pid))
		return -EACCES;
	own->pid = pid;
	own->spent_ns = 0;
	own->delay_ns = thread_delay_ns(own->schedule_fd);
	work(arg);
	return is_spent(own) ? -ETIMEDOUT : 0;
}

int memory_reads_run(struct memory_reads *r, int32_t pid, void (*work)(void *), void *arg)
{
	struct reader *reader;
	bool is_done, has_spent;

	if (!r) {
		work(arg);
		return 0;
	}
	if (own)
		return run_within(r, pid, work, arg);
	forget_ended(r);
	if (is_stuck(r, pid))
		return -EACCES;
	if (!r->reader && (r->n_stuck >= MEMORY_READS_STUCK_MAX || !start_reader(r)))
		return -EAGAIN;
	reader = r->reader;
	pthread_mutex_lock(&reader->lock);
	reader->work = work;
	reader->arg = arg;
	reader->pid = pid;
	reader->spent_ns = 0;
	reader->budget_ns = MEMORY_READS_LONGEST * r->limit_ns;
	signal_without_lock(reader, &reader->has_come);
	is_done = wait_for_work(reader, r->limit_ns);
	has_spent = is_done && is_spent(reader);
	pthread_mutex_unlock(&reader->lock);
	if (is_done)
		return has_spent ? -ETIMEDOUT : 0;
	pthread_detach(r->thread);
	/* n_stuck is below MEMORY_READS_STUCK_MAX, or there would be no thread. */
	r->stuck[r->n_stuck++] = (struct stuck_read){ reader->pid, reader };
	r->reader = NULL;
	return -ETIME;
}
