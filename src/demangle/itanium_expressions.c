/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions: arguments of templates, decltype, constraints. */
#include <string.h>

#include "demangle/itanium_operators.h"
#include "demangle/itanium_tree.h"

static bool itanium_expressions_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static node_id arguments_of(struct itanium *p, node_id name)
{
	return name && itanium_peek(p, 0) == 'I' ? itanium_template_args(p, name) : name;
}

static node_id simple_id(struct itanium *p)
{
	node_id name = itanium_source_name(p);

	while (name && itanium_skip(p, 'B')) {
		node_id tag = itanium_source_name(p);

		name = tag ? itanium_node(p, NODE_TAGGED, name, tag, 0) : 0;
	}
	return arguments_of(p, name);
}

/* "T_", "Dt…E" or "S_", perhaps with arguments */
static node_id unresolved_type(struct itanium *p)
{
	char c = itanium_peek(p, 0);

	if (c == 'T')
		return itanium_remember(p, itanium_template_param(p));
	if (c == 'D')
		return itanium_remember(p, itanium_decltype(p));
	if (c == 'S' && itanium_peek(p, 1) != 't')
		return itanium_substitution(p);
	return itanium_type(p);
}

static node_id destroyed_name(struct itanium *p)
{
	node_id name = itanium_expressions_is_digit(itanium_peek(p, 0)) ? simple_id(p)
									: unresolved_type(p);

	return name ? itanium_node(p, NODE_DESTRUCTOR, name, 0, 0) : 0;
}

static node_id itanium_expressions_base_name(struct itanium *p)
{
	if (itanium_expressions_is_digit(itanium_peek(p, 0)))
		return simple_id(p);
	if (itanium_skip_text(p, "dn"))
		return destroyed_name(p);
	itanium_skip_text(p, "on");
	return arguments_of(p, itanium_operator_name(p, NULL));
}

static bool starts_base_name(const struct itanium *p, size_t ahead)
{
	char c = itanium_peek(p, ahead), next = itanium_peek(p, ahead + 1);

	return itanium_expressions_is_digit(c) || (c == 'o' && next == 'n') ||
	       (c == 'd' && next == 'n');
}

static node_id scoped(struct itanium *p, node_id scope, node_id name)
{
	return scope && name ? itanium_node(p, NODE_SCOPED, scope, name, 0) : 0;
}

/* Names "E" name. gcc writes one name without its "E", and then the name itself. */
static node_id names_of_scopes(struct itanium *p, node_id scope, bool *is_type)
{
	uint32_t n_names = 0;

	do {
		node_id name = simple_id(p);

		scope = scope ? scoped(p, scope, name) : name;
		n_names++;
	} while (scope && itanium_expressions_is_digit(itanium_peek(p, 0)));
	if (!scope || itanium_peek(p, 0) != 'E' || !starts_base_name(p, 1)) {
		*is_type = n_names == 2;
		return scope;
	}
	p->at++;
	return scoped(p, scope, itanium_expressions_base_name(p));
}

/* "T_", "Dt…E", and the like with arguments */
static bool is_dependent(const struct itanium *p, node_id type)
{
	const struct node *n = &p->nodes.data[type];

	if (n->kind == NODE_TEMPLATE)
		n = &p->nodes.data[n->a];
	return n->kind == NODE_PARAMETER || n->kind == NODE_DECLTYPE;
}

static node_id names_in_scopes(struct itanium *p, bool *is_type)
{
	bool is_nested = itanium_peek(p, 0) == 'N' && itanium_peek(p, 1) &&
			 strchr("TDS", itanium_peek(p, 1));
	node_id scope;

	if (itanium_expressions_is_digit(itanium_peek(p, 0)))
		return names_of_scopes(p, 0, is_type);
	p->at += is_nested;
	scope = arguments_of(p, unresolved_type(p));
	if (!scope || !is_nested)
		return scope ? scoped(p, scope, itanium_expressions_base_name(p)) : 0;
	if (!is_dependent(p, scope)) {
		*is_type = true;
		return 0;
	}
	return names_of_scopes(p, scope, &(bool){ false });
}

