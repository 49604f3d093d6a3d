/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on the functions of an allocator. They do what the preloaded library does (heap/agent): a
 * thread counts bytes down, and the allocation that reaches 0 is sampled.
 *
 * A call is followed from its entry to its return, as the registers of the arguments are gone then.
 * Calls inside of it are part of it (realloc calls malloc, malloc calls mmap). They have a lower
 * stack pointer, and are not looked at.
 *
 * A probe on a return puts an address of the kernel's onto the stack. No exception can pass it, so
 * functions that throw have a probe on the entry alone: their blocks are not followed.
 */
#include <linux/bpf.h>

#include "collect/bpf/bounded.h"
#include "collect/bpf/pids.h"
#include "collect/bpf/user_regs.h"
#include "heap/bpf/heap_message.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading. */
const volatile __u64 mean_by_ln2 = 0;                           /* mean bytes × ln 2 */
const volatile __u32 log2_parts[HEAP_PROBE_LOG_PARTS + 1] = {}; /* log2(1 + i / 256) << 24 */

/* The stack pointer at the return, less that at the entry. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_POPS 8
#else
#define RETURN_POPS 0
#endif

#define BYTES_MAX (1ULL << 47) /* no program can have more */

#define NESTED_MAX 64 /* more calls inside of one: its return was not seen */

#define MAP_FIXED     0x10 /* include/uapi/asm-generic/mman-common.h */
#define MAP_ANONYMOUS 0x20

struct call {
	__u64 sp;
	__u64 bytes;
	__u64 block; /* realloc: the old one; posix_memalign: where the new one will be */
	__u64 id;    /* realloc: of the old block, if it was sampled */
	__u64 old_bytes;
	__u64 last_id;  /* of a mapping: of the samples before */
	__u32 function; /* enum heap_function; NONE: no call is followed */
	__u32 n_nested;
	__u32 is_fixed, is_left_out;
};

struct heap_thread {
	__s64 left; /* bytes to the next sample */
	__u64 has_begun;
	struct call call;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct heap_thread);
} heap_threads SEC(".maps");

struct block_key {
	__u64 tgid, block;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct block_key);
	__type(value, __u64);
} heap_blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set before loading */
} heap_messages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_HEAP_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} heap_counts SEC(".maps");

__u64 next_id, n_mapped; /* sampled blocks; sampled mappings among them */

static __always_inline void count(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&heap_counts, &which);

	if (n)
		__sync_fetch_and_add(n, 1); /* a probe can be interrupted by another thread's */
}

/* Random numbers. */

/* log2(x) << 24, for x of 1 to 2^32. */
static __always_inline __u64 logarithm(__u64 x)
{
	__u32 whole = 0, part, rest;
	__u64 y = x;

	for (int shift = 32; shift; shift /= 2)
		if (y >> shift) {
			whole += shift;
			y >>= shift;
		}
	x = x << (32 - whole) & 0xffffffff; /* the fraction, in 2^-32 */
	part = bounded(x >> 24, HEAP_PROBE_LOG_PARTS - 1);
	rest = x & 0xffffff;
	return ((__u64)whole << HEAP_PROBE_LOG_SHIFT) + log2_parts[part] +
	       ((__u64)(log2_parts[part + 1] - log2_parts[part]) * rest >> 24);
}

/* Exponentially distributed. */
static __always_inline __s64 draw_gap(void)
{
	__u64 x = (__u64)bpf_get_prandom_u32() + 1;
	__u64 negative = (32ULL << HEAP_PROBE_LOG_SHIFT) - logarithm(x);

	return (negative >> HEAP_PROBE_GAP_SHIFT) * mean_by_ln2 >>
	       (HEAP_PROBE_LOG_SHIFT - HEAP_PROBE_GAP_SHIFT);
}

/* Messages. */

static __always_inline void fill_head(struct heap_message_head *m, __u32 kind, __u64 id,
				      __u64 bytes)
{
	__u64 self = own_pid_tgid();

	m->kind = kind;
	m->pid = self >> 32;
	m->tid = (__u32)self;
	m->cpu = bpf_get_smp_processor_id();
	m->time_ns = bpf_ktime_get_ns();
	m->id = id;
	m->bytes = bytes;
	m->mapping = 0;
	m->last_id = 0;
	m->is_untracked = 0;
	m->n_pages = 0;
}

