/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/query.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/glob.h"
#include "profile/matchers.h"

const struct filter_info filter_infos[N_FILTERS] = {
#define X(id, tag, match, value, help) [FILTER_##id] = { tag, MATCH_##match, value, help },
	FILTERS(X) FILTER_WITHOUT_TAG(X)
#undef X
};

const char *const shown_frames_words[N_SHOWN_FRAMES] = {
#define X(id, word, help) [FRAMES_##id] = word,
	SHOWN_FRAMES(X)
#undef X
};

enum shown_frames shown_frames_find(const char *word)
{
	int i = 0;

	while (i < N_SHOWN_FRAMES && strcmp(shown_frames_words[i], word) != 0)
		i++;
	return (enum shown_frames)i;
}

void query_fini(struct query *q)
{
	for (int i = 0; i < N_FILTERS; i++) {
		vec_foreach (&q->filters[i], v)
			free(v->glob);
		vec_fini(&q->filters[i]);
	}
	matchers_fini(q);
}

bool query_has(const struct query *q, enum filter_tag tag)
{
	return q->filters[tag].n > 0 || matchers_have(q, tag);
}

/* Other names of tags. */
static const struct {
	const char *tag;
	enum filter_tag is;
} tag_aliases[] = {
	{ "tgid", FILTER_PID },
};

static int unknown_tag(const char *operand, size_t len, struct error *err)
{
	struct buf known = { 0 };

	for (int i = 0; i < FILTER_BINARY; i++)
		buf_printf(&known, "%s%s:", i ? " " : "", filter_infos[i].tag);
	error_set(err, -EINVAL, "'%s': no filter '%.*s:'; there are %s", operand, (int)len, operand,
		  buf_cstr(&known));
	buf_fini(&known);
	return -EINVAL;
}

static bool query_is_word(const char *word, const char *text, size_t len)
{
	return strlen(word) == len && !strncmp(word, text, len);
}

/*
 * The tag of an operand, and how long it is with its colon. Only a plain word
 * before the colon is a tag, so that paths with colons and C++ names stay bare.
 */
static int find_tag(const char *operand, enum filter_tag *tag, size_t *len, struct error *err)
{
	size_t word = strspn(operand, "abcdefghijklmnopqrstuvwxyz-");

	*tag = FILTER_BINARY;
	*len = 0;
	if (!word || operand[word] != ':' || operand[word + 1] == ':')
		return 0;
	*len = word + 1;
	for (int i = 0; i < FILTER_BINARY; i++)
		if (query_is_word(filter_infos[i].tag, operand, word)) {
			*tag = (enum filter_tag)i;
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(tag_aliases); i++)
		if (query_is_word(tag_aliases[i].tag, operand, word)) {
			*tag = tag_aliases[i].is;
			return 0;
		}
	return unknown_tag(operand, word, err);
}

bool query_is_filter(const char *operand)
{
	enum filter_tag tag;
	size_t len;

	return matchers_begin(operand) ||
	       (find_tag(operand, &tag, &len, NULL) == 0 && tag != FILTER_BINARY);
}

static bool parse_u64(const char *text, const char **end, uint64_t *out)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	*end = stop;
	return errno == 0;
}

/* "12", "0x41" or "3-5"; "all", as OProfile has it, is no restriction. */
static bool parse_number_range(const char *text, struct filter_value *v)
{
	const char *at;

	v->from = 0;
	v->to = UINT64_MAX;
	if (!strcmp(text, "all"))
		return true;
	if (!parse_u64(text, &at, &v->from))
		return false;
	v->to = v->from;
	if (*at == '-' && !parse_u64(at + 1, &at, &v->to))
		return false;
	return !*at && v->from <= v->to;
}

/* "2", "2s", "1.5m": nanoseconds */
static bool query_parse_time(const char *text, const char **end, uint64_t *ns)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = { { "us", 1e3 }, { "ms", 1e6 },   { "s", 1e9 },
		      { "m", 60e9 }, { "h", 3600e9 }, { "", 1e9 } };
	char *stop;
	double value;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	value = strtod(text, &stop);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t len = strlen(units[i].suffix);

		if (strncmp(stop, units[i].suffix, len))
			continue;
		value *= units[i].factor;
		*end = stop + len;
		break;
	}
	if (!isfinite(value) || value < 0 || value > 9e18)
		return false;
	*ns = (uint64_t)(value + 0.5);
	return true;
}

static bool parse_time_range(const char *text, struct filter_value *v)
{
	const char *at = text;

	v->from = 0;
	v->to = UINT64_MAX;
	if (*at != '-') {
		if (!query_parse_time(at, &at, &v->from))
			return false;
		if (!*at) { /* one second */
			v->to = v->from + NS_PER_SECOND;
			return true;
		}
	}
	if (*at++ != '-')
		return false;
	if (*at && !query_parse_time(at, &at, &v->to))
		return false;
	return !*at && at > text + 1 && v->from < v->to;
}

