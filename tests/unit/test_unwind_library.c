/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables from images and from the cache, and damaged images and caches. */
#include <errno.h>
#include <glob.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "scratch.h"

#include "base/error.h"
#include "base/files/cut_guard.h"
#include "elf/elf_file.h"
#include "guard/parser.h"
#include "unwind/cache.h"
#include "unwind/library.h"

#define IMAGE own_program()

struct built {
	struct file_mapping file;
	struct elf_file elf;
	struct unwind_header *block;
	struct unwind_table table;
};

static void build_of(struct built *b, const char *path)
{
	struct error err = { 0 };

	assert_int_equal(file_map(path, &b->file, &err), 0);
	assert_int_equal(elf_file_open(&b->elf, b->file.base, b->file.size, &err), 0);
	assert_int_equal(unwind_build(&b->elf, NULL, &b->block, &err), 0);
	assert_true(unwind_table_open(&b->table, b->block, (size_t)b->block->size));
}

static void built_fini(struct built *b)
{
	free(b->block);
	file_unmap(&b->file);
}

static char *cache_path(const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("cache/%s.unw", hex);
}

static void need_build_id(void)
{
	struct built b;
	size_t size;

	build_of(&b, IMAGE);
	size = b.block->build_id.len;
	built_fini(&b);
	if (!size)
		skip_because("needs a linker that gives programs a build ID");
}

static void a_table_is_the_same_from_the_cache(void **state)
{
	struct unwind_library_config config = { .cache_dir = "cache" };
	const struct unwind_table *table;
	struct built b;

	(void)state;
	need_build_id();
	build_of(&b, IMAGE);
	/* The first one builds it; the second has no image to build it from. */
	for (int round = 0; round < 2; round++) {
		struct unwind_image image = { .path = round ? "absent" : IMAGE,
					      .key = b.block->build_id };
		struct unwind_library *lib = unwind_library_new(&config);

		assert_int_equal(unwind_library_get(lib, 5, &image, &table), UNWIND_TABLE_READY);
		assert_int_equal(table->header->n_rows, b.block->n_rows);
		assert_memory_equal(table->rows, b.table.rows, 4ull * b.block->n_rows);
		assert_int_equal(table->header->size, b.block->size);
		unwind_library_free(lib);
	}
	built_fini(&b);
}

static void a_background_table_is_pending_and_then_there(void **state)
{
	struct unwind_library_config config = { .cache_dir = "", .in_background = true };
	struct unwind_library *lib = unwind_library_new(&config);
	struct unwind_image image = { .path = IMAGE }, absent = { .path = "absent" };
	const struct unwind_table *table;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		unwind_library_get(lib, i, i % 2 ? &absent : &image, &table);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(unwind_library_wait(lib, i, UINT64_MAX));
	while (unwind_library_generation(lib) < 8) /* it grows just behind */
		sched_yield();
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(unwind_library_get(lib, i, NULL, &table),
				 i % 2 ? UNWIND_TABLE_UNREADABLE : UNWIND_TABLE_READY);
	unwind_library_free(lib);
}

/* The nice value of the thread that asks for a table. */
static atomic_int nice_of_build;

int __real_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err);
int __wrap_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err);

int __wrap_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err)
{
	atomic_store(&nice_of_build, getpriority(PRIO_PROCESS, 0));
	return __real_parser_ask(q, a, err);
}

static int nice_of_a_build(struct unwind_library *lib, uint32_t number, const char *path)
{
	struct unwind_image image = { .path = path };
	const struct unwind_table *table;

	unwind_library_get(lib, number, &image, &table);
	assert_true(unwind_library_wait(lib, number, UINT64_MAX));
	return atomic_load(&nice_of_build);
}

static void tables_are_built_in_a_hurry_unless_there_are_many_bytes(void **state)
{
	struct unwind_library_config config = { .cache_dir = "", .in_background = true };
	struct unwind_library *lib = unwind_library_new(&config);
	int first = nice_of_a_build(lib, 0, IMAGE);

	(void)state;
	if (first >= 0) {
		unwind_library_free(lib);
		skip_because("this user may not have a negative nice value");
	}
	assert_int_equal(first, -20);
	cut_guard_enable(); /* files are mapped, not copied */
	/* sparse; its bytes are those of many minutes */
	run_command("cp %s large && truncate -s 15G large", IMAGE);
	assert_int_equal(nice_of_a_build(lib, 1, "large"), 0);
	assert_int_equal(nice_of_a_build(lib, 2, IMAGE), -20);
	unlink("large");
	unwind_library_free(lib);
}

