/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/glob.h"

/* ---- rules ---- */

static int bad_rule(const char *text, struct error *err)
{
	return error_set(err, -EINVAL,
			 "--fail-if '%s': write total>+5%% or total>+0.2s for CPU time, "
			 "symbol:GLOB>+5%%cpu or symbol:GLOB>+0.2s for a function's CPU time, "
			 "symbol:GLOB>+3%% for points of its share, or < and a negative number "
			 "for less",
			 text);
}

static const struct {
	const char *suffix;
	enum gate_unit of_symbol, of_total;
	double factor;
} rule_units[] = {
	{ "%", GATE_POINTS, GATE_PERCENT, 1 },      { "%cpu", GATE_PERCENT, GATE_PERCENT, 1 },
	{ "s", GATE_SECONDS, GATE_SECONDS, 1 },     { "ms", GATE_SECONDS, GATE_SECONDS, 1e-3 },
	{ "us", GATE_SECONDS, GATE_SECONDS, 1e-6 },
};

static bool parse_limit(const char *text, bool is_total, struct gate_rule *out)
{
	char *end;
	double limit = strtod(text, &end);

	if (end == text || !isfinite(limit))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rule_units); i++)
		if (!strcmp(end, rule_units[i].suffix)) {
			out->unit = is_total ? rule_units[i].of_total : rule_units[i].of_symbol;
			out->limit = limit * rule_units[i].factor;
			return true;
		}
	return false;
}

/* Globs hold '<' and '>' (std::vector<int>): the sign is the last one. */
int gate_rule_parse(const char *text, struct gate_rule *out, struct error *err)
{
	const char *above = strrchr(text, '>'), *below = strrchr(text, '<');
	const char *sign = !above || (below && below > above) ? below : above;
	bool is_total = !strncmp(text, "total", 5) && text + 5 == sign;

	*out = (struct gate_rule){ .text = text };
	if (!sign || !parse_limit(sign + 1, is_total, out))
		return bad_rule(text, err);
	out->is_below = *sign == '<';
	if (is_total)
		return 0;
	if (strncmp(text, "symbol", 6) != 0 || (text[6] != ':' && text + 6 != sign))
		return bad_rule(text, err);
	out->glob = text[6] == ':' ? xstrndup(text + 7, (size_t)(sign - text - 7)) : xstrdup("*");
	return 0;
}

void gate_rule_fini(struct gate_rule *rule)
{
	free(rule->glob);
}

/* The source file that tells a name from its namesakes may be left out: "init [sort.c]". */
static bool rule_names(const struct gate_rule *rule, const char *symbol)
{
	const char *source = strstr(symbol, " [");
	cleanup(free_at_exit) char *bare =
		source ? xstrndup(symbol, (size_t)(source - symbol)) : xstrdup(symbol);

	return glob_names(rule->glob, symbol) || glob_names(rule->glob, bare);
}

/* ---- the test ---- */

/* Two-sided, once in a hundred: by degrees of freedom, from 1 on. */
static double student_limit(size_t n_old)
{
	static const double limits[] = { 63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355,
					 3.250,  3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921,
					 2.898,  2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797,
					 2.787,  2.779, 2.771, 2.763, 2.756, 2.750 };

	if (n_old < 2)
		return DIFF_LIKELY;
	return n_old - 2 < ARRAY_SIZE(limits) ? limits[n_old - 2] : DIFF_LIKELY;
}

/* What the rule compares, of one old profile and the new one. */
static double rule_value(const struct gate_rule *rule, const struct diff *d,
			 const struct diff_row *row, enum diff_side side)
{
	return rule->unit == GATE_POINTS ? diff_share(d, row, side) * 100 : diff_time(d, row, side);
}

struct values {
	size_t n;
	double mean, variance; /* of one value */
};

/* Of all old profiles. The new ones and the changes are those of turns. */
struct all_values {
	struct values old, new, change;
	double noise; /* of sampling, in the variance of a change: the sum of all turns */
};

