/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/print_format_value.h"

static uint64_t evaluation_apply(int op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return !y || (y == -1 && x == INT64_MIN) ? 0 : (uint64_t)(x / y);
	case '%':
		return !y || y == -1 ? 0 : (uint64_t)(x % y);
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '<':
		return x < y;
	case '>':
		return x > y;
	case PAIR('<', '='):
		return x <= y;
	case PAIR('>', '='):
		return x >= y;
	case PAIR('=', '='):
		return a == b;
	case PAIR('!', '='):
		return a != b;
	case PAIR('<', '<'):
		return b < 64 ? a << b : 0;
	case PAIR('>', '>'):
		return b < 64 ? a >> b : 0;
	case PAIR('&', '&'):
		return a && b;
	default: /* || */
		return a || b;
	}
}

static uint64_t evaluation_field(const struct evaluation *e, const struct print_node *n)
{
	const struct trace_field *f = &e->fields->data[n->field];
	size_t offset = f->offset, size = f->size;
	uint64_t v;

	if (n->a) {
		size = f->element_size;
		offset += evaluation_number(e, n->a) % (f->n_elements ? f->n_elements : 1) * size;
	}
	v = trace_number(e->fields, e->raw, e->size, offset, size);
	return f->is_signed ? trace_extend(v, size) : v;
}

struct trace_bytes evaluation_bytes(const struct evaluation *e, const struct print_node *n)
{
	if (n->kind == NODE_CAST)
		return evaluation_bytes(e, n->a);
	if (n->kind != NODE_FIELD && n->kind != NODE_BYTES)
		return (struct trace_bytes){ e->raw, 0 };
	return trace_bytes_of(e->fields, &e->fields->data[n->field], e->raw, e->size);
}

static uint64_t evaluation_cast(const struct print_node *n, uint64_t v)
{
	if (n->cast_size >= 8)
		return v;
	if (n->is_signed)
		return trace_extend(v, n->cast_size);
	return v & (((uint64_t)1 << (8 * n->cast_size)) - 1);
}

uint64_t evaluation_number(const struct evaluation *e, const struct print_node *n)
{
	uint64_t v;

	switch (n->kind) {
	case NODE_NUMBER:
		return n->number;
	case NODE_FIELD:
		return evaluation_field(e, n);
	case NODE_LENGTH:
		return trace_bytes_of(e->fields, &e->fields->data[n->field], e->raw, e->size).n;
	case NODE_UNARY:
		v = evaluation_number(e, n->a);
		return n->op == '-' ? 0 - v : n->op == '~' ? ~v : !v;
	case NODE_BINARY:
		return evaluation_apply(n->op, evaluation_number(e, n->a),
					evaluation_number(e, n->b));
	case NODE_CHOICE:
		return evaluation_number(e, evaluation_number(e, n->a) ? n->b : n->c);
	case NODE_CAST:
		return evaluation_cast(n, evaluation_number(e, n->a));
	default:
		return 0;
	}
}

uint64_t print_node_constant(const struct print_node *n, bool *bad)
{
	static const struct evaluation nothing;

	switch (n->kind) {
	case NODE_NUMBER:
		return n->number;
	case NODE_UNARY:
	case NODE_CAST:
		print_node_constant(n->a, bad);
		break;
	case NODE_BINARY:
		print_node_constant(n->a, bad);
		print_node_constant(n->b, bad);
		break;
	default:
		*bad = true;
	}
	return *bad ? 0 : evaluation_number(&nothing, n);
}
