/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the counters and mapping their rings, as far as this kernel and this user permit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "collect/cgroup.h"
#include "collect/ring_room.h"
#include "collect/rings_state.h"
#include "counter/pace.h"
#include "counter/reason.h"
#include "counter/uprobe.h"
#include "perfdata/regs.h"

#define RING_MIN_BYTES ((size_t)16 << 10) /* below it, mapping is not tried */

/*
 * Features of newer kernels, newest first. Older kernels refuse them with EINVAL. Each is removed
 * in turn until the kernel accepts.
 */
struct feature {
	const char *name;
	void (*remove)(struct perf_event_attr *attr);
};

static void without_lost(struct perf_event_attr *a)
{
	a->read_format &= ~(uint64_t)RINGS_FORMAT_LOST;
}
static void without_build_id(struct perf_event_attr *a)
{
	a->build_id = 0;
}
static void without_bpf_event(struct perf_event_attr *a)
{
	a->bpf_event = 0;
}
static void without_switches(struct perf_event_attr *a)
{
	a->context_switch = 0;
}
static void without_ksymbol(struct perf_event_attr *a)
{
	a->ksymbol = 0;
}
static void without_cgroup(struct perf_event_attr *a)
{
	a->cgroup = 0;
	a->sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
}
static const struct feature features[] = {
	{ "lost samples by counter (Linux 6.0)", without_lost },
	{ "build ids in mappings (Linux 5.12)", without_build_id },
	{ "cgroups of samples (Linux 5.7)", without_cgroup },
	{ "BPF events (Linux 5.1)", without_bpf_event },
	{ "kernel symbol events (Linux 5.1)", without_ksymbol },
	{ "context switches (Linux 4.3)", without_switches },
};

static uint32_t rings_counter_of_id(const void *context, uint64_t id)
{
	const struct rings *r = context;
	const uint32_t *at = intmap_find(&r->ids, id);

	return at ? *at : 0;
}

static void set_common(const struct rings_config *c, struct perf_event_attr *a)
{
	a->size = sizeof(*a);
	if (c->stack_bytes) {
		a->sample_regs_user = UNWIND_PERF_REGS;
		a->sample_stack_user = c->stack_bytes;
	}
	a->read_format = PERF_FORMAT_ID | RINGS_FORMAT_LOST;
	a->sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IP;
	if (c->counters->n > 1 || c->for_file)
		a->sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (c->for_file)
		a->sample_type |= PERF_SAMPLE_CPU;
	a->sample_id_all = 1;
	a->disabled = 1;
	a->inherit = c->inherit;
	a->enable_on_exec = c->enable_on_exec;
	a->use_clockid = !c->for_trace;
	a->clockid = c->for_trace ? 0 : CLOCK_MONOTONIC;
}

/*
 * All events of one ring must have one layout, because a record does not name its event before it
 * is parsed. So the dummy asks for the same fields. Beside a trace, it omits fields that only
 * samples have.
 */
static struct perf_event_attr side_band_attr(const struct rings_config *c, uint64_t sample_type,
					     size_t ring_bytes)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		/* It has no samples, and a dummy with branch stacks is refused. */
		.sample_type = c->for_trace ? 0 : sample_type & ~(uint64_t)PERF_SAMPLE_BRANCH_STACK,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.bpf_event = 1,
		.cgroup = c->with_cgroup,
		.watermark = 1,
		/* a dummy counts nothing, but needs these bits if the kernel may not be seen */
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1, /* checked since Linux 6.12.113 and 7.2.10 */
		.exclude_hv = 1,
	};

	a.build_id = !c->with_inodes;
	a.context_switch = c->for_trace;
	a.sample_period = c->for_trace;
	/*
	 * Not inherit_stat, which would give the time of each thread that ends: the kernel writes
	 * those records into the rings of all CPUs from one of them. Two CPUs that do so at once
	 * leave a ring that never goes on.
	 */
	if (c->with_task_times)
		a.config = PERF_COUNT_SW_TASK_CLOCK;
	/* perf finds the unwind tables of a file by its mappings as data. */
	a.mmap_data = c->for_file && c->stack_bytes;
	a.wakeup_watermark = (uint32_t)ring_room_watermark(c, ring_bytes);
	set_common(c, &a);
	return a;
}

