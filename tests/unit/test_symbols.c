/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols_world.h"

#include <sys/stat.h>

#include "machine/image_file.h"
#include "machine/image_look.h"
#include "symbol/debuginfod.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/vmlinux.h"

static const char *scratch_file(const char *name, const char *text)
{
	write_file(name, text);
	return scratch_path(name);
}

static const char kallsyms_text[] = "0000000000000000 A fixed_percpu_data\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000000 T startup_64\n"
				    "ffffffff81000040 t local_one\n"
				    "ffffffff81000060 W weak_one\n"
				    "ffffffff81000060 t local_alias\n"
				    "ffffffff81000100 T __sched_text_start\n"
				    "ffffffff81000100 t last_one\n"
				    "ffffffff81000180 D some_data\n"
				    "not a line\n"
				    "ffffffff810001ff T\n"
				    "ffffffffc0100000 t ext4_init\t[ext4]\n"
				    "ffffffffc0100020 t $x\t[ext4]\n"
				    "ffffffffc0100040 T ext4_read\t[ext4]\n"
				    "ffffffffc0200000 t nf_hook\t[nf_tables]\n"
				    "ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static void kernel_offsets_count_from_text(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	config.kallsyms = scratch_file("kallsyms", kallsyms_text);
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_KALLSYMS);
	assert_int_equal(symbol_count(t), 4);
	assert_string_equal(found_name(t, 0), "startup_64");
	assert_string_equal(found_name(t, 0x3f), "startup_64");
	assert_string_equal(found_name(t, 0x40), "local_one");
	assert_string_equal(found_name(t, 0x60), "weak_one");
	assert_string_equal(found_name(t, 0x17f), "last_one");
	assert_string_equal(found_name(t, 0x180), "(none)");
	symbolizer_free(s);
}

static void module_offsets_count_from_its_load_address(void **state)
{
	static const char *const spellings[] = { "ext4", "[ext4]", "/lib/modules/6.1/ext4.ko.xz" };
	struct symbolizer_config config = { .cache_dir = "" };
	struct image module = { .kind = IMAGE_MODULE };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	config.kallsyms = scratch_file("kallsyms", kallsyms_text);
	config.modules =
		scratch_file("modules", "nf_tables 300 1 - Live 0xffffffffc0200000\n"
					"ext4 1000 2 mbcache,jbd2, Live 0xffffffffc00fff00\n");
	config.notes = "/nowhere";
	s = symbolizer_new(&config);
	/* The kernel's own symbols are given back after use; the modules' stay, and both come
	 * again. */
	assert_int_equal(symbol_count(symbolizer_table(s, &kernel, NULL, 0)), 4);
	kernel.build_id.len = 1;
	assert_int_equal(symbol_count(symbolizer_table(s, &kernel, NULL, 0)), 4);
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		module.path = spellings[i];
		t = symbolizer_table(s, &module, NULL, 0);
		assert_int_equal(symbol_count(t), 2);
		assert_string_equal(found_name(t, 0x100), "ext4_init");
		assert_string_equal(found_name(t, 0x140), "ext4_read");
	}
	module.path = "[xfs]";
	t = symbolizer_table(s, &module, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_MISSING);
	assert_string_equal(symbol_table_detail(t), "kernel module xfs is not loaded now");
	symbolizer_free(s);
}

/* Code ends a variable, as variables end code. */
static void the_kernels_variables_are_a_table_of_their_own(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	config.kallsyms = scratch_file("variables", "ffffffff81000000 T _text\n"
						    "ffffffff81000040 T schedule\n"
						    "ffffffff82000000 D jiffies\n"
						    "ffffffff82000040 d local_data\n"
						    "ffffffff82000080 b a_bss\n"
						    "ffffffff820000c0 t code_again\n"
						    "ffffffffc0100000 d ext4_data\t[ext4]\n");
	s = symbolizer_new(&config);
	t = symbolizer_objects(s, &kernel);
	assert_string_equal(found_name(t, 0x1000000), "jiffies");
	assert_string_equal(found_name(t, 0x100003f), "jiffies");
	assert_string_equal(found_name(t, 0x1000040), "local_data");
	assert_string_equal(found_name(t, 0x10000bf), "a_bss");
	assert_string_equal(found_name(t, 0x10000c0), "(none)");
	assert_string_equal(found_name(t, 0x40), "(none)");
	assert_int_equal(symbol_count(t), 3);
	assert_string_equal(found_name(symbolizer_table(s, &kernel, NULL, 0), 0x40), "schedule");
	symbolizer_free(s);
}

