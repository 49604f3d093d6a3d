/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"

static void *field(void *args, const struct option_spec *row)
{
	return (char *)args + row->field;
}

/* "-x" or "--name", whichever the user would rather read. */
static const char *option_text(const struct option_spec *row, char text[static 64])
{
	char *end = text;

	if (!row->name) {
		*end++ = '-';
		*end++ = row->letter;
		*end = '\0';
		return text;
	}
	memcpy(text, "--", 3);
	strncat(text, row->name, 61);
	return text;
}

/* 1099511627776, and not 1.099511628e+12; 0.1 as it is. */
static const char *limit_text(double limit, char text[static 32])
{
	bool is_whole = limit == floor(limit) && fabs(limit) < 0x1p53;

	snprintf(text, 32, is_whole ? "%.0f" : "%.10g", limit);
	return text;
}

static int bad_value(const struct option_spec *row, const char *value, struct error *err)
{
	char text[64], min[32], max[32];

	if (row->kind == OPT_CHOICE)
		return error_set(err, -EINVAL, "%s: '%s' is not one of %s", option_text(row, text),
				 value, row->choices);
	if (row->min != row->max && row->max >= 0x1p53)
		return error_set(err, -EINVAL, "%s: '%s' is not a number of %s or more",
				 option_text(row, text), value, limit_text(row->min, min));
	if (row->min != row->max && row->kind == OPT_SECONDS)
		return error_set(err, -EINVAL, "%s: '%s' is not a time from %ss to %ss",
				 option_text(row, text), value, limit_text(row->min, min),
				 limit_text(row->max, max));
	if (row->min != row->max)
		return error_set(err, -EINVAL, "%s: '%s' is not a number from %s to %s",
				 option_text(row, text), value, limit_text(row->min, min),
				 limit_text(row->max, max));
	return error_set(err, -EINVAL, "%s: '%s' is not a valid %s", option_text(row, text), value,
			 row->arg ? row->arg : "value");
}

struct suffix {
	const char *text;
	double factor;
};
static const struct suffix decimal_suffixes[] = { { "", 1 },    { "k", 1e3 }, { "K", 1e3 },
						  { "M", 1e6 }, { "G", 1e9 }, { NULL, 0 } };
static const struct suffix binary_suffixes[] = { { "", 1 },           { "k", 1024 },
						 { "K", 1024 },       { "M", 1048576 },
						 { "G", 1073741824 }, { NULL, 0 } };
static const struct suffix time_suffixes[] = { { "", 1 },      { "s", 1 },      { "ms", 1e-3 },
					       { "us", 1e-6 }, { "m", 60 },     { "h", 3600 },
					       { "d", 86400 }, { "w", 604800 }, { NULL, 0 } };
static const struct suffix no_suffixes[] = { { "", 1 }, { NULL, 0 } };

static bool parse_number(const char *text, const struct suffix *suffixes, double *out)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !isfinite(v))
		return false;
	for (; suffixes->text; suffixes++) {
		if (!strcmp(end, suffixes->text)) {
			*out = v * suffixes->factor;
			return true;
		}
	}
	return false;
}

/* Whole numbers exactly: a double has 53 bits only. "1.5M" and "1e6" are left to it. */
static bool parse_whole(const char *text, const struct suffix *suffixes, uint64_t *out)
{
	bool is_decimal = text[0] >= '0' && text[0] <= '9' && text[1] != 'x';
	char *end;
	double v;

	errno = 0;
	*out = is_decimal ? strtoull(text, &end, 10) : 0;
	for (const struct suffix *s = suffixes; is_decimal && s->text; s++)
		if (!strcmp(end, s->text))
			return !errno && !__builtin_mul_overflow(*out, (uint64_t)s->factor, out);
	if (!parse_number(text, suffixes, &v) || v < 0 || v >= 0x1p64 || v != floor(v))
		return false;
	*out = (uint64_t)v;
	return true;
}

static bool in_choices(const char *choices, const char *value)
{
	size_t len = strcspn(value, "|");

	if (value[len]) /* "text|csv" would be found as it stands */
		return false;
	for (const char *at = choices; at; at = strchr(at, '|'), at = at ? at + 1 : NULL)
		if (len && !strncmp(at, value, len) && (at[len] == '|' || !at[len]))
			return true;
	return false;
}

static int set_number(const struct option_spec *row, const char *value, void *args,
		      struct error *err)
{
	static const struct suffix *const by_kind[] = {
		[OPT_U64] = decimal_suffixes,
		[OPT_DOUBLE] = no_suffixes,
		[OPT_SECONDS] = time_suffixes,
		[OPT_SIZE] = binary_suffixes,
	};
	bool is_whole = row->kind == OPT_U64 || row->kind == OPT_SIZE;
	uint64_t whole = 0;
	double v = 0;

