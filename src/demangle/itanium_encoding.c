/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole entity: a function with its type, data, or one of the compiler's own objects. */
#include <string.h>

#include "demangle/itanium_texts.h"
#include "demangle/itanium_tree.h"

enum special_operand {
	OF_TYPE,
	OF_NAME,
	OF_ENCODING,
	OF_ARGUMENT,
	OF_TEMPORARY,
	OF_MODULE,
	OF_CONSTRUCTION,
	WITH_OFFSET,
	WITH_TWO_OFFSETS
};

static const struct special {
	char code[4];
	uint8_t operand;
} specials[] = {
	{ "TV", OF_TYPE },          { "TT", OF_TYPE },      { "TI", OF_TYPE },
	{ "TS", OF_TYPE },          { "TF", OF_TYPE },      { "TJ", OF_TYPE },
	{ "TC", OF_CONSTRUCTION },  { "TA", OF_ARGUMENT },  { "TH", OF_NAME },
	{ "TW", OF_NAME },          { "Th", WITH_OFFSET },  { "Tv", WITH_OFFSET },
	{ "Tc", WITH_TWO_OFFSETS }, { "GV", OF_NAME },      { "GR", OF_TEMPORARY },
	{ "GA", OF_ENCODING },      { "GTn", OF_ENCODING }, { "GTt", OF_ENCODING },
	{ "GI", OF_MODULE },
};

_Static_assert(ARRAY_SIZE(specials) == ARRAY_SIZE(itanium_special_names), "a text for each");

static bool skip_offset_number(struct itanium *p)
{
	uint32_t ignored;

	itanium_skip(p, 'n');
	return itanium_number(p, &ignored) && itanium_skip(p, '_');
}

/* "h" offset "_", or "v" offset "_" offset "_" */
static bool skip_call_offset(struct itanium *p)
{
	if (itanium_skip(p, 'h'))
		return skip_offset_number(p);
	return itanium_skip(p, 'v') && skip_offset_number(p) && skip_offset_number(p);
}

static node_id thunk_target(struct itanium *p, bool has_two_offsets)
{
	/* "Th" and "Tv": the letter belongs to the offset */
	if (!has_two_offsets)
		p->at--;
	if (!skip_call_offset(p) || (has_two_offsets && !skip_call_offset(p)))
		return 0;
	return itanium_encoding(p);
}

static node_id construction_table(struct itanium *p, uint32_t row)
{
	node_id derived = itanium_type(p), base = 0;
	uint32_t ignored;

	if (derived && itanium_number(p, &ignored) && itanium_skip(p, '_'))
		base = itanium_type(p);
	return base ? itanium_node(p, NODE_SPECIAL, base, derived, row) : 0;
}

static node_id temporary(struct itanium *p, uint32_t row)
{
	node_id name = itanium_name(p, NULL), node;
	uint32_t number;

	if (!name || !itanium_sequence(p, &number) || number > UINT8_MAX)
		return 0;
	node = itanium_node(p, NODE_SPECIAL, name, 0, row);
	if (node)
		p->nodes.data[node].detail = (uint8_t)number;
	return node;
}

static node_id initialized_module(struct itanium *p)
{
	node_id module = 0;

	while (itanium_skip(p, 'W')) {
		bool is_partition = itanium_skip(p, 'P');
		node_id name = itanium_source_name(p);

		module = name ? itanium_node(p, NODE_MODULE, module, name, 0) : 0;
		if (!module)
			return 0;
		p->nodes.data[module].detail = is_partition;
	}
	return module;
}

static node_id special_operand(struct itanium *p, enum special_operand operand)
{
	switch (operand) {
	case OF_TYPE:
		return itanium_type(p);
	case OF_NAME:
		return itanium_name(p, NULL);
	case OF_ENCODING:
		return itanium_encoding(p);
	case OF_ARGUMENT:
		return itanium_template_arg(p);
	case OF_MODULE:
		return initialized_module(p);
	case WITH_OFFSET:
	case WITH_TWO_OFFSETS:
		return thunk_target(p, operand == WITH_TWO_OFFSETS);
	default:
		return 0;
	}
}

static node_id itanium_special(struct itanium *p)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(specials); i++) {
		node_id operand;

		if (!itanium_skip_text(p, specials[i].code))
			continue;
		if (specials[i].operand == OF_CONSTRUCTION)
			return construction_table(p, i);
		if (specials[i].operand == OF_TEMPORARY)
			return temporary(p, i);
		operand = special_operand(p, specials[i].operand);
		return operand ? itanium_node(p, NODE_SPECIAL, operand, 0, i) : 0;
	}
	return 0;
}

/* clang's attribute: "Ua9enable_ifI" conditions "E" */
static bool enable_if(struct itanium *p, struct itanium_list *conditions)
{
	if (itanium_skip_text(p, "Ua9enable_ifI"))
		while (!itanium_skip(p, 'E'))
			if (!itanium_append(p, conditions, itanium_template_arg(p)))
				return false;
	return true;
}

static bool is_at_end_of_encoding(const struct itanium *p)
{
	char c = itanium_peek(p, 0);

	return c == '\0' || c == 'E' || c == '.' || c == '_';
}

static node_id itanium_encoding_function_type(struct itanium *p, const struct itanium_name *facts)
{
	struct itanium_list parameters = { 0 };
	node_id result = 0, type;
	bool is_empty;

	if (facts->has_template_args && !facts->has_no_return_type) {
		result = itanium_type(p);
		if (!result)
			return 0;
	}
	if (!itanium_parameters(p, &parameters, &is_empty))
		return 0;
	type = itanium_node(p, NODE_FUNCTION, result, parameters.first, 0);
	if (type)
		p->nodes.data[type].detail = facts->qualifiers;
	return type;
}

static node_id function_or_data(struct itanium *p)
{
	struct itanium_name facts = { 0 };
	struct itanium_list conditions = { 0 };
	node_id name = itanium_name(p, &facts), type, function, constraint = 0;

	if (!name || !enable_if(p, &conditions) || is_at_end_of_encoding(p))
		return name;
	type = itanium_encoding_function_type(p, &facts);
	if (!type || (itanium_skip(p, 'Q') && !(constraint = itanium_expression(p))))
		return 0;
	function = itanium_node(p, NODE_FUNCTION_NAME, name, type, constraint);
	return function && conditions.first
		       ? itanium_node(p, NODE_ENABLE_IF, function, conditions.first, 0)
		       : function;
}

node_id itanium_encoding(struct itanium *p)
{
	char c = itanium_peek(p, 0);
	bool is_conversion = p->is_conversion;
	node_id node;

	if (!itanium_enter(p))
		return 0;
	p->is_conversion = false;
	node = c == 'T' || c == 'G' ? itanium_special(p) : function_or_data(p);
	p->is_conversion = is_conversion;
	itanium_leave(p);
	return node;
}
