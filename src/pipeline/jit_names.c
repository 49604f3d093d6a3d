/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/jit_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "guard/budget.h"
#include "guard/open.h"
#include "machine/jit_code.h"
#include "machine/perf_map.h"

/* The most addresses of a process that are looked up in its dump, on the owner's thread. */
enum { DUMP_HITS = 1 << 14 };

/*
 * Where the maps of a process are. Jobs alone use it: the first one fills it. The jobs of one user
 * follow each other, so they need no lock.
 */
struct jit_place {
	atomic_uint n_refs;
	char *proc;
	int32_t pid, ns_pid; /* ns_pid: the pid inside the process's own namespace */
	uid_t uid, euid;     /* real and effective; of a process that is gone: root's */
	int tmp_fd;          /* its /tmp; -1: the process ended before /tmp was opened */
};

struct jit_process {
	struct jit_place *place;
	uint32_t user;
	int32_t pid;
	image_id image;
	struct intmap hits; /* addresses */
	struct guard_share share;
	bool has_too_many; /* hits */
};

struct jit_names {
	struct jit_names_config config;
	char *proc;
	VEC(struct jit_process) processes;
	struct intmap by_image;
	struct guard_budget budget;
	uint32_t n_pending; /* maps */
};

struct jit_names *jit_names_new(const struct jit_names_config *config)
{
	struct jit_names *j = xcalloc(1, sizeof(*j));

	j->config = *config;
	j->proc = xstrdup(config->proc);
	j->budget = (struct guard_budget){ .user_bytes = JIT_HITS_USER_BYTES,
					   .total_bytes = JIT_HITS_BYTES };
	return j;
}

static void jit_place_unref(struct jit_place *p)
{
	if (atomic_fetch_sub(&p->n_refs, 1) > 1)
		return;
	if (p->tmp_fd >= 0)
		close(p->tmp_fd);
	free(p->proc);
	free(p);
}

static void process_fini(struct jit_process *p)
{
	jit_place_unref(p->place);
	intmap_fini(&p->hits);
	guard_share_set(&p->share, 0);
}

void jit_names_free(struct jit_names *j)
{
	if (!j)
		return;
	vec_foreach (&j->processes, p)
		process_fini(p);
	vec_fini(&j->processes);
	intmap_fini(&j->by_image);
	guard_budget_fini(&j->budget);
	free(j->proc);
	free(j);
}

/* ---- on a thread ---- */

/*
 * proc_pid_status(5): "Uid:" has the real and the effective user first. The last number of "NSpid:"
 * is the pid in the innermost namespace.
 */
static void read_status(struct jit_place *p)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", p->proc, p->pid);
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

static int open_map(const struct jit_place *p)
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

/* False: there is none, or it is not read (*loss). */
static bool map_file(const struct jit_place *p, struct file_mapping *out, enum loss_reason *loss)
{
	int fd = open_map(p);

	if (fd < 0 || file_hold_fd(fd, "a perf map", out, NULL) < 0 ||
	    file_map_held(out, "a perf map", NULL) < 0)
		return false;
	if (out->uid && out->uid != p->uid && out->uid != p->euid)
		*loss = LOSS_JIT_MAP_FOREIGN;
	else if (out->size > JIT_MAP_LIMIT)
		*loss = LOSS_JIT_MAP_LARGE;
	else
		return true;
	file_unmap(out);
	return false;
}

struct jit_functions {
	struct jit_function *data;
	size_t n, cap;
};

/* The first job of a process has no hits: it opens the folder of its maps. */
struct map_job {
	struct file_job job;
	struct jit_names *names;
	struct jit_place *place;
	image_id image;
	struct intmap hits;
	struct parser_answer answer;
	struct jit_functions functions; /* names are in the answer */
	enum loss_reason loss;          /* N_LOSS_REASONS: none */
};

static void place_run(struct file_job *job)
{
	struct jit_place *p = ((struct map_job *)job)->place;

	p->tmp_fd = open_tmp(p->proc, p->pid);
	read_status(p);
}

