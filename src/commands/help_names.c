/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/help_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "commands/opening.h"
#include "counter/catalog/catalog.h"
#include "counter/sources.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "store/session.h"

static void print_event(void *ctx, const struct event_name *event)
{
	(void)ctx;
	puts(event->name);
}

struct values {
	VEC(char *) lines;
	bool by_number;
};

static void add_value(void *ctx, uint32_t value, const char *text)
{
	struct values *values = ctx;

	vec_push(&values->lines, values->by_number ? xasprintf("%" PRIu32, value) : xstrdup(text));
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each once. Names of a profiled program are foreign: control characters are escaped. */
static void print_lines(struct values *values)
{
	const char *before = "";

	if (values->lines.n)
		qsort(values->lines.data, values->lines.n, sizeof(char *), compare_lines);
	vec_foreach (&values->lines, line) {
		struct buf safe = { 0 };

		utf8_append_visible(&safe, *line);
		if (strcmp(*line, before) != 0)
			puts(buf_cstr(&safe));
		before = *line;
		buf_fini(&safe);
	}
}

static int print_values(enum filter_tag tag, const char *input, struct error *err)
{
	cleanup(input_free_at_exit) struct input *in = NULL;
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	struct values values = { .by_number = filter_infos[tag].match == MATCH_NUMBER };
	struct profile_request request = { .with_functions = true };
	bool is_damaged = false;
	int r;

	if (opening_begin("help", &(struct open_config){ 0 }, &in) >= 0)
		return error_set(err, -EINVAL, "--names");
	r = input_open_given(in, input, &session, &is_damaged, err);
	if (r < 0)
		return r;
	request.session = session;
	request.symbols = symbols = input_symbolizer(in, input, NULL);
	profile_each_value(&request, tag, add_value, &values);
	print_lines(&values);
	vec_foreach (&values.lines, line)
		free(*line);
	vec_fini(&values.lines);
	return 0;
}

int help_print_names(const char *what, const char *input, struct error *err)
{
	static const struct counter_sources sources;
	size_t len = strcspn(what, ":");

	if (!strcmp(what, "event")) {
		catalog_each(&sources, print_event, NULL);
		return 0;
	}
	for (enum filter_tag tag = 0; tag < N_FILTERS; tag++) {
		const char *name = filter_infos[tag].tag;

		if (!strcmp(what, "filter") && *name)
			printf("%s:\n", name);
		else if (*name && what[len] && strlen(name) == len && !strncmp(name, what, len))
			return print_values(tag, input, err);
	}
	return !strcmp(what, "filter")
		       ? 0
		       : error_set(err, -EINVAL,
				   "--names: '%s' is not event, filter or TAG:", what);
}
