/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of the printer: limits, lists, scopes and packs. */
#include "demangle/itanium_print.h"

#include <stdio.h>
#include <string.h>

#define MAX_STEPS 1000000
#define MAX_DEPTH 2048

static void itanium_print_put_bytes(struct itanium_printer *pr, const char *text, size_t len)
{
	if (pr->out->len + len > pr->limit)
		pr->has_failed = true;
	if (!pr->has_failed)
		buf_bytes(pr->out, text, len);
}

void itanium_put(struct itanium_printer *pr, const char *text)
{
	itanium_print_put_bytes(pr, text, strlen(text));
}

void itanium_put_number(struct itanium_printer *pr, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	itanium_put(pr, text);
}

static bool take_step(struct itanium_printer *pr)
{
	if (++pr->steps > MAX_STEPS)
		pr->has_failed = true;
	return !pr->has_failed;
}

static itanium_print_fn *left_of(const struct itanium_printer *pr, const struct node *n)
{
	if (pr->table->types[n->kind][0])
		return pr->table->types[n->kind][0];
	if (pr->table->names[n->kind])
		return pr->table->names[n->kind];
	return pr->table->expressions[n->kind];
}

void itanium_put_left(struct itanium_printer *pr, node_id node)
{
	const struct node *n = itanium_get(pr, node);

	if (n->kind == NODE_TEXT) {
		itanium_print_put_bytes(pr, n->text, n->number);
		return;
	}
	if (!take_step(pr))
		return;
	if (pr->depth == MAX_DEPTH || !left_of(pr, n)) {
		pr->has_failed = true;
		return;
	}
	pr->depth++;
	left_of(pr, n)(pr, n);
	pr->depth--;
}

void itanium_put_right(struct itanium_printer *pr, node_id node)
{
	const struct node *n = itanium_get(pr, node);

	if (!pr->table->types[n->kind][1] || !take_step(pr))
		return;
	if (pr->depth == MAX_DEPTH) {
		pr->has_failed = true;
		return;
	}
	pr->depth++;
	pr->table->types[n->kind][1](pr, n);
	pr->depth--;
}

void itanium_put_node(struct itanium_printer *pr, node_id node)
{
	itanium_put_left(pr, node);
	itanium_put_right(pr, node);
}

/* Empty packs at the end leave no comma. Returns whether there were any. */
static bool put_items(struct itanium_printer *pr, node_id list)
{
	size_t end = pr->out->len;

	for (bool is_first = true; list && !pr->has_failed; list = itanium_get(pr, list)->b) {
		size_t start;

		if (!is_first)
			itanium_put(pr, ", ");
		is_first = false;
		start = pr->out->len;
		itanium_put_node(pr, itanium_get(pr, list)->a);
		if (pr->out->len > start)
			end = pr->out->len;
	}
	if (pr->out->len == end)
		return false;
	pr->out->len = end;
	return true;
}

void itanium_put_list(struct itanium_printer *pr, node_id list)
{
	put_items(pr, list);
}

static bool itanium_print_ends_with(const struct itanium_printer *pr, char c)
{
	return pr->out->len && pr->out->data[pr->out->len - 1] == (uint8_t)c;
}

/* "A<B<int> >", but "A<B<int>>" if an empty pack follows, as in c++filt. */
void itanium_put_arguments(struct itanium_printer *pr, node_id list)
{
	bool ends_with_empty_pack;

	itanium_put(pr, itanium_print_ends_with(pr, '<') ? " <" : "<");
	ends_with_empty_pack = put_items(pr, list);
	itanium_put(pr, itanium_print_ends_with(pr, '>') && !ends_with_empty_pack ? " >" : ">");
}

static bool is_simple(const struct itanium_printer *pr, const struct node *n)
{
	if (n->kind == NODE_SCOPED)
		return itanium_get(pr, n->b)->kind != NODE_TEMPLATE;
	return n->kind == NODE_TEXT || n->kind == NODE_BRACED || n->kind == NODE_FUNCTION_PARAM;
}