static int query_parse_value(enum filter_tag tag, char *text, struct filter_value *v,
			     struct error *err)
{
	const char *name = filter_infos[tag].tag;

	if (!*text)
		return error_set(err, -EINVAL, *name ? "%s: an empty value" : "an empty filter",
				 name);
	switch (filter_infos[tag].match) {
	case MATCH_GLOB:
	case MATCH_SOURCE:
		break;
	case MATCH_NUMBER:
		if (!parse_number_range(text, v))
			return error_set(err, -EINVAL,
					 "%s: '%s' is not a number or a range such as 2-5", name,
					 text);
		break;
	case MATCH_TIME:
		if (!parse_time_range(text, v))
			return error_set(err, -EINVAL,
					 "%s: '%s' is not a time range in seconds since the start, "
					 "such as 2s-5s, 2- or -1m",
					 name, text);
		break;
	}
	v->glob = xstrdup(text);
	return 0;
}

/* Refuses a second archive, and a value that was given before. */
static int query_check_value(const struct query *q, enum filter_tag tag, const char *text,
			     struct error *err)
{
	const struct filter *f = &q->filters[tag];

	if (tag == FILTER_ARCHIVE && f->n)
		return error_set(err, -EINVAL, "archive: one archive, please: %s or %s",
				 f->data[0].glob, text);
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->data[i].glob, text))
			return error_set(err, -EINVAL, "%s%s%s is given twice",
					 filter_infos[tag].tag, *filter_infos[tag].tag ? ":" : "",
					 text);
	return 0;
}

static bool query_is_plain(const char *glob)
{
	return !strpbrk(glob, "*?[\\");
}

static bool names_images(enum filter_tag tag)
{
	return tag == FILTER_IMAGE || tag == FILTER_LIB_IMAGE || tag == FILTER_IMAGE_EXCLUDE ||
	       tag == FILTER_APP || tag == FILTER_BINARY;
}

/*
 * Where the value is a path, the file that it leads to is meant, too: samples have the path as the
 * kernel knows it. A file that is gone may still be in a folder that a link leads to.
 */
static void add_real_path(struct filter *f, const char *value)
{
	cleanup(free_at_exit) char *real = NULL, *folder = NULL;
	const char *slash = strrchr(value, '/');

	if (*value != '/' || !query_is_plain(value))
		return;
	real = realpath(value, NULL);
	if (!real && slash > value) {
		cleanup(free_at_exit) char *dir = xstrndup(value, (size_t)(slash - value));

		folder = realpath(dir, NULL);
		real = folder ? xasprintf("%s%s", folder, slash) : NULL;
	}
	if (real && strcmp(real, value) != 0)
		vec_push(f, (struct filter_value){ .glob = xstrdup(real) });
}

static int add_values(struct query *q, enum filter_tag tag, const char *at, struct error *err)
{
	cleanup(free_at_exit) char *value = xmalloc(strlen(at) + 1);

	for (;; at++) {
		struct filter_value v = { 0 };
		size_t n = 0;
		int r;

		for (; *at && *at != ','; at++) {
			if (at[0] == '\\' && at[1] == ',')
				at++;
			value[n++] = *at;
		}
		value[n] = '\0';
		r = query_check_value(q, tag, value, err);
		if (r >= 0)
			r = query_parse_value(tag, value, &v, err);
		if (r < 0)
			return r;
		vec_push(&q->filters[tag], v);
		if (names_images(tag) && !q->is_check)
			add_real_path(&q->filters[tag], value);
		if (!*at)
			return 0;
	}
}

int query_add(struct query *q, const char *operand, struct error *err)
{
	enum filter_tag tag;
	size_t len;
	int r = matchers_add(q, operand, err);

	if (r)
		return MIN(r, 0);
	r = find_tag(operand, &tag, &len, err);
	if (r < 0)
		return r;
	if (tag != FILTER_BINARY && q->filters[tag].n) {
		const char *name = filter_infos[tag].tag;
		bool is_alias = !query_is_word(name, operand, len - 1);

		return error_set(err, -EINVAL,
				 "'%s': %s: is given already%s; write its values with commas: "
				 "%s:%s,…",
				 operand, name, is_alias ? ", which is the same filter" : "", name,
				 q->filters[tag].data[0].glob);
	}
	return add_values(q, tag, operand + len, err);
}

