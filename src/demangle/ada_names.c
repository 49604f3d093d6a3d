/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/ada_names.h"

#include <string.h>

#include "base/mem.h"

struct ada {
	const char *at, *end;
	struct buf *out;
};

struct spelling {
	const char *encoded, *readable;
};

static const struct spelling operators[] = {
	{ "Oabs", "abs" },  { "Oadd", "+" },      { "Oand", "and" },    { "Oconcat", "&" },
	{ "Odivide", "/" }, { "Oeq", "=" },       { "Oexpon", "**" },   { "Oge", ">=" },
	{ "Ogt", ">" },     { "Ole", "<=" },      { "Olt", "<" },       { "Omod", "mod" },
	{ "One", "/=" },    { "Onot", "not" },    { "Oor", "or" },      { "Orem", "rem" },
	{ "Oxor", "xor" },  { "Omultiply", "*" }, { "Osubtract", "-" },
};

/* The compiler's additions behind an entity's name. */
static const struct spelling attributes[] = {
	{ "SR", "'Read" },       { "SW", "'Write" },     { "SI", "'Input" },
	{ "SO", "'Output" },     { "DF", ".Finalize" },  { "DA", ".Adjust" },
	{ "DI", ".Initialize" }, { "PI", "'Put_Image" }, { "IP", " [initialization]" },
};

static const struct spelling specials[] = {
	{ "___elabb", "'Elab_Body" },     { "___elabs", "'Elab_Spec" }, { "___size", "'Size" },
	{ "___alignment", "'Alignment" }, { "___assign", ".\":=\"" },
};

static char peek_char(const struct ada *a, size_t ahead)
{
	return (size_t)(a->end - a->at) > ahead ? a->at[ahead] : '\0';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool ada_names_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool ada_names_skip(struct ada *a, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(a->end - a->at) < len || memcmp(a->at, text, len) != 0)
		return false;
	a->at += len;
	return true;
}

static void skip_digits(struct ada *a)
{
	while (ada_names_is_digit(peek_char(a, 0)))
		a->at++;
}

/* The longest of a table's spellings at this place; NULL if there is none. */
static const char *skip_one_of(struct ada *a, const struct spelling *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ada_names_skip(a, list[i].encoded))
			return list[i].readable;
	return NULL;
}

/* "put_line", with wide characters as "Ue9", "W20ac". */
static bool put_identifier(struct ada *a)
{
	const char *start = a->at;

	if (!is_lower(peek_char(a, 0)))
		return false;
	while (is_lower(peek_char(a, 0)) || ada_names_is_digit(peek_char(a, 0)) ||
	       (peek_char(a, 0) == '_' &&
		(is_lower(peek_char(a, 1)) || ada_names_is_digit(peek_char(a, 1)))))
		a->at++;
	buf_bytes(a->out, start, (size_t)(a->at - start));
	return true;
}

static bool put_entity(struct ada *a)
{
	const char *operator;

	if (peek_char(a, 0) != 'O')
		return put_identifier(a);
	operator= skip_one_of(a, operators, ARRAY_SIZE(operators));
	if (operator)
		buf_printf(a->out, "\"%s\"", operator);
	return operator!= NULL;
}

/* "X", "Xb", "Xnn": the entity is declared in a body. */
static void skip_body_mark(struct ada *a)
{
	if (!ada_names_skip(a, "X"))
		return;
	while (peek_char(a, 0) == 'n' || peek_char(a, 0) == 'b')
		a->at++;
}

/* ".123": a subprogram within another; more of them are clones, which the caller reads. */
static void skip_nested_number(struct ada *a)
{
	if (peek_char(a, 0) != '.' || !ada_names_is_digit(peek_char(a, 1)))
		return;
	a->at++;
	skip_digits(a);
}

/* "__2", "__2__3": the number among the subprograms of one name. */
static void skip_overload_number(struct ada *a)
{
	while (peek_char(a, 0) == '_' && peek_char(a, 1) == '_' &&
	       ada_names_is_digit(peek_char(a, 2))) {
		a->at += 2;
		while (ada_names_is_digit(peek_char(a, 0)) ||
		       (peek_char(a, 0) == '_' && ada_names_is_digit(peek_char(a, 1))))
			a->at++;
		skip_body_mark(a);
	}
	if (peek_char(a, 0) == '$' && ada_names_is_digit(peek_char(a, 1))) {
		a->at++;
		skip_digits(a);
	}
}

/* "_B12s", "_E3s": the body of an entry, or its barrier. */
static bool skip_entry_mark(struct ada *a)
{
	const char *start = a->at;

	if (ada_names_skip(a, "_B") || ada_names_skip(a, "_E")) {
		skip_digits(a);
		if (ada_names_skip(a, "s") || ada_names_skip(a, "b"))
			return true;
	}
	a->at = start;
	return false;
}

/* The rest of an entity; false if another entity follows, behind '.'. */
static void read_rest_of_entity(struct ada *a)
{
	const char *text;

	if (ada_names_skip(a, "TKB") || ada_names_skip(a, "TK"))
		return;
	skip_body_mark(a);
	text = skip_one_of(a, attributes, ARRAY_SIZE(attributes));
	if (text)
		buf_str(a->out, text);
	skip_body_mark(a);
	skip_overload_number(a);
	text = skip_one_of(a, specials, ARRAY_SIZE(specials));
	if (text)
		buf_str(a->out, text);
	skip_body_mark(a);
	skip_overload_number(a);
	/* subprograms of protected types: with the lock, without it */
	if (a->end - a->at == 1 && (*a->at == 'P' || *a->at == 'N'))
		a->at++;
	skip_entry_mark(a);
	skip_nested_number(a);
}

/* "___XDLU_1": the compiler's notes on an entity, for debuggers. */
static void skip_notes(struct ada *a)
{
	if (peek_char(a, 0) == '_' && peek_char(a, 1) == '_' && peek_char(a, 2) == '_' &&
	    peek_char(a, 3) >= 'A' && peek_char(a, 3) <= 'Z')
		a->at = a->end;
}

bool gnat_demangle(const char *name, size_t len, struct buf *out)
{
	struct ada a = { name, name + len, out };
	bool ok;

	out->len = 0;
	ada_names_skip(&a, "_ada_");
	while ((ok = put_entity(&a))) {
		read_rest_of_entity(&a);
		skip_notes(&a);
		if (peek_char(&a, 0) != '_' || !ada_names_skip(&a, "__"))
			break;
		buf_u8(out, '.');
	}
	ok = ok && a.at == a.end;
	if (!ok)
		out->len = 0;
	return ok;
}
