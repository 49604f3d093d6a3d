/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/image_looks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pipeline/image_files.h"

struct look_job {
	struct file_job job;
	char *proc, *path, *names_dir;
	int32_t pid;
	struct file_look look;
	char *found; /* of a large file that is held until its turn; NULL: none */
	struct image_files_seen seen;
	file_look_done done;
	void *context;
};

/* Each holds a descriptor. */
#define HELD_MAX 32

static atomic_int n_held;

/*
 * A large file is held meanwhile, as its process may end. False: too many are held, so it is read
 * at once.
 */
static bool leave_for_later(struct look_job *j)
{
	if (atomic_fetch_add(&n_held, 1) >= HELD_MAX) {
		atomic_fetch_sub(&n_held, 1);
		return false;
	}
	j->job.is_large = true;
	j->job.is_again = true;
	return true;
}

static void look_keep(struct look_job *j, char *found)
{
	const struct image_finder finder = { .proc = j->proc, .names_dir = j->names_dir };

	j->look.lacks_names = !image_files_keep(&finder, j->pid, found, &j->look.image, &j->seen);
	free(found);
}

static void look_run(struct file_job *job)
{
	struct look_job *j = (struct look_job *)job;
	char *found;

	if (j->found) {
		atomic_fetch_sub(&n_held, 1);
		look_keep(j, take_ptr(j->found));
		return;
	}
	found = image_files_see(j->proc, j->pid, &j->look.image, &j->seen);
	j->look.loss = j->seen.loss;
	j->look.detected = j->seen.detected;
	j->look.runtime = j->seen.runtime;
	if (found && image_files_is_large(&j->seen) && leave_for_later(j))
		j->found = found;
	else if (found)
		look_keep(j, found);
}

static void look_done(struct file_job *job)
{
	struct look_job *j = (struct look_job *)job;

	if (job->is_refused)
		j->look.loss = LOSS_FILE_BUDGET;
	j->done(j->context, &j->look);
}

static void look_free(struct file_job *job)
{
	struct look_job *j = (struct look_job *)job;

	free(j->proc);
	free(j->path);
	free(j->names_dir);
	if (j->found) { /* its turn did not come */
		atomic_fetch_sub(&n_held, 1);
		file_unmap(&j->seen.file);
		free(j->found);
	}
	free(j);
}

/* Until such a file was looked at, stacks lack frames of its language. */
static bool is_named_as_runtime(const char *path)
{
	static const char *const names[] = { "python", "ruby", "perl", "php", "node", "libjvm" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(name, names[i]))
			return true;
	return false;
}

uint32_t file_look_begin(struct file_jobs *jobs, const struct image_finder *finder, int32_t pid,
			 image_id id, const struct image *image, file_look_done done, void *context)
{
	struct look_job *j = xcalloc(1, sizeof(*j));
	uint32_t user = file_jobs_user(finder->proc, pid);

	j->job = (struct file_job){ .user = user,
				    .run = look_run,
				    .done = look_done,
				    .free = look_free,
				    .rank = is_named_as_runtime(image->path) ? FILE_JOB_URGENT
									     : FILE_JOB_USUAL };
	j->proc = xstrdup(finder->proc);
	j->names_dir = finder->names_dir ? xstrdup(finder->names_dir) : NULL;
	j->path = xstrdup(image->path);
	j->pid = pid;
	j->look = (struct file_look){ .id = id, .image = *image };
	j->look.image.path = j->path;
	j->done = done;
	j->context = context;
	file_jobs_add(jobs, &j->job);
	return user;
}
