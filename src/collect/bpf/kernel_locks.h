/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own locks: how long code waited for them, spinning or asleep, by stack.
 *
 * The stack is captured before the lock is there: at the end, the lock would be held for longer.
 * These programs stay at the tracepoints of perf, which run one of them on a CPU at a time: our
 * maps have locks, too. Raw tracepoints are not among them: see remember_key().
 */
#pragma once

#include "collect/bpf/off_cpu.h"

const volatile __u32 locks_counter = 0; /* set before loading */

/* A thread may wait for a spinlock on its way to sleep for another lock. */
struct contention_key {
	__u64 lock;
	__u32 thread, pad; /* of the idle thread: the CPU, from the top */
};

struct contention {
	struct count_key key;
	__u64 start_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct contention_key);
	__type(value, struct contention);
} contentions SEC(".maps");

#define LOCK_IS_MUTEX 32 /* LCB_F_MUTEX of include/trace/events/lock.h */

#define CONTENTION_LOST_NS 10000000000ULL

static __always_inline struct contention_key contention_of(const void *lock)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return (struct contention_key){
		.lock = (__u64)lock,
		.thread = tid ? tid : ~bpf_get_smp_processor_id(),
	};
}

/* Not inline: the walk of the stack needs the room of its value. */
static __noinline void keep_contention(const struct contention_key *key, __u64 stack,
				       __u64 start_ns)
{
	struct contention c = { .start_ns = start_ns };
	__u64 id = bpf_get_current_pid_tgid();

	c.key.stack = stack;
	c.key.pid = id >> 32;
	c.key.tid = (__u32)id;
	c.key.counter = locks_counter;
	c.key.cgroup = current_cgroup();
	c.key.app = app_of(bpf_get_current_task_btf());
	bpf_get_current_comm(c.key.comm, sizeof(c.key.comm));
	if (bpf_map_update_elem(&contentions, key, &c, BPF_ANY))
		lose(SAMPLER_LOCKS_FULL);
}

/*
 * A mutex is spun for and slept for in turn, as one wait: the later beginnings change nothing.
 * After a long time, the end of the first one was missed.
 */
SEC("tracepoint/lock/contention_begin")
int contention_began(struct trace_event_raw_contention_begin *ctx)
{
	struct contention_key key = contention_of(ctx->lock_addr);
	__u64 now_ns = bpf_ktime_get_ns();
	struct contention *known;
	struct work *w;

	if (!is_target(bpf_get_current_pid_tgid()))
		return 0;
	known = ctx->flags & LOCK_IS_MUTEX ? bpf_map_lookup_elem(&contentions, &key) : NULL;
	if (known && now_ns - known->start_ns < CONTENTION_LOST_NS)
		return 0;
	w = capture_stack(ctx, SLOT_LOCK, NULL);
	if (w && send_stack(SLOT_LOCK, w))
		keep_contention(&key, w->s.hash, now_ns);
	return 0;
}

/* Most are short and many: they are added up, and have no times of their own. */
SEC("tracepoint/lock/contention_end")
int contention_ended(struct trace_event_raw_contention_end *ctx)
{
	struct contention_key key = contention_of(ctx->lock_addr);
	struct contention *c = bpf_map_lookup_elem(&contentions, &key);
	__u64 ns;

	if (!c)
		return 0;
	ns = bpf_ktime_get_ns() - c->start_ns;
	c->key.cpu = bpf_get_smp_processor_id(); /* count_in() relies on it */
	if (!count_sum(&c->key, ns))
		lose(SAMPLER_COUNTS_FULL);
	bpf_map_delete_elem(&contentions, &key);
	return 0;
}
