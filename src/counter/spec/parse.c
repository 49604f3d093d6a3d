/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one -e argument to counters. The text is cut at braces and commas, then at colons (words.c)
 * or slashes (pmu.c). The result is a draft, which becomes one counter, or one for each kind of
 * core.
 */
#include "counter/spec/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "counter/intel_pt.h"
#include "counter/pmu.h"
#include "counter/spec/probe_spec.h"

#define SPEC_MAX_SIZE 4096

/* Of two that are one event, `other` is in a group that the new one is not in, or the reverse. */
static bool is_apart(const struct parse *p, const struct counter *other)
{
	return p->group ? other < p->out->data + p->group->first : other->group > 0;
}

/* The first event of an extended feature's PMU brings the raw samples for all of it. */
static int find_carrier(const struct parse *p, struct counter *c)
{
	if (c->ext && p->group)
		return error_set(p->err, -EINVAL,
				 "event '%s' is made of samples of %s, and can't be in a group",
				 c->name, c->ext);
	for (size_t i = 0; c->ext && i < p->out->n; i++) {
		const struct counter *other = &p->out->data[i];

		if (other->carrier || !other->ext || strcmp(other->ext, c->ext) != 0)
			continue;
		if (memcmp(&other->attr, &c->attr, sizeof(c->attr)) ||
		    other->unit_mask != c->unit_mask)
			return error_set(p->err, -EINVAL,
					 "events '%s' and '%s' are made of the same samples, of "
					 "%s: give both the same count, unit mask and modes",
					 other->spec, c->spec, c->ext);
		c->carrier = (uint32_t)i + 1;
	}
	return 0;
}

/*
 * A repeated event is dropped, because it would only cost twice. Different events of one name are
 * refused, because a report could not distinguish them.
 */
static int counters_add(const struct parse *p, struct counter *c)
{
	int r = 0;

	vec_foreach (p->out, other) {
		if (strcmp(other->name, c->name))
			continue;
		/* the attr of a probe has the address of its path, and its name is unique */
		if (!c->probed && memcmp(&other->attr, &c->attr, sizeof(c->attr)))
			r = error_set(p->err, -EINVAL,
				      "event '%s' is given twice with different settings: '%s' and "
				      "'%s'",
				      c->name, other->spec, c->spec);
		else if (is_apart(p, other))
			r = error_set(p->err, -EINVAL,
				      "event '%s' is given twice, in a group and outside of it: "
				      "a report could not separate the two",
				      c->name);
		counter_fini(c);
		return r;
	}
	r = find_carrier(p, c);
	if (r < 0)
		counter_fini(c);
	else
		vec_push(p->out, *c);
	return r;
}

/*
 * On a machine with several kinds of cores, the kernel counts a generic event on one kind only. The
 * PMU selects the kind: in bits 32 and up of config, or as the type of a raw event
 * (perf_event_open(2), "PERF_PMU_TYPE_SHIFT"; Linux 5.13).
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
	return counters_add(p, &c);
}

/* The counter is gone when this is an error. */
static int check_ibs_modes(const struct parse *p, const struct draft *d, struct counter *c)
{
	if (!d->is_ibs || d->filter || !attr_has_modes(&c->attr))
		return 0;
	counter_fini(c);
	return error_set(
		p->err, -ENOTSUP,
		"event '%s': this kernel's IBS counts user and kernel mode together, which "
		"needs root (Linux 6.14 can separate them)",
		p->spec);
}

static bool is_generic(const struct draft *d)
{
	return d->is_core && !*d->pmu &&
	       (d->attr.type == PERF_TYPE_HARDWARE || d->attr.type == PERF_TYPE_HW_CACHE ||
		d->attr.type == PERF_TYPE_RAW);
}

/* A mode may come once; p may repeat; some letters are for the leader only. */
static bool takes_letter(const struct parse *p, const char *letters, char letter)
{
	bool is_leader = p->out->n == p->group->first;

	if (letter == 'D' || letter == 'e')
		return is_leader && !strchr(letters, letter);
	return letter == 'p' || !strchr(letters, letter);
}

/* The event's own letters and those of its group. */
static char *join_letters(const struct parse *p, const char *letters)
{
	const char *more = p->group ? p->group->letters : "";
	size_t len = strlen(letters);
	char *all = xcalloc(len + strlen(more) + 1, 1);

	memcpy(all, letters, len);
	for (; *more; more++)
		if (takes_letter(p, all, *more))
			all[len++] = *more;
	return all;
}

static int counter_finish(const struct parse *p, struct draft *d, const char *name,
			  const char *letters);

int parse_finish(const struct parse *p, struct draft *d, const char *name, const char *letters)
{
	cleanup(free_at_exit) char *all = join_letters(p, letters);
	int r = strcmp(all, letters) ? modifiers_apply(all, p->spec, d, p->err) : 0;

	if (r == 0 && !strcmp(d->pmu, INTEL_PT))
		r = intel_pt_modifiers(all, p->spec, p->err);
	return r < 0 ? r : counter_finish(p, d, name, all);
}

