/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/ocaml_names.h"

#include <string.h>

static int ocaml_names_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character of "$2b" at `at`; 0 if there is none. */
static int parse_escape(const char *at, const char *end)
{
	int high, low;

	if (end - at < 3 || *at != '$')
		return 0;
	high = ocaml_names_hex_digit(at[1]);
	low = ocaml_names_hex_digit(at[2]);
	return high < 0 || low < 0 ? 0 : high * 16 + low;
}

/* Since OCaml 5.1, "__" is a separator only within the module's name: before the first '.'. */
static void ocaml_names_put_names(const char *at, const char *end, struct buf *out)
{
	const char *dot = memchr(at, '.', (size_t)(end - at));
	const char *module_end = dot ? dot : end;

	while (at < end) {
		int c = parse_escape(at, end);
		bool is_separator = at + 2 < end && at < module_end && at[0] == '_' &&
				    at[1] == '_' && at[2] != '_';

		if (is_separator || (*at == '$' && !c))
			buf_u8(out, '.');
		else
			buf_u8(out, (uint8_t)(c ? c : *at));
		at += is_separator ? 2 : c ? 3 : 1;
	}
}

bool ocaml_demangle(const char *name, size_t len, struct buf *out)
{
	out->len = 0;
	if (len < 5 || memcmp(name, "caml", 4) != 0 || name[4] < 'A' || name[4] > 'Z')
		return false;
	ocaml_names_put_names(name + 4, name + len, out);
	return true;
}
