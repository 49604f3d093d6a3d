/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/rings.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "collect/ring_room.h"
#include "perfdata/record.h"
#include "perfdata/regs.h"

/* Since Linux 6.0; older headers lack the name. */
#define FORMAT_LOST (1U << 4)

/*
 * From taking its time to standing in the ring, a record needs the length of
 * an interrupt handler; a hypervisor may stop the CPU in between. What comes
 * later than this is still taken, and counted as out of order.
 */
#define SETTLE_NS 10000000ULL

#define RING_MIN_BYTES ((size_t)16 << 10) /* below it, mapping is not tried */
#define LARGE_RECORD   4096
#define FETCHED_BYTES  2048
#define CACHE_LINE     64
#define SIDE_BAND      UINT32_MAX

struct ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t mask; /* data size - 1 */
	uint64_t head, tail;
	uint64_t next_ns; /* time of the record at tail; UINT64_MAX: none up to the limit */
	int fd;           /* that the kernel's records come by */
	uint32_t cpu;
	uint32_t next_size;
	const void *next; /* the record at tail, whole */
	uint8_t *wrapped; /* where a record that wraps around is put together */
};

struct counter_fd {
	int fd;
	uint32_t ring;
	uint32_t counter; /* or SIDE_BAND */
	uint64_t lost;    /* at the last reading */
};

/* What a file must know of an event; for the side band, too. */
struct known_event {
	struct perf_event_attr attr;
	struct {
		uint64_t *data;
		size_t n, cap;
	} ids;
};

/* How events are opened, with what was found out at the first ones. */
struct opening {
	struct rings_config config;
	struct perf_event_attr side_band;
	struct perf_event_attr *attrs; /* of the counters */
	size_t n_removed;              /* features that this kernel lacks */
	bool had_to_leave_kernel;
	bool map_failed;
};

struct rings {
	struct perf_backend backend;
	struct opening opening;
	const struct counters *counters;
	struct record_format format;
	struct record_scratch scratch;
	struct intmap ids; /* sample id to counter */
	struct ring *rings;
	struct ring **heap; /* all rings, that with the oldest record first */
	size_t n_rings, ring_bytes, page_bytes;
	VEC(struct counter_fd) fds;
	struct known_event *events; /* by counter; the side band's is the last */
	void (*take)(void *context, const void *record, size_t size);
	void *take_context;
	struct pollfd *polls; /* one a ring, and the caller's */
	uint64_t *fixed_periods;
	struct rings_tally *tallies; /* by counter */
	uint64_t merged_ns;          /* time of the last event that was pushed */
	uint64_t n_late, n_bad, n_lost_records;
	bool has_lost_record, exact_losses, is_paused;
	struct {
		int nap_ms; /* 0: never */
		size_t busy_bytes;
		uint32_t n_ended;
		bool is_busy;
	} pace; /* of the readings */
	char note[256];
};

/*
 * What newer kernels have and older refuse with EINVAL, newest first. Each is
 * taken off in turn until the kernel accepts.
 */
struct feature {
	const char *name;
	void (*remove)(struct perf_event_attr *attr);
};

static void without_lost(struct perf_event_attr *a)
{
	a->read_format &= ~(uint64_t)FORMAT_LOST;
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

const char *rings_note(const struct rings *r)
{
	return r->note;
}

bool rings_has_exact_losses(const struct rings *r)
{
	return r->exact_losses;
}

static uint32_t counter_of_id(const void *context, uint64_t id)
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
	a->read_format = PERF_FORMAT_ID | FORMAT_LOST;
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
 * All events of one ring must have one layout, as a record does not say which
 * event it is from before it is parsed; so the dummy asks for the same fields. Beside a trace it
 * does without those that samples alone have.
 */
static struct perf_event_attr side_band_attr(const struct rings_config *c, uint64_t sample_type,
					     size_t ring_bytes)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = c->for_trace ? 0 : sample_type,
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
		.exclude_kernel = 1, /* a dummy counts nothing; unprivileged users may open it so */
		.exclude_hv = 1,
	};

	a.build_id = !c->with_inodes;
	a.context_switch = c->for_trace;
	a.sample_period = c->for_trace;
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
	if (c->with_callchain)
		type |= PERF_SAMPLE_CALLCHAIN;
	if (c->stack_bytes)
		type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	return type;
}

