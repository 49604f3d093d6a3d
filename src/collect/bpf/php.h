/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PHP's frames (Zend/zend_compile.h): a chain from executor_globals. lang/php.c has the offsets
 * that differ by version.
 */
#pragma once

struct php_execute_data {
	__u64 opline, call, return_value;
	__u64 function; /* 0: the frame is no function's */
	__u64 this_object;
	__u32 call_info, n_args;
	__u64 caller;
};

#define PHP_CALL_TOP  (1u << 17) /* call_info: is entered from C */
#define PHP_IS_OBJECT 8          /* its low byte: this_object is an object */

struct php_function {
	__u8 type; /* enum php_function_type */
	__u8 flags[7];
	__u64 name;  /* zend_string; 0: the code of a file */
	__u64 scope; /* class; 0: none */
};

enum php_function_type { PHP_INTERNAL = 1, PHP_USER = 2, PHP_EVAL = 4 };

/* Of a user function. */
struct php_source {
	__u64 file;
	__u32 first_line, last_line;
};

#define PHP_CLASS_NAME    8  /* zend_class_entry */
#define PHP_STRING_LENGTH 16 /* zend_string */
#define PHP_STRING_TEXT   24
#define PHP_OP_LINE       24 /* zend_op */

/*
 * The loop has its frame in r14, and the current instruction in r15; on AArch64 in x27 and x28. The
 * frame has an instruction as well, but it is not always the current one.
 */
#if defined(__TARGET_ARCH_x86)
#define PHP_LOOP_FRAME  14 /* DWARF numbers */
#define PHP_LOOP_OPLINE 15
#else
#define PHP_LOOP_FRAME  27
#define PHP_LOOP_OPLINE 28
#endif
#define PHP_OP_SIZE 32
#define PHP_OPS_MAX (1u << 20)

/* The globals of the current thread. */
static __always_inline bool php_thread_globals(const struct work *w, __u64 *globals)
{
	const struct php_layout *l = &w->lang.runtime.php;
	__u64 tp = thread_pointer(), cache = l->cache, memory, off;

	if (!tp || (l->globals == PHP_GLOBALS_SLOT && !read_word(w->lang.base + cache, &cache)) ||
	    !read_word(tp + cache, &memory) || !memory ||
	    !read_word(w->lang.state_base + w->lang.runtime.state, &off))
		return false;
	*globals = memory + off;
	return true;
}

static __always_inline bool php_find_frames(struct work *w)
{
	__u64 globals;

	w->lang.n_waiting = 0;
	if (w->lang.runtime.php.globals == PHP_GLOBALS_FIXED)
		return read_word(w->lang.state_base + w->lang.runtime.state, &w->lang.cursor);
	return php_thread_globals(w, &globals) &&
	       read_word(globals + PHP_INNERMOST_FRAME, &w->lang.cursor);
}

static __always_inline bool php_read_function(__u64 at, struct php_function *f)
{
	return !bpf_probe_read_user(f, sizeof(*f), (const void *)at) &&
	       (f->type == PHP_INTERNAL || f->type == PHP_USER || f->type == PHP_EVAL);
}

static __always_inline bool php_read_line(__u64 opline, const struct php_source *source,
					  __u32 *line)
{
	return !bpf_probe_read_user(line, sizeof(*line), (const void *)(opline + PHP_OP_LINE)) &&
	       *line >= source->first_line && *line <= source->last_line;
}

static __always_inline __u64 php_register(const struct work *w, __u32 number)
{
	return w->registers[bounded(word_of_register[number], REGISTER_SLOTS - 1)];
}

/* `frame_at`: where the frame is; `code`: the function's first instruction. */
static __always_inline __u32 php_line(struct work *w, __u64 frame_at, __u64 opline, __u64 code,
				      const struct php_source *source)
{
	__u64 current = php_register(w, PHP_LOOP_OPLINE) - code;
	__u32 line;

	if (php_register(w, PHP_LOOP_FRAME) == frame_at && current % PHP_OP_SIZE == 0 &&
	    current / PHP_OP_SIZE < PHP_OPS_MAX && php_read_line(code + current, source, &line))
		return line;
	return php_read_line(opline, source, &line) ? line : POSITION_UNKNOWN;
}

/* False: memory could not be read. */
static __always_inline bool php_find_code(struct work *w, __u64 frame_at,
					  const struct php_execute_data *frame,
					  const struct php_function *f, struct language_code *c)
{
	const struct php_layout *l = &w->lang.runtime.php;
	struct php_source source;

	c->owner = c->pointer = frame->function;
	c->check = mix(f->name, f->scope);
	c->position = POSITION_UNKNOWN;
	if (f->type == PHP_INTERNAL)
		return true;
	if (bpf_probe_read_user(&source, sizeof(source),
				(const void *)(frame->function + l->function_file)) ||
	    !read_word(frame->function + l->function_code, &c->pointer))
		return false;
	c->check = mix(mix(c->check, source.file), source.first_line);
	c->position = php_line(w, frame_at, frame->opline, c->pointer, &source);
	/* The frame of a generator can also be in the chain after its loop has ended. */
	if (!w->lang.n_owners && (frame->call_info & PHP_CALL_TOP))
		w->lang.may_skip = 1;
	return true;
}

/* The outermost frame of a fiber is of no function. Its caller is the function that resumed it. */
static __always_inline bool php_is_fiber(__u64 function)
{
	struct php_function f;

	return php_read_function(function, &f) && f.type == PHP_INTERNAL && !f.name;
}

