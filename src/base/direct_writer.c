/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/direct_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u /* what places and sizes of direct writes are multiples of */

struct block {
	uint8_t *bytes;
	size_t len;
	uint64_t file_off;
};

struct direct_writer {
	int fd;
	bool is_direct; /* the thread's alone */
	struct block current;
	uint64_t written; /* the thread's; ours after it has ended */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t has_work, has_room;
	/* Under the lock: */
	struct block waiting[DIRECT_BLOCKS_MAX]; /* a ring */
	size_t first, n_waiting;
	uint8_t *unused[DIRECT_BLOCKS_MAX +
			2]; /* the one used last is taken first: it is in cache */
	size_t n_unused, n_blocks;
	bool is_ending;
	int code;
};

static void set_direct(struct direct_writer *w, bool is_direct)
{
	int flags = fcntl(w->fd, F_GETFL);

	w->is_direct = is_direct;
	if (fcntl(w->fd, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
		w->is_direct = false;
}

static int write_block(struct direct_writer *w, const struct block *b)
{
	size_t done = 0;

	/* Only the file's end is no whole number of pages. */
	if (w->is_direct && b->len % PAGE)
		set_direct(w, false);
	while (done < b->len) {
		ssize_t n =
			pwrite(w->fd, b->bytes + done, b->len - done, (off_t)(b->file_off + done));

		if (n < 0 && errno == EINTR)
			continue;
		/* Not this file system, or pages of another size: as usual, then. */
		if (n < 0 && errno == EINVAL && w->is_direct) {
			set_direct(w, false);
			continue;
		}
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
		w->written = b->file_off + done;
		if (w->is_direct && done % PAGE)
			set_direct(w, false);
	}
	return 0;
}

static void *write_blocks(void *context)
{
	struct direct_writer *w = context;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct block b;
		int e;

		while (!w->n_waiting && !w->is_ending)
			pthread_cond_wait(&w->has_work, &w->lock);
		if (!w->n_waiting)
			break;
		b = w->waiting[w->first];
		w->first = (w->first + 1) % DIRECT_BLOCKS_MAX;
		w->n_waiting--;
		e = w->code;
		pthread_mutex_unlock(&w->lock);
		if (!e)
			e = write_block(w, &b);
		pthread_mutex_lock(&w->lock);
		w->code = e;
		w->unused[w->n_unused++] = b.bytes;
		pthread_cond_signal(&w->has_room);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Of one huge page, where there are some: the kernel then has one to look up and not 512. */
static uint8_t *new_block(void)
{
	uint8_t *block = aligned_alloc(DIRECT_BLOCK, DIRECT_BLOCK);

	if (block)
		madvise(block, DIRECT_BLOCK, MADV_HUGEPAGE);
	return block;
}

/* A block to fill; waits for the disk when there are enough. */
static uint8_t *take_block(struct direct_writer *w)
{
	uint8_t *block = NULL;

	pthread_mutex_lock(&w->lock);
	while (!block) {
		if (w->n_unused)
			block = w->unused[--w->n_unused];
		else if (w->n_blocks < DIRECT_BLOCKS_MAX && (block = new_block()))
			w->n_blocks++;
		else if (w->n_blocks < 2)
			abort(); /* no memory, and none will come back */
		else
			pthread_cond_wait(&w->has_room, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return block;
}

struct direct_writer *direct_writer_new(int fd)
{
	struct direct_writer *w = xcalloc(1, sizeof(*w));
	pthread_mutexattr_t inherits;
	sigset_t all, old;

	w->fd = fd;
	/* Who puts may have a higher priority than who writes, and waits for it while that has the
	 * lock: then it runs with that priority, too. */
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&w->lock, &inherits);
	pthread_mutexattr_destroy(&inherits);
	pthread_cond_init(&w->has_work, NULL);
	pthread_cond_init(&w->has_room, NULL);
	set_direct(w, true);
	w->current.bytes = take_block(w);
	/* Signals are for who began it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&w->thread, NULL, write_blocks, w) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return w;
}

/* The first `n` bytes of the current block go out; what is behind them begins the next. */
static void send(struct direct_writer *w, size_t n)
{
	struct block old = w->current;

	w->current.bytes = take_block(w);
	w->current.len = old.len - n;
	w->current.file_off = old.file_off + n;
	memcpy(w->current.bytes, old.bytes + n, w->current.len);
	old.len = n;
	pthread_mutex_lock(&w->lock);
	/* There is a place for each block that there is. */
	w->waiting[(w->first + w->n_waiting++) % DIRECT_BLOCKS_MAX] = old;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
}

void direct_writer_put(struct direct_writer *w, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		size_t n = MIN(size, DIRECT_BLOCK - w->current.len);

		memcpy(w->current.bytes + w->current.len, at, n);
		w->current.len += n;
		at += n;
		size -= n;
		if (w->current.len == DIRECT_BLOCK)
			send(w, DIRECT_BLOCK);
	}
}

void direct_writer_flush(struct direct_writer *w)
{
	if (w->current.len >= PAGE)
		send(w, w->current.len / PAGE * PAGE);
}

int direct_writer_failure(struct direct_writer *w)
{
	int e;

	pthread_mutex_lock(&w->lock);
	e = w->code;
	pthread_mutex_unlock(&w->lock);
	return e;
}

int direct_writer_close(struct direct_writer *w, uint64_t *written)
{
	int e;

	if (!w)
		return 0;
	if (w->current.len)
		send(w, w->current.len);
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	set_direct(w, false);
	e = w->code;
	if (written)
		*written = w->written;
	free(w->current.bytes);
	for (size_t i = 0; i < w->n_unused; i++)
		free(w->unused[i]);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->has_work);
	pthread_cond_destroy(&w->has_room);
	free(w);
	return e;
}
