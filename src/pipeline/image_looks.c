/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/image_looks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pipeline/image_files.h"

struct look_job {
	struct file_job job;
	char *proc, *path, *names_dir;
	int32_t pid;
	struct file_look look;
	file_look_done done;
	void *context;
};

static void look_run(struct file_job *job)
{
	struct look_job *j = (struct look_job *)job;

	const struct image_finder finder = { .proc = j->proc, .names_dir = j->names_dir };

	j->look.detected = image_files_look(&finder, j->pid, &j->look.image, &j->look.runtime,
					    &j->look.loss, &j->look.lacks_names);
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

void file_look_begin(struct file_jobs *jobs, const struct image_finder *finder, int32_t pid,
		     image_id id, const struct image *image, file_look_done done, void *context)
{
	struct look_job *j = xcalloc(1, sizeof(*j));

	j->job = (struct file_job){ .user = file_jobs_user(finder->proc, pid),
				    .run = look_run,
				    .done = look_done,
				    .free = look_free,
				    .is_urgent = is_named_as_runtime(image->path) };
	j->proc = xstrdup(finder->proc);
	j->names_dir = finder->names_dir ? xstrdup(finder->names_dir) : NULL;
	j->path = xstrdup(image->path);
	j->pid = pid;
	j->look = (struct file_look){ .id = id, .image = *image };
	j->look.image.path = j->path;
	j->done = done;
	j->context = context;
	file_jobs_add(jobs, &j->job);
}
