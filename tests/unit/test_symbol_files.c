/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stripped images, their debug files, and the cache of indexes. */
#include "symbols_world.h"

#include <sys/stat.h>

#include "base/files/block_cache.h"
#include "symbol/cache.h"

static struct truth truth_of(const char *path, const char *name)
{
	cleanup(free_at_exit) char *command = xasprintf("nm -S --defined-only %s", path);
	FILE *out = popen(command, "r");
	struct file_mapping file;
	struct elf_file elf;
	struct truth truth = { 0 }, line_truth;
	char line[512];

	assert_int_equal(file_map(path, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	while (fgets(line, sizeof(line), out))
		if (parse_nm(line, &elf, &line_truth) && !strcmp(line_truth.name, name))
			truth = line_truth;
	pclose(out);
	file_unmap(&file);
	assert_true(truth.size > 0);
	return truth;
}

static const char *people_name(struct symbolizer *s, const struct symbol_table *t, uint64_t offset)
{
	uint32_t i = symbol_find(t, offset);

	return i == NO_SYMBOL ? "(none)" : symbol_name(s, t, i);
}

static void functions_of_a_stripped_image_are_bracketed(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("stripped"));
	const struct symbol_table *t;
	struct truth low, one, two, alone;
	struct symbolizer *s;
	char expected[64];

	(void)state;
	write_file("c.c", c_program);
	need_command(CC_C "-o whole && nm whole && strip -o stripped whole");
	low = truth_of("whole", "low");
	one = truth_of("whole", "one");
	two = truth_of("whole", "two");
	alone = truth_of("whole", "alone");

	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DYNSYM);
	assert_non_null(strstr(symbol_table_detail(t), "is stripped"));
	assert_string_equal(people_name(s, t, low.offset), "low");
	assert_string_equal(people_name(s, t, alone.offset), "high..last");

	snprintf(expected, sizeof(expected), "low+0x%x..high",
		 (unsigned int)(one.offset - low.offset));
	assert_string_equal(people_name(s, t, one.offset + one.size - 1), expected);
	snprintf(expected, sizeof(expected), "low+0x%x..high",
		 (unsigned int)(two.offset - low.offset));
	assert_string_equal(people_name(s, t, two.offset), expected);
	assert_true(symbol_get(t, symbol_find(t, two.offset)).size == two.size);
	assert_string_equal(symbol_get(t, symbol_find(t, two.offset)).name, "low");
	assert_string_equal(symbol_get(t, symbol_find(t, two.offset)).name_end, "high");
	symbolizer_free(s);
}

static void an_image_without_any_name_is_shown_by_offsets(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("nameless"));
	struct truth one;
	struct symbolizer *s;
	char expected[64];

	(void)state;
	write_file("c.c", c_program);
	need_command("cc -O1 -fno-inline c.c -o named && nm named && strip -o nameless named");
	one = truth_of("named", "one");
	snprintf(expected, sizeof(expected), "nameless+0x%x", (unsigned int)one.offset);
	s = symbolizer_new(&config);
	assert_string_equal(people_name(s, symbolizer_table(s, &image, NULL, 0), one.offset + 3),
			    expected);
	symbolizer_free(s);
}

