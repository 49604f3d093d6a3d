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

/*
 * A share is a sum of events by the slots, and of that the part PART / WHOLE, if there is one. PLUS
 * is another sum by the slots. Names of events and signs have blanks between them. "W*" before an
 * event of cycles: each cycle has as many slots as the pipeline is wide.
 */
struct topdown_formula {
	unsigned level;
	const char *name, *sum, *slots, *part, *whole, *plus;
};

static const struct topdown_formula intel_formulas[] = {
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
	{ 0 },
};

#define SKYLAKE_SLOTS "W*topdown-total-slots"
static const struct topdown_formula skylake_formulas[] = {
	{ 1, "retiring", "topdown-slots-retired", SKYLAKE_SLOTS },
	{ 1, "bad speculation",
	  "topdown-slots-issued - topdown-slots-retired + W*topdown-recovery-bubbles",
	  SKYLAKE_SLOTS },
	{ 1, "frontend bound", "topdown-fetch-bubbles", SKYLAKE_SLOTS },
	{ 1, "backend bound",
	  SKYLAKE_SLOTS " - topdown-slots-issued - topdown-fetch-bubbles - "
			"W*topdown-recovery-bubbles",
	  SKYLAKE_SLOTS },
	{ 0 },
};

#define ARM_SLOTS "W*cpu_cycles"
static const struct topdown_formula arm_formulas[] = {
	{ 1, "retiring", ARM_SLOTS " - stall_slot", ARM_SLOTS, "op_retired", "op_spec" },
	{ 1, "bad speculation", ARM_SLOTS " - stall_slot", ARM_SLOTS, "op_spec - op_retired",
	  "op_spec" },
	{ 1, "frontend bound", "stall_slot_frontend", ARM_SLOTS },
	{ 1, "backend bound", "stall_slot_backend", ARM_SLOTS },
	{ 0 },
};

/*
 * The frontend's slots that stalled are one too many in each cycle. Since r0p3, they are right
 * (Linux: tools/perf/pmu-events/arch/arm64/arm/neoverse-n2-v2).
 */
static const struct topdown_formula neoverse_n2_formulas[] = {
	{ 1, "retiring", ARM_SLOTS " - stall_slot + cpu_cycles", ARM_SLOTS, "op_retired",
	  "op_spec" },
	{ 1, "bad speculation", ARM_SLOTS " - stall_slot + cpu_cycles", ARM_SLOTS,
	  "op_spec - op_retired", "op_spec" },
	{ 1, "frontend bound", "stall_slot_frontend - cpu_cycles", ARM_SLOTS },
	{ 1, "backend bound", "stall_slot_backend", ARM_SLOTS },
	{ 0 },
};

/*
 * Cycles in which the frontend recovers from a flush are bad speculation. The shares of level 2
 * are as the cycles that stalled wholly.
 */
#define FRONTEND_OF_V3 "stall_slot_frontend - W*stall_frontend_flush"
static const struct topdown_formula neoverse_v3_formulas[] = {
	{ 1, "retiring", ARM_SLOTS " - stall_slot", ARM_SLOTS, "op_retired", "op_spec" },
	{ 1, "bad speculation", ARM_SLOTS " - stall_slot", ARM_SLOTS, "op_spec - op_retired",
	  "op_spec", "W*stall_frontend_flush" },
	{ 1, "frontend bound", FRONTEND_OF_V3, ARM_SLOTS },
	{ 2, "memory bound", FRONTEND_OF_V3, ARM_SLOTS, "stall_frontend_membound",
	  "stall_frontend - stall_frontend_flush" },
	{ 2, "core bound", FRONTEND_OF_V3, ARM_SLOTS,
	  "stall_frontend_cpubound - stall_frontend_flush",
	  "stall_frontend - stall_frontend_flush" },
	{ 1, "backend bound", "stall_slot_backend", ARM_SLOTS },
	{ 2, "memory bound", "stall_slot_backend", ARM_SLOTS, "stall_backend_membound",
	  "stall_backend" },
	{ 2, "core bound", "stall_slot_backend", ARM_SLOTS, "stall_backend_cpubound",
	  "stall_backend" },
	{ 0 },
};