static uint64_t common_sample_type(const struct rings_config *c)
{
	uint64_t type = c->with_cgroup ? PERF_SAMPLE_CGROUP : 0;

	for (size_t i = 0; i < c->counters->n; i++)
		if (c->counters->data[i].attr.freq || c->counters->data[i].of_all_threads)
			type |= PERF_SAMPLE_PERIOD;
	for (size_t i = 0; i < c->counters->n; i++)
		if (c->counters->data[i].ext ||
		    (c->for_file && c->counters->data[i].attr.type == PERF_TYPE_TRACEPOINT))
			type |= PERF_SAMPLE_RAW;
	for (size_t i = 0; i < c->counters->n; i++)
		if (c->counters->data[i].attr.aux_sample_size)
			type |= PERF_SAMPLE_AUX;
	if (c->counters->n && c->counters->data[0].attr.branch_sample_type)
		type |= PERF_SAMPLE_BRANCH_STACK;
	if (c->with_callchain)
		type |= PERF_SAMPLE_CALLCHAIN;
	if (c->stack_bytes)
		type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	return type;
}

static struct perf_event_attr counter_attr(const struct rings_config *c, size_t at,
					   uint64_t sample_type)
{
	const struct counter *counter = &c->counters->data[at];
	struct perf_event_attr a = pace_attr(counter);

	a.sample_type = counter->is_trace ? 0 : sample_type;
	a.watermark = !counter->is_trace && !counter->of_all_threads && !counter->wakes;
	if (counter->wakes)
		a.wakeup_events = 1;
	if (c->with_callchain) {
		a.exclude_callchain_kernel = a.exclude_kernel;
		a.exclude_callchain_user = a.exclude_user || c->stack_bytes;
	}
	set_common(c, &a);
	if (counters_has_probe(c->counters, at))
		a.inherit = 0; /* counter/uprobe.h */
	if (counter_is_rare(counter) && c->rare_stack_bytes && c->stack_bytes)
		a.sample_stack_user = MIN(c->rare_stack_bytes, c->stack_bytes);
	return a;
}

struct target {
	int pid, cpu;
	unsigned long flags;
	int leader; /* of the group in progress, on this target; -1: none */
};

/* Opens with all features, or with as many as this kernel has. */
static int open_event(struct rings *r, struct perf_event_attr *a, const struct target *t,
		      size_t *n_removed)
{
	int fd = r->backend.open(r->backend.context, a, t->pid, t->cpu, t->leader, t->flags);

	while (fd == -EINVAL && *n_removed < ARRAY_SIZE(features)) {
		features[(*n_removed)++].remove(a);
		fd = r->backend.open(r->backend.context, a, t->pid, t->cpu, t->leader, t->flags);
	}
	return fd;
}

static int map_ring(struct rings *r, struct ring *ring, int fd)
{
	void *base = r->backend.map(r->backend.context, fd, r->page_bytes + r->ring_bytes);

	if (!base)
		return -errno;
	ring->page = base;
	ring->data = (uint8_t *)base + r->page_bytes;
	ring->mask = r->ring_bytes - 1;
	ring->wrapped = xmalloc(UINT16_MAX + 1);
	if (r->opening.config.stack_bytes)
		ring->ahead = xcalloc(2, sizeof(*ring->ahead));
	return 0;
}

static int explain_map_failure(const struct rings *r, int e, struct error *err)
{
	struct reason_text text;

	if (e != -EPERM)
		return error_errno(err, e, "cannot map rings of %zu KiB on each of %zu CPUs",
				   r->ring_bytes >> 10, r->n_rings);
	reason_tell(r->opening.config.sources, REASON_LOCKED_MEMORY, &text);
	return error_set(err, e, "cannot map rings of %zu KiB on each of %zu CPUs: %s; %s",
			 r->ring_bytes >> 10, r->n_rings, text.reason, text.remedy);
}

