/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of a walk, and its virtual machine. */
#include "guard/memory_reads.h"
#include "machine/address_space.h"
#include "pipeline/java_stacks_state.h"

#define MORE_RARELY 7u /* JAVA_LOOK_EVERY_NS doubles so often */

#define PROCESSES_MAX 64 /* each holds a descriptor */

/* To open one takes many reads, and a process can ask for that again: by a move of its library. */
#define OPEN_EVERY_NS (200 * NS_PER_MS)

struct java_process *java_stacks_process_of(const struct java_stacks *j, int32_t pid)
{
	const uint32_t *at = intmap_find(&j->by_pid, (uint32_t)pid);

	return at ? j->processes.data[*at] : NULL;
}

void java_stacks_begin_pause(const struct java_stacks *j, int32_t pid)
{
	struct java_process *p = java_stacks_process_of(j, pid);

	if (!p)
		return;
	p->before = p->state == JAVA_STUCK ? p->before : p->state;
	p->state = JAVA_STUCK;
	read_pause_begin(&p->pause, j->time_ns);
}

void java_stacks_end_pause(const struct java_stacks *j)
{
	struct java_process *p = java_stacks_process_of(j, j->pid);

	if (p && p->state == JAVA_STUCK && read_pause_is_over(&p->pause, j->time_ns))
		p->state = p->before;
}

bool java_stacks_may_read(const struct java_stacks *j, int32_t pid)
{
	const struct java_process *p = java_stacks_process_of(j, pid);

	return p && (p->state == JAVA_EARLY || p->state == JAVA_BARRED || p->state == JAVA_READY);
}

static void open_library(struct java_stacks *j, struct java_process *p, const struct mapping *m)
{
	const struct lang_runtime *runtime = j->config.runtime(j->config.context, p->pid, m->image);

	p->code = m->start;
	p->image = m->image;
	p->state = JAVA_EARLY;
	if (!runtime)
		return;
	if (!j->config.memory && !memory_reads_here()) { /* the next walk may read */
		p->n_tries--;
		p->tried_ns = 0;
		return;
	}
	if (j->reads_nothing || clock_monotonic_ns() - j->opened_ns < OPEN_EVERY_NS) {
		p->n_tries--; /* another process had its turn */
		return;
	}
	java_process_open(p, j->proc, runtime, m->start - m->file_off);
	j->opened_ns = clock_monotonic_ns();
	if (p->state == JAVA_REFUSED)
		j->config.lose(j->config.context, LOSS_JAVA_VERSION);
}

static void look_for_library(struct java_stacks *j, struct java_process *p)
{
	struct image_table *images = machine_images(j->config.machine);
	const struct mapping *m;

	p->state = JAVA_NONE;
	for (uint64_t addr = 0; (m = machine_next_mapping(j->config.machine, j->thread, addr));
	     addr = m->end)
		if (java_is_library(image_get(images, m->image))) {
			open_library(j, p, m);
			return;
		}
}

static bool has_library(struct java_stacks *j, const struct java_process *p)
{
	const struct mapping *m = machine_mapping(j->config.machine, j->thread, p->code);

	return m && m->start == p->code && m->image.n == p->image.n;
}

/* Processes that are no virtual machines go first: other programs may make many of them. */
static void make_room(struct java_stacks *j)
{
	for (size_t i = j->processes.n; i-- > 0;)
		if (j->processes.data[i]->state == JAVA_NONE)
			java_stacks_forget(j, j->processes.data[i]->pid);
	if (j->processes.n >= PROCESSES_MAX)
		java_stacks_forget_all(j);
}

static struct java_process *add_process(struct java_stacks *j)
{
	struct java_process *p;

	if (j->processes.n >= PROCESSES_MAX)
		make_room(j);
	p = java_process_new(j->pid, j->config.memory);
	*intmap_put(&j->by_pid, (uint32_t)j->pid, NULL) = (uint32_t)j->processes.n;
	vec_push(&j->processes, p);
	return p;
}

struct java_process *java_stacks_find_process(struct java_stacks *j)
{
	uint64_t space = machine_space(j->config.machine, j->thread), now_ns;
	uint32_t *at = intmap_find(&j->by_pid, (uint32_t)j->pid);
	struct java_process *p = at ? j->processes.data[*at] : NULL;

	if (p && p->is_gone && j->time_ns > p->gone_ns) {
		java_stacks_forget(j, j->pid);
		p = NULL;
	}
	if (p && p->state >= JAVA_REFUSED && (p->space == space || has_library(j, p))) {
		p->space = space;
		return p;
	}
	now_ns = clock_monotonic_ns();
	if (p && p->state == JAVA_NONE && p->space == space)
		return p;
	if (p && p->state < JAVA_REFUSED &&
	    now_ns - p->tried_ns < JAVA_LOOK_EVERY_NS << MIN(p->n_tries, MORE_RARELY))
		return p;
	if (p && p->state >= JAVA_REFUSED) { /* it executed another program */
		java_stacks_forget(j, j->pid);
		p = NULL;
	}
	at = intmap_find(&j->by_pid, (uint32_t)j->pid);
	p = at ? j->processes.data[*at] : add_process(j);
	p->space = space;
	p->tried_ns = now_ns;
	p->n_tries++;
	look_for_library(j, p);
	return p;
}
