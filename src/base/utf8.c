/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include "base/mem.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The bytes of the character at `s`, 0 if it is not valid (Unicode 15, table 3-7). */
static size_t utf8_len(const unsigned char *s)
{
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

void utf8_append(struct buf *out, const char *text, bool escape_controls)
{
	const unsigned char *s = (const unsigned char *)text;

	for (;;) {
		size_t len = plain_len(s);
		bool is_control;

		buf_bytes(out, s, len);
		s += len;
		if (!*s)
			break;
		len = utf8_len(s);
		is_control = *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
		if (!len)
			buf_str(out, REPLACEMENT);
		else if (is_control && escape_controls)
			buf_u8(out, '?');
		else
			buf_bytes(out, s, len);
		s += len ? len : 1;
	}
}