static void add_fd(struct rings *r, const struct ring *ring, int fd, uint32_t counter,
		   const struct perf_event_attr *a)
{
	struct counter_fd f = { .fd = fd, .ring = (uint32_t)(ring - r->rings), .counter = counter };
	uint64_t id = 0;

	struct known_event *event =
		&r->events[counter == RINGS_SIDE_BAND ? r->counters->n : (size_t)counter];

	r->exact_losses = a->read_format & RINGS_FORMAT_LOST;
	if (r->backend.control(r->backend.context, fd, PERF_EVENT_IOC_ID, &id) == 0 &&
	    counter != RINGS_SIDE_BAND)
		*intmap_put(&r->ids, id, NULL) = counter;
	event->attr = *a;
	vec_push(&event->ids, id);
	vec_push(&r->fds, f);
}

/* If this user may not see the counter's kernel side, only user code counts, with a note. */
static int open_counter(struct rings *r, struct opening *o, size_t i, const struct target *t)
{
	const struct counter *counter = &r->counters->data[i];
	struct perf_event_attr *a = &o->attrs[i];
	int fd;

	for (size_t n = 0; n < o->n_removed; n++)
		features[n].remove(a);
	/* members start and stop with their leader */
	a->disabled = t->leader < 0 && !counter->of_all_threads;
	a->enable_on_exec = o->config.enable_on_exec && !o->config.starts_paused && a->disabled;
	fd = open_event(r, a, t, &o->n_removed);
	if ((fd == -EACCES || fd == -EPERM) && !a->exclude_kernel && !a->exclude_user) {
		struct perf_event_attr user_only = *a;

		user_only.exclude_kernel = user_only.exclude_callchain_kernel = 1;
		fd = open_event(r, &user_only, t, &o->n_removed);
		if (fd >= 0) {
			*a = user_only;
			o->had_to_leave_kernel = true;
		}
	}
	return fd;
}

static int redirect_to_ring(struct rings *r, int fd, int ring_fd)
{
	return r->backend.control(r->backend.context, fd, PERF_EVENT_IOC_SET_OUTPUT,
				  (void *)(intptr_t)ring_fd);
}

/*
 * The leader of a counter's group, among those opened from `first` on; -1: it leads, or is alone.
 */
static int leader_of(const struct rings *r, size_t counter, size_t first)
{
	uint32_t group = r->counters->data[counter].group;

	for (size_t i = first; group && i < r->fds.n; i++)
		if (r->fds.data[i].counter != RINGS_SIDE_BAND &&
		    r->counters->data[r->fds.data[i].counter].group == group)
			return r->fds.data[i].fd;
	return -1;
}

static int explain_refusal(struct rings *r, struct opening *o, size_t i, struct target t, int code,
			   struct error *err)
{
	int alone = -1;

	if (t.leader >= 0) {
		t.leader = -1;
		alone = open_counter(r, o, i, &t);
	}
	if (alone < 0)
		return counter_explain(o->config.sources, &r->counters->data[i], code, err);
	r->backend.close(r->backend.context, alone);
	return counter_explain_group(r->counters, i, code, err);
}

/* One counter, into the ring; -ESRCH if its thread has ended. */
static int open_into(struct rings *r, struct opening *o, const struct ring *ring, size_t i,
		     const struct target *t, struct error *err)
{
	int fd = open_counter(r, o, i, t), e = 0;

	if (fd == -ESRCH)
		return fd;
	if (fd < 0)
		return explain_refusal(r, o, i, *t, fd, err);
	add_fd(r, ring, fd, (uint32_t)i, &o->attrs[i]);
	if (r->counters->data[i].filter)
		e = r->backend.control(r->backend.context, fd, PERF_EVENT_IOC_SET_FILTER,
				       r->counters->data[i].filter);
	if (e < 0)
		return error_errno(err, e, "the kernel refuses the filter '%s' of '%s'",
				   r->counters->data[i].filter, r->counters->data[i].name);
	e = redirect_to_ring(r, fd, ring->fd);
	return e < 0 ? error_errno(err, e, "cannot direct counter '%s' to the ring of CPU %u",
				   r->counters->data[i].name, ring->cpu)
		     : 0;
}

