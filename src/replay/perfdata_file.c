/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/perfdata_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/files/direct_writer.h"
#include "base/files/file.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "perfdata/record.h"
#include "replay/perfdata_pipe.h"
#include "replay/perfdata_rescue.h"
#include "replay/replay.h"

#define FLUSH_BYTES ((size_t)1 << 20)

/* Where the disk is full, so much of the end may have to make room for the sections. */
#define KEPT_BYTES ((uint64_t)4 << 20)

/* Where an AUXTRACE record is: an entry of the section that perf finds them by. */
struct aux_entry {
	uint64_t file_off, size;
};

/* Records that are handed over, and may not be on the disk yet. */
struct kept {
	uint64_t file_off;
	size_t size;
};

struct perfdata_file {
	char *path;
	char *old; /* what was there; NULL: nothing */
	int fd, code;
	struct direct_writer *direct; /* NULL: written as usual */
	struct perfdata_pipe *pipe;   /* NULL: a file */
	struct buf gathered;
	uint64_t size; /* of the file, without what is gathered; direct: the writer knows */
	uint64_t head_size;
	VEC(struct kept) kept; /* of a file that is written directly */
	struct buf kept_bytes; /* theirs, one behind the other */
	uint64_t samples, first_ns, last_ns;
	struct arena *arena;
	struct writer_event *events;
	size_t n_events;
	struct record_format format; /* of the first event: where records have their time */
	struct writer_sections sections;
	pthread_mutex_t aux_lock;
	VEC(struct aux_entry) aux;
};

/* Opening. */

static int perfdata_file_make_room(struct perfdata_file *f, struct error *err)
{
	struct stat st;

	if (lstat(f->path, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, -errno, "%s", f->path);
	if (!S_ISREG(st.st_mode) || (st.st_size && !replay_is_perfdata(f->path)))
		return error_set(err, -EEXIST,
				 "%s is in the way and is not a perf.data file; give another "
				 "place with -o, or remove it",
				 f->path);
	f->old = xasprintf("%s.old", f->path);
	if (rename(f->path, f->old) < 0)
		return error_errno(err, -errno, "cannot rename %s to %s", f->path, f->old);
	return 0;
}

static void copy_events(struct perfdata_file *f, const struct writer_event *events, size_t n)
{
	f->events = arena_alloc(f->arena, n * sizeof(*events) + 1);
	f->n_events = n;
	for (size_t i = 0; i < n; i++) {
		uint64_t *ids = arena_alloc(f->arena, events[i].n_ids * 8 + 1);

		if (events[i].n_ids)
			memcpy(ids, events[i].ids, events[i].n_ids * 8);
		f->events[i] = events[i];
		f->events[i].ids = ids;
		f->events[i].name = arena_strndup(f->arena, events[i].name, strlen(events[i].name));
	}
	f->format = (struct record_format){
		.sample_type = events[0].attr.sample_type,
		.sample_id_all = events[0].attr.sample_id_all,
	};
}

static void file_free(struct perfdata_file *f)
{
	if (!f)
		return;
	direct_writer_close(f->direct, NULL);
	perfdata_pipe_free(f->pipe);
	if (f->fd >= 0)
		close(f->fd);
	writer_sections_fini(&f->sections);
	buf_fini(&f->gathered);
	vec_fini(&f->kept);
	buf_fini(&f->kept_bytes);
	vec_fini(&f->aux);
	pthread_mutex_destroy(&f->aux_lock);
	arena_free(f->arena);
	free(f->path);
	free(f->old);
	free(f);
}
DEFINE_AT_EXIT(file_free, struct perfdata_file)

static struct perfdata_file *perfdata_file_new(const char *path)
{
	struct perfdata_file *f = xcalloc(1, sizeof(*f));

	f->fd = -1;
	f->path = xstrdup(path);
	f->arena = arena_new();
	pthread_mutex_init(&f->aux_lock, NULL);
	return f;
}

int perfdata_pipe_open(int fd, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err)
{
	cleanup(file_free_at_exit) struct perfdata_file *f = perfdata_file_new("standard output");

	f->pipe = perfdata_pipe_new(fd);
	copy_events(f, events, n);
	if (!writer_pipe_head(f->events, n, &f->gathered))
		return error_set(
			err, -E2BIG,
			"-o -: an event has more than 8000 counters (of threads and "
			"CPUs), which a pipe has no room for; write to a file with -o FILE");
	*out = take_ptr(f);
	return 0;
}

bool perfdata_file_is_pipe(const struct perfdata_file *f)
{
	return f->pipe != NULL;
}

int perfdata_file_open(const char *path, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err)
{
	cleanup(file_free_at_exit) struct perfdata_file *f = perfdata_file_new(path);
	int r = perfdata_file_make_room(f, err);

	if (r < 0)
		return r;
	f->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		r = -errno;
		if (f->old)
			(void)!rename(f->old, f->path);
		return error_errno(err, r, "%s", path);
	}
	copy_events(f, events, n);
	writer_head(f->events, n, &f->gathered);
	f->head_size = f->gathered.len;
	*out = take_ptr(f);
	return 0;
}

