/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ophelp: lists, checks and resolves events, by the catalogue of counter/. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/output.h"
#include "counter/catalog/catalog.h"
#include "counter/catalog/event_files.h"
#include "oprofile/tools/compat.h"
#include "report/markup.h"

struct ophelp_args {
	struct compat_args compat;
	const char *cpu, *callgraph;
	bool check, no_count, unit_mask, extra_mask, get_cpu, get_default, xml;
};

#define FIELD(f) offsetof(struct ophelp_args, f)
static const struct option_spec ophelp_options[] = {
	{ 'c', "cpu-type", "CPU", OPT_STRING, FIELD(cpu), NULL,
	  "act for another processor, by name or number" },
	{ 'e', "check-events", NULL, OPT_FLAG, FIELD(check), NULL,
	  "give counters to EVENT:COUNT:UNITMASK:KERNEL:USER … together, and print their numbers" },
	{ 'i', "ignore-count", NULL, OPT_FLAG, FIELD(no_count), NULL,
	  "EVENTs are without a count" },
	{ 'u', "unit-mask", NULL, OPT_FLAG, FIELD(unit_mask), NULL,
	  "print the unit mask of EVENT, or its default" },
	{ 'E', "extra-mask", NULL, OPT_FLAG, FIELD(extra_mask), NULL,
	  "print the extra bits of a unit mask that is given by name" },
	{ 'r', "get-cpu-type", NULL, OPT_FLAG, FIELD(get_cpu), NULL, "print the processor's name" },
	{ 'd', "get-default-event", NULL, OPT_FLAG, FIELD(get_default), NULL,
	  "print the default event" },
	{ 0, "callgraph", "DEPTH", OPT_STRING, FIELD(callgraph), NULL,
	  "with -e: call graphs are wanted; minimum counts are 15 times as large" },
	{ 'X', "xml", NULL, OPT_FLAG, FIELD(xml), NULL, "list as XML" },
	COMPAT_OPTIONS(ophelp_args, 0),
	COMPAT_HELP(ophelp_args),
};

static const struct compat_obsolete obsolete[] = { COMPAT_VERBOSE(ophelp_args), { 0 } };

#define TEXT_WIDTH 99

/* The doc line of lists. */
#define DOC "Codes are those of the processor's manual; 'assay events' lists tracepoints as well."

struct ophelp {
	struct ophelp_args args;
	struct option_list operands;
	struct event_table table;
	const struct cpu_type *cpu; /* NULL: nobody knows it */
};

/* ---- a spec ---- */

struct event_spec {
	const struct table_event *event; /* NULL: not one of the files */
	struct counter counter;          /* of an event of other sources; zero otherwise */
	struct mask_choice mask;
	char *words[5]; /* NAME, COUNT, UNITMASK, KERNEL, USER; NULL where not given */
	char *text;
};

static void event_spec_fini(struct event_spec *s)
{
	free(s->text);
	free(s->counter.name);
	free(s->counter.spec);
	free(s->counter.cpus);
}

static int cut_spec(struct ophelp *o, const char *text, struct event_spec *s, struct error *err)
{
	char *rest = s->text = xstrdup(text);
	size_t n = 0;

	for (char *word; (word = strsep(&rest, ":"));) {
		if (n == 5 - (o->args.no_count ? 1 : 0))
			return error_set(err, -EINVAL, "invalid event '%s': too many ':'", text);
		s->words[n + (o->args.no_count && n)] = word;
		n++;
	}
	for (size_t i = 3; i < 5; i++)
		if (s->words[i] && strcmp(s->words[i], "0") && strcmp(s->words[i], "1"))
			return error_set(err, -EINVAL, "invalid event '%s': %s is 0 or 1", text,
					 i == 3 ? "KERNEL" : "USER");
	return 0;
}

