/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel code and its lines: modules, which are relocatable files, and the running kernel's memory.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "scratch.h"

#include "base/error.h"
#include "elf/elf_file.h"
#include "symbol/symbolizer/code_files.h"
#include "symbol/disasm.h"
#include "symbol/kernel/module_file.h"
#include "symbol/lines/lines.h"

/* Two sections that stay, and one that the kernel frees when the module has started. */
static const char module_source[] =
	"int outside(int);\n"
	"__attribute__((noinline, section(\".text.unlikely\"))) int cold(int x)\n"
	"{\n"
	"	return x * 3;\n" /* 4 */
	"}\n"
	"__attribute__((section(\".init.text\"))) int start(int x)\n"
	"{\n"
	"	return outside(x) + 1;\n" /* 8 */
	"}\n"
	"static inline __attribute__((always_inline)) int square(int x)\n"
	"{\n"
	"	return x * x + 1;\n" /* 12 */
	"}\n"
	"int work(int x)\n"
	"{\n"
	"	return square(x) + cold(x) + outside(x);\n" /* 16 */
	"}\n";

#define KO "root/lib/modules/1.0/kernel/a/my-mod.ko"

static bool make_module(const char *flags)
{
	write_file("my-mod.c", module_source);
	return try_command("mkdir -p root/lib/modules/1.0/kernel/a && "
			   "gcc -O1 -g %s -c my-mod.c && "
			   "ld -r --build-id=sha1 -o " KO " my-mod.o && "
			   "echo 'kernel/a/my-mod.ko: kernel/b/other.ko' "
			   ">root/lib/modules/1.0/modules.dep",
			   flags);
}

static struct image module_image(void)
{
	struct image image = { .kind = IMAGE_MODULE, .path = "[my_mod]" };
	struct file_mapping file;
	struct elf_file elf;

