/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's frames: lang/runtime.h has the layout, lang/python.c its numbers by version. */
#pragma once

/*
 * In 3.11 and 3.12, the first instructions of the interpreter's loop make their own _PyCFrame the
 * thread's before they fill it. Until then, it has old bytes of the stack. The loop's frame is an
 * argument, which stays in a register meanwhile. So in a sample there that meets the loop's own
 * _PyCFrame, it is not filled if no register has the frame that it names. Then the frames begin at
 * the loop that called (python_find_caller()).
 */
#define PYTHON_LOOP_START 256  /* bytes of code */
#define PYTHON_LOOP_FRAME 4096 /* bytes of its stack frame, at the most */

static __always_inline bool python_is_unfilled(const struct work *w, __u64 cframe, __u64 loop_off)
{
	__u64 frame;

	if (w->s.n_user || loop_off >= PYTHON_LOOP_START ||
	    cframe - w->regs.sp >= PYTHON_LOOP_FRAME)
		return false;
	if (!read_word(cframe + w->lang.runtime.python.cframe_frame, &frame))
		return true;
	for (int i = 0; i < N_USER_REGS; i++)
		if (w->registers[bounded(word_of_register[i], REGISTER_SLOTS - 1)] == frame)
			return false;
	return true;
}

/*
 * The innermost frame of the current thread; `loop_off`: of the native frame, in the loop. The
 * thread's state is the value of a pthread key. (A thread-local variable since 3.12 has it as well,
 * but is NULL while the thread has released the global lock.) The state names its thread, so a
 * wrong layout or key shows.
 */
static __always_inline bool python_find_frames(struct work *w, __u64 loop_off)
{
	const struct lang_runtime *r = &w->lang.runtime;
	__u64 thread, id, at;

	if (!thread_value(r->libc, w->lang.base + r->state, &thread) || !thread ||
	    !read_word(thread + r->python.thread_id, &id) || id != pthread_of_itself() ||
	    !read_word(thread + r->python.thread_frame, &at))
		return false;
	if (r->python.cframe_frame != PYTHON_NO_CFRAME && python_is_unfilled(w, at, loop_off)) {
		w->lang.unfilled = at;
		w->lang.unfilled_off = at - w->regs.sp;
		return true;
	}
	if (r->python.cframe_frame != PYTHON_NO_CFRAME &&
	    !read_word(at + r->python.cframe_frame, &at))
		return false;
	w->lang.cursor = at;
	return true;
}

static __always_inline __u64 frame_word(const struct work *w, __u32 off)
{
	return w->lang.frame[bounded(off / 8, PYTHON_FRAME_MAX / 8 - 1)] >> (off % 8 * 8);
}

static __always_inline __u64 code_word(const struct work *w, __u32 off)
{
	return w->lang.code[bounded(off / 8, PYTHON_CODE_MAX / 8 - 1)] >> (off % 8 * 8);
}

/* Reads a code object. False: it can't be read, or it is none. */
static __always_inline bool python_read_code(struct work *w, __u64 code, bool *is_read)
{
	const struct lang_runtime *r = &w->lang.runtime;

	*is_read = !bpf_probe_read_user(w->lang.code,
					bounded(r->python.code_size, PYTHON_CODE_MAX - 1),
					(const void *)code);
	return *is_read && w->lang.code[1] == w->lang.base + r->code_type; /* ob_type */
}

static __always_inline __u32 python_check(const struct work *w)
{
	const struct python_layout *l = &w->lang.runtime.python;

	return mix(mix(code_word(w, l->code_name), code_word(w, l->code_file)),
		   (__u32)code_word(w, l->code_first_line)) &
	       CHECK_MASK;
}

static __always_inline __u32 python_position(const struct work *w, __u64 code)
{
	const struct python_layout *l = &w->lang.runtime.python;
	__u64 place = frame_word(w, l->frame_place);

	if (l->frames <= PYTHON_FRAMES_UNITS && (__s32)place < 0)
		return POSITION_UNKNOWN;
	if (l->frames <= PYTHON_FRAMES_UNITS)
		return l->frames == PYTHON_FRAMES_UNITS ? (__u32)place : (__u32)place / 2;
	code += l->code_bytecode;
	return place < code ? POSITION_UNKNOWN : (__u32)((place - code) / 2);
}

static __always_inline bool python_is_entry(const struct work *w)
{
	const struct python_layout *l = &w->lang.runtime.python;

	return l->frames <= PYTHON_FRAMES_UNITS ||
	       (l->frames == PYTHON_FRAMES_MARKED && (__u8)frame_word(w, l->frame_mark) == 1);
}

/* A frame that stands for native code which called the interpreter. */
static __always_inline bool python_is_shim(const struct work *w)
{
	const struct python_layout *l = &w->lang.runtime.python;

	return l->frames == PYTHON_FRAMES_SHIMS &&
	       (__u8)frame_word(w, l->frame_mark) >= PYTHON_OWNER_C;
}

static __always_inline bool python_read_frame(struct work *w)
{
	return !bpf_probe_read_user(w->lang.frame,
				    bounded(w->lang.runtime.python.frame_size,
					    PYTHON_FRAME_MAX - 1),
				    (const void *)w->lang.cursor);
}

