/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of languages in a stack. The interpreter keeps them in its heap; some of its native
 * functions on the stack represent a run of them. When the walk comes to such a function, it first
 * adds the frames of that run, innermost first:
 *
 *   native   list_sort ◄─ _PyEval_EvalFrameDefault                       ◄─ … ◄─ main
 *   frames        │                  ▲
 *   language      └► outer ◄─ <module> (entered from C: the run ends)
 *
 * Each frame is one step of the walk's loop. Each language has a file with its functions
 * (python.h), and a line in each of the switches below:
 *
 *   find_frames   sets the cursor to the innermost frame of the current thread
 *   frame         keeps the frame at the cursor, and goes to its caller
 *   is_at_end     whether what is left of the chain is no frame
 *   take_code     reads the name, file and lines of a function
 *
 * The process's memory is not trusted. Lengths are bounded, a circular chain ends at the depth
 * limit, and a frame counts only if its code object is valid.
 */
#pragma once

/* A second walk loses the same as the first one, which counted it. */
static __always_inline void lose_language(const struct work *w, enum language_loss loss)
{
	if (!w->lang.is_again)
		lose(N_STOP_COUNTERS + w->lang.runtime.language * N_LANGUAGE_LOSSES + loss);
}

static __always_inline bool read_word(__u64 addr, __u64 *value)
{
	return !bpf_probe_read_user(value, sizeof(*value), (const void *)addr);
}

/* In glibc's struct pthread (nptl/descr.h): specific_1stblock, and the keys in it. */
#if defined(__TARGET_ARCH_x86)
#define GLIBC_TSD 0x310
#else
#define GLIBC_TSD 0x110
#define GLIBC_TID 0xd0
#endif
#define GLIBC_TSD_KEYS 32
#define MUSL_TSD       0x80 /* struct pthread: tsd (src/internal/pthread_impl.h) */
#define MUSL_TSD_KEYS  128  /* PTHREAD_KEYS_MAX */

/*
 * The pthread_self() of the current thread: the address of its struct pthread; 0: not known. On
 * AArch64 this structure ends at the thread pointer, and its size depends on the release of glibc.
 * It has the thread's number.
 */
static __always_inline __u64 pthread_of_itself(void)
{
	__u64 tp = thread_pointer();
#if defined(__TARGET_ARCH_x86)
	return tp;
#else
	static const __u16 sizes[] = {
		0x740, 0x720, 0x700, 0x710, 0x730, 0x6f0, 0x750, 0x760, 0x780
	};
	__u32 own = tid_of_itself(), tid;

	for (int i = 0; tp && i < (int)(sizeof(sizes) / sizeof(*sizes)); i++)
		if (!bpf_probe_read_user(&tid, sizeof(tid), (void *)(tp - sizes[i] + GLIBC_TID)) &&
		    tid == own)
			return tp - sizes[i];
	return 0;
#endif
}

/* The thread's value of a pthread key, which is an int in memory. */
static __always_inline bool thread_value(__u32 libc, __u64 key_at, __u64 *value)
{
	__u64 self = pthread_of_itself(), values;
	__u32 key;

	if (!self || bpf_probe_read_user(&key, sizeof(key), (void *)key_at))
		return false;
	if (libc == LIBC_MUSL)
		return key < MUSL_TSD_KEYS && read_word(self + MUSL_TSD, &values) &&
		       read_word(values + key * 8, value);
	return key < GLIBC_TSD_KEYS && read_word(self + GLIBC_TSD + key * 16 + 8, value);
}

/*
 * The address of a thread-local variable (ELF Handling For Thread-Local Storage, variant II). On
 * AArch64, the second word of a descriptor is the distance from the thread pointer, if the library
 * was there when the program began. Else it is a pointer to more, which is not read.
 */
#if !defined(__TARGET_ARCH_x86)
#define THREAD_BLOCK_MAX (1u << 20) /* bytes */

static __always_inline bool thread_variable(__u32 libc, __u64 slot, __u64 *at)
{
	__u64 tp = thread_pointer(), off;

	(void)libc;
	if (!tp || !read_word(slot + 8, &off) || off >= THREAD_BLOCK_MAX)
		return false;
	*at = tp + off;
	return true;
}
#else
static __always_inline bool thread_variable(__u32 libc, __u64 slot, __u64 *at)
{
	__u64 entry = libc == LIBC_MUSL ? 8 : 16;
	__u64 where[2], vector, block;

	if (bpf_probe_read_user(where, sizeof(where), (const void *)slot) ||
	    !read_word(thread_pointer() + 8, &vector) ||
	    !read_word(vector + where[0] * entry, &block) || block & 1)
		return false;
	*at = block + where[1];
	return true;
}
#endif

