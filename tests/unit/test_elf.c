/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <errno.h>

#include "scratch.h"

#include "base/error.h"
#include "elf/elf_code.h"
#include "elf/elf_file.h"
#include "elf/elf_functions.h"
#include "elf/elf_plt.h"
#include "elf/elf_slots.h"
#include "elf/elf_symbols.h"

static const char program[] = "#include <stdio.h>\n"
			      "#include <stdlib.h>\n"
			      "static __attribute__((noinline)) int one(int x) { return x * 3; }\n"
			      "__attribute__((noinline)) int two(int x) { return one(x) + 5; }\n"
			      "int main(int n, char **v) { puts(v[0]); return two(atoi(v[n])); }\n";

#define CC_PROGRAM "cc -O1 -Wl,--build-id=0x0123456789abcdef program.c"

static int enter(void **state)
{
	(void)state;
	write_file("program.c", program);
	return 0;
}

struct opened {
	struct file_mapping file;
	struct elf_file elf;
};

static void open_elf(struct opened *o, const char *path)
{
	struct error err = { 0 };

	assert_int_equal(file_map(path, &o->file, &err), 0);
	assert_int_equal(elf_file_open(&o->elf, o->file.base, o->file.size, &err), 0);
}

static struct elf_symbol symbol_named(const struct elf_file *elf, const char *name)
{
	struct elf_symbols it;
	struct elf_symbol symbol;

	assert_true(elf_symbols_begin(&it, elf, SHT_SYMTAB));
	while (elf_symbols_next(&it, &symbol))
		if (!strcmp(symbol.name, name))
			return symbol;
	fail_msg("no symbol %s", name);
	return symbol;
}

static void what_is_not_elf_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ "", 0, "not an ELF file" },
		{ "#!/bin/sh\necho hello\n", 21, "not an ELF file" },
		{ "\177ELF\2\2\1\0\0\0\0\0\0\0\0\0", 16, "big-endian ELF files are not supported" },
		{ "\177ELF\3\1\1\0\0\0\0\0\0\0\0\0", 16, "ELF file of an unknown class (3)" },
		{ "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, "cut ELF file: 16 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct elf_file elf;

		assert_true(elf_file_open(&elf, cases[i].bytes, cases[i].size, &err) < 0);
		assert_string_equal(err.text, cases[i].text);
	}
}

static void the_build_id_is_read_from_sections_or_segments(void **state)
{
	static const uint8_t want[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	struct build_id id = { 0 };
	struct opened o;

	(void)state;
	need_command(CC_PROGRAM " -o with_id");
	open_elf(&o, "with_id");
	assert_true(elf_build_id(&o.elf, &id));
	assert_int_equal(id.len, sizeof(want));
	assert_memory_equal(id.bytes, want, sizeof(want));

	id.len = 0;
	o.elf.n_sections = 0;
	assert_true(elf_build_id(&o.elf, &id));
	assert_memory_equal(id.bytes, want, sizeof(want));
	file_unmap(&o.file);

	need_command("cc -O1 -Wl,--build-id=none program.c -o without_id");
	open_elf(&o, "without_id");
	assert_false(elf_build_id(&o.elf, &id));
	file_unmap(&o.file);
}

static void a_debug_link_carries_the_crc_of_the_file(void **state)
{
	struct file_mapping debug;
	struct opened o;
	uint32_t crc = 0;

	(void)state;
	need_command(CC_PROGRAM " -g -o linked && objcopy --only-keep-debug linked linked.debug && "
				"objcopy --add-gnu-debuglink=linked.debug linked");
	open_elf(&o, "linked");
	assert_string_equal(elf_debug_link(&o.elf, &crc), "linked.debug");
	assert_int_equal(file_map("linked.debug", &debug, NULL), 0);
	assert_int_equal(elf_debug_crc(debug.base, debug.size), crc);
	file_unmap(&debug);
	file_unmap(&o.file);
}

/* CRC-32's check value, as in every catalogue of CRCs. */
static void the_crc_is_the_usual_one(void **state)
{
	(void)state;
	assert_int_equal(elf_debug_crc("123456789", 9), 0xcbf43926);
	assert_int_equal(elf_debug_crc("", 0), 0);
}

static void assert_has_function(const struct elf_functions *f, const struct elf_symbol *symbol)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->data[i].link_addr == symbol->link_addr) {
			assert_int_equal(f->data[i].size, symbol->size);
			return;
		}
	fail_msg("no FDE for %s", symbol->name);
}