/* A name that no file has may be one of the kernel's, or libpfm4's. */
static int find_elsewhere(const struct ophelp *o, struct event_spec *s, const char *text,
			  struct error *err)
{
	static const struct counter_sources sources;
	static const struct counter_rate rate;
	struct counters found = { 0 };
	int r;

	if (o->args.cpu)
		return error_set(err, -ENOENT, "no such event '%s' of %s", s->words[0],
				 o->cpu->pretty);
	r = counter_parse(&sources,
			  s->words[2] && *s->words[2] && o->args.unit_mask ? text : s->words[0],
			  &rate, &found, err);
	if (r >= 0) {
		s->counter = found.data[0];
		found.data[0] = found.data[--found.n];
	}
	counters_fini(&found);
	return r < 0 ? r : 0;
}

static int ophelp_check_count(const struct ophelp *o, const struct event_spec *s, const char *text,
			      struct error *err)
{
	bool with_chains = o->args.callgraph && strtoul(o->args.callgraph, NULL, 0);
	uint64_t least = s->event ? s->event->minimum : 1, count;
	char *end;

	if (o->args.no_count)
		return 0;
	if (!s->words[1])
		return error_set(err, -EINVAL, "invalid event '%s': no count", text);
	count = strtoull(s->words[1], &end, 10);
	if (end == s->words[1] || *end)
		return error_set(err, -EINVAL, "invalid event '%s': '%s' is not a count", text,
				 s->words[1]);
	least *= with_chains ? 15 : 1;
	if (count < least)
		return error_set(err, -EINVAL,
				 "count %" PRIu64 " for event %s is below the minimum %" PRIu64,
				 count, s->words[0], least);
	return 0;
}

/* Looks the event and its unit mask up. */
static int read_spec(struct ophelp *o, const char *text, struct event_spec *s, struct error *err)
{
	int r = cut_spec(o, text, s, err);

	if (r < 0)
		return r;
	s->event = event_table_find(&o->table, s->words[0]);
	if (!s->event)
		return find_elsewhere(o, s, text, err);
	return table_event_mask(s->event, s->words[2], &s->mask, err);
}

/* ---- requests about specs ---- */

static int print_unit_mask(struct ophelp *o, const char *text, struct error *err)
{
	struct event_spec s = { 0 };
	int r = read_spec(o, text, &s, err);

	if (r >= 0 && o->args.extra_mask)
		printf("%" PRIu32 "\n", s.mask.extra);
	else if (r >= 0 && s.mask.name)
		printf("%s\n", s.mask.name);
	else if (r >= 0)
		printf("%" PRIu64 "\n", s.event ? s.mask.value : s.counter.unit_mask);
	event_spec_fini(&s);
	return r;
}

static int print_code(struct ophelp *o, const char *text, struct error *err)
{
	struct event_spec s = { 0 };
	int r = read_spec(o, text, &s, err);

	if (r >= 0)
		printf("%" PRIu64 "\n", s.event ? s.event->code : (uint64_t)s.counter.attr.config);
	event_spec_fini(&s);
	return r;
}

/* What an event that is of no file takes of the counters. */
static const struct table_event *counted_anywhere(const struct event_spec *s)
{
	static const struct table_event any = { .name = "", .counters = ALL_COUNTERS };
	static const struct table_event none = { .name = "", .ext = "software" };
	static const struct table_event tracepoint = { .name = "", .ext = "tracepoint" };

	switch (s->counter.attr.type) {
	case PERF_TYPE_SOFTWARE:
		return &none;
	case PERF_TYPE_TRACEPOINT:
		return &tracepoint;
	default:
		return &any;
	}
}

static int check_twice(const struct option_list *specs, struct error *err)
{
	for (size_t i = 0; i < specs->n; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(specs->data[i], specs->data[j]))
				return error_set(err, -EINVAL, "event '%s' is given twice",
						 specs->data[i]);
	return 0;
}

