/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/off_cpu.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "guard/memory_reads.h"
#include "guard/open.h"
#include "machine/machine.h"

void off_cpu_describe(struct counter_info *out, uint32_t n)
{
	static const char *const names[N_WAIT_EVENTS] = {
#define X(id, name, text) OFF_CPU_EVENTS name,
		WAIT_STATES(X)
#undef X
			KERNEL_LOCK_EVENT
	};

	assert(n <= N_WAIT_EVENTS);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct counter_info){
			.name = names[i],
			.spec = names[i],
			.unit = "ns",
			.count = OFF_CPU_SAMPLE_NS,
			.in_user = true,
			.in_kernel = true,
		};
}

#define KERNEL_THREAD_FLAG 0x200000 /* PF_KTHREAD of include/linux/sched.h */

/*
 * The state letter follows the command in parentheses. The command may hold any character. '\0' for
 * a kernel thread: five numbers later are its flags.
 */
static char read_state(const char *proc, int32_t pid, int32_t tid)
{
	unsigned flags = 0;
	char path[128], line[512];
	const char *end;

	snprintf(path, sizeof(path), "%s/%d/task/%d/stat", proc, pid, tid);
	if (!file_read_line(path, line, sizeof(line)) || !(end = strrchr(line, ')')) || !end[1])
		return '\0';
	sscanf(end + 3, " %*d %*d %*d %*d %*d %u", &flags);
	return flags & KERNEL_THREAD_FLAG ? '\0' : end[2];
}

static int wait_state_of(char letter)
{
	switch (letter) {
	case 'S':
		return WAIT_SLEEP;
	case 'D':
		return WAIT_DISK;
	case 'T':
	case 't':
		return WAIT_STOPPED;
	default: /* running, dead, or an idle kernel thread */
		return -1;
	}
}

#if defined(__x86_64__)
static const bool is_x86 = true;
#else
static const bool is_x86 = false;
#endif

/*
 * A thread below 4 GiB is of a 32-bit program, or of a static 64-bit one that made its stack
 * itself. A program that can't be read counts as the former.
 */
static bool is_i386(const char *proc, const struct blocked_thread *t)
{
	Elf32_Ehdr header; /* e_machine is at the same place in 64-bit files */
	char link[128];
	bool is_read;
	int fd;

	if (!is_x86 || (t->sp | t->pc) >> 32)
		return false;
	snprintf(link, sizeof(link), "%s/%d/task/%d/exe", proc, t->pid, t->tid);
	fd = guard_link(link, &guard_image_rules, NULL);
	is_read = fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
		  !memcmp(header.e_ident, ELFMAG, SELFMAG);
	if (fd >= 0)
		close(fd);
	return !is_read || header.e_machine == EM_386;
}

/* Reads /proc/PID/syscall: number, arguments, stack pointer, program counter; see proc(5). */
static void read_user_registers(const char *proc, struct blocked_thread *t)
{
	char path[128], line[512];
	const char *sp, *pc;

	snprintf(path, sizeof(path), "%s/%d/task/%d/syscall", proc, t->pid, t->tid);
	if (!file_read_line(path, line, sizeof(line)) || !(pc = strrchr(line, ' ')) || pc == line)
		return;
	for (sp = pc - 1; sp > line && sp[-1] != ' ';)
		sp--;
	t->sp = strtoull(sp, NULL, 16);
	t->pc = strtoull(pc, NULL, 16);
	t->is_i386 = is_i386(proc, t);
}

/* A process's first thread may have ended before: so the thread itself is asked. */
static bool is_kernel_thread(const char *proc, int32_t pid, int32_t tid)
{
	char path[128], target[8];

	snprintf(path, sizeof(path), "%s/%d/task/%d/exe", proc, pid, tid);
	/* without the right to look, the thread waits without a stack */
	return readlink(path, target, sizeof(target)) < 0 && errno == ENOENT;
}

bool off_cpu_look(const char *proc, int32_t pid, int32_t tid, struct blocked_thread *out)
{
	int state = wait_state_of(read_state(proc, pid, tid));

	if (state < 0 || is_kernel_thread(proc, pid, tid))
		return false;
	*out = (struct blocked_thread){ .pid = pid, .tid = tid, .state = (enum wait_state)state };
	proc_read_comm(proc, pid, tid, out->comm, sizeof(out->comm));
	read_user_registers(proc, out);
	return true;
}

struct stack_read {
	int32_t pid;
	uint64_t sp;
	void *bytes;
	size_t size;
	ssize_t n;
};

static void read_stack(void *arg)
{
	struct stack_read *r = arg;

	r->n = memory_read_of(r->pid, r->sp, r->bytes, r->size);
}

size_t off_cpu_read_stack(struct memory_reads *reads, int32_t pid, uint64_t sp, void *bytes,
			  size_t size)
{
	struct stack_read read = { pid, sp, bytes, size, -1 };

	return memory_reads_run(reads, pid, read_stack, &read) || read.n < 0 ? 0 : (size_t)read.n;
}

/* The thread must be known to be of the process: else the number is something else. */
static bool owner_text(const struct machine *m, const char *proc, int32_t pid, int32_t tid,
		       bool with_tid, char *text, size_t size)
{
	const char *known = machine_thread_name(m, pid, tid);
	char comm[16];

	if (!known && !proc_read_comm(proc, pid, tid, comm, sizeof(comm)))
		return false;
	snprintf(text, size, with_tid ? "%.32s (%d)" : "%.32s", known ? known : comm, tid);
	return true;
}

/* The kernel's name of a block device is that of its folder. */
static void device_text(const char *sys, uint32_t device, char *text, size_t size)
{
	char path[128], target[256];
	unsigned major = device >> 20, minor = device & 0xfffff;
	const char *slash;
	ssize_t n;

	snprintf(text, size, "%u:%u", major, minor);
	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sys, major, minor);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	slash = strrchr(target, '/');
	if (slash && slash[1])
		snprintf(text, size, "%.32s", slash + 1);
}

bool off_cpu_detail_text(const struct machine *m, const char *proc, const char *sys, int32_t pid,
			 uint64_t detail, bool with_tid, char *text, size_t size)
{
	if (DETAIL_KIND(detail) == DETAIL_OWNER)
		return owner_text(m, proc, pid, (int32_t)(uint32_t)detail, with_tid, text, size);
	device_text(sys, (uint32_t)detail, text, size);
	return DETAIL_KIND(detail) == DETAIL_DEVICE;
}

void off_cpu_each(const char *proc, const struct pid_list *pids, const struct pid_list *tids,
		  void (*look_at)(void *context, int32_t pid, int32_t tid), void *context)
{
	struct pid_list all = { 0 }, threads = { 0 };

	if (!pids->n && !tids->n)
		proc_list_pids(proc, &all);
	pids = pids->n ? pids : &all;
	vec_foreach (pids, pid) {
		threads.n = 0;
		proc_list_threads(proc, *pid, &threads);
		vec_foreach (&threads, tid)
			look_at(context, *pid, *tid);
	}
	vec_foreach (tids, tid)
		look_at(context, proc_process_of(proc, *tid), *tid);
	vec_fini(&all);
	vec_fini(&threads);
}
