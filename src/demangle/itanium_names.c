/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions, data, scopes and templates. */
#include <string.h>

#include "demangle/itanium_texts.h"
#include "demangle/itanium_tree.h"

static bool itanium_names_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "3foo": the digits give the length. */
node_id itanium_source_name(struct itanium *p)
{
	static const char anonymous[] = "_GLOBAL_";
	const char *text;
	uint32_t len;

	if (!itanium_number(p, &len) || !len || (size_t)(p->end - p->at) < len)
		return 0;
	text = p->at;
	p->at += len;
	/* "_GLOBAL__N_1", "_GLOBAL_.N.1", "_GLOBAL_$N$1" */
	if (len >= 10 && !strncmp(text, anonymous, strlen(anonymous)) && strchr("_.$", text[8]) &&
	    text[9] == 'N')
		return itanium_fixed(p, "(anonymous namespace)");
	return itanium_text(p, text, len);
}

/* "C1" of "N3foo3barIiEC1E" is "bar". */
static node_id last_simple_name(struct itanium *p, node_id name)
{
	for (;;) {
		const struct node *n = &p->nodes.data[name];

		switch (n->kind) {
		case NODE_TEMPLATE:
		case NODE_TAGGED:
		case NODE_OF_MODULE:
		case NODE_FRIEND:
			name = n->a;
			break;
		case NODE_SCOPED:
		case NODE_LOCAL:
			name = n->b;
			break;
		case NODE_STANDARD:
			return itanium_fixed(p, itanium_standard_names[n->number].base);
		default:
			return name;
		}
	}
}

static node_id constructor(struct itanium *p, node_id scope, struct itanium_name *facts)
{
	bool is_inherited;

	p->at++;
	is_inherited = itanium_skip(p, 'I');
	if (itanium_peek(p, 0) < '1' || itanium_peek(p, 0) > '5')
		return 0;
	p->at++;
	if (is_inherited && !itanium_type(p)) /* the class that it is inherited from */
		return 0;
	facts->has_no_return_type = true;
	return itanium_node(p, NODE_CONSTRUCTOR, last_simple_name(p, scope), 0, 0);
}

static node_id destructor(struct itanium *p, node_id scope, struct itanium_name *facts)
{
	char kind = itanium_peek(p, 1);

	if (kind < '0' || kind > '5')
		return 0;
	p->at += 2;
	facts->has_no_return_type = true;
	return itanium_node(p, NODE_DESTRUCTOR, last_simple_name(p, scope), 0, 0);
}

static node_id structured_binding(struct itanium *p)
{
	struct itanium_list names = { 0 };

	p->at += 2;
	while (!itanium_skip(p, 'E'))
		if (!itanium_append(p, &names, itanium_source_name(p)))
			return 0;
	return names.first ? itanium_node(p, NODE_BINDING, names.first, 0, 0) : 0;
}

static bool starts_parameter_declaration(const struct itanium *p)
{
	return itanium_peek(p, 0) == 'T' && itanium_peek(p, 1) &&
	       strchr("yntpk", itanium_peek(p, 1));
}

/* The template parameters that a lambda declares, and its constraint. False: damaged. */
static bool lambda_head(struct itanium *p, node_id *head)
{
	struct itanium_list parameters = { 0 };
	node_id constraint = 0;

	while (starts_parameter_declaration(p))
		if (!itanium_append(p, &parameters, itanium_parameter_declaration(p)))
			return false;
	if (itanium_skip(p, 'Q') && !(constraint = itanium_expression(p)))
		return false;
	*head = 0;
	if (parameters.first || constraint)
		*head = itanium_node(p, NODE_LAMBDA_HEAD, parameters.first, constraint, 0);
	return true;
}

/* "Ul" parameters "E" number "_" */
static node_id lambda(struct itanium *p)
{
	struct itanium_list parameters = { 0 };
	bool is_empty, is_conversion = p->is_conversion;
	node_id head;
	uint32_t number;

	p->at += 2;
	p->is_conversion = false;
	if (!lambda_head(p, &head))
		return 0;
	itanium_skip(p, 'H');
	if (!itanium_parameters(p, &parameters, &is_empty))
		return 0;
	/* a constraint behind the parameters */
	if (itanium_skip(p, 'Q') && !itanium_expression(p))
		return 0;
	if (!itanium_skip(p, 'E') || !itanium_sequence(p, &number))
		return 0;
	p->is_conversion = is_conversion;
	return itanium_node(p, NODE_LAMBDA, parameters.first, head, number + 1);
}