	if (row->kind == OPT_U64 && in_choices(row->choices, value)) {
		*(uint64_t *)field(args, row) = UINT64_MAX;
		return 0;
	}
	if (!(is_whole ? parse_whole(value, by_kind[row->kind], &whole)
		       : parse_number(value, by_kind[row->kind], &v)))
		return bad_value(row, value, err);
	if (is_whole)
		v = (double)whole;
	if (row->min != row->max && (v < row->min || v > row->max))
		return bad_value(row, value, err);
	if (is_whole)
		*(uint64_t *)field(args, row) = whole;
	else
		*(double *)field(args, row) = v;
	return 0;
}

int option_set(const struct option_spec *row, const char *value, void *args, struct error *err)
{
	void *f = field(args, row);
	struct option_list *list = f;

	switch (row->kind) {
	case OPT_FLAG:
		*(bool *)f = true;
		return 0;
	case OPT_NEGATE:
		*(bool *)f = false;
		return 0;
	case OPT_COUNT:
		++*(int *)f;
		return 0;
	case OPT_CHOICE:
		if (!in_choices(row->choices, value))
			return bad_value(row, value, err);
		*(const char **)f = value;
		return 0;
	case OPT_STRING:
	case OPT_OPTIONAL:
		*(const char **)f = value;
		return 0;
	case OPT_LIST:
		vec_push(list, value);
		return 0;
	case OPT_U64:
	case OPT_DOUBLE:
	case OPT_SECONDS:
	case OPT_SIZE:
		return set_number(row, value, args, err);
	}
	return -EINVAL;
}

static bool takes_value(const struct option_spec *row)
{
	return row->kind >= OPT_STRING && row->kind != OPT_OPTIONAL;
}

static const struct option_spec *find_letter(const struct option_table *t, char letter)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].letter == letter)
			return &t->rows[i];
	return NULL;
}

const struct option_spec *option_find(const struct option_table *table, const char *name)
{
	if (name[1] != '-')
		return find_letter(table, name[1]);
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].name && !strcmp(table->rows[i].name, name + 2))
			return &table->rows[i];
	return NULL;
}

static const struct option_alias *find_alias(const struct option_table *t, const char *name,
					     size_t len)
{
	for (const struct option_alias *a = t->aliases; a && a->name; a++)
		if (!strncmp(a->name, name, len) && !a->name[len])
			return a;
	return NULL;
}

static int refuse_long(const struct option_table *t, const char *name, size_t len,
		       struct error *err)
{
	cleanup(free_at_exit) char *word = xasprintf("--%.*s", (int)len, name);
	struct nearest nearest;
	char names[128];

	nearest_begin(&nearest, word);
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].name) {
			cleanup(free_at_exit) char *have = xasprintf("--%s", t->rows[i].name);

			nearest_offer(&nearest, have, have);
		}
	for (const struct option_alias *a = t->aliases; a && a->name; a++)
		nearest_offer(&nearest, a->name, a->name);
	nearest_offer(&nearest, "--help", "--help");
	nearest_end(&nearest, names, sizeof(names));
	return error_set(err, -EINVAL, "unknown option %s%s%s", word, *names ? "; nearest: " : "",
			 names);
}

/* An exact name wins; otherwise a prefix that only one row has. */
static const struct option_spec *find_long(const struct option_table *t, const char *name,
					   size_t len, struct error *err)
{
	const struct option_spec *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const char *have = t->rows[i].name;

		if (!have || !len || strncmp(have, name, len))
			continue;
		if (!have[len])
			return &t->rows[i];
		if (found) {
			error_set(err, -EINVAL, "option --%.*s is ambiguous: --%s or --%s",
				  (int)len, name, found->name, have);
			return NULL;
		}
		found = &t->rows[i];
	}
	if (!found)
		refuse_long(t, name, len, err);
	return found;
}

struct cursor {
	int argc, i;
	char **argv;
};

/* The value of the option at hand: given with it, or the next argument. */
static int set_from(const struct option_spec *row, const char *attached, struct cursor *c,
		    void *args, struct error *err)
{
	char text[64];

	if (!takes_value(row)) {
		if (attached && row->kind != OPT_OPTIONAL)
			return error_set(err, -EINVAL, "option %s takes no value",
					 option_text(row, text));
		return option_set(row, attached ? attached : row->implied, args, err);
	}
	if (!attached) {
		if (c->i + 1 >= c->argc)
			return error_set(err, -EINVAL, "option %s needs a value: %s",
					 option_text(row, text), row->arg);
		attached = c->argv[++c->i];
	}
	return option_set(row, attached, args, err);
}

/* `name` has dashes; `attached` is the value behind an equals sign, or the text behind a letter. */
static int apply_alias(const struct option_table *t, const struct option_alias *alias,
		       const char *attached, struct cursor *c, void *args, struct error *err)
{
	char name[64];
	const struct option_spec *row;

	switch (alias->kind) {
	case ALIAS_SAME:
		snprintf(name, sizeof(name), "--%s", alias->text);
		row = option_find(t, name);
		return row ? set_from(row, attached, c, args, err) : -EINVAL;
	case ALIAS_DEFAULT:
		return 0;
	case ALIAS_OTHER:
		break;
	}
	return error_set(err, -EINVAL, "perf's option %s: %s", alias->name, alias->text);
}

