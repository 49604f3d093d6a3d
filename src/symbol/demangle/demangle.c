/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "symbol/demangle/d_limits.h"
#include "symbol/demangle/itanium.h"

#define MAX_MANGLED 131072

#ifdef HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>

#define STYLE_LONG  (DMGL_PARAMS | DMGL_ANSI)
#define STYLE_SHORT DMGL_NO_OPTS

#define MAX_RUST_MANGLED 16384
#define MAX_DEMANGLED    65536
#define MAX_UNFOLDED     16 /* times as long as the mangled name, if that is more */

struct output {
	struct buf *out;
	size_t limit;
	jmp_buf too_long;
};

/*
 * The Rust demangler holds no memory but its stack, so leaving it by a jump is safe; there is no
 * other way to stop a name that unfolds without end.
 */
static void take_text(const char *text, size_t len, void *opaque)
{
	struct output *o = opaque;

	if (o->out->len + len > o->limit)
		longjmp(o->too_long, 1);
	buf_bytes(o->out, text, len);
}

static bool demangle_rust(const char *name, bool is_short, struct buf *out)
{
	size_t len = strnlen(name, MAX_RUST_MANGLED + 1), limit = MAX_UNFOLDED * len;
	struct output o = { .out = out, .limit = limit > MAX_DEMANGLED ? limit : MAX_DEMANGLED };

	out->len = 0;
	if (len > MAX_RUST_MANGLED || setjmp(o.too_long))
		return false;
	return rust_demangle_callback(name, is_short ? STYLE_SHORT : STYLE_LONG, take_text, &o) &&
	       out->len;
}

static bool demangle_d(const char *name, bool is_short, struct buf *out)
{
	char *text = NULL;

	if (d_name_is_harmless(name, strnlen(name, MAX_MANGLED)))
		text = dlang_demangle(name, is_short ? STYLE_SHORT : STYLE_LONG);
	out->len = 0;
	if (text)
		buf_str(out, text);
	free(text);
	return text != NULL;
}

#else

static bool demangle_rust(const char *name, bool is_short, struct buf *out)
{
	(void)name, (void)is_short, (void)out;
	return false;
}

static bool demangle_d(const char *name, bool is_short, struct buf *out)
{
	(void)name, (void)is_short, (void)out;
	return false;
}

#endif

static bool demangle_whole(const char *name, bool is_short, struct buf *out)
{
	/* Rust's legacy names are C++ names with a hash as their last part: Rust is asked first. */
	if (name[1] == 'R')
		return demangle_rust(name, is_short, out);
	if (name[1] == 'Z')
		return demangle_rust(name, is_short, out) ||
		       itanium_demangle(name, is_short ? ITANIUM_SHORT : ITANIUM_LONG, out);
	return name[1] == 'D' && demangle_d(name, is_short, out);
}

/* No mangled name has an '@': behind it are an entry of the PLT and versions. */
static bool demangle_as(const char *name, bool is_short, struct buf *out)
{
	struct buf front = { 0 };
	const char *at;
	bool ok;

	if (name[0] != '_' || !name[1] || !strchr("RZD", name[1]) ||
	    strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return false;
	at = strchr(name, '@');
	if (at) {
		buf_bytes(&front, name, (size_t)(at - name));
		buf_cstr(&front);
	}
	ok = demangle_whole(at ? (const char *)front.data : name, is_short, out);
	if (ok && at)
		buf_str(out, at);
	if (ok)
		buf_cstr(out);
	buf_fini(&front);
	return ok;
}

bool demangle(const char *name, struct buf *out)
{
	return demangle_as(name, false, out);
}

bool demangle_short(const char *name, struct buf *out)
{
	return demangle_as(name, true, out);
}
