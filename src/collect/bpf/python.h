/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's frames: lang/runtime.h has the layout, lang/python.c its numbers by version. */
#pragma once

/*
 * In 3.11 and 3.12, the first instructions of the interpreter's loop make their own _PyCFrame the
 * thread's before they fill it. Until then, it has old bytes of the stack. The loop's frame is an
 * argument, which stays in a register meanwhile. So in a sample there that meets the loop's own
 * _PyCFrame, it is not filled if no register has the frame that it names, or if that is no frame.
 * (Old bytes may be a small number, as any register can have.) Then the frames begin at the loop
 * that called (python_find_caller()).
 */
#define PYTHON_LOOP_START 256  /* bytes of code */
#define PYTHON_LOOP_FRAME 4096 /* bytes of its stack frame, at the most */

static __always_inline bool python_has_frame(struct work *w, __u64 at);

static __always_inline bool python_is_unfilled(struct work *w, __u64 cframe, __u64 loop_off)
{
	bool is_argument = false;
	__u64 frame;

	if (w->s.n_user || loop_off >= PYTHON_LOOP_START ||
	    cframe - w->regs.sp >= PYTHON_LOOP_FRAME)
		return false;
	if (!read_word(cframe + w->lang.runtime.python.cframe_frame, &frame))
		return true;
	for (int i = 0; i < N_USER_REGS; i++)
		is_argument |=
			w->registers[bounded(word_of_register[i], REGISTER_SLOTS - 1)] == frame;
	return !is_argument || !python_has_frame(w, frame);
}

