/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file an image stands for. */
#include "folder.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "base/files/cut_guard.h"
#include "guard/open.h"
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
	struct image image = { .kind = IMAGE_FILE, .build_id = one, .ino = 1 };

	(void)state;
	put("file", "text", 4);
	assert_true(is_file(&image, "file", one));
	assert_false(is_file(&image, "file", other));
	assert_false(is_file(&image, "file", none));
	image.dev = IMAGE_DEV_FILE; /* at a report, a copy of the file is right */
	assert_true(is_file(&image, "file", one));
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
	assert_false(image_has_identity(&image));
	file.uid = geteuid();
	image_identify(&image, &file, &none, IMAGE_AT_ITS_PATH);
	assert_int_equal(image.dev, IMAGE_DEV_CONTENT);
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

static struct build_id key_of(const char *path, struct build_id build_id, enum image_found found)
{
	struct file_mapping file = { 0 };
	struct build_id key;

	assert_int_equal(file_map(path, &file, NULL), 0);
	key = image_file_key(&file, &build_id, found);
	file_unmap(&file);
	return key;
}

#define assert_keys_equal(a, b) \
	assert_true(build_id_equal((struct build_id[]){ a }, (struct build_id[]){ b }))
#define assert_keys_not_equal(a, b) \
	assert_false(build_id_equal((struct build_id[]){ a }, (struct build_id[]){ b }))

/* A file of another user, of a group or of a container claims a build id. */
static void only_a_trusted_file_is_kept_by_its_build_id(void **state)
{
	struct file_mapping file = { 0 };

	(void)state;
	put("file", "text", 4);
	assert_int_equal(file_map("file", &file, NULL), 0);
	if (file.is_open_to_others)
		skip_because("needs a file system that is not mounted with nosuid");
	file_unmap(&file);
	assert_keys_equal(key_of("file", one, IMAGE_AT_ITS_PATH), one);
	assert_keys_not_equal(key_of("file", one, IMAGE_HIDDEN), one);
	assert_int_equal(chmod("file", 0775), 0);
	assert_keys_not_equal(key_of("file", one, IMAGE_AT_ITS_PATH), one);
	assert_int_equal(chmod("file", 0757), 0);
	assert_keys_not_equal(key_of("file", one, IMAGE_AT_ITS_PATH), one);
	assert_int_equal(chmod("file", 0755), 0);
	assert_keys_equal(key_of("file", one, IMAGE_AT_ITS_PATH), one);
	if (geteuid() != 0)
		skip_because("needs root, to give a file to another user");
	assert_int_equal(chown("file", 65534, 65534), 0);
	assert_keys_not_equal(key_of("file", one, IMAGE_AT_ITS_PATH), one);
}

/* No two contents have one key. */
static void the_key_of_another_file_changes_with_its_content(void **state)
{
	struct build_id key;

	(void)state;
	put("file", "text", 4);
	put("copy", "text", 4);
	key = key_of("file", one, IMAGE_HIDDEN);
	assert_keys_equal(key_of("file", one, IMAGE_HIDDEN), key);
	put("file", "tixt", 4);
	assert_keys_not_equal(key_of("file", one, IMAGE_HIDDEN), key);
	assert_keys_not_equal(key_of("copy", one, IMAGE_HIDDEN), key_of("file", one, IMAGE_HIDDEN));
}

static void an_image_has_the_identity_that_its_file_needs(void **state)
{
	struct image hidden = { .kind = IMAGE_FILE }, at_path = hidden;
	struct file_mapping file = { 0 };

	(void)state;
	put("file", "text", 4);
	assert_int_equal(file_map("file", &file, NULL), 0);
	image_identify(&hidden, &file, &one, IMAGE_HIDDEN);
	assert_true(build_id_equal(&hidden.build_id, &one));
	assert_int_equal(hidden.dev, IMAGE_DEV_SHA256);
	/* printf text | sha256sum: 982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1
	 */
	assert_int_equal(hidden.ino, 0x59f596b93e9e2d98);
	file.is_open_to_others = true;
	image_identify(&at_path, &file, &one, IMAGE_AT_ITS_PATH);
	assert_int_equal(at_path.dev, IMAGE_DEV_FILE);
	assert_int_equal(image_cache_key(&at_path).len, 0); /* the file has it */
	image_identify(&at_path, &file, &none, IMAGE_AT_ITS_PATH);
	assert_int_equal(at_path.dev, IMAGE_DEV_SHA256);
	file.is_open_to_others = false;
	file.uid = geteuid();
	image_identify(&at_path, &file, &one, IMAGE_AT_ITS_PATH);
	assert_false(image_has_identity(&at_path));
	file_unmap(&file);
	assert_true(is_file(&hidden, "file", one));
	assert_false(is_file(&hidden, "file", none));
	put("file", "tixt", 4);
	assert_false(is_file(&hidden, "file", one));
}