/*
 * "sr" … By the ABI the scope is a list of names. gcc writes a type, which can be substituted later
 * in the name. A part that may be a type is read a second time.
 */
static node_id scoped_name(struct itanium *p)
{
	const char *start = p->at + 2;
	size_t n_nodes = p->nodes.n, n_substitutions = p->substitutions.n;
	bool is_type = false;
	node_id node;

	p->at = start;
	node = names_in_scopes(p, &is_type);
	if ((node && !is_type) || p->n_reread == ITANIUM_MAX_REREAD)
		return node;
	p->n_reread++;
	p->at = start;
	p->nodes.n = n_nodes;
	p->substitutions.n = n_substitutions;
	node = itanium_type(p);
	return node ? scoped(p, node, itanium_expressions_base_name(p)) : 0;
}

static node_id unresolved_name(struct itanium *p)
{
	if (itanium_peek(p, 0) == 's' && itanium_peek(p, 1) == 'r')
		return scoped_name(p);
	return itanium_expressions_base_name(p);
}

/* Expressions up to and with "E". */
static bool itanium_expressions(struct itanium *p, struct itanium_list *list)
{
	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, list, itanium_expression(p)))
			return false;
	return true;
}

/* "n" stands for minus; a float's digits are its bytes; "_" is in front of an imaginary part. */
static node_id literal_value(struct itanium *p, node_id type, char letter)
{
	bool is_negative = itanium_skip(p, 'n');
	const char *start = p->at;
	node_id text = 0, node;

	while (itanium_peek(p, 0) && strchr("0123456789abcdef_", itanium_peek(p, 0)))
		p->at++;
	if (p->at > start)
		text = itanium_text(p, start, (size_t)(p->at - start));
	if (!itanium_skip(p, 'E'))
		return 0;
	node = itanium_node(p, NODE_LITERAL, type, text, (uint32_t)letter);
	if (node)
		p->nodes.data[node].detail = is_negative;
	return node;
}

node_id itanium_literal(struct itanium *p)
{
	char c;
	node_id node;

	if (!itanium_skip(p, 'L'))
		return 0;
	if (itanium_skip_text(p, "_Z") || itanium_skip(p, 'Z')) {
		node = itanium_encoding(p);
		return node && itanium_skip(p, 'E') ? node : 0;
	}
	c = itanium_peek(p, 0);
	node = itanium_type(p);
	if (!node)
		return 0;
	if (c == 'A' && itanium_skip(p, 'E'))
		return itanium_node(p, NODE_STRING, node, 0, 0);
	return literal_value(p, node, c);
}

/* "fp0_", "fL0p_", "fpT" */
static node_id function_parameter(struct itanium *p)
{
	uint32_t index;

	p->at++;
	if (itanium_skip_text(p, "pT"))
		return itanium_node(p, NODE_FUNCTION_PARAM, 0, 0, 0);
	if (itanium_skip(p, 'L') && !itanium_number(p, &index))
		return 0;
	if (!itanium_skip(p, 'p'))
		return 0;
	itanium_qualifiers(p);
	return itanium_sequence(p, &index) ? itanium_node(p, NODE_FUNCTION_PARAM, 0, 0, index + 1)
					   : 0;
}

static node_id two(struct itanium *p, enum node_kind kind, uint32_t row)
{
	node_id a = itanium_expression(p), b = a ? itanium_expression(p) : 0;

	return b ? itanium_node(p, kind, a, b, row) : 0;
}

static node_id prefix_form(struct itanium *p, uint32_t row)
{
	node_id a = itanium_expression(p);

	return a ? itanium_node(p, NODE_PREFIX, a, 0, row) : 0;
}