void perfdata_file_abandon(struct perfdata_file *f)
{
	if (!f)
		return;
	if (!f->pipe)
		unlink(f->path);
	if (f->old)
		(void)!rename(f->old, f->path);
	file_free(f);
}

/* Writing. */

/* To whoever writes. */
static void hand_over(struct perfdata_file *f, const void *bytes, size_t size)
{
	struct kept kept = { .size = size };

	f->size += size;
	if (f->pipe) {
		perfdata_pipe_write(f->pipe, &(struct iovec){ (void *)bytes, size }, 1);
		f->code = perfdata_pipe_failure(f->pipe);
		return;
	}
	if (!f->direct) {
		f->code = f->code ? f->code : file_write_all(f->fd, bytes, size);
		return;
	}
	kept.file_off = direct_writer_put(f->direct, &(struct iovec){ (void *)bytes, size }, 1);
	vec_push(&f->kept, kept);
	buf_bytes(&f->kept_bytes, bytes, size);
}

static void hand_over_gathered(struct perfdata_file *f)
{
	if (f->gathered.len)
		hand_over(f, f->gathered.data, f->gathered.len);
	f->gathered.len = 0;
}

/* With what is gathered, which comes next unless somebody puts more before. */
static uint64_t file_size(const struct perfdata_file *f)
{
	return (f->direct ? direct_writer_size(f->direct) : f->size) + f->gathered.len;
}

void perfdata_file_write_directly(struct perfdata_file *f, uint64_t memory_bytes)
{
	if (f->direct)
		return;
	if (f->pipe) {
		hand_over_gathered(f);
		return;
	}
	f->direct = direct_writer_new(f->fd, memory_bytes);
	hand_over_gathered(f); /* the head, before anybody else puts anything */
}

void perfdata_file_aux(struct perfdata_file *f, const struct iovec *parts, size_t n)
{
	struct aux_entry e;

	if (f->pipe) {
		perfdata_pipe_write(f->pipe, parts, n);
		return;
	}
	e = (struct aux_entry){ direct_writer_put(f->direct, parts, n), parts[0].iov_len };
	pthread_mutex_lock(&f->aux_lock);
	vec_push(&f->aux, e);
	pthread_mutex_unlock(&f->aux_lock);
}

uint64_t perfdata_file_waited_ns(const struct perfdata_file *f)
{
	return f->direct ? direct_writer_waited_ns(f->direct) : 0;
}

/* Forgets the part that is so far from the end that no rescue will remove it. */
static void forget_kept(struct perfdata_file *f)
{
	uint64_t done = direct_writer_done(f->direct);
	size_t n = 0, bytes = 0;

	while (n < f->kept.n &&
	       f->kept.data[n].file_off + f->kept.data[n].size + KEPT_BYTES <= done)
		bytes += f->kept.data[n++].size;
	if (!n)
		return;
	f->kept.n -= n;
	memmove(f->kept.data, f->kept.data + n, f->kept.n * sizeof(*f->kept.data));
	f->kept_bytes.len -= bytes;
	memmove(f->kept_bytes.data, f->kept_bytes.data + bytes, f->kept_bytes.len);
}

int perfdata_file_flush(struct perfdata_file *f)
{
	hand_over_gathered(f);
	if (f->direct) {
		direct_writer_flush(f->direct);
		f->code = direct_writer_failure(f->direct);
		if (!f->code)
			forget_kept(f);
	}
	return f->code;
}

int perfdata_file_failure(const struct perfdata_file *f)
{
	return f->code;
}

static void perfdata_file_append(struct perfdata_file *f, const void *bytes, size_t size)
{
	buf_bytes(&f->gathered, bytes, size);
	if (f->gathered.len >= FLUSH_BYTES)
		hand_over_gathered(f);
}

static void note_record(struct perfdata_file *f, const void *record, size_t size)
{
	struct perf_event_header h;
	uint64_t ns;

	memcpy(&h, record, sizeof(h));
	if (h.type == USER_AUXTRACE) {
		vec_push(&f->aux, (struct aux_entry){ file_size(f), size });
		return;
	}
	if (h.type != PERF_RECORD_SAMPLE)
		return;
	f->samples++;
	ns = record_time(&f->format, record, size);
	if (ns && (!f->first_ns || ns < f->first_ns))
		f->first_ns = ns;
	f->last_ns = MAX(f->last_ns, ns);
}

void perfdata_file_record(struct perfdata_file *f, const void *record, size_t size)
{
	note_record(f, record, size);
	perfdata_file_append(f, record, size);
}

void perfdata_file_payload(struct perfdata_file *f, const void *bytes, uint64_t size)
{
	hand_over_gathered(f);
	hand_over(f, bytes, size);
}

uint64_t perfdata_file_samples(const struct perfdata_file *f)
{
	return f->samples;
}

void perfdata_file_event(struct perfdata_file *f, const struct event *e)
{
	writer_record(&f->events[0].attr, e, &f->gathered);
}

void perfdata_file_round(struct perfdata_file *f)
{
	static const struct perf_event_header round = { .type = USER_FINISHED_ROUND,
							.size = sizeof(round) };

	perfdata_file_append(f, &round, sizeof(round));
}

