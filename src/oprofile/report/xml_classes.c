/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/report/xml_classes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "counter/catalog/cpu_type.h"
#include "report/markup.h"
#include "store/session.h"

#define SCHEMA_VERSION "3.1"

/* ---- classes ---- */

static int64_t tgid_of(const struct profile *p, const struct profile_lane *lane)
{
	return lane->process == NO_INDEX ? -1 : p->processes.data[lane->process].pid;
}

static int64_t tid_of(const struct profile *p, const struct profile_lane *lane)
{
	return lane->thread == NO_INDEX ? -1 : p->threads.data[lane->thread].tid;
}

/* -1: all. */
static int64_t cpu_of(const struct profile_lane *lane)
{
	return lane->cpu == NO_INDEX || lane->cpu == PROFILE_CPU_ALL ? -1 : (int64_t)lane->cpu;
}

static const struct counter_info *counter_of(const struct profile *p,
					     const struct profile_lane *lane)
{
	static const struct counter_info none = { .name = "none", .unit = "" };

	return lane->counter == NO_INDEX ? &none : &p->session->info.counters[lane->counter];
}

/* "all", -1, is the last. */
static int order_ids(int64_t a, int64_t b)
{
	return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
}

static int xml_by_place(const void *a, const void *b, void *context)
{
	const struct xml_classes *c = context;
	const struct profile *p = c->p;
	const struct profile_lane *x = &p->lanes[*(const uint32_t *)a];
	const struct profile_lane *y = &p->lanes[*(const uint32_t *)b];
	int order = order_ids(tgid_of(p, x), tgid_of(p, y));

	order = order ? order : order_ids(tid_of(p, x), tid_of(p, y));
	if (!order && !c->merges_masks)
		order = order_ids((int64_t)x->masks, (int64_t)y->masks);
	order = order ? order : strcmp(counter_of(p, x)->name, counter_of(p, y)->name);
	order = order ? order
		      : order_ids((int64_t)counter_of(p, x)->count,
				  (int64_t)counter_of(p, y)->count);
	return order ? order : order_ids(cpu_of(x), cpu_of(y));
}

/* Without processors in the document, samples of processor 0 and of no processor are one class. */
static bool is_same_class(const struct xml_classes *c, const struct profile_lane *a,
			  const struct profile_lane *b)
{
	return a->counter == b->counter && a->masks == b->masks &&
	       (c->n_cpus <= 1 || cpu_of(a) == cpu_of(b));
}

/* Numbers events and classes in the order of places. */
static void number_classes(struct xml_classes *c)
{
	for (uint32_t i = 0; i < c->p->n_lanes; i++)
		c->n_cpus = MAX(c->n_cpus, (uint32_t)(cpu_of(&c->p->lanes[i]) + 1));
	for (uint32_t i = 0; i < c->p->n_lanes; i++) {
		const struct profile_lane *lane = &c->p->lanes[c->lanes[i]];
		uint32_t k = 0;

		if (lane->counter != NO_INDEX && c->events[lane->counter] == NO_INDEX)
			c->events[lane->counter] = c->n_events++;
		c->has_masks |= lane->masks != 0 && !c->merges_masks;
		while (k < i && !is_same_class(c, &c->p->lanes[c->lanes[k]], lane))
			k++;
		c->class_of[i] = k < i ? c->class_of[k] : c->n_classes++;
	}
	c->are_named = c->n_events > 1 || c->has_masks || c->n_cpus > 1;
}

void xml_classes_make(struct xml_classes *c, const struct profile *p, bool merges_masks)
{
	uint32_t n_counters = p->session->info.n_counters;

	*c = (struct xml_classes){
		.p = p,
		.merges_masks = merges_masks,
		.lanes = xcalloc(p->n_lanes, sizeof(*c->lanes)),
		.class_of = xcalloc(p->n_lanes, sizeof(*c->class_of)),
		.tgids = xcalloc(p->n_lanes, sizeof(*c->tgids)),
		.tids = xcalloc(p->n_lanes, sizeof(*c->tids)),
		.events = xcalloc(n_counters + 1, sizeof(*c->events)),
	};
	for (uint32_t i = 0; i < p->n_lanes; i++)
		c->lanes[i] = i;
	for (uint32_t i = 0; i < n_counters; i++)
		c->events[i] = NO_INDEX;
	qsort_r(c->lanes, p->n_lanes, sizeof(*c->lanes), xml_by_place, c);
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		c->tgids[i] = tgid_of(p, &p->lanes[c->lanes[i]]);
		c->tids[i] = tid_of(p, &p->lanes[c->lanes[i]]);
	}
	c->has_threads = c->tids[0] >= 0;
	number_classes(c);
}

void xml_classes_fini(struct xml_classes *c)
{
	free(c->lanes);
	free(c->class_of);
	free(c->tgids);
	free(c->tids);
	free(c->events);
}

/* ---- the head ---- */

void xml_append_text(const char *text, struct buf *out)
{
	char *bytes = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&bytes, &n);

	if (f) {
		markup_print_text(text, f);
		fclose(f);
		buf_bytes(out, bytes, n);
	}
	free(bytes);
}

void xml_put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_print_text(value, out);
	fputc('"', out);
}

static void put_given(FILE *out, const char *name, const char *value)
{
	if (value && *value)
		xml_put_attribute(out, name, value);
}