	assert_int_equal(file_map(KO, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	assert_true(elf_build_id(&elf, &image.build_id));
	file_unmap(&file);
	return image;
}

/* Nothing of this machine: kernel symbols are those of the file given, or none. */
static struct symbolizer *new_symbolizer(const char *kallsyms)
{
	struct symbolizer_config config = {
		.cache_dir = "",
		.root = "root",
		.debug_dir = "/debug",
		.notes = "/nowhere",
		.sys_module = "/nowhere",
		.modules = "modules",
		.kcore = "kcore",
	};

	config.kallsyms = kallsyms ? kallsyms : "/nowhere";
	return symbolizer_new(&config);
}

static uint64_t offset_of(const struct symbol_table *t, const char *name)
{
	for (uint32_t i = 0; i < symbol_count(t); i++)
		if (!strcmp(symbol_get(t, i).name, name))
			return symbol_get(t, i).offset;
	fail_msg("no function %s", name);
	return 0;
}

/* Some instruction of the function is of that line. */
static bool has_line(struct symbolizer *s, const struct symbol_table *t, const char *function,
		     uint32_t line, const char *inlined)
{
	struct line_frame frames[LINES_MAX_FRAMES];
	uint64_t start = offset_of(t, function);

	for (uint64_t at = start; at < start + 64; at++) {
		size_t n = lines_find(s, t, at, frames, LINES_MAX_FRAMES);

		if (!n || strcmp(frames[n - 1].function, function))
			continue;
		if (frames[0].line == line && strstr(frames[0].file, "my-mod.c") &&
		    !strcmp(frames[0].function, inlined))
			return true;
	}
	return false;
}

static void check_lines(const char *kallsyms)
{
	struct image image = module_image();
	struct symbolizer *s = new_symbolizer(kallsyms);
	const struct symbol_table *t = symbolizer_table(s, &image, NULL, 0);

	assert_int_equal(lines_status(s, t), LINES_OWN);
	assert_true(has_line(s, t, "work", 12, "square"));
	assert_true(has_line(s, t, "work", 16, "work"));
	assert_true(has_line(s, t, "cold", 4, "cold"));
	symbolizer_free(s);
}

static void a_module_that_is_not_loaded_has_names_and_lines_of_its_file(void **state)
{
	(void)state;
	need_command("gcc --version && ld --version");
	assert_true(make_module(""));
	check_lines(NULL);
	assert_true(make_module("-gdwarf-4"));
	check_lines(NULL);
	assert_true(make_module("-gz=zlib"));
	check_lines(NULL);
}

static void where_it_was_loaded_has_the_last_word(void **state)
{
	struct symbolizer *s;
	struct image image;
	const struct symbol_table *t;

	(void)state;
	need_command("gcc --version && ld --version");
	assert_true(make_module(""));
	write_file("modules", "my_mod 100 1 - Live 0xffffffffc0000000\n");
	write_file("kallsyms", "ffffffff81000000 T _text\n"
			       "ffffffffc0000400 t work\t[my_mod]\n"
			       "ffffffffc0003000 t cold\t[my_mod]\n");
	check_lines("kallsyms");
	image = module_image();
	s = new_symbolizer("kallsyms");
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(offset_of(t, "cold"), 0x3000);
	symbolizer_free(s);
}

static void packed_modules_are_unpacked(void **state)
{
	static const char *const ways[] = { "xz -f --check=crc32", "zstd -q --rm -f", "gzip -f" };
	static const char *const suffixes[] = { "xz", "zst", "gz" };
	struct image image;

	(void)state;
	need_command("gcc --version && ld --version");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct symbolizer *s;

		assert_true(make_module(""));
		image = module_image();
		if (!try_command("%s " KO, ways[i]))
			continue;
		assert_true(try_command("sed -i 's/my-mod.ko/my-mod.ko.%s/' "
					"root/lib/modules/1.0/modules.dep",
					suffixes[i]));
		s = new_symbolizer(NULL);
		assert_int_equal(lines_status(s, symbolizer_table(s, &image, NULL, 0)), LINES_OWN);
		symbolizer_free(s);
	}
}

static void a_separate_debug_file_has_the_lines(void **state)
{
	struct image image;
	struct symbolizer *s;
	const struct symbol_table *t;

	(void)state;
	need_command("gcc --version && ld --version && objcopy --version");
	assert_true(make_module(""));
	image = module_image();
	assert_true(try_command("mkdir -p root/debug/lib/modules/1.0/kernel/a && "
				"cp " KO " root/debug/lib/modules/1.0/kernel/a/my-mod.ko.debug && "
				"strip --strip-debug " KO));
	s = new_symbolizer(NULL);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_true(has_line(s, t, "work", 12, "square"));
	symbolizer_free(s);
	assert_true(try_command("rm -r root/debug"));
}

static void a_file_of_another_build_is_not_taken(void **state)
{
	struct image image;
	struct symbolizer *s;
	const struct symbol_table *t;
	struct code_files *files;
	struct code_bytes code;
	struct error err = { 0 };

	(void)state;
	need_command("gcc --version && ld --version");
	assert_true(make_module(""));
	image = module_image();
	image.build_id.bytes[0] ^= 1;
	s = new_symbolizer(NULL);
	t = symbolizer_table(s, &image, NULL, 0);
	assert_int_equal(symbol_count(t), 0);
	assert_int_equal(lines_status(s, t), LINES_NO_FILE);
	files = code_files_new(s, 0);
	assert_int_equal(code_files_get(files, t, 0, 16, &code, &err), -ENOENT);
	assert_non_null(strstr(err.text, "kernel module [my_mod]: no file of its build"));
	code_files_free(files);
	symbolizer_free(s);
}

static void code_of_a_module_has_its_calls(void **state)
{
	struct image image;
	struct symbolizer *s;
	const struct symbol_table *t;
	struct code_files *files;
	struct code_bytes code;
	bool calls_cold = false;
	uint64_t at = 0, work;

	(void)state;
	need_command("gcc --version && ld --version");
	assert_true(make_module(""));
	image = module_image();
	s = new_symbolizer(NULL);
	t = symbolizer_table(s, &image, NULL, 0);
	work = offset_of(t, "work");
	files = code_files_new(s, 0);
	if (code_files_get(files, t, work, symbol_get(t, symbol_find(t, work)).size, &code, NULL) <
	    0) {
		code_files_free(files);
		symbolizer_free(s);
		skip_because("no disassembler for this processor");
	}
	while (at < code.size) {
		struct instruction in;

		disassemble(code.disassembler, code.bytes + at, code.size - at, work + at, &in);
		assert_false(in.is_bad);
		calls_cold |= in.is_call && in.target == offset_of(t, "cold");
		at += in.size;
	}
	assert_true(calls_cold);
	code_files_free(files);
	symbolizer_free(s);
}

/* Every cut, and bits turned: less, or nothing, and no bad access. */
static void damaged_modules_do_no_harm(void **state)
{
	char *text;
	size_t size;

	(void)state;
	need_command("gcc --version && ld --version");
	assert_true(make_module(""));
	assert_int_equal(file_read_all(KO, 1 << 20, &text, &size), 0);
	for (size_t i = 0; i < size; i += 7) {
		struct module_file m = { .size = i & 1 ? i : size };

		m.bytes = xmalloc(size);
		memcpy(m.bytes, text, size);
		m.bytes[i] ^= (uint8_t)(1 << (i % 8));
		if (elf_file_open(&m.elf, m.bytes, m.size, NULL) == 0 && m.elf.type == ET_REL &&
		    m.elf.is_64)
			module_file_link(&m, NULL);
		module_file_close(&m);
	}
	free(text);
}

/* ---- memory of the kernel ---- */

static void write_kcore(const char *path, uint16_t machine, uint64_t addr, const void *bytes,
			size_t size)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
		uint8_t bytes[64];
	} core = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_CORE,
			    .e_machine = machine,
			    .e_version = EV_CURRENT,
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 },
		.segments = { { .p_type = PT_NOTE },
			      { .p_type = PT_LOAD,
				.p_vaddr = addr,
				.p_offset = offsetof(__typeof__(core), bytes),
				.p_filesz = size,
				.p_memsz = size } },
	};

	memcpy(core.bytes, bytes, size);
	assert_int_equal(file_replace(path, &core, sizeof(core), NULL), 0);
}

