/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time_window.h"
#include "http/http_server.h"
#include "profile/key.h"
#include "profile/query.h"

#define JSON_TYPE  "application/json"
#define LINES_TYPE "application/x-ndjson"

#define API(...) { __VA_ARGS__ },
const struct api_row api_rows[] = {
#include "serve/api.def"
};
#undef API
const size_t n_api_rows = ARRAY_SIZE(api_rows);

/* Those of OPERANDS stand behind "--", as add_operands() and add_sides() put them there. */
enum argument_kind { OPTION, OPTION_SOURCE, SOURCE_INPUT, OPERANDS };

static const struct argument_row {
	struct api_argument shown;
	enum argument_kind kind;
	const char *option; /* "--since=" */
} argument_rows[] = {
	{ { "source", "name of a source" }, SOURCE_INPUT, "--input=" },
	{ { "baseline", "name of the source to compare with; without it, the same source" },
	  OPERANDS,
	  "" },
	{ { "baseline_filter", "filters of the old side; without it, those of filter" },
	  OPERANDS,
	  "" },
	{ { "baseline_page", "name of the source whose shares are compared" },
	  OPTION_SOURCE,
	  "--baseline=" },
	{ { "by", "keys, separated by commas: those of /api/v1/labels" }, OPTION, "--by=" },
	{ { "filter", "filters TAG:VALUE, a line each; see FILTERS of assay-report(1)" },
	  OPERANDS,
	  "" },
	{ { "since", "only samples from this time on: -2h, 2026-11-20 14:00 …" },
	  OPTION,
	  "--since=" },
	{ { "until", "only samples before this time" }, OPTION, "--until=" },
	{ { "at", "only samples around this time" }, OPTION, "--at=" },
	{ { "window", "with at: how much time" }, OPTION, "--window=" },
	{ { "against", "the old side's time: from it on, with the length of the window; FROM..TO" },
	  OPTION,
	  "--against=" },
	{ { "limit", "at most so many rows" }, OPTION, "--limit=" },
	{ { "step", "the length of a step of a series, at least: 10s, 5m" }, OPTION, "--step=" },
	{ { "threshold", "rows below this share of all, in percent, become one" },
	  OPTION,
	  "--threshold=" },
	{ { "weight", "samples, events, wall or auto" }, OPTION, "--weight=" },
	{ { "frames", "native frames, those of interpreted languages, or both" },
	  OPTION,
	  "--frames=" },
	{ { "time", "a window: START,STOP in seconds, or a share of the time such as 10%-30%" },
	  OPTION,
	  "--time=" },
	{ { "tid", "numbers of threads, separated by commas" }, OPTION, "--tid=" },
};

const struct api_argument *api_argument(size_t i)
{
	return i < ARRAY_SIZE(argument_rows) ? &argument_rows[i].shown : NULL;
}

