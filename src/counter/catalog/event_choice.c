/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing a unit mask of an event, and counters for several events. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "counter/catalog/event_file.h"

/* "0x1, 0x2, l1_hit": what can be chosen. */
static const char *event_choice_list_units(const struct unit_mask *m, struct buf *b)
{
	vec_foreach (&m->units, u) {
		buf_str(b, b->len ? ", " : "");
		if (u->name)
			buf_str(b, u->name);
		else
			buf_printf(b, "0x%02x", u->value);
	}
	return buf_cstr(b);
}

static int event_choice_refuse(const struct table_event *e, const char *word, const char *why,
			       struct error *err)
{
	struct buf units = { 0 };
	int r = error_set(err, -EINVAL, "event '%s': the unit mask '%s' %s%s%.400s", e->name, word,
			  why, e->mask.units.n ? "; it has " : "",
			  event_choice_list_units(&e->mask, &units));

	buf_fini(&units);
	return r;
}

static size_t count_value(const struct unit_mask *m, uint32_t value)
{
	size_t n = 0;

	vec_foreach (&m->units, u)
		n += u->value == value;
	return n;
}

static int choose_name(const struct table_event *e, const char *name, struct mask_choice *out,
		       struct error *err)
{
	vec_foreach (&e->mask.units, u) {
		if (!u->name || strcasecmp(u->name, name))
			continue;
		*out = (struct mask_choice){ u->value, u->extra, u->name };
		return 0;
	}
	return event_choice_refuse(e, name, "is not one of it", err);
}

/* What the bits of `value` may be: any of a bitmask's, else one that stands there. */
static bool is_possible(const struct unit_mask *m, uint32_t value)
{
	uint32_t all = 0;

	vec_foreach (&m->units, u)
		all |= u->value;
	switch (m->type) {
	case UNIT_MASK_BITMASK:
		return value ? !(value & ~all) : count_value(m, 0) > 0;
	case UNIT_MASK_MANDATORY:
		return value == m->default_value;
	default:
		return count_value(m, value) > 0;
	}
}

static int choose_value(const struct table_event *e, const char *word, uint32_t value,
			struct mask_choice *out, struct error *err)
{
	const struct unit_mask *m = &e->mask;

	if (!is_possible(m, value))
		return event_choice_refuse(e, word, "is not possible", err);
	if (m->type != UNIT_MASK_BITMASK && count_value(m, value) > 1)
		return event_choice_refuse(e, word, "is that of several: choose by name", err);
	*out = (struct mask_choice){ .value = value };
	vec_foreach (&m->units, u)
		if (u->value == value && u->name)
			*out = (struct mask_choice){ value, u->extra, u->name };
	return 0;
}

static int choose_default(const struct table_event *e, struct mask_choice *out, struct error *err)
{
	if (e->mask.default_name)
		return choose_name(e, e->mask.default_name, out, err);
	*out = (struct mask_choice){ .value = e->mask.default_value };
	return 0;
}

int table_event_mask(const struct table_event *e, const char *word, struct mask_choice *out,
		     struct error *err)
{
	unsigned long value;
	char *end;

	*out = (struct mask_choice){ 0 };
	if (!word || !*word)
		return choose_default(e, out, err);
	if (!isdigit((unsigned char)*word))
		return choose_name(e, word, out, err);
	errno = 0;
	value = strtoul(word, &end, 0);
	if (*end || errno || value > UINT32_MAX)
		return event_choice_refuse(e, word, "is not a number", err);
	if (value == 0 && (!e->mask.units.n || e->mask.default_name || e->mask.default_value))
		return choose_default(e, out, err);
	return choose_value(e, word, (uint32_t)value, out, err);
}

/* ---- counters ---- */

struct allocation {
	const struct table_event *const *events;
	size_t n;
	uint64_t existing;
	int *out;
};

/* Each event in turn takes the lowest counter that leaves one for those behind it. */
static bool allocate(const struct allocation *a, size_t i, uint64_t taken)
{
	uint64_t free_ones;

	if (i == a->n)
		return true;
	a->out[i] = -1;
	if (a->events[i]->ext)
		return allocate(a, i + 1, taken);
	free_ones = a->events[i]->counters & a->existing & ~taken;
	for (; free_ones; free_ones &= free_ones - 1) {
		a->out[i] = __builtin_ctzll(free_ones);
		if (allocate(a, i + 1, taken | (free_ones & -free_ones)))
			return true;
	}
	return false;
}

static void put_counters(struct buf *b, uint64_t counters)
{
	const char *comma = "";

	for (; counters; counters &= counters - 1) {
		buf_printf(b, "%s%d", comma, __builtin_ctzll(counters));
		comma = ",";
	}
}

/* A list no longer than there are counters that has no room: the events to name. */
static int event_choice_explain(const struct allocation *a, struct error *err)
{
	struct buf b = { 0 };
	size_t last = 0, n = 0;
	int r;

	/* The first event that does not fit with those before it. */
	while (last < a->n) {
		struct allocation part = *a;

		part.n = last + 1;
		if (!allocate(&part, 0, 0))
			break;
		last++;
	}
	for (size_t i = 0; i <= last; i++) {
		const struct table_event *e = a->events[i];

		if (e->ext || !(e->counters & a->events[last]->counters))
			continue;
		buf_printf(&b, "%s%s (", n++ ? ", " : "", e->name);
		put_counters(&b, e->counters & a->existing);
		buf_str(&b, ")");
	}
	r = error_set(err, -EBUSY,
		      "event '%s' has no free counter: there are %d counters for %.400s",
		      a->events[last]->name, __builtin_popcountll(a->existing), buf_cstr(&b));
	buf_fini(&b);
	return r;
}

/* More would be a search without end, and no processor has as many. */
#define MAX_EVENTS 64

int table_events_allocate(const struct table_event *const *events, size_t n, uint32_t n_counters,
			  int *out, struct error *err)
{
	struct allocation a = { .events = events, .n = n, .out = out };
	size_t n_counted = 0;

	a.existing = n_counters < 64 ? (UINT64_C(1) << n_counters) - 1 : UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		n_counted += !events[i]->ext;
	if (n_counted > n_counters || n > MAX_EVENTS)
		return error_set(err, -EBUSY,
				 "%zu events need a counter, and there are %u; they can be "
				 "counted in turn",
				 n_counted, n_counters);
	return allocate(&a, 0, 0) ? 0 : event_choice_explain(&a, err);
}