/* "pp_" and "mm_" stand in front */
static node_id postfix_form(struct itanium *p, uint32_t row)
{
	bool is_prefix = itanium_skip(p, '_');
	node_id a = itanium_expression(p);

	return a ? itanium_node(p, is_prefix ? NODE_PREFIX : NODE_POSTFIX, a, 0, row) : 0;
}

static node_id binary_form(struct itanium *p, uint32_t row)
{
	return two(p, NODE_BINARY, row);
}

static node_id global_expression(struct itanium *p);

static node_id member_form(struct itanium *p, uint32_t row)
{
	node_id object = itanium_expression(p), member;
	char c = itanium_peek(p, 0);

	if (!object)
		return 0;
	if (c == 'g' && itanium_peek(p, 1) == 's')
		member = global_expression(p);
	else
		member = c == 'L' ? itanium_literal(p) : unresolved_name(p);
	return member ? itanium_node(p, NODE_MEMBER, object, member, row) : 0;
}

static node_id conditional_form(struct itanium *p, uint32_t row)
{
	struct itanium_list branches = { 0 };
	node_id condition = itanium_expression(p);

	if (!condition || !itanium_append(p, &branches, itanium_expression(p)) ||
	    !itanium_append(p, &branches, itanium_expression(p)))
		return 0;
	return itanium_node(p, NODE_CONDITIONAL, condition, branches.first, row);
}

static node_id call(struct itanium *p, node_id function)
{
	struct itanium_list arguments = { 0 };

	if (!function || !itanium_expressions(p, &arguments))
		return 0;
	return itanium_node(p, NODE_CALL, function, arguments.first, 0);
}

static node_id call_form(struct itanium *p, uint32_t row)
{
	(void)row;
	return call(p, itanium_expression(p));
}

static node_id call_name_form(struct itanium *p, uint32_t row)
{
	(void)row;
	return call(p, itanium_expressions_base_name(p));
}

static node_id cast_form(struct itanium *p, uint32_t row)
{
	struct itanium_list list = { 0 };
	node_id type = itanium_type(p), value;

	if (!type)
		return 0;
	if (itanium_skip(p, '_'))
		return itanium_expressions(p, &list)
			       ? itanium_node(p, NODE_CAST_LIST, type, list.first, row)
			       : 0;
	value = itanium_expression(p);
	return value ? itanium_node(p, NODE_CAST, type, value, row) : 0;
}

static node_id named_cast_form(struct itanium *p, uint32_t row)
{
	node_id type = itanium_type(p), value = type ? itanium_expression(p) : 0;

	return value ? itanium_node(p, NODE_NAMED_CAST, type, value, row) : 0;
}

/* ".x=1" or "[1]=2", or an expression; one may follow the other: ".x[1]=2" */
static node_id braced_item(struct itanium *p)
{
	node_id first = 0, value = 0;
	enum node_kind kind;

	if (!itanium_enter(p))
		return 0;
	if (itanium_skip_text(p, "di")) {
		kind = NODE_FIELD;
		first = itanium_source_name(p);
	} else if (itanium_skip_text(p, "dx")) {
		kind = NODE_INDEX;
		first = itanium_expression(p);
	} else if (itanium_skip_text(p, "dX")) {
		kind = NODE_INDEX_RANGE;
		first = two(p, NODE_LIST, 0);
	} else {
		kind = NODE_NONE;
		value = itanium_expression(p);
	}
	if (first)
		value = braced_item(p);
	itanium_leave(p);
	return kind && value ? itanium_node(p, kind, first, value, 0) : value;
}

static node_id braced(struct itanium *p, node_id type)
{
	struct itanium_list items = { 0 };

	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, &items, braced_item(p)))
			return 0;
	return itanium_node(p, NODE_BRACED, type, items.first, 0);
}

static node_id braced_form(struct itanium *p, uint32_t row)
{
	node_id type = itanium_type(p);

	(void)row;
	return type ? braced(p, type) : 0;
}