#define AMD_SLOTS   "W*ls_not_halted_cyc"
#define AMD_STARVED "W*de_no_dispatch_per_slot.no_ops_in_cycle"
static const struct topdown_formula amd_formulas[] = {
	{ 1, "retiring", "ex_ret_ops", AMD_SLOTS },
	{ 2, "fastpath operations", "ex_ret_ops - ex_ret_ucode_ops", AMD_SLOTS },
	{ 2, "microcode operations", "ex_ret_ucode_ops", AMD_SLOTS },
	{ 1, "bad speculation", "de_src_op_disp.all - ex_ret_ops", AMD_SLOTS },
	{ 2, "branch mispredicts", "de_src_op_disp.all - ex_ret_ops", AMD_SLOTS, "ex_ret_brn_misp",
	  "ex_ret_brn_misp + resyncs" },
	{ 2, "pipeline restarts", "de_src_op_disp.all - ex_ret_ops", AMD_SLOTS, "resyncs",
	  "ex_ret_brn_misp + resyncs" },
	{ 1, "frontend bound", "de_no_dispatch_per_slot.no_ops_from_frontend", AMD_SLOTS },
	{ 2, "fetch latency", AMD_STARVED, AMD_SLOTS },
	{ 2, "fetch bandwidth", "de_no_dispatch_per_slot.no_ops_from_frontend - " AMD_STARVED,
	  AMD_SLOTS },
	{ 1, "backend bound", "de_no_dispatch_per_slot.backend_stalls", AMD_SLOTS },
	{ 2, "memory bound", "de_no_dispatch_per_slot.backend_stalls", AMD_SLOTS,
	  "ex_no_retire.load_not_complete", "ex_no_retire.not_complete" },
	{ 2, "core bound", "de_no_dispatch_per_slot.backend_stalls", AMD_SLOTS,
	  "ex_no_retire.not_complete - ex_no_retire.load_not_complete",
	  "ex_no_retire.not_complete" },
	{ 1, "the other thread's turn", "de_no_dispatch_per_slot.smt_contention", AMD_SLOTS },
	{ 0 },
};

static_assert(ARRAY_SIZE(amd_formulas) <= TOPDOWN_SHARES_MAX &&
		      ARRAY_SIZE(intel_formulas) <= TOPDOWN_SHARES_MAX,
	      "callers have room for all");

/* Files of a PMU with the number of slots in a cycle: /topdown-total-slots.scale, and PMMIR. */
struct width_file {
	const char *path;
	int base;
};

struct topdown_event {
	const char *name;
	const char *terms; /* that it is made of; NULL: sysfs has the name */
};

#define LEVEL_1_OF_INTEL                                                        \
	{ "topdown-retiring" }, { "topdown-bad-spec" }, { "topdown-fe-bound" }, \
	{                                                                       \
		"topdown-be-bound"                                              \
	}

#define LEVEL_1_OF_ARM                                                                           \
	{ "stall_slot" }, { "stall_slot_frontend" }, { "stall_slot_backend" }, { "op_retired" }, \
	{                                                                                        \
		"op_spec"                                                                        \
	}

/* `terms` of the cycles without an operation, and of the pipeline's restarts. */
#define EVENTS_OF_AMD(starved_terms, resync_terms)                                            \
	{ "ls_not_halted_cyc", "event=0x76" }, { "ex_ret_ops", "event=0xc1" },                \
		{ "de_src_op_disp.all", "event=0xaa,umask=0x07" },                            \
		{ "de_no_dispatch_per_slot.no_ops_from_frontend", "event=0x1a0,umask=0x01" }, \
		{ "de_no_dispatch_per_slot.backend_stalls", "event=0x1a0,umask=0x1e" },       \
		{ "de_no_dispatch_per_slot.smt_contention", "event=0x1a0,umask=0x60" },       \
		{ "de_no_dispatch_per_slot.no_ops_in_cycle", starved_terms },                 \
		{ "ex_ret_ucode_ops", "event=0x1c2" }, { "ex_ret_brn_misp", "event=0xc3" },   \
		{ "resyncs", resync_terms },                                                  \
		{ "ex_no_retire.load_not_complete", "event=0xd6,umask=0xa2" },                \
	{                                                                                     \
		"ex_no_retire.not_complete", "event=0xd6,umask=0x02"                          \
	}