static int parse_letters(const struct option_table *t, const char *letters, struct cursor *c,
			 void *args, struct error *err)
{
	for (; *letters; letters++) {
		const struct option_spec *row = find_letter(t, *letters);

		if (!row && *letters == 'h')
			return 1;
		if (!row) {
			const char name[] = { '-', *letters, '\0' };
			const struct option_alias *alias = find_alias(t, name, 2);

			if (!alias)
				return error_set(err, -EINVAL, "unknown option -%c", *letters);
			if (alias->kind != ALIAS_DEFAULT)
				return apply_alias(t, alias, letters[1] ? letters + 1 : NULL, c,
						   args, err);
			continue;
		}
		if (takes_value(row) || (row->kind == OPT_OPTIONAL && letters[1]))
			return set_from(row, letters[1] ? letters + 1 : NULL, c, args, err);
		if (set_from(row, NULL, c, args, err) < 0)
			return -EINVAL;
	}
	return 0;
}

/* `arg` is the whole argument: "--name" or "--name=value". */
static int parse_long(const struct option_table *t, const char *arg, struct cursor *c, void *args,
		      struct error *err)
{
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	const char *attached = name[len] ? name + len + 1 : NULL;
	const struct option_alias *alias = find_alias(t, arg, len + 2);
	const struct option_spec *row;

	if (!strcmp(name, "help"))
		return 1;
	if (alias)
		return apply_alias(t, alias, attached, c, args, err);
	row = find_long(t, name, len, err);
	if (!row)
		return -EINVAL;
	return set_from(row, attached, c, args, err);
}

int options_set_defaults(const struct option_table *table, void *args, struct error *err)
{
	for (size_t i = 0; i < table->n; i++) {
		int r;

		if (!table->rows[i].initial)
			continue;
		r = option_set(&table->rows[i], table->rows[i].initial, args, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	for (n = strlen(text); n && strchr(" \t\r\n", text[n - 1]);)
		text[--n] = '\0';
	return text;
}

/* A # begins a comment where a word could begin: values may have one inside. */
static void cut_comment(char *line)
{
	for (char *at = line; (at = strchr(at, '#')); at++) {
		if (at == line || at[-1] == ' ' || at[-1] == '\t') {
			*at = '\0';
			return;
		}
	}
}

static int set_flag(const struct option_spec *row, const char *value, void *args, struct error *err)
{
	if (!strcmp(value, "no"))
		return 0;
	if (strcmp(value, "yes") != 0)
		return error_set(err, -EINVAL, "%s: '%s' is neither yes nor no", row->name, value);
	return option_set(row, NULL, args, err);
}

int options_parse_line(const struct option_table *table, char *line, void *args, struct error *err)
{
	char *name, *value;

	cut_comment(line);
	name = trim(line);
	if (!*name)
		return 0;
	value = strchr(name, '=');
	if (!value)
		return error_set(err, -EINVAL, "'%s' is not NAME = value", name);
	*value++ = '\0';
	name = trim(name);
	value = trim(value);
	for (size_t i = 0; i < table->n; i++) {
		const struct option_spec *row = &table->rows[i];

		if (!row->name || strcmp(row->name, name) != 0)
			continue;
		return takes_value(row) ? option_set(row, value, args, err)
					: set_flag(row, value, args, err);
	}
	return error_set(err, -EINVAL, "there is no setting '%s'", name);
}

int options_parse(const struct option_table *table, bool stop_at_operand, int argc, char **argv,
		  void *args, struct option_list *operands, struct error *err)
{
	int r = options_set_defaults(table, args, err);

	return r < 0 ? r
		     : options_parse_given(table, stop_at_operand, argc, argv, args, operands, err);
}

int options_parse_given(const struct option_table *table, bool stop_at_operand, int argc,
			char **argv, void *args, struct option_list *operands, struct error *err)
{
	struct cursor c = { .argc = argc, .argv = argv };
	bool is_operand = false;
	int r;

	for (c.i = 1; c.i < argc; c.i++) {
		const char *arg = argv[c.i];

		if (!is_operand && !strcmp(arg, "--")) {
			is_operand = true;
			continue;
		}
		if (is_operand || arg[0] != '-' || !arg[1]) {
			is_operand |= stop_at_operand;
			vec_push(operands, arg);
			continue;
		}
		r = arg[1] == '-' ? parse_long(table, arg, &c, args, err)
				  : parse_letters(table, arg + 1, &c, args, err);
		if (r)
			return r;
	}
	return 0;
}

void option_list_fini(struct option_list *l)
{
	vec_fini(l);
}
