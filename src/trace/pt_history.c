/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_history.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/error.h"
#include "event/guest_task.h"
#include "machine/jit_code.h"
#include "perfdata/tracepoint.h"
#include "symbol/kallsyms.h"

enum {
	MAX_CPUS = 1 << 16,
	MAX_FORKS = 1024, /* of a fork of a fork …: a deeper one was made up */
};

struct collector {
	struct event_sink sink; /* first: the sink is also this */
	struct pt_history *history;
	struct perfdata *data;
	struct tracepoint_format **formats; /* by counter: of sched_switch, else NULL */
};

static struct pt_process *process_get(struct pt_history *h, int32_t pid)
{
	bool is_new;
	uint32_t *at = intmap_put(&h->by_pid, (uint32_t)pid, &is_new);

	if (is_new) {
		*at = (uint32_t)h->processes.n;
		vec_add(&h->processes)->pid = pid;
	}
	return &h->processes.data[*at];
}

const struct pt_process *pt_history_process(const struct pt_history *h, int32_t pid)
{
	const uint32_t *at = intmap_find(&h->by_pid, (uint32_t)pid);

	return at ? &h->processes.data[*at] : NULL;
}

image_id pt_history_dump(const struct pt_history *h, int32_t pid)
{
	const struct pt_process *p = pt_history_process(h, pid);

	return p ? p->dump : IMAGE_UNKNOWN_ID;
}

int32_t pt_history_pid(const struct pt_history *h, int32_t tid)
{
	const uint32_t *pid = intmap_find(&h->by_tid, (uint32_t)tid);

	return pid ? (int32_t)*pid : tid;
}

static void know_thread(struct pt_history *h, const struct event *e)
{
	if ((e->pid >= 0 && e->tid >= 0) || (is_guest_task(e->pid) && is_guest_task(e->tid)))
		*intmap_put(&h->by_tid, (uint32_t)e->tid, NULL) = (uint32_t)e->pid;
}

static void on_switch(struct pt_history *h, uint32_t cpu, uint64_t time_ns, int32_t pid,
		      int32_t tid, bool is_ahead)
{
	if (cpu >= MAX_CPUS)
		return;
	while (h->cpus.n <= cpu)
		vec_add(&h->cpus);
	vec_push(&h->cpus.data[cpu],
		 ((struct pt_switch){
			 .time_ns = time_ns, .pid = pid, .tid = tid, .is_ahead = is_ahead }));
}

/* The prev_pid or next_pid of sched:sched_switch, which is a thread. */
static bool thread_in(const struct tracepoint_format *f, const struct sample_extra *extra,
		      const char *field, int32_t *tid)
{
	struct buf text = { 0 };
	bool is_there = false;

	for (uint32_t i = 0; i < tracepoint_n_fields(f) && !is_there; i++) {
		if (strcmp(tracepoint_field_name(f, i), field) != 0)
			continue;
		is_there = tracepoint_field_value(f, i, extra->raw, extra->raw_size, &text);
		buf_u8(&text, 0);
		*tid = is_there ? (int32_t)strtol((const char *)text.data, NULL, 10) : 0;
	}
	buf_fini(&text);
	return is_there;
}

static struct arena *copies(struct pt_history *h)
{
	if (!h->copies)
		h->copies = arena_new();
	return h->copies;
}

/* What a record points to holds longer than the record only where it stands in the file. */
static const uint8_t *keep(struct collector *c, const uint8_t *bytes, size_t size)
{
	struct pt_history *h = c->history;

	if (perfdata_is_in_place(c->data, bytes, size))
		return bytes;
	return memcpy(arena_alloc(copies(h), size), bytes, size);
}

static void add_sampled(struct collector *c, const struct event *e)
{
	const struct sample_extra *x = e->sample.extra;
	const struct perfdata_counter *counter =
		&perfdata_info(c->data)->counters.data[e->sample.counter];
	bool has_cpu = counter->attr.sample_type & PERF_SAMPLE_CPU;

	vec_push(&c->history->sampled,
		 ((struct pt_sampled){ .bytes = keep(c, x->aux, x->aux_size),
				       .size = x->aux_size,
				       .time_ns = e->time_ns,
				       .pid = e->pid,
				       .tid = e->tid,
				       .cpu = has_cpu ? e->cpu : UINT32_MAX }));
}

