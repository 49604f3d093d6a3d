/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits: the programs at the kernel's tracepoints, and the waits that begin before or end after
 * them. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/sampler_state.h"
#include "counter/counter.h"
#include "counter/sources.h"

static int keep_link(struct sampler *s, struct bpf_link *link, const struct bpf_program *program,
		     struct error *err)
{
	if (!link)
		return error_errno(err, -errno, "cannot attach the in-kernel sampler to '%s'",
				   bpf_program__section_name(program));
	vec_push(&s->switch_links, link);
	return 0;
}

/*
 * A tracepoint of perf: its stacks begin at the traced function, and no raw tracepoint's do. A
 * daemon's opener may have to read its number, which libbpf can't ask for.
 */
static int attach_tracepoint(struct sampler *s, const struct bpf_program *program, const char *name,
			     struct error *err)
{
	const struct counter_rate rate = { .count = 1 };
	struct counters counters = { 0 };
	struct bpf_link *link;
	int fd, e = counter_parse(s->config.sources, name, &rate, &counters, err);

	if (e < 0)
		return error_wrap(err, e,
				  "cannot follow the kernel's tracepoints: mount tracefs at "
				  "/sys/kernel/tracing and run as root; capabilities are not "
				  "enough");
	fd = perf_system.open(NULL, &counters.data[0].attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	counters_fini(&counters);
	if (fd < 0)
		return error_errno(err, fd, "cannot open the tracepoint %s", name);
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		close(fd);
	return keep_link(s, link, program, err);
}

/* Cheaper. */
static int attach_raw(struct sampler *s, const struct bpf_program *program, struct error *err)
{
	return keep_link(s, bpf_program__attach(program), program, err);
}

/* Ends first, so that no beginning lacks its end. */
static int attach_kernel_locks(struct sampler *s, struct error *err)
{
	int e = attach_tracepoint(s, s->bpf->progs.contention_ended, "lock:contention_end", err);

	if (e >= 0)
		e = attach_tracepoint(s, s->bpf->progs.contention_began, "lock:contention_begin",
				      err);
	return e >= 0 ? e
		      : error_wrap(err, e,
				   "waits for the kernel's locks need root, tracefs at "
				   "/sys/kernel/tracing, and its events 'lock' (Linux 5.19)");
}

/* Ends first, as above. */
static int attach_switches(struct sampler *s, struct error *err)
{
	struct error none = { 0 };
	int e = s->has_raw_wakes ? attach_raw(s, s->bpf->progs.waking, err)
				 : attach_tracepoint(s, s->bpf->progs.waking_by_perf,
						     "sched:sched_waking", err);

	if (!e && s->has_raw_switches)
		e = attach_raw(s, s->bpf->progs.came_back, err);
	if (!e && s->has_raw_switches)
		e = attach_raw(s, s->bpf->progs.leaving, err);
	if (!e && !s->has_raw_switches)
		e = attach_tracepoint(s, s->bpf->progs.switched, "sched:sched_switch", err);
	if (!e)
		e = attach_raw(s, s->bpf->progs.executed, err);
	if (!e && attach_raw(s, s->bpf->progs.io_queued, &none) < 0)
		log_verbose("devices of block I/O are not known: %s", none.text);
	return e;
}

/* Also while waits are not followed: children of that time are targets. */
int sampler_follow_targets(struct sampler *s, struct error *err)
{
	const struct sampler_waits *w = s->config.waits;
	uint8_t one = 1;

	for (size_t i = 0; w && i < w->n_targets; i++)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &w->targets[i], &one,
				    BPF_ANY);
	if (!w || !w->n_targets || w->targets_are_threads)
		return 0;
	s->fork_link = bpf_program__attach(s->bpf->progs.forked);
	return s->fork_link ? 0
			    : error_errno(err, -errno,
					  "cannot follow the processes that the target starts");
}

int sampler_attach_waits(struct sampler *s, const struct sampler_config *c, struct error *err)
{
	const struct sampler_waits *w = c->waits;
	int e = 0;

	if (w && w->off_cpu)
		e = attach_switches(s, err);
	if (w && w->kernel_locks && !e)
		e = attach_kernel_locks(s, err);
	return e;
}

void sampler_detach_waits(struct sampler *s)
{
	vec_foreach (&s->switch_links, link)
		bpf_link__destroy(*link);
	vec_fini(&s->switch_links);
}

int sampler_read_waits(struct sampler *s, uint64_t now_ns, struct sampler_visitor *visitor,
		       struct error *err)
{
	int map = bpf_map__fd(s->bpf->maps.waits);
	uint32_t tid, *before = NULL;
	struct wait wait;

	while (bpf_map_get_next_key(map, before, &tid) == 0) {
		before = &tid;
		if (bpf_map_lookup_elem(map, &tid, &wait) < 0)
			return error_errno(err, -errno, "cannot read the in-kernel waits");
		struct count_key key = {
			.stack = wait.stack,
			.pid = wait.pid,
			.tid = tid,
			.app = wait.app,
			.cgroup = wait.cgroup,
			.waker = wait.waker,
			.detail = wait.detail,
			.counter = (uint16_t)(s->bpf->rodata->waits_counter + wait.state),
		};
		struct count_value value = { 1, now_ns - wait.start_ns };

		memcpy(key.comm, wait.comm, sizeof(key.comm));
		if (wait.start_ns && now_ns > wait.start_ns &&
		    value.period >= s->bpf->rodata->waits_min_ns)
			sampler_visit(s, visitor, &key, &value, 0);
	}
	return 0;
}

bool sampler_put_wait(struct sampler *s, int32_t tid, const struct wait *wait)
{
	return bpf_map_update_elem(bpf_map__fd(s->bpf->maps.waits), &tid, wait, BPF_NOEXIST) == 0;
}

bool sampler_follows_waits(const struct sampler *s, int32_t pid, int32_t tid)
{
	const struct sampler_waits *w = s->config.waits;
	int32_t key = w && w->targets_are_threads ? tid : pid;
	uint8_t one;

	return w && (!w->n_targets ||
		     bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.targets), &key, &one) == 0);
}

static void empty_map(const struct bpf_map *map)
{
	cleanup(free_at_exit) void *key = xmalloc(bpf_map__key_size(map));

	while (bpf_map_get_next_key(bpf_map__fd(map), NULL, key) == 0 &&
	       bpf_map_delete_elem(bpf_map__fd(map), key) == 0)
		;
}

void sampler_forget_waits(struct sampler *s)
{
	empty_map(s->bpf->maps.waits);
	empty_map(s->bpf->maps.contentions);
}

void sampler_drop_wait(struct sampler *s, int32_t tid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.waits), &tid);
}

/* Kernels before 6.1 know no single thread, and begin with the first one of all. */
bool sampler_find_stack(struct sampler *s, int32_t tid, struct blocked_stack *out)
{
	union bpf_iter_link_info info = { .task.tid = (uint32_t)tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(s->bpf->progs.show_stack, &opts);
	cleanup(close_at_exit) int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	struct blocked_stack stack;
	bool is_there = fd >= 0 && read(fd, &stack, sizeof(stack)) == sizeof(stack) &&
			stack.tid == (uint32_t)tid;

	if (is_there)
		*out = stack;
	bpf_link__destroy(link);
	return is_there;
}
