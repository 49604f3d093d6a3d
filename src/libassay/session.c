/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/reserve.h"
#include "config.h"
#include "libassay/handles.h"
#include "store/session.h"

_Static_assert(sizeof(struct assay_error) == 768, "a part of the ABI");

ASSAY_API const char *assay_version(void)
{
	return ASSAY_VERSION;
}

int assay_give_error(struct assay_error *to, int code, const struct error *from)
{
	if (to) {
		to->code = code;
		snprintf(to->text, sizeof(to->text), "%.*s", (int)sizeof(to->text) - 1,
			 from->text[0] ? from->text : strerror(-code));
	}
	return code;
}

int assay_refuse(struct assay_error *to, int code, const char *sentence)
{
	struct error err = { 0 };

	error_set(&err, code, "%s", sentence);
	return assay_give_error(to, code, &err);
}

struct assay_work assay_begin_work(void)
{
	return (struct assay_work){ reserve_failures() };
}

int assay_end_work(const struct assay_work *work, int r, struct error *err)
{
	return reserve_failures() != work->n_failures ? reserve_error(err) : r;
}

/* ---- configs ---- */

/* Where the value of an option goes: a text or a switch of struct assay_config. */
static const struct config_row {
	const char *name;
	bool is_switch;
	size_t place;
} config_rows[] = {
#define TEXT(name, member)                                         \
	{                                                          \
		name, false, offsetof(struct assay_config, member) \
	}
#define SWITCH(name, member)                                      \
	{                                                         \
		name, true, offsetof(struct assay_config, member) \
	}
	TEXT("itrace", open.itrace),
	TEXT("filter", open.filter),
	TEXT("vmlinux", open.vmlinux),
	TEXT("symfs", open.symfs),
	TEXT("container-names", open.container_names),
	TEXT("since", window.since),
	TEXT("until", window.until),
	TEXT("symbol-cache", cache),
	SWITCH("no-itrace", open.no_itrace),
	SWITCH("no-demangle", open.no_demangle),
	SWITCH("guard-cut-files", open.guards_cut_files),
#undef TEXT
#undef SWITCH
};

ASSAY_API struct assay_config *assay_config_new(void)
{
	return xcalloc(1, sizeof(struct assay_config));
}

ASSAY_API void assay_config_free(struct assay_config *config)
{
	for (size_t i = 0; config && i < ARRAY_SIZE(config->text); i++)
		free(config->text[i]);
	free(config);
}

ASSAY_API const char *assay_config_name(size_t index)
{
	return index < ARRAY_SIZE(config_rows) ? config_rows[index].name : NULL;
}

static int refuse_option(const char *name, struct assay_error *error)
{
	struct error err = { 0 };
	struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(config_rows); i++)
		buf_printf(&names, "%s%s", i ? ", " : "", config_rows[i].name);
	error_set(&err, -EINVAL, "there is no option '%s'; there are %s", name, buf_cstr(&names));
	buf_fini(&names);
	return assay_give_error(error, -EINVAL, &err);
}

ASSAY_API int assay_config_set(struct assay_config *config, const char *name, const char *value,
			       struct assay_error *error)
{
	if (!config || !name || !value)
		return assay_refuse(error, -EINVAL, "an option needs a config, a name and a value");
	for (size_t i = 0; i < ARRAY_SIZE(config_rows); i++) {
		const struct config_row *row = &config_rows[i];
		char *place = (char *)config + row->place;

		if (strcmp(row->name, name) != 0)
			continue;
		if (row->is_switch) {
			*(bool *)place = strcmp(value, "0") != 0;
			return 0;
		}
		free(config->text[i]);
		config->text[i] = xstrdup(value);
		*(const char **)place = config->text[i];
		return 0;
	}
	return refuse_option(name, error);
}

/* ---- sessions ---- */

static int open_session(const struct assay_config *config, struct assay_session *s,
			struct error *err)
{
	struct query window = { 0 };
	const struct symbolizer_config symbols = { .cache_dir = config->cache };
	int r = input_new(&config->open, &s->in, err);

