/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "commands/browse/browse.h"
#include "open/input.h"
#include "report/report.h"
#include "store/session.h"

/* The operands of the command line, then the words. */
static int make_query(const struct browse *b, const char *filter, struct query *q,
		      struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(filter);
	struct option_list all = { 0 };
	char *rest = NULL;
	int r;

	for (size_t i = 0; i < b->operands->n; i++)
		vec_push(&all, b->operands->data[i]);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		vec_push(&all, word);
	q->frames = b->frames;
	r = input_query(b->in, &all, b->with_idle, q, err);
	vec_fini(&all);
	return r < 0 ? r : query_check(q, err);
}

struct profile_request browse_request(const struct browse *b, const struct session *session,
				      struct symbolizer *symbols)
{
	struct profile_request request = { .session = session,
					   .symbols = symbols,
					   .query = &b->query,
					   .is_unwanted = &b->is_unwanted };

	/* it has all that lists and callers and callees need, too */
	report_request(&tree_view, &b->options, &request, NULL);
	return request;
}

void browse_drop_places(struct browse *b)
{
	annotation_free(b->annotation);
	source_files_free(b->sources);
	profile_free(b->places);
	b->annotation = NULL;
	b->sources = NULL;
	b->places = NULL;
}

void browse_unload(struct browse *b)
{
	browse_close_pages(b);
	browse_drop_places(b);
	profile_free(b->profile);
	query_fini(&b->query);
	vec_foreach (&b->filters, filter)
		free(*filter);
	vec_fini(&b->filters);
	vec_fini(&b->typed);
}

const char *browse_filter(const struct browse *b)
{
	return b->filters.n ? b->filters.data[b->filters.n - 1] : "";
}

int browse_load(struct browse *b, const char *filter, struct error *err)
{
	struct query query = { 0 }, old = b->query;
	struct profile *profile = NULL;
	int r = make_query(b, filter, &query, err);

	if (r >= 0) {
		b->query = query;
		b->request = browse_request(b, b->session, b->symbols);
		browse_wait_begin(b, "reading samples");
		r = input_profile(&b->request, b->is_damaged, &profile, err);
		if (!browse_wait_end(b)) {
			profile_free(r < 0 ? NULL : profile);
			r = error_set(err, -ECANCELED, "stopped");
		}
	}
	if (r < 0) {
		b->query = old;
		query_fini(&query);
		return r;
	}
	browse_drop_places(b);
	profile_free(b->profile);
	query_fini(&old);
	b->profile = profile;
	b->options.by_period = profile_weighs_by_period(profile);
	return 0;
}

static int open_other(struct browse *b, const char *path, struct session **session,
		      bool *is_damaged, struct error *err)
{
	int r;

	browse_wait_begin(b, "opening");
	r = input_open(b->in, path, session, is_damaged, err);
	if (browse_wait_end(b) || r < 0)
		return r;
	session_close(take_ptr(*session));
	return error_set(err, -ECANCELED, "stopped");
}

int browse_choose_session(struct browse *b, const char *path, struct error *err)
{
	const struct symbolizer_config config = { .cache_dir = b->cache_dir };
	struct session *session = NULL, *old = b->session;
	struct symbolizer *symbols = b->symbols;
	bool was_damaged = b->is_damaged, is_damaged;
	cleanup(free_at_exit) char *filter = xstrdup(browse_filter(b));
	int r = open_other(b, path, &session, &is_damaged, err);

	if (r < 0)
		return r;
	b->is_damaged = is_damaged;
	b->session = session;
	b->symbols = input_symbolizer_with(b->in, path, &config);
	r = browse_load(b, filter, err);
	if (r < 0) {
		symbolizer_free(b->symbols);
		session_close(session);
		b->session = old;
		b->symbols = symbols;
		b->is_damaged = was_damaged;
		return r;
	}
	browse_close_pages(b); /* their texts are of the session before */
	symbolizer_free(symbols);
	session_close(old);
	free(b->chosen);
	b->given = b->chosen = xstrdup(path);
	return 0;
}
