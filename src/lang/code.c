/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/code.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/reader.h"
#include "lang/hotspot.h"
#include "lang/language.h"
#include "lang/python.h"
#include "lang/ruby.h"
#include "lang/v8.h"

#define STATE_KIND(state) ((state) >> 2 & 7) /* bytes of a character: 1, 2 or 4 */
#define REPLACEMENT       0xfffd

static void append_utf8(struct buf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || !c)
		c = REPLACEMENT;
	if (c < 0x80) {
		buf_u8(out, (uint8_t)c);
	} else if (c < 0x800) {
		buf_u8(out, (uint8_t)(0xc0 | c >> 6));
		buf_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_u8(out, (uint8_t)(0xe0 | c >> 12));
		buf_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf_u8(out, (uint8_t)(0xf0 | c >> 18));
		buf_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buf_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

void lang_append_text(const struct lang_text *text, struct buf *out)
{
	struct reader r = reader_over(text->bytes, MIN(text->size, (uint32_t)LANG_TEXT_MAX));
	uint32_t kind = STATE_KIND(text->state);

	if (text->state & LANG_TEXT_BYTES) {
		const char *bytes = (const char *)text->bytes;

		buf_bytes(out, bytes, strnlen(bytes, reader_left(&r)));
		return;
	}
	while (reader_left(&r) >= kind)
		switch (kind) {
		case 1:
			append_utf8(out, reader_u8(&r)); /* Latin-1 */
			break;
		case 2:
			append_utf8(out, reader_u16(&r));
			break;
		case 4:
			append_utf8(out, reader_u32(&r));
			break;
		default:
			return;
		}
}

void lang_append_file(const struct lang_code *code, struct buf *out)
{
	static const char numbered[] = "(eval ";
	size_t start = out->len;

	lang_append_text(&code->file, out);
	if (code->language != LANGUAGE_PERL || out->len - start < strlen(numbered) ||
	    memcmp(out->data + start, numbered, strlen(numbered)) != 0)
		return;
	out->len = start;
	buf_str(out, "(eval)");
}

void lang_append_name(const struct lang_code *code, struct buf *out)
{
	size_t start = out->len;

	lang_append_text(&code->scope, out);
	if (out->len > start)
		buf_str(out, code->language == LANGUAGE_JAVA ? "." : "::");
	lang_append_text(&code->name, out);
	if (out->len == start && code->language != LANGUAGE_PYTHON)
		buf_str(out, "<main>"); /* the code of a file has no name */
}

static int64_t line_at(const struct lang_code *code, uint32_t position)
{
	switch (code->language) {
	case LANGUAGE_PYTHON:
		return python_line(code, position);
	case LANGUAGE_RUBY:
		return ruby_line(code, position);
	case LANGUAGE_JAVA:
		return java_line(code, position);
	case LANGUAGE_JAVASCRIPT:
		return v8_line(code, position);
	default:
		return position;
	}
}

uint32_t lang_line(const struct lang_code *code, uint32_t position)
{
	int64_t line = 0;

	if (position != UINT32_MAX) /* not begun */
		line = line_at(code, position);
	if (line <= 0)
		line = code->first_line;
	return line <= LANG_LINE_LIMIT ? (uint32_t)line : 0;
}