static const uint8_t some_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };

static void the_kernels_code_comes_from_its_memory(void **state)
{
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	struct code_files *files;
	struct code_bytes code;
	struct instruction in;
	struct symbolizer *s;
	const struct symbol_table *t;
	struct error err = { 0 };

	(void)state;
	write_file("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 T do_it\n"
			       "ffffffff81000106 T next\n");
	write_kcore("kcore", EM_X86_64, 0xffffffff81000100, some_code, sizeof(some_code));
	s = new_symbolizer("kallsyms");
	t = symbolizer_table(s, &kernel, NULL, 0);
	files = code_files_new(s, 0);
	assert_int_equal(code_files_get(files, t, 0x100, 100, &code, &err), 0);
	assert_int_equal(code.size, sizeof(some_code));
	assert_memory_equal(code.bytes, some_code, sizeof(some_code));
	disassemble(code.disassembler, code.bytes, code.size, 0x100, &in);
	/* Zydis and Capstone write it each in its way. */
	assert_true(!strcmp(in.text, "push %rbp") || !strcmp(in.text, "pushq %rbp"));
	assert_int_equal(code_files_get(files, t, 0x200, 4, &code, &err), -EFAULT);
	assert_non_null(strstr(err.text, "0x200 can't be read from its memory"));
	code_files_free(files);
	symbolizer_free(s);
}

static void check_refusal(const char *reason)
{
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
	struct symbolizer *s = new_symbolizer("kallsyms");
	const struct symbol_table *t = symbolizer_table(s, &kernel, NULL, 0);
	struct code_files *files = code_files_new(s, 0);
	struct code_bytes code;
	struct error err = { 0 };

	assert_int_equal(code_files_get(files, t, 0x100, 4, &code, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no vmlinux of its build"));
	assert_non_null(strstr(err.text, reason));
	assert_non_null(strstr(err.text, "install the kernel's debug package"));
	code_files_free(files);
	symbolizer_free(s);
}

static void without_memory_or_vmlinux_the_note_has_the_reason(void **state)
{
	(void)state;
	write_file("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 T do_it\n");
	unlink("kcore");
	check_refusal("kcore: No such file or directory");
	write_file("kcore", "no core file, but something");
	check_refusal("kcore: not a 64-bit ELF core file");
	write_file("kallsyms", "0000000000000000 T _text\n0000000000000000 T do_it\n");
	write_kcore("kcore", EM_X86_64, 0xffffffff81000100, some_code, sizeof(some_code));
	check_refusal("kallsyms hides its address");
}

/* Any bit turned in the headers. */
static void damaged_memory_does_no_harm(void **state)
{
	char *text;
	size_t size;

	(void)state;
	write_file("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 T do_it\n");
	write_kcore("kcore", EM_X86_64, 0xffffffff81000100, some_code, sizeof(some_code));
	assert_int_equal(file_read_all("kcore", 1 << 20, &text, &size), 0);
	for (size_t i = 0; i < size; i++) {
		struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel]" };
		struct symbolizer *s = new_symbolizer("kallsyms");
		struct code_files *files = code_files_new(s, 0);
		struct code_bytes code;

		text[i] ^= 0x41;
		assert_int_equal(file_replace("kcore", text, i & 1 ? i : size, NULL), 0);
		code_files_get(files, symbolizer_table(s, &kernel, NULL, 0), 0x100, 16, &code,
			       NULL);
		text[i] ^= 0x41;
		code_files_free(files);
		symbolizer_free(s);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_that_is_not_loaded_has_names_and_lines_of_its_file),
		cmocka_unit_test(where_it_was_loaded_has_the_last_word),
		cmocka_unit_test(packed_modules_are_unpacked),
		cmocka_unit_test(a_separate_debug_file_has_the_lines),
		cmocka_unit_test(a_file_of_another_build_is_not_taken),
		cmocka_unit_test(code_of_a_module_has_its_calls),
		cmocka_unit_test(damaged_modules_do_no_harm),
		cmocka_unit_test(the_kernels_code_comes_from_its_memory),
		cmocka_unit_test(without_memory_or_vmlinux_the_note_has_the_reason),
		cmocka_unit_test(damaged_memory_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
