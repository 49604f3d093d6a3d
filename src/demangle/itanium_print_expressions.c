/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of expressions. */
#include <string.h>

#include "demangle/itanium_operators.h"
#include "demangle/itanium_print_expressions.h"

static const char *operator_text(const struct node *n)
{
	return itanium_operators[n->number].text;
}

static bool is_operator(const struct node *n, const char *code)
{
	return !strcmp(itanium_operators[n->number].code, code);
}

static void put_in(struct itanium_printer *pr, const char *open, node_id node, const char *close)
{
	itanium_put(pr, open);
	itanium_put_node(pr, node);
	itanium_put(pr, close);
}

static void put_list_in(struct itanium_printer *pr, const char *open, node_id list,
			const char *close)
{
	itanium_put(pr, open);
	itanium_put_list(pr, list);
	itanium_put(pr, close);
}

static const char *integer_suffix(uint32_t type)
{
	static const char *const suffixes[26] = {
		['i' - 'a'] = "",   ['j' - 'a'] = "u",  ['l' - 'a'] = "l",
		['m' - 'a'] = "ul", ['x' - 'a'] = "ll", ['y' - 'a'] = "ull",
	};

	return type >= 'a' && type <= 'z' ? suffixes[type - 'a'] : NULL;
}

static bool put_truth(struct itanium_printer *pr, const struct node *n)
{
	const struct node *digits = itanium_get(pr, n->b);

	if (n->number != 'b' || n->detail || digits->number != 1 || digits->text[0] > '1')
		return false;
	itanium_put(pr, digits->text[0] == '1' ? "true" : "false");
	return true;
}

static void put_literal(struct itanium_printer *pr, const struct node *n)
{
	const char *suffix = integer_suffix(n->number);
	bool is_float = n->number >= 'd' && n->number <= 'g';

	if (!n->b) {
		itanium_put_node(pr, n->a);
		return;
	}
	if (put_truth(pr, n))
		return;
	if (!suffix)
		put_in(pr, "(", n->a, ")");
	itanium_put(pr, n->detail ? "-" : "");
	put_in(pr, is_float ? "[" : "", n->b, is_float ? "]" : "");
	itanium_put(pr, suffix ? suffix : "");
}

static void itanium_print_expressions_put_string(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, "\"<", n->a, ">\"");
}

/* The address of a member function is "&" and its name: "&A::f". */
static node_id addressed_name(struct itanium_printer *pr, const struct node *n)
{
	const struct node *operand = itanium_get(pr, n->a);

	if (is_operator(n, "ad") && operand->kind == NODE_FUNCTION_NAME &&
	    itanium_get(pr, operand->a)->kind == NODE_SCOPED &&
	    !itanium_get(pr, operand->b)->detail)
		return operand->a;
	return n->a;
}

static void put_prefix(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, operator_text(n));
	itanium_put_operand(pr, addressed_name(pr, n));
}

static void put_postfix(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_operand(pr, n->a);
	itanium_put(pr, operator_text(n));
}

/* "(a>b)": a ">" would end the arguments of a template. */
static void put_binary(struct itanium_printer *pr, const struct node *n)
{
	bool is_greater = is_operator(n, "gt");

	itanium_put(pr, is_greater ? "(" : "");
	itanium_put_operand(pr, n->a);
	if (is_operator(n, "ix")) {
		put_in(pr, "[", n->b, "]");
		return;
	}
	itanium_put(pr, operator_text(n));
	itanium_put_operand(pr, n->b);
	itanium_put(pr, is_greater ? ")" : "");
}

static void put_member(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_operand(pr, n->a);
	itanium_put(pr, operator_text(n));
	itanium_put_node(pr, n->b);
}

static void put_conditional(struct itanium_printer *pr, const struct node *n)
{
	const struct node *first = itanium_get(pr, n->b);

	itanium_put_operand(pr, n->a);
	itanium_put(pr, "?");
	itanium_put_operand(pr, first->a);
	itanium_put(pr, " : ");
	itanium_put_operand(pr, itanium_get(pr, first->b)->a);
}

/* The types of a called function are not shown. */
static void put_call(struct itanium_printer *pr, const struct node *n)
{
	const struct node *function = itanium_get(pr, n->a);

	itanium_put_operand(pr, function->kind == NODE_FUNCTION_NAME ? function->a : n->a);
	put_list_in(pr, "(", n->b, ")");
}

static void put_vendor_call(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	put_list_in(pr, "(", n->b, ")");
}

static void put_cast(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, "(", n->a, ")");
	itanium_put_operand(pr, n->b);
}

static void put_cast_list(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, "(", n->a, ")");
	put_list_in(pr, "(", n->b, ")");
}

static void put_named_cast(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, operator_text(n));
	put_in(pr, "<", n->a, ">");
	put_in(pr, "(", n->b, ")");
}

static void put_braced(struct itanium_printer *pr, const struct node *n)
{
	if (n->a)
		itanium_put_node(pr, n->a);
	put_list_in(pr, "{", n->b, "}");
}

