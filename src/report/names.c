/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/names.h"

#include <string.h>

#include "base/mem.h"
#include "profile/query.h"

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t width_n(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += begins_character(text[i]);
	return width;
}

size_t name_width(const char *text)
{
	return width_n(text, strlen(text));
}

/* Bytes of the first `width` characters. */
static size_t head_len(const char *text, size_t width)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (begins_character(text[i]) && width-- == 0)
			break;
	return i;
}

void name_append_cut(struct buf *out, const char *text, size_t width, const char *ellipsis)
{
	size_t dots = name_width(ellipsis), all = name_width(text), head, tail;

	if (!width || all <= width) {
		buf_str(out, text);
		return;
	}
	if (width <= dots + 1) {
		buf_bytes(out, text, head_len(text, width));
		return;
	}
	head = (width - dots + 1) / 2;
	tail = width - dots - head;
	buf_bytes(out, text, head_len(text, head));
	buf_str(out, ellipsis);
	buf_str(out, text + head_len(text, all - tail));
}

/* Whether the bracket at `at` is part of an operator's name or an arrow. */
static bool names_is_operator(const char *name, size_t at)
{
	static const char word[] = "operator";
	size_t i = at;

	if (name[at] == '>' && at && name[at - 1] == '-')
		return true;
	while (i && strchr("<>=-", name[i - 1]))
		i--;
	return i >= sizeof(word) - 1 &&
	       !strncmp(name + i - sizeof(word) + 1, word, sizeof(word) - 1);
}

/* Replaces the template arguments below `depth` levels of <> with the ellipsis. */
static void elide_arguments(struct buf *out, const char *name, int depth, const char *ellipsis)
{
	int level = 0;

	for (size_t i = 0; name[i]; i++) {
		if (name[i] == '>' && !names_is_operator(name, i) && level > 0)
			level--;
		if (level <= depth)
			buf_u8(out, (uint8_t)name[i]);
		if (name[i] == '<' && !names_is_operator(name, i) && level++ == depth)
			buf_str(out, ellipsis);
	}
}

static void without_parameters(struct buf *out, const char *name, const char *ellipsis)
{
	size_t len = function_base_len(name);

	buf_bytes(out, name, len);
	if (name[len] == '(')
		buf_printf(out, "(%s)", name[len + 1] == ')' ? "" : ellipsis);
}

void name_append_short(struct buf *out, const char *name, size_t width, const char *ellipsis)
{
	struct buf base = { 0 }, shorter = { 0 };
	int depth = 3;

	if (!width || name_width(name) <= width) {
		buf_str(out, name);
		return;
	}
	without_parameters(&base, name, ellipsis);
	buf_str(&shorter, buf_cstr(&base));
	while (name_width(buf_cstr(&shorter)) > width && depth-- > 0) {
		shorter.len = 0;
		elide_arguments(&shorter, buf_cstr(&base), depth, ellipsis);
	}
	name_append_cut(out, buf_cstr(&shorter), width, ellipsis);
	buf_fini(&base);
	buf_fini(&shorter);
}