static __always_inline void send_note(__u32 kind, __u64 id, __u64 bytes, __u64 last_id)
{
	struct heap_message_head *m = bpf_ringbuf_reserve(&heap_messages, sizeof(*m), 0);

	if (!m) {
		count(HEAP_COUNT_LOST_NOTES);
		return;
	}
	fill_head(m, kind, id, bytes);
	m->last_id = last_id;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

static __always_inline void send_released(__u64 id)
{
	send_note(HEAP_MESSAGE_RELEASED, id, 0, 0);
}

static __always_inline struct block_key key_of(__u64 block)
{
	return (struct block_key){ bpf_get_current_pid_tgid() >> 32, block };
}

/* Forgets a block. 0: it was not sampled. */
static __always_inline __u64 take_block(__u64 block)
{
	struct block_key key = key_of(block);
	__u64 *found = block ? bpf_map_lookup_elem(&heap_blocks, &key) : NULL;
	__u64 id = found ? *found : 0;

	if (id)
		bpf_map_delete_elem(&heap_blocks, &key);
	return id;
}

/*
 * A mapping is sampled only now and then, and the reader knows which. Another thread may have a new
 * mapping there by now: the note has the last sample before the call.
 */
static __always_inline void send_unmapped(const struct call *c, __u64 start, __u64 bytes)
{
	if (n_mapped)
		send_note(HEAP_MESSAGE_UNMAPPED, start, bytes, c->last_id);
}

static __always_inline bool track_block(__u64 block, __u64 id)
{
	__u64 former = take_block(block);
	struct block_key key = key_of(block);

	if (former) /* its end was not seen */
		send_released(former);
	return bpf_map_update_elem(&heap_blocks, &key, &id, BPF_ANY) == 0;
}

static __always_inline void copy_registers(struct heap_message *m, struct pt_regs *ctx)
{
	const __u64 *words = (const __u64 *)ctx;

	__builtin_memset(m->regs, 0, sizeof(m->regs));
#pragma unroll
	for (int i = 0; i < N_USER_REGS; i++)
		m->regs[i] = words[word_of_register[i]];
}

#if defined(__TARGET_ARCH_x86)
#define PC_REGISTER 16 /* by DWARF number */
#define SP_REGISTER 7
#else
#define PC_REGISTER 32
#define SP_REGISTER 31
#endif

/* At the entry of a function: the registers as they would be behind its return. */
static __always_inline void leave_function(struct heap_message *m)
{
#if defined(__TARGET_ARCH_x86)
	__u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (const void *)m->regs[SP_REGISTER]);
	m->regs[PC_REGISTER] = caller;
	m->regs[SP_REGISTER] += RETURN_POPS;
#else
	m->regs[PC_REGISTER] = m->regs[30];
#endif
}

/* What an allocation has, beside its bytes. */
enum origin {
	ORIGIN_BLOCK,
	ORIGIN_MAPPING,
	ORIGIN_ENTRY /* of a function: the block is not known */
};

static __always_inline void sample(struct pt_regs *ctx, __u64 block, __u64 bytes,
				   enum origin origin)
{
	__u64 id = __sync_fetch_and_add(&next_id, 1) + 1;
	__u64 page = PT_REGS_SP(ctx) & ~(HEAP_PROBE_PAGE - 1ULL);
	struct heap_message *m;
	__u32 n = 0;

	/* notes are small and find room where samples do not */
	if (bpf_ringbuf_query(&heap_messages, BPF_RB_AVAIL_DATA) + 4 * sizeof(*m) >
	    bpf_ringbuf_query(&heap_messages, BPF_RB_RING_SIZE))
		m = NULL;
	else
		m = bpf_ringbuf_reserve(&heap_messages, sizeof(*m), 0);
	if (!m) {
		count(HEAP_COUNT_LOST_SAMPLES);
		return;
	}
	fill_head(&m->head, HEAP_MESSAGE_ALLOCATED, id, bytes);
	copy_registers(m, ctx);
	if (origin == ORIGIN_ENTRY)
		leave_function(m);
	for (; n < HEAP_PROBE_PAGES; n++)
		if (bpf_probe_read_user(m->stack[n], HEAP_PROBE_PAGE,
					(const void *)(page + n * HEAP_PROBE_PAGE)))
			break;
	m->head.n_pages = n;
	if (origin == ORIGIN_MAPPING) {
		m->head.mapping = block;
		__sync_fetch_and_add(&n_mapped, 1);
	} else {
		m->head.is_untracked = origin == ORIGIN_ENTRY || !track_block(block, id);
	}
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

static __always_inline void allocated(struct pt_regs *ctx, struct heap_thread *t, __u64 block,
				      __u64 bytes, enum origin origin)
{
	t->left -= bytes;
	if (t->left >= 0)
		return;
	if (!t->has_begun) {
		t->has_begun = 1;
		t->left = draw_gap() - (__s64)bytes;
		if (t->left >= 0)
			return;
	}
	sample(ctx, block, bytes, origin);
	t->left = draw_gap();
}

/* Calls. */

static __always_inline void begin_call(struct call *c, __u32 function, struct pt_regs *ctx)
{
	__u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx);

