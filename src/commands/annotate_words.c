/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/annotate_words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "open/input.h"

#define MAX_LISTED 20

static int by_weight(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

void sort_choice(struct choice *c)
{
	if (c->n)
		qsort(c->data, c->n, sizeof(*c->data), by_weight);
}

static const char *function_name(const struct profile *p, uint32_t function)
{
	char scratch[KEY_TEXT_SIZE];

	return profile_key_text(p, PROFILE_SYMBOL, function, scratch);
}

/* The length of FILE in FILE:FUNCTION; 0: the word is a function alone, such as ns::f. */
static size_t file_length(const char *word)
{
	size_t len = strcspn(word, "(<:");

	return word[len] == ':' && word[len + 1] != ':' && word[len + 1] ? len : 0;
}

/* Whether the function is in the query's source files. That of a language is in its image. */
static bool is_in_file(const struct profile *p, const struct query *q, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct profile_image *image = &p->images.data[f->image];
	struct line_span span;

	if (!query_has(q, FILTER_FILE))
		return true;
	if (image->image->kind == IMAGE_LANGUAGE)
		return query_takes_path(q, FILTER_FILE, image->image->path);
	return lines_span(p->symbols, image->table, symbol_get(image->table, f->symbol).offset,
			  &span) &&
	       query_takes_path(q, FILTER_FILE, span.file);
}

/* The functions that a word means: a name, without parameters, or a glob, and before it a file. */
struct wanted {
	struct query query;
	const char *name; /* without the file */
	bool is_glob;
	bool is_end; /* no function has that name, so the end of a name will do: "st" for "K::st" */
};

/* Whether the name ends with the word, behind what separates the parts of names. */
static bool is_end_of(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word);

	return n && n < len && !strncmp(name + len - n, word, n) &&
	       strchr(".:#/$", name[len - n - 1]);
}

static bool is_chosen(const struct profile *p, const struct wanted *w, uint32_t function)
{
	const char *name;

	if (p->functions.data[function].symbol == NO_SYMBOL)
		return false;
	name = function_name(p, function);
	return (w->is_end ? is_end_of(name, strlen(name), w->name) ||
				    is_end_of(name, function_base_len(name), w->name)
			  : query_takes_function(&w->query, FILTER_SYMBOL, name)) &&
	       is_in_file(p, &w->query, function);
}

static void wanted_fini(struct wanted *w)
{
	query_fini(&w->query);
}

/* False: the word is no name and no glob. */
static bool wanted_init(struct wanted *w, const struct profile *p, const char *word)
{
	size_t file_len = file_length(word);
	cleanup(free_at_exit) char *file = xasprintf("file:%.*s", (int)file_len, word), *symbol;
	bool is_met = false;

	*w = (struct wanted){ .name = word + file_len + (file_len > 0),
			      .is_glob = strpbrk(word, "*?[") != NULL };
	symbol = xasprintf("symbol:%s", w->name);
	if (query_add(&w->query, symbol, NULL) < 0 ||
	    (file_len && query_add(&w->query, file, NULL) < 0))
		return false;
	for (uint32_t f = 0; f < p->functions.n && !is_met; f++)
		is_met = is_chosen(p, w, f);
	w->is_end = !is_met && !w->is_glob;
	return true;
}

static bool is_of_language(const struct profile *p, uint32_t function)
{
	return p->images.data[p->functions.data[function].image].image->kind == IMAGE_LANGUAGE;
}

static uint64_t sum_of_lanes(const struct annotation *a, const struct weight *w)
{
	uint64_t sum = 0;

	for (uint32_t lane = 0; lane < a->profile->n_lanes; lane++)
		sum += weight_value(&w[lane], a->by_period);
	return sum;
}

static uint64_t total_weight(const struct annotation *a, uint32_t function)
{
	struct weight *w = xcalloc(a->profile->n_lanes, sizeof(*w));
	uint64_t sum;

	annotation_function_total(a, function, w);
	sum = sum_of_lanes(a, w);
	free(w);
	return sum;
}

/* Lower ones are meant first, but for the end of a name, where all are. */
enum meant { MEANT_OWN, MEANT_LANGUAGE, MEANT_NATIVE, MEANT_NOT };

static enum meant meant_of(const struct annotation *a, const struct wanted *w, uint32_t function,
			   uint64_t own)
{
	if ((!own && !a->has_totals) || !is_chosen(a->profile, w, function))
		return MEANT_NOT;
	if (own || w->is_end)
		return MEANT_OWN;
	return is_of_language(a->profile, function) ? MEANT_LANGUAGE : MEANT_NATIVE;
}

void choose_functions(const struct annotation *a, const char *word, struct choice *out)
{
	const struct profile *p = a->profile;
	uint64_t *own = xcalloc(p->functions.n + 1, sizeof(*own));
	enum meant best = MEANT_NOT;
	struct wanted w;
	bool is_name;

	for (uint32_t i = 0; i < p->places.n; i++)
		own[p->places.data[i].function] += sum_of_lanes(a, annotation_place(a, i));
	is_name = wanted_init(&w, p, word);
	for (uint32_t f = 0; is_name && f < p->functions.n; f++) {
		enum meant meant = meant_of(a, &w, f, own[f]);

		if (meant == MEANT_NOT || meant > best)
			continue;
		if (meant < best)
			out->n = 0;
		best = meant;
		vec_push(out, (struct chosen){ f, own[f] ? own[f] : total_weight(a, f) });
	}
	wanted_fini(&w);
	free(own);
	sort_choice(out);
}

