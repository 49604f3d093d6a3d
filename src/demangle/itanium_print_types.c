/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of types: the part in front of the declared name, and the part behind it. */
#include "demangle/itanium_print_types.h"

/* The state that an argument of a template is printed in: its own scope, no pack. */
struct saved_state {
	const struct itanium_scope *scope;
	struct itanium_pack pack;
};

static struct saved_state enter_place(struct itanium_printer *pr, const struct itanium_place *place)
{
	struct saved_state saved = { pr->scope, pr->pack };

	pr->scope = place->scope;
	if (place->is_argument)
		pr->pack = (struct itanium_pack){ 0 };
	return saved;
}

static void leave_place(struct itanium_printer *pr, const struct itanium_place *place,
			const struct saved_state *saved)
{
	pr->scope = saved->scope;
	if (place->is_argument)
		pr->pack = saved->pack;
}

typedef void put_fn(struct itanium_printer *, node_id);

static void itanium_print_types_put_in_place(struct itanium_printer *pr,
					     const struct itanium_place *place, put_fn *put)
{
	struct saved_state saved;

	if (!place->node || pr->has_failed)
		return;
	saved = enter_place(pr, place);
	put(pr, place->node);
	leave_place(pr, place, &saved);
}

static struct itanium_place child_place(struct itanium_place place, node_id child)
{
	place.node = child;
	return place;
}

/* The type in which pointers and qualifiers end, with the values of template parameters. */
static enum node_kind base_kind(struct itanium_printer *pr, node_id type, bool is_through_pointers)
{
	struct itanium_place place = itanium_here(pr, type);

	for (;;) {
		const struct node *n;

		place = itanium_resolve(pr, place);
		if (!place.node)
			return NODE_NONE;
		n = itanium_get(pr, place.node);
		if (n->kind == NODE_QUALIFIED || n->kind == NODE_VENDOR_QUALIFIED)
			place = child_place(place, n->a);
		else if (is_through_pointers && n->kind >= NODE_POINTER &&
			 n->kind <= NODE_RVALUE_REFERENCE)
			place = child_place(place, n->a);
		else if (is_through_pointers && n->kind == NODE_MEMBER_POINTER)
			place = child_place(place, n->b);
		else
			return (enum node_kind)n->kind;
	}
}

/* "int (*" name ")()": the parentheses separate a pointer from the function. */
static void open_parenthesis(struct itanium_printer *pr, node_id type)
{
	enum node_kind kind = base_kind(pr, type, false);

	if (kind == NODE_ARRAY)
		itanium_put(pr, " (");
	else if (kind == NODE_FUNCTION)
		itanium_put(pr, "(");
}

static void close_parenthesis(struct itanium_printer *pr, node_id type)
{
	enum node_kind kind = base_kind(pr, type, false);

	if (kind == NODE_ARRAY || kind == NODE_FUNCTION)
		itanium_put(pr, ")");
}

static void pointer_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	open_parenthesis(pr, n->a);
	itanium_put(pr, "*");
}

static void pointer_right(struct itanium_printer *pr, const struct node *n)
{
	close_parenthesis(pr, n->a);
	itanium_put_right(pr, n->a);
}

/* References to references are one: "&" wins. */
static struct itanium_place referred_type(struct itanium_printer *pr, const struct node *n,
					  bool *is_lvalue)
{
	struct itanium_place place = itanium_here(pr, n->a);

	*is_lvalue = n->kind == NODE_REFERENCE;
	for (;;) {
		place = itanium_resolve(pr, place);
		if (!place.node)
			return place;
		n = itanium_get(pr, place.node);
		if (n->kind != NODE_REFERENCE && n->kind != NODE_RVALUE_REFERENCE)
			return place;
		*is_lvalue |= n->kind == NODE_REFERENCE;
		place = child_place(place, n->a);
	}
}

static void reference_left(struct itanium_printer *pr, const struct node *n)
{
	bool is_lvalue;
	struct itanium_place place = referred_type(pr, n, &is_lvalue);

	itanium_print_types_put_in_place(pr, &place, itanium_put_left);
	itanium_print_types_put_in_place(pr, &place, open_parenthesis);
	if (place.node)
		itanium_put(pr, is_lvalue ? "&" : "&&");
}

