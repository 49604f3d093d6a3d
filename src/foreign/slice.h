/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of text that belongs to someone else: what readers of text formats cut lines into. An
 * empty one may be at NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *at; /* not NUL-terminated */
	size_t len;
};

#define SLICE(literal) ((struct slice){ literal, sizeof(literal) - 1 })

static inline struct slice slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

static inline struct slice slice_from(struct slice s, size_t at)
{
	return (struct slice){ s.at + at, s.len - at };
}

static inline struct slice slice_head(struct slice s, size_t len)
{
	return (struct slice){ s.at, len };
}

static inline bool slice_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline struct slice slice_trim(struct slice s)
{
	while (s.len && slice_is_space(s.at[0]))
		s = slice_from(s, 1);
	while (s.len && slice_is_space(s.at[s.len - 1]))
		s.len--;
	return s;
}

static inline bool slice_starts(struct slice s, struct slice with)
{
	return s.len >= with.len && (!with.len || !memcmp(s.at, with.at, with.len));
}

static inline bool slice_ends(struct slice s, struct slice with)
{
	return s.len >= with.len &&
	       (!with.len || !memcmp(s.at + s.len - with.len, with.at, with.len));
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && slice_starts(a, b);
}

/* Cuts the first line off *rest, without its newline; false when nothing is left. */
static inline bool slice_line(struct slice *rest, struct slice *line)
{
	const char *end = rest->len ? memchr(rest->at, '\n', rest->len) : NULL;

	if (!rest->len)
		return false;
	*line = slice_head(*rest, end ? (size_t)(end - rest->at) : rest->len);
	*rest = slice_from(*rest, line->len + (end != NULL));
	return true;
}

/* Cuts the first word off *rest and the blanks before it; a word of len 0 when there is none. */
static inline struct slice slice_word(struct slice *rest)
{
	struct slice word;
	size_t n = 0;

	while (rest->len && slice_is_space(rest->at[0]))
		*rest = slice_from(*rest, 1);
	while (n < rest->len && !slice_is_space(rest->at[n]))
		n++;
	word = slice_head(*rest, n);
	*rest = slice_from(*rest, n);
	return word;
}

/* All of the slice as a number in base 10 or 16, without sign or prefix; false for anything else.
 */
static inline bool slice_number(struct slice s, unsigned int base, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.at[i];
		unsigned int digit = c >= '0' && c <= '9'   ? (unsigned int)(c - '0')
				     : c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10
				     : c >= 'A' && c <= 'F' ? (unsigned int)(c - 'A') + 10
							    : 99;

		if (digit >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	if (s.len)
		*out = v;
	return s.len > 0;
}