static struct pt_guest_cpu *guest_cpu_of(struct pt_history *h, const struct perfdata_guest *guest)
{
	uint64_t number = (uint64_t)guest->machine_pid << 32 | guest->vcpu;
	const uint32_t *at = intmap_find(&h->guest_cpu_by_number, number);
	struct pt_guest_cpu *new;

	if (at)
		return &h->guest_cpus.data[*at];
	*intmap_put(&h->guest_cpu_by_number, number, NULL) = (uint32_t)h->guest_cpus.n;
	new = vec_add(&h->guest_cpus);
	new->machine_pid = guest->machine_pid;
	new->vcpu = guest->vcpu;
	return new;
}

/*
 * The recording has the number of a guest's event, not its name. In the guest, another tracepoint
 * may have the number of this machine's sched_switch. Then prev_pid is not the sampled thread.
 */
static void on_guest_sample(struct pt_history *h, const struct tracepoint_format *f,
			    const struct event *e)
{
	const struct sample_extra *x = e->sample.extra;
	const struct perfdata_guest guest = { .machine_pid = x->machine_pid, .vcpu = x->vcpu };
	int32_t before, next;

	if (!f || !x->raw || !thread_in(f, x, "prev_pid", &before) || before != e->tid ||
	    !thread_in(f, x, "next_pid", &next))
		return;
	vec_push(&guest_cpu_of(h, &guest)->switches,
		 ((struct pt_switch){ .time_ns = e->time_ns,
				      .pid = -1,
				      .tid = guest_task(x->machine_pid, next) }));
}

static void on_sample(struct collector *c, const struct event *e)
{
	const struct tracepoint_format *f = c->formats[e->sample.counter];
	const struct sample_extra *x = e->sample.extra;
	int32_t tid;

	if (!x)
		return;
	if (x->machine_pid) { /* a guest has CPUs and threads of its own */
		on_guest_sample(c->history, f, e);
		return;
	}
	if (f && x->raw && thread_in(f, x, "next_pid", &tid))
		on_switch(c->history, e->cpu, e->time_ns, -1, tid, true);
	if (x->aux && x->aux_size)
		add_sampled(c, e);
}

static bool is_anonymous(const char *path)
{
	return path[0] != '/' || !strncmp(path, "//anon", 6) ||
	       !strncmp(path, "/anon_hugepage", 14) || !strncmp(path, "/dev/zero", 9) ||
	       !strncmp(path, "/SYSV", 5) || !strncmp(path, "/memfd:", 7);
}

static image_id image_of(struct pt_history *h, const struct event *e)
{
	const struct mapping_event *m = &e->mapping;
	struct image image = { .kind = IMAGE_FILE,
			       .build_id = m->build_id,
			       .dev = m->dev,
			       .ino = m->ino,
			       .path = m->path };

	if (guest_of_file(m->generation))
		image.generation = m->generation;

	if (!strcmp(m->path, "[vdso]"))
		image = (struct image){ .kind = IMAGE_VDSO,
					.build_id = m->build_id,
					.path = m->path };
	else if (is_anonymous(m->path))
		image = (struct image){ .kind = IMAGE_JIT, .pid = e->pid, .path = "[anon]" };
	return image_intern(h->images, &image);
}

/* "[kernel.kallsyms]_text", "[nf_tables]" or "/lib/modules/6.1.0/kernel/net/nf_tables.ko.xz". */
static void on_kernel_mapping(struct pt_history *h, const struct mapping_event *m)
{
	cleanup(free_at_exit) char *name = NULL;

	if (!strncmp(m->path, "[kernel.kallsyms]", 17)) {
		h->kernel_text = m->file_off;
		h->kernel_build_id = m->build_id;
	} else if (m->start >> 63 && m->start + m->size > m->start) {
		name = kernel_module_name(m->path);
		vec_push(&h->modules,
			 ((struct pt_module){ m->start, m->start + m->size,
					      arena_strndup(copies(h), name, strlen(name)),
					      arena_strndup(copies(h), m->path, strlen(m->path)),
					      m->build_id }));
	}
}

/* ---- guests ---- */