static void unwind_tables_give_every_function(void **state)
{
	static const char *const flags[] = { "", "-static-pie", "-Wl,-z,max-page-size=0x200000",
					     "-no-pie" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct elf_functions all = { 0 }, by_header = { 0 };
		struct elf_symbol one, two;
		struct opened o;

		need_command(CC_PROGRAM " %s -o frames", flags[i]);
		open_elf(&o, "frames");
		one = symbol_named(&o.elf, "one");
		two = symbol_named(&o.elf, "two");
		elf_functions_read(&o.elf, &all);
		assert_has_function(&all, &one);
		assert_has_function(&all, &two);

		/* As sstrip leaves it: no section headers. */
		o.elf.n_sections = 0;
		elf_functions_read(&o.elf, &by_header);
		assert_int_equal(by_header.n, all.n);
		for (size_t f = 0; f < all.n; f++) {
			assert_int_equal(by_header.data[f].link_addr, all.data[f].link_addr);
			assert_int_equal(by_header.data[f].size, all.data[f].size);
		}
		elf_functions_fini(&all);
		elf_functions_fini(&by_header);
		file_unmap(&o.file);
	}
}

/* "0000000000001030 <puts@plt>:", not the lazy resolver's "<puts@plt-0x10>:" */
static bool parse_stub(const char *line, uint64_t *addr, char name[static 64])
{
	unsigned long a;

	if (sscanf(line, "%lx <%63[^>]>:", &a, name) != 2 || !strstr(name, "@plt") ||
	    strcmp(strstr(name, "@plt"), "@plt") != 0)
		return false;
	*addr = a;
	*strstr(name, "@plt") = '\0';
	return true;
}

static void assert_stubs_match(const char *objdump, const char *path)
{
	char command[256], line[512], name[64];
	struct elf_plt plt = { 0 };
	struct opened o;
	size_t n = 0;
	FILE *out;

	snprintf(command, sizeof(command), "%s -d %s", objdump, path);
	out = popen(command, "r");
	assert_non_null(out);
	open_elf(&o, path);
	elf_plt_read(&o.elf, &plt);
	while (fgets(line, sizeof(line), out)) {
		const char *found = "(none)";
		uint64_t addr;

		if (!parse_stub(line, &addr, name))
			continue;
		for (size_t i = 0; i < plt.entries.n; i++)
			if (plt.entries.data[i].link_addr == addr)
				found = plt.entries.data[i].name;
		assert_string_equal(found, name);
		n++;
	}
	assert_true(n >= 2);
	pclose(out);
	elf_plt_fini(&plt);
	file_unmap(&o.file);
}

static void stubs_are_named_as_objdump_names_them(void **state)
{
	static const char *const flags[] = { "", "-fcf-protection -Wl,-z,ibtplt", "-fuse-ld=lld",
					     "-Wl,-z,now", "-no-pie" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		need_command(CC_PROGRAM " %s -o stubs && objdump -d stubs | grep 'puts@plt>:'",
			     flags[i]);
		assert_stubs_match("objdump", "stubs");
	}
}

/* LLVM's, which knows all processors: its name often has the version at its end. NULL: none. */
static const char *llvm_objdump(void)
{
	static char name[256];
	FILE *found = popen("IFS=:; for d in $PATH; do for f in \"$d\"/llvm-objdump*; do "
			    "\"$f\" --version >/dev/null 2>&1 && echo \"${f##*/}\"; done; done",
			    "r");
	bool is_there;

	assert_non_null(found);
	is_there = fscanf(found, "%255s", name) == 1;
	pclose(found);
	return is_there ? name : NULL;
}

