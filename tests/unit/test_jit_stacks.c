/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Java and JavaScript of threads that were frozen: tests/data/frozen/LANGUAGE-*.stack has
 * the memory that a walk of one stack reads, for a version of HotSpot or V8. So every machine tests
 * every version.
 *
 *   test_jit_stacks --freeze PID TID [BYTES]     stops a thread in such code and writes a file with
 *                                                so much of its stack; as root
 *
 * A file has lines of words. Numbers are hexadecimal. Of HotSpot's table of fields, it has those
 * of some types alone.
 *
 *   runtime BYTES             struct lang_runtime
 *   mapping START END OFF PATH
 *   register NUMBER VALUE     by perf's numbers
 *   stack ADDRESS BYTES
 *   memory ADDRESS BYTES
 *   frame NAME | FILE:LINE    what the walk must find, innermost first
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
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
#include "lang/hotspot.h"
#include "lang/language.h"
#include "lang/v8.h"
#include "pipeline/java_process.h"
#include "pipeline/user_stacks.h"

#define FROZEN_DIR  ASSAY_SRC "/../tests/data/frozen"
#define FROZEN_PID  1000
#define STACK_BYTES (4 << 10)

/* Registers of a sample, by perf's numbers (asm/perf_regs.h). */
enum {
	REGISTER_BP = 6,
	REGISTER_SP = 7,
	REGISTER_IP = 8,
	REGISTER_R9 = 17,
	REGISTER_R12 = 20,
	REGISTER_R13 = 21,
	N_REGS = 22
};

struct piece {
	uint64_t addr;
	size_t size;
	uint8_t *bytes;
	bool is_used;
};

struct frozen_mapping {
	uint64_t start, end, off;
	char path[256];
};

static struct {
	struct lang_runtime runtime;
	uint64_t registers[N_REGS];
	struct piece stack;
	VEC(struct frozen_mapping) mappings;
	VEC(struct piece) memory;
	VEC(struct lang_code) codes;
	uint64_t losses[N_LOSS_REASONS];
	uint32_t n_reads;
	int32_t pid; /* freezing: reads this process, and keeps its bytes */
} frozen;

/* ---- memory ---- */

static bool read_live(int32_t pid, void *value, size_t size, uint64_t addr)
{
	struct iovec here = { value, size };
	struct iovec there = { (void *)(uintptr_t)addr, size }; /* NOLINT: an address */

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool read_frozen(void *context, uint64_t addr, void *out, size_t size)
{
	struct piece piece = { addr, size, NULL, true };

	(void)context;
	vec_foreach (&frozen.memory, p)
		if (addr >= p->addr && size <= p->size && addr - p->addr <= p->size - size) {
			memcpy(out, p->bytes + (addr - p->addr), size);
			p->is_used = true;
			return true;
		}
	if (!frozen.pid || !read_live(frozen.pid, out, size, addr))
		return false;
	piece.bytes = xmalloc(size);
	memcpy(piece.bytes, out, size);
	vec_push(&frozen.memory, piece);
	return true;
}

static const struct lang_memory frozen_memory = { read_frozen, NULL };

static void forget_frozen(void)
{
	vec_foreach (&frozen.memory, p)
		free(p->bytes);
	free(frozen.stack.bytes);
	vec_fini(&frozen.memory);
	vec_fini(&frozen.mappings);
	vec_fini(&frozen.codes);
	memset(&frozen, 0, sizeof(frozen));
}

/* ---- walks ---- */

static const struct lang_runtime *frozen_runtime(void *context, int32_t pid, image_id image)
{
	(void)context, (void)pid, (void)image;
	return &frozen.runtime;
}

static bool look_for_frozen(void *context, int32_t pid, image_id image,
			    const struct lang_runtime **runtime)
{
	(void)context, (void)pid, (void)image;
	*runtime = &frozen.runtime;
	return true;
}

static bool learn_code(void *context, int32_t pid, const struct lang_code *code)
{
	(void)context, (void)pid;
	vec_push(&frozen.codes, *code);
	return true;
}

static void count_loss(void *context, enum loss_reason reason)
{
	(void)context;
	frozen.losses[reason]++;
}

static struct machine *frozen_machine(void)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });

	machine_event(machine, &(struct event){ .type = EVENT_COMM,
						.pid = FROZEN_PID,
						.tid = FROZEN_PID,
						.comm = { "frozen", true } });
	vec_foreach (&frozen.mappings, m)
		machine_event(machine, &(struct event){ .type = EVENT_MAPPING,
							.pid = FROZEN_PID,
							.tid = FROZEN_PID,
							.mapping = { .start = m->start,
								     .size = m->end - m->start,
								     .file_off = m->off,
								     .path = m->path,
								     .is_executable = true } });
	return machine;
}

