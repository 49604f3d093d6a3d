/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of names. */
#include <string.h>

#include "demangle/itanium_operators.h"
#include "demangle/itanium_print_names.h"
#include "demangle/itanium_texts.h"

static void put_standard(struct itanium_printer *pr, const struct node *n)
{
	const struct itanium_standard_name *name = &itanium_standard_names[n->number];

	itanium_put(pr, n->detail ? name->full : name->name);
}

static void put_scoped(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, "::");
	itanium_put_node(pr, n->b);
}

static void put_template(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put_arguments(pr, n->b);
}

static void put_tagged(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, "[abi:");
	itanium_put_node(pr, n->b);
	itanium_put(pr, "]");
}

static void put_constructor(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
}

static void put_destructor(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "~");
	itanium_put_node(pr, n->a);
}

static void put_operator(struct itanium_printer *pr, const struct node *n)
{
	const char *text = itanium_operators[n->number].text;
	size_t len = strlen(text);

	itanium_put(pr, text[0] >= 'a' && text[0] <= 'z' ? "operator " : "operator");
	itanium_put(pr, text);
	if (text[len - 1] == ' ' && pr->out->len)
		pr->out->len--;
}

static void itanium_print_names_put_conversion(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "operator ");
	itanium_put_node(pr, n->a);
}

static void put_literal_operator(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "operator\"\" ");
	itanium_put_node(pr, n->a);
}

static void put_unnamed(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "{unnamed type#");
	itanium_put_number(pr, n->number);
	itanium_put(pr, "}");
}

static const struct node *lambda_parameter(const struct itanium_printer *pr, uint32_t index)
{
	node_id list = pr->lambda_head ? itanium_get(pr, pr->lambda_head)->a : 0;

	while (list && index--)
		list = itanium_get(pr, list)->b;
	return list ? itanium_get(pr, itanium_get(pr, list)->a) : NULL;
}

/* A pack is of the kind of its elements. */
static const struct node *element_of_pack(const struct itanium_printer *pr, const struct node *n)
{
	while (n->detail == 'p')
		n = itanium_get(pr, n->a);
	return n;
}

static const char *parameter_prefix(const struct itanium_printer *pr, const struct node *n)
{
	uint8_t kind = element_of_pack(pr, n)->detail;

	if (kind == 'n')
		return "$N";
	return kind == 't' ? "$TT" : "$T";
}

/* "$T", "$T0", "$T1" and so on, counted for each kind. */
static void put_lambda_parameter_name(struct itanium_printer *pr, uint32_t index)
{
	const char *prefix = parameter_prefix(pr, lambda_parameter(pr, index));
	uint32_t n = 0;

	for (uint32_t i = 0; i < index; i++)
		n += !strcmp(parameter_prefix(pr, lambda_parameter(pr, i)), prefix);
	itanium_put(pr, prefix);
	if (n)
		itanium_put_number(pr, n - 1);
}

static void put_lambda_parameter_kind(struct itanium_printer *pr, const struct node *n)
{
	n = element_of_pack(pr, n);
	if (n->detail == 'n' || n->detail == 'k')
		itanium_put_node(pr, n->a);
	else if (n->detail == 't')
		itanium_put(pr, "template<...> typename");
	else
		itanium_put(pr, "typename");
}

static void put_constraint(struct itanium_printer *pr, node_id constraint)
{
	bool was_in_constraint = pr->is_in_constraint;

	pr->is_in_constraint = true;
	itanium_put(pr, " requires ");
	itanium_put_node(pr, constraint);
	pr->is_in_constraint = was_in_constraint;
}

static void put_lambda_head(struct itanium_printer *pr, const struct node *head)
{
	uint32_t index = 0;

	itanium_put(pr, "<");
	for (node_id list = head->a; list; list = itanium_get(pr, list)->b, index++) {
		const struct node *n = itanium_get(pr, itanium_get(pr, list)->a);

		itanium_put(pr, index ? ", " : "");
		put_lambda_parameter_kind(pr, n);
		itanium_put(pr, n->detail == 'p' ? "..." : " ");
		if (pr->has_failed || index > 64)
			break;
		put_lambda_parameter_name(pr, index);
	}
	itanium_put(pr, ">");
	if (head->b) {
		put_constraint(pr, head->b);
		itanium_put(pr, " ");
	}
}

static void put_lambda(struct itanium_printer *pr, const struct node *n)
{
	bool was_in_lambda = pr->is_in_lambda;
	node_id outer_head = pr->lambda_head;

	pr->is_in_lambda = true;
	pr->lambda_head = n->b;
	itanium_put(pr, "{lambda");
	if (n->b)
		put_lambda_head(pr, itanium_get(pr, n->b));
	itanium_put(pr, "(");
	itanium_put_list(pr, n->a);
	itanium_put(pr, ")#");
	itanium_put_number(pr, n->number);
	itanium_put(pr, "}");
	pr->is_in_lambda = was_in_lambda;
	pr->lambda_head = outer_head;
}

void itanium_put_lambda_parameter(struct itanium_printer *pr, uint32_t index)
{
	if (index < 64 && lambda_parameter(pr, index)) {
		put_lambda_parameter_name(pr, index);
		return;
	}
	itanium_put(pr, "auto:");
	itanium_put_number(pr, index + 1);
}

