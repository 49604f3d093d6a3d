/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_view.h"

#include <assert.h>

#include "pt/flow.h"
#include "trace/pt_modules.h"

/* Code of the kernel that runs in user mode, at the same place on all machines (x86-64). */
#define VSYSCALL_PAGE 0xffffffffff600000ULL

enum {
	IDLE_VIEWS = 32,    /* code graphs of processes that no queue is in */
	ALL_PROCESSES = -1, /* the pid of a view of the kernel alone */
};

static size_t view_read_mapping(struct pt_trace *t, const struct mapping *m, int32_t pid,
				uint64_t addr, uint8_t *out, size_t size)
{
	image_id dump = m->is_absolute ? pt_history_dump(&t->history, pid) : IMAGE_UNKNOWN_ID;

	if (m->is_absolute)
		return dump.n ? pt_images_read_jit(t->images, dump, addr, out, size) : 0;
	return pt_images_read(t->images, m->image, addr - m->start + m->file_off, out,
			      MIN(size, m->end - addr));
}

/* How much of it is the kernel's own, where that is a file, which has no modules. */
static size_t view_outside_modules(struct pt_trace *t, uint64_t addr, size_t size)
{
	if (pt_images_find_built_kernel(t->images))
		vec_foreach (&t->history.modules, m)
			if (addr < m->end && addr + size > m->start)
				size = m->start > addr ? m->start - addr : 0;
	return size;
}

static size_t view_read_kernel(struct pt_trace *t, uint64_t addr, bool is_way, uint8_t *out,
			       size_t size)
{
	size_t n = pt_images_read_kernel(t->images, addr, out, view_outside_modules(t, addr, size));

	return n ? n : pt_modules_read(t->modules, addr, is_way, out, size);
}

size_t pt_view_read(struct pt_trace *t, const struct address_space *maps, const struct version *of,
		    uint64_t addr, bool is_way, uint8_t *out, size_t size)
{
	int32_t process = version_process(of);
	size_t n = 0;

	if (of->is_guest && addr >> 63)
		return pt_images_read_guest(t->images, of->pid, addr, is_way, out, size);
	if (of->is_guest && !of->guest && !pt_images_have_guest_code(t->images))
		return 0;
	if (addr >> 63) {
		n = view_read_kernel(t, addr, is_way, out, size);
		return pt_history_poke(&t->history, of->n_pokes, addr, out, n, size);
	}
	while (n < size) {
		const struct mapping *m = address_space_find(maps, addr + n);
		size_t got;

		/* Without MTCs, time is coarse. So the record of the mapping may be too late. */
		if (!m)
			m = pt_history_later(&t->history, process, of->n_changes, addr + n);
		got = m ? view_read_mapping(t, m, process, addr + n, out + n, size - n) : 0;
		if (!got)
			break;
		n += got;
	}
	return n;
}

static size_t view_read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out,
			     size_t size)
{
	struct view *v = context;

	(void)space;
	return pt_view_read(v->trace, &v->maps, &v->of, addr, true, out, size);
}

/* Where no mapping of the process is known, there may be any. */
static bool view_may_cover(void *context, uint32_t space, uint64_t addr)
{
	const struct view *v = context;

	(void)space;
	if (v->of.is_guest)
		return true;
	if (!v->trace->info.has_user && !(addr >> 63))
		return false;
	if (addr >> 63)
		return v->trace->info.has_kernel || addr >> 12 == VSYSCALL_PAGE >> 12;
	return !v->maps.n || address_space_find(&v->maps, addr) ||
	       pt_history_later(&v->trace->history, v->of.pid, v->of.n_changes, addr);
}

static void view_free(struct view *v)
{
	address_space_fini(&v->maps);
	pt_code_free(v->code);
	free(v);
}

void view_pool_fini(struct view_pool *pool)
{
	vec_foreach (&pool->views, v)
		view_free(*v);
	vec_fini(&pool->views);
}

static bool version_is_same(const struct version *a, const struct version *b)
{
	return a->pid == b->pid && a->is_guest == b->is_guest && a->guest == b->guest &&
	       a->n_changes == b->n_changes && a->n_pokes == b->n_pokes;
}

static bool version_is_before(const struct version *a, const struct version *b)
{
	return a->pid == b->pid && a->is_guest == b->is_guest && a->guest == b->guest &&
	       a->n_changes <= b->n_changes && a->n_pokes <= b->n_pokes;
}