static void hidden_kernel_addresses_are_reported_as_hidden(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	config.kallsyms = scratch_file("hidden", "0000000000000000 T _text\n"
						 "0000000000000000 T schedule\n");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_HIDDEN);
	assert_int_equal(symbol_count(t), 0);
	assert_int_equal(symbol_find(t, 0), NO_SYMBOL);
	symbolizer_free(s);
}

static void one_symbol_speaks_for_an_address(void **state)
{
	struct index_draft d = { 0 };
	struct index ix;
	size_t size;
	struct index_header *block;

	(void)state;
	index_draft_add(&d, 100, 8, "__a_local", index_draft_rank(true, DRAFT_LOCAL));
	index_draft_add(&d, 100, 8, "__a", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 100, 0, "label", index_draft_rank(false, DRAFT_GLOBAL));
	index_draft_add(&d, 100, 8, "a", index_draft_rank(true, DRAFT_WEAK));
	index_draft_add(&d, 200, 4, "_b", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 200, 9, "bb", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 200, 4, "b", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 300, 4, "cb", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 300, 4, "ca", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 400, 9, "weak", index_draft_rank(true, DRAFT_WEAK));
	index_draft_add(&d, 400, 4, "global", index_draft_rank(true, DRAFT_GLOBAL));
	index_draft_add(&d, 400, 9, "local", index_draft_rank(true, DRAFT_LOCAL));
	block = index_draft_finish(&d, &size);
	assert_true(index_open(&ix, block, size));
	assert_int_equal(ix.n, 4);
	assert_string_equal(index_text(&ix, ix.names[0]), "a");
	assert_string_equal(index_text(&ix, ix.names[1]), "bb");
	assert_string_equal(index_text(&ix, ix.names[2]), "ca");
	assert_string_equal(index_text(&ix, ix.names[3]), "global");
	free(block);
}

static void sizes_are_repaired(void **state)
{
	struct index_draft d = { 0 };
	struct index ix;
	size_t size;
	struct index_header *block;

	(void)state;
	vec_push(&d.code, (struct code_range){ 100, 200 });
	index_draft_add(&d, 150, 0, "to_the_section_end", 0);
	index_draft_add(&d, 110, 0, "to_the_next", 0);
	index_draft_add(&d, 120, 20, "sized", 0);
	index_draft_add(&d, 125, 0, "label_inside", 0);
	index_draft_add(&d, 130, 5, "entry_inside", 0);
	index_draft_add(&d, 300, UINT64_MAX, "endless", 0);
	block = index_draft_finish(&d, &size);
	assert_true(index_open(&ix, block, size));
	assert_int_equal(ix.n, 5);
	assert_int_equal(index_find(&ix, 109), NO_SYMBOL);
	assert_int_equal(index_find(&ix, 119), 0);
	assert_int_equal(index_find(&ix, 126), 1);
	assert_int_equal(index_find(&ix, 134), 2);
	assert_int_equal(index_find(&ix, 135), 1);
	assert_int_equal(index_find(&ix, 140), NO_SYMBOL);
	assert_int_equal(index_find(&ix, 199), 3);
	assert_int_equal(index_find(&ix, 200), NO_SYMBOL);
	free(block);
}

static void no_report(const char *sentence)
{
	fail_msg("%s", sentence);
}