bool api_row_takes(const struct api_row *row, const char *argument)
{
	size_t n = strlen(argument);

	for (const char *at = row->arguments; (at = strstr(at, argument)); at += n)
		if ((at == row->arguments || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

const struct api_row *api_find(const char *name)
{
	for (size_t i = 0; i < n_api_rows; i++)
		if (!strcmp(api_rows[i].name, name))
			return &api_rows[i];
	return NULL;
}

void api_call_fini(struct api_call *c)
{
	vec_foreach (&c->words, word)
		free(*word);
	vec_fini(&c->words);
	free(c->label);
	buf_fini(&c->key);
}

static void add_word(struct api_call *c, const char *option, const char *value)
{
	vec_push(&c->words, xasprintf("%s%s", option, value));
	buf_bytes(&c->key, option, strlen(option));
	buf_bytes(&c->key, value, strlen(value) + 1);
}

static void add_words(struct api_call *c, const char *words)
{
	cleanup(free_at_exit) char *copy = xstrdup(words);
	char *rest = copy;

	add_word(c, "assay", "");
	for (char *word; (word = strsep(&rest, " "));)
		add_word(c, word, "");
}

static int add_source(struct api_call *c, const struct argument_row *row, const char *name,
		      const struct sources *sources, struct error *err)
{
	bool is_live;
	const struct source *source = sources_find(sources, name);
	/* A relative path may look like an option, a filter or a brace. */
	bool is_odd = source && source->kind != SOURCE_CLICKHOUSE && *source->path != '/' &&
		      (strchr("-{}", *source->path) || strchr(source->path, ':'));
	cleanup(free_at_exit) char *path = NULL;

	if (!source)
		return error_set(err, -ENOENT, "There is no source '%s'.", name);
	path = xasprintf("%s%s", is_odd ? "./" : "", source->path);
	add_word(c, row->option, path);
	buf_printf(&c->key, "%" PRIx64, source_stamp(source, c->until_ns, &is_live));
	c->is_growing |= is_live;
	buf_u8(&c->key, '\0');
	return 0;
}

/* fnmatch(3) can take a time that is exponential in the number of stars. */
#define MAX_STARS 8

static size_t count_stars(const char *glob)
{
	size_t n = 0;

	for (; *glob; glob++)
		n += *glob == '*' && glob[1] != '*';
	return n;
}

int api_add_filter(struct query *query, const char *filter, struct error *err)
{
	size_t n_matchers = query->matchers.n;
	int r;

	query->is_check = true;
	r = query_add(query, filter, err);
	if (r < 0)
		return r;
	if (query->matchers.n == n_matchers && count_stars(filter) > MAX_STARS)
		return error_set(err, -EINVAL,
				 "a glob has at most %d stars here: use TAG=~\"EXPRESSION\"",
				 MAX_STARS);
	if (query_has(query, FILTER_BINARY))
		return error_set(err, -EINVAL, "'%s' is not a filter: it needs TAG:VALUE", filter);
	if (query_has(query, FILTER_SESSION) || query_has(query, FILTER_SESSION_EXCLUDE) ||
	    query_has(query, FILTER_ARCHIVE))
		return error_set(err, -EINVAL, "'%s' chooses sources: use the argument source",
				 filter);
	return 0;
}

/* Adds filters, a line each. A filter of sources would name other files, so it is refused. */
static int add_filters(struct api_call *c, const char *lines, struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(lines);
	struct query query = { 0 };
	char *rest = copy;
	int r = 0;

	for (char *line; r >= 0 && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		if (!*line)
			continue;
		r = api_add_filter(&query, line, err);
		add_word(c, line, "");
	}
	query_fini(&query);
	return r < 0 ? r : 0;
}

/*
 * All filters together are one query, in which a tag comes once. So a request cannot widen a limit:
 * assay refuses a second filter of the limit's tag.
 */
static int add_operands(struct api_call *c, const struct api_row *row, const char *asked,
			const char *limits, struct error *err)
{
	cleanup(free_at_exit) char *all =
		xasprintf("%s\n%s", limits ? limits : "", asked ? asked : "");

	if (limits && !api_row_takes(row, "filter"))
		return error_set(err, -EACCES,
				 "This token is limited by filters, and this answer has none.");
	return add_filters(c, all, err);
}

static int missing_argument(const char *name, struct error *err)
{
	return error_set(err, -EINVAL, "The argument %s is missing.", name);
}

static int add_argument(struct api_call *c, const struct argument_row *row, const char *value,
			const struct sources *sources, struct error *err)
{
	if (strlen(value) > 4096)
		return error_set(err, -EINVAL, "The argument %s is too long.", row->shown.name);
	if (row->kind != OPTION)
		return add_source(c, row, value, sources, err);
	add_word(c, row->option, value);
	return 0;
}

/* The arguments of a request. */
struct given {
	api_getter *get;
	const void *context;
};

/* The options. Where there are two sides, the sources are operands. */
static int add_options(struct api_call *c, const struct api_row *row, const struct given *given,
		       const struct sources *sources, struct error *err)
{
	bool has_sides = api_row_takes(row, "baseline");
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(argument_rows) && r >= 0; i++) {
		const struct argument_row *a = &argument_rows[i];
		const char *value = NULL;

		if (!api_row_takes(row, a->shown.name) || a->kind == OPERANDS ||
		    (a->kind == SOURCE_INPUT && has_sides))
			continue;
		value = given->get(given->context, a->shown.name);
		if (value && *value)
			r = add_argument(c, a, value, sources, err);
		else if (a->kind == SOURCE_INPUT)
			r = missing_argument(a->shown.name, err);
	}
	return r;
}

static const char *given_text(const struct given *g, const char *name)
{
	const char *value = g->get(g->context, name);

	return value && *value ? value : NULL;
}

/*
 * { OLD [FILTER…] } { NEW [FILTER…] }. The filters that limit a token stand on either side, so a
 * request can widen neither.
 */
static int add_sides(struct api_call *c, const struct given *given, const struct sources *sources,
		     const char *limits, struct error *err)
{
	static const struct argument_row side = { .option = "" };
	const char *new = given_text(given, "source"), *old = given_text(given, "baseline");
	const char *const names[] = { old ? old : new, new };
	const char *filter = given->get(given->context, "filter");
	const char *old_filter = given->get(given->context, "baseline_filter");
	const char *const filters[] = { old_filter ? old_filter : filter, filter };
	int r = new ? 0 : missing_argument("source", err);

	if (r >= 0 && !old && !old_filter && !given_text(given, "against"))
		return error_set(err, -EINVAL,
				 "Both sides are the same: give baseline, baseline_filter or "
				 "against.");
	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
		cleanup(free_at_exit) char *all =
			xasprintf("%s\n%s", limits ? limits : "", filters[i] ? filters[i] : "");

		add_word(c, "{", "");
		r = add_source(c, &side, names[i], sources, err);
		r = r < 0 ? r : add_filters(c, all, err);
		add_word(c, "}", "");
	}
	return r;
}

static const char *const time_arguments[] = { "since", "until", "at", "against" };

static bool asks_for_window(const struct given *g)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_arguments); i++)
		if (g->get(g->context, time_arguments[i]))
			return true;
	return false;
}

