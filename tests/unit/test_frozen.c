/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of interpreters that were frozen: tests/data/frozen/ has, for a version of each runtime,
 * the memory that the in-kernel sampler reads for one stack. The sampler's code (collect/bpf/) is
 * compiled here a second time, and reads that memory. So every machine tests every version. Files
 * of the other processor are left out: qemu-user runs this test for AArch64.
 *
 *   test_frozen --freeze PID     stops a process and writes such a file; as root
 *
 * A file has lines of words. Numbers are hexadecimal.
 *
 *   runtime BYTES        struct lang_runtime
 *   base ADDRESS         of the runtime's file
 *   thread ADDRESS TID   the thread pointer; on AArch64 also the thread's number
 *   register NUMBER VALUE
 *   memory ADDRESS BYTES
 *   frame NAME | FILE:LINE    what the walk must find, innermost first; "frame --" ends a run
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <ucontext.h>

#include "unit.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "lang/code.h"
#include "lang/detect.h"
#include "lang/language.h"

static void *find_in_map(void *map, const void *key);
static long read_user(void *value, size_t size, const void *addr);
static long read_user_text(void *value, size_t size, const void *addr);
static uint64_t frozen_thread_pointer(void);
static uint32_t tid_of_itself(void);

__attribute__((unused)) static void take_steps(uint32_t n, long (*step)(uint32_t, void *),
					       void *context)
{
	for (uint32_t i = 0; i < n && !step(i, context); i++)
		;
}

#define bpf_map_lookup_elem(map, key)              find_in_map(map, key)
#define bpf_map_update_elem(map, key, value, how)  ((void)(map), (void)(key), (void)(value))
#define bpf_probe_read_user(value, size, addr)     read_user(value, size, addr)
#define bpf_probe_read_user_str(value, size, addr) read_user_text(value, size, addr)
#define bpf_ringbuf_query(ring, what)              0
#define bpf_ringbuf_output(ring, data, size, how)  0
#define bpf_loop(n, step, context, flags)          take_steps(n, step, context)
#define BPF_CORE_READ(task, field)                 frozen_thread_pointer()
#if defined(__x86_64__)
#define __TARGET_ARCH_x86
#define IS_AARCH64 0
#else
#define __TARGET_ARCH_arm64
#define IS_AARCH64 1
#endif
#define MAPLE_PIVOTS 15
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* BPF's functions are no statics */
#include "collect/bpf/work.h"

#include "collect/bpf/language.h"
#pragma GCC diagnostic pop

struct piece {
	uint64_t addr;
	size_t size;
	uint8_t *bytes;
};

#define FROZEN_DIR ASSAY_SRC "/../tests/data/frozen"

static struct {
	struct work work;
	struct code_message message;
	uint64_t thread_pointer, n_losses;
	uint32_t tid;
	VEC(struct piece) memory;
	int32_t pid; /* freezing: reads this process, and keeps its bytes */
} frozen;

static uint64_t frozen_thread_pointer(void)
{
	return frozen.thread_pointer;
}

__attribute__((unused)) static uint32_t tid_of_itself(void)
{
	return frozen.tid;
}

static void *find_in_map(void *map, const void *key)
{
	(void)key;
	if (map == &works)
		return &frozen.work;
	if (map == &losses)
		return &frozen.n_losses;
	return map == &code_works ? &frozen.message : NULL;
}

