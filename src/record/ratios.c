/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/ratios.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "counter/catalog/cpu_type.h"
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

#define LEVEL_1                                                                 \
	{ "topdown-retiring" }, { "topdown-bad-spec" }, { "topdown-fe-bound" }, \
	{                                                                       \
		"topdown-be-bound"                                              \
	}

/* Files of a PMU with the number of slots in a cycle: /topdown-total-slots.scale, and PMMIR. */
struct width_file {
	const char *path;
	int base;
};

struct topdown_event {
	const char *name;
	const char *terms; /* that it is made of; NULL: sysfs has the name */
};

/* The first one whose events are all there counts. */
static const struct topdown_method {
	bool is_group; /* Intel's newer ones: the kernel takes them behind their leader only */
	bool is_amd;   /* known by family and model: sysfs has no names of AMD's events */
	struct width_file width;
	struct topdown_event events[10]; /* the first one counts the slots, or cycles */
} methods[] = {
	{ .is_group = true,
	  .events = { { "slots" },
		      LEVEL_1,
		      { "topdown-heavy-ops" },
		      { "topdown-br-mispredict" },
		      { "topdown-fetch-lat" },
		      { "topdown-mem-bound" } } },
	{ .is_group = true, .events = { { "slots" }, LEVEL_1 } },
	{ .width = { "events/topdown-total-slots.scale", 10 },
	  .events = { { "topdown-total-slots" },
		      { "topdown-slots-issued" },
		      { "topdown-slots-retired" },
		      { "topdown-fetch-bubbles" },
		      { "topdown-recovery-bubbles" } } },
	{ .width = { "caps/slots", 16 },
	  .events = { { "cpu_cycles" },
		      { "stall_slot" },
		      { "stall_slot_frontend" },
		      { "stall_slot_backend" },
		      { "op_retired" },
		      { "op_spec" } } },
	{ .is_amd = true,
	  .events = { { "ls_not_halted_cyc", "event=0x76" },
		      { "ex_ret_ops", "event=0xc1" },
		      { "de_src_op_disp.all", "event=0xaa,umask=0x07" },
		      { "de_no_dispatch_per_slot.no_ops_from_frontend", "event=0x1a0,umask=0x01" },
		      { "de_no_dispatch_per_slot.backend_stalls", "event=0x1a0,umask=0x1e" },
		      { "de_no_dispatch_per_slot.smt_contention", "event=0x1a0,umask=0x60" } } },
};

/* The slots in a cycle of AMD's processors by family and models: Zen 4; Zen 5 and newer. */
static const struct {
	uint32_t family, first_model, last_model, width;
} amd_widths[] = {
	{ 25, 0x10, 0x1f, 6 },
	{ 25, 0x60, 0x7f, 6 },
	{ 25, 0xa0, 0xaf, 6 },
	{ 26, 0x00, 0xff, 8 },
};

/* These count cycles, which have several slots each. */
static const char *const cycle_events[] = { "topdown-total-slots", "topdown-recovery-bubbles",
					    "cpu_cycles", "ls_not_halted_cyc" };

/*
 * A share is a sum of events by the slots, and of that the part PART / WHOLE, if there is one.
 * Names of events and signs have blanks between them.
 */
static const struct topdown_formula {
	unsigned level;
	const char *name, *sum, *slots, *part, *whole;
} formulas[] = {
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
	{ 1, "retiring", "cpu_cycles - stall_slot", "cpu_cycles", "op_retired", "op_spec" },
	{ 1, "bad speculation", "cpu_cycles - stall_slot", "cpu_cycles", "op_spec - op_retired",
	  "op_spec" },
	{ 1, "frontend bound", "stall_slot_frontend", "cpu_cycles" },
	{ 1, "backend bound", "stall_slot_backend", "cpu_cycles" },
	{ 1, "retiring", "ex_ret_ops", "ls_not_halted_cyc" },
	{ 1, "bad speculation", "de_src_op_disp.all - ex_ret_ops", "ls_not_halted_cyc" },
	{ 1, "frontend bound", "de_no_dispatch_per_slot.no_ops_from_frontend",
	  "ls_not_halted_cyc" },
	{ 1, "backend bound", "de_no_dispatch_per_slot.backend_stalls", "ls_not_halted_cyc" },
	{ 1, "the other thread's turn", "de_no_dispatch_per_slot.smt_contention",
	  "ls_not_halted_cyc" },
};

static_assert(ARRAY_SIZE(formulas) <= TOPDOWN_SHARES_MAX, "callers have room for all");

static bool is_of_cycles(const char *event)
{
	for (size_t i = 0; i < ARRAY_SIZE(cycle_events); i++)
		if (!strcmp(event, cycle_events[i]))
			return true;
	return false;
}

/* The PMU that has all of them. False: none has. */
static bool find_pmu(const struct counter_sources *sources, const struct topdown_method *m,
		     char pmu[static PMU_NAME_SIZE])
{
	struct pmu_names names = { 0 };
	bool has_all = false;

	pmu_list_with_alias(sources, m->events[0].name, &names);
	for (size_t i = 0; i < names.n && !has_all; i++) {
		has_all = true;
		for (size_t k = 1; k < ARRAY_SIZE(m->events) && m->events[k].name; k++)
			has_all &= pmu_has_alias(sources, names.data[i], m->events[k].name);
		if (has_all)
			snprintf(pmu, PMU_NAME_SIZE, "%s", names.data[i]);
	}
	pmu_names_fini(&names);
	return has_all;
}

