/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures a stack in the kernel, for all our BPF programs:
 *
 *	struct work *w = capture_stack(ctx, SLOT, interrupted);
 *
 *	if (w && send_stack(w))
 *		… count w->s.hash …
 *
 * The stack is the current task's: its kernel part, then its user part, each frame as (file,
 * offset) (shared.h). The user part is walked by unwind tables (tables.h). If a table is not there
 * yet, the stack is sent raw, with a unique hash. The reasons of ended walks are counted here.
 *
 * A program that may interrupt another one of the same object has a separate slot (shared.h). The
 * slots from FIRST_SLOT_FOR_LATER on are for stacks that are counted later.
 *
 * For the verifier, the code for one frame is a function that is not static, because such a
 * function is verified once, by itself. The state between frames is in map memory, so that all
 * turns of a loop are one state.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "collect/bpf/bounded.h"
#include "collect/bpf/cgroup.h"
#include "collect/bpf/kernel_types.h"
#include "collect/bpf/pids.h"
#include "collect/bpf/shared.h"
#include "collect/bpf/tables.h"
#include "collect/bpf/user_regs.h"
#include "collect/bpf/vma.h"
#include "collect/bpf/work.h"
#include "unwind/call_site.h"

/* Set before loading. */
const volatile bool with_stacks = true;
const volatile bool by_frame_pointer = false; /* the only way for kernels without bpf_loop() */
const volatile __u32 page_shift = 12;
const volatile bool compares_java = false; /* for tests: stacks of known frames are copied, too */

/*
 * A raw tracepoint's stack begins with frames of BPF. The stack of a slot begins in this function;
 * size 0: with its first frame. Set before loading.
 */
const volatile struct kernel_text first_text[CAPTURE_SLOTS] = {};

/*
 * Set by the reader while we run: a new generation makes all stacks new again. The hash starts with
 * the multiplied generation. A plain one would only change low bits, as the addresses of a loop do:
 * one frame in this generation would equal another one in that generation.
 */
__u32 generation;

/* Sizes of 1 are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

__u32 next_file = 1;

/* Files. */

static __always_inline __u32 no_file_number(void)
{
	lose(SAMPLER_FILES_FULL);
	return FILE_TOO_MANY;
}

static __always_inline void send_file(struct file_message *m, __u32 number,
				      const struct file_key *key, const struct file_place *place)
{
	m->type = MESSAGE_FILE;
	m->number = number;
	m->pid = own_pid_tgid() >> 32;
	m->pad = 0;
	m->place = *place;
	m->time_ns = bpf_ktime_get_ns();
	m->key = *key;
	bpf_ringbuf_submit(m, BPF_RB_FORCE_WAKEUP); /* the process may end soon */
}

static __always_inline __u32 known_file(struct file_entry *known, const struct file_key *key,
					const struct file_place *place, bool is_certain)
{
	struct file_message *m;

	if (!is_certain || known->is_certain)
		return known->number;
	m = bpf_ringbuf_reserve(&messages, sizeof(*m), 0);
	if (m) {
		known->is_certain = 1;
		send_file(m, known->number, key, place);
	}
	return known->number;
}

static __always_inline __u32 file_number(const struct file_key *key, const struct file_place *place,
					 bool is_certain)
{
	struct file_entry *known = bpf_map_lookup_elem(&files, key), entry;
	struct file_message *m;

	if (known)
		return known_file(known, key, place, is_certain);
	if (next_file >= MAX_FILES)
		return no_file_number();
	m = bpf_ringbuf_reserve(&messages, sizeof(*m), 0);
	if (!m)
		return no_file_number();
	entry.number = __sync_fetch_and_add(&next_file, 1);
	entry.is_certain = is_certain;
	if (entry.number >= MAX_FILES || bpf_map_update_elem(&files, key, &entry, BPF_NOEXIST)) {
		bpf_ringbuf_discard(m, BPF_RB_NO_WAKEUP);
		known = bpf_map_lookup_elem(&files, key); /* another CPU may have been first */
		return known ? known->number : no_file_number();
	}
	send_file(m, entry.number, key, place);
	return entry.number;
}

