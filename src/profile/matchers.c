/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/matchers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/pattern.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz_-"

/* Keys of reports whose filters have other names. */
static const struct {
	const char *key;
	enum filter_tag tag;
} keys_of_filters[] = {
	{ "image", FILTER_LIB_IMAGE },
	{ "process", FILTER_PID },
	{ "thread", FILTER_TID },
};

/* Filters that choose by themselves, and not by the value of a key. */
static const enum filter_tag without_matchers[] = { FILTER_IMAGE, FILTER_IMAGE_EXCLUDE,
						    FILTER_SYMBOL_EXCLUDE };

static const struct operator
{
	const char *text;
	bool is_not, is_pattern;
}
operators[] = {
	{ "=~", false, true },
	{ "!~", true, true },
	{ "!=", true, false },
	{ "=", false, false },
};

static bool may_match(enum filter_tag tag)
{
	for (size_t i = 0; i < ARRAY_SIZE(without_matchers); i++)
		if (without_matchers[i] == tag)
			return false;
	return filter_infos[tag].match == MATCH_GLOB || filter_infos[tag].match == MATCH_NUMBER;
}

/* "data_symbol" is the key data-symbol: Prometheus has no other names. */
static bool is_same_name(const char *name, size_t len, const char *key)
{
	for (size_t i = 0; i < len; i++)
		if (key[i] != name[i] && !(key[i] == '-' && name[i] == '_'))
			return false;
	return !key[len];
}

static bool find_matcher_tag(const char *name, size_t len, enum filter_tag *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys_of_filters); i++)
		if (is_same_name(name, len, keys_of_filters[i].key)) {
			*out = keys_of_filters[i].tag;
			return true;
		}
	for (int i = 0; i < FILTER_BINARY; i++)
		if (may_match((enum filter_tag)i) && is_same_name(name, len, filter_infos[i].tag)) {
			*out = (enum filter_tag)i;
			return true;
		}
	return false;
}

static int refuse_matcher_name(const char *name, size_t len, struct error *err)
{
	struct buf known = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(keys_of_filters); i++)
		buf_printf(&known, "%s ", keys_of_filters[i].key);
	for (int i = 0; i < FILTER_BINARY; i++)
		if (may_match((enum filter_tag)i))
			buf_printf(&known, "%s ", filter_infos[i].tag);
	r = error_set(err, -EINVAL, "there is no key '%.*s' to select by; there are %s", (int)len,
		      name, buf_cstr(&known));
	buf_fini(&known);
	return r;
}

static const struct operator* find_operator(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t n = strlen(operators[i].text);

		if (!strncmp(at, operators[i].text, n) && at[n] == '"')
			return &operators[i];
	}
	return NULL;
}

/* Whether NAME and an operator begin here, and so no path or program. */
static const struct operator* matcher_begins(const char *at, size_t *len)
{
	*len = strspn(at, NAME_CHARACTERS);
	return *len ? find_operator(at + *len) : NULL;
}

/* Reads a text behind its quotation mark. Returns the place behind its end; NULL: it has none. */
static const char *read_quoted(const char *at, struct buf *out)
{
	for (; *at && *at != '"'; at++) {
		if (at[0] == '\\' && at[1]) {
			at++;
			buf_u8(out, *at == 'n' ? '\n' : *at == 't' ? '\t' : (uint8_t)*at);
		} else {
			buf_u8(out, (uint8_t)*at);
		}
	}
	return *at ? at + 1 : NULL;
}

static int check_number(struct matcher *m, const struct operator* op, struct error *err)
{
	char *end;

	errno = 0;
	m->number = strtoull(m->text, &end, 10);
	if (op->is_pattern || m->text[0] < '0' || m->text[0] > '9' || *end || errno)
		return error_set(err, -EINVAL, "%s: it is a number, and takes = and != alone",
				 filter_infos[m->tag].tag);
	return 0;
}