/* Whether all that the value takes is certainly excluded. */
static bool is_excluded(const struct query *q, enum filter_tag exclude, const char *value)
{
	const struct filter *f = &q->filters[exclude];

	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->data[i].glob, value))
			return true;
	if (!f->n || !query_is_plain(value))
		return false;
	return exclude == FILTER_IMAGE_EXCLUDE ? query_takes_path(q, exclude, value)
					       : query_takes_function(q, exclude, value);
}

static bool leaves_nothing(const struct query *q, enum filter_tag take, enum filter_tag exclude)
{
	const struct filter *f = &q->filters[take];

	for (size_t i = 0; i < f->n; i++)
		if (!is_excluded(q, exclude, f->data[i].glob))
			return false;
	return f->n > 0;
}

int query_check(const struct query *q, struct error *err)
{
	static const struct {
		enum filter_tag take, exclude;
	} pairs[] = {
		{ FILTER_IMAGE, FILTER_IMAGE_EXCLUDE },
		{ FILTER_LIB_IMAGE, FILTER_IMAGE_EXCLUDE },
		{ FILTER_APP, FILTER_IMAGE_EXCLUDE },
		{ FILTER_BINARY, FILTER_IMAGE_EXCLUDE },
		{ FILTER_SYMBOL, FILTER_SYMBOL_EXCLUDE },
		{ FILTER_SESSION, FILTER_SESSION_EXCLUDE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *take = filter_infos[pairs[i].take].tag;

		if (leaves_nothing(q, pairs[i].take, pairs[i].exclude))
			return error_set(err, -EINVAL,
					 "%s%s%s and %s: contradict each other: "
					 "nothing is left",
					 take, *take ? ":" : "",
					 q->filters[pairs[i].take].data[0].glob,
					 filter_infos[pairs[i].exclude].tag);
	}
	return 0;
}

bool query_takes_number(const struct query *q, enum filter_tag tag, uint64_t number)
{
	return query_takes_some(q, tag, number, number);
}

bool query_takes_some(const struct query *q, enum filter_tag tag, uint64_t from, uint64_t to)
{
	const struct filter *f = &q->filters[tag];
	bool takes = f->n == 0;

	for (size_t i = 0; i < f->n && !takes; i++)
		takes = to >= f->data[i].from && from <= f->data[i].to - (tag == FILTER_TIME);
	return takes && matchers_take_number(q, tag, from, to);
}

bool query_takes_glob(const struct query *q, enum filter_tag tag, const char *name)
{
	const struct filter *f = &q->filters[tag];

	for (size_t i = 0; i < f->n; i++)
		if (glob_names(f->data[i].glob, name))
			return true;
	return f->n == 0;
}

bool query_takes_name(const struct query *q, enum filter_tag tag, const char *name)
{
	return query_takes_glob(q, tag, name) && query_matches(q, tag, name, NULL);
}

/* `name` as it is, or its `len` characters. */
static bool takes_part(const struct query *q, enum filter_tag tag, const char *name, size_t from,
		       size_t len)
{
	cleanup(free_at_exit) char *part = xstrndup(name + from, len);

	return (query_takes_glob(q, tag, name) || query_takes_glob(q, tag, part)) &&
	       query_matches(q, tag, name, part);
}

bool query_takes_path(const struct query *q, enum filter_tag tag, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(path);

	if (!query_has(q, tag))
		return true;
	if (len > 2 && path[0] == '[' && path[len - 1] == ']')
		return takes_part(q, tag, path, 1, len - 2);
	return takes_part(q, tag, path, slash ? (size_t)(slash + 1 - path) : 0, len);
}

bool query_names_path(const struct query *q, enum filter_tag tag, const char *path)
{
	return query_has(q, tag) && query_takes_path(q, tag, path);
}

bool query_takes_function(const struct query *q, enum filter_tag tag, const char *name)
{
	return !query_has(q, tag) || takes_part(q, tag, name, 0, function_base_len(name));
}

/*
 * Parameters are the last parentheses, with nothing but qualifiers (" const",
 * "&", " [clone …]") behind them: "std::function<void (int)>::operator()(int) const"
 * keeps its operator, "(anonymous namespace)::f" everything.
 */
size_t function_base_len(const char *name)
{
	const char *clone = strstr(name, " [clone");
	size_t len = strlen(name), at = clone ? (size_t)(clone - name) : len;
	int depth = 0;

	while (at > 0 && name[at - 1] != ')') {
		if (name[at - 1] == '>' || name[at - 1] == ']')
			return len;
		at--;
	}
	if (name[at] && !strchr(" &.", name[at]))
		return len;
	for (; at > 0; at--) {
		depth += name[at - 1] == ')';
		depth -= name[at - 1] == '(';
		if (depth == 0)
			break;
	}
	if (at <= 1 || (at > 9 && !strncmp(name + at - 9, "operator(", 9)))
		return len;
	return at - 1;
}