/* Anybody can make a file of any size that takes no room. */
static void the_content_of_a_huge_file_is_not_read(void **state)
{
	static uint8_t bytes[4096];
	struct file_mapping file = { .base = bytes, .size = GUARD_HASH_BYTES + 1, .uid = 1 };
	struct image image = { .kind = IMAGE_FILE };
	uint64_t ino;

	(void)state;
	image_identify(&image, &file, &none, IMAGE_HIDDEN); /* would read far behind `bytes` */
	assert_int_equal(image.dev, IMAGE_DEV_SHA256);
	assert_true(image_is_file(&image, &file, &none));
	ino = image.ino;
	file.mtime_ns++;
	image_identify(&image, &file, &none, IMAGE_HIDDEN);
	assert_true(image.ino != ino);
	assert_int_equal(image_file_key(&file, &none, IMAGE_HIDDEN).len, 0);
}

static void the_content_of_a_file_at_the_limit_is_read(void **state)
{
	struct image image = { .kind = IMAGE_FILE };
	struct file_mapping file = { 0 };
	uint64_t ino;

	(void)state;
	if (UNIT_IS_EMULATED)
		skip_because("an emulated processor hashes a gigabyte for minutes");
	cut_guard_enable();
	put("large", "a", 1);
	assert_int_equal(truncate("large", (off_t)GUARD_HASH_BYTES), 0);
	assert_int_equal(file_map("large", &file, NULL), 0);
	file.uid = 1;
	image_identify(&image, &file, &none, IMAGE_HIDDEN);
	ino = image.ino;
	file.mtime_ns++;
	image_identify(&image, &file, &none, IMAGE_HIDDEN);
	assert_int_equal(image.ino, ino);
	file_unmap(&file);
	unlink("large");
}

/* The debug file of a trusted file may have been put there by somebody else. */
static void a_result_of_files_of_others_is_not_kept(void **state)
{
	const uint8_t byte = 0;
	struct file_mapping ours = { .base = &byte, .uid = geteuid() }, theirs = ours,
			    absent = { 0 };
	struct file_mapping open_to_all = ours;

	(void)state;
	theirs.uid = 65533;
	open_to_all.is_open_to_others = true;
	assert_true(image_file_may_use(&ours, &absent, IMAGE_HIDDEN));
	assert_true(image_file_may_use(&ours, &ours, IMAGE_AT_ITS_PATH));
	assert_false(image_file_may_use(&ours, &theirs, IMAGE_AT_ITS_PATH));
	assert_false(image_file_may_use(&ours, &open_to_all, IMAGE_AT_ITS_PATH));
	assert_true(image_file_may_use(&theirs, &theirs, IMAGE_AT_ITS_PATH));
	assert_true(image_file_may_use(&theirs, &ours, IMAGE_AT_ITS_PATH));
	assert_false(image_file_may_use(&theirs, &theirs, IMAGE_HIDDEN));
	assert_false(image_file_may_use(&ours, &ours, IMAGE_HIDDEN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_id_decides_alone),
		cmocka_unit_test(without_one_the_content_decides),
		cmocka_unit_test(an_unread_file_is_known_by_its_mapping),
		cmocka_unit_test(files_are_kept_by_build_id_or_content),
		cmocka_unit_test(only_a_trusted_file_is_kept_by_its_build_id),
		cmocka_unit_test(the_key_of_another_file_changes_with_its_content),
		cmocka_unit_test(an_image_has_the_identity_that_its_file_needs),
		cmocka_unit_test(the_content_of_a_huge_file_is_not_read),
		cmocka_unit_test(the_content_of_a_file_at_the_limit_is_read),
		cmocka_unit_test(a_result_of_files_of_others_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
