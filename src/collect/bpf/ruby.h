/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby's frames (vm_core.h): the control frames of a thread are in its VM stack, the innermost one
 * lowest. lang/ruby.c has the offsets that differ by version.
 */
#pragma once

struct ruby_ec {
	__u64 stack, stack_words;
	__u64 frame; /* the innermost one */
};

struct ruby_frame {
	__u64 pc, sp;
	__u64 code; /* iseq; 0: a C function */
	__u64 self;
	__u64 environment; /* its flags are the word there; the method is two words before */
};

#define RUBY_FRAME_KIND   0x7fff0001u /* flags of an environment */
#define RUBY_FRAME_DUMMY  0x79990001u
#define RUBY_FRAME_C      0x55550001u
#define RUBY_FRAME_BLOCK  0x66660001u /* a block in C: its code is another object */
#define RUBY_FRAME_FINISH 0x20u       /* is entered from C */

/* Internal objects (imemo): their flags. */
#define RUBY_TYPE(flags)  ((flags)&0x1f)
#define RUBY_IMEMO(flags) ((flags) >> 12 & 15)
enum { RUBY_STRING = 5, RUBY_ARRAY = 7, RUBY_INTERNAL = 0x1a };
enum { RUBY_IMEMO_SVAR = 2, RUBY_IMEMO_METHOD = 6, RUBY_IMEMO_CODE = 7 };
#define RUBY_ELSEWHERE (1u << 13) /* a string's text is not inside; an array's elements are */

struct ruby_object {
	__u64 flags, second, third, fourth;
};

struct ruby_body {
	__u32 kind, n_positions;
	__u64 encoded; /* its instructions, 8 bytes each */
};

#define RUBY_BODY_LOCATION 64

struct ruby_location {
	__u64 path; /* a string, or an array: path and real path */
	__u64 base_label, label;
	__u64 first_line; /* a VALUE, or an int */
};

#define RUBY_CODE_SIZE 8 /* of an instruction's word */

/* Whether the thread of an execution context is the current one. */
static __always_inline bool ruby_is_own(const struct ruby_layout *l, __u64 ec)
{
	__u64 thread, id;

	return read_word(ec + l->context_thread, &thread) &&
	       read_word(thread + l->thread_id, &id) && id == pthread_of_itself();
}

static __always_inline bool ruby_find_frames(struct work *w)
{
	const struct ruby_layout *l = &w->lang.runtime.ruby;
	__u64 at = w->lang.state_base + w->lang.runtime.state, ec;
	struct ruby_ec context;

	if (l->context == RUBY_CONTEXT_TLS && !thread_variable(w->lang.runtime.libc, at, &at))
		return false;
	if (!read_word(at, &ec) || !ec)
		return false;
	if (l->context == RUBY_CONTEXT_GLOBAL && !ruby_is_own(l, ec))
		return false;
	if (bpf_probe_read_user(&context, sizeof(context), (const void *)ec) || !context.stack)
		return false;
	w->lang.cursor = context.frame;
	w->lang.limit = context.stack + context.stack_words * 8;
	return true;
}

static __always_inline bool ruby_read_object(__u64 at, struct ruby_object *o)
{
	return !bpf_probe_read_user(o, sizeof(*o), (const void *)at);
}

static __always_inline bool ruby_is_internal(const struct ruby_object *o, __u32 kind)
{
	return RUBY_TYPE(o->flags) == RUBY_INTERNAL && RUBY_IMEMO(o->flags) == kind;
}

/* The method of a C function's frame: the number of its name. */
static __always_inline bool ruby_find_method(__u64 method, struct language_code *c)
{
	struct ruby_object o;

	if (!ruby_read_object(method, &o))
		return false;
	if (ruby_is_internal(&o, RUBY_IMEMO_SVAR) && !ruby_read_object(o.second, &o))
		return false;
	if (!ruby_is_internal(&o, RUBY_IMEMO_METHOD))
		return false;
	c->pointer = c->owner = o.fourth & FRAME_OFF_MASK; /* called_id */
	c->check = 0;
	c->position = POSITION_UNKNOWN;
	return true;
}

