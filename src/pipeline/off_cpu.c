/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/off_cpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"

void off_cpu_describe(struct counter_info out[N_WAIT_STATES])
{
	static const char *const names[N_WAIT_STATES] = {
#define X(id, name, text) "off-cpu:" name,
		WAIT_STATES(X)
#undef X
	};

	for (size_t i = 0; i < N_WAIT_STATES; i++)
		out[i] = (struct counter_info){
			.name = names[i],
			.spec = names[i],
			.unit = "ns",
			.count = OFF_CPU_SAMPLE_NS,
			.in_user = true,
			.in_kernel = true,
		};
}

/* The state letter follows the command in parentheses. The command may hold any character. */
static char read_state(const char *proc, int32_t pid, int32_t tid)
{
	char path[128], line[512];
	const char *end;

	snprintf(path, sizeof(path), "%s/%d/task/%d/stat", proc, pid, tid);
	if (!file_read_line(path, line, sizeof(line)) || !(end = strrchr(line, ')')) || !end[1])
		return '\0';
	return end[2];
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
}

static bool is_kernel_thread(const char *proc, int32_t pid)
{
	char path[128], target[8];

	snprintf(path, sizeof(path), "%s/%d/exe", proc, pid);
	return readlink(path, target, sizeof(target)) < 0;
}

bool off_cpu_look(const char *proc, int32_t pid, int32_t tid, struct blocked_thread *out)
{
	int state = wait_state_of(read_state(proc, pid, tid));

	if (state < 0 || is_kernel_thread(proc, pid))
		return false;
	*out = (struct blocked_thread){ .pid = pid, .tid = tid, .state = (enum wait_state)state };
	proc_read_comm(proc, pid, tid, out->comm, sizeof(out->comm));
	read_user_registers(proc, out);
	return true;
}

size_t off_cpu_read_stack(const char *proc, const struct blocked_thread *t, void *bytes,
			  size_t size)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/mem", proc, t->pid);
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, bytes, size, (off_t)t->sp);

	return n < 0 ? 0 : (size_t)n;
}

/* The process of a thread, from /proc/TID/status. */
static int32_t process_of(const char *proc, int32_t tid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", proc, tid);
	cleanup(free_at_exit) char *text = NULL;
	const char *line;

	if (file_read_all(path, 1 << 16, &text, NULL) < 0 || !(line = strstr(text, "\nTgid:")))
		return -1;
	return (int32_t)strtol(line + strlen("\nTgid:"), NULL, 10);
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
		look_at(context, process_of(proc, *tid), *tid);
	vec_fini(&all);
	vec_fini(&threads);
}
