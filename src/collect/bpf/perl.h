/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perl's frames (cop.h): a thread has stacks of contexts, and the contexts of subs are frames. Each
 * loop of the interpreter has entered the innermost part of what is left:
 *
 *   stack of a sort    │ sub cmp │ block        ◄─ Perl_runops_standard ◄─ Perl_pp_sort
 *   main stack         │ sub f │ loop │ sub g   ◄─ Perl_runops_standard ◄─ perl_run
 *
 * The line of a sub is in the statement (COP) at which its callee was called. lang/perl.c has the
 * offsets that differ by version.
 */
#pragma once

#define PERL_OP \
	8 /* of the interpreter with threads: the current operation; 0: its loop has ended */

struct perl_stack {
	__u64 values;
	__u64 contexts;
	__u64 outer, inner; /* the stacks around */
	__s32 last;         /* context */
	__s32 pad;
	__s32 more;
	__s32 kind;
};

enum { PERL_STACK_MAIN = 1, PERL_STACK_SORT = 3, PERL_STACK_MULTICALL = 10 };

struct perl_context {
	__u8 kind;
	__u8 pad[7];
	__u64 stack;
	__u64 statement; /* of the caller */
	__u64 more[3];
	__u64 next; /* operation of the caller; 0: C code called */
	__u64 unused[2];
	__u64 sub;
};

#define PERL_KIND       0x0f
#define PERL_FAKE_SUB   0x80 /* code in a pattern */
#define PERL_EVAL_BLOCK 0xc0 /* eval {}, try {} */
#define PERL_EVAL_TEXT  0x20
enum { PERL_SUB = 9, PERL_FORMAT = 10, PERL_EVAL = 11 };

struct perl_object {
	__u64 body;
	__u32 n_references, flags;
	__u64 value;
};

#define PERL_TYPE           0x1f
#define PERL_CODE           13
#define PERL_IS_CODE(flags) (((flags)&PERL_TYPE) == PERL_CODE)

/* The body of a sub, from PERL_SUB_BODY on. */
#define PERL_SUB_BODY 0x20
struct perl_sub {
	__u64 package, start;
	__u64 root; /* of its operations, which its closures share */
	__u64 name; /* a glob, or with PERL_NAMED the text itself */
	__u64 file; /* char * */
	__u64 pad, outside;
	__u32 sequence, flags;
};
#define PERL_NAMED 0x8000u

#define PERL_GLOB_NAME    0x20 /* in the body of a glob */
#define PERL_GLOB_PACKAGE 0x28
#define PERL_GLOB_ORIGIN  0x38 /* in its parts */

#define PERL_STATEMENT_LINE 0x24
#define PERL_STATEMENT_FILE 0x30

/* Kinds of code that is no sub, in the low bits of the address of a statement in it. */
#define PERL_FILE 1
#define PERL_TEXT 2

#define PERL_INTERPRETER_SIZE 4096 /* at least; it has the statement that is being compiled */

static __always_inline bool perl_enter_stack(struct work *w, __u64 at)
{
	struct perl_walk *p = &w->lang.perl;
	struct perl_stack stack;

	if (bpf_probe_read_user(&stack, sizeof(stack), (const void *)at))
		return false;
	w->lang.cursor = at;
	p->outer = stack.outer;
	p->contexts = stack.contexts;
	p->index = stack.last;
	p->kind = stack.kind;
	p->has_part = stack.last >= 0;
	return true;
}

static __always_inline bool perl_find_interpreter(struct work *w)
{
	struct perl_walk *p = &w->lang.perl;
	__u64 at = w->lang.state_base + w->lang.runtime.state;

	p->interpreter = at;
	return w->lang.runtime.perl.is_global ||
	       (thread_value(w->lang.runtime.libc, at, &p->interpreter) && p->interpreter);
}

static __always_inline bool perl_find_frames(struct work *w)
{
	const struct lang_runtime *r = &w->lang.runtime;
	__u32 op_at = r->perl.is_global ? r->perl.operation : PERL_OP;
	struct perl_walk *p = &w->lang.perl;
	__u64 stack, op;

	if (!perl_find_interpreter(w) || !read_word(p->interpreter + op_at, &op) ||
	    !read_word(p->interpreter + r->perl.statement, &p->statement) ||
	    !read_word(p->interpreter + r->perl.stack, &stack) || !perl_enter_stack(w, stack))
		return false;
	/* Between two calls of a comparison, C code sorts: the innermost part has no loop. */
	w->lang.n_to_skip = !op && (p->kind == PERL_STACK_SORT || p->kind == PERL_STACK_MULTICALL);
	return true;
}

/* Whether a statement is the one that is being compiled: the program has not begun. */
static __always_inline bool perl_is_compiling(const struct work *w)
{
	return w->lang.perl.statement - w->lang.perl.interpreter < PERL_INTERPRETER_SIZE;
}

