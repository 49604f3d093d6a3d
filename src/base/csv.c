/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/csv.h"

#include <string.h>

#include "base/utf8.h"

static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

void csv_put_text(struct buf *out, const char *text, bool is_raw)
{
	bool is_quoted = strpbrk(text, ",\"\r\n");
	struct buf clean = { 0 };
	char *rest, *part;

	if (is_quoted)
		buf_u8(out, '"');
	if (!is_raw && is_formula(text))
		buf_u8(out, '\'');
	if (!is_quoted) {
		utf8_append(out, text);
		return;
	}
	utf8_append(&clean, text);
	buf_cstr(&clean);
	rest = (char *)clean.data;
	while ((part = strsep(&rest, "\""))) {
		buf_str(out, part);
		buf_str(out, rest ? "\"\"" : "\"");
	}
	buf_fini(&clean);
}