/* "-2h" and "14:05" depend on the time of the question; "@1795183530" and dates do not. */
static bool is_fixed_time(const char *text)
{
	return *text == '@' || (strspn(text, "0123456789") == 4 && text[4] == '-');
}

static bool has_moving_window(const struct given *g)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_arguments); i++) {
		const char *value = given_text(g, time_arguments[i]);

		if (value && !is_fixed_time(value))
			return true;
	}
	return false;
}

/* A row may have a window of its own, which moves. */
static bool has_own_window(const struct api_row *row)
{
	return strstr(row->words, "--since=-") != NULL;
}

/* Samples from then on are not asked for; UINT64_MAX: it is not known. */
static uint64_t end_of_window(const struct given *g)
{
	const char *until = given_text(g, "until");
	uint64_t ns;

	return until && !given_text(g, "against") && is_fixed_time(until) &&
			       time_point_parse(until, clock_wall_ns(), &ns, NULL) >= 0
		       ? ns
		       : UINT64_MAX;
}

/* Answers about now stay for so long. */
#define ANSWER_LIFE_NS (10 * NS_PER_SECOND)

/* time: counts from the start of a window, so a window would move the limit. */
static bool has_time_filter(const char *filters)
{
	return !strncmp(filters, "time:", 5) || strstr(filters, "\ntime:");
}

int api_call(const struct api_row *row, api_getter *get, const void *context,
	     const struct sources *sources, const char *filters, struct api_call *out,
	     struct error *err)
{
	const struct given given = { get, context };
	const char *asked = api_row_takes(row, "filter") ? get(context, "filter") : NULL;
	int r;

	*out = (struct api_call){ .until_ns = end_of_window(&given) };
	add_words(out, row->words);
	r = add_options(out, row, &given, sources, err);
	if (r >= 0 && *row->arguments)
		add_word(out, "--", "");
	if (r >= 0 && api_row_takes(row, "baseline"))
		r = add_sides(out, &given, sources, filters, err);
	else if (r >= 0)
		r = add_operands(out, row, asked, filters, err);
	vec_push(&out->words, NULL);
	if (r >= 0 && filters && (asks_for_window(&given) || has_own_window(row)) &&
	    has_time_filter(filters))
		r = error_set(err, -EACCES,
			      "This token is limited in time, so it cannot ask for a window.");
	out->is_limited = filters != NULL;
	buf_u8(&out->key, out->is_limited);
	if (!api_row_takes(row, "source") || has_moving_window(&given) || has_own_window(row) ||
	    out->is_growing)
		buf_u64(&out->key, clock_wall_ns() / ANSWER_LIFE_NS);
	return r;
}

const struct api_row api_record_row = {
	.name = "record", .type = JSON_TYPE, .words = "ctl --format=json", .arguments = "source"
};

int api_record(const struct http_request *q, const struct sources *sources, const char *asker,
	       struct api_call *out, struct error *err)
{
	static const char *const arguments[] = { "target", "seconds", "rate" };
	const char *name = http_request_argument(q, "source");
	const struct source *source = name ? sources_find(sources, name) : NULL;
	cleanup(free_at_exit) char *named = xasprintf("asker=%s", asker);

	*out = (struct api_call){ .is_action = true };
	if (!source || source->kind != SOURCE_HISTORY)
		return error_set(err, -ENOENT, "There is no history '%s'.", name ? name : "");
	add_words(out, api_record_row.words);
	add_word(out, "--session-dir=", source->path);
	add_word(out, "--", "");
	add_word(out, "record", "");
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		const char *value = http_request_argument(q, arguments[i]);
		cleanup(free_at_exit) char *option = xasprintf("%s=", arguments[i]);

		if (value && *value)
			add_word(out, option, value);
	}
	add_word(out, named, "");
	vec_push(&out->words, NULL);
	return 0;
}

void api_put_labels(struct buf *out)
{
	buf_printf(out, "{\"schema\":1,\"labels\":[");
	for (size_t i = 0; i < N_PROFILE_KEYS; i++) {
		buf_printf(out, i ? ",\n{" : "\n{");
		json_put_text(out, "name", profile_keys[i].key);
		json_put_text(out, "help", profile_keys[i].help);
		buf_u8(out, '}');
	}
	buf_printf(out, "]}\n");
}