/* The frames of this native frame are complete, unless they are those of a run to be skipped. */
static __always_inline void end_run(struct work *w)
{
	if (w->lang.n_to_skip) {
		w->lang.n_to_skip--;
		return;
	}
	w->lang.is_emitting = 0;
	w->lang.has_emitted = 1;
}

/* There will be no more of them in this stack. */
static __always_inline void leave_language(struct work *w)
{
	w->lang.is_over = 1;
	w->lang.cursor = w->lang.n_to_skip = 0;
	end_run(w);
}

static __always_inline void give_up_language(struct work *w, enum language_loss loss)
{
	lose_language(w, loss);
	leave_language(w);
}

/* A frame's function. */
struct language_code {
	__u64 pointer; /* the same for all objects of the function, such as closures … */
	__u64 owner;   /* … and the one at hand, from which its name is read */
	__u32 check;
	__u32 position;
};

static __always_inline void push_language_frame(struct work *w, const struct language_code *c)
{
	if (w->lang.n_to_skip)
		return;
	w->lang.owners[bounded(w->lang.n_owners++, LANGUAGE_OWNERS - 1)] = c->owner;
	push_user_frame(w, (__u64)(FILE_LANGUAGE + w->lang.runtime.language) << FRAME_OFF_BITS |
				   (c->pointer & FRAME_OFF_MASK));
	push_user_frame(w, (__u64)c->position << POSITION_SHIFT | (c->check & CHECK_MASK));
	w->has_own_memory = 1;
}

/* There is no frame for the native frame at hand: its run is not in the chain. */
static __always_inline void lack_run(struct work *w)
{
	w->s.fit = LANGUAGE_LACKS_RUN;
	leave_language(w);
}

/* Texts of char, cut at LANG_TEXT_MAX bytes. */
static __always_inline bool take_bytes(__u64 addr, __u64 size, struct lang_text *out)
{
	barrier_var(size);
	if (size > LANG_TEXT_MAX)
		size = LANG_TEXT_MAX;
	out->state = LANG_TEXT_BYTES;
	out->size = size;
	return !size || !bpf_probe_read_user(out->bytes, size, (const void *)addr);
}

/* A text whose length is in memory. If it can't be read here, its place is given instead. */
static __always_inline void take_text(const struct lang_text_away *where, struct lang_text *out)
{
	__u64 size;

	if (read_word(where->length_at, &size) &&
	    take_bytes(where->at, size & where->length_mask, out))
		return;
	out->state = LANG_TEXT_BYTES | LANG_TEXT_AWAY;
	out->size = sizeof(*where);
	__builtin_memcpy(out->bytes, where, sizeof(*where));
}

static __always_inline void no_text(struct lang_text *out)
{
	out->state = LANG_TEXT_BYTES;
	out->size = 0;
}

/* A function in progress. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SLOTS);
	__type(key, __u32);
	__type(value, struct code_message);
} code_works SEC(".maps");

#include "collect/bpf/perl.h"
#include "collect/bpf/php.h"
#include "collect/bpf/python.h"
#include "collect/bpf/ruby.h"

/* `is_step`: of a walk. Then it may fail with python.is_wanted, and has to be called again. */
static __always_inline bool find_frames(__u32 slot, struct work *w, __u64 loop_off, bool is_step)
{
	switch (w->lang.runtime.language) {
	case LANGUAGE_PYTHON:
		return python_find_frames(slot, w, loop_off, is_step);
	case LANGUAGE_PHP:
		return php_find_frames(w);
	case LANGUAGE_RUBY:
		return ruby_find_frames(w);
	case LANGUAGE_PERL:
		return perl_find_frames(w);
	default:
		return false;
	}
}

static __always_inline int language_frame(__u32 slot, __u32 language)
{
	switch (language) {
	case LANGUAGE_PYTHON:
		return python_frame(slot);
	case LANGUAGE_PHP:
		return php_frame(slot);
	case LANGUAGE_RUBY:
		return ruby_frame(slot);
	case LANGUAGE_PERL:
		return perl_frame(slot);
	default:
		return 1;
	}
}

static __always_inline bool is_at_end(__u32 slot, struct work *w)
{
	switch (w->lang.runtime.language) {
	case LANGUAGE_PYTHON:
		return python_is_at_end(w);
	case LANGUAGE_RUBY:
		return ruby_is_last(w);
	case LANGUAGE_PERL:
		return perl_is_at_end(slot);
	default:
		return false;
	}
}