static struct perf_event_attr counter_attr(const struct rings_config *c,
					   const struct counter *counter, uint64_t sample_type)
{
	struct perf_event_attr a = counter->attr;

	a.sample_type = counter->is_trace ? 0 : sample_type;
	a.watermark = !counter->is_trace && !counter->of_all_threads && !counter->wakes;
	if (counter->wakes)
		a.wakeup_events = 1;
	if (c->with_callchain) {
		a.exclude_callchain_kernel = a.exclude_kernel;
		a.exclude_callchain_user = a.exclude_user || c->stack_bytes;
	}
	set_common(c, &a);
	return a;
}

struct target {
	int pid, cpu;
	unsigned long flags;
	int leader; /* of the group that is opened, on this target; -1: none */
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

static void read_lost(struct rings *r, struct counter_fd *f, uint64_t *id, uint64_t *lost,
		      uint64_t *counted)
{
	uint64_t values[3] = { 0 };

	if (r->backend.read(r->backend.context, f->fd, values) < 0)
		return;
	*counted = values[0];
	*id = values[1];
	*lost = values[2];
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
	return 0;
}

static int explain_map_failure(const struct rings *r, int e, struct error *err)
{
	return error_set(err, e, "cannot map rings of %zu KiB on each of %zu CPUs: %s%s",
			 r->ring_bytes >> 10, r->n_rings, strerror(-e),
			 e == -EPERM ? " (locked memory is used up: see kernel.perf_event_mlock_kb "
				       "and 'ulimit -l', or give a smaller --ring-size)"
				     : "");
}

static void add_fd(struct rings *r, const struct ring *ring, int fd, uint32_t counter,
		   const struct perf_event_attr *a)
{
	struct counter_fd f = { .fd = fd, .ring = (uint32_t)(ring - r->rings), .counter = counter };
	uint64_t id = 0;

	struct known_event *event =
		&r->events[counter == SIDE_BAND ? r->counters->n : (size_t)counter];

	r->exact_losses = a->read_format & FORMAT_LOST;
	if (r->backend.control(r->backend.context, fd, PERF_EVENT_IOC_ID, &id) == 0 &&
	    counter != SIDE_BAND)
		*intmap_put(&r->ids, id, NULL) = counter;
	event->attr = *a;
	vec_push(&event->ids, id);
	vec_push(&r->fds, f);
}

/*
 * A counter of the kernel's side that this user may not see: the user's side
 * is better than nothing, and is said.
 */
static int open_counter(struct rings *r, struct opening *o, size_t i, const struct target *t)
{
	const struct counter *counter = &r->counters->data[i];
	struct perf_event_attr *a = &o->attrs[i];
	int fd;

	for (size_t n = 0; n < o->n_removed; n++)
		features[n].remove(a);
	/* Members begin and end with their leader. */
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

static int redirect(struct rings *r, int fd, int ring_fd)
{
	return r->backend.control(r->backend.context, fd, PERF_EVENT_IOC_SET_OUTPUT,
				  (void *)(intptr_t)ring_fd);
}

/* The leader of a counter's group, of those opened from `first` on; -1: it leads, or is alone. */
static int leader_of(const struct rings *r, size_t counter, size_t first)
{
	uint32_t group = r->counters->data[counter].group;

	for (size_t i = first; group && i < r->fds.n; i++)
		if (r->fds.data[i].counter != SIDE_BAND &&
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

/* One counter, into the ring; -ESRCH when its thread has ended. */
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
		return error_errno(err, e, "the kernel does not take the filter '%s' of '%s'",
				   r->counters->data[i].filter, r->counters->data[i].name);
	e = redirect(r, fd, ring->fd);
	return e < 0 ? error_errno(err, e, "cannot direct counter '%s' to the ring of CPU %u",
				   r->counters->data[i].name, ring->cpu)
		     : 0;
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
	/* A dummy of one's own thread is open to all; so it is the thread that is not ours. */
	if ((leader == -EACCES || leader == -EPERM) && c->n_tids)
		return error_set(err, leader,
				 "thread %d can't be profiled: it is another user's; run as its "
				 "user, or as root",
				 t->pid);
	if (leader < 0 && !c->counters->n)
		return error_errno(err, leader, "cannot follow the processes of CPU %u", ring->cpu);
	if (leader < 0)
		return counter_explain(c->sources, &c->counters->data[0], leader, err);
	add_fd(r, ring, leader, SIDE_BAND, &o->side_band);
	if (!ring->page) {
		e = map_ring(r, ring, leader);
		o->map_failed = e < 0;
		if (e < 0)
			return explain_map_failure(r, e, err);
		ring->fd = leader;
		*poll_slot = (struct pollfd){ .fd = leader, .events = POLLIN };
	} else {
		e = redirect(r, leader, ring->fd);
		if (e < 0)
			return error_errno(err, e, "cannot share the ring of CPU %u", ring->cpu);
	}
	for (size_t i = 0; i < c->counters->n; i++) {
		struct target own = *t;

		if (c->counters->data[i].carrier)
			continue;
		if (c->counters->data[i].of_all_threads) {
			if (rings_first_fd(r, (size_t)(ring - r->rings), (uint32_t)i) >= 0)
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

static int open_ring(struct rings *r, struct opening *o, struct ring *ring, struct error *err)
{
	const struct rings_config *c = &o->config;
	size_t first = c->by_thread ? (size_t)(ring - r->rings) : 0;
	size_t n = c->by_thread ? first + 1 : c->n_tids ? c->n_tids : 1;
	int e = 0;

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

static int open_all(struct rings *r, struct opening *o, struct error *err)
{
	bool has_any = false;
	int e = 0;

	for (size_t i = 0; i < r->n_rings && !e; i++) {
		e = open_ring(r, o, &r->rings[i], err);
		has_any |= r->rings[i].page != NULL;
	}
	if (!e && !has_any)
		e = error_set(err, -ESRCH, "the process to be profiled has ended");
	return e;
}

/* Descriptors: threads times CPUs times events. The soft limit is a default, not a wish. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct rings *rings_new(const struct rings_config *c, size_t ring_bytes)
{
	struct rings *r = xcalloc(1, sizeof(*r));

	r->backend = c->backend ? *c->backend : perf_system;
	r->counters = c->counters;
	r->is_paused = c->starts_paused;
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
	r->pace.busy_bytes = ring_room_watermark(c, ring_bytes) / 2;
	r->fixed_periods = xcalloc(c->counters->n, sizeof(*r->fixed_periods));
	r->tallies = xcalloc(c->counters->n, sizeof(*r->tallies));
	for (size_t i = 0; i < c->counters->n; i++)
		r->pace.nap_ms = c->counters->data[i].wakes ? 0 : r->pace.nap_ms;
	for (size_t i = 0; i < c->counters->n; i++)
		r->fixed_periods[i] = c->counters->data[i].attr.sample_period;
	return r;
}

static uint32_t read_max_stack(void)
{
	unsigned int n = 127; /* PERF_MAX_STACK_DEPTH, when the setting can't be read */
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 127;
		fclose(f);
	}
	return n;
}

/* Opens everything with rings of one size. *map_failed: a smaller size may do. */
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
		o->attrs[i] = counter_attr(c, &c->counters->data[i], sample_type);
	r->format = (struct record_format){
		.sample_type = o->side_band.sample_type | sample_type,
		.sample_id_all = true,
		.counter_of = c->counters->n > 1 || c->for_file ? counter_of_id : NULL,
		.context = r,
		.max_stack = read_max_stack(),
		.regs_user = c->stack_bytes ? UNWIND_PERF_REGS : 0,
		.fixed_periods = r->fixed_periods,
	};
	e = open_all(r, o, err);
	r->format.sample_type = o->side_band.sample_type; /* as the kernel has accepted it */
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

/* All rings have one size: it is halved until the locked-memory limit has room for all. */
int rings_open(const struct rings_config *c, struct rings **out, struct error *err)
{
	size_t size = ring_room_bytes(c);
	bool map_failed;
	int e;

	raise_file_limit();
	while ((e = open_sized(c, size, &map_failed, out, err)) == -EPERM && map_failed &&
	       size > RING_MIN_BYTES)
		size /= 2;
	return e;
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_rings; i++) {
		if (r->rings[i].page)
			r->backend.unmap(r->backend.context, r->rings[i].page,
					 r->page_bytes + r->ring_bytes);
		free(r->rings[i].wrapped);
	}
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
	free(r->tallies);
	free(r->opening.attrs);
	free(r);
}

void rings_each_event(const struct rings *r,
		      void (*visit)(void *context, const char *name,
				    const struct perf_event_attr *attr, const uint64_t *ids,
				    size_t n_ids),
		      void *context)
{
	for (size_t i = 0; i <= r->counters->n; i++) {
		const struct known_event *e = &r->events[i];
		const char *name = i < r->counters->n ? r->counters->data[i].name : "dummy:u";

		if (e->ids.n)
			visit(context, name, &e->attr, e->ids.data, e->ids.n);
	}
}

void rings_on_record(struct rings *r, void (*take)(void *context, const void *record, size_t size),
		     void *context)
{
	r->take = take;
	r->take_context = context;
}

static int enable_from(struct rings *r, size_t first, struct error *err)
{
	for (size_t i = first; i < r->fds.n; i++) {
		const struct counter_fd *f = &r->fds.data[i];
		int e;

		if (r->is_paused && f->counter != SIDE_BAND)
			continue;
		e = r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_ENABLE, NULL);
		if (e < 0)
			return error_errno(err, e, "cannot start counter '%s'",
					   f->counter == SIDE_BAND
						   ? "dummy"
						   : r->counters->data[f->counter].name);
	}
	return 0;
}

int rings_enable(struct rings *r, struct error *err)
{
	return enable_from(r, 0, err);
}

size_t rings_count(const struct rings *r)
{
	return r->n_rings;
}

size_t rings_data_bytes(const struct rings *r)
{
	return r->ring_bytes;
}

const struct perf_backend *rings_backend(const struct rings *r)
{
	return &r->backend;
}

struct ring_place rings_place(const struct rings *r, size_t ring)
{
	const struct rings_config *c = &r->opening.config;

	return (struct ring_place){ .page = r->rings[ring].page,
				    .data_bytes = r->ring_bytes,
				    .cpu = r->rings[ring].cpu,
				    .tid = c->by_thread ? c->tids[ring] : -1 };
}

bool rings_has_switches(const struct rings *r)
{
	return r->opening.side_band.context_switch;
}

int rings_first_fd(const struct rings *r, size_t ring, uint32_t counter)
{
	vec_foreach (&r->fds, f)
		if (f->ring == ring && f->counter == counter)
			return f->fd;
	return -1;
}

void rings_switch(struct rings *r, size_t ring, uint32_t counter, bool is_on)
{
	unsigned long request = is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	if (is_on && r->is_paused)
		return;
	vec_foreach (&r->fds, f)
		if (f->ring == ring && f->counter == counter)
			r->backend.control(r->backend.context, f->fd, request, NULL);
}

int rings_pause(struct rings *r, bool is_paused, struct error *err)
{
	r->is_paused = is_paused;
	if (!is_paused)
		return enable_from(r, 0, err);
	vec_foreach (&r->fds, f)
		if (f->counter != SIDE_BAND)
			r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_DISABLE, NULL);
	return 0;
}

uint64_t rings_counted(const struct rings *r, uint32_t counter)
{
	uint64_t sum = 0, values[3];

	vec_foreach (&r->fds, f)
		if (f->counter == counter &&
		    r->backend.read(r->backend.context, f->fd, values) >= 0)
			sum += values[0];
	return sum;
}

int rings_set_rate(struct rings *r, size_t counter, uint64_t rate, uint64_t period,
		   struct error *err)
{
	struct perf_event_attr *a = &r->opening.attrs[counter];

	vec_foreach (&r->fds, f) {
		int e;

		if (f->counter != counter)
			continue;
		e = r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_PERIOD, &period);
		if (e < 0)
			return error_errno(err, e, "cannot set the rate of counter '%s'",
					   r->counters->data[counter].name);
	}
	if (a->freq)
		a->sample_freq = rate;
	else
		a->sample_period = r->fixed_periods[counter] = rate;
	return 0;
}

int rings_cpu_online(struct rings *r, uint32_t cpu, struct error *err)
{
	size_t n = r->fds.n;

	if (r->opening.config.n_tids)
		return 0;
	for (size_t i = 0; i < r->n_rings; i++) {
		struct ring *ring = &r->rings[i];
		int e;

		if (ring->cpu != cpu)
			continue;
		e = open_ring(r, &r->opening, ring, err);
		if (r->fds.n > n) /* what went is no longer told of by its descriptor */
			r->polls[i] = (struct pollfd){ .fd = r->fds.data[n].fd, .events = POLLIN };
		return e ? e : enable_from(r, n, err);
	}
	return error_set(err, -ENOENT, "CPU %u is none of those that are profiled", cpu);
}

void rings_disable(struct rings *r)
{
	r->is_paused = true;
	vec_foreach (&r->fds, f)
		r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_DISABLE, NULL);
}