/* False also if the thread has ended. A kernel can refuse a user's own threads, too. */
static bool is_of_another_user(int tid)
{
	cleanup(free_at_exit) char *path = xasprintf("/proc/%d", tid);
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

static bool is_open_from(const struct rings *r, size_t first, uint32_t counter)
{
	for (size_t i = first; i < r->fds.n; i++)
		if (r->fds.data[i].counter == counter)
			return true;
	return false;
}

/* There is no counter whose refusal says why. */
static int explain_side_band(const struct opening *o, unsigned int cpu, int code, struct error *err)
{
	const struct counter_sources *sources = o->config.sources;
	enum reason reason = reason_of_refusal(sources, &o->side_band, code);
	struct reason_text text;

	if (reason == REASON_NONE)
		return error_errno(err, code, "cannot follow the processes of CPU %u", cpu);
	reason_tell(sources, reason, &text);
	return error_set(err, code, "cannot follow the processes of CPU %u: %s%s%s", cpu,
			 text.reason, *text.remedy ? "; " : "", text.remedy);
}

/* All events of one thread (or of everything) on one CPU, into that CPU's ring. */
static int open_on_cpu(struct rings *r, struct opening *o, struct ring *ring,
		       const struct target *t, struct error *err)
{
	const struct rings_config *c = &o->config;
	int leader = open_event(r, &o->side_band, t, &o->n_removed), e;
	struct pollfd *poll_slot = &r->polls[ring - r->rings];
	size_t first = r->fds.n;

	/* A thread may end, and a CPU go offline, while we open. */
	if (leader == -ESRCH || leader == -ENODEV)
		return 0;
	if ((leader == -EACCES || leader == -EPERM) && c->n_tids && is_of_another_user(t->pid))
		return error_set(err, leader,
				 "thread %d can't be profiled: it is another user's; run as its "
				 "user, or as root",
				 t->pid);
	/* Every kernel has the dummy event. */
	if (leader == -ENOENT && c->cgroup_fd >= 0)
		return cgroup_explain(c->cgroup_fd, leader, err);
	if (leader < 0 && !c->counters->n)
		return explain_side_band(o, ring->cpu, leader, err);
	if (leader < 0)
		return counter_explain(c->sources, &c->counters->data[0], leader, err);
	add_fd(r, ring, leader, RINGS_SIDE_BAND, &o->side_band);
	if (!ring->page) {
		e = map_ring(r, ring, leader);
		o->map_failed = e < 0;
		if (e < 0)
			return explain_map_failure(r, e, err);
		ring->fd = leader;
		*poll_slot = (struct pollfd){ .fd = leader, .events = POLLIN };
	} else {
		e = redirect_to_ring(r, leader, ring->fd);
		if (e < 0)
			return error_errno(err, e, "cannot share the ring of CPU %u", ring->cpu);
	}
	for (size_t i = 0; i < c->counters->n; i++) {
		struct target own = *t;

		if (c->counters->data[i].carrier || c->counters->data[i].in_kernel)
			continue;
		if (c->counters->data[i].of_all_threads) {
			if (is_open_from(r, o->n_former, (uint32_t)i))
				continue;
			own.pid = -1;
			own.flags &= ~(unsigned long)PERF_FLAG_PID_CGROUP;
		}
		if (!c->by_thread && !counter_is_on_cpu(&c->counters->data[i], ring->cpu))
			continue;
		own.leader = leader_of(r, i, first);
		e = open_into(r, o, ring, i, &own, err);
		if (e < 0)
			return e == -ESRCH ? 0 : e;
	}
	return 0;
}

int rings_open_ring(struct rings *r, struct ring *ring, struct error *err)
{
	struct opening *o = &r->opening;
	const struct rings_config *c = &o->config;
	size_t first = c->by_thread ? (size_t)(ring - r->rings) : 0;
	size_t n = c->by_thread ? first + 1 : c->n_tids ? c->n_tids : 1;
	int e = 0;

	o->n_former = r->fds.n;
	for (size_t t = first; t < n && !e; t++) {
		struct target target = {
			.pid = c->cgroup_fd >= 0 ? c->cgroup_fd
			       : c->n_tids       ? c->tids[t]
						 : -1,
			.cpu = (int)ring->cpu,
			.flags = PERF_FLAG_FD_CLOEXEC |
				 (c->cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0),
			.leader = -1,
		};

		e = open_on_cpu(r, o, ring, &target, err);
	}
	return e;
}

static int rings_open_all(struct rings *r, struct error *err)
{
	bool has_any = false;
	int e = 0;

	for (size_t i = 0; i < r->n_rings && !e; i++) {
		e = rings_open_ring(r, &r->rings[i], err);
		has_any |= r->rings[i].page != NULL;
	}
	if (!e && !has_any)
		e = error_set(err, -ESRCH, "the process to be profiled has ended");
	return e;
}

static struct rings *rings_new(const struct rings_config *c, size_t ring_bytes)
{
	struct rings *r = xcalloc(1, sizeof(*r));

	r->backend = c->backend ? *c->backend : perf_system;
	r->counters = c->counters;
	r->n_rings = c->by_thread ? c->n_tids : c->cpus->n;
	r->rings = xcalloc(r->n_rings, sizeof(*r->rings));
	r->polls = xcalloc(r->n_rings + 1, sizeof(*r->polls));
	r->heap = xcalloc(r->n_rings, sizeof(struct ring *));
	r->events = xcalloc(c->counters->n + 1, sizeof(*r->events));
	for (size_t i = 0; i < r->n_rings; i++) {
		r->heap[i] = &r->rings[i];
		r->rings[i].cpu = c->by_thread ? UINT32_MAX : c->cpus->data[i];
		r->polls[i].fd = -1;
	}
	r->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	r->ring_bytes = ring_bytes;
	r->pace.nap_ms = ring_room_nap_ms(c, ring_bytes);
	r->pace.ring_bytes = ring_bytes;
	r->pace.busy_bytes = ring_room_watermark(c, ring_bytes) / 2;
	r->is_off = xcalloc(c->counters->n, sizeof(*r->is_off));
	memset(r->is_off, c->starts_paused, c->counters->n * sizeof(*r->is_off));
	r->fixed_periods = xcalloc(c->counters->n, sizeof(*r->fixed_periods));
	r->tallies = xcalloc(c->counters->n, sizeof(*r->tallies));
	for (size_t i = 0; i < c->counters->n; i++)
		r->pace.nap_ms = c->counters->data[i].wakes ? 0 : r->pace.nap_ms;
	for (size_t i = 0; i < c->counters->n; i++)
		r->fixed_periods[i] = pace_period(&c->counters->data[i]);
	return r;
}

static uint32_t read_max_stack(void)
{
	unsigned int n = 127; /* PERF_MAX_STACK_DEPTH, if the setting can't be read */
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 127;
		fclose(f);
	}
	return n;
}

