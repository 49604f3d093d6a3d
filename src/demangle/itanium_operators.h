/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operators of C++ names, for their parser and their printer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum itanium_form {
	FORM_NAME, /* only as the name of a function */
	FORM_PREFIX,
	FORM_POSTFIX,
	FORM_BINARY,
	FORM_MEMBER,
	FORM_CONDITIONAL,
	FORM_CALL,
	FORM_CALL_NAME,
	FORM_CAST,
	FORM_NAMED_CAST,
	FORM_BRACED,
	FORM_LIST,
	FORM_NEW,
	FORM_DELETE,
	FORM_OF_TYPE,
	FORM_COUNT,
	FORM_COUNT_LIST,
	FORM_EXPANSION,
	FORM_FOLD,
	FORM_RETHROW,
	FORM_N
};

struct itanium_operator {
	char code[3];
	uint8_t form;
	bool is_name; /* "operator+" is a function */
	const char *text;
};

extern const struct itanium_operator itanium_operators[];
/* The row of the two letters; -1: there is none. */
int itanium_operator_find(const char *code);