/* By function: whether it has samples of its own. The caller frees it. */
static bool *find_own(const struct profile *p)
{
	bool *own = xcalloc(p->functions.n + 1, sizeof(*own));

	vec_foreach (&p->entries, e)
		if (e->node)
			own[p->nodes.data[e->node].function] = true;
	return own;
}

/* Whether the word means no function of native code that has samples. */
static bool means_no_native(const struct profile *p, const char *word)
{
	cleanup(free_at_exit) bool *own = find_own(p);
	bool is_native = false;
	struct wanted w;

	if (wanted_init(&w, p, word))
		for (uint32_t f = 0; f < p->functions.n; f++)
			is_native |= own[f] && is_chosen(p, &w, f) && !is_of_language(p, f);
	wanted_fini(&w);
	return !is_native;
}

static bool means_language(const struct profile *p, const char *word)
{
	bool is_met = false;
	struct wanted w;

	if (wanted_init(&w, p, word))
		for (uint32_t f = 0; f < p->functions.n; f++)
			is_met |= is_chosen(p, &w, f) && is_of_language(p, f);
	wanted_fini(&w);
	return is_met;
}

static bool do_all_words(const struct profile *p, const struct option_list *words,
			 bool (*mean)(const struct profile *, const char *))
{
	for (size_t i = 0; i < words->n; i++)
		if (!mean(p, words->data[i]))
			return false;
	return words->n > 0;
}

int prefer_language(struct profile_request *request, const struct option_list *words,
		    struct profile **profile, struct error *err)
{
	const struct query *query = request->query;
	struct query of_language = *query;
	struct profile *other = NULL;
	int r;

	if (query->frames != FRAMES_BOTH || !do_all_words(*profile, words, means_no_native))
		return 0;
	of_language.frames = FRAMES_LANGUAGE;
	request->query = &of_language;
	r = input_profile(request, false, &other, err);
	request->query = query;
	if (r >= 0 && do_all_words(other, words, means_language)) {
		profile_free(*profile);
		*profile = take_ptr(other);
	}
	profile_free(other);
	return r;
}

/* Changes that turn one name into the other: one character each. */
static size_t line_distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[65], last, above;

	n = MIN(n, (size_t)64);
	m = MIN(m, (size_t)64);
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		last = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			above = row[j];
			row[j] = MIN(MIN(row[j], row[j - 1]) + 1, last + (a[i - 1] != b[j - 1]));
			last = above;
		}
	}
	return row[m];
}

static int say_no_file(const char *word, size_t file_len, struct error *err)
{
	return error_set(err, -ENOENT,
			 "no function '%s' with samples in a source file '%.*s'; 'assay report "
			 "-l' lists functions, and no filter has the name '%.*s:'",
			 word + file_len + 1, (int)file_len, word, (int)file_len, word);
}

static int say_nearest(const struct profile *p, const char *word, struct error *err)
{
	struct choice near = { 0 };
	struct buf names = { 0 };

	if (file_length(word))
		return say_no_file(word, file_length(word), err);
	for (uint32_t f = 0; f < p->functions.n; f++) {
		const char *name = function_name(p, f);
		size_t len = function_base_len(name), n = strlen(word);
		bool is_part = strstr(name, word) != NULL;
		size_t d = is_part ? 0 : line_distance(word, n, name, len);

		if (p->functions.data[f].symbol != NO_SYMBOL && (is_part || d <= n / 3 + 1))
			vec_push(&near, (struct chosen){ f, UINT64_MAX - d });
	}
	sort_choice(&near);
	for (size_t i = 0; i < near.n && i < 5; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", function_name(p, near.data[i].id));
	if (near.n)
		error_set(err, -ENOENT, "no function '%s' with samples; there is %s", word,
			  buf_cstr(&names));
	else
		error_set(err, -ENOENT,
			  "no function '%s' with samples; 'assay report -l' lists them, and "
			  "'assay report --tree --inline' shows what was inlined",
			  word);
	vec_fini(&near);
	buf_fini(&names);
	return -ENOENT;
}

static void put_candidate(const struct profile *p, const struct chosen *c, struct buf *out)
{
	const struct profile_function *f = &p->functions.data[c->id];
	const struct profile_image *image = &p->images.data[f->image];
	struct line_span span;

	buf_printf(out, "%s %s in %s (%" PRIu64 ")", out->len ? ";" : "", function_name(p, c->id),
		   image->name, c->weight);
	if (lines_span(p->symbols, image->table, symbol_get(image->table, f->symbol).offset, &span))
		buf_printf(out, " at %s:%" PRIu32, span.file, span.line);
}

static int say_candidates(const struct profile *p, const char *word, const struct choice *c,
			  struct error *err)
{
	struct buf list = { 0 };

	for (size_t i = 0; i < c->n && i < MAX_LISTED; i++)
		put_candidate(p, &c->data[i], &list);
	error_set(err, -EINVAL,
		  "'%s' names %zu functions; give the whole name, add lib-image:NAME or the "
		  "parameters, or a * for all of them:%s",
		  word, c->n, buf_cstr(&list));
	buf_fini(&list);
	return -EINVAL;
}

int choose_by_words(const struct annotation *a, const struct option_list *words, struct choice *out,
		    struct error *err)
{
	for (size_t i = 0; i < words->n; i++) {
		struct choice one = { 0 };
		bool is_glob = strpbrk(words->data[i], "*?[") != NULL;

		choose_functions(a, words->data[i], &one);
		if (!one.n || (one.n > 1 && !is_glob)) {
			int r = one.n ? say_candidates(a->profile, words->data[i], &one, err)
				      : say_nearest(a->profile, words->data[i], err);
			vec_fini(&one);
			return r;
		}
		vec_foreach (&one, c) {
			vec_push(out, *c);
		}
		vec_fini(&one);
	}
	return 0;
}
