/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog/event_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

const char *const unit_mask_type_words[N_UNIT_MASK_TYPES] = {
#define X(id, word) [UNIT_MASK_##id] = word,
	UNIT_MASK_TYPES(X)
#undef X
};

#define MAX_UNITS      64
#define MAX_TAGS       12
#define MAX_COMPLAINTS 100

/* One file while it is read. */
struct reading {
	struct event_table *t;
	const char *file;
	uint32_t line;
	const struct event_include *include;
};

void event_table_init(struct event_table *t)
{
	*t = (struct event_table){ .arena = arena_new() };
}

void event_table_fini(struct event_table *t)
{
	vec_foreach (&t->events, e)
		vec_fini(&e->mask.units);
	vec_foreach (&t->masks, m) {
		vec_fini(&(*m)->units);
		free(*m);
	}
	vec_foreach (&t->cpus, c)
		vec_fini(&c->models);
	vec_foreach (&t->complaints, c)
		free(*c);
	vec_fini(&t->events);
	vec_fini(&t->masks);
	vec_fini(&t->cpus);
	vec_fini(&t->complaints);
	arena_free(t->arena);
}

static const char *event_file_keep(struct event_table *t, const char *text)
{
	return arena_strndup(t->arena, text, strlen(text));
}

__attribute__((format(printf, 4, 5))) static void complain_at(struct event_table *t,
							      const char *file, uint32_t line,
							      const char *format, ...)
{
	char text[256];
	va_list args;

	if (t->complaints.n >= MAX_COMPLAINTS)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&t->complaints, xasprintf("%s:%u: %s", file, line, text));
}

#define complain(r, ...) complain_at((r)->t, (r)->file, (r)->line, __VA_ARGS__)

/* ---- lines and tags ---- */