static int make_matcher(struct matcher *m, const struct operator* op, struct error *err)
{
	m->is_not = op->is_not;
	if (m->tag == FILTER_VIA && op->is_not)
		return error_set(err, -EINVAL, "via: takes = and =~ alone");
	if (filter_infos[m->tag].match == MATCH_NUMBER)
		return check_number(m, op, err);
	return op->is_pattern ? pattern_new(m->text, &m->pattern, err) : 0;
}

static void matcher_fini(struct matcher *m)
{
	pattern_free(m->pattern);
	free(m->text);
}

/* Adds one. Returns the place behind it; NULL: it is wrong. */
static const char *add_matcher(struct query *q, const char *at, struct error *err)
{
	struct matcher m = { 0 };
	struct buf text = { 0 };
	size_t len;
	const struct operator* op = matcher_begins(at, &len);

	if (!op || !find_matcher_tag(at, len, &m.tag)) {
		if (op)
			refuse_matcher_name(at, len, err);
		else
			error_set(err, -EINVAL, "'%s' is no list of matchers such as comm=\"cc1\"",
				  at);
		return NULL;
	}
	at = read_quoted(at + len + strlen(op->text) + 1, &text);
	m.text = xstrdup(buf_cstr(&text));
	buf_fini(&text);
	if (!at)
		error_set(err, -EINVAL, "'%s' has no closing quotation mark", m.text);
	else if (make_matcher(&m, op, err) < 0)
		at = NULL;
	if (at)
		vec_push(&q->matchers, m);
	else
		matcher_fini(&m);
	return at;
}

bool matchers_begin(const char *operand)
{
	size_t len;

	operand += *operand == '{';
	return matcher_begins(operand + strspn(operand, " "), &len);
}

int matchers_add(struct query *q, const char *operand, struct error *err)
{
	bool has_brace = *operand == '{';
	const char *at = operand + has_brace;
	size_t len;

	at += strspn(at, " ");
	if (!matcher_begins(at, &len))
		return 0;
	for (;;) {
		at = add_matcher(q, at, err);
		if (!at)
			return -EINVAL;
		at += strspn(at, " ");
		if (*at != ',')
			break;
		at += 1 + strspn(at + 1, " ");
	}
	at += has_brace && *at == '}';
	return *at ? error_set(err, -EINVAL, "'%s': a comma is missing before '%s'", operand, at)
		   : 1;
}

void matcher_print(const struct matcher *m, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (operators[i].is_not == m->is_not && operators[i].is_pattern == !!m->pattern)
			buf_printf(out, "%s%s", filter_infos[m->tag].tag, operators[i].text);
	buf_u8(out, '"');
	for (const char *c = m->text; *c; c++)
		buf_printf(out, strchr("\"\\", *c) ? "\\%c" : "%c", *c);
	buf_u8(out, '"');
}

void matchers_fini(struct query *q)
{
	vec_foreach (&q->matchers, m)
		matcher_fini(m);
	vec_fini(&q->matchers);
}

bool matchers_have(const struct query *q, enum filter_tag tag)
{
	vec_foreach (&q->matchers, m)
		if (m->tag == tag)
			return true;
	return false;
}

static bool matcher_matches(const struct matcher *m, const char *name)
{
	return m->pattern ? pattern_matches(m->pattern, name) : !strcmp(m->text, name);
}

bool query_matches(const struct query *q, enum filter_tag tag, const char *name, const char *other)
{
	vec_foreach (&q->matchers, m)
		if (m->tag == tag &&
		    m->is_not == (matcher_matches(m, name) || (other && matcher_matches(m, other))))
			return false;
	return true;
}

bool matchers_take_number(const struct query *q, enum filter_tag tag, uint64_t from, uint64_t to)
{
	vec_foreach (&q->matchers, m) {
		bool is_in = from <= m->number && m->number <= to;

		if (m->tag == tag && (m->is_not ? is_in && from == to : !is_in))
			return false;
	}
	return true;
}
