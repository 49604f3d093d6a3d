/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/grafana.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "profile/key.h"
#include "serve/pyroscope.pb-c.h"
#include "serve/sources.h"

#define SOURCE_LABEL  "service_name"
#define MAX_NODES     8192
#define MAX_GROUPS    50
#define MS_PER_SECOND 1000

const struct api_row grafana_row = { .name = "grafana", .type = GRAFANA_TYPE };

/* ---- arguments of the API ---- */

struct argument {
	const char *name;
	char *value;
};

struct arguments {
	VEC(struct argument) list;
};

static void add_argument(struct arguments *a, const char *name, char *value)
{
	vec_push(&a->list, (struct argument){ name, value });
}

static void arguments_fini(struct arguments *a)
{
	vec_foreach (&a->list, argument)
		free(argument->value);
	vec_fini(&a->list);
}

static const char *get_argument(const void *context, const char *name)
{
	const struct arguments *a = context;

	vec_foreach (&a->list, argument)
		if (!strcmp(argument->name, name))
			return argument->value;
	return NULL;
}

static void add_times(struct arguments *a, int64_t start_ms, int64_t end_ms)
{
	if (start_ms > 0)
		add_argument(a, "since", xasprintf("@%" PRId64, start_ms / MS_PER_SECOND));
	if (end_ms > 0)
		add_argument(a, "until", xasprintf("@%" PRId64, end_ms / MS_PER_SECOND + 1));
}

/* ---- types of profiles: "assay:EVENT:UNIT:EVENT:UNIT" ---- */

/* A name without colons: "%3A" stands for one. */
static char *type_name(const char *event)
{
	struct buf out = { 0 };
	char *name;

	for (; *event; event++)
		buf_printf(&out, strchr(":%", *event) ? "%%%02X" : "%c", (unsigned char)*event);
	name = xstrdup(buf_cstr(&out));
	buf_fini(&out);
	return name;
}

/* The event of a type; NULL: it is none of ours. The caller frees it. */
static char *type_event(const char *id)
{
	static const char prefix[] = "assay:";
	const char *at = id + strlen(prefix);
	struct buf out = { 0 };
	char *event;

	if (strncmp(id, prefix, strlen(prefix)))
		return NULL;
	for (; *at && *at != ':'; at++) {
		unsigned int byte;

		if (*at == '%' && sscanf(at + 1, "%2X", &byte) == 1 && at[2]) {
			buf_u8(&out, (uint8_t)byte);
			at += 2;
		} else {
			buf_u8(&out, (uint8_t)*at);
		}
	}
	event = xstrdup(buf_cstr(&out));
	buf_fini(&out);
	return event;
}

/* ---- selectors ---- */

static void put_quoted(struct buf *out, const char *text)
{
	buf_u8(out, '"');
	for (; *text; text++)
		buf_printf(out, strchr("\"\\", *text) ? "\\%c" : "%c", *text);
	buf_u8(out, '"');
}

/*
 * Splits {service_name="a", comm=~"b"}: the matcher of the source, and the others. A selector that
 * chooses the source in another way than by = is wrong.
 */
static int split_selector(const char *selector, struct buf *source, struct buf *others,
			  struct error *err)
{
	static const char label[] = SOURCE_LABEL "=\"";
	const char *at = selector + strspn(selector, "{ ");

	while (*at && *at != '}') {
		size_t n = strcspn(at, "\"");
		const char *end = at[n] ? at + n + 1 : NULL;

		while (end && *end && *end != '"')
			end += end[0] == '\\' && end[1] ? 2 : 1;
		if (!end || *end != '"')
			return error_set(err, -EINVAL, "The selector '%s' is wrong.", selector);
		end++;
		if (!strncmp(at, label, strlen(label)))
			for (const char *c = at + strlen(label); c < end - 1; c++)
				buf_u8(source, (uint8_t)(*c == '\\' ? *++c : *c));
		else if (!strncmp(at, SOURCE_LABEL, strlen(SOURCE_LABEL)))
			return error_set(err, -EINVAL,
					 "Choose a source by " SOURCE_LABEL "=\"NAME\".");
		else
			buf_printf(others, "%s%.*s", others->len ? ", " : "", (int)(end - at), at);
		at = end + strspn(end, ", ");
	}
	return 0;
}

