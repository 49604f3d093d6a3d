/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/ext.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* One row for each feature. */
static const struct ext_feature *const features[] = {
	&ibs_feature,
};

struct ext_session {
	const struct counters *counters;
	struct {
		const struct ext_feature *feature;
		void *state; /* NULL: the feature has no counter here */
		bool has_files;
	} open[ARRAY_SIZE(features)];
	uint8_t *owner; /* by counter: 1 + index of its feature; 0: no feature */
};

/* Appends the names and arguments of all features, as --ext-feature takes them, a line each. */
static void ext_list(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		buf_printf(out, "%s%s:%s", i ? "\n" : "", features[i]->name, features[i]->args);
}

int ext_init(const char *text, int (*add)(void *context, const char *event), void *context,
	     struct error *err)
{
	size_t len = strcspn(text, ":");
	struct buf known = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (strlen(features[i]->name) != len || strncmp(features[i]->name, text, len) != 0)
			continue;
		r = features[i]->init(text + len + (text[len] == ':'), add, context, err);
		return r < 0 ? error_wrap(err, r, "extended feature '%s'", features[i]->name) : 0;
	}
	ext_list(&known);
	r = error_set(err, -EINVAL, "no extended feature '%.*s'; there is %s", (int)len, text,
		      buf_cstr(&known));
	buf_fini(&known);
	return r;
}

/* A counter belongs to the feature that its `ext` names. */
static void own_counters(struct ext_session *s, size_t feature)
{
	size_t len = strlen(s->open[feature].feature->name);

	for (size_t i = 0; i < s->counters->n; i++) {
		const char *ext = s->counters->data[i].ext;

		if (ext && !strncmp(ext, s->open[feature].feature->name, len))
			s->owner[i] = (uint8_t)(feature + 1);
	}
}

int ext_open(const struct counters *counters, const struct counter_sources *sources,
	     struct ext_session **out, struct error *err)
{
	struct ext_session *s = xcalloc(1, sizeof(*s));
	bool is_used = false;
	int r = 0;

	s->counters = counters;
	s->owner = xcalloc(counters->n + 1, 1);
	for (size_t i = 0; i < ARRAY_SIZE(features) && !r; i++) {
		s->open[i].feature = features[i];
		r = features[i]->open(counters, sources, &s->open[i].state, err);
		if (s->open[i].state)
			own_counters(s, i);
		is_used |= s->open[i].state != NULL;
	}
	*out = r || !is_used ? NULL : s;
	if (!*out)
		ext_close(s);
	return r;
}

void ext_close(struct ext_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (s->open[i].has_files)
			s->open[i].feature->files->close(s->open[i].state);
		if (s->open[i].state)
			s->open[i].feature->close(s->open[i].state);
	}
	free(s->owner);
	free(s);
}

bool ext_has(const struct ext_session *s, uint32_t counter)
{
	return counter < s->counters->n && s->owner[counter];
}

int ext_derive(struct ext_session *s, const struct event *sample,
	       struct ext_count counts[EXT_MAX_COUNTS])
{
	size_t i = s->owner[sample->sample.counter] - 1u;

	return s->open[i].feature->derive(s->open[i].state, sample, counts);
}

void ext_print(const struct ext_session *s, ext_visitor visit, void *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (s->open[i].state && s->open[i].feature->print)
			s->open[i].feature->print(s->open[i].state, visit, context);
}

int ext_open_files(struct ext_session *s, const char *dir, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(features) && !r; i++) {
		const struct ext_file_handlers *files =
			s->open[i].state ? s->open[i].feature->files : NULL;

		if (!files)
			continue;
		r = s->open[i].has_files ? files->dup(s->open[i].state, dir, err)
					 : files->create(s->open[i].state, dir, err);
		s->open[i].has_files |= !r;
	}
	return r;
}

void ext_sync_files(struct ext_session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (s->open[i].has_files)
			s->open[i].feature->files->sync(s->open[i].state);
}
