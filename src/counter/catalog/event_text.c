/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog/event_text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "counter/catalog/catalog.h"
#include "counter/catalog/event_files.h"

static const char no_mask[] = "No unit mask";

static void take_table_event(const struct table_event *e, uint64_t unit_mask,
			     struct event_text *out)
{
	snprintf(out->help, sizeof(out->help), "%s", e->help);
	snprintf(out->mask, sizeof(out->mask), "%s", e->mask.units.n ? "multiple flags" : no_mask);
	vec_foreach (&e->mask.units, u)
		if (u->value == unit_mask || (u->extra && u->extra == unit_mask)) {
			snprintf(out->mask, sizeof(out->mask), "%s", u->help);
			return;
		}
}

struct search {
	const char *name;
	size_t len;
	struct event_text *out;
	bool is_found;
};

static void event_text_visit(void *ctx, const struct event_name *e)
{
	struct search *s = ctx;
	bool is_it = strlen(e->name) == s->len && !strncasecmp(e->name, s->name, s->len);

	if (e->alias)
		is_it |= strlen(e->alias) == s->len && !strncasecmp(e->alias, s->name, s->len);
	if (!is_it || s->is_found || e->kind == EVENT_TRACEPOINT)
		return;
	s->is_found = true;
	snprintf(s->out->help, sizeof(s->out->help), "%s",
		 *e->help ? e->help : event_kind_texts[e->kind]);
}

bool event_text_find(const struct counter_sources *sources, const char *cpu, const char *name,
		     uint64_t unit_mask, struct event_text *out)
{
	const struct cpu_type *type = cpu ? cpu_type_find_pretty(cpu) : NULL;
	struct search s = { .name = name, .len = strcspn(name, ":"), .out = out };
	struct event_table t;
	const struct cpu_type *found;

	snprintf(out->help, sizeof(out->help), "Unknown event");
	snprintf(out->mask, sizeof(out->mask), "%s", unit_mask ? "multiple flags" : no_mask);
	if (event_files_load(sources, type ? type->name : NULL, &t, &found, NULL) == 0) {
		char *bare = xstrndup(name, s.len);
		const struct table_event *e = event_table_find(&t, bare);

		free(bare);
		s.is_found = e != NULL;
		if (e)
			take_table_event(e, unit_mask, out);
	}
	event_table_fini(&t);
	if (!s.is_found)
		catalog_each(sources, event_text_visit, &s);
	return s.is_found;
}
