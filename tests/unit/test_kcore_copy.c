/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the kernel's code: of a /proc that is made up. */
#include "replay/kcore_copy.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "scratch.h"
#include "symbol/kernel/kcore.h"

#define TEXT   0xffffffff81000000ULL
#define MODULE 0xffffffffc0200000ULL
#define DIRECT 0xffff888000000000ULL

static const struct {
	uint64_t addr, size;
	char fill;
} segments[] = { { DIRECT, 1 << 20, 'd' },
		 { TEXT - 4096, 64 << 10, 't' },
		 { MODULE, 16 << 10, 'm' } };

/* As fs/proc/kcore.c writes it: a header, notes are left out, then the segments. */
static void write_kcore(const char *path)
{
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = ARRAY_SIZE(segments),
	};
	struct buf out = { 0 };
	uint64_t at = 4096;

	buf_bytes(&out, &h, sizeof(h));
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
		Elf64_Phdr p = { .p_type = PT_LOAD,
				 .p_offset = at,
				 .p_vaddr = segments[i].addr,
				 .p_filesz = segments[i].size,
				 .p_memsz = segments[i].size };

		buf_bytes(&out, &p, sizeof(p));
		at += segments[i].size;
	}
	while (out.len < 4096)
		buf_u8(&out, 0);
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
		for (uint64_t k = 0; k < segments[i].size; k++)
			buf_u8(&out, (uint8_t)segments[i].fill);
	assert_int_equal(file_replace(path, out.data, out.len, NULL), 0);
	buf_fini(&out);
}

static void make_proc(void)
{
	file_remove_tree("proc", NULL);
	file_mkdirs("proc", 0700, NULL);
	write_kcore("proc/kcore");
	write_file("proc/kallsyms", "ffffffff80ff0000 T startup\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000010 T _stext\n"
				    "ffffffff81002100 T _etext\n"
				    "ffffffffc0200000 t init	[ext4]\n");
	write_file("proc/modules", "ext4 8192 1 - Live 0xffffffffc0200000\n"
				   "gone 4096 0 - Live 0xffffffffc0300000\n");
}

static void assert_refused(int code, const char *why)
{
	struct error err = { 0 };
	uint64_t n;
	int r = kcore_copy("proc", "rec", &n, &err);

	if (r != code || !strstr(err.text, why))
		fail_msg("%d '%s', expected %d '%s'", r, err.text, code, why);
	assert_int_equal(access("rec", F_OK), -1);
}

static void text_alone_is_copied(void **state)
{
	struct kcore copy;
	struct error err = { 0 };
	struct stat st;
	uint64_t n;
	char c[8192];

	(void)state;
	make_proc();
	if (kcore_copy("proc", "rec", &n, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(kcore_open("rec/kcore_dir/kcore", &copy, NULL), 0);
	assert_int_equal(copy.machine, EM_X86_64);
	/* Whole pages of the kernel's text, and of the module; one that is not there is zeros. */
	assert_int_equal(kcore_read(&copy, TEXT + 0x2000, c, sizeof(c)), 4096);
	assert_int_equal(c[0], 't');
	assert_int_equal(kcore_read(&copy, MODULE + 4096, c, sizeof(c)), 4096);
	assert_int_equal(c[4095], 'm');
	assert_int_equal(kcore_read(&copy, 0xffffffffc0300000ULL, c, 1), 1);
	assert_int_equal(c[0], 0);
	assert_int_equal(kcore_read(&copy, TEXT - 1, c, 1), -EFAULT);
	assert_int_equal(kcore_read(&copy, DIRECT, c, 1), -EFAULT);
	kcore_close(&copy);
	assert_int_equal(stat("rec/kcore_dir/kcore", &st), 0);
	assert_true(st.st_size <= 4096 + 0x3000 + 8192 + 4096);
	assert_int_equal(st.st_mode & 0777, 0400);
	assert_true(try_command("cmp proc/kallsyms rec/kcore_dir/kallsyms"));
	assert_true(try_command("cmp proc/modules rec/kcore_dir/modules"));
	/* Nothing was recorded beside it. */
	kcore_copy_undo("rec");
	assert_int_equal(access("rec", F_OK), -1);
}

static void obstacles_are_reported(void **state)
{
	struct error err = { 0 };
	uint64_t n;

	(void)state;
	make_proc();
	unlink("proc/kcore");
	assert_refused(-ENOENT, "proc/kcore is not there: the kernel is built without "
				"CONFIG_PROC_KCORE");
	write_file("proc/kcore", "this is no core file at all, not even a long one");
	assert_refused(-EBADMSG, "not a 64-bit ELF core file");
	make_proc();
	write_file("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n");
	assert_refused(-EACCES, "kptr_restrict");
	make_proc();
	unlink("proc/kallsyms");
	assert_refused(-ENOENT, "proc/kallsyms");
	make_proc();
	write_file("proc/kallsyms", "ffffffff91000000 T _text\nffffffff91002000 T _etext\n");
	write_file("proc/modules", "");
	assert_refused(-ENODATA, "has no text of the kernel");
	/* A folder of somebody's is left alone. */
	make_proc();
	file_mkdirs("rec", 0700, NULL);
	write_file("rec/letter", "dear …");
	assert_int_equal(kcore_copy("proc", "rec", &n, &err), -EEXIST);
	assert_non_null(strstr(err.text, "rec is in the way and is not a recording"));
	assert_int_equal(access("rec/letter", F_OK), 0);
	file_remove_tree("rec", NULL);
}

static void a_kernel_without_modules_is_copied(void **state)
{
	struct error err = { 0 };
	uint64_t n;

	(void)state;
	make_proc();
	unlink("proc/modules");
	if (kcore_copy("proc", "rec", &n, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(access("rec/kcore_dir/modules", F_OK), 0);
	kcore_copy_undo("rec");
}

static void missing_permission_is_an_error_with_the_remedy(void **state)
{
	const bool is_root = geteuid() == 0;

	(void)state;
	make_proc();
	chmod("proc/kcore", 0);
	if (is_root) /* may read what it is forbidden; nobody may not */
		assert_int_equal(seteuid(65534), 0);
	assert_refused(-EACCES, "it needs root (CAP_SYS_RAWIO)");
	if (is_root)
		assert_int_equal(seteuid(0), 0);
}

/* Others read the folder of copies meanwhile. */
static void a_copy_appears_as_a_whole_and_replaces_none(void **state)
{
	struct error err = { 0 };
	struct kcore copy;
	uint64_t n;

	(void)state;
	make_proc();
	if (kcore_copy_files("proc", "kept/build/1", &n, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_not_equal(kcore_copy_files("proc", "kept/build/1", &n, &err), 0);
	assert_non_null(strstr(err.text, "cannot rename"));
	assert_int_equal(kcore_open("kept/build/1/kcore", &copy, NULL), 0);
	kcore_close(&copy);
	/* No kernel's text at the address. */
	write_file("proc/kallsyms", "ffffffff91000000 T _text\nffffffff91002000 T _etext\n");
	write_file("proc/modules", "");
	assert_int_equal(kcore_copy_files("proc", "kept/build/2", &n, &err), -ENODATA);
	assert_true(try_command("test \"$(ls -A kept/build)\" = 1"));
	file_remove_tree("kept", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_alone_is_copied),
		cmocka_unit_test(a_kernel_without_modules_is_copied),
		cmocka_unit_test(obstacles_are_reported),
		cmocka_unit_test(a_copy_appears_as_a_whole_and_replaces_none),
		cmocka_unit_test(missing_permission_is_an_error_with_the_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
