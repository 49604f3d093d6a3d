/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/history/blocks.h"

struct waiting {
	char part[HISTORY_NAME_SIZE];
	uint64_t bucket, samples;
	bool is_away; /* its part was not there at the last look */
};

struct waiting_list {
	struct waiting *data;
	size_t n, cap;
};

struct merged {
	char *replaces;
	uint64_t from_ns, to_ns;
};

struct ship_waiting {
	struct waiting_list before; /* of the looks until the last one */
	struct waiting_list now;    /* of this look … */
	VEC(struct merged) merged;  /* … as well */
};

struct ship_waiting *ship_waiting_new(void)
{
	return xcalloc(1, sizeof(struct ship_waiting));
}

static void forget_merged(struct ship_waiting *w)
{
	vec_foreach (&w->merged, m)
		free(m->replaces);
	w->merged.n = 0;
}

void ship_waiting_free(struct ship_waiting *w)
{
	if (!w)
		return;
	forget_merged(w);
	vec_fini(&w->merged);
	vec_fini(&w->before);
	vec_fini(&w->now);
	free(w);
}

void ship_waiting_put(struct ship_waiting *w, const char *part, uint64_t bucket, uint64_t samples)
{
	struct waiting each = { .bucket = bucket, .samples = samples };

	snprintf(each.part, sizeof(each.part), "%s", part);
	vec_push(&w->now, each);
}

void ship_waiting_merged(struct ship_waiting *w, const char *replaces, uint64_t from_ns,
			 uint64_t to_ns)
{
	vec_push(&w->merged, (struct merged){ xstrdup(replaces), from_ns, to_ns });
}

bool replaces_part(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static bool is_merged(const struct ship_waiting *w, const struct waiting *each)
{
	vec_foreach (&w->merged, m)
		if (replaces_part(m->replaces, each->part) ||
		    (each->bucket + BLOCK_BUCKET_NS > m->from_ns && each->bucket < m->to_ns))
			return true;
	return false;
}

static bool is_there(const struct history_names *names, const struct waiting *each)
{
	char *name = (char *)each->part;

	return names->n && bsearch(&name, names->data, names->n, sizeof(name), history_by_name);
}

void ship_waiting_take_gone(struct ship_waiting *w, const struct history_names *names,
			    const struct fleet_host *host, struct fleet_keys *out)
{
	vec_foreach (&w->before, each) {
		struct fleet_key key = { .bucket = each->bucket, .samples = each->samples };

		if (is_there(names, each) || is_merged(w, each) ||
		    fleet_host_find(host, each->part, each->bucket))
			continue;
		memcpy(key.part, each->part, sizeof(key.part));
		if (each->is_away) {
			vec_push(out, key);
			continue;
		}
		each->is_away = true;
		vec_push(&w->now, *each);
	}
	forget_merged(w);
	vec_fini(&w->before);
	w->before = w->now;
	w->now = (struct waiting_list){ 0 };
}