static void names_of_interpreted_functions_stay_as_they_are(void **state)
{
	static const struct given_symbol given[] = {
		{ 0x1000, 0x100, "_ZN4shop4findEi.<locals>.<genexpr>" },
		{ 0x2000, 0x100, "_ZN4shop4findEi" },
		{ 0x3000, 0x100, "_RLock" },
	};
	struct image module = { .kind = IMAGE_LANGUAGE, .path = "/app.py" };
	struct symbolizer_config config = { .cache_dir = "", .report_unread = no_report };
	struct symbolizer *s = symbolizer_new(&config);
	const struct symbol_table *t = symbolizer_table(s, &module, given, ARRAY_SIZE(given));
	struct buf name = { 0 };

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(given); i++) {
		assert_string_equal(symbol_name(s, t, i), given[i].name);
		assert_false(symbol_short_name(s, t, i, &name));
	}
	buf_fini(&name);
	symbolizer_free(s);
}

static void given_names_are_found_and_the_last_one_wins(void **state)
{
	static const struct given_symbol given[] = {
		{ 0x7f0000001000, 0x100, "old" },
		{ 0x7f0000002000, 0x40, "_Z1fv" },
		{ 0x7f0000001000, 0x100, "new" },
	};
	struct image jit = { .kind = IMAGE_JIT, .pid = 7, .path = "[jit]" };
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	const struct symbol_table *t = symbolizer_table(s, &jit, given, ARRAY_SIZE(given));

	(void)state;
	assert_int_equal(symbol_table_status(t), SYMBOL_GIVEN);
	assert_string_equal(found_name(t, 0x7f00000010ff), "new");
	assert_string_equal(found_name(t, 0x7f0000001100), "(none)");
	assert_ptr_equal(symbolizer_table(s, &jit, NULL, 0), t);
	jit.pid = 8;
	assert_ptr_not_equal(symbolizer_table(s, &jit, NULL, 0), t);
	symbolizer_free(s);
}

static enum symbol_status status_of_file(struct symbolizer *s, const char *path)
{
	struct image image = { .kind = IMAGE_FILE, .path = path };

	return symbol_table_status(symbolizer_table(s, &image, NULL, 0));
}

static void a_file_without_symbols_says_why(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image changed = { .kind = IMAGE_FILE,
				 .path = own_program(),
				 .build_id = { .len = 20, .bytes = { 1, 2, 3 } } };

	(void)state;
	assert_int_equal(status_of_file(s, "/nowhere/absent"), SYMBOL_MISSING);
	assert_int_equal(status_of_file(s, scratch_dir), SYMBOL_UNREADABLE);
	assert_int_equal(status_of_file(s, scratch_file("text", "hello")), SYMBOL_DAMAGED);
	assert_int_equal(status_of_file(s, scratch_file("cut", ELFMAG)), SYMBOL_DAMAGED);
	assert_int_equal(symbol_table_status(symbolizer_table(s, &changed, NULL, 0)),
			 SYMBOL_CHANGED);
	symbolizer_free(s);
}

/* Of one path and without a build id: another container's, or one that was replaced. */
static void two_files_of_a_path_have_a_table_each(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image image = { .kind = IMAGE_FILE, .path = scratch_path("twin") };
	struct file_mapping file = { 0 };

	(void)state;
	run_command("objcopy --remove-section .note.gnu.build-id /proc/%d/exe twin", (int)getpid());
	assert_int_equal(file_map("twin", &file, NULL), 0);
	image_identify(&image, &file, &(struct build_id){ 0 }, IMAGE_HIDDEN);
	file_unmap(&file);
	/* In an emulator, the file is the emulator's, which may be stripped. */
	assert_int_not_equal(symbol_table_status(symbolizer_table(s, &image, NULL, 0)),
			     SYMBOL_CHANGED);
	image.ino++;
	assert_int_equal(symbol_table_status(symbolizer_table(s, &image, NULL, 0)), SYMBOL_CHANGED);
	symbolizer_free(s);
}

static void our_own_functions_are_found(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image self = { .kind = IMAGE_FILE, .path = own_program() };
	const struct symbol_table *t = symbolizer_table(s, &self, NULL, 0);
	bool found = false;

	(void)state;
	for (uint32_t i = 0; i < symbol_count(t); i++) {
		struct symbol symbol = symbol_get(t, i);

		assert_int_equal(symbol_find(t, symbol.offset + symbol.size / 2) != NO_SYMBOL, 1);
		found |= !strcmp(symbol.name, "our_own_functions_are_found");
	}
	assert_true(found);
	symbolizer_free(s);
}

