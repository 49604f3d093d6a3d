/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a print fmt's expressions: at a sample, or without one. */
#pragma once

#include "perfdata/print_format.h"
#include "perfdata/print_format_node.h"

struct evaluation {
	const struct trace_fields *fields;
	const uint8_t *raw;
	size_t size;
};

/* 0 for nodes without a number. */
uint64_t evaluation_number(const struct evaluation *e, const struct print_node *n);

/* The bytes of a field; none for other nodes. */
struct trace_bytes evaluation_bytes(const struct evaluation *e, const struct print_node *n);

/* The number of an expression without fields. With a field, sets *bad. */
uint64_t print_node_constant(const struct print_node *n, bool *bad);
