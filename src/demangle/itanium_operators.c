/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two-letter codes of operators and expressions. */
#include <stdlib.h>
#include <string.h>

#include "demangle/itanium_operators.h"
#include "demangle/itanium_tree.h"

/* Sorted by code. */
const struct itanium_operator itanium_operators[] = {
	{ "aN", FORM_BINARY, true, "&=" },
	{ "aS", FORM_BINARY, true, "=" },
	{ "aa", FORM_BINARY, true, "&&" },
	{ "ad", FORM_PREFIX, true, "&" },
	{ "an", FORM_BINARY, true, "&" },
	{ "at", FORM_OF_TYPE, false, "alignof " },
	{ "aw", FORM_PREFIX, true, "co_await " },
	{ "az", FORM_PREFIX, false, "alignof " },
	{ "cc", FORM_NAMED_CAST, false, "const_cast" },
	{ "cl", FORM_CALL, true, "()" },
	{ "cm", FORM_BINARY, true, "," },
	{ "co", FORM_PREFIX, true, "~" },
	{ "cp", FORM_CALL_NAME, false, "" },
	{ "cv", FORM_CAST, false, "" },
	{ "dV", FORM_BINARY, true, "/=" },
	{ "da", FORM_DELETE, true, "delete[] " },
	{ "dc", FORM_NAMED_CAST, false, "dynamic_cast" },
	{ "de", FORM_PREFIX, true, "*" },
	{ "dl", FORM_DELETE, true, "delete " },
	{ "ds", FORM_BINARY, false, ".*" },
	{ "dt", FORM_MEMBER, false, "." },
	{ "dv", FORM_BINARY, true, "/" },
	{ "eO", FORM_BINARY, true, "^=" },
	{ "eo", FORM_BINARY, true, "^" },
	{ "eq", FORM_BINARY, true, "==" },
	{ "fL", FORM_FOLD, false, "" },
	{ "fR", FORM_FOLD, false, "" },
	{ "fl", FORM_FOLD, false, "" },
	{ "fr", FORM_FOLD, false, "" },
	{ "ge", FORM_BINARY, true, ">=" },
	{ "gt", FORM_BINARY, true, ">" },
	{ "il", FORM_LIST, false, "" },
	{ "ix", FORM_BINARY, true, "[]" },
	{ "lS", FORM_BINARY, true, "<<=" },
	{ "le", FORM_BINARY, true, "<=" },
	{ "ls", FORM_BINARY, true, "<<" },
	{ "lt", FORM_BINARY, true, "<" },
	{ "mI", FORM_BINARY, true, "-=" },
	{ "mL", FORM_BINARY, true, "*=" },
	{ "mi", FORM_BINARY, true, "-" },
	{ "ml", FORM_BINARY, true, "*" },
	{ "mm", FORM_POSTFIX, true, "--" },
	{ "na", FORM_NEW, true, "new[] " },
	{ "ne", FORM_BINARY, true, "!=" },
	{ "ng", FORM_PREFIX, true, "-" },
	{ "nt", FORM_PREFIX, true, "!" },
	{ "nw", FORM_NEW, true, "new " },
	{ "nx", FORM_PREFIX, false, "noexcept " },
	{ "oR", FORM_BINARY, true, "|=" },
	{ "oo", FORM_BINARY, true, "||" },
	{ "or", FORM_BINARY, true, "|" },
	{ "pL", FORM_BINARY, true, "+=" },
	{ "pl", FORM_BINARY, true, "+" },
	{ "pm", FORM_BINARY, true, "->*" },
	{ "pp", FORM_POSTFIX, true, "++" },
	{ "ps", FORM_PREFIX, true, "+" },
	{ "pt", FORM_MEMBER, true, "->" },
	{ "qu", FORM_CONDITIONAL, true, "?" },
	{ "rM", FORM_BINARY, true, "%=" },
	{ "rS", FORM_BINARY, true, ">>=" },
	{ "rc", FORM_NAMED_CAST, false, "reinterpret_cast" },
	{ "rm", FORM_BINARY, true, "%" },
	{ "rs", FORM_BINARY, true, ">>" },
	{ "sP", FORM_COUNT_LIST, false, "" },
	{ "sZ", FORM_COUNT, false, "" },
	{ "sc", FORM_NAMED_CAST, false, "static_cast" },
	{ "sp", FORM_EXPANSION, false, "" },
	{ "ss", FORM_BINARY, true, "<=>" },
	{ "st", FORM_OF_TYPE, false, "sizeof " },
	{ "sz", FORM_PREFIX, false, "sizeof " },
	{ "te", FORM_PREFIX, false, "typeid " },
	{ "ti", FORM_OF_TYPE, false, "typeid " },
	{ "tl", FORM_BRACED, false, "" },
	{ "tr", FORM_RETHROW, false, "throw" },
	{ "tw", FORM_PREFIX, false, "throw " },
};

static int compare_code(const void *code, const void *row)
{
	return memcmp(code, ((const struct itanium_operator *)row)->code, 2);
}

int itanium_operator_find(const char *code)
{
	const struct itanium_operator *row =
		bsearch(code, itanium_operators, ARRAY_SIZE(itanium_operators),
			sizeof(*itanium_operators), compare_code);

	return row ? (int)(row - itanium_operators) : -1;
}

/* "cv" type */
static node_id conversion(struct itanium *p, struct itanium_name *facts)
{
	node_id type;

	p->at += 2;
	p->is_conversion = true;
	type = itanium_type(p);
	p->is_conversion = false;
	if (facts)
		facts->has_no_return_type = true;
	return type ? itanium_node(p, NODE_CONVERSION, type, 0, 0) : 0;
}

/* "li" name, "v0" name */
static node_id named_operator(struct itanium *p, enum node_kind kind)
{
	node_id name;

	p->at += 2;
	name = itanium_source_name(p);
	return name ? itanium_node(p, kind, name, 0, 0) : 0;
}

node_id itanium_operator_name(struct itanium *p, struct itanium_name *facts)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);
	int row;

	if (c == 'c' && next == 'v')
		return conversion(p, facts);
	if (c == 'l' && next == 'i')
		return named_operator(p, NODE_LITERAL_OPERATOR);
	if (c == 'v' && next >= '0' && next <= '9')
		return named_operator(p, NODE_VENDOR_OPERATOR);
	row = c && next ? itanium_operator_find(p->at) : -1;
	if (row < 0 || !itanium_operators[row].is_name)
		return 0;
	p->at += 2;
	return itanium_node(p, NODE_OPERATOR, 0, 0, (uint32_t)row);
}