static void append_frame(struct buf *out, const struct lang_frame *frame)
{
	vec_foreach (&frozen.codes, c) {
		if (c->pointer != frame->pointer || c->check != frame->check)
			continue;
		buf_str(out, "frame ");
		lang_append_name(c, out);
		buf_str(out, " | ");
		lang_append_file(c, out);
		buf_printf(out, ":%u\n", lang_line(c, frame->position));
		return;
	}
	buf_str(out, "frame ?\n");
}

static void walk_thread(struct machine *machine, struct user_stacks *stacks, struct buf *out)
{
	struct thread_view thread = machine_thread(machine, FROZEN_PID, FROZEN_PID);
	const struct sample_extra extra = {
		.user = { .abi = PERF_SAMPLE_REGS_ABI_64,
			  .mask = (1u << N_REGS) - 1,
			  .values = frozen.registers,
			  .n_values = N_REGS },
		.stack = frozen.stack.bytes,
		.stack_size = frozen.stack.size,
	};
	const struct event sample = { .type = EVENT_SAMPLE,
				      .pid = FROZEN_PID,
				      .tid = FROZEN_PID,
				      .time_ns = 1,
				      .sample = { .ip = frozen.registers[REGISTER_IP],
						  .extra = &extra } };
	struct user_chain chain = user_stacks_walk(stacks, &sample, &thread);

	for (uint32_t i = 0; i < chain.runs.n; i++) {
		assert_true(chain.runs.data[i].at < chain.n);
		for (uint32_t k = 0; k < chain.runs.data[i].n; k++)
			append_frame(out, &chain.runs.data[i].frames[k]);
	}
}

/* The walk that meets V8's file has no names yet; the second one has. */
static void walk_frozen(struct buf *out)
{
	struct machine *machine = frozen_machine();
	struct java_stacks *java =
		java_stacks_new(&(struct java_stacks_config){ .machine = machine,
							      .proc = "/absent",
							      .memory = &frozen_memory,
							      .runtime = frozen_runtime,
							      .learn = learn_code,
							      .lose = count_loss });
	struct v8_stacks *v8 = v8_stacks_new(&(struct v8_stacks_config){ .machine = machine,
									 .proc = "/absent",
									 .memory = &frozen_memory,
									 .look = look_for_frozen,
									 .learn = learn_code,
									 .lose = count_loss });
	struct user_stacks *stacks = user_stacks_new(&(struct user_stacks_config){
		.machine = machine, .arch = "x86_64", .java = java, .v8 = v8 });

	if (frozen.runtime.language == LANGUAGE_JAVASCRIPT) {
		walk_thread(machine, stacks, out);
		assert_int_equal(out->len, 0);
		assert_int_equal(frozen.losses[LOSS_JAVASCRIPT_EARLY], 1);
		frozen.losses[LOSS_JAVASCRIPT_EARLY] = 0;
	}
	walk_thread(machine, stacks, out);
	user_stacks_free(stacks);
	java_stacks_free(java);
	v8_stacks_free(v8);
	machine_free(machine);
}

/* ---- files ---- */