/* The schema wants a name without blanks and colons, which begins with a letter. */
static void put_name(FILE *out, const char *attribute, const char *text)
{
	cleanup(free_at_exit) char *name = xstrdup(*text ? text : "unknown");

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	if (!isalpha((unsigned char)*name))
		*name = '_';
	xml_put_attribute(out, attribute, name);
}

/* "x86-64" and "generic" of OProfile's name, where it is one of OProfile's processors. */
static void put_processor(const struct session_info *info, FILE *out)
{
	const struct cpu_type *cpu = cpu_type_find_pretty(info->cpu_model);
	const char *speed = strstr(info->cpu_model, ", speed ");
	const char *slash = cpu ? strchr(cpu->name, '/') : NULL;
	cleanup(free_at_exit) char *type =
		slash ? xstrndup(cpu->name, (size_t)(slash - cpu->name)) : NULL;

	put_name(out, "cputype", type ? type : cpu ? cpu->name : info->arch);
	put_name(out, "processor", slash ? slash + 1 : cpu ? cpu->name : info->cpu_model);
	fprintf(out, " mhz=\"%.2f\"", speed ? strtod(speed + 8, NULL) : 0);
}

/* Of merged masks, all their bits. */
static uint64_t mask_of(const struct xml_classes *c, uint32_t counter)
{
	for (uint32_t i = 0; i < c->p->n_lanes && c->merges_masks; i++)
		if (c->p->lanes[i].counter == counter)
			return c->p->lanes[i].masks;
	return c->p->session->info.counters[counter].unit_mask;
}

static void put_event(const struct xml_source *s, const struct xml_classes *c, uint32_t counter,
		      FILE *out)
{
	const struct counter_info *event = &c->p->session->info.counters[counter];
	cleanup(free_at_exit) char *name = xstrdup(event->name);

	for (char *at = name; *at; at++) /* xs:Name */
		if (!isalnum((unsigned char)*at) && !strchr("._-:", *at))
			*at = '_';
	fprintf(out, "<eventsetup id=\"%" PRIu32 "\"", c->events[counter]);
	xml_put_attribute(out, "eventname", name);
	fprintf(out, " unitmask=\"%" PRIu64 "\" setupcount=\"%" PRIu64 "\"", mask_of(c, counter),
		event->count);
	if (s->with_frequency && event->freq_hz)
		fprintf(out, " frequency=\"%" PRIu64 "\"", event->freq_hz);
	fputs("/>\n", out);
}

static bool is_timer(const struct profile *p)
{
	const struct cpu_type *cpu = cpu_type_find_pretty(p->session->info.cpu_model);

	return cpu && cpu->number == CPU_TYPE_TIMER;
}

static void put_setup(const struct xml_source *s, const struct xml_classes *c, FILE *out)
{
	const struct session_info *info = &c->p->session->info;

	fputs("<setup>\n", out);
	if (is_timer(c->p) || !c->n_events)
		fprintf(out, "<timersetup rtcinterrupts=\"%" PRIu64 "\"/>\n",
			info->n_counters ? info->counters[0].count : 0);
	for (uint32_t id = 0; !is_timer(c->p) && id < c->n_events; id++)
		for (uint32_t i = 0; i < info->n_counters; i++)
			if (c->events[i] == id)
				put_event(s, c, i, out);
	fputs("</setup>\n", out);
}

static void put_class(const struct xml_classes *c, uint32_t place, FILE *out)
{
	const struct profile_lane *lane = &c->p->lanes[c->lanes[place]];

	fprintf(out, "<class name=\"c%" PRIu32 "\"", c->class_of[place]);
	if (c->n_cpus > 1 && cpu_of(lane) >= 0)
		fprintf(out, " cpu=\"%" PRId64 "\"", cpu_of(lane));
	if (c->n_events > 1)
		fprintf(out, " event=\"%" PRIu32 "\"", c->events[lane->counter]);
	if (c->has_masks)
		fprintf(out, " mask=\"%" PRIu64 "\"", lane->masks);
	fputs("/>\n", out);
}

static void put_classes(const struct xml_classes *c, FILE *out)
{
	if (!c->are_named)
		return;
	fputs("<classes>\n", out);
	for (uint32_t i = 0, n = 0; i < c->p->n_lanes; i++)
		if (c->class_of[i] == n) {
			put_class(c, i, out);
			n++;
		}
	fputs("</classes>\n", out);
}

void xml_put_head(const struct xml_source *s, const struct xml_classes *c, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile schemaversion=\"" SCHEMA_VERSION
	      "\"",
	      out);
	put_processor(&c->p->session->info, out);
	if (c->n_cpus > 1)
		fprintf(out, " separatedcpus=\"%" PRIu32 "\"", c->n_cpus);
	xml_put_attribute(out, "title", s->title);
	fputs(">\n<options", out);
	put_given(out, "session", s->session);
	put_given(out, "debuginfo", s->with_lines ? "true" : NULL);
	put_given(out, "details", s->with_details ? "true" : NULL);
	put_given(out, "imagepath", s->image_path);
	put_given(out, "merge", s->merge);
	put_given(out, "excludedependent", s->excludes_dependents ? "true" : NULL);
	put_given(out, "excludesymbols", s->exclude_symbols);
	put_given(out, "includesymbols", s->include_symbols);
	fputs("/>\n", out);
	put_setup(s, c, out);
	put_classes(c, out);
}