static void reference_right(struct itanium_printer *pr, const struct node *n)
{
	bool is_lvalue;
	struct itanium_place place = referred_type(pr, n, &is_lvalue);

	itanium_print_types_put_in_place(pr, &place, close_parenthesis);
	itanium_print_types_put_in_place(pr, &place, itanium_put_right);
}

static void member_pointer_left(struct itanium_printer *pr, const struct node *n)
{
	enum node_kind kind = base_kind(pr, n->b, false);

	itanium_put_left(pr, n->b);
	open_parenthesis(pr, n->b);
	if (kind != NODE_ARRAY && kind != NODE_FUNCTION)
		itanium_put(pr, " ");
	itanium_put_node(pr, n->a);
	itanium_put(pr, "::*");
}

static void member_pointer_right(struct itanium_printer *pr, const struct node *n)
{
	close_parenthesis(pr, n->b);
	itanium_put_right(pr, n->b);
}

static void put_qualifiers(struct itanium_printer *pr, uint8_t qualifiers)
{
	static const struct {
		uint8_t bit;
		const char *text;
	} texts[] = {
		{ IS_CONST, " const" },       { IS_VOLATILE, " volatile" },
		{ IS_RESTRICT, " restrict" }, { IS_TRANSACTION_SAFE, " transaction_safe" },
		{ IS_LVALUE, " &" },          { IS_RVALUE, " &&" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (qualifiers & texts[i].bit)
			itanium_put(pr, texts[i].text);
}

/* Without qualifiers that a template parameter's value has, or that mean nothing for it. */
static uint8_t own_qualifiers(struct itanium_printer *pr, const struct node *n)
{
	struct itanium_place place = itanium_resolve(pr, itanium_here(pr, n->a));
	const struct node *child;

	if (!place.node)
		return 0;
	child = itanium_get(pr, place.node);
	if (child->kind == NODE_QUALIFIED)
		return n->detail & (uint8_t)~child->detail;
	return child->kind == NODE_FUNCTION ? 0 : n->detail;
}

static void qualified_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	put_qualifiers(pr, own_qualifiers(pr, n));
}

static void inner_right(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_right(pr, n->a);
}

static void vendor_qualified_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	itanium_put(pr, " ");
	itanium_put_node(pr, n->b);
}

static void complex_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	itanium_put(pr, " _Complex");
}

static void imaginary_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	itanium_put(pr, " _Imaginary");
}

void itanium_put_result_left(struct itanium_printer *pr, node_id type)
{
	enum node_kind kind = base_kind(pr, type, true);

	itanium_put_left(pr, type);
	if (kind != NODE_FUNCTION && kind != NODE_ARRAY)
		itanium_put(pr, " ");
}

static void function_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_result_left(pr, n->a);
}

void itanium_put_function_qualifiers(struct itanium_printer *pr, const struct node *function)
{
	if (function->number)
		itanium_put_node(pr, function->number);
	put_qualifiers(pr, function->detail);
}

static void function_right(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "(");
	itanium_put_list(pr, n->b);
	itanium_put(pr, ")");
	itanium_put_function_qualifiers(pr, n);
	itanium_put_right(pr, n->a);
}

static void put_noexcept(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, " noexcept");
	if (!n->a)
		return;
	itanium_put(pr, "(");
	itanium_put_node(pr, n->a);
	itanium_put(pr, ")");
}

static void put_throw_list(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, " throw(");
	itanium_put_list(pr, n->a);
	itanium_put(pr, ")");
}

static void array_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
}

static void array_right(struct itanium_printer *pr, const struct node *n)
{
	size_t len = pr->out->len;

	itanium_put(pr, len && pr->out->data[len - 1] == ']' ? "[" : " [");
	if (n->b)
		itanium_put_node(pr, n->b);
	itanium_put(pr, "]");
	itanium_put_right(pr, n->a);
}

static void vector_left(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_left(pr, n->a);
	itanium_put(pr, " __vector(");
	itanium_put_node(pr, n->b);
	itanium_put(pr, ")");
}

static void put_decltype(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "decltype (");
	itanium_put_node(pr, n->a);
	itanium_put(pr, ")");
}

static void put_bit_int(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, n->detail ? "unsigned _BitInt(" : "_BitInt(");
	itanium_put_node(pr, n->a);
	itanium_put(pr, ")");
}