static void stubs_of_other_machines_are_named(void **state)
{
	static const char *const targets[] = {
		"aarch64-linux-gnu",
		"aarch64-linux-gnu -mbranch-protection=standard -Wl,-z,force-bti",
		"i386-linux-gnu",
	};
	const char *objdump = llvm_objdump();

	(void)state;
	if (!objdump)
		skip_because("no llvm-objdump is installed");
	write_file("freestanding.c", "int ext(int); void *ext2(void *);\n"
				     "int f(int x) { return ext(x) + (ext2(&x) != 0); }\n");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		need_command("clang -target %s -fPIC -nostdlib -shared -fuse-ld=lld "
			     "freestanding.c -o other.so && %s -d other.so",
			     targets[i], objdump);
		assert_stubs_match(objdump, "other.so");
	}
}

static uint32_t count_dynamic(const struct elf_file *elf)
{
	struct elf_symbols it;
	struct elf_symbol symbol;
	uint32_t n = 0;
	bool found = false;

	assert_true(elf_symbols_begin(&it, elf, SHT_DYNSYM));
	for (; elf_symbols_next(&it, &symbol); n++)
		found |= !strcmp(symbol.name, "two") && symbol.size > 0;
	assert_true(found);
	return n;
}

static void dynamic_symbols_are_found_without_section_headers(void **state)
{
	static const char *const flags[] = { "-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv",
					     "-fuse-ld=lld -Wl,--hash-style=gnu" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct opened o;
		uint32_t n;

		need_command(CC_PROGRAM " -rdynamic %s -o dynamic", flags[i]);
		open_elf(&o, "dynamic");
		n = count_dynamic(&o.elf);
		o.elf.n_sections = 0;
		assert_int_equal(count_dynamic(&o.elf), n);
		file_unmap(&o.file);
	}
}

/* The linker's old layout: one executable segment with headers, constants and code. */
static void code_is_sections_or_without_them_segments(void **state)
{
	struct elf_section text;
	struct elf_symbol main_;
	struct opened o;
	uint64_t size = 0;

	(void)state;
	for (int has_sections = 1; has_sections >= 0; has_sections--) {
		struct elf_code code = { 0 };
		const struct elf_code_range *of_main = NULL;

		need_command(CC_PROGRAM " -Wl,-z,noseparate-code -o together");
		open_elf(&o, "together");
		main_ = symbol_named(&o.elf, "main");
		assert_true(elf_section_named(&o.elf, ".text", &text));
		if (!has_sections)
			o.elf.n_sections = 0;
		elf_code_find(&o.elf, &code);
		vec_foreach (&code, r) {
			assert_true(r->size && r->file_off + r->size <= o.elf.size);
			assert_true(r == code.data || r[-1].file_off + r[-1].size <= r->file_off);
			if (main_.link_addr - r->link_addr < r->size)
				of_main = r;
		}
		assert_non_null(of_main);
		if (has_sections) {
			assert_int_equal(of_main->link_addr, text.link_addr);
			assert_int_equal(of_main->file_off, text.file_off);
			assert_int_equal(of_main->size, text.size);
			size = of_main->size;
		} else {
			assert_int_equal(code.n, 1);
			assert_true(of_main->size > size + 0x400); /* headers, .eh_frame */
		}
		elf_code_fini(&code);
		file_unmap(&o.file);
	}
}

/* Calls everything there is to call; whatever the bytes, nothing may crash or hang. */
static void read_everything(const void *bytes, size_t size)
{
	struct elf_functions functions = { 0 };
	struct elf_plt plt = { 0 };
	struct elf_code code = { 0 };
	struct elf_section section;
	struct elf_symbols it;
	struct elf_symbol symbol;
	struct elf_file elf;
	struct build_id id;
	uint32_t crc;

	if (elf_file_open(&elf, bytes, size, NULL) < 0)
		return;
	for (uint32_t i = 0; elf_section(&elf, i, &section); i++)
		elf_section_bytes(&elf, &section);
	if (elf_symbols_begin(&it, &elf, SHT_SYMTAB))
		while (elf_symbols_next(&it, &symbol))
			assert_true(strlen(symbol.name) < size);
	if (elf_symbols_begin(&it, &elf, SHT_DYNSYM))
		while (elf_symbols_next(&it, &symbol))
			assert_true(strlen(symbol.name) < size);
	elf_build_id(&elf, &id);
	elf_debug_link(&elf, &crc);
	elf_functions_read(&elf, &functions);
	elf_plt_read(&elf, &plt);
	elf_functions_fini(&functions);
	elf_plt_fini(&plt);
	elf_code_find(&elf, &code);
	vec_foreach (&code, r)
		assert_true(r->file_off <= size && r->size <= size - r->file_off);
	elf_code_fini(&code);
}

