/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/fortran_names.h"

#include <string.h>

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* gfortran: "__MODULE_MOD_PROCEDURE", submodules as "__MODULE.SUBMODULE_MOD_PROCEDURE". */
static bool put_gfortran(const char *name, size_t len, struct buf *out)
{
	static const char mark[] = "_MOD_";
	const char *end = name + len;
	const char *found = len > 3 ? memmem(name + 3, len - 3, mark, strlen(mark)) : NULL;

	if (!found || found + strlen(mark) == end)
		return false;
	for (const char *at = name + 2; at < found; at++) {
		if (!is_name_character(*at) && *at != '.')
			return false;
		if (*at == '.')
			buf_str(out, "::");
		else
			buf_u8(out, (uint8_t)*at);
	}
	found += strlen(mark);
	buf_str(out, "::");
	buf_bytes(out, found, (size_t)(end - found));
	return true;
}

/* flang: a capital letter before each name is its kind; P, the procedure, is the last. */
static bool put_flang(const char *at, const char *end, struct buf *out)
{
	while (at < end && strchr("MSFP", *at)) {
		bool is_last = *at++ == 'P';
		const char *start = at;

		while (at < end && is_name_character(*at))
			at++;
		if (at > start && out->len)
			buf_str(out, "::");
		buf_bytes(out, start, (size_t)(at - start));
		if (is_last)
			return at == end && at > start;
	}
	return false;
}

bool fortran_demangle(const char *name, size_t len, struct buf *out)
{
	bool ok = false;

	out->len = 0;
	if (len > 2 && name[0] == '_' && name[1] == '_')
		ok = put_gfortran(name, len, out);
	else if (len > 2 && name[0] == '_' && name[1] == 'Q')
		ok = put_flang(name + 2, name + len, out);
	if (!ok)
		out->len = 0;
	return ok;
}
