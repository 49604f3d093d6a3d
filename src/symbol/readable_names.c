/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/readable_names.h"

#include <string.h>
#include <xxhash.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "demangle/swift_names.h"
#include "symbol/table.h"

#define MAX_ASKED_ALONE 1000 /* names of Swift outside of symbol tables: each costs a process */
#define MAX_SHOWN       60   /* characters of a name in a message */

struct unread {
	struct intmap seen; /* hashes of names, so that each counts once */
	size_t n;
	char *first;
};

struct readable_names {
	bool no_demangle;
	void (*report_unread)(const char *sentence);
	struct swift_names *swift; /* NULL: no Swift name so far */
	unsigned int n_asked_alone;
	struct unread unread, unread_swift;
};

struct readable_names *readable_names_new(bool no_demangle, void (*report_unread)(const char *))
{
	struct readable_names *r = xcalloc(1, sizeof(*r));

	r->no_demangle = no_demangle;
	r->report_unread = report_unread;
	return r;
}

static void report_unread_names(const struct readable_names *r, const struct unread *unread,
				const char *kind, const char *reason)
{
	struct buf text = { 0 };

	if (unread->n && r->report_unread) {
		buf_printf(&text,
			   "%zu %s%s%s unread and shown as in the symbol table (%s): ", unread->n,
			   kind, unread->n == 1 ? "name" : "names", unread->n == 1 ? " is" : " are",
			   reason);
		utf8_append_visible(&text, unread->first);
		buf_str(&text, unread->n == 1 ? "" : ", and others");
		r->report_unread(buf_cstr(&text));
	}
	buf_fini(&text);
}

static void unread_fini(struct unread *u)
{
	intmap_fini(&u->seen);
	free(u->first);
}

void readable_names_free(struct readable_names *r)
{
	bool has_program = r && r->swift && swift_names_has_program(r->swift);

	if (!r)
		return;
	report_unread_names(r, &r->unread, "mangled ",
			    "damaged, of a newer compiler, or beyond the demangler's limits");
	report_unread_names(
		r, &r->unread_swift, "Swift ",
		has_program ? "swift-demangle failed, or took too much time or memory"
			    : "swift-demangle is not in PATH; Debian's package swiftlang has it");
	unread_fini(&r->unread);
	unread_fini(&r->unread_swift);
	swift_names_free(r->swift);
	free(r);
}

static void add_unread(struct unread *u, const char *name)
{
	bool is_new, is_long = strnlen(name, MAX_SHOWN + 1) > MAX_SHOWN;

	intmap_put(&u->seen, XXH3_64bits(name, strlen(name)), &is_new);
	u->n += is_new;
	if (!u->first)
		u->first = xasprintf("%.*s%s", MAX_SHOWN, name, is_long ? "…" : "");
}

/* All names of the image at once, because each run of the program takes milliseconds. */
static void read_swift(struct readable_names *r, struct symbol_table *t, const char *name)
{
	struct {
		const char **data;
		size_t n, cap;
	} names = { 0 };

	if (!r->swift)
		r->swift = swift_names_new();
	for (uint32_t i = 0; i < t->index.n && !t->has_read_swift; i++) {
		const char *text = index_text(&t->index, t->index.names[i]);

		if (is_swift_name(text))
			vec_push(&names, text);
	}
	t->has_read_swift = true;
	swift_names_read(r->swift, names.data, names.n);
	vec_fini(&names);
	if (!swift_names_has(r->swift, name) && r->n_asked_alone < MAX_ASKED_ALONE) {
		r->n_asked_alone++;
		swift_names_read(r->swift, &name, 1);
	}
}

static bool readable_swift(struct readable_names *r, struct symbol_table *t, const char *plain,
			   struct buf *out)
{
	read_swift(r, t, plain);
	if (swift_names_find(r->swift, plain, out))
		return true;
	add_unread(&r->unread_swift, plain);
	return false;
}

bool readable_name(struct readable_names *r, struct symbol_table *t, const char *plain,
		   enum name_language language, enum name_length length, struct buf *out)
{
	bool ok;

	out->len = 0;
	if (r->no_demangle || t->image.kind == IMAGE_LANGUAGE || language == NAME_GO)
		return false;
	if (language == NAME_ANY && is_swift_name(plain))
		return readable_swift(r, t, plain, out);
	ok = length == NAME_SHORT ? demangle_short_in(language, plain, out)
				  : demangle_in(language, plain, out);
	if (!ok && is_mangled_name(plain))
		add_unread(&r->unread, plain);
	return ok;
}

enum name_language language_of_inlined(const struct symbol_table *t, const char *name)
{
	const char *end = strstr(name, "__");
	size_t len = end ? (size_t)(end - name) + 2 : 0;

	for (uint32_t i = 0; len > 2 && t->index.languages && i < t->index.n; i++)
		if (index_language(&t->index, i) == NAME_ADA &&
		    !strncmp(index_text(&t->index, t->index.names[i]), name, len))
			return NAME_ADA;
	return NAME_ANY;
}
