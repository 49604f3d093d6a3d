/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/thread_contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/bpf/shared.h"
#include "collect/sampler.h"
#include "event/event.h"
#include "guard/memory_reads.h"
#include "lang/process_context.h"
#include "pipeline/pipeline.h"
#include "pipeline/user_stacks.h"

#define PROCESSES_MAX  4096
#define MAPPINGS_MAX   65536      /* that wait for a look at their file */
#define LOOK_NS        200000000  /* a process that has not published its names yet … */
#define LOOK_MAX_NS    6400000000 /* … is looked at less and less often */
#define LOOK_KNOWN_NS  1000000000 /* new names come at the end */
#define MAPS_LINES_MAX 65536

struct context_mapping {
	int32_t pid;
	image_id image;
	uint64_t base; /* lang/runtime.h */
};

struct context_process {
	int32_t pid;
	struct process_labels labels;
	uint64_t mapping; /* with the names; 0: not found yet */
	uint64_t published_ns;
	uint64_t next_ns, wait_ns; /* of looks */
};

struct thread_contexts {
	struct pipeline *pipeline;
	struct sampler *sampler;
	const char *const *names;
	size_t n_names;
	VEC(struct context_mapping) mappings;
	VEC(struct context_process) processes;
};

struct thread_contexts *thread_contexts_new(struct pipeline *pipeline, struct sampler *sampler,
					    const char *const *names, size_t n)
{
	struct thread_contexts *c = xcalloc(1, sizeof(*c));

	c->pipeline = pipeline;
	c->sampler = sampler;
	c->names = names;
	c->n_names = MIN(n, (size_t)LABELS_MAX);
	return c;
}

void thread_contexts_free(struct thread_contexts *c)
{
	if (!c)
		return;
	vec_fini(&c->mappings);
	vec_fini(&c->processes);
	free(c);
}

static struct context_process *find_process(struct thread_contexts *c, int32_t pid)
{
	vec_foreach (&c->processes, p)
		if (p->pid == pid)
			return p;
	return NULL;
}

static void forget_process(struct thread_contexts *c, int32_t pid)
{
	struct context_process *p = find_process(c, pid);
	size_t kept = 0;

	vec_foreach (&c->mappings, m)
		if (m->pid != pid)
			c->mappings.data[kept++] = *m;
	c->mappings.n = kept;
	if (!p)
		return;
	sampler_set_process_labels(c->sampler, pid, NULL);
	*p = c->processes.data[--c->processes.n];
}

static void add_process(struct thread_contexts *c, int32_t pid, const struct label_places *places)
{
	struct context_process p = { .pid = pid,
				     .labels = { .places = *places },
				     .wait_ns = LOOK_NS };

	if (find_process(c, pid) || c->processes.n >= PROCESSES_MAX)
		return;
	for (size_t i = 0; i < LABELS_MAX; i++)
		p.labels.keys[i] = PROCESS_CONTEXT_NO_KEY;
	vec_push(&c->processes, p);
	sampler_set_process_labels(c->sampler, pid, &p.labels);
}

/* The child of a fork has its parent's mappings, and no process context. */
static void copy_process(struct thread_contexts *c, int32_t parent, int32_t child)
{
	const struct context_process *p = find_process(c, parent);
	size_t n = c->mappings.n;

	if (p) {
		struct label_places places = p->labels.places;

		add_process(c, child, &places);
	}
	for (size_t i = 0; i < n && c->mappings.n < MAPPINGS_MAX; i++)
		if (c->mappings.data[i].pid == parent) {
			struct context_mapping copy = c->mappings.data[i];

			copy.pid = child;
			vec_push(&c->mappings, copy);
		}
}

