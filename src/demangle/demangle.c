/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "demangle/ada_names.h"
#include "demangle/clone_names.h"
#include "demangle/fortran_names.h"
#include "demangle/haskell_names.h"
#include "demangle/iberty_names.h"
#include "demangle/itanium.h"
#include "demangle/ocaml_names.h"

#define MAX_MANGLED   131072
#define MAX_DEMANGLED 65536
#define MAX_UNFOLDED  16 /* times as long as the mangled name, if that is more */

static bool demangle_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A name without clones. */
static bool demangle_function(enum name_language language, const char *name, bool is_short,
			      struct buf *out)
{
	size_t len = strlen(name);

	switch (language) {
	case NAME_OCAML:
		return ocaml_demangle(name, len, out);
	case NAME_ADA:
		return gnat_demangle(name, len, out);
	case NAME_HASKELL:
		return haskell_demangle(name, len, out);
	default:
		break;
	}
	if (name[1] == 'D')
		return iberty_demangle_d(name, is_short, out);
	if (name[1] == 'R' || name[1] == 'Z')
		return iberty_demangle_rust(name, is_short, out);
	return fortran_demangle(name, len, out);
}

/*
 * The start of compilers' additions. Names of Rust and D have no other dot, except Rust's old form,
 * which ends with "E".
 */
static const char *find_clones(enum name_language language, const char *name)
{
	const char *end;

	if (language != NAME_ANY || !strchr("RDZ", name[1]))
		return clones_find(name);
	if (name[1] == 'Z') {
		end = strrchr(name, 'E');
		return end && end[1] == '.' ? end + 1 : name + strlen(name);
	}
	return name + strcspn(name, ".");
}

static bool demangle_with_clones(enum name_language language, const char *name, bool is_short,
				 struct buf *out)
{
	const char *clones = find_clones(language, name);
	cleanup(free_at_exit) char *front = NULL;

	if (!*clones)
		return demangle_function(language, name, is_short, out);
	front = xstrndup(name, (size_t)(clones - name));
	return *front && demangle_function(language, front, is_short, out) &&
	       clones_put(clones, out);
}

static bool demangle_whole(enum name_language language, const char *name, bool is_short,
			   struct buf *out)
{
	/* Rust first: its legacy names are C++ names with a hash as their last part */
	return demangle_with_clones(language, name, is_short, out) ||
	       (language == NAME_ANY && name[1] == 'Z' &&
		itanium_demangle(name, is_short ? ITANIUM_SHORT : ITANIUM_LONG, out));
}

static bool may_be_mangled(enum name_language language, const char *name)
{
	if (language == NAME_GO)
		return false;
	return language == NAME_ANY ? name[0] == '_' && name[1] && strchr("RZDQ_", name[1])
				    : *name != '\0';
}

/* No mangled name has an '@': an entry of the PLT or a version follows it. */
static bool demangle_as(enum name_language language, const char *name, bool is_short,
			struct buf *out)
{
	cleanup(free_at_exit) char *front = NULL;
	const char *at;
	bool ok;

	if (!may_be_mangled(language, name) || strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return false;
	at = strchr(name, '@');
	if (at)
		front = xstrndup(name, (size_t)(at - name));
	ok = (!at || *front) && demangle_whole(language, at ? front : name, is_short, out) &&
	     out->len <= MAX(MAX_DEMANGLED, MAX_UNFOLDED * strlen(name));
	if (ok && at)
		buf_str(out, at);
	if (ok)
		buf_cstr(out);
	return ok;
}

bool demangle_in(enum name_language language, const char *name, struct buf *out)
{
	return demangle_as(language, name, false, out);
}

bool demangle_short_in(enum name_language language, const char *name, struct buf *out)
{
	return demangle_as(language, name, true, out);
}

bool demangle(const char *name, struct buf *out)
{
	return demangle_as(NAME_ANY, name, false, out);
}

bool demangle_short(const char *name, struct buf *out)
{
	return demangle_as(NAME_ANY, name, true, out);
}

bool is_mangled_name(const char *name)
{
	if (name[0] != '_')
		return false;
	/* "_ZGVbN2v_cos" is cos() for vectors, by another rule. */
	if (!strncmp(name, "_ZGV", 4) && name[4] >= 'a' && name[4] <= 'z')
		return false;
	return name[1] == 'Z' || (name[1] == 'R' && name[2] >= 'A' && name[2] <= 'Z') ||
	       (name[1] == 'D' && demangle_is_digit(name[2]));
}
