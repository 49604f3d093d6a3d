/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Printing the tree of a C++ name.
 *
 * A type is written around the name that it declares: "int (*" name ")(char)". Therefore a node
 * has a left and a right part. Parameters of templates get their values here: a scope holds the
 * arguments of the function that is being printed.
 */
#pragma once

#include "base/buf.h"
#include "demangle/itanium_tree.h"

struct itanium_scope {
	node_id arguments; /* list */
	const struct itanium_scope *outer;
};

/* The element of a pack that is being printed, and the number of elements once it is known. */
struct itanium_pack {
	bool is_expanding, has_size;
	uint32_t index, size;
};

struct itanium_printer;
typedef void itanium_print_fn(struct itanium_printer *pr, const struct node *n);

/* The function of each kind of node. Types have right parts, too. */
struct itanium_print_table {
	itanium_print_fn *const (*types)[2];
	itanium_print_fn *const *names, *const *expressions;
};

struct itanium_printer {
	const struct itanium *p;
	const struct itanium_print_table *table;
	struct buf *out;
	size_t limit;
	uint32_t depth, steps;
	bool has_failed;
	const struct itanium_scope *scope;
	struct itanium_pack pack;
	bool is_in_lambda;     /* T_ is a parameter of the lambda */
	bool is_in_constraint; /* T_ may be a parameter of the class, whose value is not here */
	node_id lambda_head;
	/* the last element found in a list, as elements are usually asked for one after another */
	node_id list, link;
	uint32_t list_index;
};

/* False: a limit is reached, or a template parameter has no value. */
bool itanium_print(const struct itanium *p, const struct itanium_print_table *table, node_id root,
		   bool is_short, size_t limit, struct buf *out);

/* Parts, for the files of the printer. */

void itanium_put(struct itanium_printer *pr, const char *text);
void itanium_put_number(struct itanium_printer *pr, uint32_t number);
void itanium_put_node(struct itanium_printer *pr, node_id node);
void itanium_put_left(struct itanium_printer *pr, node_id node);
void itanium_put_right(struct itanium_printer *pr, node_id node);
void itanium_put_list(struct itanium_printer *pr, node_id list); /* "a, b" */
/* Arguments of a template, with the brackets. */
void itanium_put_arguments(struct itanium_printer *pr, node_id list);
/* In parentheses, unless it is a simple name. */
void itanium_put_operand(struct itanium_printer *pr, node_id node);

static inline const struct node *itanium_get(const struct itanium_printer *pr, node_id node)
{
	return &pr->p->nodes.data[node];
}

/* A node and the scope in which it is read. */
struct itanium_place {
	node_id node;
	const struct itanium_scope *scope;
	bool is_argument; /* of a template: it ignores packs around it */
};

/* Replaces template parameters by their values. A node of 0: the pack is empty. */
struct itanium_place itanium_resolve(struct itanium_printer *pr, struct itanium_place place);
static inline struct itanium_place itanium_here(const struct itanium_printer *pr, node_id node)
{
	return (struct itanium_place){ node, pr->scope, false };
}

/* The number of elements, and -1 if `node` is no pack. */
int64_t itanium_pack_size(struct itanium_printer *pr, node_id node);

/* " const &" and the like behind the parameters of a function. */
void itanium_put_function_qualifiers(struct itanium_printer *pr, const struct node *function);
/* The left part of a function's return type, and a space if a name can't follow it directly. */
void itanium_put_result_left(struct itanium_printer *pr, node_id type);
/* "auto:1", or "$T" if the lambda declares it. */
void itanium_put_lambda_parameter(struct itanium_printer *pr, uint32_t index);
