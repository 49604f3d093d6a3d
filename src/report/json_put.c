/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_put.h"

#include "base/utf8.h"

void json_put_string(struct buf *out, const char *text)
{
	struct buf clean = { 0 };

	utf8_append(&clean, text, false);
	buf_u8(out, '"');
	for (size_t i = 0; i < clean.len; i++) {
		uint8_t c = clean.data[i];

		if (c == '"' || c == '\\')
			buf_u8(out, '\\');
		if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", c);
		else
			buf_u8(out, c);
	}
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
