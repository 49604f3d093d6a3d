/* SPDX-License-Identifier: GPL-2.0-or-later */
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
					   .query = &b->query };

	/* it has all that lists and callers and callees need, too */
	report_request(&tree_view, &b->options, &request, NULL);
	return request;
}

static void drop_places(struct browse *b)
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
	drop_places(b);
	profile_free(b->profile);
	query_fini(&b->query);
	vec_foreach (&b->filters, filter)
		free(*filter);
	vec_fini(&b->filters);
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
		r = input_profile(&b->request, b->is_damaged, &profile, err);
	}
	if (r < 0) {
		b->query = old;
		query_fini(&query);
		return r;
	}
	drop_places(b);
	profile_free(b->profile);
	query_fini(&old);
	b->profile = profile;
	b->options.by_period = profile_weighs_by_period(profile);
	return 0;
}
