/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of a C++ name, and the state of its parser.
 *
 * A node is an index into one array; 0 stands for "none", and also for "the name is damaged" as
 * the result of a parse function. Substitutions make the tree a graph without cycles: a node's
 * children always have smaller indexes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

typedef uint32_t node_id;

/* The letters are the used fields; b? may be 0. */
enum node_kind {
	NODE_NONE,
	/* names */
	NODE_TEXT,             /* text, number = its length */
	NODE_STANDARD,         /* number: row of itanium_standard_names */
	NODE_SCOPED,           /* a::b */
	NODE_LOCAL,            /* function a::b; number: of the default argument, from 1 */
	NODE_TEMPLATE,         /* a<b?>; b: list */
	NODE_TAGGED,           /* a[abi:b] */
	NODE_CONSTRUCTOR,      /* a: the name of the class */
	NODE_DESTRUCTOR,       /* ~a */
	NODE_OPERATOR,         /* operator, number: row of itanium_operators */
	NODE_CONVERSION,       /* operator a */
	NODE_LITERAL_OPERATOR, /* operator"" a */
	NODE_VENDOR_OPERATOR,  /* operator a */
	NODE_UNNAMED,          /* {unnamed type#number} */
	NODE_LAMBDA,           /* a: list of parameters, b?: LAMBDA_HEAD, number */
	NODE_LAMBDA_HEAD,      /* a?: list of TEMPLATE_PARAMETERs, b?: its constraint */
	NODE_BINDING,          /* [a]; a: list */
	NODE_OF_MODULE,        /* a@b */
	NODE_MODULE,           /* a?.b, or a?:b if detail (a partition) */
	NODE_FRIEND,           /* friend a */
	NODE_CLONE,            /* a [clone b] */
	NODE_SPECIAL,          /* itanium_special_names[number] a; b?: in-b; detail: a number */
	NODE_FUNCTION_NAME,    /* a: name, b: FUNCTION, number: requires, or 0 */
	NODE_ENABLE_IF,        /* a [enable_if:b]; a: function, b: list */
	/* types */
	NODE_QUALIFIED,        /* a; detail: qualifiers */
	NODE_VENDOR_QUALIFIED, /* a b */
	NODE_POINTER,          /* a* */
	NODE_REFERENCE,        /* a& */
	NODE_RVALUE_REFERENCE, /* a&& */
	NODE_COMPLEX,          /* a _Complex */
	NODE_IMAGINARY,        /* a _Imaginary */
	NODE_FUNCTION,         /* a?: return type, b: parameters, number: EXCEPTIONS or 0; detail */
	NODE_NOEXCEPT,         /* noexcept(a?) */
	NODE_THROW_LIST,       /* throw(a); a: list */
	NODE_ARRAY,            /* a[b?] */
	NODE_VECTOR,           /* a __vector(b) */
	NODE_MEMBER_POINTER,   /* b a::* */
	NODE_DECLTYPE,         /* decltype (a) */
	NODE_BIT_INT,          /* _BitInt(a); detail: unsigned */
	NODE_PACK_EXPANSION,   /* a... */
	NODE_PARAMETER,        /* of a template; number: index, detail: level */
	NODE_ELABORATED,       /* number: text of "struct", "union", "enum"; a */
	NODE_CONSTRAINED_AUTO, /* a auto */
	/* template arguments */
	NODE_LIST,               /* a, then b? */
	NODE_PACK,               /* a?: list */
	NODE_TEMPLATE_PARAMETER, /* of a lambda; detail: letter, a?: type, list, concept; number */
	/* expressions */
	NODE_LITERAL,        /* a: type, b?: digits; detail: negative; number: code of the type */
	NODE_STRING,         /* "<a>" */
	NODE_PREFIX,         /* number: row of itanium_operators; a */
	NODE_POSTFIX,        /* a, number */
	NODE_BINARY,         /* a, number, b */
	NODE_MEMBER,         /* a.b, a->b */
	NODE_CONDITIONAL,    /* a: condition, b: list of two */
	NODE_CALL,           /* a(b?) */
	NODE_CAST,           /* (a)b */
	NODE_CAST_LIST,      /* (a)(b?) */
	NODE_NAMED_CAST,     /* static_cast<a>(b); number */
	NODE_BRACED,         /* a?{b?} */
	NODE_FIELD,          /* .a=b */
	NODE_INDEX,          /* [a]=b */
	NODE_INDEX_RANGE,    /* [a ... list of two] */
	NODE_NEW,            /* number; a?: placement; b: list of the type and its initializer */
	NODE_GLOBAL,         /* ::a */
	NODE_OF_TYPE,        /* sizeof (a); number */
	NODE_COUNT,          /* sizeof...(a) */
	NODE_COUNT_LIST,     /* sizeof...(a?); a: list */
	NODE_FUNCTION_PARAM, /* {parm#number}, this if 0 */
	NODE_FOLD,           /* number: operator; a?: left, b?: right; detail: kind */
	NODE_RETHROW,        /* throw; number */
	NODE_REQUIRES,       /* requires (a?) { b } */
	NODE_REQUIREMENT,    /* detail: letter; a; b?: constraint; number: noexcept */
	NODE_VENDOR_CALL,    /* a(b?) */
	NODE_KINDS
};