/* Opens everything with rings of one size. *map_failed: a smaller size may be possible. */
static int open_sized(const struct rings_config *c, size_t ring_bytes, bool *map_failed,
		      struct rings **out, struct error *err)
{
	cleanup(rings_close_at_exit) struct rings *r = rings_new(c, ring_bytes);
	uint64_t sample_type = common_sample_type(c);
	struct opening *o = &r->opening;
	int e;

	*o = (struct opening){ .config = *c,
			       .side_band = side_band_attr(c, sample_type, ring_bytes) };
	o->attrs = xcalloc(c->counters->n, sizeof(*o->attrs));
	for (size_t i = 0; i < c->counters->n; i++)
		o->attrs[i] = counter_attr(c, i, sample_type);
	r->format = (struct record_format){
		.sample_type = o->side_band.sample_type | sample_type,
		.sample_id_all = true,
		.counter_of = c->counters->n > 1 || c->for_file ? rings_counter_of_id : NULL,
		.context = r,
		.max_stack = read_max_stack(),
		.regs_user = c->stack_bytes ? UNWIND_PERF_REGS : 0,
		.fixed_periods = r->fixed_periods,
		.branch_sample_type =
			c->counters->n ? c->counters->data[0].attr.branch_sample_type : 0,
	};
	e = rings_open_all(r, err);
	/* as the kernel has accepted it */
	r->format.sample_type = o->side_band.sample_type | (sample_type & PERF_SAMPLE_BRANCH_STACK);
	*map_failed = o->map_failed;
	if (e < 0)
		return e;
	if (o->had_to_leave_kernel)
		snprintf(r->note, sizeof(r->note),
			 "this user may not sample the kernel (kernel.perf_event_paranoid): "
			 "user code only");
	*out = take_ptr(r);
	return 0;
}