static void put_binding(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "[");
	itanium_put_list(pr, n->a);
	itanium_put(pr, "]");
}

static void put_of_module(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, "@");
	itanium_put_node(pr, n->b);
}

static void put_module(struct itanium_printer *pr, const struct node *n)
{
	if (n->a)
		itanium_put_node(pr, n->a);
	if (n->a || n->detail)
		itanium_put(pr, n->detail ? ":" : ".");
	itanium_put_node(pr, n->b);
}

static void put_friend(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "friend ");
	itanium_put_node(pr, n->a);
}

static void put_clone(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, " [clone ");
	itanium_put_node(pr, n->b);
	itanium_put(pr, "]");
}

static void put_special(struct itanium_printer *pr, const struct node *n)
{
	const char *text = itanium_special_names[n->number];

	itanium_put(pr, text);
	if (text[strlen(text) - 1] == '#') {
		itanium_put_number(pr, n->detail);
		itanium_put(pr, " for ");
	}
	itanium_put_node(pr, n->a);
	if (n->b) {
		itanium_put(pr, "-in-");
		itanium_put_node(pr, n->b);
	}
}

/* The arguments that T_ stands for: those of the innermost name. */
static node_id template_arguments(const struct itanium_printer *pr, node_id name)
{
	while (itanium_get(pr, name)->kind == NODE_LOCAL)
		name = itanium_get(pr, name)->b;
	return itanium_get(pr, name)->kind == NODE_TEMPLATE ? itanium_get(pr, name)->b : 0;
}

enum parts { NAME_ONLY, NO_RESULT, WHOLE };

static void put_parameters(struct itanium_printer *pr, const struct node *n, node_id type)
{
	const struct node *function = itanium_get(pr, type);

	itanium_put(pr, function->detail & HAS_EXPLICIT_THIS ? "(this " : "(");
	itanium_put_list(pr, function->b);
	itanium_put(pr, ")");
	itanium_put_function_qualifiers(pr, function);
	if (n->number)
		put_constraint(pr, n->number);
}

static void put_function_parts(struct itanium_printer *pr, const struct node *n, enum parts parts)
{
	node_id result = parts == WHOLE ? itanium_get(pr, n->b)->a : 0;

	if (result)
		itanium_put_result_left(pr, result);
	itanium_put_node(pr, n->a);
	if (parts == NAME_ONLY)
		return;
	put_parameters(pr, n, n->b);
	if (result)
		itanium_put_right(pr, result);
}

static void put_in_scope(struct itanium_printer *pr, const struct node *n, enum parts parts)
{
	const struct itanium_scope *outer = pr->scope;
	struct itanium_scope scope = { template_arguments(pr, n->a), outer };
	struct itanium_pack pack = pr->pack;
	bool was_in_lambda = pr->is_in_lambda;

	if (scope.arguments) {
		pr->scope = &scope;
		pr->is_in_lambda = false;
	}
	pr->pack = (struct itanium_pack){ 0 };
	put_function_parts(pr, n, parts);
	pr->scope = outer;
	pr->pack = pack;
	pr->is_in_lambda = was_in_lambda;
}

static void put_function(struct itanium_printer *pr, const struct node *n)
{
	put_in_scope(pr, n, WHOLE);
}

static void put_function_name_only(struct itanium_printer *pr, const struct node *n)
{
	put_in_scope(pr, n, NAME_ONLY);
}

static void put_local(struct itanium_printer *pr, const struct node *n)
{
	const struct node *function = itanium_get(pr, n->a);

	if (function->kind == NODE_FUNCTION_NAME)
		put_in_scope(pr, function, NO_RESULT);
	else
		itanium_put_node(pr, n->a);
	itanium_put(pr, "::");
	if (n->number) {
		itanium_put(pr, "{default arg#");
		itanium_put_number(pr, n->number);
		itanium_put(pr, "}::");
	}
	itanium_put_node(pr, n->b);
}

static void put_enable_if(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, " [enable_if:");
	itanium_put_list(pr, n->b);
	itanium_put(pr, "]");
}

itanium_print_fn *const itanium_print_names[NODE_KINDS] = {
	[NODE_NONE] = put_function_name_only,
	[NODE_STANDARD] = put_standard,
	[NODE_SCOPED] = put_scoped,
	[NODE_LOCAL] = put_local,
	[NODE_TEMPLATE] = put_template,
	[NODE_TAGGED] = put_tagged,
	[NODE_CONSTRUCTOR] = put_constructor,
	[NODE_DESTRUCTOR] = put_destructor,
	[NODE_OPERATOR] = put_operator,
	[NODE_CONVERSION] = itanium_print_names_put_conversion,
	[NODE_LITERAL_OPERATOR] = put_literal_operator,
	[NODE_VENDOR_OPERATOR] = itanium_print_names_put_conversion,
	[NODE_UNNAMED] = put_unnamed,
	[NODE_LAMBDA] = put_lambda,
	[NODE_BINDING] = put_binding,
	[NODE_OF_MODULE] = put_of_module,
	[NODE_MODULE] = put_module,
	[NODE_FRIEND] = put_friend,
	[NODE_CLONE] = put_clone,
	[NODE_SPECIAL] = put_special,
	[NODE_FUNCTION_NAME] = put_function,
	[NODE_ENABLE_IF] = put_enable_if,
};
