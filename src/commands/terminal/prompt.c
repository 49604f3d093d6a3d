/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/terminal/prompt.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define ESCAPE 27

void prompt_begin(struct prompt *p, const char *text)
{
	snprintf(p->text, sizeof(p->text), "%s", text);
}

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static void erase_character(char *text)
{
	size_t len = strlen(text);

	while (len && is_inside_character(text[--len]))
		text[len] = '\0';
	text[len] = '\0';
}

enum prompt_state prompt_take(struct prompt *p, int key)
{
	size_t len = strlen(p->text);

	if (key == '\n')
		return PROMPT_IS_DONE;
	if (key == ESCAPE)
		return PROMPT_IS_LEFT;
	if (key == '\b') {
		erase_character(p->text);
	} else if (key >= ' ' && key < 256 && len + 1 < sizeof(p->text)) {
		p->text[len] = (char)key;
		p->text[len + 1] = '\0';
	}
	return PROMPT_GOES_ON;
}

void prompt_put_words(const char *words, const char *word, struct buf *out)
{
	size_t tag = strcspn(word, ":") + 1;
	cleanup(free_at_exit) char *old = xstrdup(words);
	char *rest = NULL;

	for (char *was = strtok_r(old, " ", &rest); was; was = strtok_r(NULL, " ", &rest))
		if (strncmp(was, word, tag) != 0)
			buf_printf(out, "%s ", was);
	buf_str(out, word);
}

void prompt_put(const struct prompt *p, const char *title, struct buf *out)
{
	buf_printf(out, "%s: ", title);
	utf8_append_visible(out, p->text);
	buf_u8(out, '_');
}