static int counter_finish(const struct parse *p, struct draft *d, const char *name,
			  const char *letters)
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
		r = check_ibs_modes(p, d, &c);
		r = r < 0 ? r : counters_add(p, &c);
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
	uint32_t type;
	char *name;
	int r;

	if (!end)
		return error_set(
			p->err, -EINVAL,
			"event '%s': no closing '/'; the form is PMU/TERM=VALUE,…/MODIFIERS",
			p->spec);
	letters = end[1] == ':' ? end + 2 : end + 1;
	terms[-1] = *end = '\0';
	r = pmu_type(p->sources, text, &type)
		    ? 0
		    : generic_parse(p->sources, text, terms, p->spec, &d, p->err);
	if (r == 0)
		r = pmu_parse(p->sources, text, terms, p->spec, &d, p->err);
	if (r >= 0)
		r = modifiers_apply(letters, p->spec, &d, p->err);
	if (r < 0)
		return r;
	name = xasprintf("%s/%s/", text, terms);
	r = parse_finish(p, &d, name, letters);
	free(name);
	return r;
}

/* The end of the event that begins at `at`: a comma outside slashes, or the end. */
static const char *item_end(const char *at, const char *end)
{
	bool in_slashes = false;

	bool is_probe = probe_is_spec(at);

	for (; at < end && (in_slashes || *at != ','); at++)
		in_slashes ^= !is_probe && *at == '/';
	return at;
}

/* One event. `list` is all that was typed. */
static int parse_one(const struct parse *p, const char *list, const char *at, const char *end)
{
	cleanup(free_at_exit) char *one = xstrndup(at, (size_t)(end - at));
	cleanup(free_at_exit) char *text = xstrdup(one);
	struct parse own = *p;

	own.spec = one;
	if (!*one)
		return error_set(p->err, -EINVAL, "event list '%s': an event is empty", list);
	if (probe_is_spec(one))
		return probe_parse(&own, text);
	if (strchr(one, '/'))
		return parse_pmu(&own, text);
	if (strpbrk(one, "{}"))
		return error_set(p->err, -EINVAL,
				 "event list '%s': a brace within '%s'; a group is written "
				 "{EVENT,EVENT}:MODIFIERS, with commas around it",
				 list, one);
	return parse_words(&own, text);
}

static int parse_members(const struct parse *p, const char *list, const char *at, const char *end)
{
	for (;;) {
		const char *comma = item_end(at, end);
		int r = parse_one(p, list, at, comma);

		if (r < 0 || comma == end)
			return r;
		at = comma + 1;
	}
}

static bool has_same_cpus(const struct counter *a, const struct counter *b)
{
	return a->cpus && b->cpus ? !strcmp(a->cpus, b->cpus) : a->cpus == b->cpus;
}

/*
 * Connects a group's members to their leader. The kernel only permits a leader to be pinned or
 * exclusive.
 */
static int join_group(const struct parse *p)
{
	size_t first = p->group->first;

	for (size_t i = first; i < p->out->n; i++) {
		struct counter *c = &p->out->data[i];
		size_t leader = first;

		while (!has_same_cpus(&p->out->data[leader], c))
			leader++;
		c->group = (uint32_t)leader + 1;
		if (leader != i && (c->attr.pinned || c->attr.exclusive))
			return error_set(
				p->err, -EINVAL,
				"event '%s': only the first event of a group can be pinned "
				"(modifier D) or exclusive (e)",
				c->name);
	}
	return 0;
}

/* {EVENT,…}[:MODIFIERS]. *end is the position after it. */
static int parse_group(const struct parse *p, const char *list, const char *at, const char **end)
{
	const char *close = strchr(at, '}');
	bool has_letters = close && close[1] == ':';
	size_t n_letters = has_letters ? strcspn(close + 2, ",") : 0;
	cleanup(free_at_exit) char *letters =
		has_letters ? xstrndup(close + 2, n_letters) : xstrdup("");
	struct parse_group group = { letters, p->out->n };
	struct parse member = *p;
	int r;

	if (!close)
		return error_set(p->err, -EINVAL, "event list '%s': a group has no closing '}'",
				 list);
	if (memchr(at + 1, '{', (size_t)(close - at - 1)))
		return error_set(p->err, -EINVAL, "event list '%s': a group within a group", list);
	if (close == at + 1)
		return error_set(p->err, -EINVAL, "event list '%s': a group is empty", list);
	if (has_letters && !n_letters)
		return error_set(p->err, -EINVAL, "event list '%s': nothing follows '}:'", list);
	*end = close + 1 + has_letters + n_letters;
	if (**end && **end != ',')
		return error_set(p->err, -EINVAL,
				 "event list '%s': '%s' follows a group; ':' and modifiers may, or "
				 "',' and the next event",
				 list, *end);
	member.group = &group;
	r = modifiers_check(letters, list, p->err);
	if (r == 0)
		r = parse_members(&member, list, at + 1, close);
	return r < 0 ? r : join_group(&member);
}

int counter_parse(const struct counter_sources *sources, const char *spec,
		  const struct counter_rate *rate, struct counters *out, struct error *err)
{
	struct parse p = { .sources = sources, .rate = rate, .out = out, .err = err };
	const char *at = spec, *all_end = spec + strlen(spec);

	if (all_end - spec > SPEC_MAX_SIZE)
		return error_set(err, -EINVAL, "an event list of more than %d characters",
				 SPEC_MAX_SIZE);
	for (;;) {
		const char *end = item_end(at, all_end);
		int r = *at == '{' ? parse_group(&p, spec, at, &end) : parse_one(&p, spec, at, end);

		if (r < 0 || !*end)
			return r;
		at = end + 1;
	}
}