/* A mapped file of overlayfs belongs to the layer; /proc and records name the file above. */
static __always_inline void key_of_file(struct file *file, struct file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
}

__u32 has_runtimes; /* set by the reader: the map has some */

static __always_inline bool is_runtime(__u32 file)
{
	return bpf_map_lookup_elem(&runtimes, &file) != NULL;
}

/* Mappings. */

static __always_inline __u32 table_of(struct mm_struct *mm, const struct mapping *m)
{
	if (m->file == FILE_TOO_MANY)
		return NO_TABLE;
	if (m->file != FILE_NONE)
		return m->file;
	return m->start == (__u64)BPF_CORE_READ(mm, context.vdso) ? TABLE_OF_VDSO : NO_TABLE;
}

static __always_inline bool read_mapping(struct work *w, __u64 addr, struct mapping *m)
{
	struct vm_area_struct *vma = find_vma(w->mm, addr, w->pivots);
	struct file_place place;
	struct file_key key;
	struct file *file;
	__u64 flags;

	if (!vma)
		return false;
	flags = BPF_CORE_READ(vma, vm_flags);
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (addr < m->start || addr >= m->end || !(flags & VM_EXEC))
		return false;
	m->is_shared = (flags & VM_SHARED) != 0;
	m->file = FILE_NONE;
	m->file_off = m->start;
	file = BPF_CORE_READ(vma, vm_file);
	if (file) {
		key_of_file(file, &key);
		place.start = m->start;
		place.file_off = BPF_CORE_READ(vma, vm_pgoff) << page_shift;
		m->file = file_number(&key, &place, w->is_user_mode);
		if (m->file != FILE_TOO_MANY)
			m->file_off = place.file_off;
	}
	m->table = table_of(w->mm, m);
	m->is_runtime = has_runtimes && is_runtime(m->file);
	return true;
}

/* The number of the kept mapping that has the address, or -1. */
__attribute__((noinline)) int find_mapping(__u32 slot, __u64 addr)
{
	struct work *w = own_work(slot);
	struct mapping found = {};
	__u32 at;

	if (!w)
		return -1;
	for (int k = 0; k < KEPT_MAPPINGS; k++)
		if (addr >= w->kept[k].start && addr < w->kept[k].end)
			return k;
	if (!read_mapping(w, addr, &found))
		return -1;
	at = bounded(w->next_kept++, KEPT_MAPPINGS - 1);
	w->kept[at] = found;
	return (int)at;
}

static __always_inline __u64 frame_in(const struct mapping *m, __u64 addr)
{
	return (__u64)m->file << FRAME_OFF_BITS | (offset_in(m, addr) & FRAME_OFF_MASK);
}

/* The table is that of 64-bit programs. A function of its own: the caller's stack is full. */
__attribute__((noinline)) int find_rule_of_vdso_i386(__u32 slot)
{
	struct work *w = own_work(slot);
	struct unwind_ctx c = {};

	if (!w)
		return 1;
	c.registers = w->registers;
	w->special_rule = unwind_rule_of_vdso_i386(&w->regs, &c, !w->is_user_mode);
	return 0;
}

#include "collect/bpf/trampoline.h"

static __always_inline bool has_no_file(const struct mapping *m)
{
	return m->file == FILE_NONE && m->table == NO_TABLE;
}

/* The rule for an address in a mapping. False: its table is not there yet. */
static __always_inline bool find_rule(__u32 slot, struct work *w, const struct mapping *m,
				      __u64 addr, struct unwind_rule *rule)
{
	__u32 number = m->table;
	__u64 *place;

	*rule = (struct unwind_rule){ 0 };
	if (number == NO_TABLE)
		return true;
	if (number == TABLE_OF_VDSO && w->regs.is_i386) {
		if (!find_rule_of_vdso_i386(slot))
			*rule = w->special_rule;
		return true;
	}
	place = bpf_map_lookup_elem(&table_places, &number);
	if (!place || *place == TABLE_WANTED)
		return false;
	if (*place >= TABLE_FIRST)
		*rule = heap_rule((__u32)*place, offset_in(m, addr));
	else if (*place == TABLE_NO_ROOM)
		w->met_full = 1;
	return true;
}