/* Every sized function that nm lists is found at its first, middle and last byte. */
static size_t compare_with_nm(const char *nm, const char *path, const struct symbol_table *t)
{
	cleanup(free_at_exit) char *command = xasprintf("%s -S --defined-only %s", nm, path);
	FILE *out = popen(command, "r");
	struct file_mapping file;
	struct elf_file elf;
	struct truth truth;
	char line[4096];
	size_t n = 0;

	assert_non_null(out);
	assert_int_equal(file_map(path, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	while (fgets(line, sizeof(line), out)) {
		struct symbol at_start;
		uint32_t i;

		if (!parse_nm(line, &elf, &truth))
			continue;
		i = symbol_find(t, truth.offset);
		if (i == NO_SYMBOL)
			fail_msg("%s: nothing at %s", path, truth.name);
		at_start = symbol_get(t, i);
		assert_true(at_start.offset == truth.offset); /* it, or an alias of it */
		if (!strcmp(at_start.name, truth.name))
			assert_true(at_start.size == truth.size);
		assert_int_not_equal(symbol_find(t, truth.offset + truth.size / 2), NO_SYMBOL);
		assert_int_not_equal(symbol_find(t, truth.offset + truth.size - 1), NO_SYMBOL);
		n++;
	}
	pclose(out);
	file_unmap(&file);
	return n;
}

static const char cpp_program[] =
	"#include <vector>\n#include <string>\n#include <algorithm>\n"
	"namespace app { struct Shape { virtual double area(std::vector<double> &v) const;\n"
	"virtual ~Shape() {} }; double Shape::area(std::vector<double> &v) const\n"
	"{ std::sort(v.begin(), v.end()); return v.empty() ? 0 : v[0]; } }\n"
	"int main() { std::vector<double> v{3,1}; app::Shape s; return (int)s.area(v); }\n";

static void every_function_that_nm_lists_is_found(void **state)
{
	static const char *const commands[] = {
		CC_C "-o truth",
		CC_C "-static-pie -o truth",
		CC_C "-no-pie -Wl,-z,max-page-size=0x200000 -o truth",
		CC_C "-Wl,-z,noseparate-code -o truth",
		CC_C "-fuse-ld=lld -o truth",
		"c++ -O1 cpp.cc -o truth",
		"c++ -g -O0 -static cpp.cc -o truth",
	};
	struct symbolizer_config config = { .cache_dir = "" };

	(void)state;
	write_file("c.c", c_program);
	write_file("cpp.cc", cpp_program);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct image image = file_image(scratch_path("truth"));
		const struct symbol_table *t;
		struct symbolizer *s;

		need_command("%s && nm truth", commands[i]);
		s = symbolizer_new(&config);
		t = symbolizer_table(s, &image, NULL, 0);
		assert_int_equal(symbol_table_status(t), SYMBOL_SYMTAB);
		assert_string_equal(symbol_table_detail(t), "");
		assert_true(compare_with_nm("nm", "truth", t) >= 5);
		symbolizer_free(s);
	}
}

static void the_systems_own_binaries_agree_with_nm(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					     "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					     "/usr/bin/bash", "/usr/bin/python3" };
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct image image = file_image(paths[i]);
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		/* An emulator may open another file at this path than nm. */
		cleanup(free_at_exit) char *opened = xasprintf("/proc/%d/fd/%d", (int)getpid(), fd);

		if (fd >= 0 && try_command("nm -D %s", opened))
			n += compare_with_nm("nm -D", opened, symbolizer_table(s, &image, NULL, 0));
		if (fd >= 0)
			close(fd);
	}
	symbolizer_free(s);
	if (!n)
		skip_because("none of the binaries is there");
}

#define N_SECTIONS 70000 /* more than the header's 16 bits can say */

/*
 * Adds many empty sections before the file's own. By the gABI, section 0 has the number of sections
 * and the index of the names. Symbols have SHN_XINDEX as a section (here without the table that
 * belongs to it).
 */