static void a_file_that_vanishes_before_its_turn_has_a_table(void **state)
{
	struct unwind_library_config config = { .cache_dir = "", .in_background = true };
	struct unwind_library *lib;
	struct unwind_image image = { .path = IMAGE }, gone = { .path = "gone" };
	const struct unwind_table *table;

	(void)state;
	run_command("cp /proc/%d/exe gone", (int)getpid());
	lib = unwind_library_new(&config);
	for (uint32_t i = 0; i < 8; i++)
		unwind_library_get(lib, i, &image, &table);
	unwind_library_get(lib, 8, &gone, &table);
	assert_int_equal(unlink("gone"), 0);
	assert_true(unwind_library_wait(lib, 8, UINT64_MAX));
	assert_int_equal(unwind_library_get(lib, 8, NULL, &table), UNWIND_TABLE_READY);
	assert_true(table->header->n_rows > 0);
	unwind_library_free(lib);
}

static void what_is_in_the_cache_is_found_without_its_file(void **state)
{
	struct unwind_library_config config = { .cache_dir = "found", .in_background = true };
	struct unwind_library *lib = unwind_library_new(&config);
	struct unwind_image image = { .path = IMAGE };
	const struct unwind_table *table = NULL, *again;
	struct built b;

	(void)state;
	build_of(&b, IMAGE);
	image.key = b.block->build_id;
	assert_false(unwind_library_find(lib, 2, &image.key, &table));
	unwind_library_get(lib, 2, &image, &table);
	assert_true(unwind_library_wait(lib, 2, UINT64_MAX));
	assert_true(unwind_library_find(lib, 2, &image.key, &table));
	assert_true(unwind_library_find(lib, 7, &image.key, &table));
	assert_int_equal(table->header->n_rows, b.block->n_rows);
	assert_int_equal(table->header->size, b.block->size);
	assert_int_equal(unwind_library_get(lib, 7, NULL, &again), UNWIND_TABLE_READY);
	assert_ptr_equal(again, table);
	image.key.bytes[0] ^= 1;
	assert_false(unwind_library_find(lib, 8, &image.key, &table));
	unwind_library_free(lib);
	built_fini(&b);
}

/* So a recorder's memory does not grow with each file that it meets. */
static void a_file_without_a_build_id_is_cached_by_its_content(void **state)
{
	struct unwind_library_config config = { .cache_dir = "content" };
	struct build_id content = { .len = 16, .bytes = "0123456789abcde" };
	struct unwind_image image = { .path = "plain", .key = content, .is_key_of_file = true };
	struct unwind_library *lib = unwind_library_new(&config);
	const struct unwind_table *table = NULL;
	uint32_t n_rows;

	(void)state;
	run_command("objcopy --remove-section .note.gnu.build-id /proc/%d/exe plain",
		    (int)getpid());
	assert_int_equal(unwind_library_get(lib, 1, &image, &table), UNWIND_TABLE_READY);
	n_rows = table->header->n_rows;
	assert_true(n_rows > 0);
	/* What rests is in the cache's file alone; another image of this content has it from there.
	 */
	unwind_library_rest(table);
	assert_int_equal(unlink("plain"), 0);
	assert_true(unwind_library_find(lib, 1, &content, &table));
	assert_int_equal(table->header->n_rows, n_rows);
	assert_true(unwind_library_find(lib, 2, &content, &table));
	assert_int_equal(table->header->n_rows, n_rows);
	unwind_library_free(lib);
}

/* `root`: as in struct unwind_image. */
static uint32_t functions_of_bare(const char *root)
{
	cleanup(free_at_exit) char *name = xasprintf("%s/bare.so", scratch_dir);
	struct unwind_library_config config = { .cache_dir = "later", .has_debug_files = true };
	struct unwind_image image = { .path = "bare.so", .name = name, .root = root };
	struct unwind_library *lib = unwind_library_new(&config);
	const struct unwind_table *table;
	uint32_t n;

	assert_int_equal(unwind_library_get(lib, 0, &image, &table), UNWIND_TABLE_READY);
	n = table->header->n_functions;
	unwind_library_free(lib);
	return n;
}