/* Whether the frames that are left are those outside of a fiber: the stack is the fiber's own. */
static __always_inline bool php_is_at_fiber(const struct work *w)
{
	struct php_execute_data frame;

	return !bpf_probe_read_user(&frame, sizeof(frame), (const void *)w->lang.cursor) &&
	       frame.function && php_is_fiber(frame.function);
}

/*
 * Generators that wait in `yield from` (Zend/zend_generators.h). While the innermost generator
 * runs, the chain has one frame of no function in place of all that wait. This frame is a part of
 * the outermost generator. Each generator has the one that it waits for as its parent; the last one
 * runs, and is in the chain.
 */
#define PHP_GENERATOR_PARENT 96 /* behind the pointer to the generator's frame */

/* Where a generator has the pointer to its frame; 0: the frame `at` stands for no generators. */
static __always_inline __u32 php_generator_frame(const struct php_execute_data *frame, __u64 at)
{
	if ((frame->call_info & 0xff) != PHP_IS_OBJECT)
		return 0;
	switch (at - frame->this_object) {
	case 200: /* PHP 7.4 and 8.0 */
		return 64;
	case 184:
		return 56;
	default:
		return 0;
	}
}

/*
 * Adds the frames of a generator and of those that it waits for, outermost first: all of them, or
 * none. Else a function would seem to call another one than it does.
 */
__attribute__((noinline)) int php_add_waiting(__u32 slot, __u64 generator, __u32 frame_at)
{
	enum language_loss loss = LANGUAGE_NO_CODE;
	struct work *w = own_work(slot);
	__u64 frame, parent;

	if (!w)
		return 0;
	for (__u32 i = 0; i < PHP_WAITING_MAX; i++) {
		if (!read_word(generator + frame_at, &frame) ||
		    !read_word(generator + frame_at + PHP_GENERATOR_PARENT, &parent)) {
			loss = LANGUAGE_NO_MEMORY;
			break;
		}
		if (!parent) {
			w->lang.n_waiting = i;
			return 0;
		}
		w->lang.waiting[bounded(i, PHP_WAITING_MAX - 1)] = frame;
		generator = parent;
	}
	lose_language(w, loss);
	return 0;
}

__attribute__((noinline)) int php_frame(__u32 slot)
{
	struct php_execute_data frame;
	struct php_function f = {};
	struct language_code c = {};
	struct work *w = own_work(slot);
	bool is_waiting;
	__u64 at;

	if (!w)
		return 1;
	if (w->s.n_user >= MAX_USER_WORDS)
		return stop_walk(w, UNWIND_DEPTH);
	if (!w->lang.cursor) {
		lack_run(w);
		return 0;
	}
	at = w->lang.cursor;
	is_waiting = w->lang.n_waiting;
	if (is_waiting)
		at = w->lang.waiting[bounded(--w->lang.n_waiting, PHP_WAITING_MAX - 1)];
	if (bpf_probe_read_user(&frame, sizeof(frame), (const void *)at)) {
		give_up_language(w, LANGUAGE_NO_MEMORY);
		return 0;
	}
	if (!is_waiting)
		w->lang.cursor = frame.caller;
	if (!frame.function) { /* it stands for generators, or for the program's start */
		__u32 frame_at = is_waiting ? 0 : php_generator_frame(&frame, at);

		if (frame_at)
			php_add_waiting(slot, frame.this_object, frame_at);
		return 0;
	}
	if (php_is_fiber(frame.function))
		return 0;
	if (!php_read_function(frame.function, &f)) {
		lose_language(w, LANGUAGE_NO_CODE);
		f.type = PHP_USER;
	} else if (!php_find_code(w, at, &frame, &f, &c)) {
		lose_language(w, LANGUAGE_NO_MEMORY);
	} else {
		push_language_frame(w, &c);
	}
	/* C code may call an internal function without the loop. Waiting generators have none. */
	if (f.type != PHP_INTERNAL && (frame.call_info & PHP_CALL_TOP) && !is_waiting)
		end_run(w);
	return 0;
}

static __always_inline void php_take_string(__u64 addr, struct lang_text *out)
{
	const struct lang_text_away where = { addr + PHP_STRING_LENGTH, ~0ULL,
					      addr + PHP_STRING_TEXT };

	take_text(&where, out);
}

__attribute__((noinline)) int php_take_code(__u32 slot, __u64 function)
{
	struct code_message *m = bpf_map_lookup_elem(&code_works, &slot);
	struct work *w = own_work(slot);
	struct php_function f;
	struct php_source source;
	__u64 name;

	if (!m || !w || !php_read_function(function, &f))
		return 0;
	no_text(&m->code.name);
	no_text(&m->code.scope);
	no_text(&m->code.file);
	m->code.first_line = 0;
	if (f.name)
		php_take_string(f.name, &m->code.name);
	if (f.name && f.scope) {
		if (!read_word(f.scope + PHP_CLASS_NAME, &name))
			return 0;
		php_take_string(name, &m->code.scope);
	}
	if (f.type == PHP_INTERNAL)
		return 1;
	if (bpf_probe_read_user(&source, sizeof(source),
				(const void *)(function + w->lang.runtime.php.function_file)))
		return 0;
	m->code.first_line = source.first_line;
	php_take_string(source.file, &m->code.file);
	return 1;
}
