/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets of foreign formats push into: both ends of everything that a sample points
 * at are touched.
 */
#pragma once

#include <stdlib.h>

#include "foreign/foreign.h"
#include "foreign/sniff.h"

struct touching_sink {
	struct foreign_sink sink;
	uint64_t sum;
};

static inline void touch_slice(struct touching_sink *t, struct slice s)
{
	if (s.len)
		t->sum += (uint8_t)s.at[0] + (uint8_t)s.at[s.len - 1];
}

static inline int touch(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct touching_sink *t = (struct touching_sink *)sink;

	touch_slice(t, s->event);
	touch_slice(t, s->unit);
	touch_slice(t, s->comm);
	if (s->n_frames > FOREIGN_MAX_FRAMES || !s->samples)
		abort();
	for (uint32_t i = 0; i < s->n_frames; i++) {
		touch_slice(t, s->frames[i].symbol);
		touch_slice(t, s->frames[i].image);
		touch_slice(t, s->frames[i].line ? s->frames[i].file : (struct slice){ 0 });
		t->sum += s->frames[i].addr + s->frames[i].build_id.len;
	}
	return 0;
}

/* The input as a text that ends where memory does. */
static inline void fuzz_text(const uint8_t *data, size_t size,
			     int (*read)(struct slice, struct foreign_sink *,
					 struct foreign_facts *))
{
	struct touching_sink sink = { { touch }, 0 };
	struct foreign_facts facts = { 0 };
	char *copy = xmalloc(size + !size);

	if (size)
		memcpy(copy, data, size);
	foreign_sniff(copy, size, true);
	read((struct slice){ copy, size }, &sink.sink, &facts);
	foreign_facts_fini(&facts);
	free(copy);
}