static void add_sections(const char *from, const char *to)
{
	struct file_mapping file;
	struct elf_section symtab;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	struct elf_file elf;
	uint32_t shift;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(file_map(from, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	memcpy(&header, file.base, sizeof(header));
	size = file.size + (size_t)N_SECTIONS * sizeof(Elf64_Shdr);
	bytes = xcalloc(1, size);
	memcpy(bytes, file.base, file.size);
	sections = (Elf64_Shdr *)(bytes + (file.size & ~(size_t)7));
	shift = N_SECTIONS - header.e_shnum;
	memcpy(sections + shift, file.base + header.e_shoff, header.e_shnum * sizeof(*sections));
	for (uint32_t i = shift; i < N_SECTIONS; i++)
		sections[i].sh_link += sections[i].sh_link ? shift : 0;
	memset(sections, 0, sizeof(*sections));
	sections[0].sh_size = N_SECTIONS;
	sections[0].sh_link = header.e_shstrndx + shift;
	header.e_shoff = (uint64_t)((uint8_t *)sections - bytes);
	header.e_shnum = 0;
	header.e_shstrndx = SHN_XINDEX;
	memcpy(bytes, &header, sizeof(header));
	assert_true(elf_section_named(&elf, ".symtab", &symtab));
	for (uint64_t at = 0; at < symtab.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym *symbol = (Elf64_Sym *)(bytes + symtab.file_off + at);

		if (symbol->st_shndx && symbol->st_shndx < SHN_LORESERVE)
			symbol->st_shndx = SHN_XINDEX;
	}
	assert_int_equal(file_replace(to, bytes, size, NULL), 0);
	free(bytes);
	file_unmap(&file);
}

static void a_file_of_70000_sections_has_its_symbols(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image few = file_image(scratch_path("few")), many = file_image(scratch_path("many"));
	const struct symbol_table *a, *b;
	struct symbolizer *s;

	(void)state;
	write_file("few.s", ".text\n.globl f\n.type f,@function\nf: ret\n.size f,.-f\n"
			    "label: nop\nnop\n");
	need_command("cc -shared -nostdlib -o few few.s");
	add_sections("few", "many");
	run_command("readelf -hW many 2>&1 | grep '(%d)'", N_SECTIONS);
	s = symbolizer_new(&config);
	a = symbolizer_table(s, &few, NULL, 0);
	b = symbolizer_table(s, &many, NULL, 0);
	assert_int_equal(symbol_table_status(b), SYMBOL_SYMTAB);
	assert_int_equal(symbol_count(a), symbol_count(b));
	for (uint32_t i = 0; i < symbol_count(a); i++) {
		assert_string_equal(symbol_get(a, i).name, symbol_get(b, i).name);
		assert_int_equal(symbol_get(a, i).offset, symbol_get(b, i).offset);
	}
	symbolizer_free(s);
}

static void symbols_may_overlap_and_lie_outside_of_sections(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("odd"));
	const struct symbol_table *t;
	struct symbolizer *s;
	uint64_t a = 0;

	(void)state;
	write_file("odd.s", ".text\n.p2align 6\n"
			    ".type a,@function\na: .fill 16,1,0x90\n"
			    ".type b,@function\nb: .fill 48,1,0x90\n"
			    ".size a,32\n.size b,32\n"
			    ".type huge,@function\nhuge: .fill 64,1,0x90\n.size huge,1<<40\n"
			    ".type away,@function\n.set away,0x700000000\n.size away,64\n"
			    ".type past,@function\n.set past,a+0x100000\n.size past,64\n"
			    ".data\n.type data,@function\ndata: .fill 64,1,0x90\n.size data,64\n");
	need_command("cc -shared -nostdlib -o odd odd.s");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &image, NULL, 0);
	for (uint32_t i = 0; i < symbol_count(t); i++) {
		const char *name = symbol_get(t, i).name;

		if (!strcmp(name, "a"))
			a = symbol_get(t, i).offset;
		assert_string_not_equal(name, "away");
		assert_string_not_equal(name, "past");
		assert_string_not_equal(name, "data");
	}
	assert_true(a > 0);
	assert_string_equal(found_name(t, a), "a");
	assert_string_equal(found_name(t, a + 15), "a");
	assert_string_equal(found_name(t, a + 16), "b"); /* of two the one that starts later */
	assert_string_equal(found_name(t, a + 47), "b");
	assert_string_equal(found_name(t, a + 48), "(none)");
	assert_string_equal(found_name(t, a + 64), "huge");
	assert_string_equal(found_name(t, a + 127), "huge");
	symbolizer_free(s);
}

