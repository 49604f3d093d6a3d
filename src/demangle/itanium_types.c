/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types, and the arguments and parameters of templates. */
#include <string.h>

#include "demangle/itanium_tree.h"

static const char *const builtin_types[26] = {
	['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
	['c' - 'a'] = "char",        ['d' - 'a'] = "double",
	['e' - 'a'] = "long double", ['f' - 'a'] = "float",
	['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
	['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
	['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
	['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
	['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
	['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
	['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
	['z' - 'a'] = "...",
};

/* "D" and this letter. */
static const char *const more_builtin_types[26] = {
	['a' - 'a'] = "auto",       ['c' - 'a'] = "decltype(auto)",    ['d' - 'a'] = "decimal64",
	['e' - 'a'] = "decimal128", ['f' - 'a'] = "decimal32",         ['h' - 'a'] = "half",
	['i' - 'a'] = "char32_t",   ['n' - 'a'] = "decltype(nullptr)", ['s' - 'a'] = "char16_t",
	['u' - 'a'] = "char8_t",
};

uint8_t itanium_qualifiers(struct itanium *p)
{
	uint8_t qualifiers = 0;

	if (itanium_skip(p, 'r'))
		qualifiers |= IS_RESTRICT;
	if (itanium_skip(p, 'V'))
		qualifiers |= IS_VOLATILE;
	if (itanium_skip(p, 'K'))
		qualifiers |= IS_CONST;
	return qualifiers;
}

/* The end of a function's type follows the reference behind its parameters. */
static bool is_at_end_of_parameters(const struct itanium *p)
{
	char c = itanium_peek(p, 0);

	if (c == 'R' || c == 'O')
		return itanium_peek(p, 1) == 'E';
	return c == '\0' || strchr("E._Q", c);
}

bool itanium_parameters(struct itanium *p, struct itanium_list *list, bool *is_empty)
{
	*is_empty = itanium_skip(p, 'v');
	if (*is_empty && is_at_end_of_parameters(p))
		return true;
	if (*is_empty)
		p->at--;
	*is_empty = false;
	do
		if (!itanium_append(p, list, itanium_type(p)))
			return false;
	while (!is_at_end_of_parameters(p));
	return true;
}

/* False: damaged. */
static bool exception_specification(struct itanium *p, node_id *out)
{
	struct itanium_list types = { 0 };
	node_id condition = 0;

	*out = 0;
	if (itanium_skip_text(p, "Do")) {
		*out = itanium_node(p, NODE_NOEXCEPT, 0, 0, 0);
	} else if (itanium_skip_text(p, "DO")) {
		condition = itanium_expression(p);
		if (!condition || !itanium_skip(p, 'E'))
			return false;
		*out = itanium_node(p, NODE_NOEXCEPT, condition, 0, 0);
	} else if (itanium_skip_text(p, "Dw")) {
		while (!itanium_skip(p, 'E'))
			if (!itanium_append(p, &types, itanium_type(p)))
				return false;
		*out = itanium_node(p, NODE_THROW_LIST, types.first, 0, 0);
	}
	return true;
}

static node_id itanium_types_function_type(struct itanium *p, uint8_t qualifiers)
{
	struct itanium_list parameters = { 0 };
	node_id exceptions, result, type;
	bool is_empty;

	if (!exception_specification(p, &exceptions))
		return 0;
	if (itanium_skip_text(p, "Dx"))
		qualifiers |= IS_TRANSACTION_SAFE;
	if (!itanium_skip(p, 'F'))
		return 0;
	itanium_skip(p, 'Y'); /* extern "C" */
	result = itanium_type(p);
	if (!result || !itanium_parameters(p, &parameters, &is_empty))
		return 0;
	if (itanium_skip(p, 'R'))
		qualifiers |= IS_LVALUE;
	else if (itanium_skip(p, 'O'))
		qualifiers |= IS_RVALUE;
	if (!itanium_skip(p, 'E'))
		return 0;
	type = itanium_node(p, NODE_FUNCTION, result, parameters.first, exceptions);
	if (type)
		p->nodes.data[type].detail = qualifiers;
	return type;
}

static bool starts_function_type(const struct itanium *p)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);

	return c == 'F' || (c == 'D' && next && strchr("oOwx", next));
}

/* Without the type itself, as a name may have arguments, too: "U3fooIiE". */
static node_id vendor_qualifier(struct itanium *p)
{
	node_id name;

	p->at++;
	name = itanium_source_name(p);
	return name && itanium_peek(p, 0) == 'I' ? itanium_template_args(p, name) : name;
}

static node_id qualified_type(struct itanium *p)
{
	uint8_t qualifiers;
	node_id type, name;

	if (!itanium_enter(p))
		return 0;
	if (itanium_peek(p, 0) == 'U') {
		name = vendor_qualifier(p);
		type = name ? qualified_type(p) : 0;
		type = type ? itanium_node(p, NODE_VENDOR_QUALIFIED, type, name, 0) : 0;
	} else {
		qualifiers = itanium_qualifiers(p);
		if (starts_function_type(p)) {
			type = itanium_types_function_type(p, qualifiers);
		} else {
			type = itanium_type(p);
			if (type && qualifiers) {
				type = itanium_node(p, NODE_QUALIFIED, type, 0, 0);
				p->nodes.data[type].detail = qualifiers;
			}
		}
	}
	itanium_leave(p);
	return type;
}

static node_id itanium_types_digits(struct itanium *p)
{
	const char *start = p->at;
	uint32_t ignored;

	return itanium_number(p, &ignored) ? itanium_text(p, start, (size_t)(p->at - start)) : 0;
}

/* "A" bound "_" element; the bound is empty, a number or an expression */
static node_id array_type(struct itanium *p)
{
	node_id bound = 0, element;
	char c;

	p->at++;
	c = itanium_peek(p, 0);
	if (c != '_' &&
	    !(bound = c >= '0' && c <= '9' ? itanium_types_digits(p) : itanium_expression(p)))
		return 0;
	if (!itanium_skip(p, '_'))
		return 0;
	element = itanium_type(p);
	return element ? itanium_node(p, NODE_ARRAY, element, bound, 0) : 0;
}

static node_id member_pointer(struct itanium *p)
{
	node_id of, member = 0;

	p->at++;
	of = itanium_type(p);
	if (of)
		member = itanium_type(p);
	return member ? itanium_node(p, NODE_MEMBER_POINTER, of, member, 0) : 0;
}

/* "Dv" number "_" element, or "Dv_" expression "_" element */
static node_id vector_type(struct itanium *p)
{
	node_id size, element;

	p->at += 2;
	size = itanium_skip(p, '_') ? itanium_expression(p) : itanium_types_digits(p);
	if (!size || !itanium_skip(p, '_'))
		return 0;
	element = itanium_skip(p, 'p') ? itanium_fixed(p, "pixel") : itanium_type(p);
	return element ? itanium_node(p, NODE_VECTOR, element, size, 0) : 0;
}

node_id itanium_decltype(struct itanium *p)
{
	node_id expression;

	if (!itanium_skip_text(p, "Dt") && !itanium_skip_text(p, "DT"))
		return 0;
	expression = itanium_expression(p);
	return expression && itanium_skip(p, 'E') ? itanium_node(p, NODE_DECLTYPE, expression, 0, 0)
						  : 0;
}

/* "DF16_", "DF16b", "DF32x" */
static node_id float_type(struct itanium *p)
{
	static const struct {
		const char *code, *name;
	} floats[] = {
		{ "16_", "_Float16" },   { "32_", "_Float32" },        { "64_", "_Float64" },
		{ "128_", "_Float128" }, { "16b", "std::bfloat16_t" }, { "32x", "_Float32x" },
		{ "64x", "_Float64x" },  { "128x", "_Float128x" },
	};

	p->at += 2;
	for (size_t i = 0; i < ARRAY_SIZE(floats); i++)
		if (itanium_skip_text(p, floats[i].code))
			return itanium_fixed(p, floats[i].name);
	return 0;
}

static node_id bit_int_type(struct itanium *p)
{
	bool is_unsigned = itanium_peek(p, 1) == 'U';
	char c = itanium_peek(p, 2);
	node_id bits, type = 0;

	p->at += 2;
	bits = c >= '0' && c <= '9' ? itanium_types_digits(p) : itanium_expression(p);
	if (bits && itanium_skip(p, '_'))
		type = itanium_node(p, NODE_BIT_INT, bits, 0, 0);
	if (type)
		p->nodes.data[type].detail = is_unsigned;
	return type;
}

/* "Dk": "concept auto"; "DK": "concept decltype(auto)" */
static node_id constrained_auto(struct itanium *p)
{
	bool is_decltype = itanium_peek(p, 1) == 'K';
	node_id concept;

	p->at += 2;
	concept = itanium_name(p, NULL);
	return concept ? itanium_node(p, NODE_CONSTRAINED_AUTO, concept, 0, is_decltype) : 0;
}

static node_id pack_expansion(struct itanium *p)
{
	node_id pattern;

	p->at += 2;
	pattern = itanium_type(p);
	return pattern ? itanium_node(p, NODE_PACK_EXPANSION, pattern, 0, 0) : 0;
}

/* Types that start with "D". */
static node_id d_type(struct itanium *p)
{
	char next = itanium_peek(p, 1);

	switch (next) {
	case 'p':
		return itanium_remember(p, pack_expansion(p));
	case 't':
	case 'T':
		return itanium_remember(p, itanium_decltype(p));
	case 'v':
		return itanium_remember(p, vector_type(p));
	case 'o':
	case 'O':
	case 'w':
	case 'x':
		return itanium_remember(p, itanium_types_function_type(p, 0));
	case 'F':
		return float_type(p);
	case 'B':
	case 'U':
		return bit_int_type(p);
	case 'k':
	case 'K':
		return constrained_auto(p);
	default:
		if (next < 'a' || next > 'z' || !more_builtin_types[next - 'a'])
			return 0;
		p->at += 2;
		return itanium_fixed(p, more_builtin_types[next - 'a']);
	}
}

/* "T_", "T0_"; "TL0__" is a parameter of a nested template */
node_id itanium_template_param(struct itanium *p)
{
	uint32_t level = 0, index;
	node_id param;

	if (!itanium_skip(p, 'T'))
		return 0;
	if (itanium_skip(p, 'L') &&
	    (!itanium_number(p, &level) || ++level > UINT8_MAX || !itanium_skip(p, '_')))
		return 0;
	if (!itanium_sequence(p, &index))
		return 0;
	param = itanium_node(p, NODE_PARAMETER, 0, 0, index);
	if (param)
		p->nodes.data[param].detail = (uint8_t)level;
	return param;
}

static node_id elaborated_type(struct itanium *p)
{
	char kind = itanium_peek(p, 1);
	node_id name;

	p->at += 2;
	name = itanium_name(p, NULL);
	return name ? itanium_node(p, NODE_ELABORATED, name, 0, (uint32_t)kind) : 0;
}

/* `name`, a substitution by itself, perhaps with arguments. */
static node_id with_arguments(struct itanium *p, node_id name)
{
	if (!name || itanium_peek(p, 0) != 'I' || p->is_conversion)
		return name;
	return itanium_remember(p, itanium_template_args(p, name));
}

static node_id t_type(struct itanium *p)
{
	char next = itanium_peek(p, 1);

	if (next && strchr("sue", next))
		return itanium_remember(p, elaborated_type(p));
	return with_arguments(p, itanium_remember(p, itanium_template_param(p)));
}

static bool is_substitution_of_module(const struct itanium *p, node_id node)
{
	return p->nodes.data[node].kind == NODE_MODULE;
}

static node_id s_type(struct itanium *p)
{
	const char *start = p->at;
	node_id type;

	if (itanium_peek(p, 1) == 't')
		return itanium_remember(p, itanium_name(p, NULL));
	type = itanium_substitution(p);
	if (type && is_substitution_of_module(p, type)) {
		p->at = start;
		return itanium_remember(p, itanium_name(p, NULL));
	}
	if (type && p->nodes.data[type].kind == NODE_STANDARD && itanium_peek(p, 0) == 'I')
		return itanium_remember(p, itanium_template_args(p, type));
	return with_arguments(p, type);
}

/* "u3foo" or, a type made by the compiler, "u3fooIiE": "foo(int)" */
static node_id vendor_type(struct itanium *p)
{
	node_id type = vendor_qualifier(p);

	if (type && p->nodes.data[type].kind == NODE_TEMPLATE)
		p->nodes.data[type].kind = NODE_VENDOR_CALL;
	return itanium_remember(p, type);
}

static node_id u_type(struct itanium *p)
{
	char next = itanium_peek(p, 1);

	return itanium_remember(p, next == 'l' || next == 't' ? itanium_name(p, NULL)
							      : qualified_type(p));
}

static node_id derived_type(struct itanium *p, enum node_kind kind)
{
	node_id of;

	p->at++;
	of = itanium_type(p);
	return of ? itanium_remember(p, itanium_node(p, kind, of, 0, 0)) : 0;
}

static node_id any_type(struct itanium *p)
{
	char c = itanium_peek(p, 0);

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return itanium_remember(p, qualified_type(p));
	case 'U':
		return u_type(p);
	case 'u':
		return vendor_type(p);
	case 'F':
		return itanium_remember(p, itanium_types_function_type(p, 0));
	case 'A':
		return itanium_remember(p, array_type(p));
	case 'M':
		return itanium_remember(p, member_pointer(p));
	case 'P':
		return derived_type(p, NODE_POINTER);
	case 'R':
		return derived_type(p, NODE_REFERENCE);
	case 'O':
		return derived_type(p, NODE_RVALUE_REFERENCE);
	case 'C':
		return derived_type(p, NODE_COMPLEX);
	case 'G':
		return derived_type(p, NODE_IMAGINARY);
	case 'D':
		return d_type(p);
	case 'T':
		return t_type(p);
	case 'S':
		return s_type(p);
	default:
		if (c < 'a' || c > 'z')
			return itanium_remember(p, itanium_name(p, NULL));
		if (!builtin_types[c - 'a'])
			return 0;
		p->at++;
		return itanium_fixed(p, builtin_types[c - 'a']);
	}
}

node_id itanium_type(struct itanium *p)
{
	node_id type;

	if (!itanium_enter(p))
		return 0;
	type = any_type(p);
	itanium_leave(p);
	return type;
}

/* "J" (once "I") arguments "E" */
static node_id argument_pack(struct itanium *p)
{
	struct itanium_list arguments = { 0 };

	if (!itanium_enter(p))
		return 0;
	p->at++;
	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, &arguments, itanium_template_arg(p)))
			return 0;
	itanium_leave(p);
	return itanium_node(p, NODE_PACK, arguments.first, 0, 0);
}

static node_id expression_argument(struct itanium *p)
{
	node_id expression;

	p->at++;
	expression = itanium_expression(p);
	return expression && itanium_skip(p, 'E') ? expression : 0;
}

static bool starts_declaration(const struct itanium *p)
{
	char next = itanium_peek(p, 1);

	return itanium_peek(p, 0) == 'T' && next && strchr("yntpk", next);
}

/* The parameter's declaration may be in front, and is not shown: "TnT_Li5E". */
node_id itanium_template_arg(struct itanium *p)
{
	while (starts_declaration(p))
		if (!itanium_parameter_declaration(p))
			return 0;
	switch (itanium_peek(p, 0)) {
	case 'X':
		return expression_argument(p);
	case 'L':
		return itanium_literal(p);
	case 'I':
	case 'J':
		return argument_pack(p);
	default:
		return itanium_type(p);
	}
}

/* "I" arguments "E", for the template `of`; constraints are not shown */
node_id itanium_template_args(struct itanium *p, node_id of)
{
	struct itanium_list arguments = { 0 };
	bool is_conversion = p->is_conversion;

	p->is_conversion = false;
	p->at++;
	while (!itanium_skip(p, 'E')) {
		if (itanium_skip(p, 'Q')) {
			if (!itanium_expression(p) || !itanium_skip(p, 'E'))
				return 0;
			break;
		}
		if (!itanium_append(p, &arguments, itanium_template_arg(p)))
			return 0;
	}
	p->is_conversion = is_conversion;
	return itanium_node(p, NODE_TEMPLATE, of, arguments.first, 0);
}

/* "Tt" declarations, perhaps "Q" and a constraint, "E" */
static bool template_template_parameters(struct itanium *p, struct itanium_list *parameters)
{
	while (!itanium_skip(p, 'E')) {
		if (itanium_skip(p, 'Q'))
			return itanium_expression(p) && itanium_skip(p, 'E');
		if (!itanium_append(p, parameters, itanium_parameter_declaration(p)))
			return false;
	}
	return true;
}

/* `a` becomes the type, the concept, the parameter in a pack or the list of parameters. */
static bool declared_operand(struct itanium *p, char kind, node_id *a)
{
	struct itanium_list parameters = { 0 };

	*a = 0;
	if (kind == 'y')
		return true;
	if (kind == 't') {
		if (!template_template_parameters(p, &parameters))
			return false;
		*a = parameters.first;
		return true;
	}
	if (kind == 'n')
		*a = itanium_type(p);
	else if (kind == 'k')
		*a = itanium_name(p, NULL);
	else if (kind == 'p')
		*a = itanium_parameter_declaration(p);
	return *a != 0;
}

node_id itanium_parameter_declaration(struct itanium *p)
{
	char kind = itanium_peek(p, 1);
	node_id a, node = 0;

	if (itanium_peek(p, 0) != 'T' || !kind || !itanium_enter(p))
		return 0;
	p->at += 2;
	if (declared_operand(p, kind, &a))
		node = itanium_node(p, NODE_TEMPLATE_PARAMETER, a, 0, 0);
	if (node)
		p->nodes.data[node].detail = (uint8_t)kind;
	itanium_leave(p);
	return node;
}