void thread_contexts_follow(struct thread_contexts *c, const struct event *e, image_id image)
{
	switch (c ? e->type : N_EVENT_TYPES) {
	case EVENT_MAPPING:
		if (image.n && c->mappings.n < MAPPINGS_MAX)
			vec_push(&c->mappings,
				 (struct context_mapping){
					 e->pid, image, e->mapping.start - e->mapping.file_off });
		break;
	case EVENT_FORK:
		if (e->pid != e->fork.ppid)
			copy_process(c, e->fork.ppid, e->pid);
		break;
	case EVENT_COMM:
		if (e->comm.is_exec)
			forget_process(c, e->pid);
		break;
	case EVENT_EXIT:
		if (e->pid == e->tid)
			forget_process(c, e->pid);
		break;
	default:
		break;
	}
}

/* False: the file is still looked at. */
static bool look_at_mapping(struct thread_contexts *c, const struct context_mapping *m)
{
	const struct label_places *found;
	struct label_places places;
	image_id image = m->image;

	if (!pipeline_look_at_image(c->pipeline, m->pid, &image))
		return false;
	found = pipeline_label_places(c->pipeline, image);
	if (!found || !label_kind_is_context(found->kind))
		return true;
	places = *found;
	places.slot += m->base;
	add_process(c, m->pid, &places);
	return true;
}

/* Reads of the process's memory, in a thread that may be given up. */
struct names_read {
	struct process_context context;
	int32_t pid;
	uint64_t mapping, known_ns;
	bool is_there, is_new;
	size_t size;
	uint8_t payload[PROCESS_CONTEXT_MAX];
};

static bool read_header(const struct names_read *n, struct process_context *out)
{
	uint8_t header[PROCESS_CONTEXT_HEADER];

	return memory_read_of(n->pid, n->mapping, header, sizeof(header)) ==
		       (ssize_t)sizeof(header) &&
	       process_context_read(header, out);
}

/* The payload counts if its header is the same before and behind it. */
static void read_names(void *arg)
{
	struct names_read *n = arg;
	struct process_context again;

	n->is_there = read_header(n, &n->context);
	if (!n->is_there || n->context.published_ns == n->known_ns)
		return;
	n->size = n->context.payload_size;
	n->is_new = memory_read_of(n->pid, n->context.payload, n->payload, n->size) ==
			    (ssize_t)n->size &&
		    read_header(n, &again) && again.published_ns == n->context.published_ns;
}

static uint64_t find_mapping(int32_t pid)
{
	char path[32], line[512];
	uint64_t start = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	for (int i = 0; maps && i < MAPS_LINES_MAX && fgets(line, sizeof(line), maps); i++)
		if (process_context_mapping(line, &start))
			break;
	if (maps)
		fclose(maps);
	return start;
}

static void look_for_names(struct thread_contexts *c, struct context_process *p)
{
	struct memory_reads *reads = user_stacks_reads(pipeline_user_stacks(c->pipeline));
	struct names_read *n;

	if (!p->mapping)
		p->mapping = find_mapping(p->pid);
	if (!p->mapping) {
		p->wait_ns = MIN(2 * p->wait_ns, (uint64_t)LOOK_MAX_NS);
		return;
	}
	p->wait_ns = LOOK_KNOWN_NS;
	n = xcalloc(1, sizeof(*n));
	n->pid = p->pid;
	n->mapping = p->mapping;
	n->known_ns = p->published_ns;
	if (!memory_reads_run(reads, p->pid, read_names, n) && n->is_new) {
		p->published_ns = n->context.published_ns;
		process_context_keys(n->payload, n->size, c->names, c->n_names, p->labels.keys);
		sampler_set_process_labels(c->sampler, p->pid, &p->labels);
	}
	free(n);
}

void thread_contexts_look(struct thread_contexts *c, uint64_t now_ns)
{
	size_t kept = 0;

	if (!c)
		return;
	vec_foreach (&c->mappings, m)
		if (!look_at_mapping(c, m))
			c->mappings.data[kept++] = *m;
	c->mappings.n = kept;
	vec_foreach (&c->processes, p)
		if (now_ns >= p->next_ns) {
			look_for_names(c, p);
			p->next_ns = now_ns + p->wait_ns;
		}
}
