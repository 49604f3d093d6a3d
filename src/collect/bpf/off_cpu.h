/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU time: how long threads were away from their CPU, by stack and state.
 *
 *	leaves its CPU     ─► waits[tid] has the time and the state
 *	is woken           ─► the stack that wakes it is captured, if the wait is long
 *	comes onto a CPU   ─► its stack is captured, if the wait was long; the time is counted
 *
 * A thread that is new, or whose last wait was long, has its stack captured as it leaves: the wait
 * may last until the end of the recording. The run queue is locked then, so this costs more.
 * Kernels before 6.15 have no tracepoint for a thread that has come back: there, every stack is
 * captured as the thread leaves.
 *
 * Waits that last at the end stay in `waits`, and the reader counts them. The reader also puts in
 * the waits that began before the start.
 *
 * Captures can have a budget of time on each CPU. The last half of it is for threads whose last
 * wait was long: most threads wait for a short time, again and again. A wait without a stack
 * counts, too.
 */
#pragma once

#include "collect/bpf/blocked.h"

/* Set before loading. */
const volatile bool waits_of_targets = false; /* else of every thread of the machine */
const volatile bool targets_are_threads = false;
const volatile __u64 waits_min_ns = 0;
const volatile __u32 waits_counter = 0; /* of the first state */
const volatile __u64 capture_share = 0; /* of a CPU's time, in 1/CAPTURE_WHOLE; 0: no limit */

/* Sizes of 1 are set before loading. */

/* Process ids (or thread ids) whose threads count. The least recently used ones are dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* thread id */
	__type(value, struct wait);
} waits SEC(".maps");

/* The time for captures that a CPU has left, and the time of its last look. */
struct capture_budget {
	__s64 left_ns;
	__u64 seen_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_budget);
} capture_budgets SEC(".maps");

/* So much is saved up: an idle second must not pay for a storm. */
#define CAPTURE_SAVED_NS 100000000ULL

static __always_inline struct capture_budget *own_budget(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&capture_budgets, &zero);
}

/* Adds the time since the last look, of which at most CAPTURE_SAVED_NS counts. */
static __always_inline bool may_capture(__u64 now_ns, bool is_likely_long)
{
	struct capture_budget *b = capture_share ? own_budget() : NULL;
	__u64 since_ns, most_ns = CAPTURE_SAVED_NS * capture_share / CAPTURE_WHOLE;

	if (!b)
		return true;
	since_ns = now_ns - b->seen_ns;
	b->seen_ns = now_ns;
	b->left_ns += (since_ns < CAPTURE_SAVED_NS ? since_ns : CAPTURE_SAVED_NS) * capture_share /
		      CAPTURE_WHOLE;
	if (b->left_ns > (__s64)most_ns)
		b->left_ns = most_ns;
	return b->left_ns > (is_likely_long ? 0 : (__s64)(most_ns / 2));
}

static __always_inline void pay_capture(__u64 since_ns)
{
	struct capture_budget *b = capture_share ? own_budget() : NULL;

	if (b)
		b->left_ns -= bpf_ktime_get_ns() - since_ns;
}

static __always_inline bool is_target(__u64 id)
{
	__u32 key = targets_are_threads ? (__u32)id : (__u32)(id >> 32);

	if (waits_of_cgroup && bpf_current_task_under_cgroup(&wanted_cgroup, 0) != 1)
		return false;
	return (!waits_of_targets || bpf_map_lookup_elem(&targets, &key)) && is_chosen();
}

/*
 * The tracepoint's number of the state: the bits of TASK_REPORT (fs/proc/array.c), one above them
 * for idle kernel threads, and one more for a thread that could have gone on.
 */
static __always_inline int state_of(long reported)
{
	if (!reported || reported & 0x100)
		return WAIT_READY;
	if (reported & 0x01)
		return WAIT_SLEEP;
	if (reported & 0x02)
		return WAIT_DISK;
	if (reported & (0x10 | 0x20)) /* dead */
		return -1;
	return WAIT_STOPPED;
}

/* The entry of a thread, which it gets at its first wait. NULL: no room. */
static __always_inline struct wait *own_wait(__u32 tid)
{
	struct wait *wait = bpf_map_lookup_elem(&waits, &tid);
	struct work *w;

	if (wait)
		return wait;
	w = own_work(SLOT_SWITCH);
	if (!w)
		return NULL;
	__builtin_memset(&w->wait, 0, sizeof(w->wait));
	bpf_map_update_elem(&waits, &tid, &w->wait, BPF_NOEXIST);
	return bpf_map_lookup_elem(&waits, &tid);
}

/* Not inline: walks of stacks need the room. */
static __noinline void note_waiting_thread(struct wait *wait)
{
	wait->cgroup = current_cgroup();
	wait->app = app_of(bpf_get_current_task_btf());
	bpf_get_current_comm(wait->comm, sizeof(wait->comm));
}

/*
 * When the stack of a wait is captured. One that the reader has to walk, for its code of Java or
 * JavaScript, is copied after a long wait alone.
 */
