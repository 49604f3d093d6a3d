/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_DEMANGLE

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>

#define MAX_DEMANGLED 65536
#define MAX_UNFOLDED  16   /* times as long as the mangled name, if that is more */
#define MAX_D_MANGLED 1024 /* D's demangler can't be stopped half-way */

/*
 * libiberty refuses C++ names that are longer, as its stack grows with them. Without this limit,
 * its arrays take at most 16 bytes * (n / 6)^2 for a name of n characters (references * templates
 * of cplus_demangle_print_callback()): 119 MB for the longest name here. The stack is only
 * reserved.
 */
#define MAX_ON_ANY_STACK 1024
#define MAX_MANGLED      16384
#define LONG_NAME_STACK  ((size_t)256 << 20)

#define STYLE_LONG  (DMGL_PARAMS | DMGL_ANSI)
#define STYLE_SHORT DMGL_NO_OPTS

struct output {
	struct buf *out;
	size_t limit;
	jmp_buf too_long;
};

/*
 * The C++ and Rust demanglers hold no memory but their stack, so leaving them
 * by a jump is safe; there is no other way to stop a name that unfolds without end.
 */
static void take_text(const char *text, size_t len, void *opaque)
{
	struct output *o = opaque;

	if (o->out->len + len > o->limit)
		longjmp(o->too_long, 1);
	buf_bytes(o->out, text, len);
}

typedef int demangle_fn(const char *, int, demangle_callbackref, void *);

static bool run(demangle_fn *fn, const char *name, int style, struct buf *out)
{
	size_t limit = MAX_UNFOLDED * strlen(name);
	struct output o = { .out = out, .limit = limit > MAX_DEMANGLED ? limit : MAX_DEMANGLED };

	out->len = 0;
	if (setjmp(o.too_long))
		return false;
	return fn(name, style, take_text, &o) && out->len;
}

struct long_name {
	const char *name;
	int style;
	struct buf *out;
	bool is_demangled;
};

static void *run_long_name(void *of)
{
	struct long_name *n = of;

	n->is_demangled =
		run(cplus_demangle_v3_callback, n->name, n->style | DMGL_NO_RECURSE_LIMIT, n->out);
	return NULL;
}

/* On a stack of its own that has room for it; where none can be had, the name stays mangled. */
static bool demangle_long_cplus(const char *name, int style, struct buf *out)
{
	struct long_name n = { name, style, out, false };
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return false;
	if (!pthread_attr_setstacksize(&attr, LONG_NAME_STACK) &&
	    !pthread_create(&thread, &attr, run_long_name, &n))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return n.is_demangled;
}

static bool demangle_cplus(const char *name, int style, struct buf *out)
{
	return strlen(name) <= MAX_ON_ANY_STACK ? run(cplus_demangle_v3_callback, name, style, out)
						: demangle_long_cplus(name, style, out);
}

static bool demangle_d(const char *name, int style, struct buf *out)
{
	char *text = strlen(name) <= MAX_D_MANGLED ? dlang_demangle(name, style) : NULL;

	out->len = 0;
	if (text)
		buf_str(out, text);
	free(text);
	return text != NULL;
}

static bool demangle_whole(const char *name, int style, struct buf *out)
{
	bool ok = false;

	/* Rust's legacy names are C++ names with a hash as their last part: Rust is asked first. */
	if (name[1] == 'R')
		ok = run(rust_demangle_callback, name, style, out);
	else if (name[1] == 'Z')
		ok = run(rust_demangle_callback, name, style, out) ||
		     demangle_cplus(name, style, out);
	else if (name[1] == 'D')
		ok = demangle_d(name, style, out);
	return ok;
}

/* No mangled name has an '@': behind it are an entry of the PLT and versions. */
static bool demangle_as(const char *name, int style, struct buf *out)
{
	struct buf front = { 0 };
	const char *at;
	bool ok;

	if (name[0] != '_' || strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return false;
	at = strchr(name, '@');
	if (at) {
		buf_bytes(&front, name, (size_t)(at - name));
		buf_cstr(&front);
	}
	ok = demangle_whole(at ? (const char *)front.data : name, style, out);
	if (ok && at)
		buf_str(out, at);
	if (ok)
		buf_cstr(out);
	buf_fini(&front);
	return ok;
}

bool demangle(const char *name, struct buf *out)
{
	return demangle_as(name, STYLE_LONG, out);
}

bool demangle_short(const char *name, struct buf *out)
{
	return demangle_as(name, STYLE_SHORT, out);
}

#else

bool demangle(const char *name, struct buf *out)
{
	(void)name, (void)out;
	return false;
}

bool demangle_short(const char *name, struct buf *out)
{
	return demangle(name, out);
}

#endif
