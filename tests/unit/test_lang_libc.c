/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library of a file, by its loader and its libraries: over files made here. */
#include "scratch.h"

#include "base/files/file.h"
#include "elf/elf_file.h"
#include "lang/libc.h"
#include "lang/runtime.h"

/* A file that is linked with these options. */
static uint32_t libc_of(const char *options)
{
	struct file_mapping file;
	struct elf_file elf;
	uint32_t libc;

	write_file("empty.s", ".globl _start\n_start:\n.section .note.GNU-stack\n");
	need_command("cc -nostdlib -o file empty.s %s", options);
	assert_int_equal(file_map("file", &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	libc = lang_libc(&elf);
	file_unmap(&file);
	return libc;
}

static void make_library(const char *name)
{
	write_file("library.s", ".section .note.GNU-stack\n");
	need_command("cc -nostdlib -shared -Wl,-soname,%s -o library.so library.s", name);
}

static void a_program_names_its_loader(void **state)
{
	(void)state;
	assert_int_equal(libc_of("-pie -Wl,-dynamic-linker,/lib/ld-musl-x86_64.so.1"), LIBC_MUSL);
	assert_int_equal(libc_of("-pie -Wl,-dynamic-linker,ld-musl-aarch64.so.1"), LIBC_MUSL);
	assert_int_equal(libc_of("-pie -Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2"),
			 LIBC_GLIBC);
	/* a folder is no loader */
	assert_int_equal(libc_of("-pie -Wl,-dynamic-linker,/opt/ld-musl-1/ld.so"), LIBC_GLIBC);
}

static void a_library_needs_its_c_library(void **state)
{
	(void)state;
	make_library("libc.musl-x86_64.so.1");
	assert_int_equal(libc_of("-shared -Wl,--no-as-needed library.so"), LIBC_MUSL);
	make_library("libc.so");
	assert_int_equal(libc_of("-shared -Wl,--no-as-needed library.so"), LIBC_MUSL);
	make_library("libc.so.6");
	assert_int_equal(libc_of("-shared -Wl,--no-as-needed library.so"), LIBC_GLIBC);
}

static void a_static_program_of_glibc_has_its_note(void **state)
{
	(void)state;
	assert_int_equal(libc_of("-static -no-pie"), LIBC_MUSL);
	write_file("note.s", ".section .note.ABI-tag,\"a\",@note\n.long 4, 16, 1\n.ascii "
			     "\"GNU\\0\"\n.long 0, 3, 2, 0\n.section .note.GNU-stack\n");
	assert_int_equal(libc_of("-static -no-pie note.s"), LIBC_GLIBC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_names_its_loader),
		cmocka_unit_test(a_library_needs_its_c_library),
		cmocka_unit_test(a_static_program_of_glibc_has_its_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