static node_id list_form(struct itanium *p, uint32_t row)
{
	(void)row;
	return braced(p, 0);
}

/* "E", "pi" expressions "E", or "il" items "E" */
static bool initializer(struct itanium *p, node_id *out)
{
	struct itanium_list arguments = { 0 };

	*out = 0;
	if (itanium_skip(p, 'E'))
		return true;
	if (itanium_skip_text(p, "il"))
		*out = braced(p, 0);
	else if (itanium_skip_text(p, "pi") && itanium_expressions(p, &arguments))
		*out = itanium_node(p, NODE_PACK, arguments.first, 0, 0);
	return *out != 0;
}

/* placement "_" type initializer */
static node_id new_form(struct itanium *p, uint32_t row)
{
	struct itanium_list placement = { 0 };
	node_id type, value;

	while (!itanium_skip(p, '_'))
		if (!itanium_append(p, &placement, itanium_expression(p)))
			return 0;
	type = itanium_type(p);
	if (!type || !initializer(p, &value))
		return 0;
	return itanium_node(p, NODE_NEW, placement.first,
			    itanium_node(p, NODE_LIST, type, value, 0), row);
}

static node_id of_type_form(struct itanium *p, uint32_t row)
{
	node_id type = itanium_type(p);

	return type ? itanium_node(p, NODE_OF_TYPE, type, 0, row) : 0;
}

static node_id count_form(struct itanium *p, uint32_t row)
{
	node_id pack = itanium_expression(p);

	return pack ? itanium_node(p, NODE_COUNT, pack, 0, row) : 0;
}

static node_id count_list_form(struct itanium *p, uint32_t row)
{
	struct itanium_list arguments = { 0 };

	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, &arguments, itanium_template_arg(p)))
			return 0;
	return itanium_node(p, NODE_COUNT_LIST, arguments.first, 0, row);
}

static node_id expansion_form(struct itanium *p, uint32_t row)
{
	node_id pattern = itanium_expression(p);

	return pattern ? itanium_node(p, NODE_PACK_EXPANSION, pattern, 0, row) : 0;
}

/* "fl": (... + a), "fr": (a + ...), "fL" and "fR": (a + ... + b) */
static node_id fold_form(struct itanium *p, uint32_t row)
{
	char kind = itanium_operators[row].code[1];
	int operation = itanium_peek(p, 1) ? itanium_operator_find(p->at) : -1;
	node_id a, b = 0;

	if (operation < 0 || itanium_operators[operation].form != FORM_BINARY)
		return 0;
	p->at += 2;
	a = itanium_expression(p);
	if (a && kind <= 'Z')
		b = itanium_expression(p);
	if (!a || (kind <= 'Z' && !b))
		return 0;
	return itanium_node(p, NODE_FOLD, kind == 'l' ? 0 : a, kind == 'l' ? a : b,
			    (uint32_t)operation);
}

static node_id rethrow_form(struct itanium *p, uint32_t row)
{
	return itanium_node(p, NODE_RETHROW, 0, 0, row);
}

static node_id (*const forms[FORM_N])(struct itanium *, uint32_t row) = {
	[FORM_PREFIX] = prefix_form,
	[FORM_POSTFIX] = postfix_form,
	[FORM_BINARY] = binary_form,
	[FORM_MEMBER] = member_form,
	[FORM_CONDITIONAL] = conditional_form,
	[FORM_CALL] = call_form,
	[FORM_CALL_NAME] = call_name_form,
	[FORM_CAST] = cast_form,
	[FORM_NAMED_CAST] = named_cast_form,
	[FORM_BRACED] = braced_form,
	[FORM_LIST] = list_form,
	[FORM_NEW] = new_form,
	[FORM_DELETE] = prefix_form,
	[FORM_OF_TYPE] = of_type_form,
	[FORM_COUNT] = count_form,
	[FORM_COUNT_LIST] = count_list_form,
	[FORM_EXPANSION] = expansion_form,
	[FORM_FOLD] = fold_form,
	[FORM_RETHROW] = rethrow_form,
};