static __always_inline bool ruby_read_body(__u64 code, __u64 *at, struct ruby_body *body)
{
	struct ruby_object o;

	if (!ruby_read_object(code, &o) || !ruby_is_internal(&o, RUBY_IMEMO_CODE))
		return false;
	*at = o.third;
	return !bpf_probe_read_user(body, sizeof(*body), (const void *)o.third);
}

static __always_inline bool ruby_find_code(const struct ruby_frame *f, struct language_code *c,
					   bool *has_begun)
{
	struct ruby_body body;
	__u64 at, position;

	if (!ruby_read_body(f->code, &at, &body))
		return false;
	c->pointer = c->owner = f->code;
	c->check = mix(mix(at, body.encoded), body.n_positions);
	position = (f->pc - body.encoded) / RUBY_CODE_SIZE;
	*has_begun = position != 0;
	if (position) /* the pc is behind its instruction */
		position--;
	c->position = position < body.n_positions ? (__u32)position : POSITION_UNKNOWN;
	return true;
}

/* What is left of a thread's chain is the frame below its first one. */
static __always_inline bool ruby_is_last(const struct work *w)
{
	return w->lang.cursor + w->lang.runtime.ruby.frame_size >= w->lang.limit;
}

__attribute__((noinline)) int ruby_frame(__u32 slot)
{
	struct work *w = own_work(slot);
	struct language_code c = {};
	struct ruby_frame f;
	__u64 environment[3]; /* method, block, flags */
	__u32 kind;
	bool is_found, has_begun = true;

	if (!w)
		return 1;
	if (w->s.n_user >= MAX_USER_WORDS)
		return stop_walk(w, UNWIND_DEPTH);
	if (ruby_is_last(w)) {
		lack_run(w);
		return 0;
	}
	if (bpf_probe_read_user(&f, sizeof(f), (const void *)w->lang.cursor) ||
	    bpf_probe_read_user(environment, sizeof(environment),
				(const void *)(f.environment - 2 * sizeof(__u64)))) {
		give_up_language(w, LANGUAGE_NO_MEMORY);
		return 0;
	}
	w->lang.cursor += w->lang.runtime.ruby.frame_size;
	kind = (__u32)environment[2] & RUBY_FRAME_KIND;
	/* Code of YJIT leaves the pc of a new frame as it is: zero, or that of an older frame. */
	if (kind == RUBY_FRAME_C || (f.code && (f.pc || kind != RUBY_FRAME_BLOCK))) {
		is_found = kind == RUBY_FRAME_C ? ruby_find_method(environment[0], &c)
						: ruby_find_code(&f, &c, &has_begun);
		if (!w->lang.n_owners && !has_begun && (environment[2] & RUBY_FRAME_FINISH))
			w->lang.may_skip = 1;
		if (is_found)
			push_language_frame(w, &c);
		else
			lose_language(w, LANGUAGE_NO_CODE);
	}
	if (environment[2] & RUBY_FRAME_FINISH)
		end_run(w);
	return 0;
}

/* Texts. */

static __always_inline bool ruby_take_string(const struct ruby_layout *l, __u64 at,
					     struct lang_text *out)
{
	struct lang_text_away where = { at + 16, ~0ULL, at + l->string_embedded };
	struct ruby_object o;

	if (!ruby_read_object(at, &o) || RUBY_TYPE(o.flags) != RUBY_STRING)
		return false;
	if (o.flags & RUBY_ELSEWHERE)
		where.at = o.fourth;
	else if (l->string_embedded < 24)
		return take_bytes(where.at, o.flags >> 14 & 31, out);
	take_text(&where, out);
	return true;
}

static __always_inline bool ruby_element(__u64 array, __u64 index, __u64 *value)
{
	struct ruby_object o;

	if (!ruby_read_object(array, &o) || RUBY_TYPE(o.flags) != RUBY_ARRAY)
		return false;
	if (o.flags & RUBY_ELSEWHERE)
		return read_word(array + 16 + index * 8, value);
	return read_word(array + 32, &array) && read_word(array + index * 8, value);
}

#define RUBY_NAMES_IN_ARRAY 512 /* symbol.c: ID_ENTRY_UNIT; a name has two elements */