/* Adds the source, and the filters of the selector and of the event. */
static int add_selector(struct arguments *a, const char *selector, const char *event,
			const struct sources *sources, struct error *err)
{
	struct buf source = { 0 }, filter = { 0 };
	int r = split_selector(selector, &source, &filter, err);

	if (r >= 0 && !source.len && !sources->list.n)
		r = error_set(err, -ENOENT, "There is no source.");
	if (r >= 0)
		add_argument(a, "source",
			     xstrdup(source.len ? buf_cstr(&source) : sources->list.data[0].name));
	if (event) {
		buf_str(&filter, filter.len ? ", event=" : "event=");
		put_quoted(&filter, event);
	}
	if (r >= 0 && filter.len)
		add_argument(a, "filter", xstrdup(buf_cstr(&filter)));
	buf_fini(&source);
	buf_fini(&filter);
	return r;
}

/* ---- messages ---- */

static void put_message(const ProtobufCMessage *message, struct buf *out)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	cleanup(free_at_exit) uint8_t *bytes = xmalloc(n + 1);

	protobuf_c_message_pack(message, bytes);
	buf_bytes(out, bytes, n);
}

static const char *member_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int64_t member_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void put_profile_types(const json_t *answer, const char *label, struct buf *out)
{
	const json_t *events = json_object_get(json_object_get(answer, "header"), "events"), *event;
	Pyroscope__ProfileTypesResponse response = PYROSCOPE__PROFILE_TYPES_RESPONSE__INIT;
	size_t n = json_array_size(events), i;
	Pyroscope__ProfileType *types = xcalloc(n + 1, sizeof(*types)),
			       **list = xcalloc(n + 1, sizeof(*list));

	(void)label;
	json_array_foreach(events, i, event)
	{
		char *name = type_name(member_text(event, "name"));
		char *unit = (char *)(strcmp(member_text(event, "unit"), "ns") ? "count"
									       : "nanoseconds");

		pyroscope__profile_type__init(&types[i]);
		types[i].id = xasprintf("assay:%s:%s:%s:%s", name, unit, name, unit);
		types[i].name = (char *)"assay";
		types[i].sample_type = types[i].period_type = name;
		types[i].sample_unit = types[i].period_unit = unit;
		list[i] = &types[i];
	}
	response.profile_types = list;
	response.n_profile_types = n;
	put_message(&response.base, out);
	for (i = 0; i < n; i++) {
		free(types[i].id);
		free(types[i].sample_type);
	}
	free(types);
	free(list);
}

static void put_names(char **names, size_t n, struct buf *out)
{
	Pyroscope__Names response = PYROSCOPE__NAMES__INIT;

	response.names = names;
	response.n_names = n;
	put_message(&response.base, out);
}

/* The value of a key in a row: text, or a number. The caller frees it; NULL: it has none. */
static char *row_value(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	if (json_is_integer(value))
		return xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_string(value) ? xstrdup(json_string_value(value)) : NULL;
}

/* Matchers of processes and threads compare their numbers. */
static const char *member_of_label(const char *label)
{
	return !strcmp(label, "process") ? "pid" : !strcmp(label, "thread") ? "tid" : label;
}