#include "collect/bpf/language.h"

/* Set by the reader: a runtime in the map has its frames on the native stack. */
__u32 has_stack_runtimes;

/* Processes with such a runtime: code without a file may be theirs. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u8);
} stack_processes SEC(".maps");

/*
 * Whether the address is in code of Java or JavaScript, so that the reader has to walk the stack.
 * In a file it is if the runtime has a range for that (V8's builtins).
 */
static __always_inline bool is_for_reader(struct work *w, const struct mapping *m, __u64 addr)
{
	const struct lang_runtime *r;
	__u64 pid = w->s.pid;

	if (has_no_file(m))
		return w->java.is_met || bpf_map_lookup_elem(&stack_processes, &pid) != NULL;
	r = m->is_runtime ? bpf_map_lookup_elem(&runtimes, &m->file) : NULL;
	if (!r || !language_is_on_stack(r->language))
		return false;
	if (!bpf_map_lookup_elem(&stack_processes, &pid))
		remember_key(&stack_processes, &pid);
	return is_in_range(&r->ranges[0], offset_in(m, addr));
}

#include "collect/bpf/interpreter.h"
#include "collect/bpf/java.h"

/* A guessed rule gave the caller. 1: the code at its address can't have called. */
__attribute__((noinline)) int check_guess(__u32 slot)
{
	struct work *w = own_work(slot);
	__u64 code[2] = {};

	if (!w)
		return 1;
	if (!bpf_probe_read_user(code, sizeof(code),
				 (const void *)(w->regs.pc - UNWIND_CALL_BYTES)) &&
	    !unwind_may_return_to(code[0], code[1], w->regs.is_aarch64))
		return stop_walk(w, UNWIND_NO_CALL);
	w->is_guessed = 1;
	return 0;
}

static __always_inline __u32 most_user_words(const struct work *w)
{
	return w->lang.runtime.language || w->java.is_met ? MAX_USER_WORDS : MAX_USER_FRAMES;
}

/* Keeps a native frame, and finds its rule. 1: the walk stops, or frames of a language come first.
 */
static __always_inline int native_frame(__u32 slot, struct work *w, int at, __u64 addr,
					struct unwind_rule *rule)
{
	const struct mapping *m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	__u64 frame = frame_in(m, w->regs.pc);
	bool is_trampoline;
	int loop;

	if (!java_is_entered_from(w, m))
		return stop_walk(w, UNWIND_NO_RULE);
	w->java.callee = 0;
	if (has_runtimes && m->is_shared) {
		loop = find_jit_loop(slot);
		/* The mapping of the loop may have taken the place of this one. */
		at = loop >= 0 ? loop : find_mapping(slot, addr);
		if (at < 0)
			return stop_walk(w, UNWIND_UNMAPPED);
		if (loop >= 0)
			addr = w->lang.jit_place;
		m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	}
	if (m->is_runtime && !w->lang.has_emitted && begin_language(slot, at, addr))
		return 1;
	w->lang.has_emitted = 0;
	is_trampoline = has_no_file(m) && find_trampoline(slot);
	if (!is_trampoline || w->lang.runtime.language != LANGUAGE_PYTHON)
		push_user_frame(w, frame);
	if (is_trampoline) {
		*rule = w->special_rule;
		return 0;
	}
	if (find_rule(slot, w, m, addr, rule))
		return 0;
	w->wants_table = 1;
	w->wanted = m->table;
	return stop_walk(w, UNWIND_NO_RULE);
}

/* A frame of Java or JavaScript. 1: the walk stops, as the reader has to walk the stack. */
static __always_inline int stack_language_frame(__u32 slot, struct work *w, const struct mapping *m,
						struct unwind_rule *rule)
{
	__u64 frame = frame_in(m, w->regs.pc);

	w->java.is_met = 1;
	if (java_frame(slot)) {
		*rule = w->java.rule;
		return 0;
	}
	push_user_frame(w, frame); /* if there is no room for a copy */
	return stop_walk(w, UNWIND_NO_RULE);
}