static __always_inline bool ruby_take_id(struct work *w, __u64 id, struct lang_text *out)
{
	const struct ruby_layout *l = &w->lang.runtime.ruby;
	__u64 serial = id > l->last_operator ? id >> 4 : id, names;

	return read_word(w->lang.base + l->symbols, &names) &&
	       ruby_element(names, serial / RUBY_NAMES_IN_ARRAY, &names) &&
	       ruby_element(names, serial % RUBY_NAMES_IN_ARRAY * 2, &names) &&
	       ruby_take_string(l, names, out);
}

/* The real path, if there is one: a program in a string has none. */
static __always_inline bool ruby_take_path(const struct ruby_layout *l, __u64 path,
					   struct lang_text *out)
{
	__u64 element;

	if (ruby_element(path, 1, &element) && ruby_take_string(l, element, out))
		return true;
	if (ruby_element(path, 0, &element) && ruby_take_string(l, element, out))
		return true;
	return ruby_take_string(l, path, out);
}

/* In the body of a function. */
struct ruby_lines {
	__u64 entries, positions;
	__u32 n_entries, pad;
	__u64 index;
};

static __always_inline void ruby_take_lines(const struct ruby_layout *l, __u64 body,
					    __u32 n_positions, struct lang_code *out)
{
	struct ruby_index *head = (struct ruby_index *)out->lines;
	__u64 blocks = 0, index_size, size;
	struct ruby_lines lines;

	if (bpf_probe_read_user(&lines, sizeof(lines), (const void *)(body + l->code_lines)))
		return;
	if (n_positions > RUBY_INDEX_FIRST)
		blocks = (n_positions - RUBY_INDEX_FIRST + RUBY_BLOCK_COVERS - 1) /
			 RUBY_BLOCK_COVERS;
	index_size = RUBY_INDEX_BLOCKS + blocks * RUBY_INDEX_BLOCK;
	if (index_size > RUBY_INDEX_MAX - 1)
		index_size = RUBY_INDEX_MAX - 1;
	index_size &= ~7ULL;
	size = (__u64)lines.n_entries * l->line_entry;
	if (size > RUBY_ENTRIES_MAX - 1)
		size = RUBY_ENTRIES_MAX - 1;
	head->n_positions = n_positions;
	head->n_entries = lines.n_entries;
	head->index_size = index_size;
	head->entry_size = l->line_entry;
	if (lines.n_entries > 1 &&
	    bpf_probe_read_user(out->lines + sizeof(*head), bounded(index_size, RUBY_INDEX_MAX - 1),
				(const void *)lines.index))
		return;
	if (bpf_probe_read_user(out->lines + sizeof(*head) +
					bounded(index_size, RUBY_INDEX_MAX - 1),
				bounded(size, RUBY_ENTRIES_MAX - 1), (const void *)lines.entries))
		return;
	out->n_lines = out->lines_size = sizeof(*head) + index_size + size;
}

__attribute__((noinline)) int ruby_take_code(__u32 slot, __u64 owner)
{
	struct code_message *m = bpf_map_lookup_elem(&code_works, &slot);
	struct work *w = own_work(slot);
	const struct ruby_layout *l;
	struct ruby_location location;
	struct ruby_body body;
	__u64 at;

	if (!m || !w)
		return 0;
	l = &w->lang.runtime.ruby;
	no_text(&m->code.scope);
	no_text(&m->code.file);
	m->code.first_line = 0;
	if (owner <= UINT32_MAX) /* the number of a C function's name */
		return ruby_take_id(w, owner, &m->code.name);
	if (!ruby_read_body(owner, &at, &body))
		return 0;
	if (bpf_probe_read_user(&location, sizeof(location),
				(const void *)(at + RUBY_BODY_LOCATION)) ||
	    !ruby_take_string(l, location.label, &m->code.name) ||
	    !ruby_take_path(l, location.path, &m->code.file))
		return 0;
	m->code.first_line = (__u32)location.first_line >> (l->is_line_value ? 1 : 0);
	ruby_take_lines(l, at, body.n_positions, &m->code);
	return 1;
}