static int ophelp_check_events(struct ophelp *o, struct error *err)
{
	static const struct counter_sources sources;
	size_t n = o->operands.n;
	struct event_spec *specs = xcalloc(n + 1, sizeof(*specs));
	const struct table_event **events = xcalloc(n + 1, sizeof(*events));
	int *numbers = xcalloc(n + 1, sizeof(*numbers));
	int r = check_twice(&o->operands, err);

	for (size_t i = 0; i < n && r >= 0; i++) {
		r = read_spec(o, o->operands.data[i], &specs[i], err);
		r = r < 0 ? r : ophelp_check_count(o, &specs[i], o->operands.data[i], err);
		if (r >= 0)
			events[i] = specs[i].event ? specs[i].event : counted_anywhere(&specs[i]);
	}
	if (r >= 0)
		r = table_events_allocate(events, n,
					  o->cpu ? cpu_type_n_counters(o->cpu, &sources) : 4,
					  numbers, err);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (numbers[i] < 0)
			printf("%s ", events[i]->ext);
		else
			printf("%d ", numbers[i]);
	}
	if (r >= 0)
		putchar('\n');
	for (size_t i = 0; i < n; i++)
		event_spec_fini(&specs[i]);
	free(specs);
	free(events);
	free(numbers);
	return r;
}

/* ---- lists ---- */

struct listing {
	struct ophelp *o;
	FILE *out;
	uint64_t all; /* counters */
	bool is_xml;
};

/* Behind a TAB, which stands for eight columns, broken between words. */
static void ophelp_print_wrapped(FILE *out, const char *text)
{
	size_t room = TEXT_WIDTH - 8;

	do {
		size_t n = strlen(text);

		if (n > room) {
			for (n = room; n && text[n] != ' ';)
				n--;
			if (!n)
				n = strcspn(text, " ");
		}
		fprintf(out, "\t%.*s\n", (int)n, text);
		text += n;
		text += strspn(text, " ");
	} while (*text);
}

static void print_counters(const struct listing *l, const struct event_name *e)
{
	const struct table_event *t = e->table;
	const char *comma = "";

	if (t && t->ext) {
		fprintf(l->out, "(ext: %s)", t->ext);
		return;
	}
	fputs("(counter: ", l->out);
	if (e->kind == EVENT_SOFTWARE || e->kind == EVENT_TRACEPOINT)
		fputs("none", l->out);
	else if (!t || (t->counters & l->all) == l->all)
		fputs("all", l->out);
	for (uint64_t c = t && (t->counters & l->all) != l->all ? t->counters : 0; c; c &= c - 1) {
		fprintf(l->out, "%s%d", comma, __builtin_ctzll(c));
		comma = ", ";
	}
	fputc(')', l->out);
}

static void print_masks(const struct listing *l, const struct event_name *e)
{
	const struct unit_mask *m = e->table ? &e->table->mask : NULL;

	if (!e->n_masks || (m && m->name && !strcmp(m->name, "zero")))
		return;
	fputs("\tUnit masks", l->out);
	if (m && m->default_name)
		fprintf(l->out, " (default %s)", m->default_name);
	else if (m)
		fprintf(l->out, " (default 0x%" PRIx32 ")", m->default_value);
	fputs("\n\t----------\n", l->out);
	for (uint32_t i = 0; i < e->n_masks; i++) {
		cleanup(free_at_exit) char *text = NULL;

		if (m && m->units.data[i].name)
			text = xasprintf("0x%02" PRIx32 ": (name=%s) %s", m->units.data[i].value,
					 e->masks[i].name, e->masks[i].help);
		else
			text = xasprintf(m ? "%s: %s" : "(name=%s) %s", e->masks[i].name,
					 e->masks[i].help);
		ophelp_print_wrapped(l->out, text);
	}
}

