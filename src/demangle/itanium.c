/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/itanium.h"

#include <stdlib.h>
#include <string.h>

#include "demangle/itanium_print_expressions.h"
#include "demangle/itanium_print_names.h"
#include "demangle/itanium_print_types.h"
#include "demangle/itanium_texts.h"
#include "demangle/itanium_tree.h"

#define NODES_PER_BYTE 4 /* a byte makes at most a node, its list item and one or two more */
#define MIN_OUTPUT     65536
#define MAX_UNFOLDED   16 /* times as long as the mangled name, if that is more */

node_id itanium_node(struct itanium *p, enum node_kind kind, node_id a, node_id b, uint32_t number)
{
	struct node n = { .kind = (uint8_t)kind, .number = number, .a = a, .b = b };

	if (p->nodes.n >= NODES_PER_BYTE * (size_t)ITANIUM_MAX_NAME)
		return 0;
	vec_push(&p->nodes, n);
	return (node_id)(p->nodes.n - 1);
}

node_id itanium_text(struct itanium *p, const char *text, size_t len)
{
	node_id node = itanium_node(p, NODE_TEXT, 0, 0, (uint32_t)len);

	if (node)
		p->nodes.data[node].text = text;
	return node;
}

node_id itanium_fixed(struct itanium *p, const char *text)
{
	return itanium_text(p, text, strlen(text));
}

bool itanium_append(struct itanium *p, struct itanium_list *list, node_id item)
{
	node_id link = item ? itanium_node(p, NODE_LIST, item, 0, 0) : 0;

	if (!link)
		return false;
	if (list->last)
		p->nodes.data[list->last].b = link;
	else
		list->first = link;
	list->last = link;
	return true;
}

node_id itanium_remember(struct itanium *p, node_id node)
{
	if (node)
		vec_push(&p->substitutions, node);
	return node;
}

bool itanium_skip(struct itanium *p, char c)
{
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

bool itanium_skip_text(struct itanium *p, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

bool itanium_number(struct itanium *p, uint32_t *value)
{
	const char *start = p->at;
	uint32_t number = 0;

	for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
		if (number > UINT32_MAX / 10 - 1)
			return false;
		number = number * 10 + (uint32_t)(*p->at - '0');
	}
	*value = number;
	return p->at > start;
}

bool itanium_sequence(struct itanium *p, uint32_t *value)
{
	*value = 0;
	if (itanium_skip(p, '_'))
		return true;
	if (!itanium_number(p, value))
		return false;
	++*value;
	return itanium_skip(p, '_');
}

bool itanium_enter(struct itanium *p)
{
	if (p->depth >= ITANIUM_MAX_DEPTH)
		return false;
	p->depth++;
	return true;
}

/* Base 36: "S_" is 0, "S0_" is 1, "SA_" is 11. */
static bool substitution_index(struct itanium *p, uint32_t *index)
{
	uint32_t number = 0;

	for (*index = 0; !itanium_skip(p, '_'); *index = number + 1) {
		char c = itanium_peek(p, 0);

		if (number > ITANIUM_MAX_NAME)
			return false;
		if (c >= '0' && c <= '9')
			number = number * 36 + (uint32_t)(c - '0');
		else if (c >= 'A' && c <= 'Z')
			number = number * 36 + (uint32_t)(c - 'A') + 10;
		else
			return false;
		p->at++;
	}
	return true;
}

static node_id standard_name(struct itanium *p, char letter)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(itanium_standard_names); i++)
		if (itanium_standard_names[i].letter == letter) {
			p->at++;
			return itanium_node(p, NODE_STANDARD, 0, 0, i);
		}
	return 0;
}

node_id itanium_substitution(struct itanium *p)
{
	char c = itanium_peek(p, 1);
	node_id name;
	uint32_t index;

	p->at++;
	if (c < 'a' || c > 'z')
		return substitution_index(p, &index) && index < p->substitutions.n
			       ? p->substitutions.data[index]
			       : 0;
	name = standard_name(p, c);
	if (name && itanium_peek(p, 0) == 'B') {
		while (name && itanium_skip(p, 'B')) {
			node_id tag = itanium_source_name(p);

			name = tag ? itanium_node(p, NODE_TAGGED, name, tag, 0) : 0;
		}
		return itanium_remember(p, name);
	}
	return name;
}

/* ".cold", ".part.0", ".constprop.0.isra.0", ".llvm.123": a node for each. */
static node_id clones(struct itanium *p, node_id root)
{
	while (root && p->at < p->end) {
		const char *start = p->at;
		node_id suffix;

		if (!itanium_skip(p, '.') || p->at == p->end)
			return 0;
		while (p->at < p->end && *p->at != '.')
			p->at++;
		while (itanium_peek(p, 0) == '.' && itanium_peek(p, 1) >= '0' &&
		       itanium_peek(p, 1) <= '9')
			for (p->at++; itanium_peek(p, 0) >= '0' && itanium_peek(p, 0) <= '9';)
				p->at++;
		suffix = itanium_text(p, start, (size_t)(p->at - start));
		root = suffix ? itanium_node(p, NODE_CLONE, root, suffix, 0) : 0;
	}
	return root;
}

static const struct itanium_print_table itanium_print_table = {
	.types = itanium_print_types,
	.names = itanium_print_names,
	.expressions = itanium_print_expressions,
};

static bool demangle_into(struct itanium *p, enum itanium_style style, struct buf *out)
{
	size_t limit = MAX_UNFOLDED * (size_t)(p->end - p->at);
	node_id root;

	itanium_node(p, NODE_NONE, 0, 0, 0);
	root = clones(p, itanium_encoding(p));
	return root && itanium_print(p, &itanium_print_table, root, style == ITANIUM_SHORT,
				     limit > MIN_OUTPUT ? limit : MIN_OUTPUT, out);
}

bool itanium_demangle(const char *name, enum itanium_style style, struct buf *out)
{
	size_t len = strnlen(name, ITANIUM_MAX_NAME + 1);
	struct itanium p = { .at = name + 2, .end = name + len };
	bool ok = false;

	out->len = 0;
	if (len > 2 && len <= ITANIUM_MAX_NAME && name[0] == '_' && name[1] == 'Z')
		ok = demangle_into(&p, style, out);
	if (!ok)
		out->len = 0;
	vec_fini(&p.nodes);
	vec_fini(&p.substitutions);
	return ok;
}
