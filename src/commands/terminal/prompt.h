/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line that is being typed, in UTF-8. */
#pragma once

#include "base/buf.h"

#define PROMPT_SIZE 400

struct prompt {
	char text[PROMPT_SIZE];
};

enum prompt_state { PROMPT_GOES_ON, PROMPT_IS_DONE, PROMPT_IS_LEFT };

void prompt_begin(struct prompt *p, const char *text);

/* Takes a key of the screen: Enter is the end, Escape leaves. */
enum prompt_state prompt_take(struct prompt *p, int key);

/* Appends words of filters with `word` in place of those that have its tag. */
void prompt_put_words(const char *words, const char *word, struct buf *out);

/* "title: text_", safe to show. */
void prompt_put(const struct prompt *p, const char *title, struct buf *out);