static void ophelp_list_event(void *ctx, const struct event_name *e)
{
	const struct listing *l = ctx;
	cleanup(free_at_exit) char *help = NULL;

	fprintf(l->out, "%s: ", e->name);
	print_counters(l, e);
	fputc('\n', l->out);
	help = e->min_count ? xasprintf("%s (min count: %" PRIu64 ")", e->help, e->min_count)
			    : xstrdup(*e->help ? e->help : event_kind_texts[e->kind]);
	ophelp_print_wrapped(l->out, help);
	print_masks(l, e);
}

static void ophelp_put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_print_text(value, out);
	fputc('"', out);
}

static void put_xml_masks(FILE *out, const struct unit_mask *m)
{
	fputs("<unit_masks", out);
	if (m->default_name)
		ophelp_put_attribute(out, "default", m->default_name);
	else
		fprintf(out, " default=\"%" PRIu32 "\"", m->default_value);
	ophelp_put_attribute(out, "category", unit_mask_type_words[m->type]);
	fputs(">\n", out);
	vec_foreach (&m->units, u) {
		fputs("<unit_mask", out);
		if (u->name)
			ophelp_put_attribute(out, "name", u->name);
		fprintf(out, " mask=\"%" PRIu32 "\"", u->value);
		ophelp_put_attribute(out, "desc", u->help);
		fputs("/>\n", out);
	}
	fputs("</unit_masks>\n", out);
}

static void list_xml_event(void *ctx, const struct event_name *e)
{
	const struct listing *l = ctx;
	const struct table_event *t = e->table;

	fputs("<event", l->out);
	ophelp_put_attribute(l->out, "event_name", e->name);
	ophelp_put_attribute(l->out, "desc", e->help);
	fprintf(l->out, " counter_mask=\"%" PRIu64 "\"",
		t && t->ext ? 0
		: t         ? t->counters & l->all
			    : l->all);
	if (t && t->ext)
		ophelp_put_attribute(l->out, "ext", t->ext);
	fprintf(l->out, " min_count=\"%" PRIu64 "\"", e->min_count);
	if (!t || !t->mask.units.n) {
		fputs("/>\n", l->out);
		return;
	}
	fputs(">\n", l->out);
	put_xml_masks(l->out, &t->mask);
	fputs("</event>\n", l->out);
}

/* Those of the files come first; behind them, for this machine, what else there is. */
struct elsewhere {
	event_visitor visit;
	void *ctx;
};

static void visit_elsewhere(void *ctx, const struct event_name *e)
{
	const struct elsewhere *rest = ctx;

	/* Tracepoints are thousands of places in the kernel, not events of the processor. */
	if (e->kind != EVENT_TABLE && e->kind != EVENT_TRACEPOINT)
		rest->visit(rest->ctx, e);
}

static void each_event(struct ophelp *o, event_visitor visit, void *ctx)
{
	static const struct counter_sources sources;
	struct elsewhere rest = { visit, ctx };

	event_table_each(&o->table, visit, ctx);
	if (!o->args.cpu)
		catalog_each(&sources, visit_elsewhere, &rest);
}

static int ophelp_list_events(struct ophelp *o, struct error *err)
{
	static const struct counter_sources sources;
	const char *cpu = o->cpu ? o->cpu->pretty : "unknown";
	struct listing l = { .o = o };
	uint32_t n = o->cpu ? cpu_type_n_counters(o->cpu, &sources) : 4;
	struct output out;
	int r = output_open(&out, NULL, true, err);

	if (r < 0)
		return r;
	l.out = out.file;
	l.all = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	if (o->args.xml) {
		fputs("<?xml version=\"1.0\"?>\n<help_events schemaversion=\"2.0\">\n<header",
		      l.out);
		ophelp_put_attribute(l.out, "title", cpu);
		ophelp_put_attribute(l.out, "doc", DOC);
		fputs("/>\n", l.out);
		each_event(o, list_xml_event, &l);
		fputs("</help_events>\n", l.out);
	} else {
		fprintf(l.out, "oprofile: available events for CPU type \"%s\"\n\n%s\n\n", cpu,
			DOC);
		each_event(o, ophelp_list_event, &l);
	}
	return output_close(&out, err);
}