/* As unwind_walk() in user space: keeps a frame and goes to its caller. 1: there is none. */
__attribute__((noinline)) int walk_frame(__u32 slot)
{
	struct work *w = own_work(slot);
	struct unwind_ctx c = {};
	struct unwind_rule rule;
	const struct mapping *m;
	__u64 addr;
	int at;

	if (!w)
		return 1;
	if (w->s.n_user >= most_user_words(w))
		return stop_walk(w, UNWIND_DEPTH);
	addr = unwind_lookup_pc(&w->regs);
	at = find_mapping(slot, addr);
	if (at < 0 && !w->s.n_user && w->s.n_kernel) /* in exec: the old program has gone */
		return stop_walk(w, UNWIND_END);
	if (at < 0) {
		if (!w->s.n_user) /* an uncovered leaf is a sample all the same */
			push_user_frame(w, w->regs.pc & FRAME_OFF_MASK);
		return stop_walk(w, UNWIND_UNMAPPED);
	}
	w->stop = UNWIND_GOES_ON;
	m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	if (has_stack_runtimes && slot <= SLOT_SWITCH && is_for_reader(w, m, addr)
		    ? stack_language_frame(slot, w, m, &rule)
		    : native_frame(slot, w, at, addr, &rule))
		return w->stop != UNWIND_GOES_ON;
	c.registers = w->registers;
	w->stop = unwind_step(rule, &w->regs, &c);
	if (w->stop == UNWIND_GOES_ON && unwind_rule_is_guessed(rule))
		return check_guess(slot);
	return w->stop != UNWIND_GOES_ON;
}

/* One address of a chain from the kernel's walk by frame pointer. 1: no mapping covers it. */
__attribute__((noinline)) int keep_address(__u32 slot, __u64 addr)
{
	struct work *w = own_work(slot);
	int at;

	if (!w)
		return 1;
	at = find_mapping(slot, addr);
	if (at < 0) {
		if (!w->s.n_user)
			push_user_frame(w, addr & FRAME_OFF_MASK);
		return stop_walk(w, UNWIND_UNMAPPED);
	}
	push_user_frame(w, frame_in(&w->kept[bounded(at, KEPT_MAPPINGS - 1)], addr));
	return 0;
}

/* Inline: a call more costs 32 of the 512 bytes of stack that Linux 6.1 allows a chain of calls. */
static __always_inline int walk_step(__u32 slot)
{
	struct work *w = own_work(slot);

	if (!w)
		return 1;
	if (w->lang.python.is_wanted)
		return python_find_state(slot);
	return w->lang.is_emitting ? language_frame(slot, w->lang.runtime.language)
				   : walk_frame(slot);
}

static long walk_on(__u32 i, void *slot)
{
	return (long)bounded(walk_step(*(__u32 *)slot) != 0, 1); /* 1 ends bpf_loop() */
}

/* Stacks. */

#define BPF_FRAMES_MAX 16

/* How many of the first frames were BPF's, last time: users of a tracepoint come and go. */
__u32 n_bpf_frames[CAPTURE_SLOTS];

static __always_inline bool is_first_text(__u32 slot, __u64 frame)
{
	return frame - first_text[slot].start < first_text[slot].size;
}

/* Of a stack of n_frames. 0 without the traced function among them. */
__attribute__((noinline)) int count_bpf_frames(__u32 slot, __u32 n_frames)
{
	struct work *w = slot < CAPTURE_SLOTS ? own_work(slot) : NULL;

	for (__u32 i = 0; w && i < BPF_FRAMES_MAX && i < n_frames; i++)
		if (is_first_text(slot, w->s.frames[i]))
			return i;
	return 0;
}

static __always_inline long kernel_frames(void *ctx, struct work *w, __u32 n_skipped)
{
	return bpf_get_stack(ctx, w->s.frames, MAX_KERNEL_FRAMES * 8,
			     n_skipped & BPF_F_SKIP_FIELD_MASK) >>
	       3;
}