static size_t bytes_of_hex(const char *text, uint8_t *out, size_t size)
{
	size_t n = 0;
	unsigned int byte;

	for (; n < size && sscanf(text, "%2x", &byte) == 1; text += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static struct piece piece_of(uint64_t addr, const char *hex)
{
	struct piece piece = { .addr = addr, .bytes = xmalloc(strlen(hex) + 1) };

	piece.size = bytes_of_hex(hex, piece.bytes, strlen(hex));
	return piece;
}

static void thaw_line(char *line, struct buf *expected)
{
	struct frozen_mapping m;
	unsigned long long a, b, c;
	int at = 0;

	if (!strncmp(line, "frame ", 6)) {
		buf_str(expected, line);
		buf_str(expected, "\n");
	} else if (sscanf(line, "runtime %n", &at) == 0 && at) {
		bytes_of_hex(line + at, (uint8_t *)&frozen.runtime, sizeof(frozen.runtime));
	} else if (sscanf(line, "mapping %llx %llx %llx %255s", &a, &b, &c, m.path) == 4) {
		m.start = a;
		m.end = b;
		m.off = c;
		vec_push(&frozen.mappings, m);
	} else if (sscanf(line, "register %llx %llx", &a, &b) == 2) {
		frozen.registers[a % N_REGS] = b;
	} else if (sscanf(line, "stack %llx %n", &a, &at) == 1) {
		frozen.stack = piece_of(a, line + at);
	} else if (sscanf(line, "memory %llx %n", &a, &at) == 1) {
		vec_push(&frozen.memory, piece_of(a, line + at));
	}
}

static void thaw(const char *path, struct buf *expected)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(file);
	forget_frozen();
	expected->len = 0;
	while ((n = getline(&line, &room, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		thaw_line(line, expected);
	}
	free(line);
	fclose(file);
}

typedef void frozen_test(const char *path, const struct buf *expected);

static void each_frozen_file(const char *language, frozen_test *test)
{
	DIR *dir = opendir(FROZEN_DIR);
	struct buf expected = { 0 };
	struct dirent *entry;
	unsigned int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[512];

		if (fnmatch(language, entry->d_name, 0) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", FROZEN_DIR, entry->d_name);
		thaw(path, &expected);
		test(path, &expected);
		n++;
	}
	closedir(dir);
	buf_fini(&expected);
	forget_frozen();
	assert_true(n > 0);
}

static void check_stack(const char *path, const struct buf *expected)
{
	struct buf got = { 0 }, wanted = { 0 };

	buf_bytes(&wanted, expected->data, expected->len);
	walk_frozen(&got);
	if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
		print_message("%s:\n", path);
	assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
	for (int i = LOSS_JAVA_STATE; i <= LOSS_JAVASCRIPT_COLLECTOR; i++) {
		if (frozen.losses[i])
			print_message("%s: %s\n", path, loss_texts[i].key);
		assert_int_equal(frozen.losses[i], 0);
	}
	buf_fini(&got);
	buf_fini(&wanted);
}

static void a_frozen_stack_has_its_frames(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_stack);
}

/* A walk ends, and reads within its bounds, whatever the memory has. */
static void check_damaged(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	uint32_t random = 1;

	(void)path, (void)expected;
	for (int round = 0; round < 50; round++) {
		vec_foreach (&frozen.memory, p)
			for (size_t i = 0; i < p->size; i++) {
				random = random * 1664525 + 1013904223;
				if (random >> 20 < 2)
					p->bytes[i] = (uint8_t)(random >> 8);
			}
		got.len = 0;
		frozen.codes.n = 0;
		walk_frozen(&got);
		assert_null(strstr(buf_cstr(&got), "frame ?"));
	}
	buf_fini(&got);
}

static void a_damaged_stack_does_no_harm(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_damaged);
}

static bool read_endless(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context, (void)addr;
	frozen.n_reads++;
	memset(out, 1, size);
	return true;
}

static void reads_of_a_process_have_a_budget(void **state)
{
	const struct lang_memory endless = { read_endless, NULL };
	struct java_process *p = java_process_new(1, &endless);
	struct hotspot_blob blob;

	(void)state;
	p->vm = (struct hotspot){ .memory = java_process_memory(p),
				  .heaps = { { 0x1000, 0x100000, 0x2000, 7 } },
				  .n_heaps = 1 };
	p->n_reads = 3;
	frozen.n_reads = 0;
	assert_false(hotspot_find_blob(&p->vm, 0x80000, &blob));
	assert_int_equal(frozen.n_reads, 3);
	assert_true(!java_process_blob(p, 0x80000, 1) && !p->is_gone);
	java_process_free(p);
}

/* The piece with the number of a version, by the address in the table of fields. */
static struct piece *version_of(void)
{
	struct hotspot h;
	const struct frozen_mapping *m = frozen.mappings.data;

	while (!strstr(m->path, "libjvm"))
		m++;
	assert_int_equal(hotspot_open(&h, &frozen_memory, &frozen.runtime, m->start - m->off),
			 HOTSPOT_READY);
	vec_foreach (&frozen.memory, p)
		if (p->addr == h.fields[VM_MAJOR] && p->size == sizeof(uint32_t))
			return p;
	fail();
	return NULL;
}

static void check_other_version(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	(void)path, (void)expected;
	version_of()->bytes[0] = 99;
	walk_frozen(&got);
	assert_int_equal(got.len, 0);
	assert_int_equal(frozen.losses[LOSS_JAVA_VERSION], 1);
	buf_fini(&got);
}

static void a_version_that_is_not_known_is_refused_and_counted(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_other_version);
}