static void on_guest_switch(struct pt_history *h, const struct perfdata_guest *guest,
			    const struct event *e)
{
	struct pt_guest_cpu *cpu = guest_cpu_of(h, guest);

	if (!e->context_switch.is_out)
		vec_push(&cpu->switches,
			 ((struct pt_switch){
				 .time_ns = e->time_ns, .pid = e->pid, .tid = e->tid }));
}

static void know_guest_cpus(struct pt_history *h, const struct perfdata *data)
{
	size_t n, n_texts;
	const struct perfdata_guest *guests = perfdata_guests(data, &n);
	const struct perfdata_guest_text *texts = perfdata_guest_texts(data, &n_texts);

	for (size_t i = 0; i < n_texts; i++)
		vec_push(&h->guest_texts, texts[i]);
	for (size_t i = 0; i < n; i++) {
		const struct pt_guest_cpu *cpu = guest_cpu_of(h, &guests[i]);

		if (guests[i].tid > 0)
			*intmap_put(&h->guest_cpu_by_tid, (uint32_t)guests[i].tid, NULL) =
				(uint32_t)(cpu - h->guest_cpus.data);
	}
	vec_foreach (&h->guest_cpus, cpu)
		vec_foreach (&cpu->switches, s)
			if (s->pid == -1)
				s->pid = pt_history_pid(h, s->tid);
}

const struct pt_guest_cpu *pt_history_guest_cpu(const struct pt_history *h, int32_t tid)
{
	const uint32_t *at = intmap_find(&h->guest_cpu_by_tid, (uint32_t)tid);

	return at ? &h->guest_cpus.data[*at] : NULL;
}

const struct pt_switch *pt_history_guest_thread(const struct pt_guest_cpu *cpu, uint64_t now_ns,
						uint64_t *next)
{
	size_t low = 0, high = cpu->switches.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (cpu->switches.data[mid].time_ns <= now_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < cpu->switches.n)
		*next = MIN(*next, cpu->switches.data[low].time_ns);
	return low ? &cpu->switches.data[low - 1] : NULL;
}

static void on_mapping(struct pt_history *h, const struct event *e)
{
	const struct mapping_event *m = &e->mapping;
	struct pt_change c = { .time_ns = e->time_ns, .kind = PT_MAP };

	if (m->is_kernel || (e->pid < 0 && !is_guest_task(e->pid))) {
		on_kernel_mapping(h, m);
		return;
	}
	if (!m->is_executable || m->start + m->size < m->start)
		return;
	c.map = (struct mapping){ .start = m->start,
				  .end = m->start + m->size,
				  .file_off = strcmp(m->path, "[vdso]") ? m->file_off : 0,
				  .image = image_of(h, e) };
	if (jit_code_is_dump(m->path))
		process_get(h, e->pid)->dump = c.map.image;
	c.map.is_absolute = image_get(h->images, c.map.image)->kind == IMAGE_JIT;
	vec_push(&process_get(h, e->pid)->changes, c);
}

static void on_fork(struct pt_history *h, const struct event *e)
{
	struct pt_change c = { .time_ns = e->time_ns, .kind = PT_FORK, .parent = e->fork.ppid };

	if (e->pid == e->fork.ppid)
		return;
	process_get(h, e->pid)->dump = pt_history_dump(h, e->fork.ppid);
	c.n_of_parent = (uint32_t)process_get(h, e->fork.ppid)->changes.n;
	vec_push(&process_get(h, e->pid)->changes, c);
}

static void on_context_switch(struct pt_history *h, const struct event *e)
{
	if (!e->context_switch.is_out)
		on_switch(h, e->cpu, e->time_ns, e->pid, e->tid, false);
	else if (e->context_switch.other_tid >= 0)
		on_switch(h, e->cpu, e->time_ns, e->context_switch.other_pid,
			  e->context_switch.other_tid, true);
}

