/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog/catalog.h"

#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "counter/pmu.h"

const char *const event_kind_keys[N_EVENT_KINDS] = {
#define X(id, key, text) [EVENT_##id] = key,
	EVENT_KINDS(X)
#undef X
};

const char *const event_kind_texts[N_EVENT_KINDS] = {
#define X(id, key, text) [EVENT_##id] = text,
	EVENT_KINDS(X)
#undef X
};

static void offer_name(void *ctx, const struct event_name *event)
{
	nearest_offer(ctx, event->name, event->name);
	if (event->alias)
		nearest_offer(ctx, event->alias, event->alias);
	/* "sched_swich" is near to sched:sched_switch as well. */
	if (event->kind == EVENT_TRACEPOINT)
		nearest_offer(ctx, strchr(event->name, ':') + 1, event->name);
}

void catalog_nearest(const struct counter_sources *sources, const char *word, char *text,
		     size_t size)
{
	struct nearest near;

	nearest_begin(&near, word);
	if (near.len)
		catalog_each(sources, offer_name, &near);
	nearest_end(&near, text, size);
}

void catalog_each(const struct counter_sources *sources, event_visitor visit, void *ctx)
{
	generic_each(visit, ctx);
	tracepoint_each(sources, visit, ctx);
	pmu_each(sources, visit, ctx);
	event_files_each(sources, visit, ctx);
	pfm_each(visit, ctx);
}
