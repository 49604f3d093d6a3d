/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/recent.h"

#include <string.h>

static void move_to_end(struct recent *r, uint32_t place)
{
	uint32_t *at = &r->list.data[r->list.n - 1 - place], value = *at;

	memmove(at, at + 1, place * sizeof(*at));
	r->list.data[r->list.n - 1] = value;
}

uint32_t recent_place(struct recent *r, uint32_t value)
{
	uint32_t depth = (uint32_t)MIN(r->list.n, RECENT_DEPTH);

	for (uint32_t place = 0; place < depth; place++) {
		if (r->list.data[r->list.n - 1 - place] != value)
			continue;
		move_to_end(r, place);
		return place;
	}
	recent_put(r, value);
	return RECENT_NONE;
}

bool recent_at(struct recent *r, uint32_t place, uint32_t *value)
{
	if (place >= r->list.n || place >= RECENT_DEPTH)
		return false;
	move_to_end(r, place);
	*value = r->list.data[r->list.n - 1];
	return true;
}

void recent_put(struct recent *r, uint32_t value)
{
	vec_push(&r->list, value);
}

void recent_fini(struct recent *r)
{
	vec_fini(&r->list);
}