static void build_bare(void)
{
	write_file("bare.c",
		   "int g(char *); int f(int x) { char b[96]; b[x] = 1; return g(b); }\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -O1 -g -shared -fPIC -nostdlib "
		     "-Wl,--build-id,--no-ld-generated-unwind-info -fno-stack-protector "
		     "-fno-asynchronous-unwind-tables -fno-exceptions -o bare.so bare.c && "
		     "objcopy --only-keep-debug bare.so whole.debug && strip bare.so && "
		     "objcopy --add-gnu-debuglink=whole.debug bare.so && mv whole.debug away");
}

static void a_debug_file_that_comes_later_is_found_though_a_table_is_cached(void **state)
{
	(void)state;
	build_bare();
	assert_int_equal(functions_of_bare(NULL), 0);
	assert_int_equal(functions_of_bare(NULL), 0);
	run_command("mv away whole.debug");
	assert_int_equal(functions_of_bare(NULL), 1);
	run_command("rm whole.debug"); /* what is not bare is not looked at again */
	assert_int_equal(functions_of_bare(NULL), 1);
}

/* Each table that is built replaces the file of the cache. */
static void a_bare_table_is_not_built_again_when_its_process_has_ended(void **state)
{
	struct stat before, after;
	glob_t found;

	(void)state;
	run_command("rm -rf later");
	build_bare();
	assert_int_equal(functions_of_bare("/"), 0);
	assert_int_equal(glob("later/*.unw", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_int_equal(stat(found.gl_pathv[0], &before), 0);
	assert_int_equal(functions_of_bare(NULL),
			 0); /* the root of an ended process is not known */
	assert_int_equal(functions_of_bare("/"), 0);
	assert_int_equal(stat(found.gl_pathv[0], &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	globfree(&found);
}

static void ending_does_not_wait_for_queued_images(void **state)
{
	struct unwind_library_config config = { .cache_dir = "", .in_background = true };
	struct unwind_library *lib = unwind_library_new(&config);
	struct unwind_image image = { .path = IMAGE };
	const struct unwind_table *table;

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		unwind_library_get(lib, i, &image, &table);
	unwind_library_free(lib); /* LeakSanitizer and valgrind look on */
}

static void a_replaced_binary_is_distinguished_from_the_one_that_ran(void **state)
{
	struct unwind_library_config config = { .cache_dir = "" };
	struct unwind_library *lib;
	struct unwind_image image = { .path = IMAGE };
	const struct unwind_table *table = NULL;
	struct built b;

	(void)state;
	need_build_id();
	lib = unwind_library_new(&config);
	build_of(&b, IMAGE);
	image.build_id = b.block->build_id;
	image.build_id.bytes[3] ^= 1;
	assert_int_equal(unwind_library_get(lib, 0, &image, &table), UNWIND_TABLE_REPLACED);
	assert_null(table);
	unwind_library_free(lib);
	built_fini(&b);
}

static void what_is_no_image_has_no_table(void **state)
{
	struct unwind_library_config config = { .cache_dir = "" };
	struct unwind_library *lib = unwind_library_new(&config);
	struct unwind_image images[] = {
		{ .path = "absent" },           { .path = "/" },
		{ .path = "/dev/null" },        { .bytes = "", .size = 0 },
		{ .bytes = "text", .size = 4 },
	};
	const struct unwind_table *table;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(images); i++)
		assert_int_equal(unwind_library_get(lib, i, &images[i], &table),
				 UNWIND_TABLE_UNREADABLE);
	unwind_library_free(lib);
}

static void a_cached_table_with_a_flipped_bit_is_not_taken(void **state)
{
	struct file_mapping mapping;
	struct unwind_table table;
	struct built b;
	char *path;
	size_t size;

	(void)state;
	need_build_id();
	build_of(&b, IMAGE);
	size = (size_t)b.block->size;
	unwind_cache_write("cache", 0, b.block);
	path = cache_path(&b.block->build_id);
	assert_true(unwind_cache_open("cache", &b.block->build_id, &mapping, &table));
	file_unmap(&mapping);
	for (size_t i = 0; i < size; i += 1 + i / 8) {
		((uint8_t *)b.block)[i] ^= 0x10;
		assert_int_equal(file_replace(path, b.block, size, NULL), 0);
		((uint8_t *)b.block)[i] ^= 0x10;
		assert_false(unwind_cache_open("cache", &b.block->build_id, &mapping, &table));
	}
	for (size_t cut = 0; cut < size; cut += 1 + cut / 4) {
		assert_int_equal(file_replace(path, b.block, cut, NULL), 0);
		assert_false(unwind_cache_open("cache", &b.block->build_id, &mapping, &table));
	}
	free(path);
	built_fini(&b);
}

/* ---- damaged images ---- */

static void try_to_build(const void *bytes, size_t size)
{
	struct unwind_header *block;
	struct unwind_table table;
	struct elf_file elf;

	if (elf_file_open(&elf, bytes, size, NULL) < 0 ||
	    unwind_build(&elf, NULL, &block, NULL) < 0)
		return;
	assert_true(unwind_table_open(&table, block, (size_t)block->size));
	free(block);
}

static const char small[] = "int one(int x) { volatile char b[99]; b[x] = 1; return b[3]; }\n"
			    "int two(int x) { return one(x) + one(x + 1); }\n";

static void damaged_images_are_read_as_far_as_they_go(void **state)
{
	struct elf_section s;
	struct elf_file elf;
	uint8_t *bytes;
	size_t size;

	(void)state;
	write_file("small.c", small);
	need_command("cc -O1 -shared -fPIC -nostdlib -Wl,-z,noseparate-code -o small.so small.c");
	assert_int_equal(file_read_all("small.so", 1 << 24, (char **)&bytes, &size), 0);
	assert_int_equal(elf_file_open(&elf, bytes, size, NULL), 0);
	assert_true(elf_section_named(&elf, ".eh_frame", &s));
	for (size_t i = 0; i < s.size; i++)
		for (int bit = 0; bit < 8; bit++) {
			bytes[s.file_off + i] ^= (uint8_t)(1 << bit);
			try_to_build(bytes, size);
			bytes[s.file_off + i] ^= (uint8_t)(1 << bit);
		}
	for (size_t cut = 0; cut < size; cut += 7) {
		void *part = malloc(cut + 1);

		memcpy(part, bytes, cut);
		try_to_build(part, cut);
		free(part);
	}
	free(bytes);
}

static void an_image_of_another_processor_is_refused_with_a_reason(void **state)
{
	struct error err = { 0 };
	struct unwind_header *block = NULL;
	struct built b;

	(void)state;
	build_of(&b, IMAGE);
	b.elf.machine = 243;
	assert_int_equal(unwind_build(&b.elf, NULL, &block, &err), -ENOTSUP);
	assert_string_equal(err.text, "stacks of this processor (ELF machine 243) are not walked; "
				      "only x86-64, i386 and AArch64 are");
	assert_null(block);
	built_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_the_same_from_the_cache),
		cmocka_unit_test(a_background_table_is_pending_and_then_there),
		cmocka_unit_test(tables_are_built_in_a_hurry_unless_there_are_many_bytes),
		cmocka_unit_test(a_file_that_vanishes_before_its_turn_has_a_table),
		cmocka_unit_test(what_is_in_the_cache_is_found_without_its_file),
		cmocka_unit_test(a_file_without_a_build_id_is_cached_by_its_content),
		cmocka_unit_test(a_debug_file_that_comes_later_is_found_though_a_table_is_cached),
		cmocka_unit_test(a_bare_table_is_not_built_again_when_its_process_has_ended),
		cmocka_unit_test(ending_does_not_wait_for_queued_images),
		cmocka_unit_test(a_replaced_binary_is_distinguished_from_the_one_that_ran),
		cmocka_unit_test(what_is_no_image_has_no_table),
		cmocka_unit_test(a_cached_table_with_a_flipped_bit_is_not_taken),
		cmocka_unit_test(damaged_images_are_read_as_far_as_they_go),
		cmocka_unit_test(an_image_of_another_processor_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