/* A method that its class does not list has no name, and the stack ends there. */
static void check_without_methods(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	(void)path, (void)expected;
	vec_foreach (&frozen.memory, p)
		if (p->size % 8 == 0 && p->size <= 256 * 8)
			for (size_t i = 0; i < p->size; i += 8)
				vec_foreach (&frozen.codes, c)
					if (!memcmp(p->bytes + i, &c->pointer, 8))
						p->bytes[i] ^= 8;
	frozen.codes.n = 0;
	walk_frozen(&got);
	vec_foreach (&frozen.codes, c)
		assert_int_equal(c->scope.size, 0); /* stubs alone */
	assert_true(frozen.losses[LOSS_JAVA_NAME] > 0 || frozen.losses[LOSS_JAVA_FRAME] > 0 ||
		    !strstr(buf_cstr(&got), ".java"));
	buf_fini(&got);
}

static void walk_then_hide_methods(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	walk_frozen(&got);
	buf_fini(&got);
	check_without_methods(path, expected);
}

static void nothing_is_a_method_that_its_class_does_not_list(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", walk_then_hide_methods);
}

/* ---- freezing ---- */

#if defined(__x86_64__)
/* The name of a runtime's file in frozen files; NULL: the path is none's. */
static const char *frozen_path(const char *path)
{
	if (strstr(path, "/libjvm.so"))
		return "/frozen/libjvm.so";
	if (strstr(path, "/libnode.so"))
		return "/frozen/libnode.so";
	return strstr(path, "/bin/node") ? "/frozen/node" : NULL;
}

static void find_mappings(int32_t pid)
{
	char name[64], line[1024];
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		struct frozen_mapping m = { .path = "//anon" };
		unsigned long long start, end, off;
		char rights[8];
		struct file_mapping file;
		struct elf_file elf;
		char why[128];

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, rights, &off,
			   m.path) < 4 ||
		    rights[2] != 'x' ||
		    (m.path[0] == '/' && m.path[1] != '/' && !frozen_path(m.path)))
			continue;
		m.start = start;
		m.end = end;
		m.off = off;
		if (frozen_path(m.path)) {
			char root[512];
			struct lang_runtime runtime;

			snprintf(root, sizeof(root), "/proc/%d/root%s", pid, m.path);
			if (file_map(m.path, &file, NULL) < 0) /* in another mount namespace */
				assert_int_equal(file_map(root, &file, NULL), 0);
			if (elf_file_open(&elf, file.base, file.size, NULL) == 0 &&
			    lang_detect(&elf, &runtime, why, sizeof(why)) == LANG_FOUND)
				frozen.runtime = runtime;
			file_unmap(&file);
			strcpy(m.path, frozen_path(m.path));
		}
		if (m.path[0] == '/')
			vec_push(&frozen.mappings, m);
	}
	if (maps)
		fclose(maps);
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

/* Entries of HotSpot's tables of fields and types (lang/hotspot.c). */
enum { FIELD_ENTRY_SIZE = 48, TYPE_ENTRY_SIZE = 40 };