/*
 * The kernel wakes who polls an event not only when the ring is full enough: every exit of a
 * process that inherited it does (perf_event_exit_event(), "Kick perf_poll()"), and who is woken
 * finds nothing to do. Of 600 processes that was a quarter of the recorder's CPU time. So while
 * much happens, the rings are not polled but looked at after a time in which they can't be full.
 */
void rings_wait(struct rings *r, int wake_fd, int timeout_ms)
{
	struct pollfd *own = &r->polls[r->n_rings];

	*own = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
	if (r->pace.nap_ms && r->pace.is_busy) {
		poll(own, 1, timeout_ms < 0 ? r->pace.nap_ms : MIN(timeout_ms, r->pace.nap_ms));
		return;
	}
	if (poll(r->polls, r->n_rings + 1, timeout_ms) <= 0)
		return;
	/* A ring whose target has ended reports POLLHUP for ever: it is not waited for again. */
	for (size_t i = 0; i < r->n_rings; i++)
		if (r->polls[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			r->polls[i].fd = -1;
}

uint64_t rings_safe_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec - SETTLE_NS;
}

/* Drops n bytes, or all when the kernel's own size field can't be true. */
static void ring_skip(struct ring *ring, uint64_t n)
{
	ring->tail += n;
	ring->next = NULL;
}

/* Makes the record at tail whole and reads its time. False: none there. */
static bool ring_peek(struct rings *r, struct ring *ring)
{
	struct perf_event_header *h;
	uint64_t at = ring->tail & ring->mask, to_end = ring->mask + 1 - at;

	ring->next_ns = UINT64_MAX;
	if (ring->tail == ring->head)
		return false;
	h = (struct perf_event_header *)(ring->data + at); /* records are 8-byte aligned */
	if (h->size < sizeof(*h) || h->size > ring->head - ring->tail) {
		r->n_bad++;
		ring_skip(ring, ring->head - ring->tail);
		return false;
	}
	ring->next = h;
	ring->next_size = h->size;
	if (h->size > to_end) {
		memcpy(ring->wrapped, ring->data + at, to_end);
		memcpy(ring->wrapped + to_end, ring->data, h->size - to_end);
		ring->next = ring->wrapped;
	}
	ring->next_ns = record_time(&r->format, ring->next, ring->next_size);
	return true;
}

/*
 * data_head is written by the kernel on another CPU. The acquire keeps our
 * reads of the records after it; the release on data_tail keeps them before
 * the kernel may overwrite the space. See perf_event_open(2), "MMAP layout".
 */
static void ring_begin(struct rings *r, struct ring *ring)
{
	ring->next_ns = UINT64_MAX;
	if (!ring->page)
		return;
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	ring_peek(r, ring);
}

static void ring_release(struct ring *ring)
{
	if (ring->page)
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static void tally_event(struct rings *r, const struct event *e)
{
	if (e->type == EVENT_SAMPLE && e->sample.counter < r->counters->n) {
		r->tallies[e->sample.counter].samples++;
		r->tallies[e->sample.counter].period += e->sample.period;
	} else if (e->type == EVENT_THROTTLE && e->throttle.counter < r->counters->n) {
		r->tallies[e->throttle.counter].was_throttled = true;
	}
}

/*
 * Copied stacks were written by another CPU, and of each little is read, here and there: fetched
 * while the record before is walked, it does not have to be waited for. At its end stands how much
 * of the stack was copied, and behind it the next one's header.
 */
static void fetch_behind(const struct ring *ring)
{
	uint64_t at = ring->tail + ring->next_size;

	if (ring->next_size < LARGE_RECORD || ring->head - at < ring->next_size)
		return;
	__builtin_prefetch(ring->data + ((at + ring->next_size - 8) & ring->mask));
	for (uint64_t end = at + FETCHED_BYTES; at < end; at += CACHE_LINE)
		__builtin_prefetch(ring->data + (at & ring->mask));
}

static int push_record(struct rings *r, struct ring *ring, struct event_sink *sink)
{
	struct event e;

	if (r->take)
		r->take(r->take_context, ring->next, ring->next_size);
	switch (record_decode(&r->format, ring->next, ring->next_size, ring->cpu, &r->scratch,
			      &e)) {
	case RECORD_BAD:
		r->n_bad++;
		return 0;
	case RECORD_SKIPPED:
		return 0;
	case RECORD_OK:
		break;
	}
	r->pace.n_ended += e.type == EVENT_EXIT;
	if (e.type == EVENT_LOST) {
		r->n_lost_records += e.lost.n;
		r->has_lost_record = true;
		return 0;
	}
	if (e.time_ns < r->merged_ns)
		r->n_late += !r->opening.config.for_trace; /* read as it comes: the file's rounds */
	else
		r->merged_ns = e.time_ns;
	tally_event(r, &e);
	return event_push(sink, &e);
}

/*
 * The rings by the time of their next record, as a binary heap: with hundreds of
 * CPUs the next record is found in a few steps.
 */
static void heap_sift_down(struct rings *r, size_t at)
{
	struct ring *ring = r->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= r->n_rings)
			break;
		if (child + 1 < r->n_rings && r->heap[child + 1]->next_ns < r->heap[child]->next_ns)
			child++;
		if (ring->next_ns <= r->heap[child]->next_ns)
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = ring;
}

/* How long the ring on top stays the oldest. */
static uint64_t heap_second_ns(const struct rings *r)
{
	uint64_t ns = UINT64_MAX;

	for (size_t i = 1; i < r->n_rings && i < 3; i++)
		ns = MIN(ns, r->heap[i]->next_ns);
	return ns;
}

/* Whether there is so much to read that waking up by time costs less. */
static void judge_pace(struct rings *r)
{
	r->pace.is_busy = r->pace.n_ended > 1;
	for (size_t i = 0; i < r->n_rings && !r->pace.is_busy; i++)
		r->pace.is_busy = r->rings[i].head - r->rings[i].tail >= r->pace.busy_bytes;
	r->pace.n_ended = 0;
}

int rings_drain(struct rings *r, uint64_t until_ns, struct event_sink *sink)
{
	int result = 0;

	for (size_t i = 0; i < r->n_rings; i++)
		ring_begin(r, &r->rings[i]);
	judge_pace(r);
	for (size_t i = r->n_rings; i-- > 0;)
		heap_sift_down(r, i);
	while (!result) {
		struct ring *ring = r->heap[0];
		uint64_t limit = MIN(heap_second_ns(r), until_ns);

		if (ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
			break;
		do {
			uint64_t size = ring->next_size;

			fetch_behind(ring);
			result = push_record(r, ring, sink);
			ring_skip(ring, size);
			if (!ring_peek(r, ring))
				break;
		} while (!result && ring->next_ns <= limit);
		heap_sift_down(r, 0);
	}
	for (size_t i = 0; i < r->n_rings; i++)
		ring_release(&r->rings[i]);
	return result;
}

typedef void (*lose_function)(void *context, enum loss_reason reason, uint32_t counter, uint64_t n);

static void lose_some(lose_function lose, void *context, enum loss_reason reason, uint32_t counter,
		      uint64_t n)
{
	if (n)
		lose(context, reason, counter, n);
}

/* Reading each descriptor is a system call, so it is done only after a LOST record or at the end.
 */
static void collect_exact(struct rings *r, bool is_final, lose_function lose, void *context)
{
	vec_foreach (&r->fds, f) {
		uint64_t id = 0, lost = f->lost, counted = 0;

		read_lost(r, f, &id, &lost, &counted);
		if (f->counter == SIDE_BAND) {
			lose_some(lose, context, LOSS_RING_RECORDS, UINT32_MAX, lost - f->lost);
		} else {
			lose_some(lose, context, LOSS_RING_FULL, f->counter, lost - f->lost);
			r->tallies[f->counter].lost += lost - f->lost;
		}
		if (is_final && f->counter != SIDE_BAND) {
			r->tallies[f->counter].counted += counted;
			r->tallies[f->counter].n_fds++;
		}
		f->lost = lost;
	}
}

const struct rings_tally *rings_tally(const struct rings *r, uint32_t counter)
{
	return r->exact_losses ? &r->tallies[counter] : NULL;
}

void rings_collect_losses(struct rings *r, bool is_final, lose_function lose, void *context)
{
	if (r->exact_losses && (is_final || r->has_lost_record))
		collect_exact(r, is_final, lose, context);
	else if (!r->exact_losses)
		lose_some(lose, context, LOSS_RING_FULL, UINT32_MAX, r->n_lost_records);
	lose_some(lose, context, LOSS_OUT_OF_ORDER, UINT32_MAX, r->n_late);
	lose_some(lose, context, LOSS_BAD_RECORD, UINT32_MAX, r->n_bad);
	r->n_lost_records = r->n_late = r->n_bad = 0;
	r->has_lost_record = false;
}