/* Puts a function into the message of the slot. False: not all of it could be read. */
static __always_inline bool take_code(__u32 slot, __u32 language, __u64 owner)
{
	switch (language) {
	case LANGUAGE_PYTHON:
		return python_take_code(slot, owner);
	case LANGUAGE_PHP:
		return php_take_code(slot, owner);
	case LANGUAGE_RUBY:
		return ruby_take_code(slot, owner);
	case LANGUAGE_PERL:
		return perl_take_code(slot, owner);
	default:
		return false;
	}
}

/* The base for places in a variable, as if it were the library's own one. */
static __always_inline __u64 base_of(const struct runtime_variable *v, __u64 base)
{
	__u64 at;

	if (!v->slot)
		return base;
	return read_word(base + v->slot, &at) ? at - v->own : 0;
}

static __always_inline void find_bases(struct work *w)
{
	w->lang.state_base = base_of(&w->lang.runtime.state_variable, w->lang.base);
	w->lang.type_base = base_of(&w->lang.runtime.type_variable, w->lang.base);
}

static __always_inline void take_runtime(struct work *w, const struct lang_runtime *r,
					 const struct mapping *m)
{
	w->lang.runtime = *r;
	w->lang.base = m->start - m->file_off;
	find_bases(w);
}

static __always_inline void remember_runtime(const struct work *w, const struct mapping *m,
					     __u64 addr)
{
	const struct process_runtime here = { .loop = addr, .file = m->file };
	__u64 pid = w->s.pid;
	const struct process_runtime *known = bpf_map_lookup_elem(&process_runtimes, &pid);

	if (!known || known->loop - m->start >= m->end - m->start || known->file != m->file)
		remember(&process_runtimes, &pid, &here);
}

static __always_inline bool is_in_range(const struct runtime_range *r, __u64 off)
{
	return off >= r->start && off < r->end;
}

/*
 * Whether the address is in the loop. Ruby's loop calls a dispatcher, which runs the code; then the
 * frames are the dispatcher's, and the loop around it has none.
 */
static __always_inline bool is_in_loop(struct work *w, const struct lang_runtime *r, __u64 off)
{
	bool is_dispatcher = r->language == LANGUAGE_RUBY && off >= r->ruby.dispatcher &&
			     off < r->ruby.dispatcher_end;
	bool is_loop = is_in_range(&r->ranges[0], off) || is_in_range(&r->ranges[1], off) ||
		       is_in_range(&r->ranges[2], off) || is_in_range(&r->ranges[3], off);
	bool is_around = w->lang.was_dispatcher;

	w->lang.was_dispatcher = is_dispatcher;
	return is_dispatcher || (is_loop && !is_around);
}

/*
 * The walk is at an address in a runtime's file, in kept mapping `at`. 1: the next steps are frames
 * of its language.
 */
__attribute__((noinline)) int begin_language(__u32 slot, __u32 at, __u64 addr)
{
	struct work *w = own_work(slot);
	const struct lang_runtime *r;
	const struct mapping *m;
	__u64 off;

	if (!w || w->lang.is_over)
		return 0;
	m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	r = bpf_map_lookup_elem(&runtimes, &m->file);
	off = offset_in(m, addr);
	if (!r || !is_in_loop(w, r, off))
		return 0;
	if (!w->lang.runtime.language) {
		take_runtime(w, r, m);
		remember_runtime(w, m, addr);
		if (!find_frames(slot, w, off - r->ranges[0].start, true)) {
			if (w->lang.python.is_wanted) {
				w->lang.runtime.language = LANGUAGE_NONE;
				return 1;
			}
			give_up_language(w, LANGUAGE_NO_STATE);
			return 0;
		}
		w->lang.n_to_skip += w->lang.is_again;
		if (w->lang.unfilled)
			return 0;
	} else if (w->lang.runtime.state != r->state) {
		return 0; /* another runtime in the same process */
	} else if (w->lang.runtime.language == LANGUAGE_PYTHON && !python_leave_interpreter(w)) {
		return 1;
	}
	w->lang.is_emitting = 1;
	return 1;
}

/* After the walk: no frame may be left over, if it came to the end of the stack. */
static __always_inline void end_language(__u32 slot, struct work *w)
{
	if (w->lang.unfilled && w->stop != UNWIND_END)
		lose_language(w, LANGUAGE_NO_STATE);
	if (w->lang.cursor && w->stop == UNWIND_END && !is_at_end(slot, w))
		w->s.fit = LANGUAGE_RUNS_LEFT;
}

/*
 * Where the native stack ends before the chain does: frames follow that have no native frame.
 * The native stack may end in code without an unwind rule, such as that of a JIT compiler. The
 * frames are those of the thread all the same.
 */
