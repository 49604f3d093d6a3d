/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "annotate/python_source.h"

#include <string.h>

#define PARTS_MAX  16 /* of a qualified name */
#define BLOCKS_MAX 32 /* nested definitions; deeper ones are left out */
#define TAB_WIDTH  8

struct name_part {
	const char *at;
	size_t size;
};

/* A definition whose lines are not over. */
struct block {
	size_t indent;
	size_t n_found; /* parts of the name that lead to it; 0: it is another one */
};

struct python_search {
	struct name_part parts[PARTS_MAX];
	size_t n_parts;
	struct block blocks[BLOCKS_MAX];
	size_t n_blocks;
	uint32_t first, last, n_found;
	bool is_within; /* the lines are those of the function */
};

/* False: the name has no definition, or too many parts. */
static bool split_name(const char *name, struct python_search *s)
{
	while (*name) {
		size_t size = strcspn(name, ".");
		bool is_locals = size == 8 && !strncmp(name, "<locals>", size);

		if (!is_locals && (!size || *name == '<' || s->n_parts == PARTS_MAX))
			return false;
		if (!is_locals)
			s->parts[s->n_parts++] = (struct name_part){ name, size };
		name += size + (name[size] == '.');
	}
	return s->n_parts > 0;
}

static size_t indent_of(const char *text, size_t size, size_t *n_blanks)
{
	size_t indent = 0, i = 0;

	for (; i < size && (text[i] == ' ' || text[i] == '\t'); i++)
		indent += text[i] == '\t' ? TAB_WIDTH - indent % TAB_WIDTH : 1;
	*n_blanks = i;
	return indent;
}

static bool skip_word(struct name_part *text, const char *word)
{
	size_t n = strlen(word), blanks;

	if (text->size <= n || strncmp(text->at, word, n) != 0)
		return false;
	indent_of(text->at + n, text->size - n, &blanks);
	if (!blanks)
		return false;
	*text = (struct name_part){ text->at + n + blanks, text->size - n - blanks };
	return true;
}

static bool is_identifier_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* The name that the line defines; false if the line is no definition. */
static bool defined_name(const char *at, size_t size, struct name_part *name)
{
	struct name_part rest = { at, size };
	bool is_async = skip_word(&rest, "async");

	if (!skip_word(&rest, "def") && (is_async || !skip_word(&rest, "class")))
		return false;
	for (size = 0; size < rest.size && is_identifier_byte(rest.at[size]);)
		size++;
	*name = (struct name_part){ rest.at, size };
	return size > 0;
}

static void leave_blocks(struct python_search *s, size_t indent)
{
	while (s->n_blocks && s->blocks[s->n_blocks - 1].indent >= indent)
		s->is_within &= s->blocks[--s->n_blocks].n_found != s->n_parts;
}

static void enter_block(struct python_search *s, uint32_t line, size_t indent,
			const struct name_part *name)
{
	const struct block *outer = s->n_blocks ? &s->blocks[s->n_blocks - 1] : NULL;
	size_t n = outer ? outer->n_found : 0;
	const struct name_part *part = &s->parts[n];
	struct block block = { .indent = indent };

	if (s->n_blocks == BLOCKS_MAX)
		return;
	if ((!outer || n) && n < s->n_parts && part->size == name->size &&
	    !strncmp(part->at, name->at, name->size))
		block.n_found = n + 1;
	s->blocks[s->n_blocks++] = block;
	if (block.n_found != s->n_parts)
		return;
	s->first = line;
	s->is_within = true;
	s->n_found++;
}

bool python_source_find(const struct source_file *file, const char *name, uint32_t *first,
			uint32_t *last)
{
	struct python_search s = { 0 };
	struct name_part defined;
	const char *text;
	size_t size, n_blanks, indent;

	if (!split_name(name, &s))
		return false;
	for (uint32_t n = 1; n <= file->n_lines && source_line(file, n, &text, &size); n++) {
		indent = indent_of(text, size, &n_blanks);
		if (n_blanks == size || text[n_blanks] == '#' || text[n_blanks] == '\r')
			continue;
		leave_blocks(&s, indent);
		if (defined_name(text + n_blanks, size - n_blanks, &defined))
			enter_block(&s, n, indent, &defined);
		if (s.is_within)
			s.last = n;
	}
	if (s.n_found != 1)
		return false;
	*first = s.first;
	*last = s.last;
	return true;
}