static __always_inline void perl_push(struct work *w, struct language_code *c)
{
	__u64 statement = w->lang.perl.statement;

	if (bpf_probe_read_user(&c->position, sizeof(c->position),
				(const void *)(statement + PERL_STATEMENT_LINE)))
		c->position = POSITION_UNKNOWN;
	push_language_frame(w, c);
}

/* Code of a file or of an eval's text: its place is the statement's. */
static __always_inline void perl_push_statement(struct work *w, __u32 kind)
{
	__u64 statement = w->lang.perl.statement, file;
	struct language_code c = {};

	if (!read_word(statement + PERL_STATEMENT_FILE, &file)) {
		lose_language(w, LANGUAGE_NO_CODE);
		return;
	}
	c.pointer = c.owner = statement | kind;
	c.check = mix(file, kind);
	perl_push(w, &c);
}

static __always_inline bool perl_read_sub(__u64 at, struct perl_object *o, struct perl_sub *sub)
{
	return !bpf_probe_read_user(o, sizeof(*o), (const void *)at) && PERL_IS_CODE(o->flags) &&
	       !bpf_probe_read_user(sub, sizeof(*sub), (const void *)(o->body + PERL_SUB_BODY));
}

static __always_inline void perl_push_sub(struct work *w, __u64 at)
{
	struct language_code c = {};
	struct perl_object o;
	struct perl_sub sub;

	if (!perl_read_sub(at, &o, &sub)) {
		lose_language(w, LANGUAGE_NO_CODE);
		return;
	}
	c.owner = at;
	c.pointer = sub.root ? sub.root : at;
	c.check = mix(mix(sub.name, sub.file), sub.package);
	perl_push(w, &c);
}

/* The part of the innermost loop ends here. */
static __always_inline void perl_end_part(struct work *w)
{
	w->lang.perl.has_part = 0;
	end_run(w);
}

/* All contexts of the stack are done. */
static __always_inline void perl_leave_stack(struct work *w)
{
	struct perl_walk *p = &w->lang.perl;

	if (p->kind == PERL_STACK_MAIN) {
		if (!perl_is_compiling(w))
			perl_push_statement(w, PERL_FILE);
		w->lang.cursor = 0;
		perl_end_part(w);
		return;
	}
	if (p->has_part)
		perl_end_part(w);
	if (!perl_enter_stack(w, p->outer))
		give_up_language(w, LANGUAGE_NO_MEMORY);
}

static __always_inline void perl_push_context(struct work *w, const struct perl_context *c)
{
	switch (c->kind & PERL_KIND) {
	case PERL_SUB:
	case PERL_FORMAT:
		if (c->kind & PERL_FAKE_SUB)
			return;
		if (!w->lang.n_owners && !c->next && c->statement == w->lang.perl.statement)
			w->lang.may_skip = 1; /* none of its statements has begun */
		perl_push_sub(w, c->sub);
		w->lang.perl.has_part = 1;
		w->lang.perl.statement = c->statement;
		if (!c->next)
			perl_end_part(w);
		return;
	case PERL_EVAL:
		if (c->kind & PERL_EVAL_BLOCK)
			return;
		perl_push_statement(w, c->kind & PERL_EVAL_TEXT ? PERL_TEXT : PERL_FILE);
		w->lang.perl.has_part = 1;
		w->lang.perl.statement = c->statement;
		return;
	default:
		return;
	}
}

__attribute__((noinline)) int perl_frame(__u32 slot)
{
	struct work *w = own_work(slot);
	struct perl_context c;
	struct perl_walk *p;
	__u64 at;

	if (!w)
		return 1;
	if (w->s.n_user >= MAX_USER_WORDS)
		return stop_walk(w, UNWIND_DEPTH);
	if (!w->lang.cursor) {
		lack_run(w);
		return 0;
	}
	p = &w->lang.perl;
	if (p->index < 0) {
		perl_leave_stack(w);
		return 0;
	}
	at = p->contexts + (__u64)(__u32)p->index * w->lang.runtime.perl.context_size;
	p->index--;
	if (bpf_probe_read_user(&c, sizeof(c), (const void *)at)) {
		give_up_language(w, LANGUAGE_NO_MEMORY);
		return 0;
	}
	perl_push_context(w, &c);
	return 0;
}

#define PERL_LAST_CONTEXTS 8 /* of the main stack, while the program is compiled */

