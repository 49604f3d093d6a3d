/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/table_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "guard/open.h"
#include "pipeline/image_files.h"
#include "symbol/finder.h"

/* The job and the one who began it have a reference each. */
struct table_file {
	struct file_job job;
	atomic_uint n_refs;
	struct finder *finder;
	char *proc, *path;
	int32_t pid;
	struct image image;
	uint64_t *n_ended;

	pthread_mutex_t lock; /* of the rest */
	pthread_cond_t change;
	bool is_ready;
	struct table_file_parts parts;
};

static void table_file_unref(struct table_file *f)
{
	if (atomic_fetch_sub(&f->n_refs, 1) > 1)
		return;
	file_unmap(&f->parts.file);
	close_at_exit(&f->parts.root_fd);
	free(f->parts.name);
	free(f->parts.look);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->change);
	free(f->proc);
	free(f->path);
	free(f);
}

static struct table_file *table_file_of(struct file_job *job)
{
	return (struct table_file *)job;
}

static void table_file_set(struct table_file *f, const struct table_file_parts *parts)
{
	pthread_mutex_lock(&f->lock);
	f->parts = *parts;
	f->is_ready = true;
	pthread_mutex_unlock(&f->lock);
	pthread_cond_broadcast(&f->change); /* the job's reference keeps it */
}

static void find_table_file(const struct table_file *f, struct table_file_parts *parts)
{
	struct image_place place;

	if (finder_open(f->finder, &f->image, &place, &parts->file, NULL) == 0) {
		parts->found = place.step == FINDER_PATH && !*place.root ? IMAGE_AT_ITS_PATH
									 : IMAGE_HIDDEN;
		parts->root_fd = *place.root ? guard_root_of(place.root) : -1;
		parts->name = xstrdup(place.below);
	}
	free(place.path);
}

/* One look is enough for the table and for the identity of the image, if that needs no more. */
static void see_table_file(const struct table_file *f, struct table_file_parts *parts)
{
	struct image_files_seen seen;
	struct file_look *look;

	free(image_files_see(f->proc, f->pid, &f->image, &seen));
	parts->file = seen.file;
	parts->found = seen.where;
	if (!seen.file.base || seen.wants_index || !seen.build_id.len)
		return;
	if (image_file_is_trusted(&seen.file, seen.where))
		parts->key = seen.build_id;
	look = parts->look = xcalloc(1, sizeof(*look));
	*look = (struct file_look){ .image = f->image,
				    .loss = N_LOSS_REASONS,
				    .detected = seen.detected,
				    .runtime = seen.runtime };
	image_identify(&look->image, &seen.file, &seen.build_id, seen.where);
}

static void table_file_run(struct file_job *job)
{
	struct table_file *f = table_file_of(job);
	struct table_file_parts parts = { .found = IMAGE_HIDDEN, .root_fd = -1 };

	if (f->finder) {
		find_table_file(f, &parts);
	} else {
		parts.root_fd = f->proc ? guard_root(f->proc, f->pid) : -1;
		see_table_file(f, &parts);
	}
	table_file_set(f, &parts);
}

static void table_file_done(struct file_job *job)
{
	static const struct table_file_parts none = { .root_fd = -1 };

	if (job->is_refused)
		table_file_set(table_file_of(job), &none);
	++*table_file_of(job)->n_ended;
}

static void table_file_free_job(struct file_job *job)
{
	table_file_unref(table_file_of(job));
}

struct table_file *table_file_begin(struct file_jobs *jobs, struct finder *finder, const char *proc,
				    int32_t pid, const struct image *image, uint64_t *n_ended)
{
	struct table_file *f = xcalloc(1, sizeof(*f));

	f->job = (struct file_job){ .run = table_file_run,
				    .done = table_file_done,
				    .free = table_file_free_job,
				    .rank = FILE_JOB_LONG };
	atomic_init(&f->n_refs, 2);
	f->proc = proc ? xstrdup(proc) : NULL;
	f->path = xstrdup(image->path);
	f->pid = pid;
	f->finder = finder;
	f->image = *image;
	f->image.path = f->path;
	f->n_ended = n_ended;
	f->parts.root_fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	thread_init_condition(&f->change);
	if (jobs) {
		f->job.user = proc ? file_jobs_user(proc, pid) : UINT32_MAX;
		file_jobs_add(jobs, &f->job);
	} else {
		table_file_run(&f->job);
		table_file_free_job(&f->job);
	}
	return f;
}

void table_file_free(struct table_file *f)
{
	if (f)
		table_file_unref(f);
}

bool table_file_is_ready(struct table_file *f)
{
	bool is_ready;

	pthread_mutex_lock(&f->lock);
	is_ready = f->is_ready;
	pthread_mutex_unlock(&f->lock);
	return is_ready;
}

bool table_file_wait(struct table_file *f, uint64_t until_ns)
{
	const struct timespec until = timespec_of_ns(until_ns);
	bool is_ready;
	int r = 0;

	pthread_mutex_lock(&f->lock);
	while (!f->is_ready && !r)
		r = pthread_cond_timedwait(&f->change, &f->lock, &until);
	is_ready = f->is_ready;
	pthread_mutex_unlock(&f->lock);
	return is_ready;
}

struct table_file_parts table_file_take(struct table_file *f)
{
	struct table_file_parts parts;

	pthread_mutex_lock(&f->lock);
	parts = f->parts;
	f->parts = (struct table_file_parts){ .root_fd = -1 };
	pthread_mutex_unlock(&f->lock);
	return parts;
}