static __always_inline void walk_kernel(void *ctx, __u32 slot, struct work *w)
{
	long n = kernel_frames(ctx, w, n_bpf_frames[slot]);

	if (first_text[slot].size && (n <= 0 || !is_first_text(slot, w->s.frames[0]))) {
		n = kernel_frames(ctx, w, 0);
		n_bpf_frames[slot] = count_bpf_frames(slot, n > 0 ? n : 0);
		n = kernel_frames(ctx, w, n_bpf_frames[slot]);
	}
	/* kernel addresses are frames: their highest bit is set */
	w->s.n_kernel = n > 0 ? n : 0;
	for (__u32 i = 0; i < MAX_KERNEL_FRAMES && i < w->s.n_kernel; i++)
		w->s.hash = mix(w->s.hash, w->s.frames[i]);
}

/* By their addresses. Set before loading. */
const volatile struct kernel_mark kernel_marks[KERNEL_MARKS_MAX] = {};
const volatile __u32 n_kernel_marks = 0;

enum kernel_mark_at { AT_NO_MARK, AT_INTERRUPT, AT_EXIT };

/* enum kernel_mark_at of a return address. */
__attribute__((noinline)) int find_kernel_mark(__u64 addr)
{
	__u32 first = 0, end = n_kernel_marks, at;

	addr--;                                      /* of the call */
	for (int i = 0; i < 8 && first < end; i++) { /* KERNEL_MARKS_MAX has 7 bits */
		__u32 middle = (first + end) / 2;

		if (kernel_marks[bounded(middle, KERNEL_MARKS_MAX - 1)].start <= addr)
			first = middle + 1;
		else
			end = middle;
	}
	if (!first)
		return AT_NO_MARK;
	at = bounded(first - 1, KERNEL_MARKS_MAX - 1);
	if (addr - kernel_marks[at].start >= kernel_marks[at].size)
		return AT_NO_MARK;
	return kernel_marks[at].is_exit ? AT_EXIT : AT_INTERRUPT;
}

/*
 * Whether the kernel's part is that of an interrupt, which struck the task by chance. On the way
 * back from one, the kernel works for the task again. So the innermost mark decides.
 */
__attribute__((noinline)) int is_in_interrupt(__u32 slot)
{
	struct work *w = own_work(slot);
	int mark;

	for (__u32 i = 0; w && n_kernel_marks && i < MAX_KERNEL_FRAMES && i < w->s.n_kernel; i++) {
		mark = find_kernel_mark(w->s.frames[i]);
		if (mark != AT_NO_MARK)
			return mark == AT_INTERRUPT;
	}
	return 0;
}

static __always_inline void walk_by_fp(void *ctx, __u32 slot, struct work *w)
{
	long n = bpf_get_stack(ctx, w->by_fp, MAX_FP_FRAMES * 8, BPF_F_USER_STACK) >> 3;

	w->stop = n < MAX_FP_FRAMES ? UNWIND_END : UNWIND_DEPTH; /* the kernel reports no more */
	for (__u32 i = 0; i < MAX_FP_FRAMES && (long)i < n; i++)
		if (keep_address(slot, w->by_fp[i]))
			break;
}

static long push_rest(__u32 i, void *slot)
{
	return (long)bounded(rest_step(*(__u32 *)slot) != 0, 1);
}

/* The user part from its beginning on. */
static __always_inline void walk_by_rules(__u32 slot, struct work *w)
{
	w->regs = first_registers(w->registers);
	w->s.n_user = w->s.fit = w->stop = w->has_own_memory = 0;
	w->s.hash = w->kernel_hash;
	w->lang.runtime.language = w->lang.is_emitting = w->lang.has_emitted = w->lang.is_over = 0;
	w->lang.cursor = w->lang.n_owners = w->lang.n_to_skip = w->lang.may_skip = 0;
	w->lang.is_without_loop = w->lang.unfilled = w->lang.was_dispatcher = 0;
	w->lang.python.is_wanted = w->lang.python.is_over = 0;
	w->java.callee = w->java.is_met = w->java.method = w->java.n_methods = 0;
	bpf_loop(2 * MAX_USER_WORDS, walk_on, &slot, 0);
	java_end_walk(w);
	find_rest(slot);
	if (has_rest(slot))
		bpf_loop(2 * MAX_USER_WORDS, push_rest, &slot, 0);
	end_language(slot, w);
}

