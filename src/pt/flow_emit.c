/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_emit.h"

void pt_flow_flush(struct pt_flow *f)
{
	size_t n = f->n_events;

	f->n_events = 0;
	if (n)
		f->config.events(f->config.context, f->events, n);
}
