/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/direct_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

#define PAGE    4096u /* what places and sizes of direct writes are multiples of */
#define LEAST   2u    /* blocks */
#define AT_ONCE 4     /* places that are taken before the first is filled */

/* Each block is a part of the file that begins at a multiple of DIRECT_BLOCK. */
struct block {
	uint8_t *bytes;
	uint32_t n_copying; /* puts that have a place in it and are not copied yet */
};

struct direct_writer {
	int fd;
	bool is_direct;   /* only the thread uses it */
	uint64_t written; /* bytes in the file; only the thread uses it until its end */
	pthread_t thread;
	pthread_mutex_t order; /* held while a put takes its place; taken before `lock` */
	pthread_mutex_t lock;
	pthread_cond_t has_work, has_room;
	/* Under the lock: */
	struct block *blocks; /* of [done, size), a ring by their place in the file */
	size_t n_blocks;
	uint64_t size, done; /* of the file: taken; written, or given up */
	uint8_t **unused;    /* the one used last is taken first: it is in cache */
	size_t n_unused, n_memory;
	uint64_t waited_ns;
	bool wants_flush, is_ending;
	int code;
};

static struct block *block_of(const struct direct_writer *w, uint64_t file_off)
{
	return &w->blocks[file_off / DIRECT_BLOCK % w->n_blocks];
}

/* The thread. */

