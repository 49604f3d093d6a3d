/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a traced program, and the side band that names them. */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "classify.h"
#include "kcore.h"
#include "trace.h"

void tell(struct tracer *t, const struct task *task, uint64_t from, uint64_t to)
{
	fprintf(t->truth, "%d %" PRIx64 " => %" PRIx64 "\n", task->tid, from, to);
}

/* Tells of executable mappings that were not there before. */
void update_maps(struct tracer *t, const struct task *task)
{
	char path[64], line[4400];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", task->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t start, end, off, inode;
		uint32_t major, minor;
		char prot[8], name[4200] = "";
		bool is_known = false;

		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4199[^\n]",
			   &start, &end, prot, &off, &major, &minor, &inode, name) < 7 ||
		    prot[2] != 'x')
			continue;
		vec_foreach (&t->maps, m)
			is_known |= m->start == start && m->end == end;
		if (is_known)
			continue;
		vec_push(&t->maps, ((struct mapping){ start, end }));
		recording_map(&t->recording, task->pid, task->tid, t->tsc, start, end, off, major,
			      minor, inode, *name ? name : "//anon");
	}
	if (f)
		fclose(f);
	intmap_clear(&t->code);
}

/* Makes AT_SYSINFO_EHDR something that ld.so steps over. */
void hide_vdso(pid_t pid, uint64_t sp)
{
	long argc = ptrace(PTRACE_PEEKDATA, pid, sp, 0);
	uint64_t at = sp + 8 * ((uint64_t)argc + 2);

	while (ptrace(PTRACE_PEEKDATA, pid, at, 0))
		at += 8;
	for (at += 8;; at += 16) {
		long type = ptrace(PTRACE_PEEKDATA, pid, at, 0);

		if (type == AT_NULL)
			return;
		if (type == AT_SYSINFO_EHDR)
			ptrace(PTRACE_POKEDATA, pid, at, AT_IGNORE);
	}
}

uint64_t status_field(pid_t tid, const char *field, int base)
{
	char path[64], line[256];
	uint64_t v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0)
			v = strtoull(line + strlen(field) + 1, NULL, base);
	if (f)
		fclose(f);
	return v;
}

void say_comm(struct tracer *t, const struct task *task, bool is_exec)
{
	char path[64], comm[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", task->tid);
	f = fopen(path, "r");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	recording_comm(&t->recording, task->pid, task->tid, t->tsc, comm, is_exec);
}

struct task *find_task(struct tracer *t, pid_t tid)
{
	vec_foreach (&t->tasks, task)
		if (task->tid == tid && !task->is_dead)
			return task;
	return NULL;
}

struct task *add_task(struct tracer *t, pid_t tid)
{
	struct task *task = vec_add(&t->tasks);

	task->tid = tid;
	task->pid = (pid_t)status_field(tid, "Tgid", 10);
	task->is_new = true;
	if (t->n_cpus)
		return task;
	task->writer = xcalloc(1, sizeof(*task->writer));
	writer_init(task->writer, &t->options);
	return task;
}
