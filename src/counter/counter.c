/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one -e argument to counters: cut at commas, then at colons (words.c) or
 * slashes (pmu.c); what comes out is a draft, which becomes one counter, or one
 * a kind of core.
 */
#include "counter/counter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "counter/parse.h"
#include "counter/pmu.h"

#define SPEC_MAX_SIZE 4096

static void counter_fini(struct counter *c)
{
	free(c->name);
	free(c->spec);
	free(c->cpus);
}

void counters_fini(struct counters *c)
{
	vec_foreach (c, counter)
		counter_fini(counter);
	vec_fini(c);
}

void counters_drop(struct counters *c, size_t n)
{
	while (c->n > n)
		counter_fini(&c->data[--c->n]);
}

/*
 * The same event twice is one: it would only cost twice. Two that share a name
 * but differ can't be told apart in a report.
 */
static int add(const struct parse *p, struct counter *c)
{
	int r = 0;

	vec_foreach (p->out, other) {
		if (strcmp(other->name, c->name))
			continue;
		if (memcmp(&other->attr, &c->attr, sizeof(c->attr)))
			r = error_set(p->err, -EINVAL,
				      "event '%s' is given twice with different settings: '%s' and "
				      "'%s'",
				      c->name, other->spec, c->spec);
		counter_fini(c);
		return r;
	}
	vec_push(p->out, *c);
	return 0;
}

/*
 * On a machine with cores of several kinds the kernel counts a generic event on
 * one kind alone, unless told the PMU: in bits 32 and up of config, or as the type of
 * a raw event (perf_event_open(2), "PERF_PMU_TYPE_SHIFT"; Linux 5.13).
 */
static int add_of_kind(const struct parse *p, const struct draft *d, const char *pmu,
		       const char *name, const char *letters)
{
	struct draft one = *d;
	struct counter c;
	uint32_t type;
	char *full_name;

	if (!pmu_type(p->sources, pmu, &type))
		return 0;
	snprintf(one.pmu, sizeof(one.pmu), "%s", pmu);
	if (one.attr.type == PERF_TYPE_RAW)
		one.attr.type = type;
	else
		one.attr.config |= (uint64_t)type << PERF_PMU_TYPE_SHIFT;
	full_name = xasprintf("%s/%s/", pmu, name);
	c = draft_finish(p->sources, &one, full_name, letters, p->spec);
	free(full_name);
	return add(p, &c);
}

static bool is_generic(const struct draft *d)
{
	return d->is_core && !*d->pmu &&
	       (d->attr.type == PERF_TYPE_HARDWARE || d->attr.type == PERF_TYPE_HW_CACHE ||
		d->attr.type == PERF_TYPE_RAW);
}

int parse_finish(const struct parse *p, struct draft *d, const char *name, const char *letters)
{
	struct pmu_names kinds = { 0 };
	struct counter c;
	int r;

	name = *d->name ? d->name : name;
	if (d->attr.exclude_user && d->attr.exclude_kernel)
		return error_set(
			p->err, -EINVAL,
			"event '%s' asks for neither user nor kernel mode: nothing would be "
			"counted",
			p->spec);
	r = rate_apply(p->sources, p->rate, d, p->spec, p->err);
	if (r < 0)
		return r;
	if (is_generic(d))
		pmu_list_hybrid(p->sources, &kinds);
	if (kinds.n == 0) {
		c = draft_finish(p->sources, d, name, letters, p->spec);
		r = add(p, &c);
	}
	for (size_t i = 0; i < kinds.n && r == 0; i++)
		r = add_of_kind(p, d, kinds.data[i], name, letters);
	pmu_names_fini(&kinds);
	return r;
}

/* PMU/TERMS/[:][MODIFIERS] */
static int parse_pmu(const struct parse *p, char *text)
{
	char *terms = strchr(text, '/') + 1, *end = strchr(terms, '/');
	struct draft d = { 0 };
	const char *letters;
	char *name;
	int r;

	if (!end)
		return error_set(
			p->err, -EINVAL,
			"event '%s': no closing '/'; the form is PMU/TERM=VALUE,…/MODIFIERS",
			p->spec);
	letters = end[1] == ':' ? end + 2 : end + 1;
	terms[-1] = *end = '\0';
	r = pmu_parse(p->sources, text, terms, p->spec, &d, p->err);
	if (r == 0)
		r = modifiers_apply(letters, p->spec, &d, p->err);
	if (r < 0)
		return r;
	name = xasprintf("%s/%s/", text, terms);
	r = parse_finish(p, &d, name, letters);
	free(name);
	return r;
}

/* The end of the event that begins at `at`: a comma outside slashes, or the end. */
static const char *item_end(const char *at)
{
	bool in_slashes = false;

	for (; *at && (in_slashes || *at != ','); at++)
		in_slashes ^= *at == '/';
	return at;
}

int counter_parse(const struct counter_sources *sources, const char *spec,
		  const struct counter_rate *rate, struct counters *out, struct error *err)
{
	const char *at = spec;

	if (strlen(spec) > SPEC_MAX_SIZE)
		return error_set(err, -EINVAL, "an event list of more than %d characters",
				 SPEC_MAX_SIZE);
	for (;;) {
		const char *end = item_end(at);
		cleanup(free_at_exit) char *one = xstrndup(at, (size_t)(end - at));
		cleanup(free_at_exit) char *text = xstrdup(one);
		struct parse p = { sources, rate, one, out, err };
		int r;

		if (!*one)
			return error_set(err, -EINVAL, "event list '%s': an event is empty", spec);
		r = strchr(one, '/') ? parse_pmu(&p, text) : parse_words(&p, text);
		if (r < 0 || !*end)
			return r;
		at = end + 1;
	}
}