static __always_inline __u64 frame_word(const struct work *w, __u32 off)
{
	return w->lang.frame[bounded(off / 8, PYTHON_FRAME_MAX / 8 - 1)] >> (off % 8 * 8);
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

/* Whether only the frame is left that is the end of each thread's chain since 3.14. */
static __always_inline bool python_is_at_end(struct work *w)
{
	return python_read_frame(w) && python_is_shim(w) &&
	       !frame_word(w, w->lang.runtime.python.frame_back);
}

/* A thread's state names its thread, so a wrong layout, key or variable shows. */
static __always_inline bool python_is_own(const struct work *w, __u64 thread)
{
	__u64 id;

	return thread && read_word(thread + w->lang.runtime.python.thread_id, &id) &&
	       id == pthread_of_itself();
}

/* The state of the thread, if it holds its interpreter's lock. */
static __always_inline bool python_current_state(const struct work *w, __u64 *thread)
{
	const struct python_layout *l = &w->lang.runtime.python;
	__u64 at;

	switch (l->current) {
	case PYTHON_CURRENT_GLOBAL:
		at = w->lang.state_base + l->current_at;
		break;
	case PYTHON_CURRENT_THREAD:
		at = thread_pointer() + (__u64)(__s64)(__s32)l->current_at;
		break;
	case PYTHON_CURRENT_MODULE:
		if (!thread_variable(w->lang.runtime.libc, w->lang.base + l->current_at, &at))
			return false;
		break;
	default:
		return false;
	}
	return read_word(at, thread) && python_is_own(w, *thread);
}

/* The innermost frame of a state; 0: there is none. */
static __always_inline bool python_innermost(const struct work *w, __u64 thread, __u64 *at)
{
	const struct python_layout *l = &w->lang.runtime.python;

	return read_word(thread + l->thread_frame, at) &&
	       (l->cframe_frame == PYTHON_NO_CFRAME || read_word(*at + l->cframe_frame, at));
}

static __always_inline void python_use(struct work *w, __u64 thread)
{
	struct python_search *s = &w->lang.python;

	s->used[bounded(s->n_used++, PYTHON_NESTED_MAX - 1)] = thread;
}

/* Counts a state if it is the thread's, has frames, and was not used. */
static __always_inline void python_consider(struct work *w, __u64 thread)
{
	struct python_search *s = &w->lang.python;
	__u64 cursor = w->lang.cursor;
	bool is_end;

	for (int i = 0; i < PYTHON_NESTED_MAX; i++)
		if (s->used[i] == thread)
			return;
	if (!python_is_own(w, thread) || !python_innermost(w, thread, &w->lang.cursor))
		w->lang.cursor = 0;
	is_end = !w->lang.cursor || python_is_at_end(w);
	w->lang.cursor = cursor;
	if (is_end)
		return;
	s->found = thread;
	s->n_found++;
}

/* States and interpreters that one stack looks at. This is an interrupt. */
#define PYTHON_STATES_MAX 512

/* A step through the states of all interpreters. */
static long python_next_state(__u32 i, void *slot)
{
	struct work *w = own_work(*(__u32 *)slot);
	const struct python_layout *l;
	struct python_search *s;
	__u64 here;

	(void)i;
	if (!w)
		return 1;
	l = &w->lang.runtime.python;
	s = &w->lang.python;
	here = s->state;
	if (s->n_looked++ >= PYTHON_STATES_MAX)
		return 1;
	if (here) {
		python_consider(w, here);
		s->is_broken = !read_word(here + l->thread_next, &s->state);
		return s->is_broken;
	}
	here = s->interpreter;
	if (!here)
		return 1;
	s->is_broken = !read_word(here + l->interpreter_threads, &s->state) ||
		       !read_word(here + l->interpreter_next, &s->interpreter);
	return s->is_broken;
}

/*
 * Looks for the state of the running thread that has frames and was not used yet. There may be
 * none, or several, of which nothing tells the innermost one.
 */
__attribute__((noinline)) int python_find_state(__u32 slot)
{
	struct work *w = own_work(slot);
	struct python_search *s;

	if (!w)
		return 0;
	s = &w->lang.python;
	s->state = s->n_found = s->is_wanted = 0;
	s->is_over = 1;
	s->is_broken = s->n_used >= PYTHON_NESTED_MAX ||
		       !read_word(w->lang.state_base + w->lang.runtime.python.interpreters,
				  &s->interpreter);
	if (!s->is_broken)
		bpf_loop(PYTHON_STATES_MAX, python_next_state, &slot, 0);
	s->is_broken = s->is_broken || s->state || s->interpreter;
	return 0;
}

/*
 * A step of the walk is too deep in calls for python_find_state(): Linux 6.1 allows a chain of
 * calls 512 bytes of stack. So it asks for it, and comes again. False: it has to.
 */
static __always_inline bool python_has_looked(struct work *w)
{
	struct python_search *s = &w->lang.python;

	s->is_wanted = !s->is_over;
	s->is_over = 0;
	return !s->is_wanted;
}

static __always_inline bool python_has_found(const struct python_search *s)
{
	return !s->is_broken && s->n_found == 1;
}

static __always_inline bool python_has_several(const struct work *w)
{
	const struct python_layout *l = &w->lang.runtime.python;
	__u64 first, next;

	return l->interpreters && read_word(w->lang.state_base + l->interpreters, &first) &&
	       first && read_word(first + l->interpreter_next, &next) && next;
}

/*
 * The state of the running thread. A thread that runs several interpreters has one in each. A
 * variable has the current one, but is NULL while the thread has released the lock. A pthread key
 * always has a state, but that of the thread's first interpreter.
 */
static __always_inline bool python_find_thread(__u32 slot, struct work *w, bool is_step,
					       __u64 *thread)
{
	const struct lang_runtime *r = &w->lang.runtime;
	struct python_search *s = &w->lang.python;

	if (!s->is_over) {
		__builtin_memset(s, 0, sizeof(*s));
		s->is_several = python_has_several(w);
		if (s->is_several && python_current_state(w, thread))
			return true;
		if (s->is_several && !is_step)
			python_find_state(slot);
	}
	if (s->is_several && !python_has_looked(w))
		return false;
	if (s->is_several && python_has_found(s)) {
		*thread = s->found;
		return true;
	}
	return !s->is_broken && !s->n_found &&
	       thread_value(r->libc, w->lang.state_base + r->state, thread) &&
	       python_is_own(w, *thread);
}

/*
 * The walk comes to another loop. If the frames of an interpreter are all there, it is the loop of
 * the interpreter that runs this one. False: the step has to come again.
 */
static __always_inline bool python_leave_interpreter(struct work *w)
{
	struct python_search *s = &w->lang.python;

	if (!s->is_several || w->lang.unfilled || (w->lang.cursor && !python_is_at_end(w)))
		return true;
	if (!python_has_looked(w))
		return false;
	if (python_has_found(s) && python_innermost(w, s->found, &w->lang.cursor))
		python_use(w, s->found);
	return true;
}

/* The innermost frame of the current thread; `loop_off`: of the native frame, in the loop. */
static __always_inline bool python_find_frames(__u32 slot, struct work *w, __u64 loop_off,
					       bool is_step)
{
	const struct lang_runtime *r = &w->lang.runtime;
	__u64 thread, at;

	if (!python_find_thread(slot, w, is_step, &thread) ||
	    !read_word(thread + r->python.thread_frame, &at))
		return false;
	python_use(w, thread);
	if (r->python.cframe_frame != PYTHON_NO_CFRAME && python_is_unfilled(w, at, loop_off)) {
		w->lang.unfilled = at;
		w->lang.unfilled_off = at - w->regs.sp;
		w->lang.cursor = 0;
		return true;
	}
	if (r->python.cframe_frame != PYTHON_NO_CFRAME &&
	    !read_word(at + r->python.cframe_frame, &at))
		return false;
	w->lang.cursor = at;
	return true;
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
	return *is_read && w->lang.code[1] == w->lang.type_base + r->code_type; /* ob_type */
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