/* The first one whose events are all there, and that the processor is named in, counts. */
static const struct topdown_method {
	const char *of;     /* for help: the processors */
	bool is_group;      /* Intel's newer ones: the kernel takes them behind their leader only */
	uint32_t amd_width; /* sysfs has no names of AMD's events: known by family and model */
	uint32_t arm_parts[3];  /* of Arm's own cores; none: all processors */
	uint32_t arm_before;    /* only releases before this one (struct cpu_arm); 0: all */
	uint32_t only_of_width; /* 0: any */
	struct width_file width;
	const struct topdown_formula *formulas;
	struct topdown_event events[16]; /* the first one counts the slots, or cycles */
} methods[] = {
	{ .of = "Intel, Ice Lake and newer (level 2: Sapphire Rapids)",
	  .is_group = true,
	  .formulas = intel_formulas,
	  .events = { { "slots" },
		      LEVEL_1_OF_INTEL,
		      { "topdown-heavy-ops" },
		      { "topdown-br-mispredict" },
		      { "topdown-fetch-lat" },
		      { "topdown-mem-bound" } } },
	{ .of = "Intel, Ice Lake",
	  .is_group = true,
	  .formulas = intel_formulas,
	  .events = { { "slots" }, LEVEL_1_OF_INTEL } },
	{ .of = "Intel, older",
	  .width = { "events/topdown-total-slots.scale", 10 },
	  .formulas = skylake_formulas,
	  .events = { { "topdown-total-slots" },
		      { "topdown-slots-issued" },
		      { "topdown-slots-retired" },
		      { "topdown-fetch-bubbles" },
		      { "topdown-recovery-bubbles" } } },
	{ .of = "Arm, Neoverse V3 and N3",
	  .arm_parts = { 0xd83, 0xd84, 0xd8e },
	  .width = { "caps/slots", 16 },
	  .formulas = neoverse_v3_formulas,
	  .events = { { "cpu_cycles" },
		      LEVEL_1_OF_ARM,
		      { "stall_frontend" },
		      { "stall_backend" },
		      { "stall_frontend_membound", "event=0x8158" },
		      { "stall_frontend_cpubound", "event=0x8160" },
		      { "stall_frontend_flush", "event=0x8162" },
		      { "stall_backend_membound", "event=0x8164" },
		      { "stall_backend_cpubound", "event=0x816a" } } },
	{ .of = "Arm, Neoverse N2 before r0p3",
	  .arm_parts = { 0xd49 },
	  .arm_before = 0x03,
	  .only_of_width = 5,
	  .width = { "caps/slots", 16 },
	  .formulas = neoverse_n2_formulas,
	  .events = { { "cpu_cycles" }, LEVEL_1_OF_ARM } },
	{ .of = "Arm, others that count slots",
	  .width = { "caps/slots", 16 },
	  .formulas = arm_formulas,
	  .events = { { "cpu_cycles" }, LEVEL_1_OF_ARM } },
	{ .of = "AMD, Zen 4 and newer",
	  .amd_width = 6,
	  .formulas = amd_formulas,
	  .events = { EVENTS_OF_AMD("event=0x1a0,umask=0x01,cmask=0x06", "event=0x96") } },
	{ .of = "AMD, Zen 5",
	  .amd_width = 8,
	  .formulas = amd_formulas,
	  .events = { EVENTS_OF_AMD("event=0x1a0,umask=0x01,cmask=0x08",
				    "event=0x9f,umask=0x01") } },
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
			has_all &= m->events[k].terms ||
				   pmu_has_alias(sources, names.data[i], m->events[k].name);
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

/* A core of Arm's that the method names. True, too, for a method of all processors. */
static bool is_named_part(const struct counter_sources *sources, const struct topdown_method *m)
{
	struct cpu_arm cpu;

	if (!m->arm_parts[0])
		return true;
	if (!cpu_type_arm(sources, &cpu) || cpu.implementer != 0x41 ||
	    (m->arm_before && cpu.release >= m->arm_before))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(m->arm_parts); i++)
		if (m->arm_parts[i] && m->arm_parts[i] == cpu.part)
			return true;
	return false;
}

