/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of real processes, for tests and benchmarks of src/unwind. It has the executable mappings
 * of a traced process with their unwind tables. It also has the registers and stack bytes, as the
 * kernel would copy them into a sample.
 */
#pragma once

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "unwind/walk.h"

struct world_image {
	char path[PATH_MAX];
	struct file_mapping file;
	void *bytes; /* of the vdso, which is no file */
	struct elf_file elf;
	struct unwind_header *block; /* NULL: no table */
	struct unwind_table table;
};

struct world_map {
	uint64_t start, end, file_off;
	int32_t image; /* -1: none */
};

struct world {
	pid_t pid;
	VEC(struct world_map) maps;
	VEC(struct world_image) images;
};

struct world_sample {
	uint64_t pc, sp, fp, lr; /* lr: AArch64 */
	uint64_t dwarf[33];      /* by DWARF number */
	uint32_t n_dwarf;
	uint8_t *stack;
	size_t stack_size;
	uint8_t red_zone[128]; /* below the stack pointer: for references, samples don't have it */
};

static inline size_t world_read(pid_t pid, uint64_t addr, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)addr, size };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static inline int32_t world_image(struct world *w, const char *path, uint64_t start, uint64_t end)
{
	struct world_image *image;
	const void *bytes;
	size_t size;

	for (size_t i = 0; i < w->images.n; i++)
		if (!strcmp(w->images.data[i].path, path))
			return (int32_t)i;
	image = vec_add(&w->images);
	snprintf(image->path, sizeof(image->path), "%s", path);
	if (path[0] == '/') {
		if (file_map(path, &image->file, NULL) < 0)
			return -1;
		bytes = image->file.base;
		size = image->file.size;
	} else {
		image->bytes = xmalloc((size_t)(end - start));
		size = world_read(w->pid, start, image->bytes, (size_t)(end - start));
		bytes = image->bytes;
	}
	if (elf_file_open(&image->elf, bytes, size, NULL) < 0 ||
	    unwind_build(&image->elf, NULL, &image->block, NULL) < 0)
		return (int32_t)w->images.n - 1;
	unwind_table_open(&image->table, image->block, (size_t)image->block->size);
	return (int32_t)w->images.n - 1;
}

/* Reads the executable mappings anew; tables that are there are kept. True if they changed. */
static inline bool world_look(struct world *w, pid_t pid)
{
	char *name = xasprintf("/proc/%d/maps", (int)pid), line[512];
	FILE *f = fopen(name, "r");
	struct world_map *old = w->maps.data;
	size_t n_old = w->maps.n;
	bool is_changed;

	free(name);
	w->pid = pid;
	w->maps.data = NULL;
	w->maps.n = w->maps.cap = 0;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, off;
		char access[8] = "", path[256] = "";

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255[^\n]", &start, &end, access, &off,
			   path) < 4 ||
		    access[2] != 'x')
			continue;
		vec_push(&w->maps, (struct world_map){
					   .start = start,
					   .end = end,
					   .file_off = off,
					   .image = path[0] == '/' || !strcmp(path, "[vdso]")
							    ? world_image(w, path, start, end)
							    : -1,
				   });
	}
	if (f)
		fclose(f);
	is_changed = n_old != w->maps.n ||
		     (n_old && memcmp(old, w->maps.data, n_old * sizeof(*old)) != 0);
	free(old);
	return is_changed;
}

static inline void world_fini(struct world *w)
{
	vec_foreach (&w->images, image) {
		file_unmap(&image->file);
		free(image->bytes);
		free(image->block);
	}
	vec_fini(&w->images);
	vec_fini(&w->maps);
}

static inline const struct world_map *world_map_at(const struct world *w, uint64_t pc)
{
	size_t first = 0, n = w->maps.n;

	while (n > 0) {
		size_t half = n / 2;

		if (w->maps.data[first + half].end <= pc) {
			first += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return first < w->maps.n && w->maps.data[first].start <= pc ? &w->maps.data[first] : NULL;
}

static inline enum unwind_where world_find(void *ctx, uint64_t pc, struct unwind_place *place)
{
	struct world *w = ctx;
	const struct world_map *map = world_map_at(w, pc);

	if (!map)
		return UNWIND_AT_NOTHING;
	if (map->image < 0 || !w->images.data[map->image].block)
		return UNWIND_AT_CODE;
	place->table = &w->images.data[map->image].table;
	place->file_off = pc - map->start + map->file_off;
	place->start = map->start;
	place->end = map->end;
	return UNWIND_AT_TABLE;
}

/* Starts a command that stops in its exec, traced. -1 if it can't be. */
static inline pid_t world_start(char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "r", stdin) ||
		    !freopen("/dev/null", "w", stderr) || ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
	return pid;
}

static inline void world_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One instruction further. False when the process is gone; signals are delivered. */
static inline bool world_step(pid_t pid)
{
	static int signal_due;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal_due) < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status))
		return false;
	signal_due = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	return true;
}

/* Runs for a while, then stops it. False when the process is gone. */
static inline bool world_run(pid_t pid, useconds_t us)
{
	int status;

	if (ptrace(PTRACE_CONT, pid, 0, 0) < 0)
		return false;
	usleep(us);
	kill(pid, SIGSTOP);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	while (WSTOPSIG(status) != SIGSTOP) {
		int due = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

		if (ptrace(PTRACE_CONT, pid, 0, due) < 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return false;
	}
	return true;
}

static inline bool world_registers(pid_t pid, struct world_sample *out)
{
	struct user_regs_struct r;
	struct iovec all = { &r, sizeof(r) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
		return false;
#if defined(__x86_64__)
	const uint64_t dwarf[] = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				   r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip };

	out->n_dwarf = ARRAY_SIZE(dwarf);
	memcpy(out->dwarf, dwarf, sizeof(dwarf));
	out->pc = r.rip;
	out->sp = r.rsp;
	out->fp = r.rbp;
#else
	out->n_dwarf = ARRAY_SIZE(out->dwarf);
	memcpy(out->dwarf, r.regs, sizeof(r.regs));
	out->pc = out->dwarf[32] = r.pc;
	out->sp = out->dwarf[31] = r.sp;
	out->fp = r.regs[29];
	out->lr = r.regs[30];
#endif
	return true;
}

/* What a sample of a stopped process would hold. The stack bytes are the caller's to free. */
static inline bool world_sample(pid_t pid, size_t stack_size, struct world_sample *out)
{
	const uint64_t page = 4096;
	size_t left;

	if (!world_registers(pid, out))
		return false;
	world_read(pid, out->sp - sizeof(out->red_zone), out->red_zone, sizeof(out->red_zone));
	out->stack = xmalloc(stack_size);
	out->stack_size = world_read(pid, out->sp, out->stack, stack_size);
	/* At the stack's end a read of all fails: as many whole pages as there are. */
	for (left = stack_size; !out->stack_size && left > page; left -= page)
		out->stack_size = world_read(pid, out->sp, out->stack,
					     (left & ~(page - 1)) - (out->sp & (page - 1)));
	return true;
}

static inline struct unwind_input world_input(struct world *w, const struct world_sample *s)
{
	return (struct unwind_input){
		.regs = unwind_regs_sampled(s->pc, s->sp, s->fp, s->lr, s->n_dwarf > 17),
		.other = s->dwarf,
		.n_other = s->n_dwarf,
		.stack = s->stack,
		.stack_size = s->stack_size,
		.find = world_find,
		.ctx = w,
	};
}
