/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file an image stands for. */
#include "folder.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "base/files/cut_guard.h"
#include "machine/image_file.h"

static void put(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, bytes, size), 0);
	close(fd);
}

static bool is_file(const struct image *image, const char *path, struct build_id build_id)
{
	struct file_mapping file = { 0 };
	bool is_it;

	assert_int_equal(file_map(path, &file, NULL), 0);
	is_it = image_is_file(image, &file, &build_id);
	file_unmap(&file);
	return is_it;
}

static const struct build_id none, one = { 2, { 1, 2 } }, other = { 2, { 1, 3 } };

static void a_build_id_decides_alone(void **state)
{
	const struct image image = { .kind = IMAGE_FILE, .build_id = one, .ino = 1 };

	(void)state;
	put("file", "text", 4);
	assert_true(is_file(&image, "file", one));
	assert_false(is_file(&image, "file", other));
	assert_false(is_file(&image, "file", none));
}

static void without_one_the_content_decides(void **state)
{
	enum { SIZE = 20 << 20 };
	static char bytes[SIZE];
	struct image image = { .kind = IMAGE_FILE, .dev = 1, .ino = 2 };
	struct file_mapping file = { 0 };

	(void)state;
	put("file", bytes, SIZE);
	assert_int_equal(file_map("file", &file, NULL), 0);
	assert_false(image_is_by_content(&image));
	image_set_content(&image, &file);
	assert_true(image_is_by_content(&image));
	file_unmap(&file);
	put("copy", bytes, SIZE);
	assert_true(is_file(&image, "copy", none));
	assert_false(is_file(&image, "copy", one));
	/* Another length, another beginning, another end. */
	put("longer", bytes, SIZE - 1);
	assert_false(is_file(&image, "longer", none));
	bytes[100] = 1;
	put("copy", bytes, SIZE);
	assert_false(is_file(&image, "copy", none));
	bytes[100] = 0;
	bytes[SIZE - 100] = 1;
	put("copy", bytes, SIZE);
	assert_false(is_file(&image, "copy", none));
	put("copy", NULL, 0);
	assert_false(is_file(&image, "copy", none));
}

/* The mapping of a file that a process has, by its address. */
static void an_unread_file_is_known_by_its_mapping(void **state)
{
	struct image image = { .kind = IMAGE_FILE };
	struct file_mapping file = { 0 };
	unsigned int major, minor;
	uint64_t start, end;
	char *found, path[PATH_MAX + 8], line[512];
	FILE *maps;

	(void)state;
	cut_guard_enable(); /* files are mapped */
	put("file", "text", 4);
	put("other", "text", 4);
	assert_true(is_file(&image, "other", none)); /* nothing is known */
	assert_int_equal(file_map("file", &file, NULL), 0);
	assert_int_equal(mprotect((void *)file.base, 4096, PROT_READ | PROT_EXEC), 0);
	maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %" SCNu64, &start, &end,
			   &major, &minor, &image.ino) == 5 &&
		    start == (uintptr_t)file.base)
			break;
	}
	fclose(maps);
	image.dev = (uint64_t)major << 32 | minor;
	image.path = "another name";
	assert_true(is_file(&image, "file", none));
	assert_false(is_file(&image, "other", none));
	found = image_map_file("/proc", getpid(), &image);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, getpid(), start,
		 end);
	assert_string_equal(found, path);
	free(found);
	/* By its path where no record told the inode, also when that is gone. */
	image.dev = image.ino = 0;
	assert_null(image_map_file("/proc", getpid(), &image));
	snprintf(path, sizeof(path), "%s/file", scratch_dir);
	image.path = path;
	unlink("file");
	found = image_map_file("/proc", getpid(), &image);
	assert_non_null(found);
	free(found);
	file_unmap(&file);
}

static void files_are_kept_by_build_id_or_content(void **state)
{
	struct image image = { .kind = IMAGE_FILE, .build_id = one };
	struct build_id key = image_cache_key(&image);

	(void)state;
	assert_true(build_id_equal(&key, &one));
	image.build_id = none;
	assert_int_equal(image_cache_key(&image).len, 0);
	image.dev = IMAGE_DEV_CONTENT;
	image.ino = 7;
	key = image_cache_key(&image);
	assert_int_equal(key.len, 16);
	image.ino = 8;
	assert_memory_not_equal(&key, &(struct build_id[1]){ image_cache_key(&image) },
				sizeof(key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_id_decides_alone),
		cmocka_unit_test(without_one_the_content_decides),
		cmocka_unit_test(an_unread_file_is_known_by_its_mapping),
		cmocka_unit_test(files_are_kept_by_build_id_or_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
