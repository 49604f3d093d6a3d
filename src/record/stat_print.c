/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/stat_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "record/ratios.h"

bool count_is_missing(const struct count *c)
{
	return c->wanted_ns && !c->ran_ns;
}

double count_percent(const struct count *c)
{
	return c->wanted_ns ? 100.0 * (double)c->ran_ns / (double)c->wanted_ns : 100;
}

bool count_is_scaled(const struct count *c)
{
	return !count_is_missing(c) && count_percent(c) < 99;
}

static bool is_clock(const struct counter *c)
{
	return !strcmp(c->unit, "ns");
}

static const struct count *values_of(const struct stat_reading *r, size_t lane)
{
	return r->values + lane * r->counters->n;
}

/* ---- text ---- */

void count_print_grouped(char *text, size_t size, uint64_t value)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	size_t len = 0;

	for (int i = 0; i < n && len + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			text[len++] = ',';
		text[len++] = digits[i];
	}
	text[len] = '\0';
}

/* "0.98 CPUs", "1.31 per cycle", "100.0 /s" */
static void print_relation(const struct stat_reading *r, const struct count *values, size_t i,
			   char *text, size_t size)
{
	const struct counter *c = &r->counters->data[i];
	double v = (double)values[i].value;

	text[0] = '\0';
	if (is_clock(c)) {
		snprintf(text, size, "%10.2f CPUs", v / 1e9 / r->length_s);
		return;
	}
	if (!ratio_print(r->counters, values, i, text, size))
		snprintf(text, size, "%10.1f /s", v / r->length_s);
}

static void print_value(char *text, size_t size, const struct counter *c, const struct count *v)
{
	if (count_is_missing(v))
		snprintf(text, size, "not counted");
	else if (is_clock(c))
		snprintf(text, size, "%.2f ms", (double)v->value / 1e6);
	else
		count_print_grouped(text, size, v->value);
}

static void text_row(struct stat_printing *p, const struct stat_reading *r, size_t lane, size_t i)
{
	const struct count *v = &values_of(r, lane)[i];
	const struct counter *c = &r->counters->data[i];
	char value[40], relation[64] = "", lane_text[32] = "";

	print_value(value, sizeof(value), c, v);
	if (!count_is_missing(v) && r->length_s > 0)
		print_relation(r, values_of(r, lane), i, relation, sizeof(relation));
	if (p->lane)
		snprintf(lane_text, sizeof(lane_text), "%s %" PRId32, p->lane,
			 counts_lane(r->counts, lane));
	if (r->is_interval)
		fprintf(p->out, "%9.3f s ", r->at_s);
	if (p->lane)
		fprintf(p->out, "%-15s", lane_text);
	fprintf(p->out, "%20s  %-*s", value, *relation || count_is_scaled(v) ? 28 : 0, c->name);
	fprintf(p->out, "%s", relation);
	if (count_is_scaled(v))
		fprintf(p->out, "%*s(scaled: counted %.1f%% of the time)",
			strlen(relation) < 24 ? (int)(24 - strlen(relation)) : 1, "",
			count_percent(v));
	fputc('\n', p->out);
}

static void text_topdown(struct stat_printing *p, const struct stat_reading *r, size_t lane)
{
	struct topdown_share shares[TOPDOWN_SHARES_MAX];
	size_t n = p->topdown ? topdown_shares(p->topdown, r->counters, values_of(r, lane), shares)
			      : 0;

	for (size_t i = 0; i < n; i++) {
		if (r->is_interval)
			fprintf(p->out, "%9.3f s ", r->at_s);
		if (p->lane)
			fprintf(p->out, "%s %-*" PRId32, p->lane, (int)(14 - strlen(p->lane)),
				counts_lane(r->counts, lane));
		fprintf(p->out, "%18.1f %%  %s%s\n", 100 * shares[i].share,
			shares[i].level == 1 ? "slots: " : "         ", shares[i].name);
	}
}

static void text_missing(struct stat_printing *p, const struct stat_reading *r)
{
	const char *before = "not possible here: ";

	for (size_t i = 0; i < r->counters->n; i++) {
		if (counts_has(r->counts, i))
			continue;
		fprintf(p->out, "%s%s", before, r->counters->data[i].name);
		before = ", ";
	}
	if (*before == ',')
		fputs(" ('assay events --check NAME' says why)\n", p->out);
}

static bool is_silent(const struct stat_reading *r, size_t counter)
{
	uint64_t sum = 0, ran_ns = 0;

	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++) {
		sum += values_of(r, lane)[counter].value;
		ran_ns += values_of(r, lane)[counter].ran_ns;
	}
	return counts_has(r->counts, counter) && counter_is_hardware(&r->counters->data[counter]) &&
	       !sum && ran_ns;
}

