/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdio.h>

#include "base/mem.h"
#include "machine/image.h"

static struct build_id id_of(uint8_t byte)
{
	return (struct build_id){ .len = 20, .bytes = { byte, 1, 2 } };
}

static void the_unknown_image_is_id_0(void **state)
{
	struct image_table *t = image_table_new();

	(void)state;
	assert_int_equal(image_count(t), 1);
	assert_int_equal(image_get(t, IMAGE_UNKNOWN_ID)->kind, IMAGE_UNKNOWN);
	assert_string_equal(image_get(t, IMAGE_UNKNOWN_ID)->path, "[unknown]");
	image_table_free(t);
}

static void equal_images_have_one_id(void **state)
{
	struct image_table *t = image_table_new();
	char path[] = "/bin/a";
	struct image image = { .kind = IMAGE_FILE, .dev = 1, .ino = 2, .path = path };
	image_id a = image_intern(t, &image), b;

	(void)state;
	assert_int_equal(a.n, 1);
	assert_int_equal(image_intern(t, &image).n, a.n);
	image.ino = 3;
	b = image_intern(t, &image);
	assert_int_not_equal(b.n, a.n);
	/* The inode has been used again. */
	image.generation = 1;
	assert_int_not_equal(image_intern(t, &image).n, b.n);
	path[5] = 'x'; /* the table has its own copy */
	assert_string_equal(image_get(t, a)->path, "/bin/a");
	image_table_free(t);
}

static void one_path_with_two_build_ids_is_two_images(void **state)
{
	struct image_table *t = image_table_new();
	struct image image = { .kind = IMAGE_FILE, .dev = 1, .ino = 2, .path = "/bin/a" };
	image_id a, b;

	(void)state;
	image.build_id = id_of(1);
	a = image_intern(t, &image);
	image.build_id = id_of(2);
	b = image_intern(t, &image);
	assert_int_not_equal(a.n, b.n);
	image.build_id = id_of(1);
	image.dev = 7; /* another mount of the same file: the build id decides */
	assert_int_equal(image_intern(t, &image).n, a.n);
	image_table_free(t);
}

/* Anybody can write a file with the build id of another. */
static void one_build_id_with_two_identities_is_two_images(void **state)
{
	struct image_table *t = image_table_new();
	struct image image = { .kind = IMAGE_FILE, .path = "/lib", .build_id = { 2, { 1, 2 } } };
	image_id plain = image_intern(t, &image), one, other;

	(void)state;
	image.ino = 5; /* of a mapping: no identity */
	assert_int_equal(image_intern(t, &image).n, plain.n);
	image.dev = IMAGE_DEV_SHA256;
	one = image_intern(t, &image);
	image.ino = 6;
	other = image_intern(t, &image);
	assert_int_equal(image_intern(t, &image).n, other.n);
	assert_true(one.n != plain.n && other.n != plain.n && one.n != other.n);
	image_table_free(t);
}

static void a_build_id_that_came_later_is_found_by_both_keys(void **state)
{
	struct image_table *t = image_table_new();
	struct image image = { .kind = IMAGE_FILE, .dev = 1, .ino = 2, .path = "/bin/a" };
	struct build_id id = id_of(1), other = id_of(2);
	image_id a = image_intern(t, &image);

	(void)state;
	image_set_build_id(t, a, &id);
	image_set_build_id(t, a, &other); /* the first one stays */
	assert_true(build_id_equal(&image_get(t, a)->build_id, &id));
	assert_int_equal(image_intern(t, &image).n, a.n);
	image.build_id = id;
	assert_int_equal(image_intern(t, &image).n, a.n);
	image_table_free(t);
}

static void jit_code_of_two_processes_is_two_images(void **state)
{
	struct image_table *t = image_table_new();
	struct image image = { .kind = IMAGE_JIT, .pid = 10, .path = "[jit]" };
	image_id a = image_intern(t, &image);

	(void)state;
	image.pid = 11;
	assert_int_not_equal(image_intern(t, &image).n, a.n);
	image_table_free(t);
}

static void ids_survive_growth(void **state)
{
	struct image_table *t = image_table_new();
	char path[32];
	struct image image = { .kind = IMAGE_FILE, .path = path };

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 5000; i++) {
			image.ino = i;
			snprintf(path, sizeof(path), "/lib/%u.so", i);
			assert_int_equal(image_intern(t, &image).n, i);
			if (i % 3 == 0) {
				struct build_id id = id_of((uint8_t)i);

				image_set_build_id(t, (image_id){ i }, &id);
			}
		}
	}
	assert_int_equal(image_count(t), 5001);
	assert_string_equal(image_get(t, (image_id){ 4711 })->path, "/lib/4711.so");
	image_table_free(t);
}

static void the_c_library_has_its_names(void **state)
{
	static const struct {
		const char *path;
		bool is_it;
	} cases[] = {
		{ "/lib/x86_64-linux-gnu/libc.so.6", true },
		{ "/lib/ld-musl-x86_64.so.1", true },
		{ "/lib/libpthread-2.31.so", true },
		{ "/usr/lib/libcrypto.so.3", false },
		{ "/usr/bin/ld", false },
		{ "[unknown]", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(image_is_c_library(&(struct image){ .path = cases[i].path }),
				 cases[i].is_it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unknown_image_is_id_0),
		cmocka_unit_test(equal_images_have_one_id),
		cmocka_unit_test(one_path_with_two_build_ids_is_two_images),
		cmocka_unit_test(one_build_id_with_two_identities_is_two_images),
		cmocka_unit_test(a_build_id_that_came_later_is_found_by_both_keys),
		cmocka_unit_test(jit_code_of_two_processes_is_two_images),
		cmocka_unit_test(ids_survive_growth),
		cmocka_unit_test(the_c_library_has_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