static void add_value(struct values *o, double value)
{
	double from_mean = value - o->mean;

	o->n++;
	o->mean += from_mean / (double)o->n;
	o->variance += from_mean * (value - o->mean); /* the sum of squares, until all are there */
}

static double spread_of(const struct values *v)
{
	return v->n > 1 ? sqrt(v->variance / (double)(v->n - 1)) : 0;
}

static double change_in_unit(const struct gate_rule *rule, double old, double new)
{
	switch (rule->unit) {
	case GATE_POINTS:
		return new - old;
	case GATE_SECONDS:
		return (new - old) / (double)NS_PER_SECOND;
	case GATE_PERCENT:
		break;
	}
	return old > 0 ? (new / old - 1) * 100 : new > 0 ? INFINITY : 0;
}

/*
 * Student's t of a change. The spread of the values has the noise of sampling in it: `noise` is the
 * least variance of a value, for values that happen to be nearly equal. `n_means`: of so many
 * values the change is a mean.
 */
static double student(double change, const struct values *v, double noise, double n_means)
{
	double variance = MAX(spread_of(v) * spread_of(v), noise) * n_means;

	return variance > 0 ? change / sqrt(variance) : 0;
}

static void judge(const struct gate_input *in, const struct gate_rule *rule,
		  const struct diff_row *row, const struct all_values *all, struct gate_finding *f)
{
	const struct diff *d = &in->diffs[0];
	double n = (double)in->n;
	bool has_noise = rule->unit != GATE_POINTS;

	f->change = change_in_unit(rule, all->old.mean, all->new.mean);
	f->needed = student_limit(in->n);
	if (in->n < 2)
		f->sureness = has_noise ? diff_time_z(d, row) : diff_z(d, row);
	else if (in->in_turn)
		f->sureness = student(all->change.mean, &all->change,
				      has_noise ? all->noise / n : 0, 1 / n);
	else
		f->sureness =
			student(all->new.mean - all->old.mean, &all->old,
				has_noise ? diff_time_variance(d, row, DIFF_NEW) : 0, 1 + 1 / n);
	f->spread = has_noise ? spread_of(in->in_turn ? &all->change : &all->old) : 0;
	f->is_significant = fabs(f->sureness) >= f->needed;
}

/* The row of another diff that has the same function; NULL: there is none. */
static const struct diff_row *same_row(const struct diff *from, const struct diff_row *row,
				       const struct diff *in, size_t hint)
{
	const char *symbol, *image;

	if (!row || from == in)
		return row;
	symbol = strings_get(&from->names, row->symbol);
	image = strings_get(&from->names, row->image);
	for (size_t i = 0; i < in->rows.n; i++) {
		const struct diff_row *other = &in->rows.data[(hint + i) % in->rows.n];

		if (!strcmp(strings_get(&in->names, other->symbol), symbol) &&
		    !strcmp(strings_get(&in->names, other->image), image))
			return other;
	}
	return NULL;
}

static bool is_beyond(const struct gate_rule *rule, double change)
{
	return rule->is_below ? change < rule->limit : change > rule->limit;
}

/* `row` NULL: the total. */
static void add_values(const struct gate_rule *rule, const struct diff *d,
		       const struct diff_row *row, bool is_absent, struct all_values *all)
{
	double old = is_absent ? 0 : rule_value(rule, d, row, DIFF_OLD);
	double new = is_absent ? 0 : rule_value(rule, d, row, DIFF_NEW);

	add_value(&all->old, old);
	add_value(&all->new, new);
	add_value(&all->change, new - old);
	if (!is_absent)
		all->noise +=
			diff_time_variance(d, row, DIFF_OLD) + diff_time_variance(d, row, DIFF_NEW);
}