static void text_silent(struct stat_printing *p, const struct stat_reading *r)
{
	const char *before = "stayed 0: ";

	for (size_t i = 0; i < r->counters->n; i++) {
		if (!is_silent(r, i))
			continue;
		fprintf(p->out, "%s%s", before, r->counters->data[i].name);
		before = ", ";
	}
	if (*before == ',')
		fputs(" (this processor, or this virtual machine, may not have it)\n", p->out);
}

static void text_print(struct stat_printing *p, const struct stat_reading *r)
{
	if (!r->is_interval)
		fprintf(p->out, "%s, %.3f s:\n\n", p->what, r->length_s);
	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++) {
		for (size_t i = 0; i < r->counters->n; i++)
			if (counts_has(r->counts, i))
				text_row(p, r, lane, i);
		text_topdown(p, r, lane);
	}
	if (!r->is_interval)
		fputc('\n', p->out);
	if (!p->n_readings)
		text_missing(p, r);
	if (!r->is_interval)
		text_silent(p, r);
	fflush(p->out);
}

/* ---- CSV ---- */

static void csv_print(struct stat_printing *p, const struct stat_reading *r)
{
	if (!p->n_readings)
		fprintf(p->out, "time_s,length_s,%s%sevent,count,unit,wanted_ns,ran_ns,scaled\n",
			p->lane ? p->lane : "", p->lane ? "," : "");
	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++) {
		for (size_t i = 0; i < r->counters->n; i++) {
			const struct count *v = &values_of(r, lane)[i];

			if (!counts_has(r->counts, i))
				continue;
			fprintf(p->out, "%.6f,%.6f,", r->at_s, r->length_s);
			if (p->lane)
				fprintf(p->out, "%" PRId32 ",", counts_lane(r->counts, lane));
			fprintf(p->out, strchr(r->counters->data[i].name, ',') ? "\"%s\"," : "%s,",
				r->counters->data[i].name);
			if (!count_is_missing(v))
				fprintf(p->out, "%" PRIu64, v->value);
			fprintf(p->out, ",%s,%" PRIu64 ",%" PRIu64 ",%s\n",
				r->counters->data[i].unit, v->wanted_ns, v->ran_ns,
				count_is_scaled(v) ? "yes" : "no");
		}
	}
	fflush(p->out);
}

/* ---- JSON: a line for each reading ---- */

static json_t *json_count(const struct stat_printing *p, const struct stat_reading *r, size_t lane,
			  size_t i)
{
	const struct count *v = &values_of(r, lane)[i];
	json_t *o =
		json_pack("{s:s, s:s, s:o, s:I, s:I, s:b}", "event", r->counters->data[i].name,
			  "unit", r->counters->data[i].unit, "count",
			  count_is_missing(v) ? json_null() : json_integer((json_int_t)v->value),
			  "wanted_ns", (json_int_t)v->wanted_ns, "ran_ns", (json_int_t)v->ran_ns,
			  "scaled", count_is_scaled(v));

	if (p->lane)
		json_object_set_new(o, p->lane, json_integer(counts_lane(r->counts, lane)));
	return o;
}

static json_t *json_topdown(const struct stat_printing *p, const struct stat_reading *r)
{
	struct topdown_share shares[TOPDOWN_SHARES_MAX];
	json_t *all = json_array();

	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++) {
		size_t n = topdown_shares(p->topdown, r->counters, values_of(r, lane), shares);

		for (size_t i = 0; i < n; i++) {
			json_t *o = json_pack("{s:i, s:s, s:f}", "level", (int)shares[i].level,
					      "name", shares[i].name, "share", shares[i].share);

			if (p->lane)
				json_object_set_new(o, p->lane,
						    json_integer(counts_lane(r->counts, lane)));
			json_array_append_new(all, o);
		}
	}
	return all;
}

static void json_print(struct stat_printing *p, const struct stat_reading *r)
{
	json_t *counts = json_array(), *missing = json_array(), *o;

	for (size_t lane = 0; lane < counts_n_lanes(r->counts); lane++)
		for (size_t i = 0; i < r->counters->n; i++)
			if (counts_has(r->counts, i))
				json_array_append_new(counts, json_count(p, r, lane, i));
	for (size_t i = 0; i < r->counters->n; i++)
		if (!counts_has(r->counts, i))
			json_array_append_new(missing, json_string(r->counters->data[i].name));
	o = json_pack("{s:s, s:f, s:f, s:f, s:o, s:o}", "what", p->what, "time_s", r->at_s,
		      "length_s", r->length_s, "wall_s", r->wall_s, "counts", counts, "missing",
		      missing);
	if (p->topdown)
		json_object_set_new(o, "topdown", json_topdown(p, r));
	json_dumpf(o, p->out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', p->out);
	fflush(p->out);
	json_decref(o);
}

static const struct stat_format formats[] = {
#define X(name) { #name, name##_print },
	STAT_FORMATS(X)
#undef X
};

const struct stat_format *stat_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}
