/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/utf8.h"

/* Whether U+2028 or U+2029, which end a line in old JavaScript, begins here. */
static bool is_line_separator(const uint8_t *s, const uint8_t *end)
{
	return end - s >= 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] & 0xfe) == 0xa8;
}

static void json_put_escaped(struct buf *out, const uint8_t *s, const uint8_t *end)
{
	for (; s < end; s++) {
		if (*s == '"' || *s == '\\') {
			buf_u8(out, '\\');
			buf_u8(out, *s);
		} else if (*s < 0x20 || *s == '<' || *s == 0x7f) {
			buf_printf(out, "\\u%04x", *s);
		} else if (is_line_separator(s, end)) {
			buf_printf(out, "\\u%04x", 0x2028 + (s[2] & 1));
			s += 2;
		} else {
			buf_u8(out, *s);
		}
	}
}

void json_put_string(struct buf *out, const char *text)
{
	struct buf clean = { 0 };

	utf8_append(&clean, text, false);
	buf_u8(out, '"');
	json_put_escaped(out, clean.data, clean.data + clean.len);
	buf_u8(out, '"');
	buf_fini(&clean);
}

void json_put_key(struct buf *out, const char *key)
{
	if (out->len && out->data[out->len - 1] != '{')
		buf_u8(out, ',');
	buf_u8(out, '"');
	buf_str(out, key);
	buf_str(out, "\":");
}

void json_put_number(struct buf *out, const char *key, uint64_t v)
{
	char text[24], *at = text + sizeof(text);

	json_put_key(out, key);
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	buf_bytes(out, at, (size_t)(text + sizeof(text) - at));
}

void json_put_text(struct buf *out, const char *key, const char *text)
{
	json_put_key(out, key);
	json_put_string(out, text);
}