static bool is_kept(uint64_t type_at)
{
	static const char *const types[] = {
		"CodeCache",      "Abstract_VM_Version",
		"StubRoutines",   "GrowableArrayBase",
		"CodeHeap",       "GrowableArray<int>",
		"VirtualSpace",   "HeapBlock::Header",
		"HeapBlock",      "CodeBlob",
		"CompiledMethod", "nmethod",
		"PcDesc",         "Method",
		"ConstMethod",    "ConstantPool",
		"Klass",          "Symbol",
		"InstanceKlass",  "Array<int>",
		"Array<Method*>", "GenericGrowableArray",
	};
	char type[64] = "";

	read_live(frozen.pid, type, sizeof(type) - 1, type_at);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

/* The tables have some 2,000 entries, and most are of no use here. Both begin with the type. */
static void trim_table(size_t entry_size)
{
	uint64_t at = 0, next = 0;
	size_t kept = 0;

	vec_foreach (&frozen.memory, p) {
		bool is_entry = p->size == entry_size && (!next || p->addr == next);
		uint64_t type = 0;

		if (is_entry)
			memcpy(&type, p->bytes, sizeof(type));
		at = is_entry && !at ? p->addr : at;
		next = is_entry ? p->addr + entry_size : next;
		if (is_entry && type && !is_kept(type)) {
			free(p->bytes);
			continue;
		}
		if (is_entry) {
			p->addr = at;
			at += entry_size;
		}
		frozen.memory.data[kept++] = *p;
	}
	frozen.memory.n = kept;
}

/* Walks again, without the process. */
static void keep_used(struct buf *frames)
{
	size_t kept = 0;

	frozen.pid = 0;
	frames->len = 0;
	vec_foreach (&frozen.memory, p)
		p->is_used = false;
	walk_frozen(frames);
	vec_foreach (&frozen.memory, p)
		if (p->is_used)
			frozen.memory.data[kept++] = *p;
		else
			free(p->bytes);
	frozen.memory.n = kept;
}

static void print_frozen(struct buf *frames)
{
	print_bytes("runtime", 0, &frozen.runtime, sizeof(frozen.runtime));
	vec_foreach (&frozen.mappings, m)
		printf("mapping %llx %llx %llx %s\n", (unsigned long long)m->start,
		       (unsigned long long)m->end, (unsigned long long)m->off, m->path);
	for (int i = 0; i < N_REGS; i++)
		if (frozen.registers[i])
			printf("register %x %llx\n", (unsigned int)i,
			       (unsigned long long)frozen.registers[i]);
	print_bytes("stack", frozen.stack.addr, frozen.stack.bytes, frozen.stack.size);
	vec_foreach (&frozen.memory, p)
		print_bytes("memory", p->addr, p->bytes, p->size);
	printf("%s", buf_cstr(frames));
}

static int freeze(int32_t pid, int32_t tid, size_t size)
{
	struct user_regs_struct regs;
	struct buf frames = { 0 };

	frozen.pid = pid;
	find_mappings(pid);
	if (ptrace(PTRACE_ATTACH, tid, NULL, NULL) < 0) {
		fprintf(stderr, "%d: can't be stopped: %s\n", tid, strerror(errno));
		return 1;
	}
	waitpid(tid, NULL, __WALL);
	ptrace(PTRACE_GETREGS, tid, NULL, &regs);
	frozen.registers[REGISTER_BP] = regs.rbp;
	frozen.registers[REGISTER_SP] = regs.rsp;
	frozen.registers[REGISTER_IP] = regs.rip;
	frozen.registers[REGISTER_R9] = regs.r9;
	frozen.registers[REGISTER_R12] = regs.r12;
	frozen.registers[REGISTER_R13] = regs.r13;
	frozen.stack = (struct piece){ regs.rsp, size, xcalloc(1, size) };
	while (size && !read_live(pid, frozen.stack.bytes, size, regs.rsp))
		size -= 8;
	frozen.stack.size = size;
	walk_frozen(&frames);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (frozen.runtime.language == LANGUAGE_JAVA) {
		trim_table(FIELD_ENTRY_SIZE);
		trim_table(TYPE_ENTRY_SIZE);
	}
	keep_used(&frames);
	print_frozen(&frames);
	buf_fini(&frames);
	forget_frozen();
	return 0;
}
#else
static int freeze(int32_t pid, int32_t tid, size_t size)
{
	(void)pid, (void)tid, (void)size;
	return 1;
}
#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frozen_stack_has_its_frames),
		cmocka_unit_test(a_damaged_stack_does_no_harm),
		cmocka_unit_test(reads_of_a_process_have_a_budget),
		cmocka_unit_test(a_version_that_is_not_known_is_refused_and_counted),
		cmocka_unit_test(nothing_is_a_method_that_its_class_does_not_list),
	};

	if (argc >= 4 && !strcmp(argv[1], "--freeze"))
		return freeze(atoi(argv[2]), atoi(argv[3]),
			      argc > 4 ? (size_t)atoi(argv[4]) : STACK_BYTES);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
