/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/utf8.h"

/* `text` is valid UTF-8. Control characters become \uNNNN: a terminal may show the output. */
static void json_put_escaped(struct buf *out, const char *text)
{
	for (const char *s = text; *s; s++) {
		uint32_t c = (uint8_t)*s;
		size_t len = utf8_control(s, &c);

		if (len) {
			buf_printf(out, "\\u%04x", c);
			s += len - 1;
		} else if (*s == '"' || *s == '\\') {
			buf_u8(out, '\\');
			buf_u8(out, (uint8_t)*s);
		} else if ((uint8_t)*s < 0x20 || *s == '<' || *s == 0x7f) {
			buf_printf(out, "\\u%04x", (uint8_t)*s);
		} else {
			buf_u8(out, (uint8_t)*s);
		}
	}
}

void json_put_string(struct buf *out, const char *text)
{
	struct buf clean = { 0 };

	utf8_append(&clean, text);
	buf_u8(out, '"');
	json_put_escaped(out, buf_cstr(&clean));
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