static bool requirement_constraint(struct itanium *p, struct node *r)
{
	r->number = itanium_skip(p, 'N');
	return !itanium_skip(p, 'R') || (r->b = itanium_name(p, NULL)) != 0;
}

/* "X" expression, perhaps "N", perhaps "R" concept; "T" type; "Q" constraint */
static node_id requirement(struct itanium *p)
{
	char kind = itanium_peek(p, 0);
	struct node r = { .detail = (uint8_t)kind };
	node_id node;

	if (!kind || !strchr("XTQ", kind))
		return 0;
	p->at++;
	r.a = kind == 'T' ? itanium_type(p) : itanium_expression(p);
	if (!r.a || (kind == 'X' && !requirement_constraint(p, &r)))
		return 0;
	node = itanium_node(p, NODE_REQUIREMENT, r.a, r.b, r.number);
	if (node)
		p->nodes.data[node].detail = r.detail;
	return node;
}

/* "rq" requirements "E", "rQ" parameters "_" requirements "E" */
static node_id requires_expression(struct itanium *p)
{
	struct itanium_list parameters = { 0 }, requirements = { 0 };
	bool is_empty;

	p->at++;
	if (itanium_skip(p, 'Q')) {
		if (!itanium_parameters(p, &parameters, &is_empty) || !itanium_skip(p, '_'))
			return 0;
	} else {
		p->at++;
	}
	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, &requirements, requirement(p)))
			return 0;
	return itanium_node(p, NODE_REQUIRES, parameters.first, requirements.first, 0);
}

/* "u" name arguments "E" */
static node_id vendor_expression(struct itanium *p)
{
	struct itanium_list arguments = { 0 };
	node_id name;

	p->at++;
	name = itanium_source_name(p);
	while (name && !itanium_skip(p, 'E'))
		if (!itanium_append(p, &arguments, itanium_template_arg(p)))
			return 0;
	return name ? itanium_node(p, NODE_VENDOR_CALL, name, arguments.first, 0) : 0;
}

static node_id global_expression(struct itanium *p)
{
	char c, next;
	node_id node;

	p->at += 2;
	c = itanium_peek(p, 0);
	next = itanium_peek(p, 1);
	if ((c == 'n' && (next == 'w' || next == 'a')) ||
	    (c == 'd' && (next == 'l' || next == 'a')))
		node = itanium_expression(p);
	else
		node = unresolved_name(p);
	return node ? itanium_node(p, NODE_GLOBAL, node, 0, 0) : 0;
}

static bool starts_function_parameter(char next, char third)
{
	return next == 'p' || (next == 'L' && itanium_expressions_is_digit(third));
}

static node_id any_expression(struct itanium *p)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);
	int row;

	if (c == 'L')
		return itanium_literal(p);
	if (c == 'T')
		return itanium_template_param(p); /* unlike a type, no substitution */
	if (c == 'f' && starts_function_parameter(next, itanium_peek(p, 2)))
		return function_parameter(p);
	if (c == 'g' && next == 's')
		return global_expression(p);
	if (c == 'r' && (next == 'q' || next == 'Q'))
		return requires_expression(p);
	if (c == 'u')
		return vendor_expression(p);
	if (itanium_expressions_is_digit(c) || (c == 's' && next == 'r') || starts_base_name(p, 0))
		return unresolved_name(p);
	row = next ? itanium_operator_find(p->at) : -1;
	if (row < 0 || !forms[itanium_operators[row].form])
		return 0;
	p->at += 2;
	return forms[itanium_operators[row].form](p, (uint32_t)row);
}

node_id itanium_expression(struct itanium *p)
{
	node_id node;

	if (!itanium_enter(p))
		return 0;
	node = any_expression(p);
	itanium_leave(p);
	return node;
}
