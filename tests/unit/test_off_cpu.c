/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc tells of threads that wait. */
#include "guard/memory_reads.h"
#include "pipeline/off_cpu.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "scratch.h"

/* proc/41/task/42, with a file for each that is given. */
static void make_thread(const char *stat, const char *syscall)
{
	file_remove_tree("proc", NULL);
	assert_int_equal(file_mkdirs("proc/41/task/42", 0700, NULL), 0);
	assert_int_equal(symlink("/bin/true", "proc/41/task/42/exe"), 0);
	write_file("proc/41/task/42/comm", "worker\n");
	write_file("proc/41/task/42/stat", stat);
	if (syscall)
		write_file("proc/41/task/42/syscall", syscall);
}

static bool can_read_memory(void)
{
	char from = 'x', to = 0;
	const struct iovec here = { &to, 1 }, there = { &from, 1 };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static void a_sleeping_thread_is_reported_with_its_registers(void **state)
{
	struct memory_reads *reads = memory_reads_new(MEMORY_READ_NS);
	struct blocked_thread t;
	char bytes[5] = "", text[] = "0123456789";

	(void)state;
	make_thread("42 (a) b) S 1 41 41 0 -1\n",
		    "202 0x7f00 0x80 0x0 0x0 0x0 0x0 0x2 0x7f0000001234\n");
	assert_true(off_cpu_look("proc", 41, 42, &t));
	assert_int_equal(t.pid, 41);
	assert_int_equal(t.tid, 42);
	assert_int_equal(t.state, WAIT_SLEEP);
	assert_string_equal(t.comm, "worker");
	assert_int_equal(t.sp, 2);
	assert_int_equal(t.pc, 0x7f0000001234);
	assert_false(t.is_i386);
	assert_int_equal(off_cpu_read_stack(reads, getpid(), 2, bytes, 4), 0);
	if (!can_read_memory()) {
		memory_reads_free(reads);
		skip_because("process_vm_readv(2) is not there"); /* qemu-user */
	}
	assert_int_equal(off_cpu_read_stack(reads, getpid(), (uintptr_t)text + 2, bytes, 4), 4);
	assert_string_equal(bytes, "2345");
	memory_reads_free(reads);
}

/* Makes the thread's program a file with such a header. */
static void set_program(uint8_t class, uint16_t machine)
{
	const Elf32_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class },
				    .e_machine = machine };
	FILE *f = fopen("program", "w");

	assert_non_null(f);
	assert_int_equal(fwrite(&header, sizeof(header), 1, f), 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(unlink("proc/41/task/42/exe"), 0);
	assert_int_equal(symlink("../../../../program", "proc/41/task/42/exe"), 0);
}

static void a_thread_below_4_gib_is_of_i386_if_its_program_is(void **state)
{
#if defined(__x86_64__)
	const bool is_x86 = true;
#else
	const bool is_x86 = false;
#endif
	struct blocked_thread t;

	(void)state;
	make_thread("42 (x) S 1", "240 0x1 0x80 0x0 0x0 0x0 0x0 0xffd01230 0xf7f6a549\n");
	set_program(ELFCLASS32, EM_386);
	assert_true(off_cpu_look("proc", 41, 42, &t));
	assert_int_equal(t.is_i386, is_x86);
	set_program(ELFCLASS64, EM_X86_64);
	assert_true(off_cpu_look("proc", 41, 42, &t));
	assert_false(t.is_i386);
	set_program(ELFCLASS32, EM_X86_64); /* x32 */
	assert_true(off_cpu_look("proc", 41, 42, &t));
	assert_false(t.is_i386);
	write_file("program", "not ELF");
	assert_true(off_cpu_look("proc", 41, 42, &t));
	assert_int_equal(t.is_i386, is_x86);
}

static void states_are_known_by_their_letter(void **state)
{
	static const struct {
		const char *stat;
		int state; /* -1: it does not wait */
	} cases[] = {
		{ "42 (x) S 1", WAIT_SLEEP },
		{ "42 (x) D 1", WAIT_DISK },
		{ "42 (x) T 1", WAIT_STOPPED },
		{ "42 (x) t 1", WAIT_STOPPED },
		{ "42 (x) S 2 0 0 0 -1 69238880", -1 }, /* a kernel thread: 0x4208060 */
		{ "42 (x) S 1 0 0 0 -1 4194304", WAIT_SLEEP },
		{ "42 (x) R 1", -1 },
		{ "42 (x) Z 1", -1 },
		{ "42 (x) I 1", -1 },
		{ "42 (x)", -1 },
		{ "42", -1 },
		{ "\n", -1 },
	};
	struct blocked_thread t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_thread(cases[i].stat, NULL);
		assert_int_equal(off_cpu_look("proc", 41, 42, &t), cases[i].state >= 0);
		if (cases[i].state >= 0)
			assert_int_equal(t.state, cases[i].state);
	}
	assert_false(off_cpu_look("proc", 41, 43, &t));
}

static void what_may_not_be_seen_has_no_registers(void **state)
{
	static const char *const texts[] = { "running\n", "", "\n", "-1 \n" };
	struct blocked_thread t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		make_thread("42 (x) S 1", texts[i]);
		assert_true(off_cpu_look("proc", 41, 42, &t));
		assert_int_equal(t.pc, 0);
	}
	assert_int_equal(unlink("proc/41/task/42/exe"), 0); /* a kernel thread has none */
	assert_false(off_cpu_look("proc", 41, 42, &t));
}

struct seen {
	int32_t pid[8], tid[8];
	size_t n;
};

static void note(void *context, int32_t pid, int32_t tid)
{
	struct seen *s = context;

	assert_true(s->n < ARRAY_SIZE(s->pid));
	s->pid[s->n] = pid;
	s->tid[s->n++] = tid;
}

static void threads_are_found_by_process_and_by_themselves(void **state)
{
	static const struct pid_list none;
	int32_t one = 41, thread = 42;
	struct pid_list pids = { &one, 1, 1 }, tids = { &thread, 1, 1 };
	struct seen seen = { .n = 0 };

	(void)state;
	make_thread("42 (x) S 1", NULL);
	assert_int_equal(file_mkdirs("proc/42", 0700, NULL), 0);
	write_file("proc/42/status", "Name:\tx\nTgid:\t41\nPid:\t42\n");
	off_cpu_each("proc", &pids, &none, note, &seen);
	off_cpu_each("proc", &none, &tids, note, &seen);
	assert_int_equal(seen.n, 2);
	for (size_t i = 0; i < seen.n; i++) {
		assert_int_equal(seen.pid[i], 41);
		assert_int_equal(seen.tid[i], 42);
	}
	seen.n = 0;
	assert_int_equal(remove("proc/42/status"), 0);
	off_cpu_each("proc", &none, &none, note, &seen);
	assert_int_equal(seen.n, 1); /* proc/42 has no threads */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeping_thread_is_reported_with_its_registers),
		cmocka_unit_test(a_thread_below_4_gib_is_of_i386_if_its_program_is),
		cmocka_unit_test(states_are_known_by_their_letter),
		cmocka_unit_test(what_may_not_be_seen_has_no_registers),
		cmocka_unit_test(threads_are_found_by_process_and_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