/* The view of a version, or else the last one before it that no queue needs. */
static struct view *view_find(struct view_pool *pool, const struct version *of)
{
	struct view *best = NULL;

	vec_foreach (&pool->views, at) {
		struct view *v = *at;

		if (version_is_same(&v->of, of))
			return v;
		if (!v->n_users && version_is_before(&v->of, of) &&
		    (!best || version_is_before(&best->of, &v->of)))
			best = v;
	}
	return best;
}

static void view_drop_idle(struct view_pool *pool)
{
	for (;;) {
		size_t n_idle = 0, oldest = SIZE_MAX;

		for (size_t i = 0; i < pool->views.n; i++) {
			if (pool->views.data[i]->n_users)
				continue;
			n_idle++;
			if (oldest == SIZE_MAX ||
			    pool->views.data[i]->used < pool->views.data[oldest]->used)
				oldest = i;
		}
		if (n_idle <= IDLE_VIEWS)
			return;
		view_free(pool->views.data[oldest]);
		pool->views.data[oldest] = pool->views.data[--pool->views.n];
	}
}

static struct view *view_new(struct pt_trace *t, struct view_pool *pool, const struct version *of)
{
	struct view *v = xcalloc(1, sizeof(*v));
	struct pt_memory memory = { view_read_code, v, view_may_cover };

	*v = (struct view){ .of = *of, .trace = t };
	pt_history_space(&t->history, version_process(of), of->n_changes, &v->maps);
	v->code = pt_code_new(&memory, 0, 64, t->detail == PT_ALL_BRANCHES);
	v->code->watched = of->is_guest ? UINT64_MAX : t->switch_ip;
	vec_push(&pool->views, v);
	view_drop_idle(pool);
	return v;
}

static bool view_covers(const struct address_space *maps, const struct mapping *m)
{
	const struct mapping *at = address_space_next(maps, m->start);

	return at && at->start < m->end;
}

/* Keeps the decoded code, except where the code has changed. */
static void view_advance(struct view *v, const struct version *to)
{
	const struct pt_process *p = pt_history_process(&v->trace->history, version_process(to));
	bool changes_code = v->of.n_pokes != to->n_pokes ||
			    (v->of.n_changes != to->n_changes && v->code->has_unreadable);

	v->of.n_pokes = to->n_pokes;
	for (; v->of.n_changes < to->n_changes; v->of.n_changes++) {
		const struct pt_change *c = &p->changes.data[v->of.n_changes];

		changes_code |= c->kind != PT_MAP || view_covers(&v->maps, &c->map);
		pt_history_apply(&v->trace->history, c, &v->maps);
	}
	if (changes_code)
		pt_code_forget(v->code);
}

void queue_leave_view(struct queue *q)
{
	assert(!q->view || q->view->n_users);
	if (q->view)
		q->view->n_users--;
	if (q->flow)
		pt_flow_set_code(q->flow, NULL);
	q->view = NULL;
}

/* The kernel is the same for all processes, so a trace of it alone has one graph. */
static struct version view_version(const struct pt_trace *t, const struct version *of)
{
	struct version shared = { .pid = ALL_PROCESSES, .n_pokes = of->n_pokes };

	return t->info.has_user || of->is_guest ? *of : shared;
}

void queue_enter_view(struct queue *q, const struct version *version)
{
	struct version shared = view_version(q->trace, version), *of = &shared;
	struct view *v;

	q->version = *version;
	if (q->view && version_is_same(&q->view->of, of))
		return;
	queue_leave_view(q);
	v = view_find(q->pool, of);
	if (!v)
		v = view_new(q->trace, q->pool, of);
	else if (!version_is_same(&v->of, of))
		view_advance(v, of);
	assert(version_is_same(&v->of, of));
	v->n_users++;
	v->used = ++q->pool->clock;
	q->view = v;
	if (q->flow)
		pt_flow_set_code(q->flow, v->code);
}

/* Where the last span was given out from; NULL: it is the queue of losses. */
const struct address_space *queue_given_maps(struct pt_trace *t, uint32_t queue)
{
	struct queue *q;

	if (queue >= t->queues.n)
		return NULL;
	q = &t->queues.data[queue];
	if (q->view && version_is_same(&q->view->of, &q->given))
		return &q->view->maps;
	if (!q->has_given_maps)
		pt_history_space(&t->history, version_process(&q->given), q->given.n_changes,
				 &q->given_maps);
	q->has_given_maps = true;
	return &q->given_maps;
}