enum wait_capture {
	WAIT_BEGINS,       /* came_back() captures the stack, too, if the wait is long */
	WAIT_BEGINS_ALONE, /* nobody captures it later */
	WAIT_IS_OVER,
};

/* The current thread's stack, if the budget permits. False: no room for the stack. */
static __always_inline bool capture_wait(void *ctx, struct wait *wait, bool is_likely_long,
					 enum wait_capture when)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct work *w;
	bool is_sent;

	note_waiting_thread(wait);
	if (!may_capture(now_ns, is_likely_long))
		return true;
	w = capture_stack(ctx, SLOT_SWITCH, NULL);
	if (w && w->wants_copy && when != WAIT_IS_OVER) {
		w->wants_copy = 0;
		if (when == WAIT_BEGINS) {
			pay_capture(now_ns);
			return true;
		}
	}
	is_sent = w && send_stack(SLOT_SWITCH, w);
	pay_capture(now_ns);
	if (is_sent)
		wait->stack = w->s.hash;
	wait->is_rough = 0;
	return is_sent;
}

/* It is known only now. Not inline: walks of stacks need the room. */
static __noinline __u64 detail_of(struct wait *wait)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (wait->state == WAIT_DISK)
		return device_of_io(task, wait);
	if (wait->state != WAIT_SLEEP)
		return 0;
	wait->device = 0;
	return owner_of_futex(task, SLOT_SWITCH);
}

/* `can_be_late`: came_back() captures the stack if it is wanted. */
static __always_inline void begin_wait(void *ctx, int state, __u64 now_ns, bool can_be_late)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct wait *wait;

	if (tid && state < 0)
		bpf_map_delete_elem(&waits, &tid);
	if (!tid || state < 0 || !is_target(id))
		return;
	wait = own_wait(tid);
	if (!wait) {
		lose(SAMPLER_WAITS_FULL);
		return;
	}
	wait->start_ns = wait->stack = wait->waker = 0;
	wait->is_rough = 0;
	wait->pid = id >> 32;
	wait->state = state;
	wait->detail = detail_of(wait);
	if ((!can_be_late || wait->was_long || !wait->comm[0]) &&
	    !capture_wait(ctx, wait, wait->was_long, can_be_late ? WAIT_BEGINS : WAIT_BEGINS_ALONE))
		return;
	wait->start_ns = now_ns;
}

/* The length of a wait that is long enough to count; else 0. */
static __always_inline __u64 end_wait(struct wait *wait, __u64 now_ns)
{
	__u64 start_ns = wait->start_ns;

	wait->start_ns = 0;
	if (!start_ns || now_ns < start_ns)
		return 0;
	wait->was_long = now_ns - start_ns >= waits_min_ns;
	return wait->was_long ? now_ns - start_ns : 0;
}

/* Not inline: walks of stacks need the room of its key. */
static __noinline void count_wait(const struct wait *wait, __u32 tid, __u64 ns)
{
	struct count_key key = { .tid = tid };

	key.stack = wait->stack;
	key.pid = wait->pid;
	key.cpu = bpf_get_smp_processor_id();
	key.app = wait->app;
	key.cgroup = wait->cgroup;
	key.waker = wait->waker;
	key.detail = wait->detail;
	key.counter = waits_counter + wait->state;
	__builtin_memcpy(key.comm, wait->comm, sizeof(key.comm));
	if (!count_key(&key, ns))
		lose(SAMPLER_COUNTS_FULL);
}

/* The device of I/O that a thread queues; with a stack of devices, the lowest one comes last. */
SEC("raw_tp/block_bio_queue")
int io_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct bio *bio = (struct bio *)ctx->args[0];
	__u64 id = bpf_get_current_pid_tgid();
	struct wait *wait;

	if (!bpf_core_field_exists(bio->bi_bdev) || !(__u32)id || !is_target(id))
		return 0;
	wait = own_wait(id);
	if (wait)
		wait->device = BPF_CORE_READ(bio, bi_bdev, bd_dev);
	return 0;
}

/* The number of the present thread as a waker with this stack; 0: no room for its message. */
static __always_inline __u64 send_waker(struct work *w)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct waker_message *m = &w->waker;

	m->type = MESSAGE_WAKER;
	m->pad = 0;
	m->stack = w->s.hash;
	m->pid = id >> 32;
	m->tid = (__u32)id;
	bpf_get_current_comm(m->comm, sizeof(m->comm));
	m->id = mix(mix(m->stack, *(__u64 *)m->comm), *(__u64 *)(m->comm + 8)) | 1;
	if (bpf_map_lookup_elem(&seen, &m->id))
		return m->id;
	if (bpf_ringbuf_output(&messages, m, sizeof(*m), BPF_RB_NO_WAKEUP)) {
		lose(SAMPLER_WAKERS_LOST);
		return 0;
	}
	remember_key(&seen, &m->id);
	return m->id;
}

