/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/haskell_names.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define MAX_PARTS 8

struct part {
	const char *text;
	size_t len;
};

/* "package_Module_name_con_info" in its parts. */
struct haskell_name {
	struct part parts[MAX_PARTS];
	size_t n;
	size_t module; /* index of the module's part; the parts before it are the package */
};

static bool haskell_names_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_name_part(struct part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.text, text, p.len);
}

static bool haskell_names_split(const char *name, size_t len, struct haskell_name *out)
{
	const char *end = name + len;

	out->n = 0;
	while (name < end) {
		const char *next = memchr(name, '_', (size_t)(end - name));

		if (out->n == MAX_PARTS || next == name)
			return false;
		next = next ? next : end;
		out->parts[out->n++] = (struct part){ name, (size_t)(next - name) };
		name = next + 1;
	}
	return name > end; /* the last character is no '_' */
}

/* A package may have an upper case name, too: "HUnit_Test_run_info". */
static bool find_module(struct haskell_name *h)
{
	if (h->n >= 4 && haskell_names_is_upper(h->parts[1].text[0]) &&
	    !is_name_part(h->parts[0], "stg"))
		h->module = 1;
	else if (h->n >= 3 && haskell_names_is_upper(h->parts[0].text[0]))
		h->module = 0;
	else
		return false;
	return true;
}

size_t haskell_module_len(const char *name, size_t len)
{
	struct haskell_name h;

	if (!haskell_names_split(name, len, &h) || !find_module(&h))
		return 0;
	return (size_t)(h.parts[h.module].text + h.parts[h.module].len - name);
}

struct escape {
	char letter;
	const char *text;
};

static const struct escape lower_escapes[] = {
	{ 'a', "&" }, { 'b', "|" }, { 'c', "^" }, { 'd', "$" },  { 'e', "=" },
	{ 'g', ">" }, { 'h', "#" }, { 'i', "." }, { 'l', "<" },  { 'm', "-" },
	{ 'n', "!" }, { 'p', "+" }, { 'q', "'" }, { 'r', "\\" }, { 's', "/" },
	{ 't', "*" }, { 'u', "_" }, { 'v', "%" }, { 'z', "z" },  { 0, NULL },
};

static const struct escape upper_escapes[] = {
	{ 'C', ":" }, { 'L', "(" }, { 'M', "[" }, { 'N', "]" },
	{ 'R', ")" }, { 'Z', "Z" }, { 0, NULL },
};

static bool put_escape(const struct escape *escapes, char letter, struct buf *out)
{
	for (; escapes->letter; escapes++)
		if (escapes->letter == letter) {
			buf_str(out, escapes->text);
			return true;
		}
	return false;
}

static int haskell_names_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void put_utf8(uint32_t code, struct buf *out)
{
	int n_more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	/* The first byte has as many leading ones as there are bytes. */
	buf_u8(out, (uint8_t)(n_more ? 0xf80 >> n_more | code >> 6 * n_more : code));
	while (n_more--)
		buf_u8(out, (uint8_t)(0x80 | (code >> 6 * n_more & 0x3f)));
}

/* "z3bbU": a character by its code; returns the length, 0 if damaged. `p` starts behind the 'z'. */
static size_t put_character(struct part p, struct buf *out)
{
	uint32_t code = 0;
	size_t i = 0;

	for (; i < p.len && haskell_names_hex_digit(p.text[i]) >= 0; i++) {
		code = code * 16 + (uint32_t)haskell_names_hex_digit(p.text[i]);
		if (code > 0x10ffff)
			return 0;
	}
	if (i == p.len || p.text[i] != 'U' || code < 0x20)
		return 0;
	put_utf8(code, out);
	return i + 1;
}

#define MAX_TUPLE 64 /* of GHC */

/* "Z3T" is (,,), "Z2H" is (#,#), "Z0T" is (); `p` starts behind the 'Z'. */
static size_t put_tuple(struct part p, struct buf *out)
{
	bool is_unboxed;
	size_t n = 0, i = 0;

	for (; i < p.len && p.text[i] >= '0' && p.text[i] <= '9' && n <= MAX_TUPLE; i++)
		n = n * 10 + (size_t)(p.text[i] - '0');
	if (i == p.len || n > MAX_TUPLE || (p.text[i] != 'T' && p.text[i] != 'H'))
		return 0;
	is_unboxed = p.text[i] == 'H';
	buf_str(out, is_unboxed ? "(#" : "(");
	for (size_t k = 1; k < n; k++)
		buf_u8(out, ',');
	buf_str(out, is_unboxed ? "#)" : ")");
	return i + 1;
}

/* The length of the escape that `p` starts with, whose text is added; 0 if damaged. */
static size_t put_escaped(struct part p, struct buf *out)
{
	struct part rest = { p.text + 1, p.len - 1 };
	bool is_lower = p.text[0] == 'z';
	size_t len;

	if (!rest.len)
		return 0;
	if (rest.text[0] >= '0' && rest.text[0] <= '9') {
		len = is_lower ? put_character(rest, out) : put_tuple(rest, out);
		return len ? len + 1 : 0;
	}
	return put_escape(is_lower ? lower_escapes : upper_escapes, rest.text[0], out) ? 2 : 0;
}

static bool put_decoded(struct part p, struct buf *out)
{
	while (p.len) {
		size_t len = 1;

		if (*p.text == 'z' || *p.text == 'Z')
			len = put_escaped(p, out);
		else
			buf_u8(out, (uint8_t)*p.text);
		if (!len)
			return false;
		p.text += len;
		p.len -= len;
	}
	return true;
}

/* The number of parts at the end that name the symbol's kind: "info", "con_info". */
static size_t count_kind_parts(const struct haskell_name *h)
{
	static const char *const kinds[] = { "info", "entry", "slow",    "fast", "ret",
					     "srt",  "bytes", "closure", "tbl" };
	static const char *const firsts[] = { "con", "static", "ret" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!is_name_part(h->parts[h->n - 1], kinds[i]))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(firsts) && h->n >= h->module + 4; k++)
			if (is_name_part(h->parts[h->n - 2], firsts[k]))
				return 2;
		return 1;
	}
	return 0;
}

static void haskell_names_put_kind(const struct haskell_name *h, size_t first, struct buf *out)
{
	struct part p = h->parts[first], last = h->parts[h->n - 1];

	if (first + 1 == h->n && (is_name_part(p, "info") || is_name_part(p, "entry")))
		return;
	buf_str(out, " [");
	buf_bytes(out, p.text, (size_t)(last.text + last.len - p.text));
	buf_u8(out, ']');
}

static bool put_parts(const struct haskell_name *h, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_u8(out, i <= h->module ? ':' : i == h->module + 1 ? '.' : '_');
		if (!put_decoded(h->parts[i], out))
			return false;
	}
	return true;
}

bool haskell_demangle(const char *name, size_t len, struct buf *out)
{
	struct haskell_name h;
	size_t n_kind;
	bool ok = false;

	out->len = 0;
	if (haskell_names_split(name, len, &h) && find_module(&h)) {
		n_kind = count_kind_parts(&h);
		/* The unique of a local function may follow the name: "Main_go_s4Gh_info". */
		ok = n_kind && h.n - n_kind - h.module >= 2 && h.n - n_kind - h.module <= 3 &&
		     put_parts(&h, h.n - n_kind, out);
		if (ok)
			haskell_names_put_kind(&h, h.n - n_kind, out);
	}
	if (!ok)
		out->len = 0;
	return ok;
}