static void put_label_values(const json_t *answer, const char *label, struct buf *out)
{
	const json_t *rows = json_object_get(answer, "rows"), *row;
	char **names = xcalloc(json_array_size(rows) + 1, sizeof(*names));
	size_t n = 0, i;

	/* Rows of one value and several events come together. */
	json_array_foreach(rows, i, row)
	{
		char *value = row_value(row, member_of_label(label));

		if (value && (!n || strcmp(names[n - 1], value) != 0))
			names[n++] = value;
		else
			free(value);
	}
	put_names(names, n, out);
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static void fill_points(const json_t *answer, const json_t *one, Pyroscope__Series *series)
{
	int64_t start = member_number(answer, "start_seconds"),
		step = member_number(answer, "step_seconds");
	const json_t *values = json_object_get(one, "values"), *value;
	size_t n = json_array_size(values), i;
	Pyroscope__Point *points = xcalloc(n + 1, sizeof(*points));

	series->points = xcalloc(n + 1, sizeof(*series->points));
	series->n_points = n;
	series->points[0] = points;
	json_array_foreach(values, i, value)
	{
		pyroscope__point__init(&points[i]);
		points[i].value = (double)json_integer_value(value);
		points[i].timestamp = (start + step * (int64_t)i) * MS_PER_SECOND;
		series->points[i] = &points[i];
	}
}

static void put_series(const json_t *answer, const char *label, struct buf *out)
{
	const json_t *list = json_object_get(answer, "series"), *one;
	Pyroscope__SelectSeriesResponse response = PYROSCOPE__SELECT_SERIES_RESPONSE__INIT;
	size_t n = json_array_size(list), i;
	Pyroscope__Series *series = xcalloc(n + 1, sizeof(*series)),
			  **pointers = xcalloc(n + 1, sizeof(*pointers));
	Pyroscope__LabelPair *pairs = xcalloc(n + 1, sizeof(*pairs)),
			     **labels = xcalloc(n + 1, sizeof(*labels));

	json_array_foreach(list, i, one)
	{
		char *value = row_value(one, label);

		pyroscope__series__init(&series[i]);
		pyroscope__label_pair__init(&pairs[i]);
		pairs[i].name = (char *)label;
		pairs[i].value = value ? value : xstrdup("(other)");
		labels[i] = &pairs[i];
		series[i].labels = &labels[i];
		series[i].n_labels = strcmp(label, "event") != 0;
		fill_points(answer, one, &series[i]);
		pointers[i] = &series[i];
	}
	response.series = pointers;
	response.n_series = n;
	put_message(&response.base, out);
	for (i = 0; i < n; i++) {
		free(series[i].points[0]); /* all of them */
		free(series[i].points);
		free(pairs[i].value);
	}
	free(series);
	free(pointers);
	free(pairs);
	free(labels);
}

/* ---- flame graphs ---- */

/* Boxes by level: each has the distance from the box before it, its total, self and name. */
struct level {
	VEC(int64_t) values;
	int64_t end; /* of the last box */
};

/* A box that may get more children. */
struct flame_place {
	size_t depth;
	int64_t begin, end; /* of the place that its further children have */
};

struct flame {
	VEC(struct level) levels;
	VEC(char *) names;
	VEC(struct flame_place) places; /* by row; the first one is of the whole */
	VEC(size_t) open;               /* rows from the whole down to the last one */
	int64_t total, max_self;
};

static void add_box(struct flame *f, size_t depth, int64_t begin, int64_t total, int64_t self,
		    const char *name)
{
	struct level *level;

	while (f->levels.n <= depth)
		vec_push(&f->levels, (struct level){ 0 });
	level = &f->levels.data[depth];
	vec_push(&level->values, begin - level->end);
	vec_push(&level->values, total);
	vec_push(&level->values, self);
	vec_push(&level->values, (int64_t)f->names.n);
	level->end = begin + total;
	f->max_self = MAX(f->max_self, self);
	vec_push(&f->names, xstrdup(name));
}

static void open_place(struct flame *f, size_t depth, int64_t begin, int64_t end)
{
	vec_push(&f->open, f->places.n);
	vec_push(&f->places, (struct flame_place){ depth, begin, end });
}

/*
 * Ends the boxes from this depth on. Children that are too light for rows have one box together.
 * The row of all of them is no box: they are below several others.
 */
static void close_places(struct flame *f, size_t depth)
{
	while (f->open.n && f->places.data[f->open.data[f->open.n - 1]].depth >= depth) {
		const struct flame_place place = f->places.data[f->open.data[--f->open.n]];
		int64_t rest = place.end - place.begin;

		if (rest > 0)
			add_box(f, place.depth + 1, place.begin, rest, rest, "(other)");
	}
}

/* Parents stand before their children, and children in the order of their boxes. */
static void add_row(struct flame *f, const json_t *row)
{
	const json_t *parent = json_object_get(row, "parent");
	size_t above = parent ? (size_t)json_integer_value(parent) + 1 : 0, depth;
	int64_t self = member_number(row, "events");
	int64_t total = MAX(member_number(row, "total_events"), self), begin;

	if (json_object_get(row, "other") || above >= f->places.n) {
		vec_push(&f->places, (struct flame_place){ 0 }); /* it has a number, too */
		return;
	}
	depth = f->places.data[above].depth + 1;
	close_places(f, depth);
	begin = f->places.data[above].begin;
	add_box(f, depth, begin, total, self, member_text(row, "symbol"));
	f->places.data[above].begin += total;
	open_place(f, depth, begin, begin + total - self);
}

static void put_flame(const struct flame *f, struct buf *out)
{
	Pyroscope__SelectMergeStacktracesResponse response =
		PYROSCOPE__SELECT_MERGE_STACKTRACES_RESPONSE__INIT;
	Pyroscope__FlameGraph graph = PYROSCOPE__FLAME_GRAPH__INIT;
	Pyroscope__Level *levels = xcalloc(f->levels.n + 1, sizeof(*levels)),
			 **list = xcalloc(f->levels.n + 1, sizeof(*list));

	for (size_t i = 0; i < f->levels.n; i++) {
		pyroscope__level__init(&levels[i]);
		levels[i].values = f->levels.data[i].values.data;
		levels[i].n_values = f->levels.data[i].values.n;
		list[i] = &levels[i];
	}
	graph.names = f->names.data;
	graph.n_names = f->names.n;
	graph.levels = list;
	graph.n_levels = f->levels.n;
	graph.total = f->total;
	graph.max_self = f->max_self;
	response.flamegraph = &graph;
	put_message(&response.base, out);
	free(levels);
	free(list);
}

static void put_stacktraces(const json_t *answer, const char *label, struct buf *out)
{
	const json_t *rows = json_object_get(answer, "rows"), *row;
	struct flame f = { .total = member_number(json_array_get(json_object_get(answer, "total"),
								 0),
						  "events") };
	size_t i;

	(void)label;
	add_box(&f, 0, 0, f.total, 0, "total");
	open_place(&f, 0, 0, f.total);
	json_array_foreach(rows, i, row) add_row(&f, row);
	close_places(&f, 0);
	put_flame(&f, out);
	vec_foreach (&f.levels, level)
		vec_fini(&level->values);
	vec_foreach (&f.names, name)
		free(*name);
	vec_fini(&f.levels);
	vec_fini(&f.names);
	vec_fini(&f.places);
	vec_fini(&f.open);
}

/* ---- conversion ---- */

/* An answer in JSON as a message. No sample at all is an empty message. */
static bool convert(const struct api_call *call, const struct buf *answer, struct buf *out)
{
	json_t *json = json_loadb((const char *)answer->data, answer->len, 0, NULL);

	if (!json)
		return !answer->len;
	call->put(json, call->label, out);
	json_decref(json);
	return true;
}

static int finish(struct grafana_result *out, const char *api, const struct arguments *arguments,
		  const struct sources *sources, const char *filters, const char *label,
		  void (*put)(const json_t *answer, const char *label, struct buf *out),
		  struct error *err)
{
	int r = api_call(api_find(api), get_argument, arguments, sources, filters, &out->call, err);

	out->call.convert = convert;
	out->call.put = put;
	out->call.label = xstrdup(label);
	/* The same command gives another answer elsewhere. */
	buf_printf(&out->call.key, "%s %s", GRAFANA_TYPE, label);
	buf_bytes(&out->call.key, &put, sizeof(put));
	return r;
}

/* ---- the calls ---- */

struct asked {
	const struct buf *message;
	const struct sources *sources;
	const char *filters;
};

static int call_profile_types(const struct asked *q, struct grafana_result *out, struct error *err)
{
	struct arguments a = { 0 };
	int r = add_selector(&a, "", NULL, q->sources, err);

	add_argument(&a, "by", xstrdup("event"));
	r = r < 0 ? r
		  : finish(out, "values", &a, q->sources, q->filters, "", put_profile_types, err);
	arguments_fini(&a);
	return r;
}

/* Prometheus has no '-' in names. */
static char *label_of_key(const char *key)
{
	char *label = xstrdup(key);

	for (char *c = label; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return label;
}

static int call_label_names(const struct asked *q, struct grafana_result *out, struct error *err)
{
	static const enum profile_key without_filters[] = {
		PROFILE_WAKER_SYMBOL, PROFILE_WAKER_STACK, PROFILE_MODE,    PROFILE_LANGUAGE,
		PROFILE_FILE,         PROFILE_LINE,        PROFILE_ADDRESS,
	};
	char *names[N_PROFILE_KEYS + 1] = { xstrdup(SOURCE_LABEL) };
	size_t n = 1;

	(void)q, (void)err;
	for (size_t i = 0; i < N_PROFILE_KEYS; i++) {
		bool is_left_out = false;

		for (size_t k = 0; k < ARRAY_SIZE(without_filters); k++)
			is_left_out |= without_filters[k] == i;
		if (!is_left_out)
			names[n++] = label_of_key(profile_keys[i].key);
	}
	put_names(names, n, &out->answer);
	out->has_answer = true;
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	return 0;
}

static char *key_of_label(const char *label)
{
	char *key = xstrdup(label);

	for (char *c = key; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return key;
}

/* Strings of messages are UTF-8: readers refuse a message with another one. */
static bool is_utf8(const char *text)
{
	for (size_t n; *text; text += n)
		if (!(n = utf8_len(text)))
			return false;
	return true;
}

static void put_source_names(const struct sources *sources, struct buf *out)
{
	char **names = xcalloc(sources->list.n + 1, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < sources->list.n; i++)
		if (is_utf8(sources->list.data[i].name))
			names[n++] = sources->list.data[i].name;
	put_names(names, n, out);
	free(names);
}

static int call_label_values(const struct asked *q, struct grafana_result *out, struct error *err)
{
	Pyroscope__LabelValuesRequest *m =
		pyroscope__label_values_request__unpack(NULL, q->message->len, q->message->data);
	struct arguments a = { 0 };
	char *key;
	int r;

	if (!m)
		return error_set(err, -EINVAL, "The message is wrong.");
	if (!strcmp(m->name, SOURCE_LABEL)) {
		put_source_names(q->sources, &out->answer);
		out->has_answer = true;
		pyroscope__label_values_request__free_unpacked(m, NULL);
		return 0;
	}
	key = key_of_label(m->name);
	r = add_selector(&a, m->n_matchers ? m->matchers[0] : "", NULL, q->sources, err);
	add_times(&a, m->start, m->end);
	add_argument(&a, "by", key);
	r = r < 0 ? r
		  : finish(out, "values", &a, q->sources, q->filters, key, put_label_values, err);
	arguments_fini(&a);
	pyroscope__label_values_request__free_unpacked(m, NULL);
	return r;
}

static int call_select_series(const struct asked *q, struct grafana_result *out, struct error *err)
{
	Pyroscope__SelectSeriesRequest *m =
		pyroscope__select_series_request__unpack(NULL, q->message->len, q->message->data);
	cleanup(free_at_exit) char *event = m ? type_event(m->profile_type_id) : NULL;
	struct arguments a = { 0 };
	char *key;
	int r;

	if (!event) {
		if (m)
			pyroscope__select_series_request__free_unpacked(m, NULL);
		return error_set(err, -EINVAL, "The message is wrong, or its type of profiles.");
	}
	key = key_of_label(m->n_group_by && strcmp(m->group_by[0], SOURCE_LABEL) ? m->group_by[0]
										 : "event");
	r = add_selector(&a, m->label_selector, event, q->sources, err);
	add_times(&a, m->start, m->end);
	add_argument(&a, "by", key);
	add_argument(&a, "weight", xstrdup("events"));
	add_argument(&a, "limit", xasprintf("%d", MAX_GROUPS));
	if (m->step >= 1 && m->step < 1e9)
		add_argument(&a, "step", xasprintf("%.0fs", ceil(m->step)));
	r = r < 0 ? r : finish(out, "series", &a, q->sources, q->filters, key, put_series, err);
	arguments_fini(&a);
	pyroscope__select_series_request__free_unpacked(m, NULL);
	return r;
}

static int call_select_stacks(const struct asked *q, struct grafana_result *out, struct error *err)
{
	Pyroscope__SelectMergeStacktracesRequest *m =
		pyroscope__select_merge_stacktraces_request__unpack(NULL, q->message->len,
								    q->message->data);
	cleanup(free_at_exit) char *event = m ? type_event(m->profile_type_id) : NULL;
	struct arguments a = { 0 };
	int64_t nodes = MAX_NODES;
	int r;

	if (!event) {
		if (m)
			pyroscope__select_merge_stacktraces_request__free_unpacked(m, NULL);
		return error_set(err, -EINVAL, "The message is wrong, or its type of profiles.");
	}
	if (m->max_nodes > 0)
		nodes = MIN(m->max_nodes, MAX_NODES);
	r = add_selector(&a, m->label_selector, event, q->sources, err);
	add_times(&a, m->start, m->end);
	add_argument(&a, "weight", xstrdup("events"));
	add_argument(&a, "threshold", xasprintf("%.4f", 100.0 / (double)nodes));
	r = r < 0 ? r : finish(out, "tree", &a, q->sources, q->filters, "", put_stacktraces, err);
	arguments_fini(&a);
	pyroscope__select_merge_stacktraces_request__free_unpacked(m, NULL);
	return r;
}

static const struct {
	const char *name;
	int (*call)(const struct asked *q, struct grafana_result *out, struct error *err);
} methods[] = {
	{ "ProfileTypes", call_profile_types },
	{ "LabelNames", call_label_names },
	{ "LabelValues", call_label_values },
	{ "SelectSeries", call_select_series },
	{ "SelectMergeStacktraces", call_select_stacks },
};

int grafana_call(const char *name, const struct buf *message, const struct sources *sources,
		 const char *filters, struct grafana_result *out, struct error *err)
{
	const struct asked q = { message, sources, filters };

	*out = (struct grafana_result){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].name, name))
			return methods[i].call(&q, out, err);
	return error_set(err, -ENOENT, "assay serve has no call %s.", name);
}