static bool read_process(void *value, size_t size, uint64_t addr)
{
	struct iovec here = { value, size };
	struct iovec there = { (void *)(uintptr_t)addr, size }; /* NOLINT: an address */

	return process_vm_readv(frozen.pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static long read_user(void *value, size_t size, const void *addr)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;

	if (frozen.pid) {
		struct piece piece = { at, size, xmalloc(size) };

		if (!read_process(value, size, at)) {
			free(piece.bytes);
			return -EFAULT;
		}
		memcpy(piece.bytes, value, size);
		vec_push(&frozen.memory, piece);
		return 0;
	}
	vec_foreach (&frozen.memory, p)
		if (at >= p->addr && size <= p->size && at - p->addr <= p->size - size) {
			memcpy(value, p->bytes + (at - p->addr), size);
			return 0;
		}
	return -EFAULT;
}

static long read_user_text(void *value, size_t size, const void *addr)
{
	char *text = value;

	for (size_t i = 0; i < size; i++) {
		if (read_user(text + i, 1, (const char *)addr + i) < 0)
			return -EFAULT;
		if (!text[i])
			return (long)i + 1;
	}
	text[size - 1] = '\0';
	return (long)size;
}

/* Walks. */

#define FROZEN_STEPS 4096

static void append_frame(struct buf *out, uint32_t i, uint64_t owner)
{
	struct code_message *m = &frozen.message;
	uint64_t second = frozen.work.s.frames[i + 1];

	m->code.language = frozen.work.lang.runtime.language;
	m->code.version = frozen.work.lang.runtime.version;
	m->code.n_lines = m->code.lines_size = 0;
	buf_str(out, "frame ");
	if (!take_code(0, m->code.language, owner)) {
		buf_str(out, "?\n");
		return;
	}
	lang_append_name(&m->code, out);
	buf_str(out, " | ");
	lang_append_file(&m->code, out);
	buf_printf(out, ":%u\n", lang_line(&m->code, (uint32_t)(second >> POSITION_SHIFT)));
}

static void begin_frozen(void)
{
	struct work *w = &frozen.work;

	w->s.n_kernel = w->s.n_user = 0;
	w->s.fit = w->lang.n_owners = w->lang.is_over = 0;
	w->lang.cursor = w->lang.unfilled = 0;
	w->lang.python.is_wanted = w->lang.python.is_over = 0;
	find_bases(w);
}

/* As walk_step(), which looks at the states of Python for the step that asks for them. */
static bool find_in_steps(uint64_t loop_off)
{
	struct work *w = &frozen.work;

	if (find_frames(0, w, loop_off, true))
		return true;
	if (!w->lang.python.is_wanted)
		return false;
	python_find_state(0);
	return find_frames(0, w, loop_off, true);
}

static void leave_interpreter_in_steps(void)
{
	if (python_leave_interpreter(&frozen.work))
		return;
	assert_true(frozen.work.lang.python.is_wanted);
	python_find_state(0);
	assert_true(python_leave_interpreter(&frozen.work));
}

/* Behind the frames of an interpreter, those of its caller follow. */
static bool goes_on(struct buf *out)
{
	struct work *w = &frozen.work;

	if (w->lang.unfilled || (w->lang.cursor && !is_at_end(0, w)))
		return true;
	if (w->lang.runtime.language != LANGUAGE_PYTHON || !w->s.n_user)
		return false;
	leave_interpreter_in_steps();
	if (!w->lang.cursor || is_at_end(0, w))
		return false;
	if (w->lang.is_emitting)
		buf_str(out, "frame --\n");
	return true;
}

/* All frames of the language. The native loops are imagined: one for each run. */
static void walk_frames(struct buf *out)
{
	struct work *w = &frozen.work;
	uint32_t n = 0;

	for (uint32_t i = 0; i < FROZEN_STEPS && goes_on(out); i++) {
		w->lang.is_emitting = 1;
		if (language_frame(0, w->lang.runtime.language))
			break;
		for (; n < w->s.n_user; n += 2)
			append_frame(out, n, w->lang.owners[n / 2 % LANGUAGE_OWNERS]);
		if (!w->lang.is_emitting)
			buf_str(out, "frame --\n");
	}
}

static void walk_frozen(struct buf *out)
{
	bool is_found;

	begin_frozen();
	is_found = find_frames(0, &frozen.work, UINT32_MAX, false);
	begin_frozen();
	assert_int_equal(find_in_steps(UINT32_MAX), is_found);
	if (is_found)
		walk_frames(out);
	else
		buf_str(out, "no state\n");
}

/* Files. */

static size_t bytes_of_hex(const char *text, uint8_t *out, size_t size)
{
	size_t n = 0;
	unsigned int byte;

	for (; n < size && sscanf(text, "%2x", &byte) == 1; text += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static void forget_memory(void)
{
	vec_foreach (&frozen.memory, p)
		free(p->bytes);
	frozen.memory.n = 0;
}

static void thaw_line(char *line, struct buf *expected)
{
	struct work *w = &frozen.work;
	unsigned long long a, b = 0;
	int at = 0;

	if (!strncmp(line, "frame ", 6)) {
		buf_str(expected, line);
		buf_str(expected, "\n");
	} else if (sscanf(line, "runtime %n", &at) == 0 && at) {
		bytes_of_hex(line + at, (uint8_t *)&w->lang.runtime, sizeof(w->lang.runtime));
	} else if (sscanf(line, "base %llx", &a) == 1) {
		w->lang.base = a;
	} else if (sscanf(line, "thread %llx %llx", &a, &b) >= 1) {
		frozen.thread_pointer = a;
		frozen.tid = (uint32_t)b;
	} else if (sscanf(line, "register %llx %llx", &a, &b) == 2) {
		w->registers[a % REGISTER_SLOTS] = b;
	} else if (sscanf(line, "memory %llx %n", &a, &at) == 1) {
		struct piece piece = { .addr = a, .bytes = xmalloc(strlen(line)) };

		piece.size = bytes_of_hex(line + at, piece.bytes, strlen(line));
		vec_push(&frozen.memory, piece);
	}
}

static void thaw(const char *path, struct buf *expected)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(file);
	forget_memory();
	memset(&frozen.work, 0, sizeof(frozen.work));
	expected->len = 0;
	while ((n = getline(&line, &room, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		thaw_line(line, expected);
	}
	free(line);
	fclose(file);
}

typedef void frozen_test(const char *path, const struct buf *expected);

static void each_frozen_file(frozen_test *test)
{
	DIR *dir = opendir(FROZEN_DIR);
	struct buf expected = { 0 };
	struct dirent *entry;
	unsigned int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[512];

		if (!strstr(entry->d_name, ".frozen"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", FROZEN_DIR, entry->d_name);
		thaw(path, &expected);
		if (frozen.work.lang.runtime.is_aarch64 != IS_AARCH64)
			continue;
		test(path, &expected);
		n++;
	}
	closedir(dir);
	buf_fini(&expected);
	forget_memory();
	assert_true(n > 0);
}

static void check_stack(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	struct buf wanted = { 0 };

	buf_bytes(&wanted, expected->data, expected->len);
	frozen.n_losses = 0;
	walk_frozen(&got);
	if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
		print_message("%s:\n", path);
	assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
	assert_int_equal(frozen.n_losses, 0);
	buf_fini(&got);
	buf_fini(&wanted);
}

static void a_frozen_stack_has_its_frames(void **state)
{
	(void)state;
	each_frozen_file(check_stack);
}

/* A walk ends, and reads and writes within its bounds, whatever the memory has. */
static void check_damaged(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	uint32_t random = 1;

	(void)path, (void)expected;
	for (int round = 0; round < 50; round++) {
		vec_foreach (&frozen.memory, p)
			for (size_t i = 0; i < p->size; i++) {
				random = random * 1664525 + 1013904223;
				if (random >> 24 < 2)
					p->bytes[i] = (uint8_t)(random >> 16);
			}
		got.len = 0;
		walk_frozen(&got);
		assert_true(frozen.work.s.n_user <= MAX_USER_WORDS + 1);
	}
	buf_fini(&got);
}

static void a_damaged_stack_does_no_harm(void **state)
{
	(void)state;
	each_frozen_file(check_damaged);
}

/*
 * The first instructions of Python's loop: its _PyCFrame is the thread's, or will be, and has no
 * frame yet. The frames begin at the loop that called.
 */

#define CFRAME_OFF 0xb0 /* from the stack pointer, as in Debian's python3.11 */
#define OLD_BYTES  5    /* of a _PyCFrame that is not filled; a register has them, too */

#if defined(__x86_64__)
static void add_memory(uint64_t addr, const void *bytes, size_t size)
{
	struct piece piece = { addr, size, xmalloc(size) };

	memcpy(piece.bytes, bytes, size);
	vec_push(&frozen.memory, piece);
}

static void set_word(uint64_t addr, uint64_t value)
{
	vec_foreach (&frozen.memory, p)
		if (addr >= p->addr && addr + sizeof(value) <= p->addr + p->size)
			memcpy(p->bytes + (addr - p->addr), &value, sizeof(value));
}

/* The frames of a stack that stopped there; `is_own`: the thread has the new loop's _PyCFrame. */
static void walk_begun_loop(bool is_own, struct buf *out)
{
	struct work *w = &frozen.work;
	__u64 caller[6] = { 0 };
	__u64 thread, cframe;

	begin_frozen();
	memset(w->registers, 0, sizeof(w->registers));
	w->registers[0] = OLD_BYTES;
	assert_true(
		thread_value(w->lang.runtime.libc, w->lang.base + w->lang.runtime.state, &thread));
	assert_true(read_word(thread + w->lang.runtime.python.thread_frame, &cframe));
	w->regs.sp = cframe - CFRAME_OFF;
	if (is_own) { /* the caller's is 16 bytes further: its call has arguments on the stack */
		assert_true(read_word(cframe + w->lang.runtime.python.cframe_frame, &caller[3]));
		add_memory(cframe + 0x1000 + CFRAME_OFF, caller, sizeof(caller));
		set_word(cframe + w->lang.runtime.python.cframe_frame, OLD_BYTES);
	}
	assert_true(find_in_steps(0x60));
	assert_true(w->lang.unfilled && !w->lang.cursor);
	if (is_own)
		w->regs.sp = cframe + 0x1000;
	walk_frames(out);
}

/*
 * A thread that has released the lock in the second of two interpreters has a state with frames in
 * both. Nothing tells the innermost one.
 */
static void a_thread_without_the_lock_in_two_interpreters_has_no_state(void **state)
{
	static const char *const files[] = { "python-3.9-nested", "python-3.11-nested" };
	struct work *w = &frozen.work;
	struct buf expected = { 0 };
	struct buf got = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[512];
		uint64_t current;

		snprintf(path, sizeof(path), "%s/%s.frozen", FROZEN_DIR, files[i]);
		thaw(path, &expected);
		current = w->lang.base + w->lang.runtime.python.current_at;
		vec_foreach (&frozen.memory, p)
			if (p->addr == current)
				memset(p->bytes, 0, p->size);
		got.len = 0;
		walk_frozen(&got);
		assert_string_equal(buf_cstr(&got), "no state\n");
	}
	buf_fini(&got);
	buf_fini(&expected);
	forget_memory();
}

static void a_loop_that_begins_has_the_frames_of_its_caller(void **state)
{
	struct buf expected = { 0 };
	struct buf got = { 0 };

	(void)state;
	for (int is_own = 0; is_own < 2; is_own++) {
		thaw(FROZEN_DIR "/python-3.11.frozen", &expected);
		got.len = 0;
		walk_begun_loop(is_own, &got);
		assert_string_equal(buf_cstr(&got), buf_cstr(&expected));
	}
	/* Without a caller, there is no frame. */
	thaw(FROZEN_DIR "/python-3.11.frozen", &expected);
	frozen.work.regs.sp = 0;
	begin_frozen();
	frozen.work.lang.unfilled = 1;
	frozen.n_losses = 0;
	got.len = 0;
	walk_frames(&got);
	assert_string_equal(buf_cstr(&got), "frame --\n");
	assert_int_equal(frozen.n_losses, 1);
	buf_fini(&got);
	buf_fini(&expected);
	forget_memory();
}
#endif

#if defined(__x86_64__)
/* Generators one behind the other: each waits for the next. */
#define GENERATORS       0x700000
#define GENERATOR_SIZE   0x100
#define GENERATOR_FRAME  56
#define GENERATOR_PARENT 152

static void make_generators(uint32_t n, uint64_t last_parent)
{
	forget_memory();
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = GENERATORS + i * GENERATOR_SIZE, frame = 0x1000 + i;
		uint64_t parent = i + 1 < n ? at + GENERATOR_SIZE : last_parent;

		add_memory(at + GENERATOR_FRAME, &frame, sizeof(frame));
		add_memory(at + GENERATOR_PARENT, &parent, sizeof(parent));
	}
}

/* The frames of those that wait. */
static uint32_t count_waiting(uint32_t n, uint64_t last_parent)
{
	make_generators(n, last_parent);
	frozen.n_losses = 0;
	frozen.work.lang.n_waiting = 0;
	php_add_waiting(0, GENERATORS, GENERATOR_FRAME);
	return frozen.work.lang.n_waiting;
}

static void all_generators_that_wait_have_a_frame_or_none(void **state)
{
	(void)state;
	memset(&frozen.work, 0, sizeof(frozen.work));
	assert_int_equal(count_waiting(1, 0), 0);
	assert_int_equal(count_waiting(101, 0), 100);
	assert_int_equal(frozen.work.lang.waiting[0], 0x1000);
	assert_int_equal(frozen.work.lang.waiting[99], 0x1000 + 99);
	assert_int_equal(count_waiting(PHP_WAITING_MAX, 0), PHP_WAITING_MAX - 1);
	assert_int_equal(frozen.n_losses, 0);
	assert_int_equal(count_waiting(PHP_WAITING_MAX + 1, 0), 0);
	assert_int_equal(frozen.n_losses, 1);
	assert_int_equal(count_waiting(3, GENERATORS), 0); /* a circle */
	assert_int_equal(frozen.n_losses, 1);
	assert_int_equal(count_waiting(3, 0x100), 0); /* no memory */
	assert_int_equal(frozen.n_losses, 1);
	forget_memory();
}
#endif

/* Freezing. */

static bool find_runtime(int32_t pid)
{
	struct work *w = &frozen.work;
	char name[64], path[512], line[1024], why[128];
	unsigned long long start, end, off;
	bool is_found = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && !is_found && fgets(line, sizeof(line), maps)) {
		struct file_mapping file;
		struct elf_file elf;

		if (sscanf(line, "%llx-%llx r-xp %llx %*s %*s %511s", &start, &end, &off, path) !=
			    4 ||
		    file_map(path, &file, NULL) < 0)
			continue;
		is_found = elf_file_open(&elf, file.base, file.size, NULL) == 0 &&
			   lang_detect(&elf, &w->lang.runtime, why, sizeof(why)) == LANG_FOUND;
		w->lang.base = start - off;
		file_unmap(&file);
	}
	if (maps)
		fclose(maps);
	return is_found;
}

static void print_bytes(const char *word, uint64_t addr, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	printf("%s ", word);
	if (addr)
		printf("%llx ", (unsigned long long)addr);
	for (size_t i = 0; i < size; i++)
		printf("%02x", at[i]);
	printf("\n");
}

static bool is_printed(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (frozen.memory.data[k].addr == frozen.memory.data[i].addr &&
		    frozen.memory.data[k].size >= frozen.memory.data[i].size)
			return true;
	return false;
}

#if defined(__x86_64__)
static void read_thread(int32_t pid)
{
	struct user_regs_struct regs;

	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	memcpy(frozen.work.registers, &regs, MIN(sizeof(regs), sizeof(frozen.work.registers)));
	frozen.thread_pointer = regs.fs_base;
}
#else
static void read_thread(int32_t pid)
{
	struct iovec registers = { frozen.work.registers, sizeof(frozen.work.registers) };
	struct iovec pointer = { &frozen.thread_pointer, sizeof(frozen.thread_pointer) };

	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &registers);
	ptrace(PTRACE_GETREGSET, pid, NT_ARM_TLS, &pointer);
}
#endif

static int freeze(int32_t pid)
{
	struct work *w = &frozen.work;
	struct buf frames = { 0 };

	if (!find_runtime(pid) || ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0) {
		fprintf(stderr, "%d: no runtime, or not to be stopped: %s\n", pid, strerror(errno));
		return 1;
	}
	waitpid(pid, NULL, __WALL);
	read_thread(pid);
	frozen.tid = (uint32_t)pid;
	frozen.pid = pid;
	walk_frozen(&frames);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	print_bytes("runtime", 0, &w->lang.runtime, sizeof(w->lang.runtime));
	printf("base %llx\nthread %llx %x\n", (unsigned long long)w->lang.base,
	       (unsigned long long)frozen.thread_pointer, frozen.tid);
	for (size_t i = 0; i < N_USER_REGS; i++)
		printf("register %zx %llx\n", i, (unsigned long long)w->registers[i]);
	for (size_t i = 0; i < frozen.memory.n; i++)
		if (!is_printed(i))
			print_bytes("memory", frozen.memory.data[i].addr,
				    frozen.memory.data[i].bytes, frozen.memory.data[i].size);
	printf("%s", buf_cstr(&frames));
	buf_fini(&frames);
	forget_memory();
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frozen_stack_has_its_frames),
		cmocka_unit_test(a_damaged_stack_does_no_harm),
#if defined(__x86_64__)
		cmocka_unit_test(a_loop_that_begins_has_the_frames_of_its_caller),
		cmocka_unit_test(a_thread_without_the_lock_in_two_interpreters_has_no_state),
		cmocka_unit_test(all_generators_that_wait_have_a_frame_or_none),
#endif
	};

	if (argc == 3 && !strcmp(argv[1], "--freeze"))
		return freeze(atoi(argv[2]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