/* The PMU of the method, and the slots in a cycle. False: this machine does not have the method. */
static bool find_method(const struct counter_sources *sources, const struct topdown_method *m,
			char pmu[static PMU_NAME_SIZE], uint64_t *width)
{
	uint32_t type;

	*width = 1;
	if (m->amd_width) {
		snprintf(pmu, PMU_NAME_SIZE, "cpu");
		*width = amd_width(sources);
		return *width == m->amd_width && pmu_type(sources, pmu, &type);
	}
	if (!is_named_part(sources, m) || !find_pmu(sources, m, pmu))
		return false;
	if (m->width.path && !pmu_file_number(sources, pmu, m->width.path, m->width.base, width))
		return false;
	return *width >= 1 && *width <= 16 && (!m->only_of_width || *width == m->only_of_width);
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
			.formulas = methods[i].formulas,
			.width = (double)width,
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

/* The count of "EVENT" or "W*EVENT" in slots. False if it was not counted. */
static bool count_slots(const struct topdown *t, const struct counters *counters,
			const struct count *values, const char *word, double *out)
{
	bool is_wide = !strncmp(word, "W*", 2);
	const struct count *count = find_count(counters, values, word + (is_wide ? 2 : 0), NULL);

	if (!count)
		return false;
	*out = (double)count->value * (is_wide ? t->width : 1);
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

/*
 * Sum by whole, 0 to 1: events that took turns, and differences of rounded counts, may be a little
 * off. False if an event was not counted, or the whole is nothing.
 */
static bool divide(const struct topdown *t, const struct counters *counters,
		   const struct count *values, const char *sum, const char *whole, double *out)
{
	double part, all;

	if (!sum_formula(t, counters, values, whole, &all) || all <= 0 ||
	    !sum_formula(t, counters, values, sum, &part))
		return false;
	*out = part < 0 ? 0 : part > all ? 1 : part / all;
	return true;
}

static bool find_share(const struct topdown *t, const struct counters *counters,
		       const struct count *values, const struct topdown_formula *f, double *out)
{
	double share, part = 1, more = 0;

	if (!divide(t, counters, values, f->sum, f->slots, &share) ||
	    (f->part && !divide(t, counters, values, f->part, f->whole, &part)) ||
	    (f->plus && !divide(t, counters, values, f->plus, f->slots, &more)))
		return false;
	*out = MIN(share * part + more, 1);
	return true;
}

/* Counters that take turns see different moments. So parts can have more than their whole, and are
 * cut. */
size_t topdown_shares(const struct topdown *t, const struct counters *counters,
		      const struct count *values, struct topdown_share out[TOPDOWN_SHARES_MAX])
{
	double left = 1; /* of the share of level 1 */
	size_t n = 0;

	for (const struct topdown_formula *f = t->formulas; f->level; f++) {
		double share;

		if (f->level == 1)
			left = 1; /* if it was not counted, nothing bounds its parts */
		if (!find_share(t, counters, values, f, &share))
			continue;
		share = MIN(share, left);
		left = f->level == 1 ? share : left - share;
		out[n++] = (struct topdown_share){ f->level, f->name, share };
	}
	return n;
}

/* ---- help ---- */

/* "(A - W * B)" */
static void print_sum(struct buf *text, const char *sum)
{
	bool is_sum = strchr(sum, ' ') || strchr(sum, '*');

	buf_printf(text, "%s", is_sum ? "(" : "");
	for (; *sum; sum++)
		buf_printf(text, *sum == '*' ? " * " : "%c", *sum);
	buf_printf(text, "%s", is_sum ? ")" : "");
}

static void print_formula(struct buf *text, const struct topdown_formula *f)
{
	buf_printf(text, "%*s%-*s ", f->level == 1 ? 2 : 4, "", f->level == 1 ? 24 : 22, f->name);
	print_sum(text, f->sum);
	buf_printf(text, " / ");
	print_sum(text, f->slots);
	if (f->part) {
		buf_printf(text, " * ");
		print_sum(text, f->part);
		buf_printf(text, " / ");
		print_sum(text, f->whole);
	}
	if (f->plus) {
		buf_printf(text, " + ");
		print_sum(text, f->plus);
		buf_printf(text, " / ");
		print_sum(text, f->slots);
	}
	buf_u8(text, '\n');
}

/* Methods beside each other share formulas. */
static bool has_printed(const struct topdown_formula *formulas, size_t i)
{
	return i && methods[i - 1].formulas == formulas;
}

char *ratio_formulas(void)
{
	struct buf text = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(relations); k++)
		buf_printf(&text, "  %-24s %s / %s\n", relations[k].text, relations[k].event,
			   relations[k].of);
	buf_printf(&text, "\nTop-down shares (W: slots in a cycle of this processor):\n");
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (has_printed(methods[i].formulas, i))
			continue;
		buf_printf(&text, "%s:\n", methods[i].of);
		for (const struct topdown_formula *f = methods[i].formulas; f->level; f++)
			print_formula(&text, f);
	}
	return (char *)buf_cstr(&text);
}