/* Those of a C library are known by their code. A function that is marked as they are is none. */
static void trampolines_have_a_name_in_a_stripped_image(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("returns.so"));
	struct symbolizer *s;
	const struct symbol_table *t;

	(void)state;
	write_file("returns.s", ".text\n.globl f\n.type f,@function\nf: ret\n.size f,.-f\n"
				".p2align 12\nnop\n"
				"mov $15, %rax\nsyscall\n"
				".p2align 8\n.cfi_startproc\n.cfi_signal_frame\n"
				"nop\nnop\nnop\n.cfi_endproc\nud2\n.p2align 8\nnop\n"
				"mov %rbx, %rsp\nmov (%rsp), %rdi\ntest %rdi, %rdi\nje 1f\n"
				"call 1f\nmov %rax, %rdi\n1: call 1b\nhlt\n");
	need_command("cc -dumpmachine | grep x86_64 && cc -shared -nostdlib "
		     "-Wl,-z,max-page-size=4096 -o returns.so returns.s && strip returns.so");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DYNSYM);
	assert_string_equal(found_name(t, 0x2000), "<signal handler>");
	assert_string_equal(found_name(t, 0x2001), "<signal handler>");
	assert_string_equal(found_name(t, 0x2009), "<signal handler>");
	assert_string_not_equal(found_name(t, 0x200a), "<signal handler>");
	assert_string_not_equal(found_name(t, 0x2100), "<signal handler>");
	assert_string_equal(found_name(t, 0x2200), "__start_context");
	assert_string_equal(found_name(t, 0x221a), "__start_context");
	assert_string_not_equal(found_name(t, 0x221b), "__start_context");
	symbolizer_free(s);
}

/* Where "one" of the stripped, linked binary is found with the debug file moved to `place`. */
static void assert_debug_file_serves(const char *place)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image image = file_image(scratch_path("linked"));
	cleanup(free_at_exit) char *debug_dir = xstrdup(scratch_path("debug"));
	struct truth one = truth_of("whole", "one");
	const struct symbol_table *t;
	struct symbolizer *s;

	run_command("rm -rf debug .debug linked.debug && mkdir -p \"$(dirname '%s')\" && "
		    "cp whole.debug '%s'",
		    place, place);
	config.debug_dir = debug_dir;
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DEBUG_FILE);
	assert_string_equal(people_name(s, t, one.offset), "one");
	symbolizer_free(s);
}

static void a_debug_file_is_found_where_gdb_finds_it(void **state)
{
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *below = NULL, *by_id = NULL;
	struct file_mapping file;
	struct elf_file elf;
	struct build_id id;

	(void)state;
	write_file("c.c", c_program);
	need_command(CC_C "-g -o whole && objcopy --only-keep-debug whole whole.debug && "
			  "cp whole.debug linked.debug && strip -o linked whole && "
			  "objcopy --add-gnu-debuglink=linked.debug linked");
	assert_debug_file_serves("linked.debug");
	assert_debug_file_serves(".debug/linked.debug");
	below = xasprintf("debug%s/linked.debug", scratch_dir);
	assert_debug_file_serves(below);

	assert_int_equal(file_map("whole", &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	assert_true(elf_build_id(&elf, &id));
	build_id_hex(&id, hex);
	file_unmap(&file);
	by_id = xasprintf("debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	assert_debug_file_serves(by_id);
}

static void a_debug_file_without_build_ids_is_known_by_its_crc(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("bycrc"));
	struct symbolizer *s;

	(void)state;
	write_file("c.c", c_program);
	need_command("cc -g -Wl,--build-id=none c.c -o noid && "
		     "objcopy --only-keep-debug noid noid.debug && "
		     "strip -o bycrc noid && objcopy --add-gnu-debuglink=noid.debug bycrc");
	s = symbolizer_new(&config);
	assert_int_equal(symbol_table_status(symbolizer_table(s, &image, NULL, 0)),
			 SYMBOL_DEBUG_FILE);
	symbolizer_free(s);
	run_command("printf x >> noid.debug");
	s = symbolizer_new(&config);
	assert_int_equal(symbol_table_status(symbolizer_table(s, &image, NULL, 0)), SYMBOL_DYNSYM);
	symbolizer_free(s);
}

static void a_debug_file_of_another_build_is_passed_over(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("linked"));
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	write_file("c.c", c_program);
	need_command(CC_C
		     "-g -o whole && objcopy --only-keep-debug whole linked.debug && "
		     "strip -o linked whole && objcopy --add-gnu-debuglink=linked.debug linked");
	need_command(CC_C
		     "-g -O2 -DOTHER -o other && objcopy --only-keep-debug other linked.debug");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DYNSYM);
	assert_non_null(strstr(symbol_table_detail(t), "linked.debug belongs to another build"));
	symbolizer_free(s);
}