	*c = (struct call){ .sp = PT_REGS_SP(ctx), .function = function, .bytes = second };
	switch (function) {
	case HEAP_FUNCTION_SIZE:
		c->bytes = first;
		break;
	case HEAP_FUNCTION_CALLOC:
		c->bytes = first * second;
		break;
	case HEAP_FUNCTION_REALLOC: /* the block may be another's as soon as it is freed */
		c->block = first;
		c->id = take_block(first);
		break;
	case HEAP_FUNCTION_POSIX:
		c->block = first;
		c->bytes = PT_REGS_PARM3(ctx);
		break;
	case HEAP_FUNCTION_MUNMAP:
		c->last_id = next_id;
		c->block = first;
		break;
	case HEAP_FUNCTION_MMAP:
		c->last_id = next_id;
		c->is_fixed = (PT_REGS_PARM4(ctx) & MAP_FIXED) != 0;
		c->is_left_out = !(PT_REGS_PARM4(ctx) & MAP_ANONYMOUS) || !PT_REGS_PARM3(ctx);
		break;
	case HEAP_FUNCTION_MREMAP:
		c->last_id = next_id;
		c->block = first;
		c->old_bytes = second;
		c->bytes = PT_REGS_PARM3(ctx);
		break;
	}
}

/*
 * Before Linux 6.2, there is none while another thread of the CPU is in the middle of such a call.
 * NULL is counted: the call can't be followed.
 */
static __always_inline struct heap_thread *own_thread(void)
{
	struct heap_thread *t = bpf_task_storage_get(&heap_threads, bpf_get_current_task_btf(),
						     NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		count(HEAP_COUNT_LOST_SAMPLES);
	return t;
}

/* Whether the call is a part of the one that is followed. */
static __always_inline bool is_nested(struct heap_thread *t, struct pt_regs *ctx)
{
	if (!t->call.function || PT_REGS_SP(ctx) >= t->call.sp)
		return false;
	if (++t->call.n_nested < NESTED_MAX)
		return true;
	count(HEAP_COUNT_LOST_SAMPLES); /* its return was not seen */
	return false;
}

SEC("uprobe")
int heap_called(struct pt_regs *ctx)
{
	__u32 function = bpf_get_attach_cookie(ctx);
	struct heap_thread *t;
	__u64 id;

	count(HEAP_COUNT_CALLS);
	t = own_thread();
	if (!t || is_nested(t, ctx))
		return 0;
	t->call.function = HEAP_FUNCTION_NONE;
	if (function == HEAP_FUNCTION_THROWING) {
		if (PT_REGS_PARM1(ctx) < BYTES_MAX)
			allocated(ctx, t, 0, PT_REGS_PARM1(ctx), ORIGIN_ENTRY);
		return 0;
	}
	if (function < HEAP_FUNCTION_FREE) {
		begin_call(&t->call, function, ctx);
		return 0;
	}
	id = take_block(PT_REGS_PARM1(ctx));
	if (id)
		send_released(id);
	return 0;
}

static __always_inline void returned_realloc(struct pt_regs *ctx, struct heap_thread *t,
					     struct call *c, __u64 block)
{
	if (c->id && !block && c->bytes)
		track_block(c->block, c->id); /* it is still there */
	else if (c->id)
		send_released(c->id);
	if (block)
		allocated(ctx, t, block, c->bytes, ORIGIN_BLOCK);
}

static __always_inline void returned_mapping(struct pt_regs *ctx, struct heap_thread *t,
					     struct call *c, __u64 start)
{
	if (start >= (__u64)-4095)
		return;
	if (c->is_fixed)
		send_unmapped(c, start, c->bytes);
	if (c->function == HEAP_FUNCTION_MREMAP)
		send_unmapped(c, c->block, c->old_bytes ?: 1);
	if (!c->is_left_out)
		allocated(ctx, t, start, c->bytes, ORIGIN_MAPPING);
}

SEC("uretprobe")
int heap_returned(struct pt_regs *ctx)
{
	struct heap_thread *t = own_thread();
	__u64 result = PT_REGS_RC(ctx);
	struct call c;

	if (!t || !t->call.function || PT_REGS_SP(ctx) != t->call.sp + RETURN_POPS)
		return 0;
	c = t->call;
	t->call.function = HEAP_FUNCTION_NONE;
	if (c.function == HEAP_FUNCTION_POSIX &&
	    ((__s32)result || bpf_probe_read_user(&result, sizeof(result), (const void *)c.block)))
		return 0;
	if (c.function == HEAP_FUNCTION_REALLOC)
		returned_realloc(ctx, t, &c, result);
	else if (c.function == HEAP_FUNCTION_MUNMAP && !(__u32)result)
		send_unmapped(&c, c.block, c.bytes);
	else if (c.function == HEAP_FUNCTION_MUNMAP)
		return 0; /* it failed: the mapping is still there */
	else if (c.function == HEAP_FUNCTION_MMAP || c.function == HEAP_FUNCTION_MREMAP)
		returned_mapping(ctx, t, &c, result);
	else if (result)
		allocated(ctx, t, result, c.bytes, ORIGIN_BLOCK);
	return 0;
}
