/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The in-kernel sampler; shared.h describes the design and the formats. */
#include "collect/bpf/stack.h"

#include "collect/bpf/chosen.h"
#include "collect/bpf/labels.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading, by tests of the kernel's refusal alone. */
const volatile bool is_to_be_refused = false;

/* Set until counting begins: the reader attaches a counter, which enables it, before it may count.
 */
__u32 is_waiting;

/*
 * Set by the reader while we run. Counts go to the map of the epoch's parity, so the reader can
 * empty the other map without a race.
 */
__u32 epoch;

struct counts {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct count_key);
	__type(value, struct count_value);
} counts_even SEC(".maps"), counts_odd SEC(".maps");

/* All overflows, by counter, with those whose sample is lost on its way. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct count_value);
} overflows SEC(".maps");

const volatile bool with_event_programs = false; /* set before loading */

/* The counter whose program runs on this CPU: the kernel runs one program of perf at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} event_counter SEC(".maps");

static __always_inline __u32 counter_of(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0, *counter;

	if (!with_event_programs)
		return bpf_get_attach_cookie(ctx);
	counter = bpf_map_lookup_elem(&event_counter, &zero);
	return counter ? *counter : 0;
}

static __always_inline void count_overflow(struct bpf_perf_event_data *ctx)
{
	__u32 counter = counter_of(ctx);
	struct count_value *v = bpf_map_lookup_elem(&overflows, &counter);

	if (v) {
		v->samples++;
		v->period += ctx->sample_period;
	}
}

static __always_inline bool count_in(void *map, const struct count_key *key, __u64 period)
{
	struct count_value fresh = { 1, period };
	struct count_value *v = bpf_map_lookup_elem(map, key);

	if (!v)
		return bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST) == 0;
	v->samples++; /* the key has the CPU: no other program counts here */
	v->period += period;
	return true;
}

const volatile bool with_times = false; /* set before loading */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before loading */
} times SEC(".maps");

/* An idle CPU has nothing to time. The message is made in the ring: the stack has no room for it.
 */
static __always_inline bool send_time(const struct count_key *key, __u64 period)
{
	struct time_message *m;

	if (!key->pid)
		return false;
	m = bpf_ringbuf_reserve(&times, sizeof(*m), 0);
	if (!m) {
		lose(SAMPLER_TIMES_FULL);
		return false;
	}
	m->key = *key;
	m->time_ns = bpf_ktime_get_ns();
	m->period = period;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline bool count_sum(const struct count_key *key, __u64 period)
{
	return epoch & 1 ? count_in(&counts_odd, key, period) : count_in(&counts_even, key, period);
}

static __always_inline bool count_key(const struct count_key *key, __u64 period)
{
	if (with_times && send_time(key, period))
		return true;
	return count_sum(key, period);
}

/* Not inline: the walk of the stack needs the room of its key. */
static __noinline bool count(struct bpf_perf_event_data *ctx, const struct stack_message *s)
{
	__u64 id = own_pid_tgid();
	struct count_key key = {
		.stack = s->hash,
		.pid = id >> 32,
		.tid = (__u32)id,
		.cpu = bpf_get_smp_processor_id(),
		.app = s->pid == PID_OTHER ? FILE_NONE : app_of(bpf_get_current_task_btf()),
		.counter = counter_of(ctx),
		.cgroup = current_cgroup(),
	};

	bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (with_labels && key.app)
		key.waker = current_labels(key.app);
	return count_key(&key, ctx->sample_period);
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct work *w;

	if (is_to_be_refused) /* far beyond the context's end */
		return *((volatile int *)ctx + 1024);
	if (is_waiting)
		return 0;
	if (!is_chosen()) {
		count_overflow(ctx);
		lose(SAMPLER_OTHERS);
		return 0;
	}
	w = capture_stack(ctx, SLOT_SAMPLE, &ctx->regs);
	count_overflow(ctx);
	if (w && send_stack(SLOT_SAMPLE, w) && !count(ctx, &w->s))
		lose(SAMPLER_COUNTS_FULL);
	return 0;
}

/* The program above, for those that only know the number of their counter. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} event_sampler SEC(".maps");

static __always_inline int sample_event(struct bpf_perf_event_data *ctx, __u32 number)
{
	__u32 zero = 0, *counter = bpf_map_lookup_elem(&event_counter, &zero);

	if (counter) {
		*counter = number;
		bpf_tail_call(ctx, &event_sampler, 0);
	}
	lose(SAMPLER_COUNTS_FULL);
	return 0;
}

#define X(n)                                            \
	SEC("perf_event")                               \
	int sample_##n(struct bpf_perf_event_data *ctx) \
	{                                               \
		return sample_event(ctx, n);            \
	}
SAMPLER_EVENTS(X)
#undef X

#include "collect/bpf/kernel_locks.h"
#include "collect/bpf/off_cpu.h"