static void put_constrained_auto(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_node(pr, n->a);
	itanium_put(pr, n->number ? " decltype(auto)" : " auto");
}

static void put_elaborated(struct itanium_printer *pr, const struct node *n)
{
	if (n->number == 's')
		itanium_put(pr, "struct ");
	else
		itanium_put(pr, n->number == 'u' ? "union " : "enum ");
	itanium_put_node(pr, n->a);
}

/* "T", "T0", "TL0_", "TL0_0": as in the mangled name. */
static void put_parameter_name(struct itanium_printer *pr, const struct node *n)
{
	itanium_put(pr, "T");
	if (n->detail) {
		itanium_put(pr, "L");
		itanium_put_number(pr, n->detail - 1U);
		itanium_put(pr, "_");
	}
	if (n->number)
		itanium_put_number(pr, n->number - 1);
}

static void parameter_left(struct itanium_printer *pr, const struct node *n)
{
	node_id node = (node_id)(n - pr->p->nodes.data);
	struct itanium_place place;

	if (pr->is_in_lambda) {
		itanium_put_lambda_parameter(pr, n->number);
		return;
	}
	place = itanium_resolve(pr, itanium_here(pr, node));
	if (place.node && itanium_get(pr, place.node)->kind == NODE_PARAMETER)
		put_parameter_name(pr, itanium_get(pr, place.node));
	else
		itanium_print_types_put_in_place(pr, &place, itanium_put_left);
}

static void parameter_right(struct itanium_printer *pr, const struct node *n)
{
	node_id node = (node_id)(n - pr->p->nodes.data);
	struct itanium_place place;

	if (pr->is_in_lambda)
		return;
	place = itanium_resolve(pr, itanium_here(pr, node));
	if (place.node && itanium_get(pr, place.node)->kind != NODE_PARAMETER)
		itanium_print_types_put_in_place(pr, &place, itanium_put_right);
}

static void put_pack(struct itanium_printer *pr, const struct node *n)
{
	itanium_put_list(pr, n->a);
}

/* The pattern for each element of its first pack; "(pattern)..." without a pack. */
static void put_pack_expansion(struct itanium_printer *pr, const struct node *n)
{
	struct itanium_pack outer = pr->pack;
	size_t start = pr->out->len;

	pr->pack = (struct itanium_pack){ .is_expanding = true };
	itanium_put_node(pr, n->a);
	if (!pr->pack.has_size) {
		pr->out->len = start;
		itanium_put_operand(pr, n->a);
		itanium_put(pr, "...");
	} else if (!pr->pack.size) {
		pr->out->len = start;
	}
	while (!pr->has_failed && ++pr->pack.index < pr->pack.size) {
		itanium_put(pr, ", ");
		itanium_put_node(pr, n->a);
	}
	pr->pack = outer;
}

itanium_print_fn *const itanium_print_types[NODE_KINDS][2] = {
	[NODE_QUALIFIED] = { qualified_left, inner_right },
	[NODE_VENDOR_QUALIFIED] = { vendor_qualified_left, inner_right },
	[NODE_POINTER] = { pointer_left, pointer_right },
	[NODE_REFERENCE] = { reference_left, reference_right },
	[NODE_RVALUE_REFERENCE] = { reference_left, reference_right },
	[NODE_COMPLEX] = { complex_left, inner_right },
	[NODE_IMAGINARY] = { imaginary_left, inner_right },
	[NODE_FUNCTION] = { function_left, function_right },
	[NODE_NOEXCEPT] = { put_noexcept, NULL },
	[NODE_THROW_LIST] = { put_throw_list, NULL },
	[NODE_ARRAY] = { array_left, array_right },
	[NODE_VECTOR] = { vector_left, NULL },
	[NODE_MEMBER_POINTER] = { member_pointer_left, member_pointer_right },
	[NODE_DECLTYPE] = { put_decltype, NULL },
	[NODE_BIT_INT] = { put_bit_int, NULL },
	[NODE_PACK_EXPANSION] = { put_pack_expansion, NULL },
	[NODE_PARAMETER] = { parameter_left, parameter_right },
	[NODE_ELABORATED] = { put_elaborated, NULL },
	[NODE_CONSTRAINED_AUTO] = { put_constrained_auto, NULL },
	[NODE_PACK] = { put_pack, NULL },
};
