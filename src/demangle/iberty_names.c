/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Apart from base/mem.h, whose functions have names of libiberty's. */
#include "demangle/iberty_names.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "demangle/d_limits.h"

#ifdef HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>

#define STYLE_LONG  (DMGL_PARAMS | DMGL_ANSI)
#define STYLE_SHORT DMGL_NO_OPTS

#define MAX_RUST_MANGLED 16384
#define MAX_D_MANGLED    16384
#define MAX_DEMANGLED    65536
#define MAX_UNFOLDED     16 /* times as long as the mangled name, if that is more */

struct output {
	struct buf *out;
	size_t limit;
	jmp_buf too_long;
};

/*
 * The Rust demangler uses only its stack, so a jump out of it is safe. There is no other way to
 * stop a name that unfolds without end.
 */
static void iberty_names_add_text(const char *text, size_t len, void *opaque)
{
	struct output *o = opaque;

	if (o->out->len + len > o->limit)
		longjmp(o->too_long, 1);
	buf_bytes(o->out, text, len);
}

bool iberty_demangle_rust(const char *name, bool is_short, struct buf *out)
{
	size_t len = strnlen(name, MAX_RUST_MANGLED + 1), limit = MAX_UNFOLDED * len;
	struct output o = { .out = out, .limit = limit > MAX_DEMANGLED ? limit : MAX_DEMANGLED };

	out->len = 0;
	if (len > MAX_RUST_MANGLED || setjmp(o.too_long))
		return false;
	return rust_demangle_callback(name, is_short ? STYLE_SHORT : STYLE_LONG,
				      iberty_names_add_text, &o) &&
	       out->len;
}

static char *demangle_d(const char *name, bool is_short)
{
	if (!d_name_is_harmless(name, strnlen(name, MAX_D_MANGLED)))
		return NULL;
	return dlang_demangle(name, is_short ? STYLE_SHORT : STYLE_LONG);
}

/*
 * Newer compilers of D write a parameter's "return scope" as "NkM"; libiberty only reads "MNk". If
 * the letters may belong to an identifier, which must not change, the name is not read.
 */
static char *demangle_newer_d(const char *name, bool is_short)
{
	char *copy = strdup(name), *text;

	for (char *at = copy; at && (at = strstr(at, "NkM")); at += 3)
		memcpy(at, "MNk", 3);
	text = copy ? demangle_d(copy, is_short) : NULL;
	free(copy);
	if (text && strstr(text, "MNk")) {
		free(text);
		return NULL;
	}
	return text;
}

bool iberty_demangle_d(const char *name, bool is_short, struct buf *out)
{
	char *text = demangle_d(name, is_short);

	if (!text && strstr(name, "NkM"))
		text = demangle_newer_d(name, is_short);
	out->len = 0;
	if (text)
		buf_str(out, text);
	free(text);
	return out->len > 0;
}

#else

bool iberty_demangle_rust(const char *name, bool is_short, struct buf *out)
{
	(void)name, (void)is_short, (void)out;
	return false;
}

bool iberty_demangle_d(const char *name, bool is_short, struct buf *out)
{
	(void)name, (void)is_short, (void)out;
	return false;
}

#endif
