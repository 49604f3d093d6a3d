/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/ratios.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "counter/pmu.h"
#include "record/stat_print.h"

/* The name without modes and PMU: "cycles:u" and "cpu_core/cycles/u" are cycles. */
static bool counter_is_named(const struct counter *c, const char *name)
{
	const char *slash = strchr(c->name, '/'), *own = slash ? slash + 1 : c->name;
	size_t len = strlen(name);

	return !strncmp(own, name, len) && (!own[len] || own[len] == (slash ? '/' : ':'));
}

/* Of the same kind of cores, or of none: "cpu_core/" of "cpu_core/cycles/u". */
static bool is_of_pmu(const struct counter *c, const struct counter *like)
{
	size_t len = strchr(c->name, '/') ? strcspn(c->name, "/") + 1 : 0;

	return !len || !like || !strncmp(c->name, like->name, len);
}

/* `like`: a counter of the same PMU; NULL: of any. */
static const struct count *find_count(const struct counters *counters, const struct count *values,
				      const char *name, const struct counter *like)
{
	for (size_t i = 0; i < counters->n; i++)
		if (counter_is_named(&counters->data[i], name) &&
		    is_of_pmu(&counters->data[i], like) && !count_is_missing(&values[i]))
			return &values[i];
	return NULL;
}

/* ---- a count by another one: X per Y, or X in the time of Y ---- */

static const struct {
	const char *event, *of;
	double factor;
	const char *text;
} relations[] = {
	{ "instructions", "cycles", 1, "per cycle" },
	{ "branch-misses", "branches", 100, "% of branches" },
	{ "cache-misses", "cache-references", 100, "% of references" },
	{ "L1-dcache-load-misses", "L1-dcache-loads", 100, "% of loads" },
	{ "LLC-load-misses", "LLC-loads", 100, "% of loads" },
	{ "dTLB-load-misses", "dTLB-loads", 100, "% of loads" },
	{ "cycles", "task-clock", 1, "GHz" },
};

bool ratio_print(const struct counters *counters, const struct count *values, size_t i, char *text,
		 size_t size)
{
	text[0] = '\0';
	for (size_t k = 0; k < ARRAY_SIZE(relations); k++) {
		const struct count *of =
			counter_is_named(&counters->data[i], relations[k].event)
				? find_count(counters, values, relations[k].of, &counters->data[i])
				: NULL;

		if (!of || !of->value)
			continue;
		snprintf(text, size, "%10.2f %s",
			 (double)values[i].value / (double)of->value * relations[k].factor,
			 relations[k].text);
		return true;
	}
	return false;
}

/* ---- top-down ---- */

#define LEVEL_1 "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"

/* The first one whose events are all there counts. */
static const struct topdown_method {
	bool is_group; /* Intel's newer ones: the kernel takes them behind their leader only */
	const char *events[10]; /* the first one counts the slots */
} methods[] = {
	{ true,
	  { "slots", LEVEL_1, "topdown-heavy-ops", "topdown-br-mispredict", "topdown-fetch-lat",
	    "topdown-mem-bound" } },
	{ true, { "slots", LEVEL_1 } },
	{ false,
	  { "topdown-total-slots", "topdown-slots-issued", "topdown-slots-retired",
	    "topdown-fetch-bubbles", "topdown-recovery-bubbles" } },
};

/* These count cycles, which have several slots each. */
static const char *const cycle_events[] = { "topdown-total-slots", "topdown-recovery-bubbles" };

/* A share is a sum of events by the slots. Names of events and signs have blanks between them. */
static const struct {
	unsigned level;
	const char *name, *formula, *slots;
} shares[] = {
	{ 1, "retiring", "topdown-retiring", "slots" },
	{ 2, "heavy operations", "topdown-heavy-ops", "slots" },
	{ 2, "light operations", "topdown-retiring - topdown-heavy-ops", "slots" },
	{ 1, "bad speculation", "topdown-bad-spec", "slots" },
	{ 2, "branch mispredicts", "topdown-br-mispredict", "slots" },
	{ 2, "machine clears", "topdown-bad-spec - topdown-br-mispredict", "slots" },
	{ 1, "frontend bound", "topdown-fe-bound", "slots" },
	{ 2, "fetch latency", "topdown-fetch-lat", "slots" },
	{ 2, "fetch bandwidth", "topdown-fe-bound - topdown-fetch-lat", "slots" },
	{ 1, "backend bound", "topdown-be-bound", "slots" },
	{ 2, "memory bound", "topdown-mem-bound", "slots" },
	{ 2, "core bound", "topdown-be-bound - topdown-mem-bound", "slots" },
	{ 1, "retiring", "topdown-slots-retired", "topdown-total-slots" },
	{ 1, "bad speculation",
	  "topdown-slots-issued - topdown-slots-retired + topdown-recovery-bubbles",
	  "topdown-total-slots" },
	{ 1, "frontend bound", "topdown-fetch-bubbles", "topdown-total-slots" },
	{ 1, "backend bound",
	  "topdown-total-slots - topdown-slots-issued - topdown-fetch-bubbles - "
	  "topdown-recovery-bubbles",
	  "topdown-total-slots" },
};