/* All rings have one size: it is halved until all fit the locked-memory limit. */
int rings_open(const struct rings_config *c, struct rings **out, struct error *err)
{
	size_t size = ring_room_bytes(c);
	bool map_failed;
	int e;

	file_raise_limit(); /* threads times CPUs times events */
	while ((e = open_sized(c, size, &map_failed, out, err)) == -EPERM && map_failed &&
	       size > RING_MIN_BYTES)
		size /= 2;
	return e;
}

static void unmap_ring(struct rings *r, struct ring *ring)
{
	if (ring->page)
		r->backend.unmap(r->backend.context, ring->page, r->page_bytes + r->ring_bytes);
	free(ring->wrapped);
	free(ring->ahead);
	*ring = (struct ring){ .cpu = ring->cpu };
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_rings; i++)
		unmap_ring(r, &r->rings[i]);
	vec_foreach (&r->fds, f)
		r->backend.close(r->backend.context, f->fd);
	vec_fini(&r->fds);
	for (size_t i = 0; r->events && i <= r->counters->n; i++)
		vec_fini(&r->events[i].ids);
	free(r->events);
	intmap_fini(&r->ids);
	free(r->rings);
	free(r->heap);
	free(r->polls);
	free(r->fixed_periods);
	free(r->is_off);
	free(r->tallies);
	free(r->opening.attrs);
	free(r);
}

static bool has_former(const struct rings *r, uint32_t ring, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r->fds.data[i].ring == ring && !r->fds.data[i].has_ended)
			return true;
	return false;
}

/* Of the first n descriptors; they may still count (cpu_watch.h). */
static void end_former(struct rings *r, uint32_t ring, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct counter_fd *f = &r->fds.data[i];

		if (f->ring != ring || f->has_ended)
			continue;
		r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_DISABLE, NULL);
		f->has_ended = true;
	}
}

/* Closes the events from `first` on, which are the newest. */
static void close_from(struct rings *r, size_t first)
{
	while (r->fds.n > first) {
		const struct counter_fd *f = &r->fds.data[--r->fds.n];
		size_t event = f->counter == RINGS_SIDE_BAND ? r->counters->n : f->counter;

		r->backend.close(r->backend.context, f->fd);
		r->events[event].ids.n--;
	}
}

/*
 * Opens the events of a ring anew. If that fails, the former ones go on. An exclusive event (of
 * Intel PT) can't be opened (EBUSY) while its former one is alive: then all the former ones are.
 */
static int reopen_ring(struct rings *r, struct ring *ring, struct error *err)
{
	uint32_t number = (uint32_t)(ring - r->rings);
	bool has_page = ring->page;
	size_t first = r->fds.n;
	int e = rings_open_ring(r, ring, err);

	if (e < 0) {
		close_from(r, first);
		if (!has_page) {
			unmap_ring(r, ring);
			r->polls[number].fd = -1;
		}
		return e == -EBUSY && has_former(r, number, first) ? 0 : e;
	}
	if (r->fds.n == first) /* the CPU has gone again */
		return 0;
	end_former(r, number, first);
	r->polls[number] = (struct pollfd){ .fd = r->fds.data[first].fd, .events = POLLIN };
	return 0;
}

int rings_open_cpu(struct rings *r, uint32_t cpu, size_t *first, struct error *err)
{
	*first = r->fds.n;
	if (r->opening.config.n_tids)
		return 0;
	for (size_t i = 0; i < r->n_rings; i++)
		if (r->rings[i].cpu == cpu)
			return reopen_ring(r, &r->rings[i], err);
	return error_set(err, -ENOENT, "CPU %u is not profiled", cpu);
}

int rings_cpu_online(struct rings *r, uint32_t cpu, struct error *err)
{
	size_t first;
	int e = rings_open_cpu(r, cpu, &first, err);

	return e ? e : rings_enable_from(r, first, err);
}
