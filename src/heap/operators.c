/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/file_jobs.h"
#include "pipeline/image_files.h"
#include "symbol/file_functions.h"

/* A few programs, each with its libraries; programs choose the names of files and functions. */
#define LIBRARIES_MAX 64
#define OPERATORS_MAX 2048

void operators_fini(struct operators *o)
{
	file_jobs_free(o->jobs);
	vec_fini(&o->images);
	vec_fini(&o->ranges);
}

static bool is_library(const char *path)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };
	const char *base = path && *path == '/' ? strrchr(path, '/') + 1 : "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Mangled: "_Znwm" is operator new, and "_Znam" operator new[]. */
static bool is_operator(const char *name)
{
	return !strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4);
}

/* The reading of a library's symbols. */
struct operator_job {
	struct file_job job;
	struct operators *owner;
	struct image image;
	image_id id;
	char *path;
	int32_t pid;
	VEC(struct operator_range) found;
};

static void find_operators(struct file_job *job)
{
	struct operator_job *j = (struct operator_job *)job;
	struct file_mapping file = { 0 };
	struct file_functions f = { 0 };
	struct build_id id;

	free(image_files_open("/proc", j->pid, &j->image, &file, &id));
	if (file.base && file_functions_ask(&file, image_files_found(&j->image, &file),
					    FUNCTIONS_ALL, NULL, &f, NULL) >= 0)
		for (uint32_t i = 0; i < f.head.n && j->found.n < OPERATORS_MAX; i++)
			if (is_operator(file_functions_name(&f, &f.list[i])))
				vec_push(&j->found,
					 ((struct operator_range){ f.list[i].file_off,
								   f.list[i].size, j->id }));
	file_functions_fini(&f);
	file_unmap(&file);
}

static void take_operators(struct file_job *job)
{
	struct operator_job *j = (struct operator_job *)job;

	vec_foreach (&j->found, range)
		if (j->owner->ranges.n < OPERATORS_MAX)
			vec_push(&j->owner->ranges, *range);
}

static void free_operator_job(struct file_job *job)
{
	struct operator_job *j = (struct operator_job *)job;

	vec_fini(&j->found);
	free(j->path);
	free(j);
}

static void begin_operators(struct operators *o, image_id id, const struct image *image,
			    int32_t pid)
{
	struct operator_job *j = xcalloc(1, sizeof(*j));
	uint64_t until_ns = clock_monotonic_ns() + OPERATORS_WAIT_NS;

	j->job = (struct file_job){ .user = file_jobs_user("/proc", pid),
				    .run = find_operators,
				    .done = take_operators,
				    .free = free_operator_job };
	j->owner = o;
	j->path = xstrdup(image->path);
	j->image = *image;
	j->image.path = j->path;
	j->id = id;
	j->pid = pid;
	if (!o->jobs)
		o->jobs = file_jobs_new();
	file_jobs_add(o->jobs, &j->job);
	while (file_jobs_count(o->jobs) && !file_jobs_take(o->jobs) &&
	       clock_monotonic_ns() < until_ns)
		file_jobs_wait(o->jobs, until_ns);
}

bool operators_has(struct operators *o, const struct image_table *images, int32_t pid,
		   struct code_addr code, bool has_malloc)
{
	const struct image *image = image_get(images, code.image);
	bool is_known = false;

	if (!has_malloc && !is_library(image->path))
		return false;
	vec_foreach (&o->images, known)
		is_known |= known->n == code.image.n;
	if (!is_known) {
		if (o->images.n >= LIBRARIES_MAX)
			return false;
		vec_push(&o->images, code.image);
		begin_operators(o, code.image, image, pid);
	}
	if (o->jobs && file_jobs_count(o->jobs))
		file_jobs_take(o->jobs);
	vec_foreach (&o->ranges, range)
		if (range->image.n == code.image.n && code.offset - range->start < range->size)
			return true;
	return false;
}
