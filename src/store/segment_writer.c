/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/segment_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/format.h"

#define WAIT_NS 50000000 /* a healthy disk takes a few hundred microseconds for a block */

struct put {
	uint32_t segment;
	uint64_t at;
	size_t size;
	uint8_t *bytes;
};

struct segment_writer {
	char *dir;
	struct sharing sharing;
	int fd; /* of `segment`; -1: none. With a thread, only the thread uses it */
	uint32_t segment;

	bool has_thread, is_ending;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t came, done;
	VEC(struct put) puts; /* unfinished puts, in order */
	size_t bytes;         /* of them */
	size_t n_done;        /* since the last result */
	int failure;          /* of the first put in `puts`, until a result returns it */
};

static writer_pwrite write_at = pwrite;

void segment_writer_set_pwrite(writer_pwrite f)
{
	write_at = f ? f : pwrite;
}

/* ---- writing ---- */

static char *writer_segment_path(const struct segment_writer *w, uint32_t segment)
{
	return xasprintf("%s/%04" PRIu32 SEGMENT_SUFFIX, w->dir, segment);
}

static int open_segment(struct segment_writer *w, uint32_t segment)
{
	cleanup(free_at_exit) char *path = writer_segment_path(w, segment);

	if (w->fd >= 0 && w->segment == segment)
		return 0;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	w->segment = segment;
	if (w->fd < 0)
		return -errno;
	sharing_give_file(&w->sharing, w->fd);
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size, uint64_t at)
{
	while (size) {
		ssize_t n = write_at(fd, bytes, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		bytes += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

/* Removes a partial write. Should even this fail, readers see a torn block. */
static void take_back(struct segment_writer *w, uint32_t segment, uint64_t at)
{
	cleanup(free_at_exit) char *path = writer_segment_path(w, segment);

	if (w->fd < 0)
		return;
	if (at) {
		if (ftruncate(w->fd, (off_t)at) < 0)
			errno = 0;
		return;
	}
	/* Readers would report an empty file as damaged. */
	unlink(path);
	close(w->fd);
	w->fd = -1;
}

/* Somebody removed the file: it still takes bytes, which nobody will ever read. */
static bool is_deleted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static int write_put(struct segment_writer *w, uint32_t segment, uint64_t at, const uint8_t *bytes,
		     size_t size)
{
	int r = open_segment(w, segment);

	if (!r && is_deleted(w->fd))
		r = -ENOENT;
	if (!r)
		r = write_all(w->fd, bytes, size, at);
	if (r < 0)
		take_back(w, segment, at);
	return r;
}

static int writer_error(const struct segment_writer *w, uint32_t segment, int r, struct error *err)
{
	if (r == -ENOENT)
		return error_set(err, r,
				 "cannot write the session: %s/%04" PRIu32 SEGMENT_SUFFIX
				 " was deleted while assay wrote it",
				 w->dir, segment);
	return error_errno(err, r, "cannot write the session: %s/%04" PRIu32 SEGMENT_SUFFIX, w->dir,
			   segment);
}

/* ---- the thread ---- */

/*
 * Returns a copy of the first put, which stays in the list until it is done. False: the writer
 * ends.
 */
static bool next_put(struct segment_writer *w, struct put *out)
{
	bool has_some;

	pthread_mutex_lock(&w->lock);
	while ((!w->puts.n || w->failure) && !w->is_ending)
		pthread_cond_wait(&w->came, &w->lock);
	has_some = w->puts.n && !w->failure;
	if (has_some)
		*out = w->puts.data[0];
	pthread_mutex_unlock(&w->lock);
	return has_some;
}

static void drop_first(struct segment_writer *w)
{
	w->bytes -= w->puts.data[0].size;
	free(w->puts.data[0].bytes);
	memmove(w->puts.data, w->puts.data + 1, --w->puts.n * sizeof(*w->puts.data));
}

static void *write_behind(void *arg)
{
	struct segment_writer *w = arg;
	struct put put;

	thread_be_ordinary();
	while (next_put(w, &put)) {
		int r = write_put(w, put.segment, put.at, put.bytes, put.size);

		pthread_mutex_lock(&w->lock);
		w->failure = r;
		if (!r) {
			drop_first(w);
			w->n_done++;
		}
		pthread_cond_signal(&w->done);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

/* ---- the caller ---- */

struct segment_writer *segment_writer_new(const char *dir, const struct sharing *sharing,
					  bool behind)
{
	struct segment_writer *w = xcalloc(1, sizeof(*w));

	w->dir = xstrdup(dir);
	w->sharing = *sharing;
	w->fd = -1;
	thread_init_lock(&w->lock);
	pthread_cond_init(&w->came, NULL);
	thread_init_condition(&w->done);
	w->has_thread = behind && thread_start(&w->thread, write_behind, w);
	return w;
}

static struct timespec writer_deadline(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WAIT_NS;
	if (t.tv_nsec >= (long)NS_PER_SECOND) {
		t.tv_sec++;
		t.tv_nsec -= NS_PER_SECOND;
	}
	return t;
}

/*
 * Called with the lock held. A failure in this time belongs to this put, because no earlier one
 * failed.
 */
static int wait_for_first(struct segment_writer *w)
{
	struct timespec until = writer_deadline();
	int r;

	while (w->puts.n && !w->failure &&
	       pthread_cond_timedwait(&w->done, &w->lock, &until) != ETIMEDOUT)
		;
	if (w->puts.n && !w->failure)
		return 1;
	r = w->failure;
	if (r)
		drop_first(w);
	else
		w->n_done--; /* the result 0 counts it already */
	w->failure = 0;
	return r;
}

static int put_behind(struct segment_writer *w, const struct put *put)
{
	bool is_alone;
	int r = 1;

	pthread_mutex_lock(&w->lock);
	is_alone = !w->puts.n;
	if (!is_alone && w->bytes + put->size > WRITER_BYTES) {
		pthread_mutex_unlock(&w->lock);
		free(put->bytes);
		return -EBUSY;
	}
	vec_push(&w->puts, *put);
	w->bytes += put->size;
	pthread_cond_signal(&w->came);
	if (is_alone)
		r = wait_for_first(w);
	pthread_mutex_unlock(&w->lock);
	return r;
}

int segment_writer_put(struct segment_writer *w, uint32_t segment, uint64_t at,
		       const uint8_t *bytes, size_t size, struct error *err)
{
	struct put put = { segment, at, size, NULL };
	int r;

	if (w->has_thread) {
		put.bytes = xmalloc(size + 1);
		memcpy(put.bytes, bytes, size);
		r = put_behind(w, &put);
	} else {
		r = write_put(w, segment, at, bytes, size);
	}
	if (r == -EBUSY)
		return error_set(err, r,
				 "cannot write the session: the disk below %s does not store the "
				 "earlier data",
				 w->dir);
	return r < 0 ? writer_error(w, segment, r, err) : r;
}

int segment_writer_result(struct segment_writer *w, bool waits, size_t *n_done, struct error *err)
{
	uint32_t segment = 0;
	int r;

	pthread_mutex_lock(&w->lock);
	while (waits && w->puts.n && !w->failure)
		pthread_cond_wait(&w->done, &w->lock);
	*n_done = w->n_done;
	w->n_done = 0;
	r = w->failure ? w->failure : w->puts.n > 0;
	if (r < 0)
		segment = w->puts.data[0].segment;
	while (r < 0 && w->puts.n)
		drop_first(w);
	w->failure = 0;
	pthread_mutex_unlock(&w->lock);
	return r < 0 ? writer_error(w, segment, r, err) : r;
}

void segment_writer_free(struct segment_writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->came);
	pthread_mutex_unlock(&w->lock);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	while (w->puts.n)
		drop_first(w);
	vec_fini(&w->puts);
	if (w->fd >= 0)
		close(w->fd);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->came);
	pthread_cond_destroy(&w->done);
	free(w->dir);
	free(w);
}
