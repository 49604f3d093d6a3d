/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_DEMANGLE

#include <libiberty/demangle.h>
#include <setjmp.h>

#define MAX_MANGLED   32768
#define MAX_DEMANGLED 65536
#define MAX_D_MANGLED 1024 /* D's demangler can't be stopped half-way */

#define STYLE_LONG  (DMGL_PARAMS | DMGL_ANSI)
#define STYLE_SHORT DMGL_NO_OPTS

struct output {
	struct buf *out;
	jmp_buf too_long;
};

/*
 * The C++ and Rust demanglers hold no memory but their stack, so leaving them
 * by a jump is safe; there is no other way to stop a name that unfolds without end.
 */
static void take_text(const char *text, size_t len, void *opaque)
{
	struct output *o = opaque;

	if (o->out->len + len > MAX_DEMANGLED)
		longjmp(o->too_long, 1);
	buf_bytes(o->out, text, len);
}

typedef int demangle_fn(const char *, int, demangle_callbackref, void *);

static bool run(demangle_fn *fn, const char *name, int style, struct buf *out)
{
	struct output o = { .out = out };

	out->len = 0;
	if (setjmp(o.too_long))
		return false;
	return fn(name, style, take_text, &o) && out->len;
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

static bool demangle_as(const char *name, int style, struct buf *out)
{
	bool ok = false;

	if (name[0] != '_' || strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return false;
	/* Rust's legacy names are C++ names with a hash as their last part: Rust is asked first. */
	if (name[1] == 'R')
		ok = run(rust_demangle_callback, name, style, out);
	else if (name[1] == 'Z')
		ok = run(rust_demangle_callback, name, style, out) ||
		     run(cplus_demangle_v3_callback, name, style, out);
	else if (name[1] == 'D')
		ok = demangle_d(name, style, out);
	if (ok)
		buf_cstr(out);
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
