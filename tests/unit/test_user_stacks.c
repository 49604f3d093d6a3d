/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of the images of a recorded process. */
#include <sched.h>
#include <unistd.h>

#include "scratch.h"

#include "machine/image.h"
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
	struct user_stacks *stacks = user_stacks_new(machine, NULL, NULL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_opened_once_for_its_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