static void check_row(const struct gate_input *in, const struct gate_rule *rule,
		      const struct diff_row *row, struct gate_result *out)
{
	const struct diff *shown = &in->diffs[0];
	struct all_values all = { 0 };
	struct gate_finding f = { .symbol = "", .image = "" };

	for (size_t i = 0; i < in->n; i++) {
		const struct diff_row *same = same_row(shown, row, &in->diffs[i],
						       row ? (size_t)(row - shown->rows.data) : 0);

		add_values(rule, &in->diffs[i], same, row && !same, &all);
	}
	if (!in->in_turn) /* the new profile is the same one, also where an old one lacks the
			     function */
		all.new.mean = rule_value(rule, shown, row, DIFF_NEW);
	judge(in, rule, row, &all, &f);
	if (!is_beyond(rule, f.change))
		return;
	if (row) {
		f.symbol = strings_get(&shown->names, row->symbol);
		f.image = strings_get(&shown->names, row->image);
	}
	f.old_time = rule->unit == GATE_POINTS ? diff_time(shown, row, DIFF_OLD) : all.old.mean;
	f.new_time = rule->unit == GATE_POINTS ? diff_time(shown, row, DIFF_NEW) : all.new.mean;
	f.n_turns = in->in_turn ? in->n : 0;
	vec_push(&out->findings, f);
	if (out->verdict == GATE_KEPT || f.is_significant)
		out->verdict = f.is_significant ? GATE_BROKEN : GATE_NOT_SIGNIFICANT;
}

void gate_check(const struct gate_input *in, const struct gate_rule *rule, struct gate_result *out)
{
	const struct diff *shown = &in->diffs[0];
	bool is_matched = !rule->glob;

	*out = (struct gate_result){ .rule = rule };
	if (!rule->glob)
		check_row(in, rule, NULL, out);
	for (size_t i = 0; rule->glob && i < shown->rows.n; i++) {
		const struct diff_row *row = &shown->rows.data[i];

		if (!rule_names(rule, strings_get(&shown->names, row->symbol)))
			continue;
		is_matched = true;
		check_row(in, rule, row, out);
	}
	if (!is_matched)
		out->verdict = GATE_UNMATCHED;
}

void gate_result_fini(struct gate_result *r)
{
	vec_fini(&r->findings);
}

/* ---- words ---- */

static void put_amount(struct buf *out, double time, bool counts_time)
{
	if (counts_time)
		buf_printf(out, "%.3f s", time / (double)NS_PER_SECOND);
	else
		buf_printf(out, "%.0f events", time);
}

void gate_finding_print(struct buf *out, const struct gate_rule *rule, const struct gate_finding *f,
			bool counts_time)
{
	if (rule->glob)
		buf_printf(out, "%s in %s: ", *f->symbol ? f->symbol : "(no symbols)", f->image);
	else
		buf_str(out, "total: ");
	if (rule->unit == GATE_POINTS) {
		buf_printf(out, "%+.2f points", f->change);
	} else {
		put_amount(out, f->old_time, counts_time);
		if (f->spread > 0 && !f->n_turns) {
			buf_str(out, " ± ");
			put_amount(out, f->spread, counts_time);
		}
		buf_str(out, " to ");
		put_amount(out, f->new_time, counts_time);
		if (rule->unit == GATE_SECONDS)
			buf_printf(out, ", %+.3f s", f->change);
		else if (isfinite(f->change))
			buf_printf(out, ", %+.2f %%%s", f->change,
				   counts_time ? " of CPU time" : "");
		else
			buf_str(out, ", new");
	}
	if (f->n_turns) {
		buf_printf(out, " in %zu turns", f->n_turns);
		if (f->spread > 0) {
			buf_str(out, " ± ");
			put_amount(out, f->spread, counts_time);
		}
	}
	if (!f->is_significant)
		buf_printf(out, "; not significant (%.1f, and %.1f is needed)", fabs(f->sureness),
			   f->needed);
}