static node_id unnamed_type(struct itanium *p)
{
	uint32_t number;

	p->at += 2;
	return itanium_sequence(p, &number) ? itanium_node(p, NODE_UNNAMED, 0, 0, number + 1) : 0;
}

static node_id abi_tags(struct itanium *p, node_id name)
{
	while (name && itanium_skip(p, 'B')) {
		node_id tag = itanium_source_name(p);

		name = tag ? itanium_node(p, NODE_TAGGED, name, tag, 0) : 0;
	}
	return name;
}

/* "W3foo" or, a partition, "WP3foo", one or more; `module` may already hold the first. */
static bool module_names(struct itanium *p, node_id *module)
{
	while (itanium_skip(p, 'W')) {
		bool is_partition = itanium_skip(p, 'P');
		node_id name = itanium_source_name(p);

		if (!name)
			return false;
		*module = itanium_node(p, NODE_MODULE, *module, name, 0);
		p->nodes.data[*module].detail = is_partition;
		if (!itanium_remember(p, *module))
			return false;
	}
	return true;
}

static node_id simple_name(struct itanium *p, node_id scope, struct itanium_name *facts)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);

	if (itanium_names_is_digit(c))
		return itanium_source_name(p);
	if (c == 'U' && next == 't')
		return unnamed_type(p);
	if (c == 'U' && next == 'l')
		return lambda(p);
	if (c == 'D' && next == 'C')
		return structured_binding(p);
	if (c == 'C' && scope)
		return constructor(p, scope, facts);
	if (c == 'D' && scope)
		return destructor(p, scope, facts);
	return itanium_operator_name(p, facts);
}

static node_id name_of_module(struct itanium *p, node_id scope, node_id module,
			      struct itanium_name *facts)
{
	struct itanium_name ignored = { 0 };
	bool is_friend;
	node_id name;

	facts = facts ? facts : &ignored;
	if (!module_names(p, &module))
		return 0;
	is_friend = scope && itanium_skip(p, 'F');
	itanium_skip(p, 'L'); /* internal linkage */
	facts->has_no_return_type = false;
	name = abi_tags(p, simple_name(p, scope, facts));
	if (name && module)
		name = itanium_node(p, NODE_OF_MODULE, name, module, 0);
	if (name && is_friend)
		name = itanium_node(p, NODE_FRIEND, name, 0, 0);
	if (name && scope)
		name = itanium_node(p, NODE_SCOPED, scope, name, 0);
	return name;
}

/*
 * The start of a nested name that is no plain name: "T_", "S1_", "St", "Dt…E". 0 with a module: the
 * substitution is a module's, and a name follows.
 */
static node_id prefix_start(struct itanium *p, node_id *module)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);
	node_id start;

	if (c == 'T')
		return itanium_remember(p, itanium_template_param(p));
	if (c == 'D')
		return itanium_remember(p, itanium_decltype(p));
	if (next == 't') {
		p->at += 2;
		return itanium_fixed(p, "std");
	}
	start = itanium_substitution(p);
	if (start && p->nodes.data[start].kind == NODE_MODULE) {
		*module = start;
		return 0;
	}
	return start;
}

static bool starts_with_prefix(const struct itanium *p)
{
	char c = itanium_peek(p, 0), next = itanium_peek(p, 1);

	return c == 'T' || c == 'S' || (c == 'D' && (next == 't' || next == 'T'));
}

/* "Ss" in front of a constructor is the class: std::basic_string<…>. */
static node_id expand_standard(struct itanium *p, node_id scope)
{
	const struct node *n = &p->nodes.data[scope];
	char c = itanium_peek(p, 0);

	if (n->kind == NODE_STANDARD && (c == 'C' || c == 'D'))
		p->nodes.data[scope].detail = 1;
	return scope;
}

