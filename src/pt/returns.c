/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/returns.h"

void pt_returns_move_down(struct pt_returns *r)
{
	uint32_t n = pt_depth(r), from = PT_SPARE_RETURNS + r->bottom;

	memmove(&r->node[PT_SPARE_RETURNS], &r->node[from], n * sizeof(*r->node));
	memmove(&r->addr[PT_SPARE_RETURNS], &r->addr[from], n * sizeof(*r->addr));
	r->bottom = 0;
	r->top = n;
}

void pt_returns_leave(struct pt_returns *r, const struct pt_code *code)
{
	for (uint32_t i = r->bottom; i < r->top; i++) {
		uint32_t *node = &r->node[PT_SPARE_RETURNS + i];

		if (*node)
			r->addr[PT_SPARE_RETURNS + i] = pt_node(code, *node)->start;
		*node = 0;
	}
}
