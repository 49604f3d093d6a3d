/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the sessions of session:, session-exclude: and archive: in a specification. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "open/input.h"
#include "store/session_join.h"

/* The samples of an archive that oparchive made lie below this. */
#define OPROFILE_STORE "var/lib/oprofile"

/* The folder that has samples/ in it: of a store, or of OProfile's in an archive. */
static char *store_of(const char *place)
{
	char *inner = xasprintf("%s/" OPROFILE_STORE, place);

	if (access(inner, F_OK) == 0)
		return inner;
	free(inner);
	return xstrdup(place);
}

static bool input_sessions_is_named(const struct filter *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->data[i].glob, name))
			return true;
	return false;
}

static bool is_path(const char *session)
{
	return session[0] == '/' || session[0] == '.';
}

static int input_sessions_refuse_name(const char *store, const char *name, struct error *err)
{
	struct session_names there = { 0 };
	struct buf text = { 0 };

	session_names_list(store, &there);
	for (size_t i = 0; i < there.n; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", there.data[i]);
	error_set(err, -ENOENT,
		  there.n ? "no session '%s' in %s; there are: %s"
			  : "no session '%s': %s has no saved sessions%s",
		  name, store, buf_cstr(&text));
	buf_fini(&text);
	session_names_fini(&there);
	return -ENOENT;
}

/* The sessions that are meant: those of session:, else all that there are, less the excluded. */
static int choose_names(const char *store, const struct query *q, struct session_names *out,
			struct error *err)
{
	const struct filter *take = &q->filters[FILTER_SESSION];
	const struct filter *exclude = &q->filters[FILTER_SESSION_EXCLUDE];
	struct session_names there = { 0 };

	session_names_list(store, &there);
	for (size_t i = 0; i < (take->n ? take->n : there.n); i++) {
		const char *name = take->n ? take->data[i].glob : there.data[i];

		if (!input_sessions_is_named(exclude, name))
			vec_push(out, xstrdup(name));
	}
	session_names_fini(&there);
	return out->n ? 0
		      : error_set(err, -EINVAL, "session-exclude: leaves no session of %s", store);
}

static int input_sessions_open_one(struct input *in, const char *store, const char *name,
				   const struct query *q, struct session **out, bool *is_damaged,
				   struct error *err)
{
	cleanup(free_at_exit) char *path =
		is_path(name) ? xstrdup(name) : xasprintf("%s/samples/%s", store, name);

	if (!is_path(name) && (strchr(name, '/') || access(path, F_OK) < 0))
		return input_sessions_refuse_name(store, name, err);
	return input_open_window(in, path, q, out, is_damaged, err);
}

static int open_chosen(struct input *in, const char *place, const struct query *q,
		       struct session **out, bool *is_damaged, struct error *err)
{
	cleanup(free_at_exit) char *store = store_of(place);
	struct session_names names = { 0 };
	VEC(struct session *) parts = { 0 };
	int r = choose_names(store, q, &names, err);

	for (size_t i = 0; i < names.n && r >= 0; i++) {
		struct session *part = NULL;
		bool part_is_damaged = false;

		r = input_sessions_open_one(in, store, names.data[i], q, &part, &part_is_damaged,
					    err);
		*is_damaged |= part_is_damaged;
		if (r >= 0)
			vec_push(&parts, part);
	}
	if (r >= 0) {
		r = session_join_to_read(parts.data, (uint32_t)parts.n, false, out, err);
	} else {
		vec_foreach (&parts, part)
			session_close(*part);
	}
	vec_fini(&parts);
	session_names_fini(&names);
	return r;
}

const char *input_place(const char *given, const struct query *q)
{
	if (q && query_has(q, FILTER_ARCHIVE))
		return q->filters[FILTER_ARCHIVE].data[0].glob;
	return given;
}

int input_open_query(struct input *in, const char *given, const struct query *q,
		     struct session **out, bool *is_damaged, struct error *err)
{
	const char *place = input_place(given, q);
	const char *folder;
	int r;

	*is_damaged = false;
	if (given && place != given)
		return error_set(err, -EINVAL,
				 "archive:%s and -i %s both name the samples; give one of them",
				 place, given);
	if (!query_has(q, FILTER_SESSION) && !query_has(q, FILTER_SESSION_EXCLUDE))
		return input_open_given_window(in, place, q, out, is_damaged, err);
	r = input_unpacked(in, place ? place : DEFAULT_SESSION, &folder, err);
	return r < 0 ? r : open_chosen(in, folder, q, out, is_damaged, err);
}