/* One more component behind `scope`; it is a substitution unless it is the last one. */
static node_id nested_component(struct itanium *p, node_id scope, struct itanium_name *facts)
{
	node_id module = 0, name = 0;

	if (itanium_peek(p, 0) == 'I') {
		if (!scope || (facts && facts->has_template_args))
			return 0;
		name = itanium_template_args(p, scope);
		if (facts)
			facts->has_template_args = true;
	} else {
		if (facts)
			facts->has_template_args = false;
		if (!scope && starts_with_prefix(p)) {
			name = prefix_start(p, &module);
			if (name)
				return itanium_peek(p, 0) == 'E' ? 0 : name;
			if (!module)
				return 0;
		}
		name = name_of_module(p, scope, module, facts);
	}
	return name && itanium_peek(p, 0) != 'E' ? itanium_remember(p, name) : name;
}

/* "N" qualifiers component… "E" */
static node_id nested_name(struct itanium *p, struct itanium_name *facts)
{
	uint8_t qualifiers;
	node_id name = 0;

	p->at++;
	qualifiers = itanium_skip(p, 'H') ? HAS_EXPLICIT_THIS : itanium_qualifiers(p);
	if (itanium_skip(p, 'R'))
		qualifiers |= IS_LVALUE;
	else if (itanium_skip(p, 'O'))
		qualifiers |= IS_RVALUE;
	while (!itanium_skip(p, 'E')) {
		if (name && itanium_skip(p, 'M')) /* a lambda in the initializer of `name` */
			continue;
		if (name)
			expand_standard(p, name);
		name = nested_component(p, name, facts);
		if (!name)
			return 0;
	}
	if (facts)
		facts->qualifiers = qualifiers;
	return name;
}

/* "_0" to "_9", "__10_" and more: numbers of entities that have one name. */
static bool skip_discriminator(struct itanium *p)
{
	uint32_t ignored;

	if (itanium_peek(p, 0) != '_')
		return true;
	if (itanium_names_is_digit(itanium_peek(p, 1))) {
		p->at += 2;
		return true;
	}
	if (itanium_peek(p, 1) != '_' || !itanium_names_is_digit(itanium_peek(p, 2)))
		return true; /* the end of a temporary's name */
	p->at += 2;
	return itanium_number(p, &ignored) && itanium_skip(p, '_');
}

/* "Z" function "E" entity */
static node_id local_name(struct itanium *p, struct itanium_name *facts)
{
	node_id function, entity;
	uint32_t argument = 0;

	p->at++;
	function = itanium_encoding(p);
	if (!function || !itanium_skip(p, 'E'))
		return 0;
	if (itanium_skip(p, 's')) {
		entity = itanium_fixed(p, "string literal");
	} else {
		if (itanium_skip(p, 'd')) {
			if (!itanium_sequence(p, &argument))
				return 0;
			argument++;
		}
		entity = itanium_name(p, facts);
	}
	if (!entity || !skip_discriminator(p))
		return 0;
	return itanium_node(p, NODE_LOCAL, function, entity, argument);
}

/* A name without "N": "3foo", "St3foo" or "S0_", then perhaps arguments. */
static node_id unscoped_name(struct itanium *p, struct itanium_name *facts)
{
	bool is_substitution = false;
	node_id name, module = 0;

	if (itanium_peek(p, 0) == 'S' && itanium_peek(p, 1) != 't') {
		name = itanium_substitution(p);
		is_substitution = name && p->nodes.data[name].kind != NODE_MODULE;
		module = is_substitution ? 0 : name;
		if (name && module)
			name = name_of_module(p, 0, module, facts);
	} else {
		node_id scope = itanium_skip_text(p, "St") ? itanium_fixed(p, "std") : 0;

		name = name_of_module(p, scope, 0, facts);
	}
	if (!name || itanium_peek(p, 0) != 'I')
		return is_substitution ? 0 : name;
	if (!is_substitution && !itanium_remember(p, name))
		return 0;
	if (facts)
		facts->has_template_args = true;
	return itanium_template_args(p, name);
}

node_id itanium_name(struct itanium *p, struct itanium_name *facts)
{
	char c = itanium_peek(p, 0);

	if (c == 'N')
		return nested_name(p, facts);
	if (c == 'Z')
		return local_name(p, facts);
	return unscoped_name(p, facts);
}