static int push(struct event_sink *sink, const struct event *e)
{
	struct collector *c = (struct collector *)sink;
	struct pt_history *h = c->history;

	h->last_ns = MAX(h->last_ns, e->time_ns);
	switch (e->type) {
	case EVENT_SAMPLE:
		on_sample(c, e);
		break;
	case EVENT_MAPPING:
		on_mapping(h, e);
		break;
	case EVENT_COMM:
		know_thread(h, e);
		if (e->comm.is_exec)
			vec_push(&process_get(h, e->pid)->changes,
				 ((struct pt_change){ .time_ns = e->time_ns, .kind = PT_EXEC }));
		break;
	case EVENT_FORK:
		know_thread(h, e);
		on_fork(h, e);
		break;
	case EVENT_ITRACE_START:
		know_thread(h, e);
		on_switch(h, e->cpu, e->time_ns, e->pid, e->tid, false);
		break;
	case EVENT_SWITCH:
		if (perfdata_guest(c->data))
			on_guest_switch(h, perfdata_guest(c->data), e);
		else
			on_context_switch(h, e);
		break;
	case EVENT_AUX_ID:
		vec_push(&h->counters,
			 ((struct pt_counter){ e->aux.offset, e->cpu, e->aux.counter }));
		break;
	case EVENT_AUX:
		if (e->aux.flags & PERF_AUX_FLAG_TRUNCATED)
			vec_push(&h->losses,
				 ((struct pt_loss){ e->time_ns, e->pid, e->tid, e->cpu }));
		break;
	case EVENT_TEXT_POKE:
		if (e->text_poke.bytes)
			vec_push(&h->pokes,
				 ((struct pt_poke){
					 e->time_ns, e->text_poke.addr,
					 keep(c, e->text_poke.bytes,
					      (size_t)e->text_poke.n_old + e->text_poke.n_new),
					 e->text_poke.n_old, e->text_poke.n_new }));
		break;
	default:
		break;
	}
	return 0;
}

static int compare_pokes(const void *a, const void *b, void *context)
{
	const struct pt_history *h = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = h->pokes.data[i].addr, y = h->pokes.data[k].addr;

	return x != y ? (x < y ? -1 : 1) : (i > k) - (i < k);
}

static void sort_pokes(struct pt_history *h)
{
	for (uint32_t i = 0; i < h->pokes.n; i++)
		vec_push(&h->by_addr, i);
	if (h->pokes.n)
		qsort_r(h->by_addr.data, h->by_addr.n, sizeof(uint32_t), compare_pokes, h);
}

static struct tracepoint_format *switch_format(const struct perfdata_info *info,
					       const struct perfdata_counter *c)
{
	if (c->attr.type != PERF_TYPE_TRACEPOINT)
		return NULL;
	vec_foreach (&info->tracepoints, t)
		if (t->id == c->attr.config && !strcmp(t->name, "sched:sched_switch"))
			return tracepoint_new(t->format, t->format_size, info->is_foreign);
	return NULL;
}

void pt_history_read(struct pt_history *h, struct perfdata *data)
{
	const struct perfdata_info *info = perfdata_info(data);
	struct collector c = { .sink = { push }, .history = h, .data = data };

	*h = (struct pt_history){ .images = image_table_new() };
	c.formats = xcalloc(info->counters.n + 1, sizeof(struct tracepoint_format *));
	for (size_t i = 0; i < info->counters.n; i++)
		c.formats[i] = switch_format(info, &info->counters.data[i]);
	perfdata_read(data, &c.sink, NULL);
	know_guest_cpus(h, data);
	sort_pokes(h);
	for (size_t i = 0; i < info->counters.n; i++)
		tracepoint_free(c.formats[i]);
	free(c.formats);
}

void pt_history_fini(struct pt_history *h)
{
	vec_foreach (&h->processes, p)
		vec_fini(&p->changes);
	vec_fini(&h->processes);
	vec_foreach (&h->cpus, cpu)
		vec_fini(cpu);
	vec_fini(&h->cpus);
	vec_foreach (&h->guest_cpus, cpu)
		vec_fini(&cpu->switches);
	vec_fini(&h->guest_cpus);
	vec_fini(&h->guest_texts);
	intmap_fini(&h->guest_cpu_by_tid);
	intmap_fini(&h->guest_cpu_by_number);
	vec_fini(&h->losses);
	vec_fini(&h->sampled);
	vec_fini(&h->pokes);
	vec_fini(&h->by_addr);
	vec_fini(&h->modules);
	vec_fini(&h->counters);
	arena_free(h->copies);
	intmap_fini(&h->by_pid);
	intmap_fini(&h->by_tid);
	image_table_free(h->images);
}