/* As Fedora packs it: all function symbols but the dynamic ones. */
static void the_small_table_inside_a_stripped_image_is_used(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("mini"));
	const struct symbol_table *t;
	struct symbolizer *s;
	struct truth one, low;

	(void)state;
#ifndef HAVE_LZMA
	skip_because("built without liblzma");
#endif
	write_file("c.c", c_program);
	need_command(CC_C "-o whole && nm whole && objcopy -S --keep-symbol=one --keep-symbol=two "
			  "--only-keep-debug whole small && rm -f small.xz && xz small && "
			  "strip -o mini whole && "
			  "objcopy --add-section .gnu_debugdata=small.xz mini");
	one = truth_of("whole", "one");
	low = truth_of("whole", "low");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_SYMTAB);
	assert_string_equal(people_name(s, t, one.offset), "one");
	assert_string_equal(people_name(s, t, low.offset), "low");
	symbolizer_free(s);

	run_command("head -c 300 /dev/urandom > small.bad && strip -o mini whole && "
		    "objcopy --add-section .gnu_debugdata=small.bad mini");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DYNSYM);
	assert_string_equal(people_name(s, t, low.offset), "low");
	symbolizer_free(s);
}

/* A fresh symbolizer's status of an image, with a cache in the scratch directory. */
static enum symbol_status cached_status(const struct image *image)
{
	cleanup(free_at_exit) char *cache = xstrdup(scratch_path("cache"));
	cleanup(free_at_exit) char *debug = xstrdup(scratch_path("debug"));
	struct symbolizer_config config = { .cache_dir = cache, .debug_dir = debug };
	struct symbolizer *s = symbolizer_new(&config);
	enum symbol_status status = symbol_table_status(symbolizer_table(s, image, NULL, 0));

	symbolizer_free(s);
	return status;
}

static struct image image_with_id(const char *path)
{
	struct image image = file_image(path);
	struct file_mapping file;
	struct elf_file elf;