static void a_library_has_slots_for_the_variables_that_a_program_can_copy(void **state)
{
	struct opened o;

	(void)state;
	write_file("slots.c",
		   "int shown = 1, other = 2; static int own = 3;\n"
		   "__attribute__((visibility(\"hidden\"))) int hidden = 4;\n"
		   "int *all(int n) { return n > 2 ? &own : n > 1 ? &hidden : n ? &other : "
		   "&shown; }\n");
	need_command("cc -O1 -fPIC -shared -nostdlib -o slots.so slots.c");
	open_elf(&o, "slots.so");
	assert_int_not_equal(elf_slot_of_variable(&o.elf, "shown"), 0);
	assert_int_not_equal(elf_slot_of_variable(&o.elf, "other"), 0);
	assert_int_not_equal(elf_slot_of_variable(&o.elf, "other"),
			     elf_slot_of_variable(&o.elf, "shown"));
	assert_int_equal(elf_slot_of_variable(&o.elf, "own"), 0);
	assert_int_equal(elf_slot_of_variable(&o.elf, "hidden"), 0);
	assert_int_equal(elf_slot_of_variable(&o.elf, ""), 0);
	file_unmap(&o.file);
	need_command("cc -O1 -fPIC -shared -nostdlib -Wl,-Bsymbolic -o slots.so slots.c");
	open_elf(&o, "slots.so"); /* the library uses its own variables, whatever the program has */
	assert_int_equal(elf_slot_of_variable(&o.elf, "shown"), 0);
	file_unmap(&o.file);
}

static void damaged_files_are_read_as_far_as_they_go(void **state)
{
	struct file_mapping file;
	uint8_t *copy;

	(void)state;
	need_command(CC_PROGRAM " -g0 -o damaged");
	assert_int_equal(file_map("damaged", &file, NULL), 0);
	for (size_t size = 0; size < file.size; size += size < 256 ? 1 : 97) {
		copy = xmalloc(size);
		memcpy(copy, file.base, size); /* so that a checker sees reads beyond the end */
		read_everything(copy, size);
		free(copy);
	}
	copy = xmalloc(file.size);
	memcpy(copy, file.base, file.size);
	for (size_t i = 0; i < file.size; i += i < 2048 ? 1 : 13) {
		copy[i] ^= 0xff;
		read_everything(copy, file.size);
		copy[i] ^= 0xff;
	}
	memset(copy + offsetof(Elf64_Ehdr, e_shoff), 0, 8); /* without sections */
	for (size_t i = 0; i < file.size; i += i < 2048 ? 1 : 13) {
		copy[i] ^= 0xff;
		read_everything(copy, file.size);
		copy[i] ^= 0xff;
	}
	free(copy);
	file_unmap(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_elf_is_refused_with_a_reason),
		cmocka_unit_test(the_build_id_is_read_from_sections_or_segments),
		cmocka_unit_test(a_debug_link_carries_the_crc_of_the_file),
		cmocka_unit_test(the_crc_is_the_usual_one),
		cmocka_unit_test(unwind_tables_give_every_function),
		cmocka_unit_test(dynamic_symbols_are_found_without_section_headers),
		cmocka_unit_test(stubs_are_named_as_objdump_names_them),
		cmocka_unit_test(stubs_of_other_machines_are_named),
		cmocka_unit_test(code_is_sections_or_without_them_segments),
		cmocka_unit_test(a_library_has_slots_for_the_variables_that_a_program_can_copy),
		cmocka_unit_test(damaged_files_are_read_as_far_as_they_go),
	};

	return cmocka_run_group_tests(tests, enter, NULL);
}
