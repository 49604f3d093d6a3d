/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include "base/mem.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Unicode 15, table 3-7. */
size_t utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	static const struct {
		unsigned char first, last, low, high;
		size_t len;
	} forms[] = {
		{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (forms[i].len > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

/* Characters that stand for themselves in any case: most of most names. */
static size_t plain_len(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

static uint32_t utf8_code_point(const unsigned char *s, size_t len)
{
	uint32_t c = len == 1 ? *s : *s & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* Unicode 15: control characters, line separators, and the controls of UAX #9 (bidirectional). */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Appends up to the next character that is not plain; its length, 0 at the end of the text. */
static size_t append_plain(struct buf *out, const unsigned char **s, bool *is_valid)
{
	size_t len = plain_len(*s);

	buf_bytes(out, *s, len);
	*s += len;
	if (!**s)
		return 0;
	len = utf8_len((const char *)*s);
	*is_valid = len > 0;
	return MAX(len, (size_t)1);
}

void utf8_append(struct buf *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	bool is_valid;

	for (size_t len; (len = append_plain(out, &s, &is_valid)) > 0; s += len)
		if (is_valid)
			buf_bytes(out, s, len);
		else
			buf_str(out, REPLACEMENT);
}

void utf8_append_visible(struct buf *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	bool is_valid;

	for (size_t len; (len = append_plain(out, &s, &is_valid)) > 0; s += len) {
		uint32_t c = is_valid ? utf8_code_point(s, len) : *s;

		if (!is_valid || (len == 1 && is_control(c)))
			buf_printf(out, "\\x%02x", c);
		else if (is_control(c))
			buf_printf(out, "\\u{%04x}", c);
		else
			buf_bytes(out, s, len);
	}
}

size_t utf8_control(const char *text, uint32_t *code_point)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = *s < 0xc2 ? 0 : utf8_len(text);

	*code_point = len > 1 ? utf8_code_point(s, len) : 0;
	return len > 1 && is_control(*code_point) ? len : 0;
}