__attribute__((noinline)) int has_rest(__u32 slot)
{
	struct work *w = own_work(slot);
	bool is_at_fiber;

	if (!w || !w->lang.cursor || w->stop == UNWIND_DEPTH || w->s.fit != LANGUAGE_FITS)
		return 0;
	is_at_fiber = w->lang.runtime.language == LANGUAGE_PHP && php_is_at_fiber(w);
	if (is_at_fiber)
		w->stop = UNWIND_END; /* the stack is that of the fiber */
	return is_at_fiber || w->lang.is_without_loop ||
	       (w->stop != UNWIND_END && w->stop != UNWIND_GOES_ON);
}

__attribute__((noinline)) int rest_step(__u32 slot)
{
	struct work *w = own_work(slot);

	if (!w || !w->lang.cursor || is_at_end(slot, w))
		return 1;
	return language_frame(slot, w->lang.runtime.language);
}

/*
 * C code makes the frame of a function before it enters the loop for it. Then the chain has a run
 * more than the native stack has loops, and each loop has the run of its callee. A second walk
 * skips the new frame, which counts as one that was not whole.
 */
static __always_inline bool begin_again(struct work *w)
{
	if (w->s.fit != LANGUAGE_RUNS_LEFT || !w->lang.may_skip || w->lang.is_again)
		return false;
	lose_language(w, LANGUAGE_NO_CODE);
	w->lang.is_again = 1;
	return true;
}

/* Telling of functions. */

struct code_key {
	__u64 pointer;
	__u32 pid, check;
	__u32 generation, pad;
};

#define CODES_TOLD 16384

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CODES_TOLD);
	__type(key, struct code_key);
	__type(value, __u8);
} sent_codes SEC(".maps");

/* Set by the reader while we run: a new generation sends all functions again. */
__u32 code_generation;

/* The reader is woken while the ring still has room. */
static __always_inline __u64 code_wakeup(void)
{
	return bpf_ringbuf_query(&messages, BPF_RB_AVAIL_DATA) * 4 >
			       bpf_ringbuf_query(&messages, BPF_RB_RING_SIZE)
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

__attribute__((noinline)) int send_code(__u32 slot)
{
	struct code_message *m = bpf_map_lookup_elem(&code_works, &slot);
	__u64 size;

	if (!m)
		return 0;
	size = offsetof(struct code_message, code.lines) + m->code.n_lines;
	return size <= sizeof(*m) && !bpf_ringbuf_output(&messages, m, size, code_wakeup());
}

/* Sends the function of the stack's i-th user number, unless it was sent before. */
__attribute__((noinline)) int send_code_of(__u32 slot, __u32 i)
{
	struct work *w = own_work(slot);
	struct code_key key = {};
	struct code_message *m;
	__u64 frame, second, owner;

	if (!w)
		return 1;
	if (w->lang.is_second) {
		w->lang.is_second = 0;
		return 0;
	}
	i += w->s.n_kernel;
	frame = w->s.frames[bounded(i, FRAME_SLOTS - 1)];
	second = w->s.frames[bounded(i + 1, FRAME_SLOTS - 1)];
	if (frame >> FRAME_OFF_BITS != FILE_LANGUAGE + w->lang.runtime.language)
		return 0;
	w->lang.is_second = 1;
	key.pointer = frame & FRAME_OFF_MASK;
	key.pid = w->s.pid;
	key.check = second & CHECK_MASK;
	key.generation = code_generation;
	owner = w->lang.owners[bounded(w->lang.next_owner++, LANGUAGE_OWNERS - 1)];
	if (bpf_map_lookup_elem(&sent_codes, &key))
		return 0;
	m = bpf_map_lookup_elem(&code_works, &slot);
	if (!m)
		return 1;
	m->type = MESSAGE_CODE;
	m->pid = key.pid;
	m->code.language = w->lang.runtime.language;
	m->code.version = w->lang.runtime.version;
	m->code.pointer = key.pointer;
	m->code.check = key.check;
	m->code.n_lines = m->code.lines_size = 0;
	if (take_code(slot, w->lang.runtime.language, owner) && send_code(slot))
		remember_key(&sent_codes, &key);
	else
		w->lang.has_unsent_code = 1;
	return 0;
}

static long send_next_code(__u32 i, void *slot)
{
	return (long)bounded(send_code_of(*(__u32 *)slot, i) != 0, 1);
}

static __always_inline void send_codes(__u32 slot, struct work *w)
{
	w->lang.is_second = w->lang.next_owner = 0;
	bpf_loop(w->s.n_user, send_next_code, &slot, 0);
}
