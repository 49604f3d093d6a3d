/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of a print fmt (print_format.h), between its parser and its values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINT_DEPTH_MAX 100
#define PRINT_ARGS_MAX  64

enum print_node_kind {
	NODE_NUMBER,
	NODE_TEXT,   /* a literal */
	NODE_FIELD,  /* REC->name; an array's value is its bytes */
	NODE_BYTES,  /* __get_dynamic_array(), __get_str() … */
	NODE_LENGTH, /* __get_dynamic_array_len() */
	NODE_UNARY,
	NODE_BINARY,
	NODE_CHOICE, /* a ? b : c */
	NODE_CAST,
	NODE_FLAGS,    /* __print_flags(a, delimiter, { value, text } …) */
	NODE_SYMBOLIC, /* __print_symbolic(a, { value, text } …) */
	NODE_HEX,      /* __print_hex(a, n) */
	NODE_ARRAY,    /* __print_array(a, n, size) */
};

struct print_word {
	uint64_t value;
	const char *text;
};

struct print_node {
	enum print_node_kind kind;
	int op; /* of UNARY and BINARY: a character, or a PAIR of two */
	uint64_t number;
	const char *text; /* of TEXT; the delimiter of FLAGS */
	uint32_t field;   /* index */
	uint32_t cast_size;
	bool is_signed, has_blanks;
	struct print_node *a, *b, *c;
	struct print_word *words;
	size_t n_words;
};

struct print_format {
	const char *format;
	struct print_node *args[PRINT_ARGS_MAX];
	size_t n_args;
};

/* An operator of two characters as one number. */
#define PAIR(a, b) ((a) << 8 | (b))