static void set_direct(struct direct_writer *w, bool is_direct)
{
	int flags = fcntl(w->fd, F_GETFL);

	w->is_direct = is_direct;
	if (fcntl(w->fd, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
		w->is_direct = false;
}

static int write_whole(struct direct_writer *w, const uint8_t *bytes, size_t size,
		       uint64_t file_off)
{
	size_t done = 0;

	/* Only the file's end is no whole number of pages. */
	if (w->is_direct && size % PAGE)
		set_direct(w, false);
	while (done < size) {
		ssize_t n = pwrite(w->fd, bytes + done, size - done, (off_t)(file_off + done));

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
		w->written = MAX(w->written, file_off + done);
		if (w->is_direct && done % PAGE)
			set_direct(w, false);
	}
	return 0;
}

/*
 * The finished bytes [at, end) of a block. A flush also writes the bytes after `end` in the same
 * page; they are written again with the rest of the page.
 */
struct work {
	struct block *block;
	uint64_t at, end, flush_end;
};

/*
 * Finds the next write: the first block when it is full, or the last one for a flush. A block is
 * not written while a put copies into it. False: there is nothing to write.
 */
static bool find_work(struct direct_writer *w, struct work *out)
{
	uint64_t block_end = w->done / DIRECT_BLOCK * DIRECT_BLOCK + DIRECT_BLOCK;

	*out = (struct work){ block_of(w, w->done), w->done, w->done, w->done };
	if (w->done == w->size || out->block->n_copying)
		return false;
	if (w->size >= block_end) {
		out->end = block_end;
	} else if (w->is_ending) {
		out->end = w->size;
	} else if (w->wants_flush) {
		out->end = w->size / PAGE * PAGE;
		out->flush_end = w->size;
	}
	return out->end > out->at || out->flush_end > out->at;
}

static int do_work(struct direct_writer *w, const struct work *work)
{
	const uint8_t *bytes = work->block->bytes + work->at % DIRECT_BLOCK;
	bool was_direct;
	int e = write_whole(w, bytes, work->end - work->at, work->at);

	if (e || work->flush_end <= work->end)
		return e;
	was_direct = w->is_direct;
	e = write_whole(w, bytes + (work->end - work->at), work->flush_end - work->end, work->end);
	if (was_direct)
		set_direct(w, true);
	return e;
}

static void release_block(struct direct_writer *w, struct block *b)
{
	w->unused[w->n_unused++] = take_ptr(b->bytes);
	pthread_cond_signal(&w->has_room);
}

static void *write_blocks(void *context)
{
	struct direct_writer *w = context;

	pthread_mutex_lock(&w->lock);
	while (!w->is_ending || w->done < w->size) {
		struct work work;
		int e = w->code;

		if (!find_work(w, &work)) {
			pthread_cond_wait(&w->has_work, &w->lock);
			continue;
		}
		if (work.flush_end > work.at)
			w->wants_flush = false;
		pthread_mutex_unlock(&w->lock);
		if (!e)
			e = do_work(w, &work);
		pthread_mutex_lock(&w->lock);
		w->code = e;
		w->done = work.end;
		if (work.end > work.at &&
		    (work.end % DIRECT_BLOCK == 0 || (w->is_ending && work.end == w->size)))
			release_block(w, work.block);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- puts ---- */

/* Memory from one huge page, if possible: then the kernel looks up one page and not 512. */
static uint8_t *new_memory(struct direct_writer *w)
{
	uint8_t *bytes = NULL;

	if (w->n_unused)
		return w->unused[--w->n_unused];
	if (w->n_memory < w->n_blocks && (bytes = aligned_alloc(DIRECT_BLOCK, DIRECT_BLOCK))) {
		madvise(bytes, DIRECT_BLOCK, MADV_HUGEPAGE);
		w->n_memory++;
	}
	if (!w->n_memory)
		abort(); /* none, and none will come back */
	return bytes;
}

/* There is a block to put into. False: the disk has to be waited for. */
static bool direct_writer_take_block(struct direct_writer *w)
{
	struct block *b = block_of(w, w->size);

	return w->size % DIRECT_BLOCK ||
	       (w->size / DIRECT_BLOCK - w->done / DIRECT_BLOCK < w->n_blocks &&
		(b->bytes || (b->bytes = new_memory(w))));
}

static void wait_for_block(struct direct_writer *w)
{
	uint64_t since;

	if (direct_writer_take_block(w))
		return;
	since = clock_monotonic_ns();
	while (!direct_writer_take_block(w))
		pthread_cond_wait(&w->has_room, &w->lock);
	w->waited_ns += clock_monotonic_ns() - since;
}

/* A place of at most this size, in one block. */
struct place {
	struct block *block;
	size_t at, size;
};

static struct place take_place(struct direct_writer *w, size_t size)
{
	struct place p = { .at = w->size % DIRECT_BLOCK };

	p.block = block_of(w, w->size);
	p.size = MIN(size, DIRECT_BLOCK - p.at);
	p.block->n_copying++;
	w->size += p.size;
	return p;
}

/* Where the copying stands. */
struct source {
	const struct iovec *part;
	size_t off;
};

static void copy_from(struct source *s, uint8_t *to, size_t size)
{
	while (size) {
		size_t n = MIN(size, s->part->iov_len - s->off);

		memcpy(to, (const uint8_t *)s->part->iov_base + s->off, n);
		to += n;
		size -= n;
		s->off += n;
		if (s->off == s->part->iov_len) {
			s->part++;
			s->off = 0;
		}
	}
}

static void direct_writer_fill(struct direct_writer *w, const struct place *places, size_t n,
			       struct source *from)
{
	struct work work;

	for (size_t i = 0; i < n; i++)
		copy_from(from, places[i].block->bytes + places[i].at, places[i].size);
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < n; i++)
		places[i].block->n_copying--;
	if (find_work(w, &work))
		pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
}

/*
 * What needs more places is copied with the order kept, as it may be longer than all the memory
 * that there is. Nobody waits for the disk with places that he has yet to fill: it may wait for
 * these.
 */
uint64_t direct_writer_put(struct direct_writer *w, const struct iovec *parts, size_t n_parts)
{
	struct source from = { .part = parts };
	struct place places[AT_ONCE];
	size_t n = 0, left = 0;
	uint64_t file_off;

	for (size_t i = 0; i < n_parts; i++)
		left += parts[i].iov_len;
	pthread_mutex_lock(&w->order);
	file_off = w->size;
	while (left) {
		pthread_mutex_lock(&w->lock);
		wait_for_block(w);
		for (n = 0; n < AT_ONCE && left && direct_writer_take_block(w); n++) {
			places[n] = take_place(w, left);
			left -= places[n].size;
		}
		pthread_mutex_unlock(&w->lock);
		if (left)
			direct_writer_fill(w, places, n, &from);
	}
	pthread_mutex_unlock(&w->order);
	if (n)
		direct_writer_fill(w, places, n, &from);
	return file_off;
}

uint64_t direct_writer_size(struct direct_writer *w)
{
	uint64_t size;

	pthread_mutex_lock(&w->lock);
	size = w->size;
	pthread_mutex_unlock(&w->lock);
	return size;
}

uint64_t direct_writer_done(struct direct_writer *w)
{
	uint64_t done;

	pthread_mutex_lock(&w->lock);
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	return done;
}

void direct_writer_flush(struct direct_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->wants_flush = true;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
}

int direct_writer_failure(struct direct_writer *w)
{
	int e;

	pthread_mutex_lock(&w->lock);
	e = w->code;
	pthread_mutex_unlock(&w->lock);
	return e;
}

uint64_t direct_writer_waited_ns(struct direct_writer *w)
{
	uint64_t ns;

	pthread_mutex_lock(&w->lock);
	ns = w->waited_ns;
	pthread_mutex_unlock(&w->lock);
	return ns;
}

/* From start to end. */

struct direct_writer *direct_writer_new(int fd, uint64_t memory_bytes)
{
	struct direct_writer *w = xcalloc(1, sizeof(*w));

	w->fd = fd;
	w->n_blocks = MAX(memory_bytes / DIRECT_BLOCK, LEAST);
	w->blocks = xcalloc(w->n_blocks, sizeof(*w->blocks));
	w->unused = xcalloc(w->n_blocks, sizeof(*w->unused));
	thread_init_lock(&w->order);
	thread_init_lock(&w->lock);
	pthread_cond_init(&w->has_work, NULL);
	pthread_cond_init(&w->has_room, NULL);
	set_direct(w, true);
	if (!thread_start(&w->thread, write_blocks, w))
		abort();
	return w;
}

int direct_writer_close(struct direct_writer *w, uint64_t *written)
{
	int e;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	set_direct(w, false);
	e = w->code;
	if (written)
		*written = w->written;
	for (size_t i = 0; i < w->n_unused; i++)
		free(w->unused[i]);
	free(w->unused);
	free(w->blocks);
	pthread_mutex_destroy(&w->order);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->has_work);
	pthread_cond_destroy(&w->has_room);
	free(w);
	return e;
}
