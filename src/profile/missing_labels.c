/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/missing_labels.h"

#include <string.h>

#include "base/buf.h"
#include "machine/image.h"
#include "profile/key.h"
#include "profile/query.h"
#include "store/session.h"

struct missing_labels {
	const struct session *session;
	struct buf names; /* "trace,span" */
	bool is_any;      /* any label is asked for, and there is none */
};

/* `len` 0: a label of any name. */
static bool session_has_label(const struct session *s, const char *name, size_t len)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t k = 0; k < s->segments[i]->n_images; k++) {
			const struct image *image = &s->segments[i]->images[k];
			const char *own;

			if (!image_is_label_mark(image))
				continue;
			own = image->path + strlen(IMAGE_LABEL_PREFIX);
			if (!len || (strlen(own) == len && !strncmp(own, name, len)))
				return true;
		}
	return false;
}

static bool has_name(const struct buf *names, const char *name, size_t len)
{
	const char *at = (const char *)names->data, *end = at + names->len;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);

		if (n == len && !memcmp(at, name, len))
			return true;
		at += n + 1;
	}
	return false;
}

static void add_wanted(struct missing_labels *m, const char *name, size_t len)
{
	if (session_has_label(m->session, name, len) || (len && has_name(&m->names, name, len)))
		return;
	if (!len) {
		m->is_any = true;
		return;
	}
	if (m->names.len)
		buf_u8(&m->names, ',');
	buf_bytes(&m->names, name, len);
}

/* label:NAME=GLOB. A glob may stand for the name, too. */
static void add_wanted_of_filter(struct missing_labels *m, const char *glob)
{
	size_t len = strcspn(glob, "=");

	add_wanted(m, glob, glob[len] && strcspn(glob, "*?[") > len ? len : 0);
}

void put_missing_labels(const struct session *s, const struct key_list *keys,
			const struct query *query, struct buf *out)
{
	struct missing_labels m = { .session = s };

	if (key_list_has(keys, PROFILE_TRACE) || query_has(query, FILTER_TRACE))
		add_wanted(&m, "trace", strlen("trace"));
	if (key_list_has(keys, PROFILE_SPAN) || query_has(query, FILTER_SPAN))
		add_wanted(&m, "span", strlen("span"));
	if (key_list_has(keys, PROFILE_LABEL))
		add_wanted(&m, keys->label, strlen(keys->label));
	vec_foreach (&query->filters[FILTER_LABEL], value)
		add_wanted_of_filter(&m, value->glob);
	if (query_has(query, FILTER_LABEL) && !query->filters[FILTER_LABEL].n)
		add_wanted(&m, "", 0);
	if (m.names.len || m.is_any)
		buf_printf(out,
			   "%s%snot recorded; 'assay record --labels %s' records what a program "
			   "sets (pprof.Do of Go, the thread context of OpenTelemetry)",
			   m.names.len ? buf_cstr(&m.names) : "", m.names.len ? ": " : "",
			   m.names.len ? buf_cstr(&m.names) : "NAME,NAME");
	buf_fini(&m.names);
}
