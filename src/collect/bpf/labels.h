/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Labels of the goroutine that a sample belongs to (runtime/pprof.Do), or the thread's context of
 * OpenTelemetry:
 *
 *   thread pointer ─► g (also a system stack's) ─► m ─► goroutine ─► labels ─► names and values
 *   thread pointer ─► context: trace, span, attributes
 *
 * Labels are data of users. So only those that the recording names are read (wanted_labels), and
 * none by default. A sample's count has the number of its labels where a wait has its waker
 * (shared.h), and the labels are sent before the first such count.
 *
 * The process's memory is not trusted: each length is bounded, and so is each number of labels.
 */
#pragma once

#include "collect/bpf/label_name.h"

/* Set before loading. */
const volatile bool with_labels = false;
const volatile __u64 wanted_labels[LABELS_MAX] = {}; /* label_name_hash(); 0: no more */

#define LABEL_FILES_MAX     1024
#define LABEL_PROCESSES_MAX 4096

/* Programs with labels, by file number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LABEL_FILES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct label_places);
} label_files SEC(".maps");

/* Processes with contexts of OpenTelemetry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LABEL_PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct process_labels);
} label_processes SEC(".maps");

#define GO_BUCKET_SLOTS 8
#define GO_BUCKET_WORDS (1 + 4 * GO_BUCKET_SLOTS) /* marks of slots; names; values */
#define GO_BUCKETS_MAX  4
#define GO_LIST_MAX     24
#define GO_SLOT_USED    5 /* the least mark of a slot with a label */
#define GO_MAP_SHAPE    8 /* place of 4 bytes: flags, the binary logarithm of buckets … */
#define GO_MAP_BUCKETS  16

struct label_work {
	struct label_message m;
	__u64 name[LABEL_NAME_MAX / 8];
	__u64 words[GO_BUCKET_WORDS];
	__u32 has_some, is_unreadable;
	__u16 keys[LABELS_MAX]; /* struct process_labels */
};

/* Samples alone have labels, and no sample interrupts another one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct label_work);
} label_works SEC(".maps");

static __always_inline struct label_work *own_label_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&label_works, &zero);
}

static __always_inline void keep_value(struct label_work *l, __u32 at, __u64 value, __u64 size)
{
	struct label_value *v = &l->m.values[bounded(at, LABELS_MAX - 1)];

	barrier_var(size);
	if (size > LABEL_VALUE_MAX)
		size = LABEL_VALUE_MAX;
	v->size = size;
	l->has_some = 1;
	if (size && bpf_probe_read_user(v->bytes, size, (const void *)value))
		l->is_unreadable = 1;
}

/* Keeps a label if it is wanted. Its name and its value are bytes. */
__attribute__((noinline)) int take_label(__u64 name, __u64 name_size, __u64 value, __u64 size)
{
	struct label_work *l = own_label_work();
	__u64 hash;

	if (!l || !name_size)
		return 0;
	/* Else clang 19 makes one comparison of both, from which Linux 6.1 learns no bound. */
	barrier_var(name_size);
	if (name_size > LABEL_NAME_MAX)
		return 0;
	__builtin_memset(l->name, 0, sizeof(l->name));
	if (bpf_probe_read_user(l->name, name_size, (const void *)name)) {
		l->is_unreadable = 1;
		return 0;
	}
	hash = label_name_hash(l->name);
	for (__u32 i = 0; i < LABELS_MAX; i++)
		if (wanted_labels[i] == hash)
			keep_value(l, i, value, size);
	return 0;
}

/* A bucket of a map of texts. */
__attribute__((noinline)) int take_bucket(__u64 at)
{
	struct label_work *l = own_label_work();
	__u64 next;

	if (!l || bpf_probe_read_user(l->words, sizeof(l->words), (const void *)at))
		return 1;
	/* Labels that found no room here are in another bucket, which is not read. */
	if (!read_word(at + sizeof(l->words), &next) || next)
		return 1;
	for (__u32 i = 0; i < GO_BUCKET_SLOTS; i++) {
		const __u64 *name = &l->words[1 + 2 * i], *value = name + 2 * GO_BUCKET_SLOTS;

		if ((l->words[0] >> (8 * i) & 0xff) >= GO_SLOT_USED)
			take_label(name[0], name[1], value[0], value[1]);
	}
	return 0;
}

/* Up to Go 1.23. False: some of it can't be read, or it has too many labels. */
static __always_inline bool take_map(__u64 map_at)
{
	__u64 map, buckets;
	__u32 shape, n;

	if (!read_word(map_at, &map))
		return false;
	if (!map)
		return true;
	if (bpf_probe_read_user(&shape, sizeof(shape), (const void *)(map + GO_MAP_SHAPE)) ||
	    !read_word(map + GO_MAP_BUCKETS, &buckets) || (shape >> 8 & 0xff) > 2)
		return false;
	n = 1u << (shape >> 8 & 3);
	for (__u32 i = 0; i < GO_BUCKETS_MAX; i++) /* behind a bucket is a word: the next one */
		if (i < n && take_bucket(buckets + i * (GO_BUCKET_WORDS + 1) * 8ULL))
			return false;
	return true;
}

__attribute__((noinline)) int take_list_entry(__u64 at)
{
	struct label_work *l = own_label_work();

	if (!l || bpf_probe_read_user(l->words, 32, (const void *)at))
		return 1;
	return take_label(l->words[0], l->words[1], l->words[2], l->words[3]);
}

/* Since Go 1.24. */
static __always_inline bool take_list(__u64 list_at)
{
	__u64 list, n;

	if (!read_word(list_at, &list) || !read_word(list_at + 8, &n) || n > GO_LIST_MAX)
		return false;
	for (__u32 i = 0; i < GO_LIST_MAX; i++)
		if (i < n && take_list_entry(list + i * 32ULL))
			return false;
	return true;
}

/* The record of a thread (OTEP 4947). Attributes follow: number, length, text. */
struct thread_context {
	__u8 trace[16], span[8];
	__u8 is_valid, reserved;
	__u16 attributes_size;
};

static __always_inline __u8 hex_digit(__u8 value)
{
	return value < 10 ? '0' + value : 'a' + value - 10;
}

/* Keeps bytes of l->words as a hexadecimal text, if the label of this name is wanted. */
__attribute__((noinline)) int take_id(__u64 name_hash, __u32 from, __u32 size)
{
	struct label_work *l = own_label_work();

	if (!l)
		return 0;
	for (__u32 i = 0; i < LABELS_MAX; i++) {
		__u8 *out = (__u8 *)l->m.values[i].bytes, all = 0;

		if (wanted_labels[i] != name_hash)
			continue;
		for (__u32 k = 0; k < sizeof(((struct thread_context *)0)->trace); k++) {
			__u8 byte = ((const __u8 *)l->words)[bounded(from + k, 31)];

			if (k >= size)
				break;
			out[2 * k] = hex_digit(byte >> 4);
			out[2 * k + 1] = hex_digit(byte & 15);
			all |= byte;
		}
		if (!all) /* W3C Trace Context: zeros are no id */
			continue;
		l->m.values[i].size = 2 * size;
		l->has_some = 1;
	}
	return 0;
}

#define ATTRIBUTES_MAX      32
#define ATTRIBUTES_SIZE_MAX 1024

/* Keeps an attribute if it is wanted; of two with one number, the last. Returns its size; 0: none.
 */
__attribute__((noinline)) int take_attribute(__u64 at, __u32 left)
{
	struct label_work *l = own_label_work();
	__u8 head[2];

	if (!l || left < sizeof(head) ||
	    bpf_probe_read_user(head, sizeof(head), (const void *)at) ||
	    sizeof(head) + head[1] > left)
		return 0;
	for (__u32 i = 0; i < LABELS_MAX; i++) {
		if (l->keys[i] != head[0])
			continue;
		__builtin_memset(&l->m.values[i], 0, sizeof(l->m.values[i]));
		keep_value(l, i, at + sizeof(head), head[1]);
	}
	return sizeof(head) + head[1];
}

static __always_inline void take_attributes(__u64 at, __u32 left)
{
	if (left > ATTRIBUTES_SIZE_MAX)
		left = ATTRIBUTES_SIZE_MAX;
	for (__u32 i = 0; i < ATTRIBUTES_MAX; i++) {
		__u32 size = take_attribute(at, left);

		if (!size || size > left)
			break;
		at += size;
		left -= size;
	}
}

/* The pointer of a context leads to it. A record that is being changed is none. */
static __always_inline bool take_context(__u64 at)
{
	__u64 trace[LABEL_NAME_MAX / 8] = {}, span[LABEL_NAME_MAX / 8] = {};
	struct label_work *l = own_label_work();
	struct thread_context *c;

	if (!l || bpf_probe_read_user(l->words, sizeof(*c), (const void *)at))
		return false;
	c = (struct thread_context *)l->words;
	if (c->is_valid != 1)
		return true;
	__builtin_memcpy(trace, "trace_id", 8);
	__builtin_memcpy(span, "span_id", 7);
	take_id(label_name_hash(trace), offsetof(struct thread_context, trace), sizeof(c->trace));
	take_id(label_name_hash(span), offsetof(struct thread_context, span), sizeof(c->span));
	take_attributes(at + sizeof(*c), c->attributes_size);
	return true;
}

/* The dynamic thread vector of glibc: a pointer and another word for each module. */
#define DTV_AT          8 /* from the thread pointer */
#define DTV_ENTRY       16
#define DTV_MODULES_MAX 4096

/* False: it can't be read. *variable 0: the thread has no memory of the module yet. */
static __always_inline bool find_in_module(__u64 tp, __u64 module, __u64 off, __u64 *variable)
{
	__u64 vector, block;

	if (!module || module > DTV_MODULES_MAX || !read_word(tp + DTV_AT, &vector) ||
	    !read_word(vector + module * DTV_ENTRY, &block))
		return false;
	*variable = !block || block == ~0ULL ? 0 : block + off;
	return true;
}

/* A descriptor's argument is an offset from the thread pointer, which is below it, or has a place.
 */
static __always_inline bool find_by_descriptor(__u64 tp, __u64 slot, __u64 *variable)
{
	__u64 argument, place[2];

	if (!read_word(slot + 8, &argument))
		return false;
	*variable = tp + argument;
	if ((__s64)argument <= 0)
		return true;
	return !bpf_probe_read_user(place, sizeof(place), (const void *)argument) &&
	       find_in_module(tp, place[0], place[1], variable);
}

/* Where the thread's variable is. */
static __always_inline bool find_variable(const struct label_places *p, __u64 tp, __u64 *variable)
{
	__u64 word;

	switch (p->kind) {
	case LABELS_CONTEXT_OFFSET:
		if (!read_word(p->slot, &word))
			return false;
		*variable = tp + word;
		return true;
	case LABELS_CONTEXT_DESCRIPTOR:
		return find_by_descriptor(tp, p->slot, variable);
	case LABELS_CONTEXT_MODULE:
		return read_word(p->slot, &word) &&
		       find_in_module(tp, word, p->in_module, variable);
	default:
		*variable = tp + (__s64)p->thread_at;
		return true;
	}
}

/* False: the labels can't be read. A thread that runs no goroutine has none. */
static __always_inline bool take_labels(const struct label_places *p)
{
	__u64 tp = thread_pointer(), variable, g, m, goroutine, labels;

	if (!tp || !find_variable(p, tp, &variable))
		return false;
	if (!variable)
		return true;
	if (!read_word(variable, &g))
		return false;
	if (!g)
		return true;
	if (label_kind_is_context(p->kind))
		return take_context(g);
	if (!read_word(g + p->g_m, &m))
		return false;
	if (!m) /* the thread is just beginning */
		return true;
	if (!read_word(m + p->m_goroutine, &goroutine))
		return false;
	if (!goroutine)
		return true;
	if (!read_word(goroutine + p->g_labels, &labels))
		return false;
	if (!labels)
		return true;
	return p->kind == LABELS_GO_MAP ? take_map(labels) : take_list(labels);
}

/* The hash covers all values, and the generation: a new one sends them again. */
static __always_inline __u64 number_of_labels(const struct label_work *l)
{
	__u64 h = mix(generation, LABELS_MAX);

	for (__u32 i = 0; i < LABELS_MAX; i++) {
		h = mix(h, l->m.values[i].size);
		for (__u32 k = 0; k < LABEL_VALUE_MAX / 8; k++)
			h = mix(h, l->m.values[i].bytes[k]);
	}
	return h | 1;
}

static __always_inline __u64 send_labels(struct label_work *l)
{
	l->m.type = MESSAGE_LABELS;
	l->m.id = number_of_labels(l);
	if (bpf_map_lookup_elem(&seen, &l->m.id))
		return l->m.id;
	if (bpf_ringbuf_output(&messages, &l->m, sizeof(l->m), BPF_RB_NO_WAKEUP))
		return LABELS_UNKNOWN;
	remember_key(&seen, &l->m.id);
	return l->m.id;
}

/* The number of the labels of the current goroutine; 0: none. `app`: its program. */
__attribute__((noinline)) __u64 current_labels(__u32 app)
{
	__u32 pid = own_pid_tgid() >> 32;
	const struct process_labels *process = bpf_map_lookup_elem(&label_processes, &pid);
	const struct label_places *p = bpf_map_lookup_elem(&label_files, &app);
	struct label_work *l = own_label_work();

	if (process)
		p = &process->places;
	if (!p || !l)
		return 0;
	__builtin_memset(&l->m, 0, sizeof(l->m));
	__builtin_memset(l->keys, 0xff, sizeof(l->keys)); /* LABEL_NO_KEY */
	if (process)
		__builtin_memcpy(l->keys, process->keys, sizeof(l->keys));
	l->has_some = l->is_unreadable = 0;
	if (!take_labels(p) || l->is_unreadable)
		return LABELS_UNKNOWN;
	return l->has_some ? send_labels(l) : 0;
}