static void damaged_images_have_a_table_all_the_same(void **state)
{
	struct symbolizer_config config = { .cache_dir = "", .debug_dir = "/nowhere" };
	struct image image = file_image(scratch_path("cut"));
	struct file_mapping file;

	(void)state;
	write_file("c.c", c_program);
	need_command(CC_C "-o whole");
	assert_int_equal(file_map("whole", &file, NULL), 0);
	for (size_t size = 0; size <= file.size; size += 509) {
		struct symbolizer *s = symbolizer_new(&config);
		const struct symbol_table *t;

		assert_int_equal(file_replace("cut", file.base, size, NULL), 0);
		t = symbolizer_table(s, &image, NULL, 0);
		if (!symbol_count(t))
			assert_int_not_equal(*symbol_table_detail(t), 0);
		symbolizer_free(s);
	}
	file_unmap(&file);
}

static void the_vdso_has_names(void **state)
{
	struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *s = symbolizer_new(&config);
	struct image vdso = { .kind = IMAGE_VDSO, .path = "[vdso]" };
	const struct symbol_table *t = symbolizer_table(s, &vdso, NULL, 0);
	bool found = false;

	(void)state;
	if (symbol_table_status(t) == SYMBOL_MISSING) {
		symbolizer_free(s);
		skip_because("the image is not there");
	}
	for (uint32_t i = 0; i < symbol_count(t); i++)
		found |= strstr(symbol_name(s, t, i), "gettime") != NULL;
	assert_true(found);
	symbolizer_free(s);
}

/* A note of a build id of four bytes, as in /sys/kernel/notes. */
static const char *notes_file(const char *name, const char id[4])
{
	char note[20] = "\4\0\0\0\4\0\0\0\3\0\0\0GNU";

	memcpy(note + 16, id, 4);
	assert_int_equal(file_replace(name, note, sizeof(note), NULL), 0);
	return scratch_path(name);
}

static void another_kernels_symbols_come_from_the_cache_or_a_vmlinux(void **state)
{
	struct symbolizer_config config = { .cache_dir = "kcache", .debug_dir = "kdebug" };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	const struct symbol_table *t;
	struct symbolizer *s;

	(void)state;
	write_file("k.c", "void first(void) {} void schedule(void) { first(); }");
	need_command("mkdir -p built && cc -O0 -nostdlib -static -Wl,-e,first "
		     "-Wl,--build-id=0x45464748 -Wl,--defsym=_text=first k.c "
		     "-o built/vmlinux && objcopy --only-keep-debug built/vmlinux");
	config.kallsyms = scratch_file("kallsyms", kallsyms_text);
	kernel.build_id = (struct build_id){ .len = 4, .bytes = "ABCD" };

	config.notes = notes_file("notes", "WXYZ");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_CHANGED);
	assert_non_null(strstr(symbol_table_detail(t), "another kernel"));
	symbolizer_free(s);

	config.notes = notes_file("notes", "ABCD");
	s = symbolizer_new(&config);
	assert_int_equal(symbol_table_status(symbolizer_table(s, &kernel, NULL, 0)),
			 SYMBOL_KALLSYMS);
	symbolizer_free(s);

	config.notes = notes_file("notes", "WXYZ");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_KALLSYMS);
	assert_string_equal(found_name(t, 0x44), "local_one");
	symbolizer_free(s);

	/* Likewise from a folder that came from another machine. */
	config.cache_dir = "";
	config.kept_dir = "kcache";
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_KALLSYMS);
	assert_string_equal(found_name(t, 0x44), "local_one");
	symbolizer_free(s);
	config.cache_dir = "kcache";
	config.kept_dir = NULL;

	kernel.build_id = (struct build_id){ .len = 4, .bytes = "EFGH" };
	run_command("mkdir -p kdebug/boot && mv built/vmlinux kdebug/boot/vmlinux-6.1.0");
	s = symbolizer_new(&config);
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DEBUG_FILE);
	assert_string_equal(found_name(t, 0), "first");
	assert_string_equal(found_name(t, symbol_get(t, 0).size), "schedule");
	symbolizer_free(s);
}

