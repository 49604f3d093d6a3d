/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/jit_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "guard/open.h"
#include "machine/perf_map.h"

struct jit_process {
	int32_t pid, ns_pid; /* ns_pid: the pid inside the process's own namespace */
	uid_t uid, euid;     /* real and effective; of a process that is gone: root's */
	int tmp_fd;          /* its /tmp; -1: the process ended before /tmp was opened */
	image_id image;
	struct intmap hits; /* addresses */
};

struct jit_names {
	char *proc;
	VEC(struct jit_process) processes;
	struct intmap by_image;
	jit_names_lose lose;
	void *context;
};

struct jit_names *jit_names_new(const char *proc, jit_names_lose lose, void *context)
{
	struct jit_names *j = xcalloc(1, sizeof(*j));

	j->lose = lose;
	j->context = context;
	j->proc = xstrdup(proc);
	return j;
}

static void process_fini(struct jit_process *p)
{
	close_at_exit(&p->tmp_fd);
	p->tmp_fd = -1;
	intmap_fini(&p->hits);
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	vec_foreach (&j->processes, p)
		process_fini(p);
	vec_fini(&j->processes);
	intmap_fini(&j->by_image);
	free(j->proc);
	free(j);
}

/*
 * proc_pid_status(5): "Uid:" has the real and the effective user first. The last number of "NSpid:"
 * is the pid in the innermost namespace.
 */
static void read_status(const char *proc, struct jit_process *p)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", proc, p->pid);
	cleanup(free_at_exit) char *text = NULL;
	const char *at, *end;

	if (file_read_all(path, 1 << 16, &text, NULL) < 0)
		return;
	if ((at = strstr(text, "\nUid:")))
		sscanf(at, "\nUid: %u %u", &p->uid, &p->euid);
	if (!(at = strstr(text, "\nNSpid:")))
		return;
	at += strlen("\nNSpid:");
	for (;;) {
		long n = strtol(at, (char **)&end, 10);

		if (end == at || memchr(at, '\n', (size_t)(end - at)))
			return;
		p->ns_pid = (int32_t)n;
		at = end;
	}
}

/*
 * The process's /tmp, opened below the process's own root, so that a link in a container can't lead
 * out of it. It stays open because a mount namespace ends with its last process.
 */
static int open_tmp(const char *proc, int32_t pid)
{
	cleanup(close_at_exit) int root = guard_root(proc, pid);
	int fd = root < 0 ? -1 : guard_folder(root, "tmp", NULL);

	return fd < 0 ? -1 : fd;
}

static struct jit_process *process_add(struct jit_names *j, int32_t pid, image_id image)
{
	struct jit_process p = {
		.pid = pid,
		.ns_pid = pid,
		.tmp_fd = open_tmp(j->proc, pid),
		.image = image,
	};

	read_status(j->proc, &p);
	vec_push(&j->processes, p);
	*intmap_put(&j->by_image, image.n, NULL) = (uint32_t)j->processes.n - 1;
	return &j->processes.data[j->processes.n - 1];
}

void jit_names_hit(struct jit_names *j, int32_t pid, image_id image, uint64_t addr)
{
	const uint32_t *at = intmap_find(&j->by_image, image.n);
	struct jit_process *p = at ? &j->processes.data[*at] : process_add(j, pid, image);

	intmap_put(&p->hits, addr, NULL);
}

static int open_map(const struct jit_process *p)
{
	/* read_map() checks owner and size itself, as each has its own loss. */
	static const struct guard_rules rules = { UINT64_MAX, GUARD_ANY_OWNER, true };
	char name[64];
	int fd = -1;

	if (p->tmp_fd >= 0) {
		snprintf(name, sizeof(name), "perf-%d.map", p->ns_pid);
		fd = guard_open(p->tmp_fd, name, &rules, NULL);
	}
	if (fd < 0) {
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", p->pid);
		fd = guard_open(GUARD_HERE, name, &rules, NULL);
	}
	return fd;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

static char *read_map(const struct jit_names *j, const struct jit_process *p)
{
	cleanup(close_at_exit) int fd = open_map(p);
	struct stat st;
	char *text = NULL, *nul;
	size_t size = 0;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	if (st.st_uid && st.st_uid != p->uid && st.st_uid != p->euid) {
		j->lose(j->context, LOSS_JIT_MAP_FOREIGN);
		return NULL;
	}
	r = st.st_size > (off_t)JIT_MAP_LIMIT ? -EFBIG
					      : file_read_fd(fd, JIT_MAP_LIMIT, &text, &size);
	if (!r && count_lines(text) > JIT_MAP_LINES) {
		free(take_ptr(text));
		r = -EFBIG;
	}
	if (r == -EFBIG)
		j->lose(j->context, LOSS_JIT_MAP_LARGE);
	if (r < 0)
		return NULL;
	/* A NUL byte spoils its own line, not all lines after it. */
	while ((nul = memchr(text, '\0', size)))
		*nul = '?';
	return text;
}

static void visit_names(const struct jit_names *j, struct jit_process *p, jit_name_visit visit,
			void *context)
{
	cleanup(free_at_exit) char *text = p->hits.n ? read_map(j, p) : NULL;
	const struct perf_map_entry *e;
	struct perf_map map;
	struct intmap named = { 0 };

	if (text) {
		perf_map_parse(&map, text);
		for (uint32_t i = 0; i < p->hits.n_slots; i++) {
			bool is_new;

			if (!p->hits.slots[i].used ||
			    !(e = perf_map_find(&map, p->hits.slots[i].key)))
				continue;
			intmap_put(&named, e->start, &is_new);
			if (is_new)
				visit(context, p->image, e->start, e->size, e->name);
		}
		perf_map_fini(&map);
		intmap_fini(&named);
	}
	intmap_clear(&p->hits);
}

static void process_remove(struct jit_names *j, size_t at)
{
	struct jit_process *p = &j->processes.data[at];

	intmap_remove(&j->by_image, p->image.n);
	process_fini(p);
	*p = j->processes.data[--j->processes.n];
	if (at < j->processes.n)
		*intmap_put(&j->by_image, p->image.n, NULL) = (uint32_t)at;
}

void jit_names_finish(struct jit_names *j, int32_t pid, jit_name_visit visit, void *context)
{
	for (size_t i = j->processes.n; i-- > 0;) {
		if (j->processes.data[i].pid != pid)
			continue;
		visit_names(j, &j->processes.data[i], visit, context);
		process_remove(j, i);
	}
}

void jit_names_finish_all(struct jit_names *j, jit_name_visit visit, void *context)
{
	vec_foreach (&j->processes, p)
		visit_names(j, p, visit, context);
}