/* ".a.b[1]=" has one "=". */
static void put_designated_value(struct itanium_printer *pr, node_id value)
{
	uint8_t kind = itanium_get(pr, value)->kind;

	if (kind == NODE_FIELD || kind == NODE_INDEX || kind == NODE_INDEX_RANGE) {
		itanium_put_node(pr, value);
		return;
	}
	itanium_put(pr, "=");
	itanium_put_operand(pr, value);
}

static void itanium_print_expressions_put_field(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, ".", n->a, "");
	put_designated_value(pr, n->b);
}

static void put_index(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, "[", n->a, "]");
	put_designated_value(pr, n->b);
}

static void put_index_range(struct itanium_printer *pr, const struct node *n)
{
	const struct node *range = itanium_get(pr, n->a);

	put_in(pr, "[", range->a, " ... ");
	put_in(pr, "", range->b, "]");
	put_designated_value(pr, n->b);
}

static void put_new(struct itanium_printer *pr, const struct node *n)
{
	const struct node *made = itanium_get(pr, n->b);

	itanium_put(pr, operator_text(n));
	if (n->a)
		put_list_in(pr, "(", n->a, ") ");
	itanium_put_node(pr, made->a);
	if (made->b)
		put_in(pr, itanium_get(pr, made->b)->kind == NODE_PACK ? "(" : "", made->b,
		       itanium_get(pr, made->b)->kind == NODE_PACK ? ")" : "");
}

static void put_global(struct itanium_printer *pr, const struct node *n)
{
	put_in(pr, "::", n->a, "");
}

static void put_of_type(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, operator_text(n));
	put_in(pr, "(", n->a, ")");
}

static void itanium_print_expressions_put_count(struct itanium_printer *pr, const struct node *n)
{
	int64_t size = itanium_pack_size(pr, n->a);

	if (size < 0)
		put_in(pr, "sizeof...(", n->a, ")");
	else
		itanium_put_number(pr, (uint32_t)size);
}

static void put_count_list(struct itanium_printer *pr, const struct node *n)
{
	put_list_in(pr, "sizeof...(", n->a, ")");
}

static void put_function_param(struct itanium_printer *pr, const struct node *n)
{
	if (!n->number) {
		itanium_put(pr, "this");
		return;
	}
	itanium_put(pr, "{parm#");
	itanium_put_number(pr, n->number);
	itanium_put(pr, "}");
}

static void put_fold(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "(");
	if (n->a) {
		itanium_put_operand(pr, n->a);
		itanium_put(pr, operator_text(n));
	}
	itanium_put(pr, "...");
	if (n->b) {
		itanium_put(pr, operator_text(n));
		itanium_put_operand(pr, n->b);
	}
	itanium_put(pr, ")");
}

static void put_rethrow(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, operator_text(n));
}

static void put_requires(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "requires ");
	if (n->a)
		put_list_in(pr, "(", n->a, ") ");
	itanium_put(pr, "{");
	for (node_id list = n->b; list && !pr->has_failed; list = itanium_get(pr, list)->b)
		put_in(pr, " ", itanium_get(pr, list)->a, ";");
	itanium_put(pr, " }");
}

static void put_requirement(struct itanium_printer *pr, const struct node *n)
{
	bool is_checked = n->number || n->b;

	if (n->detail == 'T')
		itanium_put(pr, "typename ");
	else if (n->detail == 'Q')
		itanium_put(pr, "requires ");
	put_in(pr, is_checked ? "{" : "", n->a, is_checked ? "}" : "");
	itanium_put(pr, n->number ? " noexcept" : "");
	if (n->b)
		put_in(pr, " -> ", n->b, "");
}

itanium_print_fn *const itanium_print_expressions[NODE_KINDS] = {
	[NODE_LITERAL] = put_literal,
	[NODE_STRING] = itanium_print_expressions_put_string,
	[NODE_PREFIX] = put_prefix,
	[NODE_POSTFIX] = put_postfix,
	[NODE_BINARY] = put_binary,
	[NODE_MEMBER] = put_member,
	[NODE_CONDITIONAL] = put_conditional,
	[NODE_CALL] = put_call,
	[NODE_CAST] = put_cast,
	[NODE_CAST_LIST] = put_cast_list,
	[NODE_NAMED_CAST] = put_named_cast,
	[NODE_BRACED] = put_braced,
	[NODE_FIELD] = itanium_print_expressions_put_field,
	[NODE_INDEX] = put_index,
	[NODE_INDEX_RANGE] = put_index_range,
	[NODE_NEW] = put_new,
	[NODE_GLOBAL] = put_global,
	[NODE_OF_TYPE] = put_of_type,
	[NODE_COUNT] = itanium_print_expressions_put_count,
	[NODE_COUNT_LIST] = put_count_list,
	[NODE_FUNCTION_PARAM] = put_function_param,
	[NODE_FOLD] = put_fold,
	[NODE_RETHROW] = put_rethrow,
	[NODE_REQUIRES] = put_requires,
	[NODE_REQUIREMENT] = put_requirement,
	[NODE_VENDOR_CALL] = put_vendor_call,
};