/* The next line that is not empty and no comment, without its end; NULL behind the last. */
static char *event_file_next_line(struct reading *r, char **at)
{
	for (char *line; (line = strsep(at, "\n"));) {
		size_t n = strlen(line);

		r->line++;
		while (n && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		if (line[strspn(line, " \t")] && line[0] != '#')
			return line;
	}
	return NULL;
}

/* The words "tag:value" of a line, and the text after the single colon. */
struct tags {
	struct {
		const char *name, *value;
	} tag[MAX_TAGS];
	size_t n;
	const char *text; /* "" */
};

static bool cut_tags(const struct reading *r, char *line, struct tags *out)
{
	char *rest = line;

	*out = (struct tags){ .text = "" };
	for (char *word; (word = strsep(&rest, " \t"));) {
		char *colon = strchr(word, ':');

		if (!*word)
			continue;
		if (word == colon) {
			/* ":text" has the blank that is missing no less */
			out->text = word[1] ? word + 1 : rest ? rest + strspn(rest, " \t") : "";
			if (word[1] && rest)
				rest[-1] = ' ';
			return true;
		}
		if (!colon || !colon[1]) {
			complain(r, "'%.60s' is not TAG:VALUE", word);
			return false;
		}
		if (out->n == MAX_TAGS) {
			complain(r, "more than %d tags", MAX_TAGS);
			return false;
		}
		*colon = '\0';
		out->tag[out->n].name = word;
		out->tag[out->n++].value = colon + 1;
	}
	return true;
}

/* Every tag must be one of `known`, and no one twice. */
static bool check_tags(const struct reading *r, const struct tags *tags, const char *const *known)
{
	for (size_t i = 0; i < tags->n; i++) {
		const char *name = tags->tag[i].name;
		size_t k = 0;

		while (known[k] && strcmp(known[k], name))
			k++;
		if (!known[k]) {
			complain(r, "unknown tag '%.40s:'", name);
			return false;
		}
		for (size_t j = 0; j < i; j++)
			if (!strcmp(tags->tag[j].name, name)) {
				complain(r, "the tag '%s:' is given twice", name);
				return false;
			}
	}
	return true;
}

static const char *tag_value(const struct tags *tags, const char *name)
{
	for (size_t i = 0; i < tags->n; i++)
		if (!strcmp(tags->tag[i].name, name))
			return tags->tag[i].value;
	return NULL;
}

static bool to_number(const char *text, int base, uint32_t *out)
{
	unsigned long long v;
	char *end;

	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	v = strtoull(text, &end, base);
	if (*end || errno || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* A number of a tag that may be missing. */
static bool tag_number(const struct reading *r, const struct tags *tags, const char *name, int base,
		       uint32_t *out)
{
	const char *value = tag_value(tags, name);

	if (!value || to_number(value, base, out))
		return true;
	complain(r, "%s:%.40s is not a number of 32 bits", name, value);
	return false;
}

static bool has_tag(const struct reading *r, const struct tags *tags, const char *name)
{
	if (tag_value(tags, name))
		return true;
	complain(r, "no '%s:'", name);
	return false;
}

static bool take_include(const struct reading *r, const char *line)
{
	static const char word[] = "include:";

	if (strncmp(line, word, sizeof(word) - 1))
		return false;
	if (r->include)
		r->include->read(r->include->context, r->t, line + sizeof(word) - 1);
	else
		complain(r, "an include is not possible here");
	return true;
}

/* ---- events ---- */

static bool read_counters(const struct reading *r, const char *value, uint64_t *out)
{
	const char *at = value;

	if (!strcmp(value, "cpuid")) {
		*out = ALL_COUNTERS;
		return true;
	}
	*out = 0;
	for (;;) {
		char *end;
		unsigned long n = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 64;

		if (n > 63 || (*end && *end != ',')) {
			complain(r, "counters:%.60s is not a list of numbers up to 63", value);
			return false;
		}
		*out |= UINT64_C(1) << n;
		if (!*end)
			return true;
		at = end + 1;
	}
}

static bool read_event(const struct reading *r, const struct tags *tags, struct table_event *e)
{
	const char *counters = tag_value(tags, "counters"), *ext = tag_value(tags, "ext");
	const char *name = tag_value(tags, "name"), *masks = tag_value(tags, "um");

	if (!has_tag(r, tags, "event") || !has_tag(r, tags, "name"))
		return false;
	if (!counters == !ext) {
		complain(r, counters ? "both 'counters:' and 'ext:'" : "no 'counters:'");
		return false;
	}
	if (strpbrk(name, "./")) {
		complain(r, "the name '%.60s' has a '.' or '/'", name);
		return false;
	}
	*e = (struct table_event){
		.name = event_file_keep(r->t, name),
		.help = event_file_keep(r->t, tags->text),
		.ext = ext ? event_file_keep(r->t, ext) : NULL,
		.filter = FILTER_NONE,
		.mask_names = event_file_keep(r->t, masks ? masks : ""),
		.file = r->file,
		.line = r->line,
	};
	return tag_number(r, tags, "event", 16, &e->code) &&
	       tag_number(r, tags, "minimum", 0, &e->minimum) &&
	       tag_number(r, tags, "filter", 10, &e->filter) &&
	       (!counters || read_counters(r, counters, &e->counters));
}

/* Did a file before this one give the event? A file itself may give a name several codes. */
static bool is_given_before(const struct event_table *t, const struct table_event *e)
{
	vec_foreach (&t->events, other)
		if (strcmp(other->file, e->file) && !strcasecmp(other->name, e->name))
			return true;
	return false;
}

void event_table_read_events(struct event_table *t, char *text, const char *file,
			     const struct event_include *include)
{
	static const char *const known[] = { "event",   "counters", "ext",  "um",
					     "minimum", "filter",   "name", NULL };
	struct reading r = { .t = t, .file = event_file_keep(t, file), .include = include };

	for (char *line; (line = event_file_next_line(&r, &text));) {
		struct table_event e;
		struct tags tags;

		if (take_include(&r, line))
			continue;
		if (!cut_tags(&r, line, &tags) || !check_tags(&r, &tags, known) ||
		    !read_event(&r, &tags, &e))
			continue;
		if (!is_given_before(t, &e))
			vec_push(&t->events, e);
	}
}

/* ---- unit masks ---- */

static const struct {
	const char *word;
	uint32_t bits;
} extras[] = {
	{ "edge", EXTRA_EDGE },
	{ "inv", EXTRA_INV },
	{ "any", EXTRA_ANY },
	{ "pebs", EXTRA_PEBS },
};

/* "cmask=1,inv": what is between the commas. */
static bool event_file_read_extra(const struct reading *r, char *value, uint32_t *out)
{
	uint32_t cmask;

	*out = 0;
	for (char *word; (word = strsep(&value, ","));) {
		size_t i = 0;

		if (!*word)
			continue;
		while (i < ARRAY_SIZE(extras) && strcmp(extras[i].word, word))
			i++;
		if (i < ARRAY_SIZE(extras)) {
			*out |= extras[i].bits;
		} else if (!strncmp(word, "cmask=", 6) && to_number(word + 6, 16, &cmask) &&
			   cmask < 256) {
			*out |= cmask << EXTRA_CMASK;
		} else {
			complain(r, "'%.40s' is none of edge, inv, any, pebs, cmask=HEX", word);
			return false;
		}
	}
	if (!*out)
		*out = EXTRA_NONE;
	return true;
}

/* "<TAB>0x08 [extra:… NAME] What it says" */
static void read_unit(const struct reading *r, char *line, struct unit_mask *m)
{
	char *rest = line + strspn(line, " \t"), *word = strsep(&rest, " \t");
	struct event_unit u = { 0 };

	if (!m) {
		complain(r, "a value without a 'name:' line before");
		return;
	}
	if (m->units.n == MAX_UNITS) {
		complain(r, "more than %d values of '%s'", MAX_UNITS, m->name);
		return;
	}
	if (!to_number(word, 16, &u.value)) {
		complain(r, "'%.40s' is not a hexadecimal number", word);
		return;
	}
	if (rest && !strncmp(rest + strspn(rest, " \t"), "extra:", 6)) {
		rest += strspn(rest, " \t") + 6;
		word = strsep(&rest, " \t");
		if (!event_file_read_extra(r, word, &u.extra))
			return;
		rest = rest ? rest + strspn(rest, " \t") : NULL;
		word = strsep(&rest, " \t");
		if (!word || !*word) {
			complain(r, "no name behind 'extra:'");
			return;
		}
		u.name = event_file_keep(r->t, word);
	}
	u.help = event_file_keep(r->t, rest ? rest + strspn(rest, " \t") : "");
	vec_push(&m->units, u);
}

static struct unit_mask *find_mask(const struct event_table *t, const char *name, size_t len)
{
	vec_foreach (&t->masks, m)
		if (strlen((*m)->name) == len && !strncmp((*m)->name, name, len))
			return *m;
	return NULL;
}

/* "name:MESI type:bitmask default:0x0f"; NULL: it is left out, and its values are to be. */
static struct unit_mask *read_mask(const struct reading *r, const struct tags *tags)
{
	const char *name = tag_value(tags, "name"), *type = tag_value(tags, "type");
	const char *initial = tag_value(tags, "default");
	struct unit_mask *m;
	uint32_t i = 0;

	if (!has_tag(r, tags, "name") || !has_tag(r, tags, "type") || !has_tag(r, tags, "default"))
		return NULL;
	while (i < N_UNIT_MASK_TYPES && strcmp(unit_mask_type_words[i], type))
		i++;
	if (i == N_UNIT_MASK_TYPES) {
		complain(r, "type:%.40s is none of mandatory, exclusive, bitmask", type);
		return NULL;
	}
	m = xcalloc(1, sizeof(*m));
	m->name = event_file_keep(r->t, name);
	m->type = i;
	m->file = r->file;
	m->line = r->line;
	if (!to_number(initial, 16, &m->default_value) || strncmp(initial, "0x", 2))
		m->default_name = event_file_keep(r->t, initial);
	return m;
}

void event_table_read_masks(struct event_table *t, char *text, const char *file,
			    const struct event_include *include)
{
	static const char *const known[] = { "name", "type", "default", NULL };
	struct reading r = { .t = t, .file = event_file_keep(t, file), .include = include };
	struct unit_mask none = { .name = "" }, *m = NULL;

	for (char *line; (line = event_file_next_line(&r, &text));) {
		const struct unit_mask *before;
		struct tags tags;

		if (isspace((unsigned char)*line)) {
			read_unit(&r, line, m);
			continue;
		}
		if (take_include(&r, line))
			continue;
		m = cut_tags(&r, line, &tags) && check_tags(&r, &tags, known) ? read_mask(&r, &tags)
									      : NULL;
		before = m ? find_mask(t, m->name, strlen(m->name)) : NULL;
		if (before && !strcmp(before->file, m->file))
			complain(&r, "the unit mask '%s' is given twice", m->name);
		if (m && !before) {
			vec_push(&t->masks, m);
			continue;
		}
		/* What follows belongs to a mask that is not taken. */
		free(m);
		m = &none;
		none.units.n = 0;
	}
	vec_fini(&none.units);
}

/* ---- processors ---- */

static bool read_models(const struct reading *r, const char *value, struct table_cpu *c)
{
	cleanup(free_at_exit) char *copy = xstrdup(value);
	char *rest = copy;

	for (char *word; (word = strsep(&rest, ","));) {
		uint32_t model;

		if (!to_number(word, 0, &model)) {
			complain(r, "model:%.60s is not a list of numbers", value);
			return false;
		}
		vec_push(&c->models, model);
	}
	return true;
}

static bool event_file_read_cpu(const struct reading *r, const struct tags *tags,
				struct table_cpu *c)
{
	const char *vendor = tag_value(tags, "vendor"), *models = tag_value(tags, "model");
	const char *initial = tag_value(tags, "default"), *name = tag_value(tags, "cpu");

	if (!has_tag(r, tags, "cpu"))
		return false;
	if (!vendor == !tag_value(tags, "implementer")) {
		complain(r, "give 'vendor:' and 'family:', or 'implementer:' and 'part:'");
		return false;
	}
	if (!has_tag(r, tags, vendor ? "family" : "part"))
		return false;
	c->vendor = vendor ? event_file_keep(r->t, vendor) : NULL;
	c->type = (struct cpu_type){
		.number = CPU_TYPE_NEW,
		.name = event_file_keep(r->t, name),
		.pretty = event_file_keep(r->t, *tags->text ? tags->text : name),
		.default_event = event_file_keep(r->t, initial ? initial : "cycles:100000:0:1:1"),
		.n_counters = 4,
	};
	return tag_number(r, tags, "family", 0, &c->family) &&
	       tag_number(r, tags, "implementer", 0, &c->implementer) &&
	       tag_number(r, tags, "part", 0, &c->part) &&
	       tag_number(r, tags, "counters", 10, &c->type.n_counters) &&
	       (!models || read_models(r, models, c));
}

void event_table_read_cpus(struct event_table *t, char *text, const char *file)
{
	static const char *const known[] = { "cpu",   "vendor",   "family",
					     "model", "counters", "implementer",
					     "part",  "default",  NULL };
	struct reading r = { .t = t, .file = event_file_keep(t, file) };

	for (char *line; (line = event_file_next_line(&r, &text));) {
		struct table_cpu c = { 0 };
		struct tags tags;

		if (cut_tags(&r, line, &tags) && check_tags(&r, &tags, known) &&
		    event_file_read_cpu(&r, &tags, &c))
			vec_push(&t->cpus, c);
		else
			vec_fini(&c.models);
	}
}

/* ---- the whole ---- */

/*
 * Complains about events without their masks only now, because the masks may come from another
 * file.
 */
static bool join_masks(struct event_table *t, struct table_event *e)
{
	const char *at = e->mask_names;

	while (*at) {
		size_t len = strcspn(at, ",");
		const struct unit_mask *m = find_mask(t, at, len);

		if (!m) {
			if (len != 4 || strncmp(at, "zero", 4)) {
				complain_at(t, e->file, e->line, "no unit mask '%.*s'",
					    (int)MIN(len, 60), at);
				return false;
			}
		} else if (!e->mask.name) {
			e->mask.name = m->name;
			e->mask.type = m->type;
			e->mask.default_value = m->default_value;
			e->mask.default_name = m->default_name;
		}
		for (size_t i = 0; m && i < m->units.n && e->mask.units.n < MAX_UNITS; i++)
			vec_push(&e->mask.units, m->units.data[i]);
		at += len + (at[len] == ',');
	}
	return true;
}

void event_table_finish(struct event_table *t, const struct counter_sources *sources)
{
	uint32_t n_counters, missing = 0;
	uint64_t all = ALL_COUNTERS;
	size_t n = 0;

	if (cpu_type_perfmon(sources, &n_counters, &missing) && n_counters < 64)
		all = (UINT64_C(1) << n_counters) - 1;
	vec_foreach (&t->events, e) {
		bool is_missing = e->filter < 32 && missing >> e->filter & 1;

		if (is_missing || !join_masks(t, e)) {
			vec_fini(&e->mask.units);
			continue;
		}
		if (e->counters == ALL_COUNTERS)
			e->counters = all;
		t->events.data[n++] = *e;
	}
	t->events.n = n;
}

const struct table_event *event_table_find(const struct event_table *t, const char *name)
{
	vec_foreach (&t->events, e)
		if (!strcasecmp(e->name, name))
			return e;
	return NULL;
}