/* ---- the whole ---- */

static int ophelp_load(struct ophelp *o, struct error *err)
{
	static const struct counter_sources sources;
	const char *name = o->args.cpu;
	const struct cpu_type *numbered = NULL;

	if (name && *name && !name[strspn(name, "0123456789")])
		numbered = cpu_type_by_number((uint32_t)strtoul(name, NULL, 10));
	return event_files_load(&sources, numbered ? numbered->name : name, &o->table, &o->cpu,
				err);
}

static int need_operand(const struct ophelp *o, struct error *err)
{
	if (o->operands.n == 1 || (o->args.check && o->operands.n))
		return 0;
	return error_set(err, -EINVAL,
			 o->args.check ? "name the events to check" : "name one event");
}

static int ophelp_act(struct ophelp *o, struct error *err)
{
	const struct ophelp_args *a = &o->args;
	int r;

	if (a->get_cpu) {
		printf("%s\n", o->cpu ? o->cpu->pretty : "unknown");
		return 0;
	}
	if (a->get_default) {
		printf("%s\n", o->cpu ? o->cpu->default_event : "cycles:100000:0:1:1");
		return 0;
	}
	if (!a->check && !a->unit_mask && !a->extra_mask && !o->operands.n)
		return ophelp_list_events(o, err);
	r = need_operand(o, err);
	if (r < 0)
		return r;
	if (a->check)
		return ophelp_check_events(o, err);
	return a->unit_mask || a->extra_mask ? print_unit_mask(o, o->operands.data[0], err)
					     : print_code(o, o->operands.data[0], err);
}

static int ophelp_run(const struct command *self, int argc, char **argv)
{
	struct ophelp o = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &o.args, &o.operands);

	if (status < 0) {
		int r;

		compat_tell_obsolete(obsolete, &o.args);
		r = ophelp_load(&o, &err);
		vec_foreach (&o.table.complaints, text)
			log_warning("%s", *text);
		r = r < 0 ? r : ophelp_act(&o, &err);
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 ? EXIT_FAILED : EXIT_OK;
		event_table_fini(&o.table);
	}
	option_list_fini(&o.operands);
	return status;
}

static const struct command_section ophelp_sections[] = {
	{ "EXIT STATUS",
	  "0; 1 for an unknown event or unit mask, a count below the minimum, events "
	  "that do not fit at once, and wrong usage." },
	{ "ENVIRONMENT", "*OPROFILE\\_EVENTS\\_DIR* names the folder of event files "
			 "(*assay-events*(1))." },
	{ "DIFFERENCES",
	  "Without *-c* the kernel's generic and software events, those of PMU drivers and of "
	  "libpfm4's tables are listed behind those of the files. An event that takes no counter "
	  "is *software* or *tracepoint* with *-e*." },
	{ NULL },
};

static const struct command_example ophelp_examples[] = {
	{ "ophelp", "list the events that can be counted here" },
	{ "ophelp -e CPU_CLK_UNHALTED:100000:0:1:1 RETIRED_INSTRUCTIONS:100000",
	  "check that they fit at once, and on which counters" },
	{ "ophelp -c x86-64/generic -X", "another processor's events, as XML" },
	{ NULL },
};

const struct command ophelp_command = {
	.name = "ophelp",
	.is_program = true,
	.summary = "list and check events, in OProfile's way",
	.synopsis = "[OPTIONS] [EVENT…]",
	.description =
		"OProfile's *ophelp*: its options and its output. It uses *assay events*. With "
		"an EVENT alone, its code in decimal.",
	.options = OPTIONS(ophelp_options),
	.sections = ophelp_sections,
	.examples = ophelp_examples,
	.run = ophelp_run,
};