	assert_int_equal(file_map(path, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	assert_true(elf_build_id(&elf, &image.build_id));
	file_unmap(&file);
	return image;
}

static void a_cached_index_outlives_its_file(void **state)
{
	struct image image, unknown;

	(void)state;
	write_file("c.c", c_program);
	need_command("rm -rf cache debug; " CC_C "-o app");
	image = image_with_id(scratch_path("app"));
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	need_command(CC_C "-DNEW -O2 -o app");
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	run_command("rm app");
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	unknown = image;
	unknown.build_id.bytes[0] ^= 1;
	assert_int_equal(cached_status(&unknown), SYMBOL_MISSING);
}

static void a_cached_index_that_is_damaged_is_made_again(void **state)
{
	struct image image;

	(void)state;
	write_file("c.c", c_program);
	need_command("rm -rf cache debug; " CC_C "-o app");
	image = image_with_id(scratch_path("app"));
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	run_command("printf 'XXXX' | dd of=$(echo cache/*.sym) bs=1 seek=300 conv=notrunc");
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	run_command("truncate -s 100 cache/*.sym && mv app gone");
	assert_int_equal(cached_status(&image), SYMBOL_MISSING);
}

static void a_debug_file_that_comes_later_is_not_hidden_by_the_cache(void **state)
{
	struct image image;

	(void)state;
	write_file("c.c", c_program);
	need_command("rm -rf cache debug .debug; " CC_C "-g -o whole && "
		     "objcopy --only-keep-debug whole later.debug && strip -o later whole && "
		     "objcopy --add-gnu-debuglink=later.debug later && mv later.debug aside");
	image = image_with_id(scratch_path("later"));
	assert_int_equal(cached_status(&image), SYMBOL_DYNSYM);
	assert_int_equal(cached_status(&image), SYMBOL_DYNSYM);
	run_command("mkdir -p .debug && mv aside .debug/later.debug");
	assert_int_equal(cached_status(&image), SYMBOL_DEBUG_FILE);
	run_command("rm -rf .debug later");
	assert_int_equal(cached_status(&image), SYMBOL_DEBUG_FILE);
}

/* The table of an image without a file, with the cache of somebody else beside it. */
static enum symbol_status kept_status(const struct image *image)
{
	cleanup(free_at_exit) char *kept = xstrdup(scratch_path("kept"));
	cleanup(free_at_exit) char *cache = xstrdup(scratch_path("own"));
	struct symbolizer_config config = { .cache_dir = cache, .kept_dir = kept };
	struct symbolizer *s = symbolizer_new(&config);
	enum symbol_status status = symbol_table_status(symbolizer_table(s, image, NULL, 0));

	symbolizer_free(s);
	return status;
}

/* Changes a table as somebody could who knows how its checksum is made. */
static void forge(const struct image *image, size_t at, uint32_t number)
{
	cleanup(free_at_exit) char *dir = xstrdup(scratch_path("kept"));
	struct file_mapping file = { 0 };
	struct index_header *block;
	struct index index;

	assert_true(cache_open(dir, &image->build_id, &file, &index));
	block = xmalloc(file.size);
	memcpy(block, file.base, file.size);
	memcpy((char *)block + at, &number, sizeof(number));
	cache_write(dir, &image->build_id, 0, block, file.size);
	file_unmap(&file);
	free(block);
}

static void an_index_of_somebody_else_names_a_missing_file_and_enters_no_cache(void **state)
{
	struct image image;

	(void)state;
	write_file("c.c", c_program);
	need_command("rm -rf cache debug kept own; " CC_C "-o app");
	image = image_with_id(scratch_path("app"));
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	run_command("mv cache kept && rm app");
	assert_int_equal(kept_status(&image), SYMBOL_SYMTAB);
	run_command("test ! -e own");
	run_command("cp -r kept kept.whole");
	/* the first start is then above the second */
	forge(&image, sizeof(struct index_header) + 4, UINT32_MAX);
	assert_int_equal(kept_status(&image), SYMBOL_MISSING);
	run_command("rm -rf kept && cp -r kept.whole kept");
	forge(&image, offsetof(struct index_header, version), INDEX_VERSION + 1);
	assert_int_equal(kept_status(&image), SYMBOL_MISSING);
	run_command("rm -rf kept && cp -r kept.whole kept");
	forge(&image, offsetof(struct index_header, status), SYMBOL_HIDDEN);
	assert_int_equal(kept_status(&image), SYMBOL_MISSING);
	run_command("rm -rf kept && cp -r kept.whole kept");
	assert_int_equal(kept_status(&image), SYMBOL_SYMTAB);
	run_command("mv kept/*.sym table && ln -s ../table kept/$(cd kept.whole && echo *.sym)");
	assert_int_equal(kept_status(&image), SYMBOL_MISSING);
	run_command("rm -rf kept kept.whole");
}

static void an_index_has_the_owner_of_its_file(void **state)
{
	struct index_header header;
	struct image image;
	FILE *file;

	(void)state;
	if (geteuid() != 0)
		skip_because("needs root, to give a file away");
	write_file("c.c", c_program);
	need_command("rm -rf cache debug; " CC_C "-o app && chown 54321 app");
	image = image_with_id(scratch_path("app"));
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	file = popen("cat cache/*.sym", "r");
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	pclose(file);
	assert_int_equal(header.owner, block_owner(54321));
	assert_int_not_equal(header.owner, block_owner(0));
	run_command("rm -rf cache app");
}

static void the_oldest_indexes_make_room(void **state)
{
	cleanup(free_at_exit) char *dir = xstrdup(scratch_path("kept"));

	(void)state;
	run_command("rm -rf kept && mkdir kept && cd kept && for i in 1 2 3 4; do "
		    "head -c 10000 /dev/zero >$i.sym && touch -d \"2020-01-0$i\" $i.sym; done");
	cache_trim(dir, 100000);
	run_command("test \"$(ls kept | wc -l)\" = 4");
	cache_trim(dir, 29000);
	run_command("test \"$(ls kept | tr '\\n' ' ')\" = '3.sym 4.sym '");
	run_command("rm -rf kept");
}

static void a_cache_that_cant_be_written_is_no_error(void **state)
{
	struct symbolizer_config config = { .cache_dir = "/proc/self/no/such/place" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image self = file_image(own_program());

	(void)state;
	assert_int_equal(symbol_table_status(symbolizer_table(s, &self, NULL, 0)), SYMBOL_SYMTAB);
	symbolizer_free(s);
}

static void the_cache_is_not_put_into_another_users_home(void **state)
{
	const char *open_to_all = scratch_path("open");
	bool can_enter;
	char *dir;

	(void)state;
	if (geteuid() != 0)
		skip_because("needs root, to give a directory away");
	need_command("mkdir -p theirs && chown 12345 theirs");
	setenv("XDG_CACHE_HOME", scratch_path("theirs"), 1);
	dir = cache_default_dir();
	assert_true(!dir || !strstr(dir, "theirs"));
	free(dir);
	setenv("XDG_CACHE_HOME", scratch_path("ours"), 1);
	dir = cache_default_dir();
	assert_non_null(strstr(dir, "ours/assay/symbols"));
	free(dir);
	run_command("mkdir -m 777 open");
	setenv("XDG_CACHE_HOME", open_to_all, 1);
	assert_int_equal(seteuid(65534), 0);
	can_enter = faccessat(AT_FDCWD, open_to_all, W_OK, AT_EACCESS) == 0;
	dir = cache_default_dir();
	assert_int_equal(seteuid(0), 0);
	unsetenv("XDG_CACHE_HOME");
	if (can_enter) {
		assert_non_null(dir);
		assert_non_null(strstr(dir, "open/assay/symbols"));
		free(dir);
	} else {
		free(dir);
		skip_because("%s is closed to other users", scratch_dir);
	}
}

/* Names in a fleet are read in an older version, too. A cache's file is made again. */
static void an_older_index_is_read_as_kept_names_and_not_as_cache(void **state)
{
	struct file_mapping file;
	struct image image;
	struct index index;

	(void)state;
	write_file("c.c", c_program);
	need_command("rm -rf cache debug kept own; " CC_C "-o app");
	image = image_with_id(scratch_path("app"));
	assert_int_equal(cached_status(&image), SYMBOL_SYMTAB);
	run_command("mv cache kept && rm app");
	forge(&image, offsetof(struct index_header, version), INDEX_OLDEST);
	assert_int_equal(kept_status(&image), SYMBOL_SYMTAB);
	assert_int_equal(cache_status(scratch_path("kept"), &image.build_id), SYMBOL_SYMTAB);
	assert_false(cache_open(scratch_path("kept"), &image.build_id, &file, &index));
	run_command("rm -rf kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_stripped_image_are_bracketed),
		cmocka_unit_test(trampolines_have_a_name_in_a_stripped_image),
		cmocka_unit_test(an_image_without_any_name_is_shown_by_offsets),
		cmocka_unit_test(a_debug_file_is_found_where_gdb_finds_it),
		cmocka_unit_test(a_debug_file_without_build_ids_is_known_by_its_crc),
		cmocka_unit_test(a_debug_file_of_another_build_is_passed_over),
		cmocka_unit_test(the_small_table_inside_a_stripped_image_is_used),
		cmocka_unit_test(a_cached_index_outlives_its_file),
		cmocka_unit_test(a_cached_index_that_is_damaged_is_made_again),
		cmocka_unit_test(a_debug_file_that_comes_later_is_not_hidden_by_the_cache),
		cmocka_unit_test(
			an_index_of_somebody_else_names_a_missing_file_and_enters_no_cache),
		cmocka_unit_test(an_older_index_is_read_as_kept_names_and_not_as_cache),
		cmocka_unit_test(an_index_has_the_owner_of_its_file),
		cmocka_unit_test(the_oldest_indexes_make_room),
		cmocka_unit_test(a_cache_that_cant_be_written_is_no_error),
		cmocka_unit_test(the_cache_is_not_put_into_another_users_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
