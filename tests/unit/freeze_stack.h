/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Freezes a thread of Java or JavaScript into a file, for test_jit_stacks.c, which says how. */
#pragma once

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/files/file.h"
#include "elf/elf_file.h"
#include "frozen_stacks.h"
#include "lang/detect.h"

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

/*
 * The tables have some 2,000 entries, and most are of no use here. Both begin with the type.
 * `pointer`: where the library has the table's address.
 */
static void trim_table(uint64_t pointer, size_t entry_size)
{
	const struct frozen_mapping *m = frozen.mappings.data;
	uint64_t at = 0, next = 0;
	size_t kept = 0;

	while (!strstr(m->path, "libjvm"))
		m++;
	read_live(frozen.pid, &next, sizeof(next), m->start - m->off + pointer);
	vec_foreach (&frozen.memory, p) {
		bool is_entry = p->size == entry_size && p->addr == next;
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

/* Returns the stack pointer. */
static uint64_t keep_registers(int32_t tid)
{
	struct user_regs_struct regs = { 0 };
	struct iovec all = { &regs, sizeof(regs) };

	ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all);
#if defined(__aarch64__)
	memcpy(frozen.registers, regs.regs, sizeof(regs.regs));
	frozen.registers[REGISTER_PC] = regs.pc;
	return frozen.registers[REGISTER_SP_AARCH64] = regs.sp;
#else
	frozen.registers[REGISTER_BP] = regs.rbp;
	frozen.registers[REGISTER_IP] = regs.rip;
	frozen.registers[REGISTER_R9] = regs.r9;
	frozen.registers[REGISTER_R12] = regs.r12;
	frozen.registers[REGISTER_R13] = regs.r13;
	return frozen.registers[REGISTER_SP] = regs.rsp;
#endif
}

static int freeze(int32_t pid, int32_t tid, size_t size)
{
	struct buf frames = { 0 };
	uint64_t sp;

	frozen.pid = pid;
	find_mappings(pid);
	if (ptrace(PTRACE_ATTACH, tid, NULL, NULL) < 0) {
		fprintf(stderr, "%d: can't be stopped: %s\n", tid, strerror(errno));
		return 1;
	}
	waitpid(tid, NULL, __WALL);
	sp = keep_registers(tid);
	frozen.stack = (struct piece){ sp, size, xcalloc(1, size) };
	while (size && !read_live(pid, frozen.stack.bytes, size, sp))
		size -= 8;
	frozen.stack.size = size;
	walk_frozen(&frames);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (frozen.runtime.language == LANGUAGE_JAVA) {
		trim_table(frozen.runtime.state, FIELD_ENTRY_SIZE);
		trim_table(frozen.runtime.code_type, TYPE_ENTRY_SIZE);
	}
	keep_used(&frames);
	print_frozen(&frames);
	buf_fini(&frames);
	forget_frozen();
	return 0;
}