/* The file of a server, below its folder srv. */
static void another_kernels_vmlinux_comes_from_debuginfod(void **state)
{
	struct debuginfod *d = debuginfod_new(&(struct debuginfod_config){ .memory_dir = "" });
	struct symbolizer_config config = { .cache_dir = "", .root = "nowhere", .debuginfod = d };
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	cleanup(free_at_exit) char *cwd = getcwd(NULL, 0), *url = xasprintf("file://%s/srv", cwd);
	struct file_mapping file = { 0 };
	struct build_id id = { .len = 4, .bytes = "EFGI" };
	const struct symbol_table *t;
	struct symbolizer *s;
	struct elf_file elf;

	(void)state;
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", "fetched", 1);
	if (!debuginfod_is_on())
		skip_because("built without libdebuginfod");
	write_file("k.c", "void first(void) {} void schedule(void) { first(); }");
	need_command("mkdir -p srv/buildid/45464749 && cc -O0 -nostdlib -static -Wl,-e,first "
		     "-Wl,--build-id=0x45464749 -Wl,--defsym=_text=first k.c -o whole && "
		     "objcopy --only-keep-debug whole srv/buildid/45464749/debuginfo");
	config.kallsyms = scratch_file("kallsyms", kallsyms_text);
	config.notes = notes_file("notes", "WXYZ");
	kernel.build_id = id;
	s = symbolizer_new(&config);
	assert_false(vmlinux_open_here(s, &id, VMLINUX_NAMES, &file, &elf, NULL));
	t = symbolizer_table(s, &kernel, NULL, 0);
	assert_int_equal(symbol_table_status(t), SYMBOL_DEBUG_FILE);
	assert_string_equal(found_name(t, 0), "first");
	/* The debug file has no code, and a server's program has. */
	assert_false(vmlinux_open_here(s, &id, VMLINUX_CODE, &file, &elf, NULL));
	run_command("mv whole srv/buildid/45464749/executable");
	assert_true(vmlinux_open(s, &id, VMLINUX_CODE, &file, &elf, NULL));
	assert_true(image_contents_of(&elf) & CONTAINS_CODE);
	file_unmap(&file);
	symbolizer_free(s);
	debuginfod_free(d);
	unsetenv("DEBUGINFOD_URLS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_offsets_count_from_text),
		cmocka_unit_test(module_offsets_count_from_its_load_address),
		cmocka_unit_test(the_kernels_variables_are_a_table_of_their_own),
		cmocka_unit_test(hidden_kernel_addresses_are_reported_as_hidden),
		cmocka_unit_test(one_symbol_speaks_for_an_address),
		cmocka_unit_test(sizes_are_repaired),
		cmocka_unit_test(names_of_interpreted_functions_stay_as_they_are),
		cmocka_unit_test(given_names_are_found_and_the_last_one_wins),
		cmocka_unit_test(a_file_without_symbols_says_why),
		cmocka_unit_test(two_files_of_a_path_have_a_table_each),
		cmocka_unit_test(our_own_functions_are_found),
		cmocka_unit_test(every_function_that_nm_lists_is_found),
		cmocka_unit_test(the_systems_own_binaries_agree_with_nm),
		cmocka_unit_test(a_file_of_70000_sections_has_its_symbols),
		cmocka_unit_test(symbols_may_overlap_and_lie_outside_of_sections),
		cmocka_unit_test(damaged_images_have_a_table_all_the_same),
		cmocka_unit_test(the_vdso_has_names),
		cmocka_unit_test(another_kernels_symbols_come_from_the_cache_or_a_vmlinux),
		cmocka_unit_test(another_kernels_vmlinux_comes_from_debuginfod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
