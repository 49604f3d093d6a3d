/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a session that was opened before its recording began. */
#include <assert.h>
#include <stdlib.h>

#include "store/format.h"
#include "store/native_state.h"

/* Writes over the former text. */
int native_begin(struct store *s, uint64_t wall_ns, uint64_t ns, struct error *err)
{
	struct session_info info;
	struct buf text = { 0 };

	if (s->number || s->size_bytes != s->empty_bytes ||
	    info_decode(s->info.data, s->info.len, &info) < 0)
		return 0;
	info.start_wall_ns = wall_ns;
	s->last_ns = info.start_ns = ns;
	info_encode(&text, &info);
	free(info.counters);
	buf_fini(&s->info);
	s->info = text;
	s->size_bytes = 0;
	native_begin_out(s);
	assert(s->out.len >= s->empty_bytes); /* INFO never shrinks */
	s->empty_bytes = s->out.len;
	return native_write_out(s, err);
}