void itanium_put_operand(struct itanium_printer *pr, node_id node)
{
	bool needs_parentheses = !is_simple(pr, itanium_get(pr, node));

	if (needs_parentheses)
		itanium_put(pr, "(");
	itanium_put_node(pr, node);
	if (needs_parentheses)
		itanium_put(pr, ")");
}

/* The item at `index`; 0: the list is shorter. */
static node_id list_item(struct itanium_printer *pr, node_id list, uint32_t index)
{
	if (list != pr->list || index < pr->list_index) {
		pr->list = pr->link = list;
		pr->list_index = 0;
	}
	while (pr->link && pr->list_index < index && take_step(pr)) {
		pr->link = itanium_get(pr, pr->link)->b;
		pr->list_index++;
	}
	if (!pr->link) {
		pr->list = 0;
		return 0;
	}
	return itanium_get(pr, pr->link)->a;
}

static uint32_t list_size(struct itanium_printer *pr, node_id list)
{
	uint32_t n = 0;

	for (; list && take_step(pr); list = itanium_get(pr, list)->b)
		n++;
	return n;
}

static node_id pack_element(struct itanium_printer *pr, node_id pack, bool is_of_expansion)
{
	node_id list = itanium_get(pr, pack)->a;

	if (is_of_expansion && pr->pack.is_expanding && !pr->pack.has_size) {
		pr->pack.has_size = true;
		pr->pack.size = list_size(pr, list);
	}
	return list ? list_item(pr, list, is_of_expansion ? pr->pack.index : 0) : 0;
}

struct itanium_place itanium_resolve(struct itanium_printer *pr, struct itanium_place place)
{
	while (itanium_get(pr, place.node)->kind == NODE_PARAMETER && !pr->has_failed) {
		const struct node *n = itanium_get(pr, place.node);
		node_id argument;

		if (pr->is_in_lambda)
			return place;
		argument = place.scope && !n->detail
				   ? list_item(pr, place.scope->arguments, n->number)
				   : 0;
		if (!argument && pr->is_in_constraint)
			return place;
		if (!argument || !take_step(pr)) {
			pr->has_failed = true;
			return (struct itanium_place){ 0, NULL, true };
		}
		if (itanium_get(pr, argument)->kind == NODE_PACK)
			argument = pack_element(pr, argument, !place.is_argument);
		place = (struct itanium_place){ argument, place.scope->outer, true };
		if (!argument)
			return place;
	}
	return place;
}

int64_t itanium_pack_size(struct itanium_printer *pr, node_id node)
{
	const struct node *n = itanium_get(pr, node);
	node_id argument = 0;

	if (n->kind == NODE_PARAMETER && pr->scope && !pr->is_in_lambda)
		argument = list_item(pr, pr->scope->arguments, n->number);
	if (!argument || itanium_get(pr, argument)->kind != NODE_PACK)
		return -1;
	return list_size(pr, itanium_get(pr, argument)->a);
}

static void put_short(struct itanium_printer *pr, node_id root)
{
	const struct node *n = itanium_get(pr, root);

	while (n->kind == NODE_CLONE || n->kind == NODE_ENABLE_IF) {
		root = n->a;
		n = itanium_get(pr, root);
	}
	if (n->kind == NODE_FUNCTION_NAME)
		pr->table->names[NODE_NONE](pr, n);
	else
		itanium_put_node(pr, root);
}

bool itanium_print(const struct itanium *p, const struct itanium_print_table *table, node_id root,
		   bool is_short, size_t limit, struct buf *out)
{
	struct itanium_printer pr = { .p = p, .table = table, .out = out, .limit = limit };

	if (is_short)
		put_short(&pr, root);
	else
		itanium_put_node(&pr, root);
	buf_cstr(out);
	return !pr.has_failed && out->len;
}