static __always_inline bool python_has_frame(struct work *w, __u64 at)
{
	bool is_read;

	w->lang.cursor = at;
	return python_read_frame(w) &&
	       python_read_code(w, frame_word(w, w->lang.runtime.python.frame_code), &is_read);
}

/*
 * The innermost loop has begun, and the walk is at the loop that called. Either the thread has the
 * _PyCFrame of this one. Or the thread has the innermost one, which is not filled: each loop has
 * its _PyCFrame at the same place of its stack frame. The stack pointer differs by the arguments
 * that a call has on the stack.
 */
#define PYTHON_CALL_ARGUMENTS 4 /* words, with one for alignment */

__attribute__((noinline)) int python_find_caller(__u32 slot)
{
	struct work *w = own_work(slot);
	__u64 cframe, frame;
	bool is_own;

	if (!w)
		return 0;
	cframe = w->lang.unfilled;
	is_own = cframe < w->regs.sp;
	if (is_own)
		cframe = w->regs.sp + w->lang.unfilled_off;
	w->lang.unfilled = 0;
	for (int i = 0; i <= PYTHON_CALL_ARGUMENTS; i++) {
		if (read_word(cframe + w->lang.runtime.python.cframe_frame, &frame) &&
		    python_has_frame(w, frame))
			return 1;
		if (!is_own)
			break;
		cframe += sizeof(__u64);
	}
	w->lang.cursor = 0;
	return 0;
}

/* Whether only the frame is left that is the end of each thread's chain since 3.14. */
static __always_inline bool python_is_at_end(struct work *w)
{
	return python_read_frame(w) && python_is_shim(w) &&
	       !frame_word(w, w->lang.runtime.python.frame_back);
}

/* Keeps a frame and goes to its caller. 1: the stack has no more room. */
__attribute__((noinline)) int python_frame(__u32 slot)
{
	struct work *w = own_work(slot);
	const struct python_layout *l;
	bool is_read;
	__u64 code;

	if (!w)
		return 1;
	if (w->s.n_user >= MAX_USER_WORDS)
		return stop_walk(w, UNWIND_DEPTH);
	l = &w->lang.runtime.python;
	if (w->lang.unfilled && !python_find_caller(slot)) {
		give_up_language(w, LANGUAGE_NO_STATE);
		return 0;
	}
	if (!w->lang.cursor) {
		lack_run(w);
		return 0;
	}
	if (!python_read_frame(w)) {
		give_up_language(w, LANGUAGE_NO_MEMORY);
		return 0;
	}
	w->lang.cursor = frame_word(w, l->frame_back);
	if (python_is_shim(w)) {
		end_run(w);
		return 0;
	}
	code = frame_word(w, l->frame_code) & ~7ULL; /* the low bits are a tag since 3.14 */
	if (python_read_code(w, code, &is_read)) {
		const struct language_code c = { code, code, python_check(w),
						 python_position(w, code) };

		push_language_frame(w, &c);
	} else
		lose_language(w, is_read ? LANGUAGE_NO_CODE : LANGUAGE_NO_MEMORY);
	if (python_is_entry(w))
		end_run(w);
	return 0;
}

/* A str, cut at LANG_TEXT_MAX bytes. */
static __always_inline bool python_take_text(const struct python_layout *l, __u64 addr,
					     struct lang_text *out)
{
	__u64 head[PYTHON_STR_STATE / 8 + 1], size;
	__u32 kind;

	if (bpf_probe_read_user(head, sizeof(head), (const void *)addr))
		return false;
	out->state = (__u8)head[PYTHON_STR_STATE / 8];
	kind = out->state >> 2 & 7;
	addr += out->state >> 6 & 1 ? l->text_ascii : l->text_wide;
	size = head[PYTHON_STR_LENGTH / 8];
	if (size > LANG_TEXT_MAX)
		size = LANG_TEXT_MAX;
	size *= kind;
	barrier_var(size);
	if (size > LANG_TEXT_MAX)
		size = LANG_TEXT_MAX;
	out->size = size;
	return !bpf_probe_read_user(out->bytes, size, (const void *)addr);
}

static __always_inline bool python_take_lines(__u64 addr, struct lang_code *out)
{
	__u64 size;

	if (!read_word(addr + PYTHON_STR_LENGTH, &size))
		return false;
	out->lines_size = size > UINT32_MAX ? UINT32_MAX : size;
	barrier_var(size);
	if (size > LANG_LINES_MAX)
		size = LANG_LINES_MAX;
	out->n_lines = size;
	return !bpf_probe_read_user(out->lines, size, (const void *)(addr + PYTHON_LINES_AT));
}

__attribute__((noinline)) int python_take_code(__u32 slot, __u64 code)
{
	struct code_message *m = bpf_map_lookup_elem(&code_works, &slot);
	struct work *w = own_work(slot);
	const struct python_layout *l;
	bool is_read;

	if (!m || !w || !python_read_code(w, code, &is_read))
		return 0;
	l = &w->lang.runtime.python;
	m->code.first_line = (__u32)code_word(w, l->code_first_line);
	no_text(&m->code.scope);
	if (!python_take_text(l, code_word(w, l->code_name), &m->code.name) ||
	    !python_take_text(l, code_word(w, l->code_file), &m->code.file))
		return 0;
	if (!python_take_lines(code_word(w, l->code_lines), &m->code))
		m->code.n_lines = m->code.lines_size = 0;
	return 1;
}