static void build(const struct pt_history *h, int32_t pid, size_t n, unsigned int depth,
		  struct address_space *out)
{
	const struct pt_process *p = pt_history_process(h, pid);
	size_t first;

	address_space_clear(out);
	if (!p || depth > MAX_FORKS)
		return;
	n = MIN(n, p->changes.n);
	/* The mappings before the last fork or exec are gone. */
	for (first = n; first > 0 && p->changes.data[first - 1].kind == PT_MAP; first--)
		;
	if (first && p->changes.data[first - 1].kind == PT_FORK) {
		const struct pt_change *fork = &p->changes.data[first - 1];

		build(h, fork->parent, fork->n_of_parent, depth + 1, out);
	}
	for (size_t i = first; i < n; i++)
		address_space_map(out, &p->changes.data[i].map);
}

void pt_history_space(const struct pt_history *h, int32_t pid, size_t n, struct address_space *out)
{
	build(h, pid, n, 0, out);
}

/* ---- the kernel's code ---- */

/* The place in by_addr of the first poke that may reach `addr`. */
static size_t first_poke(const struct pt_history *h, uint64_t addr)
{
	uint64_t from = addr - MIN(addr, (uint64_t)UINT16_MAX);
	size_t low = 0, high = h->by_addr.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->pokes.data[h->by_addr.data[mid]].addr < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Those of `n` bytes at `from` that are in the `size` bytes at `addr`, where nothing is missing. */
static void put_over(uint64_t addr, uint8_t *out, size_t *n_read, size_t size, uint64_t from,
		     const uint8_t *bytes, size_t n)
{
	uint64_t start = MAX(addr, from), end = MIN(addr + size, from + n);

	if (start >= end || start > addr + *n_read)
		return;
	memcpy(out + (start - addr), bytes + (start - from), end - start);
	*n_read = MAX(*n_read, end - addr);
}

static int compare_times(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return (i > k) - (i < k);
}

size_t pt_history_poke(const struct pt_history *h, size_t n, uint64_t addr, uint8_t *out,
		       size_t n_read, size_t size)
{
	VEC(uint32_t) near = { 0 };
	size_t i = first_poke(h, addr);

	for (; i < h->by_addr.n && h->pokes.data[h->by_addr.data[i]].addr < addr + size; i++)
		vec_push(&near, h->by_addr.data[i]);
	if (near.n)
		qsort(near.data, near.n, sizeof(uint32_t), compare_times);
	/* Bytes that change later: the first later change has their old value. */
	for (i = near.n; i-- > 0;) {
		const struct pt_poke *p = &h->pokes.data[near.data[i]];

		if (near.data[i] >= n)
			put_over(addr, out, &n_read, size, p->addr, p->bytes, p->n_old);
	}
	/* Bytes that have changed: the last change before has their new value. */
	for (i = 0; i < near.n; i++) {
		const struct pt_poke *p = &h->pokes.data[near.data[i]];

		if (near.data[i] < n)
			put_over(addr, out, &n_read, size, p->addr, p->bytes + p->n_old, p->n_new);
	}
	vec_fini(&near);
	return n_read;
}

/* From the last to the first: a module may have the place of an earlier one. */
const struct pt_module *pt_history_module(const struct pt_history *h, uint64_t addr)
{
	for (size_t i = h->modules.n; i-- > 0;)
		if (addr >= h->modules.data[i].start && addr < h->modules.data[i].end)
			return &h->modules.data[i];
	return NULL;
}

void pt_history_apply(const struct pt_history *h, const struct pt_change *c,
		      struct address_space *space)
{
	switch (c->kind) {
	case PT_MAP:
		address_space_map(space, &c->map);
		break;
	case PT_EXEC:
		address_space_clear(space);
		break;
	case PT_FORK:
		build(h, c->parent, c->n_of_parent, 0, space);
		break;
	}
}

const struct mapping *pt_history_later(const struct pt_history *h, int32_t pid, size_t n,
				       uint64_t addr)
{
	const struct pt_process *p = pt_history_process(h, pid);

	for (size_t i = n; p && i < p->changes.n; i++) {
		const struct pt_change *c = &p->changes.data[i];

		if (c->kind != PT_MAP)
			return NULL;
		if (addr >= c->map.start && addr < c->map.end)
			return &c->map;
	}
	return NULL;
}
