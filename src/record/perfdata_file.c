/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/perfdata_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/direct_writer.h"
#include "base/error.h"
#include "base/file.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "perfdata/record.h"
#include "record/replay.h"

#define FLUSH_BYTES ((size_t)1 << 20)

/* Where an AUXTRACE record is: an entry of the section that perf finds them by. */
struct aux_entry {
	uint64_t file_off, size;
};

struct perfdata_file {
	char *path;
	char *old; /* what was there; NULL: nothing */
	int fd, code;
	struct direct_writer *direct; /* NULL: written as usual */
	struct buf gathered;
	uint64_t size; /* of the file, with what is gathered */
	uint64_t samples, first_ns, last_ns;
	struct arena *arena;
	struct writer_event *events;
	size_t n_events;
	struct record_format format; /* of the first event: where records have their time */
	struct writer_sections sections;
	VEC(struct aux_entry) aux;
};

/* Opening. */

static int make_room(struct perfdata_file *f, struct error *err)
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
	if (f->fd >= 0)
		close(f->fd);
	writer_sections_fini(&f->sections);
	buf_fini(&f->gathered);
	vec_fini(&f->aux);
	arena_free(f->arena);
	free(f->path);
	free(f->old);
	free(f);
}
DEFINE_AT_EXIT(file_free, struct perfdata_file)

int perfdata_file_open(const char *path, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err)
{
	cleanup(file_free_at_exit) struct perfdata_file *f = xcalloc(1, sizeof(*f));
	int r;

	f->fd = -1;
	f->path = xstrdup(path);
	f->arena = arena_new();
	r = make_room(f, err);
	if (r < 0)
		return r;
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		r = -errno;
		if (f->old)
			(void)!rename(f->old, f->path);
		return error_errno(err, r, "%s", path);
	}
	copy_events(f, events, n);
	writer_head(f->events, n, &f->gathered);
	f->size = f->gathered.len;
	*out = take_ptr(f);
	return 0;
}

void perfdata_file_abandon(struct perfdata_file *f)
{
	if (!f)
		return;
	unlink(f->path);
	if (f->old)
		(void)!rename(f->old, f->path);
	file_free(f);
}

/* Writing. */

/* To whoever writes. */
static void hand_over(struct perfdata_file *f, const void *bytes, size_t size)
{
	if (f->direct)
		direct_writer_put(f->direct, bytes, size);
	else if (!f->code)
		f->code = file_write_all(f->fd, bytes, size);
}

static void hand_over_gathered(struct perfdata_file *f)
{
	if (f->gathered.len)
		hand_over(f, f->gathered.data, f->gathered.len);
	f->gathered.len = 0;
}

void perfdata_file_write_directly(struct perfdata_file *f)
{
	if (!f->direct)
		f->direct = direct_writer_new(f->fd);
}

int perfdata_file_flush(struct perfdata_file *f)
{
	hand_over_gathered(f);
	if (f->direct) {
		direct_writer_flush(f->direct);
		f->code = direct_writer_failure(f->direct);
	}
	return f->code;
}

int perfdata_file_failure(const struct perfdata_file *f)
{
	return f->code;
}

static void append(struct perfdata_file *f, const void *bytes, size_t size)
{
	buf_bytes(&f->gathered, bytes, size);
	f->size += size;
	if (f->gathered.len >= FLUSH_BYTES)
		hand_over_gathered(f);
}

static void note_record(struct perfdata_file *f, const void *record, size_t size)
{
	struct perf_event_header h;
	uint64_t ns;

	memcpy(&h, record, sizeof(h));
	if (h.type == USER_AUXTRACE) {
		vec_push(&f->aux, (struct aux_entry){ f->size, size });
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
	append(f, record, size);
}

void perfdata_file_payload(struct perfdata_file *f, const void *bytes, uint64_t size)
{
	hand_over_gathered(f);
	hand_over(f, bytes, size);
	f->size += size;
}

uint64_t perfdata_file_samples(const struct perfdata_file *f)
{
	return f->samples;
}

void perfdata_file_event(struct perfdata_file *f, const struct event *e)
{
	size_t before = f->gathered.len;

	writer_record(&f->events[0].attr, e, &f->gathered);
	f->size += f->gathered.len - before;
}

void perfdata_file_round(struct perfdata_file *f)
{
	static const struct perf_event_header round = { .type = USER_FINISHED_ROUND,
							.size = sizeof(round) };

	append(f, &round, sizeof(round));
}

struct writer_sections *perfdata_file_sections(struct perfdata_file *f)
{
	return &f->sections;
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

static int write_end(struct perfdata_file *f)
{
	struct buf header = { 0 };
	size_t before = f->gathered.len;

	add_sections(f);
	writer_tail(f->events, f->n_events, &f->sections, f->size, &f->gathered, &header);
	f->size += f->gathered.len - before;
	hand_over_gathered(f);
	if (f->direct)
		f->code = direct_writer_close(take_ptr(f->direct), NULL);
	if (!f->code && pwrite(f->fd, header.data, header.len, 0) != (ssize_t)header.len)
		f->code = errno ? -errno : -EIO;
	buf_fini(&header);
	return f->code;
}

int perfdata_file_close(struct perfdata_file *f, uint64_t *n_bytes, struct error *err)
{
	int r = write_end(f);

	if (n_bytes)
		*n_bytes = f->size;
	if (r < 0)
		error_errno(err, r, "%s could not be written to its end", f->path);
	file_free(f);
	return r;
}
