/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/markup.h"

#include "base/utf8.h"

void markup_print_text(const char *text, FILE *out)
{
	struct buf clean = { 0 };

	utf8_append_visible(&clean, text);
	for (const char *c = buf_cstr(&clean); *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			putc(*c, out);
		}
	}
	buf_fini(&clean);
}