/* Whether what is left has no sub: the program is being compiled, so no loop has entered it. */
__attribute__((noinline)) int perl_is_at_end(__u32 slot)
{
	struct work *w = own_work(slot);

	if (!w || w->lang.perl.kind != PERL_STACK_MAIN || !perl_is_compiling(w))
		return 0;
	for (__s32 i = 0; i < PERL_LAST_CONTEXTS; i++) {
		__u8 kind;

		if (i > w->lang.perl.index)
			return 1;
		if (bpf_probe_read_user(&kind, sizeof(kind),
					(const void *)(w->lang.perl.contexts +
						       (__u64)i * w->lang.runtime.perl
									  .context_size)) ||
		    (kind & PERL_KIND) == PERL_SUB)
			return 0;
	}
	return 0;
}

/* Texts. */

#define PERL_KEY_TEXT 8

/* A HEK: its length, and its text. */
static __always_inline void perl_take_key(__u64 at, struct lang_text *out)
{
	const struct lang_text_away where = { at + 4, 0x7fffffff, at + PERL_KEY_TEXT };

	take_text(&where, out);
}

static __always_inline bool perl_take_chars(__u64 at, struct lang_text *out)
{
	long n = bpf_probe_read_user_str(out->bytes, sizeof(out->bytes), (const void *)at);

	out->state = LANG_TEXT_BYTES;
	out->size = n > 0 ? n - 1 : 0;
	return n > 0;
}

/* The file of a statement: its name, or without threads a glob with it behind "_<". */
static __always_inline bool perl_take_file(const struct perl_layout *l, __u64 file,
					   struct lang_text *out)
{
	__u64 body;

	if (l->is_global) {
		if (!read_word(file, &body) || !read_word(body + PERL_GLOB_NAME, &file))
			return false;
		file += PERL_KEY_TEXT + 2;
	}
	return perl_take_chars(file, out);
}

/* Where a package has its names: behind its array of entries, or in its body since 5.36. */
static __always_inline bool perl_names_of(const struct perl_layout *l, __u64 package, __u64 *at)
{
	struct perl_object o;
	__u64 last;

	if (bpf_probe_read_user(&o, sizeof(o), (const void *)package))
		return false;
	*at = o.body + 0x20;
	if (l->has_names_in_body)
		return true;
	if (!read_word(o.body + 0x18, &last))
		return false;
	*at = o.value + 8 * (last + 1);
	return true;
}

struct perl_names {
	__u64 name; /* with n_names: a list of them */
	__u64 pad[2];
	__u32 n_references;
	__s32 n_names; /* below 0: the first one is not set */
};

static __always_inline bool perl_take_package(const struct perl_layout *l, __u64 package,
					      struct lang_text *out)
{
	struct perl_names names;
	__u64 at;

	if (!perl_names_of(l, package, &at) ||
	    bpf_probe_read_user(&names, sizeof(names), (const void *)at))
		return false;
	at = names.name;
	if (names.n_names && !read_word(names.name + (names.n_names < 0 ? 8 : 0), &at))
		return false;
	perl_take_key(at, out);
	return true;
}

static __always_inline bool perl_take_glob(const struct perl_layout *l, __u64 glob,
					   struct lang_code *out)
{
	struct perl_object o;
	__u64 origin, body, name, package;

	if (bpf_probe_read_user(&o, sizeof(o), (const void *)glob) ||
	    !read_word(o.value + PERL_GLOB_ORIGIN, &origin))
		return false;
	if (!read_word(origin ? origin : glob, &body) || !read_word(body + PERL_GLOB_NAME, &name) ||
	    !read_word(body + PERL_GLOB_PACKAGE, &package))
		return false;
	perl_take_key(name, &out->name);
	return perl_take_package(l, package, &out->scope);
}

__attribute__((noinline)) int perl_take_code(__u32 slot, __u64 owner)
{
	struct code_message *m = bpf_map_lookup_elem(&code_works, &slot);
	struct work *w = own_work(slot);
	const struct perl_layout *l;
	struct perl_object o;
	struct perl_sub sub;
	__u64 file;

	if (!m || !w)
		return 0;
	l = &w->lang.runtime.perl;
	no_text(&m->code.name);
	no_text(&m->code.scope);
	m->code.first_line = 0;
	if (owner & (PERL_FILE | PERL_TEXT)) {
		if (owner & PERL_TEXT) {
			__builtin_memcpy(m->code.name.bytes, "(eval)", 6);
			m->code.name.size = 6;
		}
		owner &= ~7ULL;
		return read_word(owner + PERL_STATEMENT_FILE, &file) &&
		       perl_take_file(l, file, &m->code.file);
	}
	if (!perl_read_sub(owner, &o, &sub))
		return 0;
	if (!sub.file || !perl_take_chars(sub.file, &m->code.file))
		no_text(&m->code.file);
	if (!(sub.flags & PERL_NAMED))
		return perl_take_glob(l, sub.name, &m->code);
	perl_take_key(sub.name, &m->code.name);
	return perl_take_package(l, sub.package, &m->code.scope);
}