/*
 * The stack that wakes a thread. The thread can't run before we return. Short waits would cost most
 * and don't count. Interrupts wake, too: the stack shows it.
 */
static __always_inline void wake(void *ctx, __u32 tid)
{
	struct wait *wait = bpf_map_lookup_elem(&waits, &tid);
	struct work *w;

	if (!wait || !wait->start_ns || wait->waker ||
	    bpf_ktime_get_ns() - wait->start_ns < waits_min_ns)
		return;
	w = capture_stack(ctx, SLOT_WAKE, NULL);
	if (w && send_stack(SLOT_WAKE, w))
		wait->waker = send_waker(w);
}

SEC("raw_tp/sched_waking")
int waking(struct bpf_raw_tracepoint_args *ctx)
{
	wake(ctx, BPF_CORE_READ((struct task_struct *)ctx->args[0], pid));
	return 0;
}

/* The state as the tracepoint of perf has it: the highest bit of __task_state_index(). */
static __always_inline long reported_state(bool is_preempted, __u32 state)
{
	if (is_preempted || !state)
		return 0;
	if (state & TASK_DEAD)
		return 0x10;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return 0x80;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		return 0x02;
	for (long bit = 0x40; bit; bit >>= 1)
		if (state & bit)
			return bit;
	return 0;
}

/* The present switch: its end is the end of one wait, and its beginning that of another one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} switch_times SEC(".maps");

SEC("raw_tp/sched_switch")
int leaving(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	__u64 *time_ns = bpf_map_lookup_elem(&switch_times, &zero);

	if (!time_ns)
		return 0;
	*time_ns = bpf_ktime_get_ns();
	begin_wait(ctx, state_of(reported_state(ctx->args[0], ctx->args[3])), *time_ns, true);
	return 0;
}

/* The thread runs, and nothing was switched since leaving(). */
SEC("raw_tp/sched_exit_tp")
int came_back(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), zero = 0;
	__u64 *time_ns = bpf_map_lookup_elem(&switch_times, &zero), ns;
	struct wait *wait;

	if (!tid || !ctx->args[0] || !time_ns)
		return 0;
	wait = bpf_map_lookup_elem(&waits, &tid);
	ns = wait ? end_wait(wait, *time_ns) : 0;
	if (ns && ((wait->stack && !wait->is_rough) || capture_wait(ctx, wait, true, WAIT_IS_OVER)))
		count_wait(wait, tid, ns);
	return 0;
}

/* For kernels without sched_exit_tp. */

SEC("tracepoint/sched/sched_waking")
int waking_by_perf(struct trace_event_raw_sched_wakeup_template *ctx)
{
	wake(ctx, ctx->pid);
	return 0;
}

SEC("tracepoint/sched/sched_switch")
int switched(struct trace_event_raw_sched_switch *ctx)
{
	/* One time for both: the capture of the one's stack is no wait of the other. */
	__u64 now_ns = bpf_ktime_get_ns(), ns;
	__u32 next = ctx->next_pid;
	struct wait *wait;

	begin_wait(ctx, state_of(ctx->prev_state), now_ns, false);
	wait = next ? bpf_map_lookup_elem(&waits, &next) : NULL;
	ns = wait ? end_wait(wait, now_ns) : 0;
	if (ns)
		count_wait(wait, next, ns);
	return 0;
}

/* A thread's id becomes a target as well. This does no harm, because no process has it. */
SEC("raw_tp/sched_process_fork")
int forked(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 child = BPF_CORE_READ((struct task_struct *)ctx->args[1], pid);
	__u8 one = 1;

	if (!targets_are_threads && is_target(bpf_get_current_pid_tgid()))
		bpf_map_update_elem(&targets, &child, &one, BPF_ANY);
	return 0;
}

/* A thread that executes a program becomes its process's first thread, with the process's number.
 */
SEC("raw_tp/sched_process_exec")
int executed(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 before = ctx->args[1];

	if (before != (__u32)bpf_get_current_pid_tgid())
		bpf_map_delete_elem(&waits, &before);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blocked_stack);
} blocked_stacks SEC(".maps");

/* Writes the stack of the thread that the reader has chosen. */
SEC("iter/task")
int show_stack(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct blocked_stack *b;
	__u32 zero = 0;
	__u64 words;
	long n;

	b = task ? bpf_map_lookup_elem(&blocked_stacks, &zero) : NULL;
	if (!b)
		return 0;
	n = bpf_get_task_stack(task, b->kernel, sizeof(b->kernel), 0) >> 3;
	b->n_kernel = n > 0 ? n : 0;
	b->tid = BPF_CORE_READ(task, pid);
	words = (__u64)bpf_task_pt_regs(task);
	for (int i = 0; i < USER_REGS; i++)
		b->regs[i] = i < N_USER_REGS ? read_kernel(words + word_of_register[i] * 8) : 0;
	b->is_i386 = is_i386_mode(read_kernel(words + MODE_WORD * 8));
	bpf_seq_write(ctx->meta->seq, b, sizeof(*b));
	return 0;
}
