/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of the images of a recorded process. */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "scratch.h"

#include "machine/image.h"
#include "pipeline/file_jobs.h"
#include "pipeline/user_stacks.h"

/* An image as a record of the kernel names it. */
static image_id image_of(struct machine *machine, const char *path)
{
	struct image image = { .kind = IMAGE_FILE, .path = path };
	struct file_mapping file;

	assert_int_equal(file_map(path, &file, NULL), 0);
	image.dev = file.dev;
	image.ino = file.ino;
	file_unmap(&file);
	return image_intern(machine_images(machine), &image);
}

static void a_file_is_opened_once_for_its_table(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	struct user_stacks *stacks =
		user_stacks_new(&(struct user_stacks_config){ .machine = machine });
	const struct unwind_table *table = NULL;
	char *folder = getcwd(NULL, 0), *path = xasprintf("%s/program", folder);
	image_id image;

	(void)state;
	run_command("cp %s program", own_program());
	image = image_of(machine, path);
	user_stacks_table(stacks, 0, image, &table);
	assert_int_equal(unlink(path), 0);
	while (!user_stacks_table(stacks, 0, image, &table))
		sched_yield();
	assert_non_null(table);
	user_stacks_free(stacks);
	machine_free(machine);
	free(path);
	free(folder);
}

/* A job that takes as long as a file system that does not answer. */
static atomic_bool is_held;

static void run_held(struct file_job *job)
{
	(void)job;
	while (atomic_load(&is_held))
		sched_yield();
}

static void ignore_job(struct file_job *job)
{
	(void)job;
}

static void files_are_opened_on_a_thread_of_the_jobs(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	struct file_jobs *jobs = file_jobs_new();
	struct user_stacks *stacks =
		user_stacks_new(&(struct user_stacks_config){ .machine = machine, .jobs = jobs });
	struct file_job held = {
		.user = UINT32_MAX, .run = run_held, .done = ignore_job, .free = ignore_job
	};
	const struct unwind_table *table = NULL;
	char *folder = getcwd(NULL, 0), *path = xasprintf("%s/other", folder);
	image_id image;
	uint64_t generation;

	(void)state;
	run_command("cp %s other", own_program());
	image = image_of(machine, path);
	atomic_store(&is_held, true);
	file_jobs_add(jobs, &held);
	assert_false(user_stacks_table(stacks, 0, image, &table));
	generation = user_stacks_generation(stacks);
	assert_int_equal(unlink(path), 0); /* nobody has opened it yet */
	atomic_store(&is_held, false);
	while (file_jobs_count(jobs)) {
		file_jobs_wait(jobs, UINT64_MAX);
		file_jobs_take(jobs);
	}
	assert_true(user_stacks_generation(stacks) > generation);
	while (!user_stacks_table(stacks, 0, image, &table))
		sched_yield();
	assert_null(table);
	file_jobs_free(jobs);
	user_stacks_free(stacks);
	machine_free(machine);
	free(path);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_opened_once_for_its_table),
		cmocka_unit_test(files_are_opened_on_a_thread_of_the_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