enum {
	IS_CONST = 1,
	IS_VOLATILE = 2,
	IS_RESTRICT = 4,
	IS_LVALUE = 8,
	IS_RVALUE = 16,
	IS_TRANSACTION_SAFE = 32,
	HAS_EXPLICIT_THIS = 64,
};

struct node {
	uint8_t kind, detail;
	uint32_t number;
	union {
		struct {
			node_id a, b;
		};
		const char *text;
	};
};

#define ITANIUM_MAX_NAME   131072
#define ITANIUM_MAX_DEPTH  1024
#define ITANIUM_MAX_REREAD 32

struct itanium {
	const char *at, *end;
	VEC(struct node) nodes;
	VEC(node_id) substitutions;
	uint32_t depth;
	bool is_conversion; /* arguments behind T_ belong to the operator, not to T_ */
	uint32_t n_reread;  /* parts that were read a second time */
};

struct itanium_list {
	node_id first, last;
};

/* Facts of a name that decide how its function's type is read. */
struct itanium_name {
	uint8_t qualifiers;
	bool has_template_args;  /* at its end */
	bool has_no_return_type; /* constructors, destructors and conversions */
};

/* Building nodes. */
node_id itanium_node(struct itanium *p, enum node_kind kind, node_id a, node_id b, uint32_t number);
node_id itanium_text(struct itanium *p, const char *text, size_t len);
node_id itanium_fixed(struct itanium *p, const char *text);
/* An item of 0 (damage) makes false. */
bool itanium_append(struct itanium *p, struct itanium_list *list, node_id item);
node_id itanium_remember(struct itanium *p, node_id node); /* as a substitution */

/* Reading text. */
static inline char itanium_peek(const struct itanium *p, size_t ahead)
{
	return (size_t)(p->end - p->at) > ahead ? p->at[ahead] : '\0';
}

bool itanium_skip(struct itanium *p, char c);
bool itanium_skip_text(struct itanium *p, const char *text);
bool itanium_number(struct itanium *p, uint32_t *value);   /* decimal, without sign */
bool itanium_sequence(struct itanium *p, uint32_t *value); /* "_": 0, "0_": 1, "12_": 13 */
bool itanium_enter(struct itanium *p);                     /* false: too deep */
static inline void itanium_leave(struct itanium *p)
{
	p->depth--;
}

/* The grammar; 0: the name is damaged or beyond a limit. */
node_id itanium_encoding(struct itanium *p);
node_id itanium_name(struct itanium *p, struct itanium_name *facts);
node_id itanium_source_name(struct itanium *p);
node_id itanium_operator_name(struct itanium *p, struct itanium_name *facts);
node_id itanium_substitution(struct itanium *p);
node_id itanium_template_param(struct itanium *p);
node_id itanium_template_args(struct itanium *p, node_id of);
node_id itanium_template_arg(struct itanium *p);
node_id itanium_parameter_declaration(struct itanium *p);
node_id itanium_type(struct itanium *p);
node_id itanium_decltype(struct itanium *p);
/* Types up to, and without, `end` or the end of the name; one "v" is an empty list. */
bool itanium_parameters(struct itanium *p, struct itanium_list *list, bool *is_empty);
uint8_t itanium_qualifiers(struct itanium *p);
node_id itanium_expression(struct itanium *p);
node_id itanium_literal(struct itanium *p); /* "L…E" */