static int functions_by_start(const void *a, const void *b)
{
	const struct jit_function *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Hits are in no order. */
static void sort_functions(struct jit_functions *f)
{
	if (f->n)
		qsort(f->data, f->n, sizeof(*f->data), functions_by_start);
}

static void find_hits(struct map_job *j, const struct perf_map *map)
{
	const struct perf_map_entry *e;
	struct intmap named = { 0 };

	for (uint32_t i = 0; i < j->hits.n_slots; i++) {
		bool is_new;

		if (!j->hits.slots[i].used || !(e = perf_map_find(map, j->hits.slots[i].key)))
			continue;
		intmap_put(&named, e->start, &is_new);
		if (is_new)
			vec_push(&j->functions,
				 (struct jit_function){ e->start, e->size, perf_map_name(map, e) });
	}
	intmap_fini(&named);
	sort_functions(&j->functions);
}

static void map_run(struct file_job *job)
{
	/* A parsed map needs several times its size. */
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	static const struct buf no_request;
	struct map_job *j = (struct map_job *)job;
	struct file_mapping file = { 0 };
	const struct parser_question q = { .row = &perf_map_row,
					   .file = &file,
					   .request = &no_request };
	struct perf_map map;
	bool is_large;

	if (!map_file(j->place, &file, &j->loss))
		return;
	pthread_mutex_lock(&one_at_a_time);
	if (parser_ask(&q, &j->answer, NULL) < 0) {
		j->loss = LOSS_FILE_UNPARSED;
	} else {
		/* the row has checked it */
		perf_map_read(&map, &is_large, j->answer.bytes, j->answer.size);
		if (is_large)
			j->loss = LOSS_JIT_MAP_LARGE;
		find_hits(j, &map);
	}
	pthread_mutex_unlock(&one_at_a_time);
	file_unmap(&file);
}

/* ---- on the owner's thread ---- */

static void map_done(struct file_job *job)
{
	struct map_job *j = (struct map_job *)job;
	const struct jit_names_config *c = &j->names->config;

	j->names->n_pending--;
	if (job->is_refused)
		c->lose(c->context, LOSS_FILE_BUDGET);
	else if (j->loss != N_LOSS_REASONS)
		c->lose(c->context, j->loss);
	vec_foreach (&j->functions, f)
		c->visit(c->context, j->image, f->start, f->size, f->name);
}

static void place_done(struct file_job *job)
{
	(void)job;
}

static void map_free(struct file_job *job)
{
	struct map_job *j = (struct map_job *)job;

	jit_place_unref(j->place);
	intmap_fini(&j->hits);
	vec_fini(&j->functions);
	parser_answer_fini(&j->answer);
	free(j);
}

static struct map_job *map_job_new(struct jit_names *names, const struct jit_process *p)
{
	struct map_job *j = xcalloc(1, sizeof(*j));

	j->job = (struct file_job){
		.user = p->user, .run = place_run, .done = place_done, .free = map_free
	};
	j->names = names;
	j->place = p->place;
	j->image = p->image;
	j->loss = N_LOSS_REASONS;
	atomic_fetch_add(&p->place->n_refs, 1);
	return j;
}

static struct jit_process *process_add(struct jit_names *j, int32_t pid, image_id image)
{
	struct jit_place *place = xcalloc(1, sizeof(*place));
	struct jit_process p = {
		.place = place,
		.user = file_jobs_user(j->proc, pid),
		.pid = pid,
		.image = image,
	};

	atomic_init(&place->n_refs, 1);
	place->proc = xstrdup(j->proc);
	place->pid = place->ns_pid = pid;
	if (p.user != UINT32_MAX)
		place->uid = place->euid = p.user; /* if it ends before its job */
	place->tmp_fd = -1;
	p.share = (struct guard_share){ &j->budget, p.user, 0 };
	file_jobs_add(j->config.jobs, &map_job_new(j, &p)->job);
	vec_push(&j->processes, p);
	*intmap_put(&j->by_image, image.n, NULL) = (uint32_t)j->processes.n - 1;
	return &j->processes.data[j->processes.n - 1];
}

void jit_names_hit(struct jit_names *j, int32_t pid, image_id image, uint64_t addr)
{
	const uint32_t *at = intmap_find(&j->by_image, image.n);
	struct jit_process *p = at ? &j->processes.data[*at] : process_add(j, pid, image);

	if (p->has_too_many)
		return;
	intmap_put(&p->hits, addr, NULL);
	if (guard_share_set(&p->share, p->hits.n_slots * sizeof(*p->hits.slots)))
		return;
	p->has_too_many = true;
	intmap_fini(&p->hits);
	guard_share_set(&p->share, 0);
	j->config.lose(j->config.context, LOSS_JIT_HITS);
}

/* Names of a dump's functions that were sampled before the dump had them. The rest stays. */
static void name_by_dump(struct jit_names *j, struct jit_process *p)
{
	const struct jit_names_config *c = &j->config;
	struct intmap rest = { 0 }, named = { 0 };
	struct jit_functions functions = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->hits.n_slots; i++) {
		struct jit_function f;
		bool is_new;

		if (!p->hits.slots[i].used)
			continue;
		if (n++ >= DUMP_HITS || !c->find(c->context, p->pid, p->hits.slots[i].key, &f)) {
			intmap_put(&rest, p->hits.slots[i].key, NULL);
			continue;
		}
		intmap_put(&named, f.start, &is_new);
		if (is_new)
			vec_push(&functions, f);
	}
	sort_functions(&functions);
	vec_foreach (&functions, f)
		c->visit(c->context, p->image, f->start, f->size, f->name);
	vec_fini(&functions);
	intmap_fini(&named);
	intmap_fini(&p->hits);
	p->hits = rest;
}

/* Begins to read the map for the hits so far. */
static void ask_for_names(struct jit_names *j, struct jit_process *p)
{
	struct map_job *job;

	if (p->hits.n && j->config.find)
		name_by_dump(j, p);
	if (!p->hits.n)
		return;
	job = map_job_new(j, p);
	job->job.run = map_run;
	job->job.done = map_done;
	job->hits = p->hits;
	p->hits = (struct intmap){ 0 };
	guard_share_set(&p->share, 0);
	j->n_pending++;
	file_jobs_add(j->config.jobs, &job->job);
}

uint32_t jit_names_pending(const struct jit_names *j)
{
	return j->n_pending;
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

void jit_names_finish(struct jit_names *j, int32_t pid)
{
	for (size_t i = j->processes.n; i-- > 0;) {
		if (j->processes.data[i].pid != pid)
			continue;
		ask_for_names(j, &j->processes.data[i]);
		process_remove(j, i);
	}
}

void jit_names_finish_all(struct jit_names *j)
{
	vec_foreach (&j->processes, p)
		ask_for_names(j, p);
}