static uint64_t amd_width(const struct counter_sources *sources)
{
	struct cpu_x86 cpu;

	if (!cpu_type_x86(sources, &cpu) || strcmp(cpu.vendor, "AuthenticAMD") != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(amd_widths); i++)
		if (cpu.family == amd_widths[i].family && cpu.model >= amd_widths[i].first_model &&
		    cpu.model <= amd_widths[i].last_model)
			return amd_widths[i].width;
	return 0;
}

/* The PMU of the method, and the slots in a cycle. False: this machine does not have the method. */
static bool find_method(const struct counter_sources *sources, const struct topdown_method *m,
			char pmu[static PMU_NAME_SIZE], uint64_t *width)
{
	uint32_t type;

	*width = 1;
	if (m->is_amd) {
		snprintf(pmu, PMU_NAME_SIZE, "cpu");
		*width = amd_width(sources);
		return *width && pmu_type(sources, pmu, &type);
	}
	if (!find_pmu(sources, m, pmu))
		return false;
	if (m->width.path && !pmu_file_number(sources, pmu, m->width.path, m->width.base, width))
		return false;
	return *width >= 1 && *width <= 16;
}

static char *list_events(const struct topdown_method *m, const char *pmu)
{
	const char *before = m->is_group ? "{" : "";
	struct buf list = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(m->events) && m->events[k].name; k++, before = ",") {
		const struct topdown_event *e = &m->events[k];

		buf_printf(&list, "%s", before);
		if (e->terms)
			buf_printf(&list, "%s/%s,name=%s/", pmu, e->terms, e->name);
		else if (strcmp(pmu, "cpu") != 0) /* several kinds of cores: events of one kind */
			buf_printf(&list, "%s/%s/", pmu, e->name);
		else
			buf_printf(&list, "%s", e->name);
	}
	if (m->is_group)
		buf_u8(&list, '}');
	return (char *)buf_cstr(&list);
}

bool topdown_find(const struct counter_sources *sources, struct topdown *out)
{
	char pmu[PMU_NAME_SIZE];
	uint64_t width;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!find_method(sources, &methods[i], pmu, &width))
			continue;
		*out = (struct topdown){
			.events = list_events(&methods[i], pmu),
			.scale = (double)width,
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
	*out = (double)count->value * (is_of_cycles(event) ? t->scale : 1);
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

/* The part of a share: 1, unless its formula has one. False if its events were not counted. */
static bool find_part(const struct topdown *t, const struct counters *counters,
		      const struct count *values, const struct topdown_formula *f, double *out)
{
	double whole;

	*out = 1;
	if (!f->part)
		return true;
	if (!sum_formula(t, counters, values, f->part, out) ||
	    !count_slots(t, counters, values, f->whole, &whole) || whole <= 0)
		return false;
	*out = *out < 0 ? 0 : *out > whole ? 1 : *out / whole;
	return true;
}

size_t topdown_shares(const struct topdown *t, const struct counters *counters,
		      const struct count *values, struct topdown_share out[TOPDOWN_SHARES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(formulas); i++) {
		const struct topdown_formula *f = &formulas[i];
		double slots, sum, part;

		if (!count_slots(t, counters, values, f->slots, &slots) || slots <= 0 ||
		    !sum_formula(t, counters, values, f->sum, &sum) ||
		    !find_part(t, counters, values, f, &part))
			continue;
		/* Events that took turns, and differences of rounded counts, may be a little off.
		 */
		sum = sum < 0 ? 0 : sum > slots ? slots : sum;
		out[n++] = (struct topdown_share){ f->level, f->name, sum / slots * part };
	}
	return n;
}

/* ---- help ---- */

/* "(A - W * B)": events of cycles have their factor. */
static void print_sum(struct buf *text, const char *sum)
{
	cleanup(free_at_exit) char *words = xstrdup(sum);
	char *rest = words, *word;
	const char *before = strchr(sum, ' ') ? "(" : "";

	while ((word = strsep(&rest, " "))) {
		buf_printf(text, "%s%s%s", before, is_of_cycles(word) ? "W * " : "", word);
		before = " ";
	}
	if (strchr(sum, ' '))
		buf_u8(text, ')');
}

static void print_formula(struct buf *text, const struct topdown_formula *f)
{
	buf_printf(text, "  %-24s ", f->name);
	print_sum(text, f->sum);
	buf_printf(text, is_of_cycles(f->slots) ? " / (W * %s)" : " / %s", f->slots);
	if (f->part) {
		buf_printf(text, " * ");
		print_sum(text, f->part);
		buf_printf(text, " / %s", f->whole);
	}
	buf_u8(text, '\n');
}

char *ratio_formulas(void)
{
	struct buf text = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(relations); k++)
		buf_printf(&text, "  %-24s %s / %s\n", relations[k].text, relations[k].event,
			   relations[k].of);
	buf_printf(&text, "\nTop-down shares (W: slots in a cycle of this processor):\n");
	for (size_t i = 0; i < ARRAY_SIZE(formulas); i++)
		print_formula(&text, &formulas[i]);
	return (char *)buf_cstr(&text);
}