	r = r < 0 ? r : input_window(&config->window, &window, err);
	if (r >= 0)
		r = input_open_window(s->in, s->path, &window, &s->session, &s->is_damaged, err);
	if (r >= 0)
		s->symbols = input_symbolizer_with(s->in, s->path, &symbols);
	query_fini(&window);
	return r;
}

ASSAY_API int assay_open(const char *path, const struct assay_config *config,
			 struct assay_session **out, struct assay_error *error)
{
	static const struct assay_config defaults;
	const struct assay_work work = assay_begin_work();
	struct assay_session *s;
	struct error err = { 0 };
	int r;

	if (!out)
		return assay_refuse(error, -EINVAL, "there is no place for the session");
	*out = NULL;
	if (!path)
		return assay_refuse(error, -EINVAL, "no path is given");
	config = config ? config : &defaults;
	s = xcalloc(1, sizeof(*s));
	s->uses = 1;
	s->path = xstrdup(path);
	s->no_itrace = config->open.no_itrace;
	r = assay_end_work(&work, open_session(config, s, &err), &err);
	if (r < 0) {
		assay_close(s);
		return assay_give_error(error, r, &err);
	}
	*out = s;
	return 0;
}

void assay_session_unuse(struct assay_session *s)
{
	if (--s->uses)
		return;
	symbolizer_free(s->symbols);
	session_close(s->session);
	input_free(s->in);
	free(s->path);
	free(s);
}

ASSAY_API void assay_close(struct assay_session *session)
{
	if (session)
		assay_session_unuse(session);
}

ASSAY_API const char *assay_session_path(const struct assay_session *s)
{
	return s ? s->path : "";
}

ASSAY_API int assay_session_is_damaged(const struct assay_session *s)
{
	return s && s->is_damaged;
}

ASSAY_API size_t assay_session_warnings(const struct assay_session *s)
{
	return s ? s->session->warnings.n : 0;
}

ASSAY_API const char *assay_session_warning(const struct assay_session *s, size_t index)
{
	return index < assay_session_warnings(s) ? s->session->warnings.data[index] : NULL;
}

ASSAY_API const char *assay_session_text(const struct assay_session *s, const char *name)
{
	static const struct {
		const char *name;
		size_t place;
	} texts[] = {
#define X(field) { #field, offsetof(struct session_info, field) },
		SESSION_INFO_TEXTS(X)
#undef X
	};

	for (size_t i = 0; s && name && i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].name, name))
			return *(const char *const *)((const char *)&s->session->info +
						      texts[i].place);
	return NULL;
}

ASSAY_API uint64_t assay_session_start_ns(const struct assay_session *s)
{
	return s ? s->session->info.start_wall_ns : 0;
}

/* Blocks that stand for a damaged part have neither rows nor times. */
ASSAY_API uint64_t assay_session_duration_ns(const struct assay_session *s)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; s && i < s->session->n_segments; i++)
		for (uint32_t b = 0; b < s->session->segments[i]->n_blocks; b++) {
			const struct block *block = &s->session->segments[i]->blocks[b];

			first = block->n_rows ? MIN(first, block->first_ns) : first;
			last = block->n_rows ? MAX(last, block->last_ns) : last;
		}
	return last > first ? last - first : 0;
}

ASSAY_API uint64_t assay_session_samples(const struct assay_session *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; s && i < s->session->n_segments; i++)
		for (uint32_t b = 0; b < s->session->segments[i]->n_blocks; b++)
			n += s->session->segments[i]->blocks[b].samples;
	return n;
}

ASSAY_API size_t assay_events(const struct assay_session *s)
{
	return s ? s->session->info.n_counters : 0;
}

ASSAY_API const char *assay_event_name(const struct assay_session *s, size_t event)
{
	return event < assay_events(s) ? s->session->info.counters[event].name : NULL;
}

ASSAY_API const char *assay_event_unit(const struct assay_session *s, size_t event)
{
	return event < assay_events(s) ? s->session->info.counters[event].unit : NULL;
}