static __always_inline void walk_user(void *ctx, __u32 slot, struct work *w)
{
	if (!is_64_bit(w->registers) && !is_i386_mode(w->registers[MODE_WORD])) {
		keep_address(slot, first_registers(w->registers).pc);
		w->stop = UNWIND_UNSUPPORTED;
	} else if (by_frame_pointer) {
		walk_by_fp(ctx, slot, w);
	} else {
		w->kernel_hash = w->s.hash;
		walk_by_rules(slot, w);
		if (begin_again(w))
			walk_by_rules(slot, w);
	}
}

/* The registers at the entry into the kernel, or those of interrupted user code. */
static __always_inline bool take_user_registers(struct task_struct *task,
						bpf_user_pt_regs_t *interrupted, struct work *w)
{
	if (interrupted) {
		*(bpf_user_pt_regs_t *)w->registers = *interrupted;
		w->is_user_mode = is_user_mode(w->registers);
		if (w->is_user_mode)
			return true;
	}
	w->has_entry = !bpf_probe_read_kernel(w->registers, sizeof(bpf_user_pt_regs_t),
					      (const void *)bpf_task_pt_regs(task));
	return w->has_entry;
}

static __always_inline void mark_cut(struct work *w)
{
	if (with_stacks && w->stop != UNWIND_GOES_ON && w->stop != UNWIND_END)
		push_user_frame(w, FRAME_CUT);
}

/* The hash covers all that distinguishes stacks. */
static __always_inline void finish_hash(struct work *w)
{
	w->s.hash = mix(w->s.hash, (__u64)w->s.n_kernel << 32 | w->s.n_user);
	if (w->has_own_memory)
		w->s.hash = mix(w->s.hash, (__u64)w->s.fit << 32 | w->s.pid);
}

/* `interrupted`: the registers of the interrupted code; NULL: the task itself called the kernel. */
static __always_inline struct work *capture_stack(void *ctx, __u32 slot,
						  bpf_user_pt_regs_t *interrupted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct work *w = own_work(slot);
	bool is_user;

	if (!w)
		return NULL;
	w->s.type = MESSAGE_STACK;
	w->s.pid = own_pid_tgid() >> 32;
	w->s.n_kernel = w->s.n_user = 0;
	w->s.hash = (generation + 1) * 0x9e3779b97f4a7c15ULL;
	w->wants_copy = w->java.is_met = w->java.callee = 0;
	w->java.process = w->java.same_as = 0;
	w->has_own_memory = w->stop = w->wants_table = w->met_full = w->is_user_mode = 0;
	w->is_guessed = 0;
	w->has_entry = 0;
	w->lang.runtime.language = w->lang.is_again = w->s.fit = 0;
	__builtin_memset(w->kept, 0, sizeof(w->kept));
	w->mm = BPF_CORE_READ(task, mm);
	is_user = w->mm && !(BPF_CORE_READ(task, flags) & PF_KTHREAD);
	if (!with_stacks && interrupted && (PT_REGS_IP(interrupted) & FRAME_KERNEL)) {
		push_frame(w, 0, PT_REGS_IP(interrupted));
		w->s.n_kernel = 1;
	} else if (w->s.pid == PID_OTHER) {
		if (with_stacks)
			walk_kernel(ctx, slot, w);
		if (is_user)
			push_user_frame(w, 0);
	} else if (!with_stacks && interrupted && is_user) {
		w->is_user_mode = 1;
		keep_address(slot, PT_REGS_IP(interrupted));
	} else if (with_stacks) {
		walk_kernel(ctx, slot, w);
		if (slot == SLOT_WAKE && is_in_interrupt(slot))
			is_user = false; /* its stack has not woken anybody */
		if (is_user && take_user_registers(task, interrupted, w))
			walk_user(ctx, slot, w);
	}
	mark_cut(w);
	finish_hash(w);
	return w;
}

#include "collect/bpf/send.h"

/* The number of the process's executable file; FILE_NONE: a kernel thread. */
static __always_inline __u16 app_of(struct task_struct *task)
{
	struct file *exe = BPF_CORE_READ(task, mm, exe_file);
	struct file_place nowhere = {};
	struct file_key key;

	if (!exe)
		return FILE_NONE;
	key_of_file(exe, &key);
	return file_number(&key, &nowhere, false);
}