struct writer_sections *perfdata_file_sections(struct perfdata_file *f)
{
	return &f->sections;
}

void perfdata_file_send_sections(struct perfdata_file *f)
{
	if (!f->pipe)
		return;
	writer_event_desc(writer_section(&f->sections, FEATURE_EVENT_DESC), f->events, f->n_events);
	writer_pipe_sections(&f->sections, &f->gathered);
}

/* The end. */

static void add_sections(struct perfdata_file *f)
{
	struct buf *section;
	uint64_t n = f->aux.n;

	writer_event_desc(writer_section(&f->sections, FEATURE_EVENT_DESC), f->events, f->n_events);
	if (f->first_ns) {
		section = writer_section(&f->sections, FEATURE_SAMPLE_TIME);
		buf_bytes(section, &f->first_ns, 8);
		buf_bytes(section, &f->last_ns, 8);
	}
	if (!n)
		return;
	section = writer_section(&f->sections, FEATURE_AUXTRACE);
	buf_bytes(section, &n, 8);
	buf_bytes(section, f->aux.data, n * sizeof(*f->aux.data));
}

/* Sections and header behind what ends at `end`. */
static int write_tail(struct perfdata_file *f, uint64_t end)
{
	struct buf tail = { 0 }, header = { 0 };
	int e = lseek(f->fd, (off_t)end, SEEK_SET) < 0 ? -errno : 0;

	writer_tail(f->events, f->n_events, &f->sections, end, &tail, &header);
	if (!e)
		e = file_write_all(f->fd, tail.data, tail.len);
	if (!e && pwrite(f->fd, header.data, header.len, 0) != (ssize_t)header.len)
		e = errno ? -errno : -EIO;
	f->size = end + tail.len;
	buf_fini(&tail);
	buf_fini(&header);
	return e;
}

static size_t tail_size(struct perfdata_file *f)
{
	size_t size = 0;

	vec_foreach (&f->sections, s)
		size += 16 + s->bytes.len;
	return size;
}

/* Records that were handed over and are not in the file, which ends at *end. */
static int write_kept(struct perfdata_file *f, uint64_t *end)
{
	const uint8_t *bytes = f->kept_bytes.data;
	uint64_t cut = *end;
	int e = lseek(f->fd, (off_t)cut, SEEK_SET) < 0 ? -errno : 0;

	vec_foreach (&f->kept, k) {
		size_t has = k->file_off < cut ? (size_t)MIN(cut - k->file_off, k->size) : 0;

		if (!e && has < k->size)
			e = file_write_all(f->fd, bytes + has, k->size - has);
		*end += k->size - has;
		bytes += k->size;
	}
	return e;
}

/*
 * The disk is full. Every reader needs the side band and the sections. So the end of the trace is
 * cut off to make room for them. If that is not enough, the header alone is written, in its place.
 */
static void rescue(struct perfdata_file *f, uint64_t written)
{
	uint64_t need = f->kept_bytes.len + tail_size(f), end;
	int e = perfdata_rescue_cut(f->fd, f->head_size,
				    written > f->head_size + need ? written - need : written, &end);
	struct stat st;

	if (e < 0)
		return;
	while (f->aux.n &&
	       f->aux.data[f->aux.n - 1].file_off + f->aux.data[f->aux.n - 1].size > end)
		f->aux.n--;
	add_sections(f);
	if (write_kept(f, &end) == 0 && write_tail(f, end) == 0)
		return;
	/* What could be written of these are no whole records: once more to the last that is. */
	writer_sections_fini(&f->sections);
	if (fstat(f->fd, &st) == 0 &&
	    perfdata_rescue_cut(f->fd, f->head_size, MIN(end, (uint64_t)st.st_size), &end) == 0)
		write_tail(f, end);
}

static int by_place(const void *a, const void *b)
{
	const struct aux_entry *x = a, *y = b;

	return x->file_off < y->file_off ? -1 : x->file_off > y->file_off;
}

static int perfdata_file_write_end(struct perfdata_file *f)
{
	uint64_t written;
	struct stat st;

	hand_over_gathered(f);
	if (f->pipe) {
		f->size = perfdata_pipe_size(f->pipe);
		return f->code = perfdata_pipe_failure(f->pipe);
	}
	if (f->direct) {
		f->code = direct_writer_close(take_ptr(f->direct), &written);
	} else {
		written = f->size;
		if (f->code)
			written = fstat(f->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	if (f->aux.n)
		qsort(f->aux.data, f->aux.n, sizeof(*f->aux.data), by_place);
	add_sections(f);
	if (!f->code)
		f->code = write_tail(f, written);
	if (f->code)
		rescue(f, written);
	return f->code;
}

int perfdata_file_close(struct perfdata_file *f, uint64_t *n_bytes, struct error *err)
{
	int r = perfdata_file_write_end(f);

	if (n_bytes)
		*n_bytes = f->size;
	if (r < 0)
		error_errno(err, r, "%s could not be written to its end", f->path);
	file_free(f);
	return r;
}