static_assert(ARRAY_SIZE(shares) <= TOPDOWN_SHARES_MAX, "callers have room for all");

/* The PMU that has all of them. False: none has. */
static bool find_pmu(const struct counter_sources *sources, const struct topdown_method *m,
		     char pmu[static PMU_NAME_SIZE])
{
	struct pmu_names names = { 0 };
	bool has_all = false;

	pmu_list_with_alias(sources, m->events[0], &names);
	for (size_t i = 0; i < names.n && !has_all; i++) {
		has_all = true;
		for (size_t k = 1; k < ARRAY_SIZE(m->events) && m->events[k]; k++)
			has_all &= pmu_has_alias(sources, names.data[i], m->events[k]);
		if (has_all)
			snprintf(pmu, PMU_NAME_SIZE, "%s", names.data[i]);
	}
	pmu_names_fini(&names);
	return has_all;
}

static char *list_events(const struct topdown_method *m, const char *pmu)
{
	const char *before = m->is_group ? "{" : "";
	struct buf list = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(m->events) && m->events[k]; k++, before = ",") {
		buf_printf(&list, "%s", before);
		/* Several kinds of cores: the events of one kind. */
		if (strcmp(pmu, "cpu"))
			buf_printf(&list, "%s/%s/", pmu, m->events[k]);
		else
			buf_printf(&list, "%s", m->events[k]);
	}
	if (m->is_group)
		buf_u8(&list, '}');
	return (char *)buf_cstr(&list);
}

bool topdown_find(const struct counter_sources *sources, struct topdown *out)
{
	char pmu[PMU_NAME_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		uint64_t scale = 1;

		if (!find_pmu(sources, &methods[i], pmu))
			continue;
		if (!methods[i].is_group &&
		    (!pmu_file_number(sources, pmu, "events/topdown-total-slots.scale", 10,
				      &scale) ||
		     !scale || scale > 16))
			continue;
		*out = (struct topdown){
			.events = list_events(&methods[i], pmu),
			.scale = (double)scale,
			.is_free = methods[i].is_group,
		};
		return true;
	}
	*out = (struct topdown){ 0 };
	return false;
}

void topdown_fini(struct topdown *t)
{
	free(t->events);
}

/* The slots of an event. False if it was not counted. */
static bool count_slots(const struct topdown *t, const struct counters *counters,
			const struct count *values, const char *event, double *out)
{
	const struct count *count = find_count(counters, values, event, NULL);

	if (!count)
		return false;
	*out = (double)count->value;
	for (size_t i = 0; i < ARRAY_SIZE(cycle_events); i++)
		if (!strcmp(event, cycle_events[i]))
			*out *= t->scale;
	return true;
}

/* The sum of "A - B + C". False if one of them was not counted. */
static bool sum_formula(const struct topdown *t, const struct counters *counters,
			const struct count *values, const char *formula, double *out)
{
	cleanup(free_at_exit) char *words = xstrdup(formula);
	char *rest = words, *word;
	double sign = 1, slots;

	*out = 0;
	while ((word = strsep(&rest, " "))) {
		if (!strcmp(word, "-") || !strcmp(word, "+")) {
			sign = *word == '-' ? -1 : 1;
			continue;
		}
		if (!count_slots(t, counters, values, word, &slots))
			return false;
		*out += sign * slots;
	}
	return true;
}

size_t topdown_shares(const struct topdown *t, const struct counters *counters,
		      const struct count *values, struct topdown_share out[TOPDOWN_SHARES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double slots, sum;

		if (!count_slots(t, counters, values, shares[i].slots, &slots) || slots <= 0 ||
		    !sum_formula(t, counters, values, shares[i].formula, &sum))
			continue;
		/* Events that took turns, and differences of rounded counts, may be a little off.
		 */
		sum = sum < 0 ? 0 : sum > slots ? slots : sum;
		out[n++] = (struct topdown_share){ shares[i].level, shares[i].name, sum / slots };
	}
	return n;
}

char *ratio_formulas(void)
{
	struct buf text = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(relations); k++)
		buf_printf(&text, "  %-24s %s / %s\n", relations[k].text, relations[k].event,
			   relations[k].of);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		buf_printf(&text,
			   strchr(shares[i].formula, ' ') ? "  %-24s (%s) / %s\n"
							  : "  %-24s %s / %s\n",
			   shares[i].name, shares[i].formula, shares[i].slots);
	return (char *)buf_cstr(&text);
}
